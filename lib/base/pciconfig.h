/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration space of a PCI function, as far as sysfs shows it: users other than root can read only 64 bytes, and under
 * some hypervisors nobody can read the extended part.  This file uses no context, for the reason that files.h gives.
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

/* @path: the function's file "config".  Returns 0, or -errno if no byte could be read. */
int dnd_config_read(const char *path, struct dnd_config *config);
/* Where the capability with this number begins, or 0.  Returns even if the list goes in circles. */
size_t dnd_config_capability(const struct dnd_config *config, unsigned int id);
/* Does the same for an extended capability; returns 0 also if fewer than @least_bytes of it could be read. */
size_t dnd_config_extended(const struct dnd_config *config, unsigned int id, size_t least_bytes);
/* Read a register.  They return false, and *value is 0, where it lies beyond what could be read. */
bool dnd_config_16(const struct dnd_config *config, size_t at, unsigned int *value);
bool dnd_config_32(const struct dnd_config *config, size_t at, uint32_t *value);
/* Could it be read as far as capabilities can lie? */
bool dnd_config_whole(const struct dnd_config *config);

#endif /* DND_PCICONFIG_H */
