/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernel versions that concern the disk of a pmem device and its pages. */
#ifndef P2PMEM_COMPAT_DISK_H
#define P2PMEM_COMPAT_DISK_H

#include <linux/blkdev.h>
#include <linux/version.h>

/* Since 6.15 idle pages of a DAX file system have no reference. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
#define COMPAT_FS_DAX_REST	1
#else
#define COMPAT_FS_DAX_REST	0
#endif

/* An exclusive claim of a disk is the disk; since 6.7 a handle, and since 6.9 a file. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define COMPAT_DISK_CLAIM	struct block_device

static inline COMPAT_DISK_CLAIM *compat_claim_disk(dev_t dev, void *holder)
{
	return blkdev_get_by_dev(dev, FMODE_READ | FMODE_EXCL, holder);
}

static inline void compat_unclaim_disk(COMPAT_DISK_CLAIM *claim, void *holder)
{
	blkdev_put(claim, FMODE_READ | FMODE_EXCL);
}
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define COMPAT_DISK_CLAIM	struct block_device

static inline COMPAT_DISK_CLAIM *compat_claim_disk(dev_t dev, void *holder)
{
	return blkdev_get_by_dev(dev, BLK_OPEN_READ, holder, NULL);
}

static inline void compat_unclaim_disk(COMPAT_DISK_CLAIM *claim, void *holder)
{
	blkdev_put(claim, holder);
}
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#define COMPAT_DISK_CLAIM	struct bdev_handle

static inline COMPAT_DISK_CLAIM *compat_claim_disk(dev_t dev, void *holder)
{
	return bdev_open_by_dev(dev, BLK_OPEN_READ, holder, NULL);
}

static inline void compat_unclaim_disk(COMPAT_DISK_CLAIM *claim, void *holder)
{
	bdev_release(claim);
}
#else
#define COMPAT_DISK_CLAIM	struct file

static inline COMPAT_DISK_CLAIM *compat_claim_disk(dev_t dev, void *holder)
{
	return bdev_file_open_by_dev(dev, BLK_OPEN_READ, holder, NULL);
}

static inline void compat_unclaim_disk(COMPAT_DISK_CLAIM *claim, void *holder)
{
	bdev_fput(claim);
}
#endif

#endif
