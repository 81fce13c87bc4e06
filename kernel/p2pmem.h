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
#include <linux/dma-mapping.h>
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
#include "lines.h"
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

/* registry.c */
extern struct workqueue_struct *p2pmem_wq;
int p2pmem_registry_init(void);
void p2pmem_registry_exit(void);
int p2pmem_region_number(void);
void p2pmem_region_number_free(unsigned int id);
void p2pmem_region_place_node(struct p2pmem_region *r);
int p2pmem_region_publish(struct p2pmem_region *r);
void p2pmem_region_forget(struct p2pmem_region *r);
struct p2pmem_region *p2pmem_region_get(unsigned int id);
void p2pmem_region_put(struct p2pmem_region *r);
bool p2pmem_region_exists(struct pci_dev *pdev, u32 kind);
struct p2pmem_region *p2pmem_region_of(struct pci_dev *pdev);
void p2pmem_for_each_region(void (*each)(struct p2pmem_region *r, void *data),
			    void *data);
void p2pmem_for_regions_of(struct pci_dev *pdev, void (*call)(struct p2pmem_region *r));

/* create.c */
int p2pmem_region_add(struct p2pmem_region_add *req, struct p2pmem_region **made);

/* page_type.c */
int p2pmem_region_set_page_type(struct p2pmem_region *r, u32 type);

/* notifier.c */
int p2pmem_regions_init(void);
void p2pmem_regions_exit(void);

/* generic.c */
bool p2pmem_range_has_pagemap(phys_addr_t phys, u64 bytes);
int p2pmem_half_made(int err);
int p2pmem_open_generic(struct p2pmem_region *r, struct p2pmem_backing *b);
void p2pmem_close_generic(struct p2pmem_backing *b);

/* direct_map.c */
bool p2pmem_is_beyond_direct_map(const struct p2pmem_backing *b);
void p2pmem_explain_direct_map(struct p2pmem_region *r, char *reason);

/* backing.c */
const char *p2pmem_page_type_name(u32 type);
int p2pmem_backing_open(struct p2pmem_region *r, u32 type);
void p2pmem_backing_close(struct p2pmem_region *r);
void p2pmem_zero_granule(struct p2pmem_region *r, u64 granule);
u64 p2pmem_stores_arrive(struct p2pmem_region *r, u64 granule);
bool p2pmem_zeros_arrive(struct p2pmem_region *r, u64 granule);

/* borrow.c */
bool p2pmem_range_is_p2pdma(phys_addr_t phys, u64 bytes);
bool p2pmem_borrow(struct p2pmem_region *r, u64 first, u64 count);
void p2pmem_put_to_rest(struct p2pmem_region *r, u64 first, u64 count);
void p2pmem_put_all_to_rest(struct p2pmem_region *r);

/* pmem.c */
int p2pmem_pmem_vet(struct p2pmem_region *r, struct p2pmem_region_add *req);
int p2pmem_pmem_open(struct p2pmem_region *r, struct p2pmem_backing *b);
bool p2pmem_pmem_leave(struct p2pmem_region *r);
void p2pmem_pmem_close(struct p2pmem_region *r, struct p2pmem_backing *b);
void p2pmem_forget_lenders(struct pci_dev *pdev);
void p2pmem_pmem_silence(struct p2pmem_region *r);
u64 p2pmem_pmem_referred(struct p2pmem_region *r);
struct dev_pagemap *p2pmem_pmem_pages_get(struct p2pmem_region *r);
bool p2pmem_pmem_in_use(struct p2pmem_region *r);
size_t p2pmem_pmem_text(struct p2pmem_region *r, char *buf, size_t bytes);

/* window.c */
int p2pmem_windows_open(struct p2pmem_region *r);
int p2pmem_windows_need(struct p2pmem_region *r, u64 first, u64 count);
void p2pmem_windows_close(struct p2pmem_region *r);
void p2pmem_windows_free(struct p2pmem_region *r);

/* folio.c */
struct folio *p2pmem_folio_at(struct p2pmem_region *r, u64 granule, u64 end,
			      u64 *count);
