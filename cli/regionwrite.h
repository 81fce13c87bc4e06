/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a region as a section, and writes a section to a file. */
#ifndef DONARD_REGIONWRITE_H
#define DONARD_REGIONWRITE_H

#include "regionmatch.h"

#define REGIONWRITE_WHY_BYTES	400

/*
 * Describes the region as it is now.  Leaves the name empty.  Returns false, with the cause and the remedy in @why, if the
 * node's user or group has no name that a section could give.
 */
bool regionwrite_describe(const struct machine *machine, const struct donard_candidate_info *candidate,
			  const struct donard_region_info *region, struct region_section *section,
			  char why[REGIONWRITE_WHY_BYTES]);
/* Chooses a name that no section and no file of the folder has yet. */
void regionwrite_choose_name(const struct region_config *config, const char *dir,
			     const struct donard_candidate_info *candidate, struct region_section *section);
/*
 * Makes @now, a description of @region, name the device as @before does, and leave to the default whatever @before leaves to
 * it.
 */
void regionwrite_keep(const struct region_section *before, const struct donard_region_info *region,
			    struct region_section *now);
/* Do both sections make the same region? */
bool regionwrite_equal(const struct region_section *a, const struct region_section *b);
/* Did 'region save' write this file, and does it still have one section?  A link, and its target, are somebody else's. */
bool regionwrite_owns(const char *file);
/*
 * Replaces the file as a whole; returns 0 or an errno.  Writes no file that 'region apply' would refuse, or read as another
 * region: @why then has the cause and the remedy, and is "" otherwise.
 */
int regionwrite_file(const struct region_section *section, const char *dir, char *path, size_t path_bytes,
		     char why[REGIONWRITE_WHY_BYTES]);

#endif /* DONARD_REGIONWRITE_H */
