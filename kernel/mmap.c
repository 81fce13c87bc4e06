// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings of an open file and their page faults.  docs/lifetime.md says what
 * removal relies on.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>

#include "exports.h"
#include "extent.h"
#include "folio.h"
#include "gate.h"
#include "gib.h"
#include "memtype.h"
#include "mmap.h"
#include "reap.h"
#include "take.h"
#include "trace.h"
#include "who.h"

/*
 * Maps the page that faulted and the others below the same page-middle-directory entry,
 * as far as the mapping and the extent reach.  It stops there because the next such
 * entry may map a chunk.
 */
static vm_fault_t insert_around(struct p2pmem_file *f, struct vm_fault *vmf,
				const struct p2pmem_span *span)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long start = max(vmf->address & PMD_MASK, vma->vm_start);
	unsigned long end = min((vmf->address & PMD_MASK) + PMD_SIZE, vma->vm_end);
	u64 from = max_t(u64, linear_page_index(vma, start), span->file_first);
	u64 to = min_t(u64, linear_page_index(vma, end),
		       span->file_first + span->count);
	u64 granule = p2pmem_span_at(span, from);
	unsigned long addr = vma->vm_start +
			     ((unsigned long)(from - vma->vm_pgoff) << PAGE_SHIFT);
	int ret;

	/* Another thread has mapped the chunk by one entry meanwhile. */
	if (compat_maps_chunk(READ_ONCE(*vmf->pmd)))
		return VM_FAULT_NOPAGE;
	ret = p2pmem_make_visible_locked(f, granule, to - from);
	if (ret)
		return p2pmem_unseen(ret);
	return compat_insert_pages(vma, addr, p2pmem_page(f->region, granule),
				   to - from);
}

/* Maps a chunk by one entry, or returns VM_FAULT_FALLBACK where that is not possible. */
static vm_fault_t insert_chunk(struct p2pmem_file *f, struct vm_fault *vmf,
			       const struct p2pmem_span *span)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long addr = vmf->address & PMD_MASK;
	u64 at, granule;
	pmd_t pmd;
	int ret;

	if (addr < vma->vm_start || vma->vm_end - addr < PMD_SIZE)
		return VM_FAULT_FALLBACK;
	at = vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT);
	if (at < span->file_first ||
	    at + P2PMEM_CHUNK > span->file_first + span->count)
		return VM_FAULT_FALLBACK;
	granule = p2pmem_span_at(span, at);
	if (!p2pmem_is_chunk(f->region, granule))
		return VM_FAULT_FALLBACK;
	ret = p2pmem_make_visible_locked(f, granule, P2PMEM_CHUNK);
	if (ret)
		return p2pmem_unseen(ret);
	/*
	 * Another thread may have begun to map the chunk by pages, and the kernel warns if it is
	 * asked for a chunk's entry where a page table is.  This check comes after the zeroing,
	 * which takes long.
	 */
	pmd = READ_ONCE(*vmf->pmd);
	if (!pmd_none(pmd) && !compat_maps_chunk(pmd))
		return VM_FAULT_FALLBACK;
	return compat_insert_chunk(vmf, p2pmem_page(f->region, granule));
}

/* Is it an open file of a region, not a dma-buf?  Mappings of a dma-buf are made by export_mmap(). */
static bool is_own(const struct file *filp)
{
	return filp->f_op->mmap == p2pmem_mmap;
}

/*
 * The open file whose memory a file of the region shows; a dma-buf shows that of the
 * exported file.
 */
static struct p2pmem_file *file_behind(const struct file *filp)
{
	return is_own(filp) ? filp->private_data : p2pmem_dmabuf_file(filp);
}

/*
 * Is @filp, of whatever kind, the open file @f or a dma-buf of its memory?  Both have an
 * address_space of the region before anybody gets a descriptor of them.  @f may be closed.
 */
bool p2pmem_shows(const struct file *filp, const struct p2pmem_file *f)
{
	const struct p2pmem_region *r = f->region;
	const struct address_space *mapping = filp->f_mapping;

	return (mapping == r->inode->i_mapping || mapping == r->export_inode->i_mapping) &&
	       file_behind(filp) == f;
}

