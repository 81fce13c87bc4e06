// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pci.h"

#define CONFIG_BYTES		4096
#define CONFIG_ORDINARY		64	/* as far as others than root can read */
#define STATUS			0x06
#define STATUS_CAPABILITIES	0x10
#define CAPABILITIES		0x34
#define CAPABILITY_EXPRESS	0x10
#define EXTENDED		0x100
#define EXTENDED_ACS		0x000d
#define ACS_CONTROL		6
#define ACS_REDIRECTS		(0x04 | 0x08 | 0x20)	/* requests, completions, egress control */

/* As the file "resource" has them (include/linux/ioport.h of the kernel). */
#define RESOURCE_MEM		0x200
#define RESOURCE_PREFETCH	0x2000
#define RESOURCE_64		0x100000
#define RESOURCE_UNSET		0x20000000

static unsigned int little16(const uint8_t *at)
{
	return at[0] | (unsigned int)at[1] << 8;
}

static uint32_t little32(const uint8_t *at)
{
	return little16(at) | (uint32_t)little16(at + 2) << 16;
}

/* Where the capability stands, or 0. A list that goes in a circle ends, too. */
static size_t find_capability(const uint8_t *config, size_t bytes, unsigned int id)
{
	size_t at;

	if (bytes < CONFIG_ORDINARY || !(config[STATUS] & STATUS_CAPABILITIES))
		return 0;
	at = config[CAPABILITIES] & ~3U;
	for (int turns = 0; turns < 48 && at >= CONFIG_ORDINARY && at + 4 <= bytes; turns++) {
		if (config[at] == id)
			return at;
		at = config[at + 1] & ~3U;
	}
	return 0;
}

static size_t find_extended(const uint8_t *config, size_t bytes, unsigned int id)
{
	size_t at = EXTENDED;
	uint32_t header;

	for (int turns = 0; turns < CONFIG_BYTES / 8 && at >= EXTENDED && at + 8 <= bytes; turns++) {
		header = little32(config + at);
		if (!header || header == UINT32_MAX)
			return 0;
		if ((header & 0xffff) == id)
			return at;
		at = header >> 20 & ~3U;
	}
	return 0;
}

void pci_parse_config(struct pci_function *function, const uint8_t *config, size_t bytes)
{
	size_t express = find_capability(config, bytes, CAPABILITY_EXPRESS);
	size_t acs = find_extended(config, bytes, EXTENDED_ACS);

	/* ACS is in the extended part, which PCI Express functions have; some hypervisors and hosts do not show it. */
	function->config_whole = bytes > (express ? EXTENDED : CONFIG_ORDINARY);
	function->port = express ? config[express + 2] >> 4 : -1;
	function->has_acs = acs;
	function->acs_control = acs ? little16(config + acs + ACS_CONTROL) : 0;
}

void pci_parse_resource(struct pci_bar *bar, const char *line)
{
	unsigned long long start, end, flags;

	if (sscanf(line, "%llx %llx %llx", &start, &end, &flags) != 3 || !flags || end < start)
		return;
	bar->start = start;
	bar->bytes = end - start + 1;
	bar->memory = flags & RESOURCE_MEM;
	bar->prefetchable = flags & RESOURCE_PREFETCH;
	bar->is_64 = flags & RESOURCE_64;
	bar->unset = !start || flags & RESOURCE_UNSET;
}

static void read_bars(const struct source *source, struct pci_function *function)
{
	char *text = source_whole(source, "/sys/bus/pci/devices/%s/resource", function->bdf);
	char *next = NULL, *line = text ? strtok_r(text, "\n", &next) : NULL;

	for (int i = 0; line && i < PCI_BARS; i++, line = strtok_r(NULL, "\n", &next)) {
		uint64_t sizes;
		char word[32];

		pci_parse_resource(&function->bars[i], line);
		/* Bit N: 2^N MiB (PCI Express Base, 7.8.6.2). */
		source_text(source, word, sizeof(word), "/sys/bus/pci/devices/%s/resource%d_resize",
			    function->bdf, i);
		sizes = strtoull(word, NULL, 16);
		for (int bit = 0; bit < 44; bit++)
			if (sizes >> bit & 1)
				function->bars[i].largest_bytes = 1ULL << (bit + 20);
	}
	free(text);
}

/* sscanf() alone would pass over blanks and newlines. */
static bool is_bdf(const char *text)
{
	unsigned int n[4];
	int used = 0;

	return !text[strspn(text, "0123456789abcdef:.")] &&
	       sscanf(text, "%x:%x:%x.%x%n", &n[0], &n[1], &n[2], &n[3], &used) == 4 && !text[used];
}

