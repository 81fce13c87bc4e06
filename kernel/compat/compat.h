/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between the kernel versions that p2pmem supports (6.1,
 * 6.12, 7.x) lives in this folder and nowhere else.
 */
#ifndef P2PMEM_COMPAT_H
#define P2PMEM_COMPAT_H

#include <linux/cc_platform.h>
#include <linux/device/class.h>
#include <linux/dma-buf.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pci.h>
#include <linux/pci-p2pdma.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#include <linux/pfn_t.h>
#endif

/* class_create() lost its owner argument in 6.4. */
static inline struct class *compat_class_create(const char *name)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	return class_create(THIS_MODULE, name);
#else
	return class_create(name);
#endif
}

/* class->devnode() takes a const device since 6.2. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define COMPAT_DEVNODE_CONST
#else
#define COMPAT_DEVNODE_CONST const
#endif

/*
 * Since 6.18 error recovery (drivers/pci/pcie/err.c) calls error_detected() with
 * pci_channel_io_perm_failure when it has failed, and resets the bus after an error
 * that is not fatal if a driver asks for it.  Before, it did neither.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define COMPAT_TELLS_FAILED_RECOVERY	1
#else
#define COMPAT_TELLS_FAILED_RECOVERY	0
#endif

/*
 * Since 7.3 io_buffer_register_bvec() takes any memory of a driver as a ring's
 * buffer; that of 6.15 took only the requests of a block device.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0) && defined(CONFIG_IO_URING)
#include <linux/io_uring/cmd.h>
#define COMPAT_HAS_RING_BUFFERS	1
#define COMPAT_URING_CMD(fn)	.uring_cmd = fn,
#else
#define COMPAT_HAS_RING_BUFFERS	0
#define COMPAT_URING_CMD(fn)
#endif

/* vm_flags became read-only in 6.3. */
static inline void compat_vm_flags_set(struct vm_area_struct *vma,
				       unsigned long flags)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags |= flags;
#else
	vm_flags_set(vma, flags);
#endif
}

/* The process whose memory it is, kept by RCU; only kernels with memory cgroups know. */
static inline struct task_struct *compat_mm_owner(const struct mm_struct *mm)
{
#ifdef CONFIG_MEMCG
	return rcu_dereference(mm->owner);
#else
	return NULL;
#endif
}

/* get_dev_pagemap() lost its cache argument in 6.18. */
static inline struct dev_pagemap *compat_get_dev_pagemap(unsigned long pfn)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
	return get_dev_pagemap(pfn, NULL);
#else
	return get_dev_pagemap(pfn);
#endif
}

/*
 * P2PDMA pages can be mapped by users since 6.2; p2pmem uses them from 6.13 on.
 * On kernels where CONFIG_PCI_P2PDMA is off every call below is a stub that fails.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0) && defined(CONFIG_PCI_P2PDMA)
#define COMPAT_HAS_P2PDMA 1
#else
#define COMPAT_HAS_P2PDMA 0
#endif
/* The nvme driver publishes a CMB, and p2pmem cannot share it. */
#define COMPAT_P2PDMA_TOO_OLD	(IS_ENABLED(CONFIG_PCI_P2PDMA) && !COMPAT_HAS_P2PDMA)

