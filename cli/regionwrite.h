/* SPDX-License-Identifier: Apache-2.0 */
/* A region as a section, and a section as a file. */
#ifndef DONARD_REGIONWRITE_H
#define DONARD_REGIONWRITE_H

#include "regionmatch.h"

/* What the region is now.  The name is left empty. */
void regionwrite_describe(const struct machine *machine, const struct donard_candidate_info *candidate,
			  const struct donard_region_info *region, struct region_section *section);
/* One that no section and no file of the folder has yet. */
void regionwrite_choose_name(const struct region_config *config, const char *dir,
			     struct region_section *section);
/* Do both make the same region? */
bool regionwrite_equal(const struct region_section *a, const struct region_section *b);
/* Is the file one that 'region save' wrote, with this section alone? */
bool regionwrite_owns(const char *file);
/* Puts the whole file in place at once; 0 or an errno. */
int regionwrite_file(const struct region_section *section, const char *dir, char *path,
		     size_t path_bytes);

#endif /* DONARD_REGIONWRITE_H */