/* The function above and the root bus are parts of the path that the link leads to. */
static void read_place(const struct source *source, struct pci_function *function)
{
	char link[PATH_MAX], target[PATH_MAX], *next = NULL;

	if (source_path(source, link, "/sys/bus/pci/devices/%s", function->bdf) || !realpath(link, target))
		return;
	for (char *part = strtok_r(target, "/", &next); part; part = strtok_r(NULL, "/", &next)) {
		if (!strncmp(part, "pci", 3) && strchr(part, ':')) {
			snprintf(function->root_bus, sizeof(function->root_bus), "%s", part);
			function->above[0] = '\0';	/* a bus behind a bridge of another kind: VMD */
		} else if (is_bdf(part) && strcmp(part, function->bdf)) {
			snprintf(function->above, sizeof(function->above), "%.15s", part);
		}
	}
}

static void read_link(const struct source *source, struct pci_function *function)
{
	struct pci_link *link = &function->link;

	source_text(source, link->speed, sizeof(link->speed), "/sys/bus/pci/devices/%s/current_link_speed",
		    function->bdf);
	source_text(source, link->largest_speed, sizeof(link->largest_speed),
		    "/sys/bus/pci/devices/%s/max_link_speed", function->bdf);
	link->width = (unsigned int)source_number(source, 0, "/sys/bus/pci/devices/%s/current_link_width",
						  function->bdf);
	link->largest_width = (unsigned int)source_number(source, 0, "/sys/bus/pci/devices/%s/max_link_width",
							  function->bdf);
}

static void read_iommu(const struct source *source, struct pci_function *function)
{
	if (!source_exists(source, "/sys/bus/pci/devices/%s/iommu_group", function->bdf))
		return;
	source_text(source, function->iommu, sizeof(function->iommu),
		    "/sys/bus/pci/devices/%s/iommu_group/type", function->bdf);
	if (!function->iommu[0])
		strcpy(function->iommu, "unknown");
}

static unsigned int read_id(const struct source *source, const char *bdf, const char *name)
{
	return (unsigned int)source_number(source, 0, "/sys/bus/pci/devices/%s/%s", bdf, name);
}

static void read_function(const struct source *source, struct pci_function *function)
{
	uint8_t config[CONFIG_BYTES];
	long got = source_bytes(source, config, sizeof(config), "/sys/bus/pci/devices/%s/config",
				function->bdf);

	function->class = read_id(source, function->bdf, "class");
	function->vendor = read_id(source, function->bdf, "vendor");
	function->device = read_id(source, function->bdf, "device");
	function->numa_node = (int)source_number(source, -1, "/sys/bus/pci/devices/%s/numa_node",
						 function->bdf);
	source_link(source, function->driver, sizeof(function->driver), "/sys/bus/pci/devices/%s/driver",
		    function->bdf);
	pci_parse_config(function, config, got > 0 ? (size_t)got : 0);
	read_bars(source, function);
	read_place(source, function);
	read_link(source, function);
	read_iommu(source, function);
}

struct reading {
	const struct source *source;
	struct pci *pci;
};

static int add_function(void *user, const char *entry)
{
	const struct reading *reading = user;
	struct pci *pci = reading->pci;
	struct pci_function *functions;

	if (!is_bdf(entry) || strlen(entry) >= DONARD_BDF_BYTES)
		return 0;
	functions = realloc(pci->functions, (pci->count + 1) * sizeof(*functions));
	if (!functions)
		return -ENOMEM;
	pci->functions = functions;
	memset(&functions[pci->count], 0, sizeof(*functions));
	strcpy(functions[pci->count].bdf, entry);
	read_function(reading->source, &functions[pci->count++]);
	return 0;
}

int pci_read(const struct source *source, struct pci *pci)
{
	struct reading reading = { source, pci };
	int rc;

	memset(pci, 0, sizeof(*pci));
	rc = source_each(source, "/sys/bus/pci/devices", add_function, &reading);
	if (rc) {
		pci_forget(pci);
		return rc;
	}
	for (size_t i = 0; i < pci->count; i++)
		pci->functions[i].up = pci_find(pci, pci->functions[i].above);
	return 0;
}

void pci_forget(struct pci *pci)
{
	free(pci->functions);
	memset(pci, 0, sizeof(*pci));
}

const struct pci_function *pci_find(const struct pci *pci, const char *bdf)
{
	for (size_t i = 0; i < pci->count; i++)
		if (!strcmp(pci->functions[i].bdf, bdf))
			return &pci->functions[i];
	return NULL;
}

bool pci_is_bridge(const struct pci_function *function)
{
	return function->class >> 8 == 0x0604;
}

bool pci_redirects(const struct pci_function *function)
{
	return function->acs_control & ACS_REDIRECTS;
}

const struct pci_function *pci_root_of(const struct pci_function *function)
{
	while (function->up)
		function = function->up;
	return function;
}
