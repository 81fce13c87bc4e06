// SPDX-License-Identifier: Apache-2.0
/* Memory that is a region, could be one now, or could be one after its obstacle is removed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks.h"
#include "output.h"
#include "route.h"

#define LARGE_BYTES	(256ULL << 20)
#define BELOW		(4ULL << 30)

/* Size number N stands for 2^N MiB. */
static void report_resizable(struct examination *x, const struct pci_function *function, int number, const char *object)
{
	uint64_t most = function->largest_bytes[number];
	char size[DONARD_SIZE_TEXT_BYTES], largest[DONARD_SIZE_TEXT_BYTES];
	struct finding *finding;

	donard_format_size(size, sizeof(size), function->bars[number].bytes);
	donard_format_size(largest, sizeof(largest), most);
	finding = find(x, CODE_BAR_RESIZABLE, object, "%s has %s, and could have %s", object, size, largest);
	find_remedy(finding, "Enable 'Resizable BAR' in the firmware's setup. Or, with no driver bound, have the kernel resize it: "
		    "echo %d | sudo tee /sys/bus/pci/devices/%s/resource%d_resize (%d stands for %s).",
		    __builtin_ctzll(most >> 20), function->bdf, number, __builtin_ctzll(most >> 20), largest);
}

static void check_bar(struct examination *x, const struct pci_function *function, int number)
{
	const struct dnd_bar *bar = &function->bars[number];
	bool can_lie_high = bar->flags & DND_BAR_64 && bar->flags & DND_BAR_PREFETCH;
	char size[DONARD_SIZE_TEXT_BYTES], object[32];

	if (!(bar->flags & DND_BAR_MEM))
		return;
	snprintf(object, sizeof(object), "%s BAR %d", function->bdf, number);
	donard_format_size(size, sizeof(size), bar->bytes);
	if (dnd_bar_unset(bar))
		find(x, CODE_BAR_UNASSIGNED, object, "%s of %s has no address", object, size);
	else if (can_lie_high && bar->bytes >= LARGE_BYTES && bar->start < BELOW)
		find(x, CODE_BELOW_4G, object, "%s of %s lies at 0x%llx", object, size,
		     (unsigned long long)bar->start);
	if (function->largest_bytes[number] > bar->bytes)
		report_resizable(x, function, number, object);
}

static void check_bars(struct examination *x)
{
	for (size_t i = 0; i < x->pci.count; i++)
		for (int bar = 0; bar < DND_BARS && !pci_is_bridge(&x->pci.functions[i]); bar++)
			check_bar(x, &x->pci.functions[i], bar);
}

static bool is_gpu(const struct examination *x, const char *bdf)
{
	const struct pci_function *function = pci_find(&x->pci, bdf);

	return function && function->class >> 16 == PCI_CLASS_DISPLAY;
}

static bool is_region(const struct examination *x, const struct donard_candidate_info *info)
{
	const struct donard_region_info *region;

	for (size_t i = 0; (region = donard_region_get(x->regions, i)); i++)
		if (!strcmp(region->bdf, info->bdf) && region->bar == info->bar)
			return true;
	return false;
}

/* Returns whether the candidate could be a region now. */
static bool check_candidate(struct examination *x, const struct donard_candidate_info *info)
{
	char object[64];

	if (!info->obstacle[0])
		return !is_beyond_direct_map(x, info);
	if (is_region(x, info))
		return false;
	if (info->kind == DONARD_KIND_GPU_NVIDIA)
		return false;	/* check_gpus() reports why */
	if (info->busy) {
		find(x, CODE_MEMORY_UNKNOWN, info->bdf, "%s", info->obstacle);
	} else if (!strcmp(info->driver, "nvme")) {
		snprintf(object, sizeof(object), "%s BAR %u", info->bdf, info->bar);
		find(x, CODE_MEMORY_UNKNOWN, object, "%s: %s", object, info->obstacle);
	} else if (is_gpu(x, info->bdf) && info->driver[0]) {
		find(x, CODE_GPU_DRIVER, info->bdf, "the memory of %s belongs to the driver %s", info->bdf, info->driver);
	} else if (info->driver[0] && strcmp(info->driver, "p2pmem")) {
		find(x, CODE_MEMORY_IN_USE, info->bdf, "the memory of %s belongs to the driver %s", info->bdf,
		     info->driver);
	}	/* else it has no address, which check_bar() reports */
	return false;
}

static bool could_have_p2pdma(enum donard_region_kind kind)
{
	return kind == DONARD_KIND_PCI_BAR || kind == DONARD_KIND_GPU_NVIDIA;
}