/*
 * Clears the page-table entries of all mappings of a part of the region's files, and of
 * dma-bufs of that part.  With @bytes 0 the part has no end.  When this returns, nobody can
 * take a reference through a cleared entry any more.
 */
void p2pmem_revoke_mappings(struct p2pmem_region *r, loff_t from, loff_t bytes)
{
	unmap_mapping_range(r->inode->i_mapping, from, bytes, 1);
	unmap_mapping_range(r->export_inode->i_mapping, from, bytes, 1);
	synchronize_rcu(); /* get_user_pages_fast() that saw the old entries */
}

/*
 * The most mappings that one search looks at.  mmap(), munmap(), fork() and exit of other
 * processes wait for i_mmap_rwsem during the search.
 */
#define MAPPINGS_LOOKED_AT	4096

/*
 * While i_mmap_rwsem is held, each mapping stays in the tree, and keeps its vm_file and
 * vm_mm.  Only spinlocks are taken below it, and no fault needs it.
 */
static bool who_maps(struct p2pmem_who *who, struct address_space *mapping,
		     struct p2pmem_file *f)
{
	unsigned int left = MAPPINGS_LOOKED_AT;
	struct rb_node *node;
	bool found = false;

	i_mmap_lock_read(mapping);
	for (node = rb_first_cached(&mapping->i_mmap); node && left && !found; node = rb_next(node)) {
		struct vm_area_struct *vma = rb_entry(node, struct vm_area_struct, shared.rb);

		found = file_behind(vma->vm_file) == f && p2pmem_who_owns(who, vma->vm_mm);
		left--;
	}
	i_mmap_unlock_read(mapping);
	return found;
}

/*
 * Finds a process that maps memory of the file, or of a dma-buf of it, and writes it to
 * *@who.
 */
bool p2pmem_who_maps(struct p2pmem_who *who, struct p2pmem_file *f)
{
	struct p2pmem_region *r = f->region;

	return who_maps(who, r->inode->i_mapping, f) ||
	       who_maps(who, r->export_inode->i_mapping, f);
}

typedef vm_fault_t (*insert_fn)(struct p2pmem_file *f, struct vm_fault *vmf,
				const struct p2pmem_span *span);

/*
 * Calls @insert for the memory behind the fault, unless the region is ending.  The file's
 * lock makes faults of all sizes take turns: each first looks at the entries that others
 * have made.  Returns VM_FAULT_RETRY if a reset would swallow the zeros of a new page.
 */
static vm_fault_t try_fault(struct vm_fault *vmf, insert_fn insert)
{
	struct p2pmem_file *f = file_behind(vmf->vma->vm_file);
	struct p2pmem_region *r = f->region;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	struct p2pmem_span span;
	unsigned int noio;

	if (!p2pmem_enter(r))
		return ret;
	noio = memalloc_noio_save();	/* @insert makes page tables; gate.c */
	if (READ_ONCE(r->resetting)) {
		ret = VM_FAULT_RETRY;
	} else {
		mutex_lock(&f->lock);
		if (p2pmem_file_find_locked(f, vmf->pgoff, &span))
			ret = insert(f, vmf, &span);
		mutex_unlock(&f->lock);
		if (ret == VM_FAULT_NOPAGE)
			p2pmem_count(r, faults, 1);
	}
	memalloc_noio_restore(noio);
	p2pmem_leave(r);
	return ret;
}

/*
 * How long an access by the kernel waits for a reset.  Its process holds mmap_lock, and may
 * be in a call of another driver.  That driver's part in the same recovery may wait for the
 * end of the call: mlx5 then ends its RDMA device, which waits for ibv_reg_mr()
 * (synchronize_srcu() in uverbs_disassociate_api_pre()).  For the region the reset is over
 * only after that.  A reset by hand takes a second or two.
 */
#define KERNEL_PATIENCE	(3 * HZ)

/*
 * Waits outside the gate, because the end of the region waits for everybody inside.  A
 * process repeats its own access, and handles signals between two tries.  An access that the
 * kernel makes on behalf of a process handles no signals, so a fatal signal ends it here.
 */
