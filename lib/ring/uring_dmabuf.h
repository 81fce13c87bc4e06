/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What io_uring needs to be told to put a dma-buf into one of a ring's slots.  No header of a release has it yet: Linux 7.4 is
 * the first (include/uapi/linux/io_uring.h).  These numbers are those of "Add dmabuf read/write via io_uring" as it was posted
 * to linux-block and io-uring, unchanged from v3 (April 2026) to v7 (September 2026), before it was merged.  A kernel that
 * has other ones, or none, answers EINVAL, since it wants the reserved members, in which they lie, to be zero.
 */
#ifndef DND_URING_DMABUF_H
#define DND_URING_DMABUF_H

#include <linux/types.h>

/* The argument of IORING_REGISTER_BUFFERS_UPDATE: struct io_uring_rsrc_update2, whose flags older headers call reserved. */
struct dnd_uring_update {
	__u32 offset, flags;
	__u64 data, tags;
	__u32 nr, reserved;
};

#define DND_UPDATE_EXTENDED	(1U << 1)	/* IORING_RSRC_UPDATE_EXTENDED: data points to descriptors, not to iovecs */
#define DND_BUFFER_DMABUF	2U		/* IO_REGBUF_TYPE_DMABUF */

/* struct io_uring_regbuf_desc.  A dma-buf goes in whole, so that size and address are zero. */
struct dnd_uring_buffer {
	__u32 type, flags;
	__u64 size, uaddr;
	__s32 dmabuf_fd, target_fd;
	__u64 reserved[6];
};

_Static_assert(sizeof(struct dnd_uring_update) == 32, "as the kernel has it");
_Static_assert(sizeof(struct dnd_uring_buffer) == 80, "as the kernel has it");

#endif /* DND_URING_DMABUF_H */