/*
 * One page-middle-directory entry can map a chunk in one of two ways.
 *
 * Large folios: since 7.0 zone_device_page_init() takes an order and works for
 * any pagemap, and mappings need no VM_MIXEDMAP, with which mm/huge_memory.c
 * would not give the reference of such an entry back.
 *
 * Entries marked as device memory (pmd_devmap()), which were made for DAX devices:
 * the pages stay single, and the entry holds no reference.  From 6.15 on such an
 * entry of a DAX inode is unmapped as that of a counted folio (zap_huge_pmd()).
 * They are not used before 6.5, either: there madvise(MADV_COLD) takes such an entry for a broken
 * one and clears it without a flush of the TLB (mm/madvise.c and
 * pmd_none_or_trans_huge_or_clear_bad()), and the removal's sweep would miss it.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0) && \
	defined(CONFIG_TRANSPARENT_HUGEPAGE)
#define COMPAT_HAS_FOLIOS	1
#define COMPAT_HAS_DEVMAP	0
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0) && \
	LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0) && \
	defined(CONFIG_ARCH_HAS_PTE_DEVMAP) && \
	defined(CONFIG_TRANSPARENT_HUGEPAGE) && defined(CONFIG_FS_DAX)
#define COMPAT_HAS_FOLIOS	0
#define COMPAT_HAS_DEVMAP	1
#else
#define COMPAT_HAS_FOLIOS	0
#define COMPAT_HAS_DEVMAP	0
#endif

/*
 * An entry marked as device memory (pte_devmap(), until 6.15) can map a page.  It
 * holds no reference and is in no counter, which saves two thirds of what mapping
 * and unmapping a page costs.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0) && \
	defined(CONFIG_ARCH_HAS_PTE_DEVMAP)
#define COMPAT_HAS_DEVMAP_PAGES	1
#else
#define COMPAT_HAS_DEVMAP_PAGES	0
#endif

/*
 * Entries without references need VM_MIXEDMAP: with it, munmap() flushes the TLB
 * while the removal's sweep can still find the mapping (asm-generic/tlb.h,
 * tlb_end_vma()).
 */
#if COMPAT_HAS_FOLIOS
#define COMPAT_VM_FLAGS		(VM_HUGEPAGE | VM_DONTEXPAND | VM_DONTDUMP)
#else
#define COMPAT_VM_FLAGS		(VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP)
#endif
/* A mixed mapping can have such an entry if its inode is a DAX one (mm/huge_memory.c). */
#if COMPAT_HAS_DEVMAP
#define COMPAT_INODE_FLAGS	S_DAX
#else
#define COMPAT_INODE_FLAGS	0
#endif
#if COMPAT_HAS_FOLIOS || COMPAT_HAS_DEVMAP
#define COMPAT_HUGE_FAULT(fn)	.huge_fault = fn,
#else
#define COMPAT_HUGE_FAULT(fn)
#endif

/* huge_fault() gets a size before 6.6, and an order since. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define COMPAT_FAULT_SIZE	enum page_entry_size
#define COMPAT_FAULT_CHUNK	PE_SIZE_PMD
#define COMPAT_FAULT_PUD	PE_SIZE_PUD
#else
#define COMPAT_FAULT_SIZE	unsigned int
#define COMPAT_FAULT_CHUNK	(PMD_SHIFT - PAGE_SHIFT)
#define COMPAT_FAULT_PUD	(PUD_SHIFT - PAGE_SHIFT)
#endif

/*
 * Makes one folio, with one reference, of 2^@order pages whose counts are
 * frozen at zero.  zone_device_page_init() takes references to the pagemap; this
 * drops them, because memunmap_pages() drops one per page by itself.
 */
static inline void compat_form_folio(struct page *page,
				     struct dev_pagemap *pgmap,
				     unsigned int order)
{
#if COMPAT_HAS_FOLIOS
	zone_device_page_init(page, pgmap, order);
	if (order)	/* the bit means something else in a single page */
		folio_clear_large_rmappable(page_folio(page));
	unlock_page(page);
	percpu_ref_put_many(&pgmap->ref, 1UL << order);
#endif
}

/* How many page-table entries map a folio; kernels without large ones export no such call. */
static inline int compat_folio_mapcount(struct folio *folio)
{
#if COMPAT_HAS_FOLIOS
	return folio_mapcount(folio);
#else
	return atomic_read(&folio->_mapcount) + 1;
#endif
}

/* The pagemap of a device page, for compat_form_folio(). */
static inline struct dev_pagemap *compat_page_pgmap(struct page *page)
{
#if COMPAT_HAS_FOLIOS
	return page_pgmap(page);
#else
	return NULL;
#endif
}

/* Does the entry that faulted map a whole chunk already? */
static inline bool compat_maps_chunk(pmd_t pmd)
{
#if COMPAT_HAS_DEVMAP
	return pmd_devmap(pmd);
#else
	return pmd_trans_huge(pmd);
#endif
}

