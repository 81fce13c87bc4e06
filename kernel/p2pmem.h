/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The objects of p2pmem and who owns what.
 *
 *   region   owned by its struct device (reference counted).  The backing owns
 *            its pages.  drain.c closes the backing at the region's end.
 *   file     one per open(); owns extents.  It holds a reference to the region's
 *            device, so that the struct outlives the pages.  A walk over the files
 *            (files.c) may hold the struct itself for a moment longer.
 *   extent   a range of the region that one file owns.  If it is still pinned
 *            when the file is closed, it moves to the region's draining list
 *            until no pin is left.  There it holds references to the region's
 *            device and to the module.
 *   export   a dma-buf; holds the open file, and through it all of the above.
 *
 * The calls for each concept are in its own header: registry.h, gate.h, extent.h ...
 *
 * Lock order: device lock -> mmap_lock -> file->back_lock -> region->gate ->
 * region->files_lock -> file->lock -> region->alloc_lock; the gates of two regions
 * in the order of the regions' numbers; region->exports_lock -> region->gate;
 * file->lock -> region->revalidate_lock -> the lock of guard.c;
 * region->reap_lock -> region->alloc_lock; and mmap_lock -> i_mmap_rwsem of the region's
 * inodes, which p2pmem_who_maps() takes with none of the region's locks held (mmap.c).
 * Except for the device lock, none of them is held over copy_{to,from}_user() or while a
 * backing is mapped or unmapped.  p2pmem_region_set_page_type() also holds region->gate
 * while it closes and opens the backing, but no fault can happen then.
 */
#ifndef P2PMEM_H
#define P2PMEM_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/memremap.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
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
/* A chunk: the granules that one entry of the page middle directory can map (folio.c). */
#define P2PMEM_CHUNK_ORDER	(PMD_SHIFT - PAGE_SHIFT)
#define P2PMEM_CHUNK		(1UL << P2PMEM_CHUNK_ORDER)
#define P2PMEM_HAS_CHUNKS	(COMPAT_HAS_FOLIOS || COMPAT_HAS_DEVMAP)

/**
 * struct p2pmem_backing - the struct pages of a region
 * @type: enum p2pmem_page_type; written under the region's gate, read without it
 * @memtype: enum p2pmem_memtype of the kernel's own mapping, which mappings of programs
 *	get as well; known once the pages are there
 * @kaddr: the first byte in the kernel's linear mapping
 * @phys: where the memory begins, as the CPU sees it; fixed from the region's creation
 * @bytes: its length; fixed as well
 * @anchor: generic and pmem pages: an ioremap() that fixes the memory type before
 *	memremap_pages() asks for one
 * @windows: generic pages of a provider with @pinned: they own the pages
 * @group: p2pdma pages on a BAR that p2pmem drives: devres group of the P2PDMA pool
 * @pmem: pmem pages: the device whose driver owns them; @kaddr maps its first page only
 * @pgmap: generic pages without @windows: memremap_pages() was given it, and uses it
 *	until the pages are gone
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
 * What happened since the region was added.  Each processor has its own counters, and
 * the reader adds them up (sysfs.c).  No decision depends on them.
 */
struct p2pmem_counts {
	u64 maps;		/* calls of mmap() */
	u64 faults;		/* page faults that were served */
	u64 pins;		/* made through this module (enum p2pmem_pinner), not by get_user_pages() */
	u64 routes;		/* routes that were judged */
	u64 read_bytes;		/* out of the region, by read() and P2PMEM_IOC_COPY */
	u64 written_bytes;	/* into it, by write() and P2PMEM_IOC_COPY */
};

