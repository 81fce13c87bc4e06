// SPDX-License-Identifier: GPL-2.0
/*
 * The struct pages behind a region:
 *
 *   generic            a MEMORY_DEVICE_GENERIC pagemap of our own (generic.c),
 *                      or several (window.c)
 *   p2pdma, own pool   p2pmem makes a P2PDMA pool of the region's part of the BAR,
 *                      and takes the whole pool at once
 *   p2pdma, foreign    a piece of the pool that the nvme driver published, or the
 *                      pages that a GPU's driver has made (static BAR1, borrow.c)
 *   pmem               the pmem driver has the pages (pmem.c)
 *
 * In the first three, each page rests at one reference, the base reference, which belongs
 * to the backing.  (Pages of static BAR1 have it only while a file owns them.)  Each pin
 * adds a reference, and so does each mapping, except through devmap entries (compat.h).
 * Thus no page falls to zero while the region lives, and "all pages are back at one" is
 * the one test for "nobody refers to them".
 */
#include <linux/io.h>
#include <linux/page_ref.h>

#include <asm/cacheflush.h>

#include "backing.h"
#include "borrow.h"
#include "direct_map.h"
#include "folio.h"
#include "generic.h"
#include "guard.h"
#include "memtype.h"
#include "p2pmem.h"
#include "pmem.h"
#include "window.h"

static const char *const page_type_names[] = {
	[P2PMEM_PAGES_GENERIC] = "generic",
	[P2PMEM_PAGES_P2PDMA] = "p2pdma",
	[P2PMEM_PAGES_PMEM] = "pmem",
};

const char *p2pmem_page_type_name(u32 type)
{
	return type ? page_type_names[type] : "none";
}

/* The pool's pages rest at COMPAT_P2PDMA_REST.  Gives each page its base reference. */
static void take_base_references(struct p2pmem_backing *b)
{
	unsigned long pfn = PHYS_PFN(b->phys);
	unsigned long end = pfn + (b->bytes >> PAGE_SHIFT);

	for (; pfn < end; pfn++)
		set_page_count(pfn_to_page(pfn), 1);
}

/* Takes the base references back, without running the pool's own page_free(). */
static void drop_base_references(struct p2pmem_backing *b)
{
	unsigned long pfn = PHYS_PFN(b->phys);
	unsigned long end = pfn + (b->bytes >> PAGE_SHIFT);

	if (COMPAT_P2PDMA_REST)
		return; /* the base reference is the one that the pool expects */
	for (; pfn < end; pfn++)
		while (!page_ref_freeze(pfn_to_page(pfn), 1))
			cond_resched(); /* a passing speculative reference */
}

static int open_own_pool(struct p2pmem_region *r, struct p2pmem_backing *b)
{
	struct device *dev = &r->pdev->dev;
	int ret;

	if (compat_p2pdma_has_pool(r->pdev))
		return -EBUSY;
	if (p2pmem_range_has_pagemap(b->phys, b->bytes))
		return -EEXIST;
	b->group = devres_open_group(dev, NULL, GFP_KERNEL);
	if (!b->group)
		return -ENOMEM;
	ret = pci_p2pdma_add_resource(r->pdev, r->bar, b->bytes, r->bar_offset);
	devres_close_group(dev, b->group);
	if (ret) {
		ret = p2pmem_half_made(ret);
		goto err_release_group;
	}
	b->kaddr = pci_alloc_p2pmem(r->pdev, b->bytes);
	if (!b->kaddr) {
		ret = -ENOMEM;
		goto err_release_group;
	}
	if (!r->provider->foreign)
		return 0;
	/*
	 * The core releases device resources in reverse order, so the guard, which is
	 * added after the pool, waits before the pool goes.
	 */
	ret = p2pmem_guard(r->pdev);
	if (!ret)
		return 0;
	pci_free_p2pmem(r->pdev, b->kaddr, b->bytes);
	b->kaddr = NULL;

err_release_group:
	devres_release_group(dev, b->group);
	b->group = NULL;
	return ret;
}

static int open_p2pdma(struct p2pmem_region *r, struct p2pmem_backing *b)
{
	int ret;

	if (!COMPAT_HAS_P2PDMA)
		return -EOPNOTSUPP;
	if (r->borrowed) {
		b->kaddr = page_address(pfn_to_page(PHYS_PFN(b->phys)));
		b->memtype = p2pmem_memtype_of(b->kaddr);
		return 0;
	}
	if (!r->provider->foreign || !b->kaddr) {
		if (!r->provider->can_p2pdma)
			return -EOPNOTSUPP;
		ret = open_own_pool(r, b);
		if (ret)
			return ret;
	}
	b->memtype = p2pmem_memtype_of(b->kaddr);
	take_base_references(b);
	return 0;
}