u64 p2pmem_chunk_skew(const struct p2pmem_region *r);
bool p2pmem_is_chunk(struct p2pmem_region *r, u64 granule);
void p2pmem_unshape(struct p2pmem_region *r);
bool p2pmem_has_shapes(const struct p2pmem_region *r);
u64 p2pmem_first_chunk(const struct p2pmem_region *r, const struct p2pmem_extent *e);
bool p2pmem_shape_some(struct p2pmem_region *r, const struct p2pmem_extent *e,
		       u64 *chunk, bool may_change);

/* memtype.c */
void __iomem *p2pmem_memtype_anchor(phys_addr_t phys, u32 memtype);
bool p2pmem_memtype_can_be_chosen(void);
u32 p2pmem_memtype_of(const void *kaddr);
pgprot_t p2pmem_memtype_prot(pgprot_t prot, u32 memtype);
const char *p2pmem_memtype_name(u32 memtype);

/* chardev.c */
extern const struct file_operations p2pmem_fops;

/* gate.c */
bool p2pmem_enter(struct p2pmem_region *r);
bool p2pmem_enter_second(struct p2pmem_region *r);
int p2pmem_await_ready(struct p2pmem_region *r);
int p2pmem_await_reset(struct p2pmem_region *r);
void p2pmem_leave(struct p2pmem_region *r);
void p2pmem_revalidate(struct p2pmem_region *r);
u64 p2pmem_resets_seen(struct p2pmem_region *r);
bool p2pmem_answers(struct p2pmem_region *r);
struct p2pmem_guarded;
bool p2pmem_was_reset(struct p2pmem_region *r, const struct p2pmem_guarded *g,
		      u64 resets, u64 function_resets);
int p2pmem_barrier(struct p2pmem_region *r);
int p2pmem_flush(struct p2pmem_region *r);

/* extent.c */
struct p2pmem_extent *p2pmem_extent_from(struct p2pmem_file *f, u64 granule);
struct p2pmem_extent *p2pmem_extent_next(const struct p2pmem_extent *e);
void p2pmem_extent_insert(struct p2pmem_file *f, struct p2pmem_extent *new);
bool p2pmem_file_find_locked(struct p2pmem_file *f, u64 granule, struct p2pmem_span *span);
bool p2pmem_file_find(struct p2pmem_file *f, u64 granule, struct p2pmem_span *span);
int p2pmem_file_walk(struct p2pmem_file *f, u64 first, u64 count,
		     int (*each)(const struct p2pmem_span *part, void *data), void *data);
int p2pmem_make_visible(struct p2pmem_file *f, u64 granule, u64 count);
int p2pmem_make_visible_locked(struct p2pmem_file *f, u64 granule, u64 count);
int p2pmem_make_more_visible_locked(struct p2pmem_file *f, u64 granule, u64 count);
int p2pmem_file_show(struct p2pmem_file *f, u64 first, u64 count);

/* What a fault answers if p2pmem_make_visible_locked() failed.  handle_fault() waits before it is repeated. */
static inline vm_fault_t p2pmem_unseen(int err)
{
	return err == -EAGAIN ? VM_FAULT_RETRY : VM_FAULT_SIGBUS;
}

/* take.c */
int p2pmem_file_back(struct p2pmem_file *f, u64 first, u64 count);
int p2pmem_file_claim(struct p2pmem_file *f, u64 file_first, u64 count,
		      u64 first);
int p2pmem_file_own(struct p2pmem_file *f, struct p2pmem_pin *pin);

/* access.c */
ssize_t p2pmem_read_iter(struct kiocb *iocb, struct iov_iter *to);
ssize_t p2pmem_write_iter(struct kiocb *iocb, struct iov_iter *from);
long p2pmem_copy(struct p2pmem_file *to, const struct p2pmem_copy *req);

/* mmap.c */
int p2pmem_mmap(struct file *filp, struct vm_area_struct *vma);

