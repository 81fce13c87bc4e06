/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration space of a PCI function, as far as sysfs shows it: others than root read 64 bytes of it, and behind some
 * hypervisors nobody reads the extended part.  It uses no context, as files.h, and for the same reason.
 */
#ifndef DND_PCICONFIG_H
#define DND_PCICONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DND_CONFIG_BYTES	4096

struct dnd_config {
	size_t count;		/* how many of the bytes could be read */
	uint8_t bytes[DND_CONFIG_BYTES];
};

/* @path: of the function's file "config".  Returns 0, or -errno and no byte. */
int dnd_config_read(const char *path, struct dnd_config *config);
/* Where the capability with this number begins, or 0.  A list that goes in circles ends, too. */
size_t dnd_config_capability(const struct dnd_config *config, unsigned int id);
/* The same of an extended one; 0 also where less than @least_bytes of it could be read. */
size_t dnd_config_extended(const struct dnd_config *config, unsigned int id, size_t least_bytes);
/* Read a register.  They return false, and *value is 0, where it lies beyond what could be read. */
bool dnd_config_16(const struct dnd_config *config, size_t at, unsigned int *value);
bool dnd_config_32(const struct dnd_config *config, size_t at, uint32_t *value);
/* Could it be read as far as capabilities can lie? */
bool dnd_config_whole(const struct dnd_config *config);

#endif /* DND_PCICONFIG_H */