static void close_p2pdma(struct p2pmem_region *r, struct p2pmem_backing *b)
{
	p2pmem_unshape(r);
	drop_base_references(b);
	pci_free_p2pmem(r->pdev, b->kaddr, b->bytes);
	if (b->group)
		devres_release_group(&r->pdev->dev, b->group);
	b->group = NULL;
}

/* The caller has set phys and bytes, and for a foreign pool kaddr. */
int p2pmem_backing_open(struct p2pmem_region *r, u32 type)
{
	struct p2pmem_backing *b = &r->backing;
	int ret;

	/*
	 * Memory that already has struct pages lies within the direct map.  The pmem
	 * driver may need no struct pages, so for its type the end of the direct map only
	 * explains a failure.
	 */
	if (type != P2PMEM_PAGES_PMEM && p2pmem_is_beyond_direct_map(b))
		return -ERANGE;
	if (type == P2PMEM_PAGES_P2PDMA)
		ret = open_p2pdma(r, b);
	else if (type == P2PMEM_PAGES_PMEM)
		ret = p2pmem_pmem_open(r, b);
	else if (r->provider->pinned)
		ret = p2pmem_windows_open(r);
	else
		ret = p2pmem_open_generic(r, b);
	if (!ret)
		WRITE_ONCE(b->type, type);
	else if (p2pmem_is_beyond_direct_map(b))
		ret = -ERANGE;
	return ret;
}

/*
 * Nobody has a page mapped or pinned: drain.c has waited for that, and for other callers
 * the region is idle.
 */
void p2pmem_backing_close(struct p2pmem_region *r)
{
	struct p2pmem_backing *b = &r->backing;

	if (r->borrowed)
		p2pmem_put_all_to_rest(r);
	else if (b->type == P2PMEM_PAGES_P2PDMA)
		close_p2pdma(r, b);
	else if (b->pmem)
		p2pmem_pmem_close(r, b);
	else if (b->windows)
		p2pmem_windows_close(r);
	else
		p2pmem_close_generic(b);
	b->kaddr = NULL;
	WRITE_ONCE(b->type, 0);
}

/*
 * Stores eight bytes at a time.  Some devices (an emulated CMB among them) decode nothing
 * wider, and rep stosb would access them byte by byte.
 */
void p2pmem_zero_granule(struct p2pmem_region *r, u64 granule)
{
	void *kaddr = p2pmem_kaddr(r, granule);

	memset64(kaddr, 0, PAGE_SIZE / sizeof(u64));
	/* A peer's read of the device does not look into our cache. */
	if (r->backing.memtype == P2PMEM_MEMTYPE_WB)
		clflush_cache_range(kaddr, PAGE_SIZE);
}

/*
 * Returns when the CPU's stores have arrived at the device, up to those to @granule,
 * which were the last.  The barrier empties the CPU's buffers, but the stores are posted
 * writes: one may still be under way when a peer, on another path, reads the old bytes.
 * So this reads the last word of the granule.  The answer to that read comes after all
 * the stores.
 */
noinline u64 p2pmem_stores_arrive(struct p2pmem_region *r, u64 granule)
{
	const u64 *end = p2pmem_kaddr(r, granule + 1);

	/* Not wmb(): a read of write-combined memory may pass it. */
	mb(); /* out of the CPU's buffers before the device is asked */
	return READ_ONCE(end[-1]);
}

/* A device that is gone answers with ones or with zeros, and never with this. */
#define ARRIVAL_MARK	0x6f72657a6d6d3270ULL

static u64 store_last(struct p2pmem_region *r, u64 granule, u64 word)
{
	u64 *end = p2pmem_kaddr(r, granule + 1);

	WRITE_ONCE(end[-1], word);
	if (r->backing.memtype == P2PMEM_MEMTYPE_WB)
		clflush_cache_range(&end[-1], sizeof(word));
	return p2pmem_stores_arrive(r, granule);
}

/*
 * Like p2pmem_stores_arrive(), for zeros that nobody may see yet.  Returns false if they
 * were lost.  It puts a mark in the place of the last word for a moment: only a device
 * that keeps what is stored answers with the mark.
 */
noinline bool p2pmem_zeros_arrive(struct p2pmem_region *r, u64 granule)
{
	return store_last(r, granule, ARRIVAL_MARK) == ARRIVAL_MARK &&
	       !store_last(r, granule, 0);
}
