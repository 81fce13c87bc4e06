// SPDX-License-Identifier: Apache-2.0
/* Obstacles on the paths of pairs: one finding for each obstacle, however many pairs it stops. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pairs.h"

static bool list_has(const char *list, const char *separator, const char *word)
{
	size_t bytes = strlen(word), gap = strlen(separator);

	while (list) {
		if (!strncmp(list, word, bytes) && (!list[bytes] || !strncmp(list + bytes, separator, gap)))
			return true;
		list = strstr(list, separator);
		list = list ? list + gap : NULL;
	}
	return false;
}

/* Adds @word to *list, "a, b", unless the list has it. NULL is the empty list. */
static void list_add(char **list, const char *separator, const char *word)
{
	char *longer;

	if (list_has(*list, separator, word))
		return;
	if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? separator : "", word) < 0)
		return;
	free(*list);
	*list = longer;
}

/*
 * Names the host bridge above both functions, "pci0000:00", or the two: "pci0000:00, pci0000:80", in this order for either
 * client.
 */
static void name_bridges(const struct pair *pair, char *text, size_t text_bytes)
{
	const char *a = pci_root_of(pair->function)->root_bus, *b = pci_root_of(pair->memory->function)->root_bus;
	int order = strcmp(a, b);

	if (!order)
		snprintf(text, text_bytes, "%s", a);
	else
		snprintf(text, text_bytes, "%s, %s", order < 0 ? a : b, order < 0 ? b : a);
}

/* Says what has to be done before the module can ask the kernel about the pair. */
static void find_asking_remedy(const struct examination *x, const struct pair *pair, struct finding *finding)
{
	const char *then = pair->memory->region ? "" : "'donard-cli region candidates' has the command that adds the region. Then: ";

	if (!x->source.live)
		find_remedy(finding, "On that machine, where p2pmem is loaded (sudo modprobe p2pmem): %ssudo donard-cli doctor", then);
	else if (!x->kernel.module_loaded)
		find_remedy(finding, "sudo modprobe p2pmem. %ssudo donard-cli doctor", then);
	else
		find_remedy(finding, "%ssudo donard-cli doctor", then);
}

static void report_unasked(struct examination *x, const struct pair *pair)
{
	struct finding *finding;
	char object[64];

	name_bridges(pair, object, sizeof(object));
	finding = find(x, CODE_BRIDGE_UNASKED, object, "between %s and %s, for one, requests cross the host bridge of %s; "
		       "the kernel was not asked about it", pair->client->name, pair->memory->name, object);
	find_asking_remedy(x, pair, finding);
}

/*
 * Does ACS alone keep a switch from routing the pair's requests itself?  Requests that an IOMMU translates go up to the root
 * complex with or without ACS, and p2pdma pages then have no route at all: the remedy for those is iommu=pt, and another run.
 */
static bool acs_decides(const struct pair *pair)
{
	return pair->tree.behind_redirect && !pair->route.translated;
}

/* Says by which function the kernel knows the host bridge above @function: "known by 0000:00:00.0, 1022:1480". */
static void name_known_by(const struct examination *x, const struct pci_function *function, char *text, size_t text_bytes)
{
	const struct pci_function *bridge = route_host_bridge(&x->pci, function);

	if (bridge)
		snprintf(text, text_bytes, "known by %s, %04x:%04x", bridge->bdf, bridge->vendor, bridge->device);
	else
		snprintf(text, text_bytes, "which has no function to know it by");
}

static void report_unlisted(struct examination *x, const struct pair *pair)
{
	bool is_iommu = pair->tree.below_one && pair->route.translated, are_two;
	char bridges[64], object[96], clients[80], memorys[80];
	struct finding *finding;

	name_bridges(pair, bridges, sizeof(bridges));
	/* Pairs that cross the bridge only because of an IOMMU get a finding of their own, since their remedy differs. */
	snprintf(object, sizeof(object), "%s%s", bridges, is_iommu ? ", translated" : "");
	name_known_by(x, pair->function, clients, sizeof(clients));
	name_known_by(x, pair->memory->function, memorys, sizeof(memorys));
	are_two = strcmp(clients, memorys);
	finding = find(x, CODE_UNLISTED_BRIDGE, object, "between %s and %s, for one, requests cross the host bridge of %s (%s%s%s), "
		       "which is on no list of those that forward", pair->client->name, pair->memory->name, bridges, clients,
		       are_two ? "; " : "", are_two ? memorys : "");
	if (is_iommu)
		find_remedy(finding, "%s IOMMU translates what %s sends. Boot with iommu=pt, then: sudo donard-cli doctor",
			    pair->route.same_device ? "An" : "Both are below one switch, and an", pair->client->name);
}

