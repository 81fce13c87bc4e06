// SPDX-License-Identifier: Apache-2.0
/* A device is recognized by its serial number, its path or its slot, never by its BDF. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "regionkeys.h"
#include "regionmatch.h"
#include "tool/place.h"

#define SYSTEM_ID_MAX	999	/* of system users and groups, as systemd is built */

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
	free(machine->sections);
	memset(machine, 0, sizeof(*machine));
}

static const struct donard_region_info *find_region(const struct machine *machine, const char *name)
{
	const struct donard_region_info *region;

	for (size_t i = 0; (region = donard_region_get(machine->regions, i)); i++)
		if (!strcmp(region->name, name))
			return region;
	return NULL;
}

/* "/dev/p2pmem0" -> "p2pmem0" */
static const char *node_name(const char *argument)
{
	return strncmp(argument, "/dev/", strlen("/dev/")) ? argument : argument + strlen("/dev/");
}

/* Asks the library only for a link: its call examines more of a region than udev should wait for. */
int machine_named(struct donard_context *ctx, const struct machine *machine, const char *argument,
		  const struct donard_region_info **region)
{
	struct donard_region_list *list;
	char text[128];
	int rc;

	*region = find_region(machine, node_name(argument));
	if (*region)
		return 0;
	rc = donard_region_find(ctx, argument, &list);
	if (rc)
		return rc;
	snprintf(text, sizeof(text), "%s: it has just been added. Try again.", donard_region_get(list, 0)->name);
	*region = find_region(machine, donard_region_get(list, 0)->name);
	donard_region_list_free(list);
	return *region ? 0 : donard_fail(ctx, -ENODEV, "no-such-region", text);
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

bool machine_has_twin(const struct machine *machine, const struct donard_candidate_info *candidate)
{
	const struct donard_candidate_info *other;

	for (size_t i = 0; (other = donard_candidate_get(machine->candidates, i)); i++)
		if (other != candidate && candidate->by_id[0] && !strcmp(other->by_id, candidate->by_id))
			return true;
	return false;
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

static bool is_meant(const struct region_section *section, const struct donard_candidate_info *candidate)
{
	return candidate->kind == section->kind && is_device(section, candidate) &&
	       (section->kind != DONARD_KIND_PCI_BAR || candidate->bar == section->bar);
}

unsigned int machine_find(const struct machine *machine, const struct region_section *section,
			  const struct donard_candidate_info **found)
{
	const struct donard_candidate_info *candidate;
	unsigned int count = 0;

	*found = NULL;
	for (size_t i = 0; (candidate = donard_candidate_get(machine->candidates, i)); i++)
		if (is_meant(section, candidate) && !count++)
			*found = candidate;
	return count;
}

bool machine_means(const struct machine *machine, const struct region_section *section, const char *bdf)
{
	const struct donard_candidate_info *candidate;

	for (size_t i = 0; (candidate = donard_candidate_get(machine->candidates, i)); i++)
		if (!strcmp(candidate->bdf, bdf) && is_meant(section, candidate))
			return true;
	return false;
}

const struct donard_candidate_info *machine_busy(const struct machine *machine, const struct region_section *section)
{
	const struct donard_candidate_info *candidate;

	for (size_t i = 0; (candidate = donard_candidate_get(machine->candidates, i)); i++)
		if (candidate->busy && (section->kind == DONARD_KIND_NVME_PMR || section->kind == DONARD_KIND_NVME_CMB) &&
		    is_device(section, candidate))
			return candidate;
	return NULL;
}

/* Memory out of the nvme driver's pool lies wherever there was room. */
bool region_is_pooled(const struct donard_region_info *region)
{
	return region->kind == DONARD_KIND_NVME_CMB && region->page_type == DONARD_PAGES_P2PDMA;
}

/* A region in quarantine does not count: its pool went away with its device. */
static bool shares_pool(const struct machine *machine, const struct donard_region_info *region)
{
	const struct donard_region_info *other;

	for (size_t i = 0; (other = donard_region_get(machine->regions, i)); i++)
		if (region_is_pooled(other) && other->state != DONARD_STATE_QUARANTINED && !strcmp(other->bdf, region->bdf) &&
		    strcmp(other->name, region->name))
			return true;
	return false;
}

bool machine_has_all_of_pool(const struct machine *machine, const struct donard_region_info *region,
			     const struct donard_candidate_info *candidate)
{
	unsigned long long free_bytes;
	char path[128];
	FILE *file;
	bool all = false;

	if (shares_pool(machine, region))
		return false;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/p2pmem/available", region->bdf);
	file = fopen(path, "re");
	if (!file)
		return region->size_bytes == candidate->size_bytes;
	if (fscanf(file, "%llu", &free_bytes) == 1)
		all = free_bytes < 2 << 20;
	fclose(file);
	return all;
}

uint64_t region_offset(const struct donard_candidate_info *candidate,
		       const struct donard_region_info *region)
{
	if (region_is_pooled(region))
		return 0;
	if (region->kind == DONARD_KIND_PCI_BAR)
		return region->offset_bytes;
	return region->offset_bytes - candidate->offset_bytes;
}

uint64_t region_length(const struct donard_region_info *region)
{
	return regionkeys_whole(region->size_bytes);
}

bool section_is_region(const struct region_section *section,
		       const struct donard_candidate_info *candidate,
		       const struct donard_region_info *region)
{
	if (section->kind != region->kind || strcmp(candidate->bdf, region->bdf))
		return false;
	/* A GPU's section without a bar means the largest BAR. */
	if ((section->kind == DONARD_KIND_PCI_BAR || (section->kind == DONARD_KIND_GPU_NVIDIA && section->bar)) &&
	    section->bar != region->bar)
		return false;
	if (section->length_bytes && section->length_bytes != region_length(region))
		return false;
	return section->offset_bytes == region_offset(candidate, region);
}

bool section_is_linked(const struct region_section *section, const struct stat *node)
{
	char path[sizeof(CLI_REGION_LINKS "by-name/") + sizeof(section->name)];
	struct stat linked;

	snprintf(path, sizeof(path), CLI_REGION_LINKS "by-name/%s", section->name);
	return !stat(path, &linked) && linked.st_rdev == node->st_rdev;
}

bool section_user_is_passed_over(const struct region_section *section, const struct stat *node)
{
	const struct passwd *user = getpwnam(section->user);

	return user && user->pw_uid > SYSTEM_ID_MAX && !node->st_uid;
}

bool section_group_is_passed_over(const struct region_section *section, const struct stat *node)
{
	const struct group *group = getgrnam(section->group);

	return group && group->gr_gid > SYSTEM_ID_MAX && !node->st_gid;
}

bool section_is_passed_over(const struct region_section *section, const struct stat *node, char who[SECTION_WHO_BYTES])
{
	bool user = section_user_is_passed_over(section, node), group = section_group_is_passed_over(section, node);

	snprintf(who, SECTION_WHO_BYTES, "%s%s%s%s%s", user ? "user " : "", user ? section->user : "",
		 user && group ? " and " : "", group ? "group " : "", group ? section->group : "");
	return user || group;
}

static bool is_given(const struct region_section *section, const struct donard_region_info *region)
{
	char path[64];
	struct stat node;

	snprintf(path, sizeof(path), "/dev/%s", region->name);
	return !stat(path, &node) && section_is_linked(section, &node);
}

/* The order of matching: sections whose region udev has already linked, then those with a length, then those that take any. */
enum match { GIVEN, EXACT, ANY, MATCHES };

static void match_section(struct machine *machine, const struct region_section *section, enum match match, bool ready)
{
	const struct donard_candidate_info *candidate;
	const struct donard_region_info *region;

	if (machine_region_of(machine, section) || (match == EXACT && !section->length_bytes) ||
	    machine_find(machine, section, &candidate) != 1)
		return;
	for (size_t i = 0; (region = donard_region_get(machine->regions, i)); i++) {
		if (machine->sections[i] || (region->state == DONARD_STATE_READY) != ready ||
		    !section_is_region(section, candidate, region) || (match == GIVEN && !is_given(section, region)))
			continue;
		machine->sections[i] = section;
		return;
	}
}

static void match_all(struct machine *machine, const struct region_config *config, bool ready)
{
	for (enum match match = GIVEN; match < MATCHES; match++)
		for (size_t i = 0; i < config->count; i++)
			match_section(machine, &config->sections[i], match, ready);
}

int machine_match(struct donard_context *ctx, struct machine *machine, const struct region_config *config)
{
	machine->sections = calloc(donard_region_count(machine->regions) + 1, sizeof(const struct region_section *));
	if (!machine->sections)
		return donard_fail(ctx, -ENOMEM, "no-memory", "there is no memory left");
	/*
	 * Ready regions first: a region that is being removed may be held for long, and its device may have come back
	 * meanwhile.
	 */
	match_all(machine, config, true);
	match_all(machine, config, false);
	return 0;
}

const struct region_section *machine_section_of(const struct machine *machine, const struct donard_region_info *region)
{
	const struct donard_region_info *other;

	for (size_t i = 0; (other = donard_region_get(machine->regions, i)); i++)
		if (other == region)
			return machine->sections[i];
	return NULL;
}

const struct region_section *
machine_doubt(const struct machine *machine, const struct region_config *config, const struct donard_region_info *region)
{
	const struct donard_candidate_info *candidate = machine_candidate_of(machine, region), *first;

	for (size_t i = 0; candidate && i < config->count; i++)
		if (is_device(&config->sections[i], candidate) && section_is_region(&config->sections[i], candidate, region) &&
		    machine_find(machine, &config->sections[i], &first) > 1)
			return &config->sections[i];
	return NULL;
}

const struct donard_region_info *machine_region_of(const struct machine *machine, const struct region_section *section)
{
	const struct donard_region_info *region;

	for (size_t i = 0; (region = donard_region_get(machine->regions, i)); i++)
		if (machine->sections[i] == section)
			return region;
	return NULL;
}
