/* SPDX-License-Identifier: Apache-2.0 */
/* The properties of a block device that open.c needs. */
#ifndef DND_BLOCKDEV_H
#define DND_BLOCKDEV_H

#include "drive/drive.h"

/* @label names the object in error texts.  After success the caller calls dnd_blockdev_release(). */
int dnd_blockdev_resolve(struct donard_context *ctx, dev_t device, const char *label,
			 struct dnd_blockdev *blockdev);
/*
 * Resolves a device that is open already.  It may be suspended for a moment, as LVM does for every
 * change.  Requests then wait, and the answer comes from the table that it has now.
 */
int dnd_blockdev_resolve_again(struct donard_context *ctx, dev_t device, const char *label,
			       struct dnd_blockdev *blockdev);
#define DND_JBD2	"/proc/fs/jbd2"	/* has an entry for each journal (journal.c) */

/* used.c: what uses the bytes of a block device, under whichever of its names */
struct dnd_use {
	char by[512];	/* "/mnt", "md0", "/dev/nvme0n1p2"; "": nothing */
	char as[96];	/* " (as /dev/nvme0n1p1)" if another block device than the one that was asked for is used; or "" */
};

/*
 * Where the device or a partition of it is mounted.  Returns -errno without a text if that is not known.  @twins, here and in
 * the next three: looks only at the other block devices of its namespace (disk.h).
 */
int dnd_use_mount(struct donard_context *ctx, dev_t device, bool twins, struct dnd_use *use);
/* The swap space that lies on it. */
void dnd_use_swap(struct donard_context *ctx, dev_t device, bool twins, struct dnd_use *use);
/* The journal of a mounted ext4, if the device is such an external journal. */
void dnd_use_journal(struct donard_context *ctx, dev_t device, bool twins, struct dnd_use *use);
/* The array or volume that it is a leg of. */
void dnd_use_holder(struct donard_context *ctx, dev_t device, bool twins, struct dnd_use *use);

/*
 * twins.c: calls @each for the folder in sysfs ("block/nvme0n1/nvme0n1p1") of each other block device with bytes of this one.
 * Stops when @each returns other than 0, and returns that.
 */
int dnd_for_each_twin(struct donard_context *ctx, dev_t device,
		      int (*each)(struct donard_context *ctx, const char *folder, void *data), void *data);
#endif /* DND_BLOCKDEV_H */
