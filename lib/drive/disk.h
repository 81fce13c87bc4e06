/* SPDX-License-Identifier: Apache-2.0 */
/* Disks and partitions as sysfs shows them, and the controllers of NVMe drives. */
#ifndef DND_DISK_H
#define DND_DISK_H

#include "drive/drive.h"

#define DND_SECTOR_BYTES 512

/* The name of the disk that the device with that number, "259:3", is or belongs to. */
int dnd_disk_name(struct donard_context *ctx, const char *number, char *disk, size_t disk_bytes);
/* Words for a disk that is no NVMe drive, such as "a loop device". */
const char *dnd_disk_describe(const char *disk);
/* Is it made of other devices? */
bool dnd_disk_is_stack(const char *disk);
/* Name and geometry of any block device, and its number as text; @label names it in error texts. */
int dnd_disk_look_up(struct donard_context *ctx, dev_t device, const char *label, char number[32],
		     struct dnd_blockdev *blockdev);
/* Finds the controllers of a disk that was looked up.  Fails unless it is an NVMe drive on PCIe. */
int dnd_disk_find_controllers(struct donard_context *ctx, const char *label,
			      struct dnd_blockdev *blockdev);
/* Looks the disk up and finds its controllers. */
int dnd_disk_resolve(struct donard_context *ctx, dev_t device, const char *label,
		     struct dnd_blockdev *blockdev);

#endif /* DND_DISK_H */
