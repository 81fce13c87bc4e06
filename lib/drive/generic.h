/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of opening a generic device, for generic.c and its tests. */
#ifndef DND_GENERIC_H
#define DND_GENERIC_H

#include "drive/drive.h"

/* Finds the device of the drive's namespace: "ng0n1", and its number. */
int dnd_generic_find(struct donard_context *ctx, const struct dnd_drive *drive, char *name,
		     size_t name_bytes, dev_t *device);
/* Reads from sysfs what bounds a command. */
int dnd_generic_limits(struct donard_context *ctx, const struct dnd_drive *drive,
		       struct dnd_generic *generic);
/* Why the namespace cannot be used, by its answer to Identify Namespace; or NULL. */
const char *dnd_generic_unfit(const uint8_t identify[4096], uint32_t lba_bytes);
/*
 * Is the kernel Linux 6.12 or later?  In older kernels a command that could not be mapped
 * for DMA could end as a success (nvme_uring_cmd_end_io() of 6.9 to 6.11, and of the first
 * kernels that had it).
 */
bool dnd_generic_kernel_fits(const char *release);

#endif /* DND_GENERIC_H */