/* Maps the chunk that begins with @page, and is one folio where there are folios. */
static inline vm_fault_t compat_insert_chunk(struct vm_fault *vmf,
					     struct page *page)
{
#if COMPAT_HAS_FOLIOS
	return vmf_insert_folio_pmd(vmf, page_folio(page),
				    vmf->flags & FAULT_FLAG_WRITE);
#elif COMPAT_HAS_DEVMAP
	pfn_t pfn = phys_to_pfn_t(page_to_phys(page), PFN_DEV | PFN_MAP);

	return vmf_insert_pfn_pmd(vmf, pfn, vmf->flags & FAULT_FLAG_WRITE);
#else
	return VM_FAULT_FALLBACK;
#endif
}

/*
 * One entry can map a folio of 1 GiB.  The core asks only mappings of an inode that is
 * marked as DAX for such an entry (mm/huge_memory.c, __thp_vma_allowable_orders()), and
 * only there gives back the reference of an entry that it splits
 * (__split_huge_pud_locked()).  This needs 7.3: its walk_pmd_range() (mm/pagewalk.c)
 * looks whether an entry has come back since it was split, before it takes it for a table.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0) && COMPAT_HAS_FOLIOS && \
	defined(CONFIG_HAVE_ARCH_TRANSPARENT_HUGEPAGE_PUD) && \
	defined(CONFIG_FS_DAX) && defined(CONFIG_MMU_NOTIFIER)
#define COMPAT_HAS_PUDS		1
#define COMPAT_PUD_INODE_FLAGS	S_DAX

/*
 * The core makes a new entry as vm_page_prot says, writable where that is allowed.  So this
 * announces a write only for an entry that exists: insert_pud() complains about a write if it
 * meets a table, and another thread, which may map no large folios, can have put a table
 * there since this looked.
 */
static inline vm_fault_t compat_insert_pud(struct vm_fault *vmf, struct page *page)
{
	pud_t pud = READ_ONCE(*vmf->pud);

	if (!pud_none(pud) && !pud_trans_huge(pud))
		return VM_FAULT_FALLBACK;
	return vmf_insert_folio_pud(vmf, page_folio(page),
				    !pud_none(pud) && vmf->flags & FAULT_FLAG_WRITE);
}

/* Ends a fault that holds only the lock of its mapping; it comes again with mmap_lock. */
static inline vm_fault_t compat_take_mmap_lock(struct vm_fault *vmf)
{
	if (!(vmf->flags & FAULT_FLAG_VMA_LOCK))
		return 0;
	vma_end_read(vmf->vma);
	return VM_FAULT_RETRY;
}

static inline void compat_zap_mapping(struct vm_area_struct *vma)
{
	zap_vma_range(vma, vma->vm_start, vma->vm_end - vma->vm_start);
}
#else
#define COMPAT_HAS_PUDS		0
#define COMPAT_PUD_INODE_FLAGS	0

static inline vm_fault_t compat_take_mmap_lock(struct vm_fault *vmf)
{
	return 0;
}
#endif

/* has_transparent_pud_hugepage() is about the kernel, not about the processor. */
static inline bool compat_has_puds(void)
{
	return COMPAT_HAS_PUDS && boot_cpu_has(X86_FEATURE_GBPAGES);
}

#if COMPAT_HAS_DEVMAP_PAGES

struct compat_entries {
	struct vm_area_struct *vma;
	unsigned long pfn;	/* of the next entry */
};

static inline int compat_set_entry(pte_t *entry, unsigned long addr, void *data)
{
	struct compat_entries *entries = data;
	struct vm_area_struct *vma = entries->vma;
	pte_t pte = pfn_pte(entries->pfn++, vma->vm_page_prot);

	if (pte_none(ptep_get(entry)))
		set_pte_at(vma->vm_mm, addr, entry, pte_mkdevmap(pte));
	return 0;
}

/*
 * vmf_insert_mixed() would make the same entries, but it walks down to each, and
 * looks up the memory type of each page.  All pages of a region have the type of the
 * kernel's own mapping, which is in vm_page_prot.  apply_to_pte_range() (mm/memory.c)
 * holds the lock of the page table around compat_set_entry().
 */
