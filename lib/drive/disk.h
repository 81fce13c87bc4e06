/* SPDX-License-Identifier: Apache-2.0 */
/* Disks and partitions as sysfs shows them, and the controllers of NVMe drives. */
#ifndef DND_DISK_H
#define DND_DISK_H

#include "drive/drive.h"

#define DND_SECTOR_BYTES 512

/* The name of the disk that the device with that number, "259:3", is or belongs to. */
int dnd_disk_name(struct donard_context *ctx, const char *number, char *disk, size_t disk_bytes);
/* The number of the device in a file of sysfs, such as "block/nvme0n1/dev"; 0 or -errno. */
int dnd_disk_number(struct donard_context *ctx, dev_t *device, const char *format, ...) DND_PRINTF(3, 4);

/*
 * Without native multipath (nvme_core.multipath=N) a namespace has a disk of its own for each of its controllers: nvme0n1 and
 * nvme1n1 then have the same bytes, and neither is a partition, holder or link of the other.
 */
/* Sets text that such disks have in common; or "" if the disk is no namespace's, or nobody knows whose. */
void dnd_disk_medium(struct donard_context *ctx, const char *disk, char medium[DND_MEDIUM_BYTES]);
bool dnd_blockdev_is_same(const struct dnd_blockdev *a, const struct dnd_blockdev *b);

/* The bytes of a disk or partition. */
struct dnd_span {
	char disk[64];
	char medium[DND_MEDIUM_BYTES];
	uint64_t from_bytes, end_bytes;		/* a disk ends at UINT64_MAX */
};

/* Returns 0, or -errno without a text, for instance if sysfs has no such device. */
int dnd_disk_span(struct donard_context *ctx, dev_t device, struct dnd_span *span);
bool dnd_spans_meet(const struct dnd_span *a, const struct dnd_span *b);
/* Is the disk another one of the same namespace? */
bool dnd_disk_is_twin(struct donard_context *ctx, const char *disk, const struct dnd_span *span);

/* Words for a disk that is no NVMe drive, such as "a loop device". */
const char *dnd_disk_describe(const char *disk);
/* Is it made of other devices? */
bool dnd_disk_is_stack(const char *disk);
/*
 * The folder in sysfs of the path by which a controller serves a disk of native multipath: "class/nvme/nvme3/nvme0c3n1" for
 * nvme0n1 by nvme3.  False if the two have other names.  Does not look whether there is such a path.
 */
#define DND_PATH_BYTES	96
bool dnd_disk_path(const char *disk, const char *controller_name, char folder[DND_PATH_BYTES]);
/*
 * Sets what the CPU does for the protection information of the disk or of one of its paths, which root may change at any time.
 * Its controllers are known already.
 */
void dnd_disk_read_integrity(struct donard_context *ctx, struct dnd_blockdev *blockdev);
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
