/* SPDX-License-Identifier: Apache-2.0 */
/* What opening a drive needs to know of its block device. */
#ifndef DND_BLOCKDEV_H
#define DND_BLOCKDEV_H

#include "drive/drive.h"

/* @label names the object in error texts.  After success, dnd_blockdev_release(). */
int dnd_blockdev_resolve(struct donard_context *ctx, dev_t device, const char *label,
			 struct dnd_blockdev *blockdev);
/*
 * Of what is open already.  It may be suspended for a moment, as LVM does for every change: then
 * requests wait, and it is what its table of now says.
 */
int dnd_blockdev_resolve_again(struct donard_context *ctx, dev_t device, const char *label,
			       struct dnd_blockdev *blockdev);
/* Where the device or a partition of it is mounted: "" or a mount point.  -errno without a text: nobody says. */
int dnd_blockdev_mount_point(struct donard_context *ctx, dev_t device, char *text, size_t text_bytes);

/* The array or volume that the device or a partition of it is a leg of: "md0", or "". */
void dnd_blockdev_holder(struct donard_context *ctx, dev_t device, char *text, size_t text_bytes);

#endif /* DND_BLOCKDEV_H */
