/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory of this machine a section means, and which region is made of it. */
#ifndef DONARD_REGIONMATCH_H
#define DONARD_REGIONMATCH_H

#include "donard/candidate.h"
#include "regionconf.h"

/* The machine as it is now: what could be a region, and what is one. */
struct machine {
	struct donard_candidate_list *candidates;
	struct donard_region_list *regions;	/* NULL without the module */
};

/* 0, or what the library returned.  Without the module there are no regions, unless @need_module. */
int machine_look(struct donard_context *ctx, struct machine *machine, bool need_module);
void machine_forget(struct machine *machine);

/* The candidate that the region was made of, or NULL. */
const struct donard_candidate_info *
machine_candidate_of(const struct machine *machine, const struct donard_region_info *region);
/* How many candidates the section means; *@found is the first. */
unsigned int machine_find(const struct machine *machine, const struct region_section *section,
			  const struct donard_candidate_info **found);
/* Does the section, which means @candidate, describe this region? */
bool section_is_region(const struct region_section *section,
		       const struct donard_candidate_info *candidate,
		       const struct donard_region_info *region);
/* The section that the region was made by, or could have been; or NULL. */
const struct region_section *
machine_section_of(const struct machine *machine, const struct region_config *config,
		   const struct donard_region_info *region);
/* Where the region begins, as 'region add --offset' counts. */
uint64_t region_offset(const struct donard_candidate_info *candidate,
		       const struct donard_region_info *region);

#endif /* DONARD_REGIONMATCH_H */
