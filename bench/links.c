// SPDX-License-Identifier: Apache-2.0
/* Offsets and bits of PCI Express: PCI Express Base Specification 6.0, sections 7.5.3 and 7.8.4. */
#include <errno.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "donard/donard.h"
#include "lib/base/pciconfig.h"
#include "links.h"
#include "output.h"
#include "utf8.h"

#define LINK_STATUS2_FLIT	0x0400	/* linux/pci_regs.h of Debian 12 ends before flit mode */
#define SMALLEST_BYTES		128	/* of both sizes in Device Control, whose fields are powers of two of it */
#define SIZES			6	/* 128 bytes to 4 KiB */
#define WIDE_ADDRESS		(1ULL << 32)	/* memory at or above it takes the longer header */

/* The sizes of one function's packets, by its registers. */
struct packets {
	unsigned int payload_bytes_max, request_bytes_max;
	bool flits, ecrc;
	const char *unknown;	/* why the other members are unknown, or NULL */
};

static unsigned int size_of(unsigned int field)
{
	return field < SIZES ? SMALLEST_BYTES << field : 0;
}

static struct packets read_registers(const struct dnd_config *config)
{
	size_t express = dnd_config_capability(config, PCI_CAP_ID_EXP);
	size_t errors = dnd_config_extended(config, PCI_EXT_CAP_ID_ERR, PCI_ERR_CAP + sizeof(uint32_t));
	struct packets packets = { 0 };
	unsigned int control, flags, status;
	uint32_t ecrc;

	if (!express || !dnd_config_16(config, express + PCI_EXP_DEVCTL, &control)) {
		packets.unknown = "it shows no PCI Express capability: it is a conventional PCI function, or the user is not root";
		return packets;
	}
	packets.payload_bytes_max = size_of((control & PCI_EXP_DEVCTL_PAYLOAD) >> 5);
	packets.request_bytes_max = size_of((control & PCI_EXP_DEVCTL_READRQ) >> 12);
	/* Version 1 of the capability ends before the register. */
	if (dnd_config_16(config, express + PCI_EXP_FLAGS, &flags) && (flags & PCI_EXP_FLAGS_VERS) >= 2 &&
	    dnd_config_16(config, express + PCI_EXP_LNKSTA2, &status))
		packets.flits = status & LINK_STATUS2_FLIT;
	if (errors && dnd_config_32(config, errors + PCI_ERR_CAP, &ecrc))
		packets.ecrc = ecrc & PCI_ERR_CAP_ECRC_GENE;
	if (!packets.payload_bytes_max || !packets.request_bytes_max)
		packets.unknown = "its Device Control register holds a reserved size";
	return packets;
}

static struct packets packets_of(const struct cli *cli, const char *bdf)
{
	static const struct packets unreadable = { .unknown = "its configuration space cannot be read" };
	struct dnd_config config;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/config", donard_sysfs_root(cli->ctx), bdf);
	return dnd_config_read(path, &config) ? unreadable : read_registers(&config);
}

/* ---- one path ---- */

static void add_size(struct json_object *link, const char *key, const struct packets *packets, unsigned int bytes)
{
	json_object_object_add(link, key, packets->unknown ? NULL : json_object_new_uint64(bytes));
}

static void add_flag(struct json_object *link, const char *key, const struct packets *packets, bool flag)
{
	json_object_object_add(link, key, packets->unknown ? NULL : json_object_new_boolean(flag));
}

static void add_word(struct json_object *link, const char *key, const char *word)
{
	json_object_object_add(link, key, word ? cli_json_string(word) : NULL);
}

static void add_unknown(struct json_object *link, const char *bdf, const char *why)
{
	char text[160];

	snprintf(text, sizeof(text), "%s: %s", bdf, why);
	cli_add_text(link, "unknown", text);
}