static inline vm_fault_t compat_insert_pages(struct vm_area_struct *vma,
					     unsigned long addr,
					     struct page *page,
					     unsigned long count)
{
	struct compat_entries entries = { vma, page_to_pfn(page) };

	if (apply_to_page_range(vma->vm_mm, addr, count << PAGE_SHIFT,
				compat_set_entry, &entries))
		return VM_FAULT_OOM;
	return VM_FAULT_NOPAGE;
}

#else

static inline vm_fault_t compat_insert_page(struct vm_area_struct *vma,
					    unsigned long addr,
					    struct page *page)
{
#if COMPAT_HAS_FOLIOS
	struct vm_fault there = { .vma = vma, .address = addr };

	return vmf_insert_page_mkwrite(&there, page, false);
#else
	int ret = vm_insert_page(vma, addr, page);

	if (ret == -ENOMEM)
		return VM_FAULT_OOM;
	return ret && ret != -EBUSY ? VM_FAULT_SIGBUS : VM_FAULT_NOPAGE;
#endif
}

/*
 * Maps @count pages from @page on at @addr, where no entry of the level above
 * maps a chunk.  Another thread may already have mapped some of them.
 */
static inline vm_fault_t compat_insert_pages(struct vm_area_struct *vma,
					     unsigned long addr,
					     struct page *page,
					     unsigned long count)
{
	vm_fault_t ret = VM_FAULT_NOPAGE;
	unsigned long i;

	for (i = 0; i < count && ret == VM_FAULT_NOPAGE; i++)
		ret = compat_insert_page(vma, addr + (i << PAGE_SHIFT), page + i);
	return ret;
}

#endif

/* Returns the distance, or -1 if the client cannot reach the provider by the kernel's rules. */
static inline int compat_p2pdma_distance(struct pci_dev *provider,
					 struct pci_dev *client)
{
#if COMPAT_HAS_P2PDMA
	struct device *clients[] = { &client->dev };

	return pci_p2pdma_distance_many(provider, clients, 1, false);
#else
	return -1;
#endif
}

/* True when the device's own driver has published a P2PDMA pool. */
static inline bool compat_p2pdma_published(struct pci_dev *pdev)
{
#if COMPAT_HAS_P2PDMA
	struct pci_dev *found = NULL;
	bool use = false;

	if (pci_p2pdma_enable_store(pci_name(pdev), &found, &use))
		return false;
	pci_dev_put(found);
	return use && found == pdev;
#else
	return false;
#endif
}

static inline bool compat_p2pdma_has_pool(struct pci_dev *pdev)
{
#if COMPAT_HAS_P2PDMA
	return rcu_access_pointer(pdev->p2pdma);
#else
	return false;
#endif
}

/* The reference count of a page that nobody has taken out of its P2PDMA pool; 0 since 6.15. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
#define COMPAT_P2PDMA_REST	1
#else
#define COMPAT_P2PDMA_REST	0
#endif

/* MODULE_IMPORT_NS() takes a string since 6.13. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define COMPAT_NS_DMA_BUF DMA_BUF
#else
#define COMPAT_NS_DMA_BUF "DMA_BUF"
#endif

/* move_notify became invalidate_mappings in 7.1.  The caller holds the reservation lock. */
static inline void compat_dma_buf_invalidate(struct dma_buf *dmabuf)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
	dma_buf_move_notify(dmabuf);
#else
	dma_buf_invalidate_mappings(dmabuf);
#endif
}

/*
 * Will the importer unmap when it is told to?  Before 7.1 every importer has the
 * callback, and nobody can know.
 */
static inline bool compat_dma_buf_revocable(struct dma_buf_attachment *attach)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
	return true;
#else
	return dma_buf_attach_revocable(attach);
#endif
}

/* May the importer keep its mapping?  True unless it is known to let go. */
static inline bool compat_dma_buf_may_stay(struct dma_buf_attachment *attach)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
	return true;
#else
	return !dma_buf_attach_revocable(attach);
#endif
}

#endif
