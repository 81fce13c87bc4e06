/* SPDX-License-Identifier: Apache-2.0 */
/* Regions that stay: /etc/donard/regions.conf and regions.d/, one section a region. */
#ifndef DONARD_REGIONCONF_H
#define DONARD_REGIONCONF_H

#include <stddef.h>

#include "regionsection.h"

#define REGIONCONF_DIR		"/etc/donard"

struct region_config {
	size_t count;
	struct region_section *sections;
	char error[1024];	/* "FILE:LINE: cause and remedy" */
};

/*
 * Reads @dir/regions.conf and then @dir/regions.d/NAME.conf by name; a missing file or
 * folder holds no section.  0, or -1 with config->error; free it in either case.
 */
int regionconf_load(struct region_config *config, const char *dir);
/* One file more. */
int regionconf_load_file(struct region_config *config, const char *path);
void regionconf_free(struct region_config *config);
/* NULL if there is none of that name. */
const struct region_section *regionconf_find(const struct region_config *config, const char *name);

#endif /* DONARD_REGIONCONF_H */
