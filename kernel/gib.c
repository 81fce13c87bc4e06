// SPDX-License-Identifier: GPL-2.0
/*
 * Folios of 1 GiB, each mapped by one page-table entry.  The core has such entries for
 * files of DAX devices, but its handling has gaps, which this file closes:
 *
 *   - zap_pud_range() (mm/memory.c) and walkers look at an entry without its lock, split it,
 *     and look again.  If a fault put an entry there in between, they would clear that one
 *     without dropping its reference.  A watch tells when anybody clears entries of the
 *     mapping, and no entry is made meanwhile.
 *   - mremap() takes such entries for broken ones and clears them without dropping their
 *     references (mm/mremap.c, get_old_pud()).  It asks for an address first.  At that point
 *     p2pmem clears all entries that this process has at these offsets of the file.
 *   - A process that meets an entry without access would be told "not present" again and
 *     again (mm/gup.c, follow_huge_pud(); mm/memory.c, huge_pud_set_accessed()).  So a mapping
 *     without access has no such entry.
 *   - follow_pud_mask() (mm/gup.c) finds an entry, takes the lock, and does not check whether
 *     the entry has become a table.  Tables come where the process has forbidden itself large
 *     pages (PR_SET_THP_DISABLE, MADV_NOHUGEPAGE), of which no driver is told.  The page that
 *     is then pinned may be anybody's.  So only processes that may bypass the kernel
 *     for input and output anyway (CAP_SYS_RAWIO) have such entries.
 *
 * The watch belongs to the mappings that were cut out of one mmap(), all of the same
 * process.  A child's mapping has none, because no watch can be registered while an
 * address space is copied.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mmu_notifier.h>
#include <linux/refcount.h>
#include <linux/slab.h>

#include "extent.h"
#include "gib.h"
#include "p2pmem.h"

#if COMPAT_HAS_PUDS

struct p2pmem_watch {
	struct mmu_interval_notifier notifier;
	spinlock_t lock;	/* nobody begins to clear while an entry is made */
	refcount_t mappings;
};

static bool begin_to_clear(struct mmu_interval_notifier *notifier,
			   const struct mmu_notifier_range *range,
			   unsigned long seq)
{
	struct p2pmem_watch *w = container_of(notifier, struct p2pmem_watch, notifier);

	spin_lock(&w->lock);
	mmu_interval_set_seq(notifier, seq);
	spin_unlock(&w->lock);
	return true;
}

static const struct mmu_interval_notifier_ops watch_ops = {
	.invalidate = begin_to_clear,
};

/* The caller holds mmap_lock for writing. */
static int watch(struct vm_area_struct *vma)
{
	struct p2pmem_watch *w = kzalloc(sizeof(*w), GFP_KERNEL);
	int ret;

	if (!w)
		return -ENOMEM;
	spin_lock_init(&w->lock);
	refcount_set(&w->mappings, 1);
	ret = mmu_interval_notifier_insert_locked(&w->notifier, vma->vm_mm,
						  vma->vm_start,
						  vma->vm_end - vma->vm_start,
						  &watch_ops);
	if (ret) {
		kfree(w);
		return ret;
	}
	vma->vm_private_data = w;
	return 0;
}

/*
 * Gives a new mapping a watch if it may have large entries.  If a signal ends the
 * registration, the system call is restarted.
 */
int p2pmem_gib_watch(struct p2pmem_file *f, struct vm_area_struct *vma)
{
	int ret;

	if (p2pmem_unit(f->region) != PUD_SIZE >> PAGE_SHIFT ||
	    vma->vm_end - vma->vm_start < PUD_SIZE ||
	    !ns_capable_noaudit(&init_user_ns, CAP_SYS_RAWIO))
		return 0;
	ret = watch(vma);
	return ret == -EINTR ? -ERESTARTNOINTR : ret;
}

static bool covers(const struct p2pmem_watch *w, const struct vm_area_struct *vma)
{
	return w->notifier.mm == vma->vm_mm &&
	       vma->vm_start >= w->notifier.interval_tree.start &&
	       vma->vm_end - 1 <= w->notifier.interval_tree.last;
}

/*
 * Called for a copy of a mapping.  One half of a mapping that was split has the same
 * watch.  A mapping that moves has no entry at its new place yet, and gets a watch of its
 * own.  A child's mapping gets none.
 */
void p2pmem_gib_open(struct vm_area_struct *vma)
{
	struct p2pmem_watch *w = vma->vm_private_data;

	if (!w)
		return;
	if (covers(w, vma)) {
		refcount_inc(&w->mappings);
		return;
	}
	vma->vm_private_data = NULL;
	if (w->notifier.mm == vma->vm_mm)
		watch(vma);	/* without it, there will be single pages */
}

