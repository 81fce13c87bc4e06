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
 * P2PDMA pages can be mapped by users since 6.2; on kernels where
 * CONFIG_PCI_P2PDMA is off every call below is a stub that fails.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0) && defined(CONFIG_PCI_P2PDMA)
#define COMPAT_HAS_P2PDMA 1
#else
#define COMPAT_HAS_P2PDMA 0
#endif

/*
 * Device memory in large folios that a page-middle-directory entry maps: since
 * 7.0 zone_device_page_init() takes an order and works for any pagemap, and
 * mappings need no VM_MIXEDMAP, with which mm/huge_memory.c would not give the
 * reference of such an entry back.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0) && \
	defined(CONFIG_TRANSPARENT_HUGEPAGE)
#define COMPAT_HAS_FOLIOS	1
#define COMPAT_VM_FLAGS		(VM_HUGEPAGE | VM_DONTEXPAND | VM_DONTDUMP)
#define COMPAT_HUGE_FAULT(fn)	.huge_fault = fn,
#else
#define COMPAT_HAS_FOLIOS	0
#define COMPAT_VM_FLAGS		(VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP)
#define COMPAT_HUGE_FAULT(fn)
#endif

/*
 * Makes one folio, with one reference, of 2^@order pages whose counts are
 * frozen at zero.  The references to the pagemap that zone_device_page_init()
 * takes go back: memunmap_pages() drops one per page by itself.
 */
static inline void compat_form_folio(struct page *page,
				     struct dev_pagemap *pgmap,
				     unsigned int order)
{
#if COMPAT_HAS_FOLIOS
	zone_device_page_init(page, pgmap, order);
	if (order)	/* a bit that means something else in a single page */
		folio_clear_large_rmappable(page_folio(page));
	unlock_page(page);
	percpu_ref_put_many(&pgmap->ref, 1UL << order);
#endif
}

/* Page-table entries of a folio; not exported by kernels without large ones. */
static inline int compat_folio_mapcount(struct folio *folio)
{
#if COMPAT_HAS_FOLIOS
	return folio_mapcount(folio);
#else
	return atomic_read(&folio->_mapcount) + 1;
#endif
}

static inline vm_fault_t compat_insert_folio(struct vm_fault *vmf,
					     struct folio *folio)
{
#if COMPAT_HAS_FOLIOS
	return vmf_insert_folio_pmd(vmf, folio, vmf->flags & FAULT_FLAG_WRITE);
#else
	return VM_FAULT_FALLBACK;
#endif
}

/* Maps one page at @addr; a page that another thread has mapped there is fine. */
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

/* -1: not reachable by the kernel's rules; >= 0: a distance. */
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

/* MODULE_IMPORT_NS() takes a string since 6.13. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define COMPAT_NS_DMA_BUF DMA_BUF
#else
#define COMPAT_NS_DMA_BUF "DMA_BUF"
#endif

/* move_notify is invalidate_mappings in 7.2.  The reservation lock is held. */
static inline void compat_dma_buf_invalidate(struct dma_buf *dmabuf)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
	dma_buf_move_notify(dmabuf);
#else
	dma_buf_invalidate_mappings(dmabuf);
#endif
}

/*
 * Will the importer unmap when it is told to?  Before 7.2 every one has the
 * callback and nobody can know.
 */
static inline bool compat_dma_buf_revocable(struct dma_buf_attachment *attach)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
	return true;
#else
	return dma_buf_attach_revocable(attach);
#endif
}

#endif