/* What takes references to pages through this module. */
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
	unsigned int folio_order;	/* of the pagemap; 0: single pages, which folio.c may join to large ones */
	bool persistent;
	bool borrowed;			/* its pages belong to another driver: borrow.c */
	bool pinned_importers;		/* root allows importers that can hold up a removal */

	struct p2pmem_counts __percpu *counts;
	struct p2pmem_backing backing;
	struct inode *inode;		/* one address_space for all mappings of its files */
	struct inode *export_inode;	/* and one for those of dma-bufs: pseudofs.c */

	struct rw_semaphore gate;	/* read: to use pages; write: to stop all use */
	u32 state;			/* enum p2pmem_state; written under gate, read without it */

	struct mutex files_lock;	/* protects files, nr_files, and each file's heir */
	struct list_head files;		/* open ones, by serial: files.c */
	unsigned long nr_files;

	struct mutex exports_lock;	/* protects exports */
	struct list_head exports;	/* open dma-bufs: dmabuf.c */
	atomic64_t import_epoch;	/* attachments of earlier epochs cannot map */
	struct work_struct outdate_work;	/* has importers told about a reset: dmabuf_reset.c */
	unsigned long reset_began;	/* jiffies */
	bool asleep;			/* the device is suspended; @wait is woken when that ends */
	struct delayed_work watch_work;	/* foreign providers: looks for resets while importers have mappings */

	bool generic_by_name;		/* root asked for page type generic, not for the default */
	bool revocable;			/* a pin was made that the GPU's driver may take back */
	struct list_head pins;		/* gpu.h; under alloc_lock */
	struct list_head unused_pins;	/* callback pins that wait for their process; under alloc_lock */

	/* protects alloc, promised, taken, peak, drain*, given, reap_delay, gone */
	struct mutex alloc_lock;
	struct p2pmem_alloc alloc;
	u64 promised;			/* free granules that files are about to take */
	u64 taken;			/* granules that files ever took, in all */
	u64 peak;			/* granules, the most that were owned at once */
	struct list_head draining;
	struct mutex reap_lock;		/* while it is held, nothing leaves draining, and its order stays */
	unsigned long drains;		/* how many extents are draining */
	unsigned long drained;		/* jiffies when the last one joined them */
	unsigned long given;		/* RCU state when memory last came back */
	unsigned long gives;		/* how often memory came back */

	struct delayed_work reap_work;	/* extents of closed files */
	unsigned long reap_delay;	/* until reap_work next looks; 0: it is not queued */
	struct work_struct remove_work;
	unsigned long removing;		/* bit 0: remove_work was queued, and ends the region */
	bool gone;			/* no page may be touched any more */
	bool finished;			/* node, pages and claims are gone */
	wait_queue_head_t wait;

	struct mutex revalidate_lock;	/* the device's enable bit, and resets */
	atomic64_t resets;
	bool in_reset;			/* the last look at the device found a reset; under revalidate_lock */
	u64 function_resets;		/* guard.c: how many of the function's resets are counted in resets */
	bool resetting;			/* a reset is under way; set and cleared under gate */
	bool lost;			/* the device did not come back from a reset */
	struct resource quarantine;	/* keeps the range of a vanished BAR */
	struct pci_dev *quarantine_bridge;
};

struct p2pmem_file {
	struct p2pmem_region *region;
	refcount_t refs;		/* of this struct: the open file's, and those of walks */
	struct file *filp;		/* its private_data is this struct */
	u64 serial;			/* unique, and above those of files opened before */
	struct list_head link;
	struct mutex back_lock;		/* held while memory is taken for it: take.c */
	struct mutex lock;		/* protects extents, and zeroing on first touch */
	struct rb_root extents;
	u64 promised;			/* its part of region->promised; under alloc_lock */
	u64 taken_back;			/* how often a GPU's driver took memory back; under gate */
	u64 dead_from, dead_to;		/* a range that covers all memory taken back while in dma-bufs; under lock */
	u64 resets_seen;		/* at open, and at the last SYNC; U64_MAX: not ready then */
	u32 owner;			/* the uid whose bytes it may see: bytes.h */
	struct p2pmem_who who;		/* the process that opened it */
	struct p2pmem_who heir;		/* another process that has it, if @who ended; under region->files_lock */
};

struct p2pmem_extent {
	struct rb_node node;		/* in file->extents, by file_first; cleared when removed */
	struct list_head link;		/* in the list of the caller that takes it (take.c), or in region->draining */
	u64 file_first;
	u64 first;
	u64 count;
	u32 owner;
	struct p2pmem_who who;		/* the process that opened the file */
	u64 idle;			/* while draining: how many of its pages are known to be idle */
	struct p2pmem_pin *pin;		/* the pin that it is a part of, or NULL; under alloc_lock */
	struct list_head pin_link;	/* in pin->extents */
};

/**
 * struct p2pmem_span - memory behind a part of an open file
 * @file_first: where that part begins
 * @first: where its memory begins in the region
 * @count: how many granules are contiguous, both in the file and in the region
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

/* The region's granule behind a granule of the file that the span covers. */
static inline u64 p2pmem_span_at(const struct p2pmem_span *span, u64 granule)
{
	return span->first + (granule - span->file_first);
}

/* After so many pieces, a long walk leaves the region and drops its locks for others. */
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

/* Granules that must have the same owner: those of a folio that cannot be split. */
static inline u64 p2pmem_unit(const struct p2pmem_region *r)
{
	return 1ULL << r->folio_order;
}

/* Is it a pmem device?  If so, it stays one for all its life, and no file has memory of it. */
static inline bool p2pmem_is_pmem(const struct p2pmem_region *r)
{
	return READ_ONCE(r->backing.type) == P2PMEM_PAGES_PMEM;
}

/* How many bytes files can still take.  A GPU's region gives out none: files have what they pin. */
static inline u64 p2pmem_available_bytes(const struct p2pmem_region *r)
{
	if (r->provider->pinned || p2pmem_is_pmem(r))
		return 0;
	/* The figure is only shown, and may be out of date at once: it needs no alloc_lock. */
	return data_race(READ_ONCE(r->alloc.free)) << PAGE_SHIFT;
}

/* The address that a device on the region's own PCI bus puts into a TLP. */
static inline u64 p2pmem_bus_address(struct p2pmem_region *r)
{
	return pci_bus_address(r->pdev, r->bar) + r->backing.phys -
	       pci_resource_start(r->pdev, r->bar);
}

#endif
