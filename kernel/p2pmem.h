/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The objects of p2pmem and who owns what.
 *
 *   region   owned by its struct device (reference counted).  Its pages are
 *            owned by the backing, which drain.c alone may close.
 *   file     one per open(); owns extents; holds a device reference of the
 *            region, so the struct outlives the pages.
 *   extent   a range of the region that one file owns.  After the file is
 *            closed it moves to the region's draining list until no pin is
 *            left, holding a module reference.
 *   export   a dma-buf; holds the open file, and through it all of the above.
 *
 * What may be asked of them is in the header of each concept: registry.h, gate.h, extent.h ...
 *
 * Lock order: device lock -> mmap_lock -> file->back_lock -> region->gate ->
 * region->files_lock -> file->lock -> region->alloc_lock; gates of two regions
 * in the order of their numbers;
 * region->exports_lock -> region->gate; file->lock -> region->revalidate_lock -> the
 * lock of guard.c; and region->reap_lock -> region->alloc_lock.
 * None of them is held over copy_{to,from}_user or (un)mapping a backing,
 * but for region->gate in region_set_page_type(), which no fault can meet.
 */
#ifndef P2PMEM_H
#define P2PMEM_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/memremap.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rbtree.h>
#include <linux/rwsem.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../include/uapi/p2pmem.h"
#include "alloc.h"
#include "compat/compat.h"
#include "provider.h"
#include "who.h"

#ifndef CONFIG_X86_64
#error "p2pmem runs on x86-64 only: it reads memory types from x86 page tables, and its barriers and peer-to-peer rules were tried nowhere else"
#endif

#define P2PMEM_MAX_REGIONS	256
/* Pagemaps begin and end at a memory subsection (mm/memremap.c). */
#define P2PMEM_PAGEMAP_ALIGN	(2UL << 20)
/* Granules of a large folio, which one page-middle-directory entry maps. */
#define P2PMEM_CHUNK_ORDER	(PMD_SHIFT - PAGE_SHIFT)
#define P2PMEM_CHUNK		(1UL << P2PMEM_CHUNK_ORDER)
#define P2PMEM_HAS_CHUNKS	(COMPAT_HAS_FOLIOS || COMPAT_HAS_DEVMAP)

/**
 * struct p2pmem_backing - the struct pages of a region
 * @type: enum p2pmem_page_type; changes under the region's gate, read anywhere
 * @kaddr: kernel linear mapping of the first byte
 * @phys, @bytes: where it is, as the CPU sees it
 * @anchor: generic: an ioremap that fixes the memory type before
 *	memremap_pages() asks for one
 * @windows: generic, of a kind whose memory is pinned: the pages are theirs
 * @group: p2pdma on a BAR of ours: devres group of the P2PDMA pool
 * @pmem: pmem: whose driver has the pages; @kaddr is that of the first only
 */
struct p2pmem_backing {
	u32 type;
	u32 memtype;
	void *kaddr;
	phys_addr_t phys;
	u64 bytes;
	void __iomem *anchor;
	struct p2pmem_windows *windows;
	void *group;
	struct p2pmem_pmem *pmem;
	struct dev_pagemap pgmap;
};

/*
 * What happened since the region was added: each processor counts its own, and
 * whoever reads adds up (sysfs.c).  Nothing is decided by them.
 */
struct p2pmem_counts {
	u64 maps;		/* by mmap() */
	u64 faults;		/* of mappings, that were served */
	u64 pins;		/* enum p2pmem_pinner; the kernel's own are unseen */
	u64 routes;		/* that were judged */
	u64 read_bytes;		/* by read() and P2PMEM_IOC_COPY, out of the region */
	u64 written_bytes;	/* by write() and P2PMEM_IOC_COPY, into it */
};

/* Who refers to pages by a call of this module. */
enum p2pmem_pinner {
	P2PMEM_PINNER_RING,	/* a buffer of an io_uring */
	P2PMEM_PINNER_DMABUF,	/* the mapping of a dma-buf */
};

struct p2pmem_region {
	struct device dev;
	struct cdev cdev;
	struct list_head link;		/* registry.c: all regions */
	const struct p2pmem_provider *provider;
	void *provider_data;
	struct pci_dev *pdev;
	unsigned int id;
	unsigned int bar;
	u64 bar_offset;
	u32 want_memtype;
	unsigned int folio_order;	/* of the pagemap; 0: single pages, which folio.c may join */
	bool persistent;
	bool borrowed;			/* its pages are another driver's: borrow.c */
	bool pinned_importers;		/* root lets importers hold up a removal */

	struct p2pmem_counts __percpu *counts;
	struct p2pmem_backing backing;
	struct inode *inode;		/* one address_space for all mappings */

	struct rw_semaphore gate;	/* read: use pages; write: stop use */
	u32 state;			/* enum p2pmem_state; changes under gate, read anywhere */

	struct mutex files_lock;
	struct list_head files;

	struct mutex exports_lock;	/* exports */
	struct list_head exports;	/* dmabuf.c: those that are open */
	atomic64_t import_epoch;	/* attachments of an earlier one map no more */
	struct work_struct outdate_work;	/* has them told: dmabuf_reset.c */
	unsigned long reset_began;	/* jiffies */
	bool asleep;			/* in a suspend; with @wait */
	struct delayed_work watch_work;	/* foreign: looks for resets while importers have mappings */

	bool generic_by_name;		/* root asked for that page type */
	struct list_head pins;		/* gpu.h; under alloc_lock */

