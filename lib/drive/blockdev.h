/* SPDX-License-Identifier: Apache-2.0 */
/* From a block device number to the NVMe controllers that serve it. */
#ifndef DONARD_BLOCKDEV_H
#define DONARD_BLOCKDEV_H

#include <sys/types.h>

#include "base/base.h"

#define DND_CONTROLLERS	8

struct dnd_blockdev {
	char disk[64];		/* "nvme0n1", also for a partition of it */
	uint64_t start_bytes;	/* of the partition; 0 for the disk */
	uint64_t length_bytes;
	uint32_t block_bytes;	/* logical block */
	uint64_t request_bytes;	/* the longest that is not split; 0: unknown */
	size_t controller_count;	/* more than one with native multipath */
	char controllers[DND_CONTROLLERS][DONARD_BDF_BYTES];
	char controller_names[DND_CONTROLLERS][16];	/* "nvme0", in the same order */
};

enum dnd_health { DND_HEALTH_GONE, DND_HEALTH_RESETTING, DND_HEALTH_LIVE };

/* @label names the object in error texts. */
int dnd_blockdev_resolve(struct donard_context *ctx, dev_t device, const char *label,
			 struct dnd_blockdev *blockdev);
/* As of now: that of the best controller that served it when it was resolved. */
enum dnd_health dnd_blockdev_health(struct donard_context *ctx,
				    const struct dnd_blockdev *blockdev);
/* Where the device or a partition of it is mounted: "" or a mount point. */
void dnd_blockdev_mount_point(struct donard_context *ctx, dev_t device, char *text,
			      size_t text_bytes);

#endif /* DONARD_BLOCKDEV_H */
