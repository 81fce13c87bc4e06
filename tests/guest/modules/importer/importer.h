/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Apache-2.0 */
/*
 * /dev/dmabuf_importer: an importer of dma-bufs that does no DMA and tells what
 * it was given.  For tests only.  One open file is one attachment; closing it
 * lets go of everything.
 */
#ifndef IMPORTER_H
#define IMPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define IMPORTER_NODE		"dmabuf_importer"
#define IMPORTER_ENTRIES	16

enum importer_mode {
	IMPORTER_STATIC,	/* dma_buf_attach(): no callback, struct pages */
	IMPORTER_NO_P2P,	/* dynamic, but wants struct pages */
	IMPORTER_DYNAMIC,	/* unmaps a moment after it is told to */
	IMPORTER_REVOCABLE,	/* pinned; unmaps in the callback, as RDMA does; not before stall is N */
	IMPORTER_PINNED,	/* pinned; cannot let go (7.x: no callback at all) */
};

/* @function: devfn; @domain of ~0: a device that is no PCI function. */
struct importer_attach {
	__s32 fd;
	__u32 mode;
	__u32 domain;
	__u32 bus;
	__u32 function;
};

/* @direction in: enum dma_data_direction; the rest out. */
struct importer_map {
	__u32 direction;
	__u32 nents;
	__u32 orig_nents;
	__u32 pages;		/* entries that have a struct page */
	struct {
		__u64 address;
		__u64 bytes;
	} entries[IMPORTER_ENTRIES];
};

struct importer_state {
	__u32 notified;		/* how often the callback was called */
	__u32 mapped;
};

#define IMPORTER_ATTACH	_IOW('i', 0, struct importer_attach)
#define IMPORTER_MAP	_IOWR('i', 1, struct importer_map)
#define IMPORTER_UNMAP	_IO('i', 2)
#define IMPORTER_DETACH	_IO('i', 3)
#define IMPORTER_STATE	_IOR('i', 4, struct importer_state)
#define IMPORTER_VMAP	_IO('i', 5)
#define IMPORTER_FENCE	_IO('i', 6)	/* a request under way on the dma-buf ... */
#define IMPORTER_SIGNAL	_IO('i', 7)	/* ... and its end */
#define IMPORTER_HOLD	_IO('i', 8)	/* the reservation lock, while the module's parameter stall is Y */
#define IMPORTER_LAZY_FENCE	_IO('i', 9)	/* a request whose end is noticed only by a waiter */

#endif
