/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Apache-2.0 */
/*
 * /dev/dmabuf_exporter: an exporter of dma-bufs that maps them in each way that
 * drivers do.  For tests only: no device can attach to one.
 */
#ifndef EXPORTER_H
#define EXPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define EXPORTER_NODE	"dmabuf_exporter"

enum exporter_mode {
	EXPORTER_PAGES,		/* host memory, mapped by struct pages */
	EXPORTER_FRAMES,	/* the same, by page frame numbers, as udmabuf and GPU drivers do */
	EXPORTER_UNMAPPED,	/* nothing for the CPU */
	EXPORTER_WRAPPED,	/* maps another dma-buf, @inner_fd */
};

/* Returns the descriptor. */
struct exporter_export {
	__u32 mode;
	__s32 inner_fd;
	__u64 bytes;
};

#define EXPORTER_EXPORT	_IOW('e', 0, struct exporter_export)
#define EXPORTER_REVOKE	_IOW('e', 1, __s32)	/* that dma-buf: mappings go, and no new ones come */
#define EXPORTER_ACCESSES	_IOW('e', 2, __s32)	/* returns how often it was told of an access, or a mapping faulted */

#endif