/* gib.c, where COMPAT_HAS_PUDS */
int p2pmem_gib_watch(struct p2pmem_file *f, struct vm_area_struct *vma);
void p2pmem_gib_open(struct vm_area_struct *vma);
void p2pmem_gib_close(struct vm_area_struct *vma);
bool p2pmem_gib_fits(struct vm_fault *vmf);
vm_fault_t p2pmem_gib_insert(struct p2pmem_file *f, struct vm_fault *vmf,
			     const struct p2pmem_span *span);
int p2pmem_gib_may_split(struct vm_area_struct *vma, unsigned long addr);
int p2pmem_gib_mprotect(struct vm_area_struct *vma, unsigned long start,
			unsigned long end, unsigned long flags);
unsigned long p2pmem_gib_area(struct file *filp, unsigned long addr, unsigned long len,
			      unsigned long pgoff, unsigned long flags);

/* range.c */

/* Contiguous memory of a file, as the CPU sees it. */
struct p2pmem_range {
	phys_addr_t phys;
	u64 bytes;
};

int p2pmem_file_back_settled(struct p2pmem_file *f, u64 first, u64 count);
int p2pmem_file_prepare(struct p2pmem_file *f, u64 first, u64 count);
struct p2pmem_range *p2pmem_file_ranges(struct p2pmem_file *f, u64 first, u64 count,
					unsigned int *nr_ranges);

/* buffer.c */
int p2pmem_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

/* gpu_pin.c */
long p2pmem_pin_gpu(struct p2pmem_file *f, struct p2pmem_pin_gpu *req);

/* gpu_put.c */
void p2pmem_pins_put_mine(struct p2pmem_region *r);
bool p2pmem_pins_have_memory(struct p2pmem_region *r);
void p2pmem_pin_leave(struct p2pmem_extent *e);
bool p2pmem_file_lend(struct p2pmem_file *f, u64 first, u64 count);
bool p2pmem_pins_are_put(struct p2pmem_region *r);
void p2pmem_pins_give(struct p2pmem_region *r);
void p2pmem_pins_end(struct p2pmem_region *r);

/* reap.c */
void p2pmem_extent_give(struct p2pmem_region *r, struct p2pmem_extent *e);
bool p2pmem_range_idle(struct p2pmem_region *r, u64 first, u64 count);
void p2pmem_extents_release(struct p2pmem_file *f);
void p2pmem_reap_soon(struct p2pmem_region *r);
void p2pmem_reap_fn(struct work_struct *work);
bool p2pmem_settling(struct p2pmem_region *r);
bool p2pmem_settle(struct p2pmem_region *r, unsigned long asked);

/* holders.c */
bool p2pmem_region_idle(struct p2pmem_region *r);
void p2pmem_pins_lines(struct p2pmem_region *r, struct p2pmem_lines *lines);
size_t p2pmem_holders_text(struct p2pmem_region *r, char *buf, size_t bytes,
			   struct pid_namespace *reader);

/* drain.c */
void p2pmem_remove_fn(struct work_struct *work);

/* removal.c */
void p2pmem_remove_start(struct p2pmem_region *r);
int p2pmem_remove_wait(struct p2pmem_region *r, bool interruptible);
void p2pmem_remove_regions_of(struct pci_dev *pdev);
void p2pmem_remove_regions_soon(struct pci_dev *pdev, long grace);

/* dmabuf.c */
long p2pmem_dmabuf_export(struct p2pmem_file *f,
			  const struct p2pmem_export_dmabuf *req);
long p2pmem_dmabuf_locate(struct p2pmem_file *f,
			  struct p2pmem_locate_dmabuf *l);

/* Who has mappings of dma-bufs that were revoked. */
enum p2pmem_importers {
	P2PMEM_IMPORTERS_NONE,
	P2PMEM_IMPORTERS_LEAVE,	/* somebody, who was told to let go */
	P2PMEM_IMPORTERS_STAY,	/* somebody who perhaps never does */
};

/* dmabuf_tell.c */
int p2pmem_exports_init(void);
void p2pmem_exports_exit(void);
enum p2pmem_importers p2pmem_exports_revoke(struct p2pmem_region *r);
/* Granules of a file, which may have been closed. */
struct p2pmem_part {
	u64 file_serial;
	u64 first;
	u64 end;
};

