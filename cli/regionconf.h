/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of permanent regions: /etc/donard/regions.conf and regions.d/, one section for each region. */
#ifndef DONARD_REGIONCONF_H
#define DONARD_REGIONCONF_H

#include <stddef.h>

#include "regionsection.h"

#define REGIONCONF_DIR		"/etc/donard"

struct region_config {
	size_t count;
	struct region_section *sections;
	char error[1024];	/* "FILE:LINE: cause and remedy" */
	const char *error_code;	/* as a failure's */
	int exit_code;
};

/*
 * Boot, hotplug and a person may apply or save at the same time: the lock makes them take turns, from reading the configuration
 * on. Waits for the lock, and returns a descriptor to close, or -1 if the caller is not root or the module is not loaded.  Only
 * root can open the control node, so nobody else can hold the lock.
 */
int regionconf_lock(void);
/*
 * Reads @dir/regions.conf and then @dir/regions.d/NAME.conf, sorted by name; a missing file
 * or folder counts as empty, and a link that leads nowhere as unreadable.  Returns 0, or -1 and sets config->error, with its
 * code and exit status.  The caller calls regionconf_free() in both cases.
 */
int regionconf_load(struct region_config *config, const char *dir);
/* The same for a folder that the user named, which must exist. */
int regionconf_load_named(struct region_config *config, const char *dir);
/* Reads one more file. */
int regionconf_load_file(struct region_config *config, const char *path);
void regionconf_free(struct region_config *config);
/* Returns NULL if there is no section of that name. */
const struct region_section *regionconf_find(const struct region_config *config, const char *name);

#endif /* DONARD_REGIONCONF_H */
