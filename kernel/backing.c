// SPDX-License-Identifier: GPL-2.0
/*
 * The struct pages behind a region, in three forms:
 *
 *   generic            a MEMORY_DEVICE_GENERIC pagemap of our own (generic.c),
 *                      or several (window.c)
 *   p2pdma, own BAR    the whole BAR becomes a P2PDMA pool, and all of the
 *                      pool is taken out of it at once
 *   p2pdma, foreign    one piece out of the pool that the nvme driver
 *                      published; of a GPU's with static BAR1 the pages
 *                      themselves, one by one (borrow.c)
 *
 * In all of them each page rests at one reference, the base reference, which
 * belongs to the backing.  Whoever maps or pins a page adds to it.  Thus no
 * page ever falls to zero while the region lives, and "all back at one" is
 * the one test for "nobody refers to it".
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

/* Pool memory rests at zero: give every page its base reference ... */
static void take_base_references(struct p2pmem_backing *b)
{
	unsigned long pfn = PHYS_PFN(b->phys);
	unsigned long end = pfn + (b->bytes >> PAGE_SHIFT);

	for (; pfn < end; pfn++)
		set_page_count(pfn_to_page(pfn), 1);
}

/* ... and take it back without running the pool's own page_free(). */
static void drop_base_references(struct p2pmem_backing *b)
{
	unsigned long pfn = PHYS_PFN(b->phys);
	unsigned long end = pfn + (b->bytes >> PAGE_SHIFT);

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
	/* Device resources go in reverse order: the guard's wait precedes the pool's end. */
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

/* The place (phys, bytes, and kaddr of a foreign pool) is set by the caller. */
int p2pmem_backing_open(struct p2pmem_region *r, u32 type)
{
	struct p2pmem_backing *b = &r->backing;
	int ret;

	/* What others have struct pages for is within.  The pmem driver may need none. */
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

/* No page may be mapped or pinned: drain.c has seen to that. */
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
 * Eight bytes a store: some devices (an emulated CMB among them) decode
 * nothing wider, and rep stosb would be one access a byte.
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
 * Returns when the CPU's stores are at the device, up to those to @granule, which
 * were the last.  Stores leave the CPU's buffers at the barrier, but they are posted:
 * one may still be on its way when a peer, by another way, reads what was there
 * before.  The answer to a read of the last of them comes behind them all: the
 * granule's last word.
 */
noinline u64 p2pmem_stores_arrive(struct p2pmem_region *r, u64 granule)
{
	const u64 *end = p2pmem_kaddr(r, granule + 1);

	/* Not wmb(): a read of write-combined memory may pass it. */
	mb(); /* out of the CPU's buffers before the device is asked */
	return READ_ONCE(end[-1]);
}

/* No answer of a device that is away: some of these are ones, some zeros. */
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
 * The same of zeros, which nobody may see yet; false if they are lost.  A mark takes
 * the place of the last one for a moment, and comes back from a device that keeps
 * what is stored.
 */
noinline bool p2pmem_zeros_arrive(struct p2pmem_region *r, u64 granule)
{
	return store_last(r, granule, ARRIVAL_MARK) == ARRIVAL_MARK &&
	       !store_last(r, granule, 0);
}
