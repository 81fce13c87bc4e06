/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the memory of this machine that a section means, and the region that was made of it. */
#ifndef DONARD_REGIONMATCH_H
#define DONARD_REGIONMATCH_H

#include <sys/stat.h>

#include "donard/candidate.h"
#include "regionconf.h"

#define SECTION_WHO_BYTES	(sizeof("user  and group ") + 2 * REGIONCONF_WHO_BYTES)

/* The present state of the machine: memory that could be a region, and regions. */
struct machine {
	struct donard_candidate_list *candidates;
	struct donard_region_list *regions;	/* NULL if the module is not loaded */
	const struct region_section **sections;	/* of each region, or NULL; machine_match() sets it */
};

/*
 * Returns 0, or the error of the library.  If the module is not loaded, that is an error only if @need_module; else
 * there are just no regions.
 */
int machine_look(struct donard_context *ctx, struct machine *machine, bool need_module);
void machine_forget(struct machine *machine);

/* The region that an argument means, in any of its names.  Returns 0, or the error of the library. */
int machine_named(struct donard_context *ctx, const struct machine *machine, const char *argument,
		  const struct donard_region_info **region);
/* The candidate that the region was made of, or NULL. */
const struct donard_candidate_info *
machine_candidate_of(const struct machine *machine, const struct donard_region_info *region);
/* Has another candidate the same by_id?  A link of that name would lead to either. */
bool machine_has_twin(const struct machine *machine, const struct donard_candidate_info *candidate);
/* Returns how many candidates the section means; *found is the first. */
unsigned int machine_find(const struct machine *machine, const struct region_section *section,
			  const struct donard_candidate_info **found);
/* Is memory of that function among the candidates that the section means? */
bool machine_means(const struct machine *machine, const struct region_section *section, const char *bdf);
/* The drive that the section means, if it is busy and may have the memory: see donard_candidate_info.  Else NULL. */
const struct donard_candidate_info *machine_busy(const struct machine *machine, const struct region_section *section);
/* Does the section, which means @candidate, describe this region? */
bool section_is_region(const struct region_section *section,
		       const struct donard_candidate_info *candidate,
		       const struct donard_region_info *region);
/*
 * Pairs sections with regions, one to one at most: sections may be equal but for their names and users.  A section keeps the
 * region that udev gave it.  A region that is being removed gets a section only if no other region can have it.  The
 * configuration must not change as long as the machine is used.  Returns 0, or -ENOMEM with the failure in @ctx.
 */
int machine_match(struct donard_context *ctx, struct machine *machine, const struct region_config *config);
/* The section from which the region was made, or could have been made; or NULL.  The region is one of @machine's. */
const struct region_section *machine_section_of(const struct machine *machine, const struct donard_region_info *region);
/* A section that the region fits, but that means several devices, so that it may be another region's; or NULL. */
const struct region_section *
machine_doubt(const struct machine *machine, const struct region_config *config, const struct donard_region_info *region);
/* The region of that section, even one that is being removed; or NULL. */
const struct donard_region_info *machine_region_of(const struct machine *machine, const struct region_section *section);
/* Does the link with the section's name lead to this node? */
bool section_is_linked(const struct region_section *section, const struct stat *node);
/*
 * udev of systemd 258 and 259 gives nodes to system users and groups alone, and leaves those of others to root.  Does this node
 * look like that?  It looks the same if an administrator gave it to root.  @who: "user NAME", "group NAME" or both.
 */
bool section_user_is_passed_over(const struct region_section *section, const struct stat *node);
bool section_group_is_passed_over(const struct region_section *section, const struct stat *node);
bool section_is_passed_over(const struct region_section *section, const struct stat *node, char who[SECTION_WHO_BYTES]);
/*
 * The length that a section would give for the region: its whole units of 2 MiB.  Only a region of the nvme driver's pool may
 * be longer than that.
 */
uint64_t region_length(const struct donard_region_info *region);
bool region_is_pooled(const struct donard_region_info *region);
/* Is it the only region of the nvme driver's pool, and the rest too small for another? */
bool machine_has_all_of_pool(const struct machine *machine, const struct donard_region_info *region,
			     const struct donard_candidate_info *candidate);
/* Where the region begins, counted from the same place as --offset of 'region add'. */
uint64_t region_offset(const struct donard_candidate_info *candidate,
		       const struct donard_region_info *region);

#endif /* DONARD_REGIONMATCH_H */