static vm_fault_t handle_fault(struct vm_fault *vmf, insert_fn insert)
{
	vm_fault_t ret = try_fault(vmf, insert);
	unsigned long end = jiffies + KERNEL_PATIENCE;

	while (ret == VM_FAULT_RETRY) {
		schedule_timeout_killable(1);
		if (fatal_signal_pending(current))
			return VM_FAULT_SIGBUS;
		if (vmf->flags & FAULT_FLAG_USER)
			return VM_FAULT_NOPAGE;
		if (time_after(jiffies, end))
			return VM_FAULT_SIGBUS;
		ret = try_fault(vmf, insert);
	}
	return ret;
}

static vm_fault_t p2pmem_fault(struct vm_fault *vmf)
{
	return handle_fault(vmf, insert_around);
}

static vm_fault_t __maybe_unused p2pmem_huge_fault(struct vm_fault *vmf,
						   COMPAT_FAULT_SIZE size)
{
	if (size == COMPAT_FAULT_CHUNK)
		return handle_fault(vmf, insert_chunk);
	if (!COMPAT_HAS_PUDS || size != COMPAT_FAULT_PUD || !p2pmem_gib_fits(vmf))
		return VM_FAULT_FALLBACK;
	return compat_take_mmap_lock(vmf) ?: handle_fault(vmf, p2pmem_gib_insert);
}

/*
 * There is no page_mkwrite(): with it, get_user_pages() would take the file for one that
 * tracks dirty pages, and refuse long-term pins (mm/gup.c, writable_file_mapping_allowed).
 */
static const struct vm_operations_struct p2pmem_vm_ops = {
	.fault = p2pmem_fault,
	COMPAT_HUGE_FAULT(p2pmem_huge_fault)
#if COMPAT_HAS_PUDS
	.open = p2pmem_gib_open,
	.close = p2pmem_gib_close,
	.may_split = p2pmem_gib_may_split,
	.mprotect = p2pmem_gib_mprotect,
#endif
};

/* Takes memory for a mapping, and gives it the memory type of the kernel's own mapping. */
static int back_mapping(struct p2pmem_file *f, struct vm_area_struct *vma)
{
	struct p2pmem_region *r = f->region;
	unsigned long gives = READ_ONCE(r->gives);
	int ret;

	if (!p2pmem_enter(r))
		return -ENODEV;
	p2pmem_revalidate(r);
	vma->vm_page_prot = p2pmem_memtype_prot(vma->vm_page_prot,
						r->backing.memtype);
	p2pmem_leave(r);
	ret = p2pmem_file_back(f, vma->vm_pgoff, vma_pages(vma));
	/*
	 * mmap_lock is held, so this waits for nothing: EAGAIN has the caller try again.  It
	 * gets EAGAIN, too, if memory came back after p2pmem_file_back() had looked for it.
	 */
	if (ret == -ENOSPC && READ_ONCE(r->gives) != gives)
		return -EAGAIN;
	if ((ret == -ENOSPC || ret == -EBUSY) && p2pmem_settling(r))
		return -EAGAIN;
	return ret;
}

static int map(struct p2pmem_file *f, struct vm_area_struct *vma)
{
	int ret;

	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if ((u64)vma->vm_pgoff + vma_pages(vma) > LLONG_MAX >> PAGE_SHIFT)
		return -EINVAL;
	ret = back_mapping(f, vma);
	/*
	 * A dma-buf's mapping gets no entries of 1 GiB: for a dma-buf, mremap() would not
	 * call p2pmem_gib_area(), which clears them.
	 */
	if (!ret && COMPAT_HAS_PUDS && is_own(vma->vm_file))
		ret = p2pmem_gib_watch(f, vma);
	if (ret)
		return ret;
	compat_vm_flags_set(vma, COMPAT_VM_FLAGS);
	vma->vm_ops = &p2pmem_vm_ops;
	p2pmem_count(f->region, maps, 1);
	return 0;
}

int p2pmem_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct p2pmem_file *f = filp->private_data;
	int ret = map(f, vma);

	trace_p2pmem_map(f->region, (u64)vma->vm_pgoff << PAGE_SHIFT,
			 vma->vm_end - vma->vm_start, ret);
	return ret;
}