/*
 * Would iommu=pt be needed if the region had pages of type p2pdma?  The client has no route to these pages if both are below
 * one switch and an IOMMU translates the client's requests, and the kernel does not refuse it.
 */
static bool iommu_is_in_the_way(const struct examination *x, const struct donard_region_info *region, const char *client)
{
	const struct pci_function *memory = pci_find(&x->pci, region->bdf), *function = pci_find(&x->pci, client);
	struct tree_route tree;

	if (!memory || !function)
		return false;
	route_predict(&x->kernel, memory, function, DONARD_PAGES_P2PDMA, KERNEL_UNLISTED, &tree);
	return tree.route.route == DONARD_ROUTE_NONE && !tree.route.unlisted_bridge;
}

/* The remedies follow the module's rules by which few regions can have pages of type p2pdma (kernel/page_type.c). */
static void remedy_unrouted(const struct examination *x, struct finding *finding, const struct donard_region_info *region,
			    const char *client)
{
	const struct pci_function *function = pci_find(&x->pci, client);

	if (function && !route_uses_dma_api(function))
		find_remedy(finding, "Bind it to its own driver, or keep whoever has it (VFIO) from the region's memory: for a function "
			    "whose driver does not use the kernel's DMA API, an IOMMU is always taken to translate.");
	else if (region->page_type == DONARD_PAGES_P2PDMA || iommu_is_in_the_way(x, region, client))
		find_remedy(finding, "Boot with iommu=pt: both are below one switch, and an IOMMU translates what the device sends. Or "
			    "keep that device's users out of the region's group.");
	else if (!x->kernel.p2pdma)
		find_remedy(finding, "Move one of the two below the other's switch, or do not use them together: this kernel has no "
			    "pages of type p2pdma, with which it would refuse.");
	else if (!could_have_p2pdma(region->kind))
		find_remedy(finding, "Move one of the two below the other's switch, or keep that device's users out of the region's "
			    "group: a region of kind %s cannot have pages of type p2pdma, with which the kernel would refuse.",
			    donard_region_kind_text(region->kind));
	else if (region->folio_bytes > (uint64_t)sysconf(_SC_PAGESIZE))
		find_remedy(finding, "Remove the region, and add it again with page type p2pdma and without large folios, which that "
			    "type cannot have. Or keep that device's users out of the region's group.");
	else
		find_remedy(finding, "Use page type p2pdma for the region (donard-cli region set %s --page-type p2pdma), or keep that "
			    "device's users out of the region's group.", region->name);
}

/* Reports one client without a route.  A region may have several: each is the object of its own finding. */
static void unrouted(struct examination *x, const struct donard_region_info *region, const char *client, bool several)
{
	char object[80];
	struct finding *finding;

	snprintf(object, sizeof(object), "%s, %s", region->name, client);
	finding = find(x, CODE_UNROUTED_CLIENT, object, "%s %s no route to %s", client, several ? "have" : "has", region->name);
	remedy_unrouted(x, finding, region, client);
}

static void check_unrouted(struct examination *x, const struct donard_region_info *region)
{
	char *lines = region->unrouted ? strdup(region->unrouted) : NULL, *next = NULL, *line;
	unsigned long more = lines ? cli_lines_left_out(lines) : 0;
	char others[64];

	for (line = lines ? strtok_r(lines, "\n", &next) : NULL; line; line = strtok_r(NULL, "\n", &next))
		if (!strchr(line, ' '))
			unrouted(x, region, line, false);
	free(lines);
	snprintf(others, sizeof(others), "%lu more functions", more);
	if (more)
		unrouted(x, region, others, true);
}

static void check_region(struct examination *x, const struct donard_region_info *region)
{
	if (region->state != DONARD_STATE_READY)
		find(x, CODE_REGION_BUSY_ENDING, region->name, "%s is %s", region->name,
		     donard_region_state_text(region->state));
	check_unrouted(x, region);
}

void check_memory(struct examination *x)
{
	const struct donard_candidate_info *candidate;
	const struct donard_region_info *region;
	size_t regions = donard_region_count(x->regions), possible = 0;

	check_bars(x);
	for (size_t i = 0; (candidate = donard_candidate_get(x->candidates, i)); i++)
		possible += check_candidate(x, candidate);
	for (size_t i = 0; (region = donard_region_get(x->regions, i)); i++)
		check_region(x, region);
	if (!regions && !possible)
		find(x, CODE_NO_MEMORY, "", "no CMB, no PMR, and no memory BAR of 2 MiB or more that is free");
	else if (!regions)
		find(x, CODE_NO_REGION, "", "there is no region; what could be one: %zu", possible);
}
