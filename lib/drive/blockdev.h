/* SPDX-License-Identifier: Apache-2.0 */
/* What open.c needs to know of a block device. */
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
/* Where the device or a partition of it is mounted, or "".  Returns -errno without a text if that is not known. */
int dnd_blockdev_mount_point(struct donard_context *ctx, dev_t device, char *text, size_t text_bytes);

/* The swap space that lies on the device or on a partition of it, or "". */
void dnd_blockdev_swap(struct donard_context *ctx, dev_t device, char *text, size_t text_bytes);
/* The array or volume that the device, or a partition of it, is a leg of: "md0", or "". */
void dnd_blockdev_holder(struct donard_context *ctx, dev_t device, char *text, size_t text_bytes);

#endif /* DND_BLOCKDEV_H */