static void add_path(struct cli *cli, struct json_object *link, const char *client_bdf, const char *region)
{
	struct donard_route route = { .size = sizeof(route) };
	struct donard_region_list *list;
	const struct donard_region_info *info;
	struct packets client = packets_of(cli, client_bdf), memory;
	bool probed;

	if (donard_region_find(cli->ctx, region, &list)) {
		add_unknown(link, region, "there is no such region");
		return;
	}
	info = donard_region_get(list, 0);
	memory = packets_of(cli, info->bdf);
	cli_add_text(link, "client_function", client_bdf);
	cli_add_text(link, "region_function", info->bdf);
	probed = !donard_route_probe(cli->ctx, region, client_bdf, &route);
	add_word(link, "route", probed ? donard_route_text(route.route) : NULL);
	json_object_object_add(link, "wide_address",
			       probed ? json_object_new_boolean(route.bus_address >= WIDE_ADDRESS) : NULL);
	add_size(link, "client_payload_bytes_max", &client, client.payload_bytes_max);
	add_size(link, "client_request_bytes_max", &client, client.request_bytes_max);
	add_size(link, "region_payload_bytes_max", &memory, memory.payload_bytes_max);
	add_flag(link, "client_ecrc", &client, client.ecrc);
	add_flag(link, "region_ecrc", &memory, memory.ecrc);
	add_flag(link, "flits", &client, client.flits || memory.flits);
	if (client.unknown)
		add_unknown(link, client_bdf, client.unknown);
	else if (memory.unknown)
		add_unknown(link, info->bdf, memory.unknown);
	else if (!probed)
		add_unknown(link, client_bdf, "the kernel does not tell its route, as while the function is bound or reset");
	else
		add_word(link, "unknown", NULL);
	donard_region_list_free(list);
}

/* ---- the client's functions ---- */

/* Is @node the namespace, or a partition of it? */
static bool lies_on(const char *node, const char *namespace)
{
	size_t length = strlen(namespace);

	return !strncmp(node, namespace, length) && (!node[length] || node[length] == 'p');
}

static bool has_namespace(const struct donard_client_info *client, const char *drive)
{
	const char *slash = strrchr(drive, '/'), *node = slash ? slash + 1 : drive;

	for (size_t i = 0; i < client->namespace_count; i++)
		if (lies_on(node, client->namespaces[i]))
			return true;
	return false;
}

static bool is_meant(const struct donard_client_info *client, enum donard_client_type type, const char *name)
{
	if (client->type != type)
		return false;
	return type == DONARD_CLIENT_RDMA ? !strcmp(client->name, name) : has_namespace(client, name);
}

/* The kernel gives rxe and siw no parent device. If a container hides another device's parent, the link to it still exists. */
static bool is_in_software(const struct cli *cli, const char *device)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/class/infiniband/%s", donard_sysfs_root(cli->ctx), device);
	if (stat(path, &st))
		return false;
	snprintf(path, sizeof(path), "%s/class/infiniband/%s/device", donard_sysfs_root(cli->ctx), device);
	return lstat(path, &st) && errno == ENOENT;
}

static struct json_object *new_link(const char *direction, enum donard_client_type type, const char *name)
{
	struct json_object *link = json_object_new_object();

	add_word(link, "direction", direction);
	cli_add_text(link, "client_type", donard_client_type_text(type));
	cli_add_text(link, "client", name);
	return link;
}

static struct json_object *without_function(const struct cli *cli, const char *direction, enum donard_client_type type,
					    const char *name)
{
	bool software = type == DONARD_CLIENT_RDMA && is_in_software(cli, name);
	struct json_object *link = new_link(software ? NULL : direction, type, name);

	if (software)
		add_unknown(link, name, "it is RDMA in software: the CPU copies, and it has no link");
	else if (type == DONARD_CLIENT_RDMA)
		add_unknown(link, name, "sysfs does not tell its PCI function");
	else
		add_unknown(link, name, "it is no namespace of an NVMe drive, nor a partition of one");
	return link;
}

/* Adds the link unless it is there: a benchmark may move between the same two devices more than once. */
static void add_new(struct json_object *links, struct json_object *link)
{
	for (size_t i = 0; i < json_object_array_length(links); i++)
		if (json_object_equal(json_object_array_get_idx(links, i), link)) {
			json_object_put(link);
			return;
		}
	json_object_array_add(links, link);
}

void bench_add_links(struct cli *cli, struct json_object *links, const char *direction, enum donard_client_type type,
		     const char *name, const char *region)
{
	struct donard_client_list *clients = NULL;
	struct json_object *link;
	size_t found = 0;

	if (donard_client_list(cli->ctx, &clients) < 0)
		clients = NULL;
	for (size_t i = 0; clients && i < donard_client_count(clients); i++) {
		const struct donard_client_info *client = donard_client_get(clients, i);

		if (!is_meant(client, type, name))
			continue;
		found++;
		link = new_link(direction, type, name);
		add_path(cli, link, client->bdf, region);
		add_new(links, link);
	}
	if (!found)
		add_new(links, without_function(cli, direction, type, name));
	donard_client_list_free(clients);
}