enum p2pmem_importers p2pmem_exports_revoke_part(struct p2pmem_region *r,
						 const struct p2pmem_part *part);
void p2pmem_importers_lines(struct p2pmem_region *r, struct p2pmem_lines *lines);

/* dmabuf_reset.c */
void p2pmem_imports_outdate(struct p2pmem_region *r);
void p2pmem_imports_await(struct p2pmem_region *r);
void p2pmem_outdate_fn(struct work_struct *work);
void p2pmem_imports_watch(struct p2pmem_region *r);
void p2pmem_imports_unwatch(struct p2pmem_region *r);
void p2pmem_watch_fn(struct work_struct *work);

/* ioctl.c */
enum p2pmem_answer {
	P2PMEM_ANSWER_NONE,	/* the struct does not go back to the caller */
	P2PMEM_ANSWER_REASON,	/* it does, if it can: for its reason */
	P2PMEM_ANSWER_NEEDED,	/* without it the call has failed */
};

struct p2pmem_ioctl {
	unsigned int cmd;
	size_t min_bytes;	/* first published size of the struct */
	size_t bytes;		/* size known to this module */
	enum p2pmem_answer answer;
	long (*call)(void *object, void *arg);
};
long p2pmem_ioctl_dispatch(const struct p2pmem_ioctl *table, size_t entries,
			   void *object, unsigned int cmd, void __user *uarg);

/* sysfs.c */
extern const struct attribute_group *p2pmem_region_groups[];

/* route.c */
bool p2pmem_uses_dma_api(struct pci_dev *client);
u32 p2pmem_route_by_address(struct pci_dev *client, u32 route, dma_addr_t dma, u64 bus,
			    phys_addr_t phys);
struct iommu_domain *p2pmem_translation(struct pci_dev *client);

/* Without translation: does the client's DMA mask cover the last byte? */
static inline bool p2pmem_mask_reaches(struct device *dev, dma_addr_t last)
{
	return last <= min_not_zero(dma_get_mask(dev), dev->bus_dma_limit);
}

void p2pmem_predict(struct p2pmem_region *r, struct pci_dev *client,
		    u32 page_type, bool steady, struct p2pmem_probe *out);

/* guard.c */
int p2pmem_guard(struct pci_dev *pdev);
u64 p2pmem_guard_resets(struct pci_dev *pdev);
const struct p2pmem_guarded *p2pmem_guard_of(struct pci_dev *pdev);
bool p2pmem_guard_saw_reset(const struct p2pmem_guarded *g, u64 resets);
bool p2pmem_is_guarded(struct pci_dev *pdev);
void p2pmem_guard_unbound(struct pci_dev *pdev);
void p2pmem_guards_exit(void);

/* probe.c */
int p2pmem_probe(struct p2pmem_region *r, struct p2pmem_probe *probe);
void p2pmem_count_route(struct p2pmem_region *r, struct pci_dev *client,
			const struct p2pmem_probe *probe);

/* clients.c */
int p2pmem_clients_init(void);
void p2pmem_clients_exit(void);
int p2pmem_default_page_type(struct p2pmem_region *r, struct p2pmem_region_add *req);
void p2pmem_warn_unrouted(struct p2pmem_region *r, char *reason);
size_t p2pmem_unrouted_text(struct p2pmem_region *r, char *buf, size_t bytes);

/* quarantine.c */
void p2pmem_quarantine_enter(struct p2pmem_region *r);
void p2pmem_quarantine_leave(struct p2pmem_region *r);
void p2pmem_quarantine_fence(struct p2pmem_region *r, struct pci_dev *pdev);

/* pseudofs.c */
int p2pmem_pseudofs_init(void);
void p2pmem_pseudofs_exit(void);
struct inode *p2pmem_pseudofs_inode(unsigned int flags);

/* rights.c */
int p2pmem_may_administer(char *reason);

/* control.c */
int p2pmem_control_init(void);
void p2pmem_control_exit(void);

#endif
