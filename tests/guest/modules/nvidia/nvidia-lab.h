/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * /dev/nvidia-lab, by which the tests' libcuda allocates and moves "GPU memory":
 * 64 KiB pages of the BAR.  An open file is a process's context; closing it frees
 * all that it allocated.  Addresses are the GPU's: no CPU mapping is behind them,
 * and each process has its own, beginning with the same.
 */
#ifndef NVIDIA_LAB_H
#define NVIDIA_LAB_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define NVLAB_NODE		"nvidia-lab"
#define NVLAB_PAGE_BYTES	0x10000
#define NVLAB_FIRST_VA		0x302000000ULL
#define NVLAB_LAST_VA		0x1000000000ULL

struct nvlab_device {
	__u32 domain, bus, device, function;
	__u64 bar1_bytes;
	__u64 vram_bytes;
	__u64 free_bytes;
};

/* bytes: the requested size; the allocation has whole pages.  Fails with ENOMEM. */
struct nvlab_alloc {
	__u64 bytes;
	__u64 va;	/* out */
};

/* va: anywhere in an allocation.  ENOENT if in none. */
struct nvlab_info {
	__u64 va;
	__u64 base;		/* out, like all that follows */
	__u64 bytes;
	__u64 bar_offset;	/* of va's page in the BAR, plus the rest of va */
	__u64 serial;		/* never used again */
};

#define NVLAB_TO_HOST	0
#define NVLAB_TO_GPU	1
#define NVLAB_ON_GPU	2	/* to va, from peer */

struct nvlab_copy {
	__u64 va;
	__u64 peer;	/* address in the process, or of the GPU */
	__u64 bytes;
	__u64 direction;
};

/* value, of 1, 2 or 4 bytes, count times. */
struct nvlab_set {
	__u64 va;
	__u64 count;
	__u32 value;
	__u32 width;
};

/* Part of one allocation, in whole pages of 4 KiB, as a dma-buf. */
struct nvlab_export {
	__u64 va;
	__u64 bytes;
	__s32 fd;	/* out */
	__u32 reserved;
};

#define NVLAB_DEVICE	_IOR('N', 0, struct nvlab_device)
#define NVLAB_ALLOC	_IOWR('N', 1, struct nvlab_alloc)
/* va: the begin of an allocation.  ENOENT if it is none.  Callbacks run in it. */
#define NVLAB_FREE	_IOW('N', 2, __u64)
#define NVLAB_INFO	_IOWR('N', 3, struct nvlab_info)
#define NVLAB_COPY	_IOW('N', 4, struct nvlab_copy)
#define NVLAB_SET	_IOW('N', 5, struct nvlab_set)
#define NVLAB_EXPORT	_IOWR('N', 6, struct nvlab_export)
/* Runs the callbacks of the allocation that holds va; the memory stays. */
#define NVLAB_REVOKE	_IOW('N', 7, __u64)

#endif