void p2pmem_gib_close(struct vm_area_struct *vma)
{
	struct p2pmem_watch *w = vma->vm_private_data;

	if (!w || !refcount_dec_and_test(&w->mappings))
		return;
	mmu_interval_notifier_remove(&w->notifier);
	kfree(w);
}

/* Does the mapping have the whole place of the folio at @addr, so that one entry may map it? */
static bool fits(struct vm_area_struct *vma, unsigned long addr)
{
	return vma->vm_private_data && addr >= vma->vm_start &&
	       vma->vm_end - addr >= PUD_SIZE &&
	       IS_ALIGNED(linear_page_index(vma, addr), PUD_SIZE >> PAGE_SHIFT);
}

/* Is the fault one for p2pmem_gib_insert()? */
bool p2pmem_gib_fits(struct vm_fault *vmf)
{
	return vmf->vma->vm_flags & VM_ACCESS_FLAGS &&
	       fits(vmf->vma, vmf->address & PUD_MASK);
}

/*
 * No entry of 2 MiB can map a part of such a folio, because vmf_insert_folio_pmd()
 * (mm/huge_memory.c) wants a folio of that size.  Zeroing takes long, so the access is
 * repeated after each chunk of it.  Whoever clears entries does not wait for a fault, so
 * this may wait for the clearing with the locks that it holds.
 */
vm_fault_t p2pmem_gib_insert(struct p2pmem_file *f, struct vm_fault *vmf,
			     const struct p2pmem_span *span)
{
	struct vm_area_struct *vma = vmf->vma;
	struct p2pmem_watch *w = vma->vm_private_data;
	unsigned long addr = vmf->address & PUD_MASK;
	vm_fault_t ret = 0;	/* the access is repeated */
	unsigned long seq;
	u64 granule;
	int more;

	/* Extents are made of whole folios. */
	granule = p2pmem_span_at(span, linear_page_index(vma, addr));
	more = p2pmem_make_more_visible_locked(f, granule, p2pmem_unit(f->region));
	if (more)
		return more < 0 ? p2pmem_unseen(more) : 0;
	seq = mmu_interval_read_begin(&w->notifier);
	spin_lock(&w->lock);
	if (!mmu_interval_read_retry(&w->notifier, seq))
		ret = compat_insert_pud(vmf, p2pmem_page(f->region, granule));
	spin_unlock(&w->lock);
	return ret;
}

/*
 * If the core splits a mapping in the middle of an entry, it leaves the entry in place,
 * and two mappings would share it.  So this refuses, as hugetlbfs and DAX devices do.
 */
int p2pmem_gib_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return IS_ALIGNED(addr, PUD_SIZE) || !fits(vma, addr & PUD_MASK) ? 0 : -EINVAL;
}

/*
 * A mapping without access loses its entries.  The core holds mmap_lock for writing, and
 * no fault makes an entry without that lock (p2pmem_huge_fault()).
 */
int p2pmem_gib_mprotect(struct vm_area_struct *vma, unsigned long start,
			unsigned long end, unsigned long flags)
{
	mmap_assert_write_locked(vma->vm_mm);
	if (vma->vm_private_data && !(flags & VM_ACCESS_FLAGS))
		compat_zap_mapping(vma);
	return 0;
}

/*
 * The process asks for an address for these offsets of the file, perhaps for mremap().
 * Clears the entries that it has there.
 */
static void clear_entries(struct file *filp, unsigned long first, unsigned long pages)
{
	VMA_ITERATOR(vmi, current->mm, 0);
	struct vm_area_struct *vma;

	mmap_assert_write_locked(current->mm);
	for_each_vma(vmi, vma)
		if (vma->vm_file == filp && vma->vm_private_data &&
		    vma->vm_pgoff < first + pages &&
		    first < vma->vm_pgoff + vma_pages(vma))
			compat_zap_mapping(vma);
}

/*
 * Prefers an address at which folios are aligned as they are in physical memory.  It is
 * only a hint.
 */
unsigned long p2pmem_gib_area(struct file *filp, unsigned long addr, unsigned long len,
			      unsigned long pgoff, unsigned long flags)
{
	unsigned long offset = pgoff << PAGE_SHIFT;

	if (len >= PUD_SIZE)
		clear_entries(filp, pgoff, len >> PAGE_SHIFT);
	if (len < PUD_SIZE || flags & MAP_FIXED || addr || len > TASK_SIZE - PUD_SIZE)
		return thp_get_unmapped_area(filp, addr, len, pgoff, flags);
	addr = thp_get_unmapped_area(filp, 0, len + PUD_SIZE, pgoff, flags);
	if (IS_ERR_VALUE(addr))
		return thp_get_unmapped_area(filp, 0, len, pgoff, flags);
	return addr + ((offset - addr) & (PUD_SIZE - 1));
}

#endif
