/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generic character device of an NVMe namespace (/dev/ng0n1): it takes
 * the drive's own commands, past the block layer.
 */
#ifndef DONARD_GENERIC_H
#define DONARD_GENERIC_H

#include <sys/types.h>

#include "drive/drive.h"

struct dnd_generic {
	int fd;				/* -1: not in use */
	uint32_t nsid;
	uint32_t lba_bytes;
	uint64_t start_bytes;		/* of the partition; 0 for the namespace */
	uint64_t limit_bytes;		/* of one command */
	uint32_t memory_align_bytes;	/* of what it moves: else the kernel bounces it */
};

/* Finds the device of the drive's namespace: "ng0n1", and its number. */
int dnd_generic_find(struct donard_context *ctx, const struct dnd_drive *drive, char *name,
		     size_t name_bytes, dev_t *device);
/* Reads from sysfs what bounds a command. */
int dnd_generic_limits(struct donard_context *ctx, const struct dnd_drive *drive,
		       struct dnd_generic *generic);
/* From the answer to Identify Namespace: why it cannot be used, or NULL. */
const char *dnd_generic_unfit(const uint8_t identify[4096], uint32_t lba_bytes);
/*
 * Before Linux 6.12 (nvme_uring_cmd_end_io() of 6.9 to 6.11, and of the first
 * ones) a command that could not be mapped for DMA ended as a success.
 */
bool dnd_generic_kernel_fits(const char *release);
/* Opens it after all checks; sends Identify, moves and changes nothing. */
int dnd_generic_open(struct donard_context *ctx, const struct dnd_drive *drive,
		     struct dnd_generic *generic);
void dnd_generic_close(struct dnd_generic *generic);

#endif /* DONARD_GENERIC_H */