	/* alloc, promised, taken, peak, drain*, given, reap_delay, gone */
	struct mutex alloc_lock;
	struct p2pmem_alloc alloc;
	u64 promised;			/* free granules that files are about to take */
	u64 taken;			/* granules, all that files ever took */
	u64 peak;			/* granules, the most that were owned at a time */
	struct list_head draining;
	struct mutex reap_lock;		/* order of draining; nothing leaves it */
	unsigned long drains;		/* how many are draining */
	unsigned long drained;		/* jiffies when the last one joined them */
	unsigned long given;		/* RCU state when memory last came back */
	unsigned long gives;		/* how often it did */

	struct delayed_work reap_work;	/* extents of closed files */
	unsigned long reap_delay;	/* until its next look; 0: none to come */
	struct work_struct remove_work;
	unsigned long removing;		/* bit 0: remove_work owns the end */
	bool gone;			/* no page may be touched any more */
	bool finished;			/* node, pages and claims are away */
	wait_queue_head_t wait;

	struct mutex revalidate_lock;	/* the device's enable bit, and resets */
	atomic64_t resets;
	bool in_reset;			/* found by the last look; revalidate_lock */
	u64 function_resets;		/* guard.c: those of the function that are in resets */
	bool resetting;			/* a reset is under way; set and cleared under gate */
	bool lost;			/* one that the device did not come back from */
	struct resource quarantine;	/* keeps the range of a vanished BAR */
	struct pci_dev *quarantine_bridge;
};

struct p2pmem_file {
	struct p2pmem_region *region;
	struct file *filp;		/* that this is the private data of */
	u64 serial;			/* of no other file */
	struct list_head link;
	struct mutex back_lock;		/* who takes memory for it: take.c */
	struct mutex lock;		/* extents, and zeroing on first touch */
	struct rb_root extents;
	u64 promised;			/* of region->promised; under its alloc_lock */
	u64 taken_back;			/* how often a GPU's driver took some back; under gate */
	u64 dead_from, dead_to;		/* what was taken back and is in dma-bufs, and between; under lock */
	u64 resets_seen;		/* at open, and at the last good SYNC */
	u32 owner;			/* whose bytes it may see, for bytes.h */
	struct p2pmem_who who;		/* opened it */
	struct p2pmem_who heir;		/* has it, if that one has ended; under region->files_lock */
};

struct p2pmem_extent {
	struct rb_node node;		/* in file->extents, by file_first; cleared after */
	struct list_head link;		/* of who takes it (take.c); in region->draining */
	u64 file_first;
	u64 first;
	u64 count;
	u32 owner;
	struct p2pmem_who who;		/* opened the file */
	u64 idle;			/* draining: so many pages are known to be */
	struct p2pmem_pin *pin;		/* what it is a part of, or NULL; under alloc_lock */
	struct list_head pin_link;	/* in pin->extents */
};

/**
 * struct p2pmem_span - memory behind a part of an open file
 * @file_first: where that part begins
 * @first: where the memory does, in the region
 * @count: granules that follow there one another, in the file and in the region
 * @revocable: a GPU's driver may take it away
 */
struct p2pmem_span {
	u64 file_first;
	u64 first;
	u64 count;
	bool revocable;
};

/* Contiguous memory of a file, as the CPU sees it. */
struct p2pmem_range {
	phys_addr_t phys;
	u64 bytes;
};

/* Granules of a file, which may have been closed. */
struct p2pmem_part {
	u64 file_serial;
	u64 first;
	u64 end;
};

/* What stands behind a granule of the file that the span covers. */
static inline u64 p2pmem_span_at(const struct p2pmem_span *span, u64 granule)
{
	return span->first + (granule - span->file_first);
}

/* Pieces after which whoever goes through many leaves region and locks to others. */
#define P2PMEM_BATCH_PIECES	256

#define to_p2pmem_region(d) container_of(d, struct p2pmem_region, dev)

#define p2pmem_count(r, member, n)	this_cpu_add((r)->counts->member, n)

static inline struct page *p2pmem_page(struct p2pmem_region *r, u64 granule)
{
	return pfn_to_page(PHYS_PFN(r->backing.phys) + granule);
}

static inline void *p2pmem_kaddr(struct p2pmem_region *r, u64 granule)
{
	return r->backing.kaddr + (granule << PAGE_SHIFT);
}

/* Granules that have one owner: of a folio that no one can split. */
static inline u64 p2pmem_unit(const struct p2pmem_region *r)
{
	return 1ULL << r->folio_order;
}

/* A pmem device, for as long as it lives: no file has memory of it. */
static inline bool p2pmem_is_pmem(const struct p2pmem_region *r)
{
	return READ_ONCE(r->backing.type) == P2PMEM_PAGES_PMEM;
}

/* What files may still take; of a GPU they have what they pin. */
static inline u64 p2pmem_available_bytes(const struct p2pmem_region *r)
{
	if (r->provider->pinned || p2pmem_is_pmem(r))
		return 0;
	/* A figure to show, that of some moment: alloc_lock is not taken. */
	return data_race(READ_ONCE(r->alloc.free)) << PAGE_SHIFT;
}

/* What a device on the region's own PCI bus puts into a TLP. */
static inline u64 p2pmem_bus_address(struct p2pmem_region *r)
{
	return pci_bus_address(r->pdev, r->bar) + r->backing.phys -
	       pci_resource_start(r->pdev, r->bar);
}

#endif
