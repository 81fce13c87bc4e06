// SPDX-License-Identifier: Apache-2.0
/* May this process open the node of each region and drive?  It tries, since even root may be refused. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "checks.h"
#include "lib/base/rights.h"

#define REMEDY_BYTES	256
#define MORE_BYTES	sizeof(", and 18446744073709551615 more")

struct node {
	const char *name;
	bool is_region;
	bool told;
	enum code code;		/* CODE_COUNT: the node can be opened */
	char remedy[REMEDY_BYTES];	/* "": the code's own remedy */
};

struct nodes {
	struct node *nodes;
	size_t count;
};

static void add(struct nodes *nodes, const char *name, bool is_region)
{
	for (size_t i = 0; i < nodes->count; i++)
		if (!strcmp(nodes->nodes[i].name, name))
			return;		/* added already for another path to the same namespace */
	nodes->nodes[nodes->count++] = (struct node){ .name = name, .is_region = is_region };
}

/* The names are those in the lists of @x, and not copied. */
static bool collect(const struct examination *x, struct nodes *nodes)
{
	const struct donard_region_info *region;
	const struct donard_client_info *client;
	size_t most = donard_region_count(x->regions);

	for (size_t c = 0; (client = donard_client_get(x->clients, c)); c++)
		most += client->namespace_count;
	nodes->nodes = calloc(most + 1, sizeof(*nodes->nodes));
	if (!nodes->nodes)
		return false;
	for (size_t i = 0; (region = donard_region_get(x->regions, i)); i++)
		if (region->state == DONARD_STATE_READY)
			add(nodes, region->name, true);
	for (size_t c = 0; (client = donard_client_get(x->clients, c)); c++)
		for (size_t n = 0; n < client->namespace_count; n++)
			add(nodes, client->namespaces[n], false);
	return true;
}

/* Is @path the node of the device?  A container may keep a node from before the device got another number. */
static bool is_node_of(const struct examination *x, const struct node *node, const char *path)
{
	unsigned int major_number, minor_number;
	char text[32];
	struct stat st;

	source_text(&x->source, text, sizeof(text), "/sys/class/%s/%s/dev", node->is_region ? "p2pmem" : "block", node->name);
	return !stat(path, &st) && (node->is_region ? S_ISCHR(st.st_mode) : S_ISBLK(st.st_mode)) &&
	       sscanf(text, "%u:%u", &major_number, &minor_number) == 2 &&
	       st.st_rdev == makedev(major_number, minor_number);
}

/* Tries to open the node.  A region is always opened for reading and writing; a drive may serve for reading alone. */
static bool opens(const struct node *node, const char *path)
{
	int fd = open(path, (node->is_region ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || (errno != EACCES && errno != EPERM);
}

static enum code ask(const struct examination *x, struct node *node)
{
	const char *forbidden;
	char path[PATH_MAX];

	source_path(&x->source, path, "/dev/%s", node->name);
	if (!is_node_of(x, node, path))
		return CODE_NODE_MISSING;
	if (opens(node, path))
		return CODE_COUNT;
	forbidden = dnd_node_obstacle(path, node->is_region);
	if (!forbidden)
		forbidden = dnd_namespace_remedy();
	if (!forbidden)
		forbidden = dnd_root_remedy();
	if (forbidden) {
		snprintf(node->remedy, sizeof(node->remedy), "%s", forbidden);
		return CODE_NODE_FORBIDDEN;
	}
	if (!node->is_region)
		return CODE_DRIVE_CLOSED;
	dnd_node_remedy(path, node->remedy, sizeof(node->remedy));
	return CODE_NOT_IN_GROUP;
}

/* Names all nodes that have the same code and remedy as the one at @first: "p2pmem0, p2pmem1, and 7 more". */
static void tell_alike(struct nodes *nodes, size_t first, char *names, size_t names_bytes)
{
	const struct node *one = &nodes->nodes[first];
	size_t used = 0, more = 0;

	for (size_t i = first; i < nodes->count; i++) {
		struct node *node = &nodes->nodes[i];

		if (node->code != one->code || strcmp(node->remedy, one->remedy))
			continue;
		node->told = true;
		if (more || used + strlen(", ") + strlen(node->name) + MORE_BYTES > names_bytes)
			more++;		/* a truncated name may be another node's */
		else
			used += (size_t)snprintf(names + used, names_bytes - used, "%s%s", used ? ", " : "", node->name);
	}
	if (more)
		snprintf(names + used, names_bytes - used, ", and %zu more", more);
}

static void tell(struct examination *x, struct nodes *nodes, size_t first)
{
	const struct node *node = &nodes->nodes[first];
	unsigned int user = (unsigned int)geteuid();
	struct finding *finding;
	char names[512];

	tell_alike(nodes, first, names, sizeof(names));
	if (node->code == CODE_NODE_MISSING)
		finding = find(x, node->code, names, "/dev has no node of %s", names);
	else
		finding = find(x, node->code, names, "user %u cannot open %s%s", user, names, node->code == CODE_NOT_IN_GROUP ?
			       " for reading and writing" : node->code == CODE_DRIVE_CLOSED ? " for reading" : "");
	if (node->remedy[0])
		find_remedy(finding, "%s.", node->remedy);
}

void check_nodes(struct examination *x)
{
	struct nodes nodes = { .count = 0 };

	if (!collect(x, &nodes))
		return;
	for (size_t i = 0; i < nodes.count; i++) {
		nodes.nodes[i].code = ask(x, &nodes.nodes[i]);
		x->regions_ready += nodes.nodes[i].is_region;
		x->regions_closed += nodes.nodes[i].is_region && nodes.nodes[i].code != CODE_COUNT;
	}
	for (size_t i = 0; i < nodes.count; i++)
		if (nodes.nodes[i].code != CODE_COUNT && !nodes.nodes[i].told)
			tell(x, &nodes, i);
	free(nodes.nodes);
}