static void check_bridges(struct examination *x, const struct pair *pair)
{
	if (pair->proven && pair->route.unlisted_bridge)
		find(x, CODE_UNLISTED_FORWARDS, "", "from %s to %s and back, for one, bytes arrived over an unlisted host bridge",
		     pair->client->name, pair->memory->name);
	if (pair->undecided)
		report_unasked(x, pair);
	if (!pair->undecided && pair->verdict == DONARD_VERDICT_UNLISTED && !acs_decides(pair))
		report_unlisted(x, pair);
}

struct acs {
	char *ports;		/* "0000:02:00.0, 0000:02:01.0" */
	char *argument;		/* with ";" */
};

static void collect_acs(const struct pair *pair, struct acs *acs)
{
	for (size_t i = 0; i < pair->tree.redirect_count; i++) {
		list_add(&acs->ports, ", ", pair->tree.redirects[i]->bdf);
		list_add(&acs->argument, ";", pair->tree.redirects[i]->bdf);
	}
}

/*
 * Frees the lists.  GRUB ends a command at ";", so one pair of quotes has to reach grub.cfg.  The other pair keeps the shell,
 * which reads /etc/default/grub, from removing the first.  The line has no space, since the report would wrap it there.
 */
static void report_acs(struct examination *x, enum code code, struct acs *acs)
{
	struct finding *finding;

	if (!acs->ports)
		return;
	finding = find(x, code, "", "ACS redirects at %s", acs->ports);
	find_remedy(finding, "%s With GRUB the line in /etc/default/grub has to be GRUB_CMDLINE_LINUX='\"pci=disable_acs_redir=%s\"' "
		    "with both pairs of quotes; what the line had stays, in front of the inner pair. Then: sudo update-grub (Debian), "
		    "and reboot. By another boot loader the kernel has to get what is in the inner pair. Or look for ACS in the "
		    "firmware's setup.", code_entry(code)->remedy, acs->argument);
	free(acs->ports);
	free(acs->argument);
}

static void check_acs(struct examination *x, const struct pairs *pairs)
{
	struct acs blocking = { NULL, NULL }, detour = { NULL, NULL };

	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->pairs[i];

		/* ACS is not what decides a verdict of "no": a bounce buffer may be. */
		if (acs_decides(pair) && pair->verdict != DONARD_VERDICT_NO)
			collect_acs(pair, pair->verdict == DONARD_VERDICT_YES ? &detour : &blocking);
		if (!pair->tree.certain && strcmp(pair->function->iommu, "unknown"))
			find(x, CODE_ACS_UNREADABLE, "", "the extended configuration space of bridges could not be read");
	}
	report_acs(x, CODE_ACS_REDIRECTS, &blocking);
	report_acs(x, CODE_ACS_DETOUR, &detour);
}

static void check_iommu(struct examination *x, const struct pairs *pairs)
{
	char *translated = NULL, *unknown = NULL;

	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->pairs[i];

		if (!strcmp(pair->function->iommu, "unknown"))
			list_add(&unknown, ", ", pair->client->name);
		else if (route_translated(pair->function))
			list_add(&translated, ", ", pair->client->name);
	}
	if (translated)
		find(x, CODE_IOMMU_TRANSLATES, "", "an IOMMU translates what these clients send: %s", translated);
	if (unknown)
		find(x, CODE_IOMMU_UNREADABLE, "", "the IOMMU's mode is unknown for %s", unknown);
	free(translated);
	free(unknown);
}

static void check_node(struct examination *x, const struct pair *pair)
{
	int a = pair->function->numa_node, b = pair->memory->function->numa_node;
	char object[64];

	if (a < 0 || b < 0 || a == b)
		return;
	snprintf(object, sizeof(object), "nodes %d and %d", a < b ? a : b, a < b ? b : a);
	find(x, CODE_OTHER_SOCKET, object, "%s (%s) is at node %d, %s at node %d", pair->client->name,
	     pair->client->bdf, a, pair->memory->name, b);
}

static void check_link(struct examination *x, const struct pci_function *function)
{
	const struct pci_link *link = &function->link;

	if (!link->width || !link->largest_width)
		return;
	if (link->width < link->largest_width || strcmp(link->speed, link->largest_speed))
		find(x, CODE_LINK_REDUCED, function->bdf, "%s has %u lanes at %s; it is capable of %u at %s",
		     function->bdf, link->width, link->speed, link->largest_width, link->largest_speed);
}

void check_paths(struct examination *x, const struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->pairs[i];

		check_bridges(x, pair);
		check_node(x, pair);
		check_link(x, pair->function);
		check_link(x, pair->memory->function);
	}
	check_acs(x, pairs);
	check_iommu(x, pairs);
}
