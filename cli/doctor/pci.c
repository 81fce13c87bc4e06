// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/bdf.h"
#include "pci.h"

#define ACS_BYTES		8	/* as far as its control register */
#define ACS_REDIRECTS		(PCI_ACS_RR | PCI_ACS_CR | PCI_ACS_EC)	/* requests, completions, egress control */

void pci_parse_config(struct pci_function *function, const struct dnd_config *config)
{
	size_t express = dnd_config_capability(config, PCI_CAP_ID_EXP);
	size_t acs = dnd_config_extended(config, PCI_EXT_CAP_ID_ACS, ACS_BYTES);
	unsigned int flags;

	/* ACS is in the extended configuration space, which some hypervisors and hosts do not show. */
	function->config_whole = dnd_config_whole(config);
	function->port = express && dnd_config_16(config, express + PCI_EXP_FLAGS, &flags) ?
			 (int)(flags & PCI_EXP_FLAGS_TYPE) >> 4 : -1;
	function->acs_control = 0;
	function->has_acs = acs && dnd_config_16(config, acs + PCI_ACS_CTRL, &function->acs_control);
}

static void read_config(const struct source *source, struct pci_function *function)
{
	struct dnd_config config = { .count = 0 };
	char path[PATH_MAX];

	if (!source_path(source, path, "/sys/bus/pci/devices/%s/config", function->bdf))
		dnd_config_read(path, &config);
	pci_parse_config(function, &config);
}

static void read_bars(const struct source *source, struct pci_function *function)
{
	char text[2048];

	source_lines(source, text, sizeof(text), "/sys/bus/pci/devices/%s/resource", function->bdf);
	dnd_bars_parse(text, function->bars);
	for (int i = 0; i < DND_BARS; i++) {
		source_text(source, text, sizeof(text), "/sys/bus/pci/devices/%s/resource%d_resize", function->bdf, i);
		function->largest_bytes[i] = dnd_bar_largest_of(text);
	}
}

/* Takes the function above and the root bus from the path of the function's link. */
static void read_place(const struct source *source, struct pci_function *function)
{
	char link[PATH_MAX], target[PATH_MAX], *next = NULL;

	if (source_path(source, link, "/sys/bus/pci/devices/%s", function->bdf) || !realpath(link, target))
		return;
	for (char *part = strtok_r(target, "/", &next); part; part = strtok_r(NULL, "/", &next)) {
		if (!strncmp(part, "pci", 3) && strchr(part, ':')) {
			snprintf(function->root_bus, sizeof(function->root_bus), "%s", part);
			function->above[0] = '\0';	/* a bus behind a bridge of another kind: VMD */
		} else if (dnd_is_bdf(part) && strcmp(part, function->bdf)) {
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
	function->class = read_id(source, function->bdf, "class");
	function->vendor = read_id(source, function->bdf, "vendor");
	function->device = read_id(source, function->bdf, "device");
	function->numa_node = (int)source_number(source, -1, "/sys/bus/pci/devices/%s/numa_node",
						 function->bdf);
	source_link(source, function->driver, sizeof(function->driver), "/sys/bus/pci/devices/%s/driver",
		    function->bdf);
	read_config(source, function);
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

	if (!dnd_is_bdf(entry) || strlen(entry) >= DONARD_BDF_BYTES)
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

/* A captured tree may have any links.  Drops a link that makes a function lie below itself. */
static void cut_circles(struct pci *pci)
{
	for (size_t i = 0; i < pci->count; i++) {
		const struct pci_function *above = pci->functions[i].up;
		size_t steps = 0;

		/* The number of steps ends the walk in a circle further up, which is cut at one of its own functions. */
		while (above && above != &pci->functions[i] && ++steps <= pci->count)
			above = above->up;
		if (above == &pci->functions[i])
			pci->functions[i].up = NULL;
	}
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
	cut_circles(pci);
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
