// SPDX-License-Identifier: GPL-2.0
/*
 * Folios of 1 GiB by one page-table entry each.  The core has such entries for
 * files of DAX devices, and leaves gaps which are closed here:
 *
 *   - zap_pud_range() (mm/memory.c) and walkers look at an entry without its lock,
 *     split it, and look again: one that a fault put there in between would be
 *     cleared without its reference.  A watch tells when anybody clears entries of
 *     the mapping, and none is made meanwhile.
 *   - mremap() takes them for broken ones and clears them without their references
 *     (mm/mremap.c, get_old_pud()).  It asks for an address first; there all that
 *     this process has at these places of the file go.
 *   - A process that sees one without access would be told "not present" again and
 *     again (mm/gup.c, follow_huge_pud(); mm/memory.c, huge_pud_set_accessed()).  So
 *     no mapping without access has any.
 *   - follow_pud_mask() (mm/gup.c) finds an entry, takes the lock, and does not look
 *     whether it is a table by then.  Tables come where the process has forbidden
 *     itself large pages (PR_SET_THP_DISABLE, MADV_NOHUGEPAGE), of which no driver is
 *     told; and the page that is then pinned may be anybody's.  So only those have
 *     such entries who may do input and output past the kernel anyway.
 *
 * The watch belongs to the mappings that were cut out of one mmap(), all of the
 * same process.  A child has none: while its address space is copied, no watch can
 * be registered.
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

/* The process holds its mmap_lock for writing. */
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
 * A new mapping, which gets a watch if it may have large entries.  A signal ends the
 * registration: then the system call is made again.
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
 * A copy of a mapping: one half of it, which has the same watch; its like at the place
 * to which it moves, which has no entry yet; or that of a child.
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

/* All of the folio's place at @addr belongs to the mapping, so one entry may map it. */
static bool fits(struct vm_area_struct *vma, unsigned long addr)
{
	return vma->vm_private_data && addr >= vma->vm_start &&
	       vma->vm_end - addr >= PUD_SIZE &&
	       IS_ALIGNED(linear_page_index(vma, addr), PUD_SIZE >> PAGE_SHIFT);
}

/* Whether it is a matter of p2pmem_gib_insert(). */
bool p2pmem_gib_fits(struct vm_fault *vmf)
{
	return vmf->vma->vm_flags & VM_ACCESS_FLAGS &&
	       fits(vmf->vma, vmf->address & PUD_MASK);
}

/*
 * No entry of 2 MiB can map a part of such a folio: for those mm/huge_memory.c wants a
 * folio of their size (vmf_insert_folio_pmd()).  Zeroing takes long, so the access is
 * repeated after each chunk of that.  Who clears entries waits for no fault, so this
 * may wait for them with the locks it has.
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
 * The core leaves an entry in place when it splits the mapping there, and then two
 * mappings would share it: as for hugetlbfs and DAX devices.
 */
int p2pmem_gib_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return IS_ALIGNED(addr, PUD_SIZE) || !fits(vma, addr & PUD_MASK) ? 0 : -EINVAL;
}

/* mmap_lock is held for writing, and without it no entry comes (p2pmem_huge_fault()). */
int p2pmem_gib_mprotect(struct vm_area_struct *vma, unsigned long start,
			unsigned long end, unsigned long flags)
{
	mmap_assert_write_locked(vma->vm_mm);
	if (vma->vm_private_data && !(flags & VM_ACCESS_FLAGS))
		compat_zap_mapping(vma);
	return 0;
}

/* This process asks for an address for these places of the file: it may be mremap(). */
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

/* Where folios lie as they lie in physical memory; only a hint. */
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
