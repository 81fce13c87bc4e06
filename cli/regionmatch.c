// SPDX-License-Identifier: Apache-2.0
/* Devices are known by what they carry or where they sit, never by their BDF. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "regionmatch.h"

int machine_look(struct donard_context *ctx, struct machine *machine, bool need_module)
{
	int rc;

	memset(machine, 0, sizeof(*machine));
	rc = donard_candidate_list(ctx, &machine->candidates);
	if (rc < 0)
		return rc;
	rc = donard_region_list_parts(ctx, 0, &machine->regions);
	if (rc >= 0 || (rc == -EOPNOTSUPP && !need_module))
		return 0;
	machine_forget(machine);
	return rc;
}

void machine_forget(struct machine *machine)
{
	donard_candidate_list_free(machine->candidates);
	donard_region_list_free(machine->regions);
	memset(machine, 0, sizeof(*machine));
}

const struct donard_candidate_info *
machine_candidate_of(const struct machine *machine, const struct donard_region_info *region)
{
	const struct donard_candidate_info *candidate;

	for (size_t i = 0; (candidate = donard_candidate_get(machine->candidates, i)); i++)
		if (candidate->kind == region->kind && !strcmp(candidate->bdf, region->bdf) &&
		    (region->kind != DONARD_KIND_PCI_BAR || candidate->bar == region->bar))
			return candidate;
	return NULL;
}

static bool is_device(const struct region_section *section,
		      const struct donard_candidate_info *candidate)
{
	const char *dot = strrchr(candidate->bdf, '.');

	if (section->function >= 0 && (!dot || atoi(dot + 1) != section->function))
		return false;
	if (section->serial[0])
		return !strcmp(section->serial, candidate->serial);
	if (section->path[0])
		return !strcmp(section->path, candidate->path);
	return !strcmp(section->slot, candidate->slot);
}

unsigned int machine_find(const struct machine *machine, const struct region_section *section,
			  const struct donard_candidate_info **found)
{
	const struct donard_candidate_info *candidate;
	unsigned int count = 0;

	*found = NULL;
	for (size_t i = 0; (candidate = donard_candidate_get(machine->candidates, i)); i++) {
		if (candidate->kind != section->kind || !is_device(section, candidate) ||
		    (section->kind == DONARD_KIND_PCI_BAR && candidate->bar != section->bar))
			continue;
		if (!count++)
			*found = candidate;
	}
	return count;
}

/* Memory out of the nvme driver's pool lies wherever there was room. */
static bool is_pooled(const struct donard_region_info *region)
{
	return region->kind == DONARD_KIND_NVME_CMB && region->page_type == DONARD_PAGES_P2PDMA;
}

uint64_t region_offset(const struct donard_candidate_info *candidate,
		       const struct donard_region_info *region)
{
	if (is_pooled(region))
		return 0;
	if (region->kind == DONARD_KIND_PCI_BAR)
		return region->offset_bytes;
	return region->offset_bytes - candidate->offset_bytes;
}

bool section_is_region(const struct region_section *section,
		       const struct donard_candidate_info *candidate,
		       const struct donard_region_info *region)
{
	if (section->kind != region->kind || strcmp(candidate->bdf, region->bdf))
		return false;
	/* Without a bar, a GPU's region has the largest. */
	if ((section->kind == DONARD_KIND_PCI_BAR || (section->kind == DONARD_KIND_GPU_NVIDIA && section->bar)) &&
	    section->bar != region->bar)
		return false;
	if (section->length_bytes && section->length_bytes != region->size_bytes)
		return false;
	return section->offset_bytes == region_offset(candidate, region);
}

const struct region_section *
machine_section_of(const struct machine *machine, const struct region_config *config,
		   const struct donard_region_info *region)
{
	const struct donard_candidate_info *candidate;

	for (size_t i = 0; i < config->count; i++)
		if (machine_find(machine, &config->sections[i], &candidate) == 1 &&
		    section_is_region(&config->sections[i], candidate, region))
			return &config->sections[i];
	return NULL;
}
