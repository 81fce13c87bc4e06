// SPDX-License-Identifier: GPL-2.0
/*
 * Chunks: if an extent covers 2 MiB as a whole, one page-table entry maps them.  Where
 * the kernel has large folios of device memory, the chunk becomes one folio.  Then a pin
 * or an idle check costs one step as well, instead of 512.  A region starts out as single
 * pages.  Whenever an extent takes memory, the chunks that it touches get the shape that
 * suits it.  So a large folio never has two owners, and "its references are back at one"
 * answers for the extent alone.
 *
 * A chunk changes its shape when its last owner is gone and nobody has seen the next one
 * yet.  Lockless walkers of page tables (get_user_pages_fast()) may follow an entry that
 * is gone by now, and they count a single page and a large folio differently.  So an RCU
 * grace period, which waits for them, lies between the last owner and the change.  All
 * counts are frozen at zero meanwhile, so nobody else can take a reference.
 *
 * A region may be added with large folios instead.  Its pagemap is made of them, and most
 * of their struct pages share the same memory.  Nobody can split such a folio, so each
 * has one owner (take.c).
 */
#include <linux/page_ref.h>
#include <linux/sched.h>

#include "folio.h"
#include "p2pmem.h"

/* The folio at @granule, and in *@count how many granules of [granule, end) it has. */
struct folio *p2pmem_folio_at(struct p2pmem_region *r, u64 granule, u64 end,
			      u64 *count)
{
	struct page *page = p2pmem_page(r, granule);
	struct folio *folio = page_folio(page);

	*count = min_t(u64, end - granule, folio_nr_pages(folio) -
					   folio_page_idx(folio, page));
	return folio;
}

/* Freezes the base references of @count pages, or none of them. */
static bool freeze_pages(struct page *page, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (page_ref_freeze(page + i, 1))
			continue;
		while (i--)
			page_ref_unfreeze(page + i, 1);
		return false;
	}
	return true;
}

/*
 * Makes one folio out of 512 pages.  If somebody holds a passing reference to one of
 * them, they stay single for now.
 */
static void join(struct p2pmem_region *r, u64 chunk)
{
	struct page *page = p2pmem_page(r, chunk);

	lockdep_assert_held(&r->alloc_lock);
	if (PageHead(page))
		return;
	if (!freeze_pages(page, P2PMEM_CHUNK))
		return;
	compat_form_folio(page, compat_page_pgmap(page), P2PMEM_CHUNK_ORDER);
}

static void split(struct p2pmem_region *r, u64 chunk)
{
	struct page *page = p2pmem_page(r, chunk);
	struct dev_pagemap *pgmap;
	unsigned int i;

	if (!PageHead(page))
		return;
	while (!page_ref_freeze(page, 1))
		cond_resched(); /* a passing speculative reference */
	pgmap = compat_page_pgmap(page);
	for (i = 0; i < P2PMEM_CHUNK; i++)
		compat_form_folio(page + i, pgmap, 0);
}

/*
 * How many granules after a chunk boundary the region begins.  A piece of a foreign pool
 * may begin anywhere.
 */
u64 p2pmem_chunk_skew(const struct p2pmem_region *r)
{
	return PHYS_PFN(r->backing.phys) % P2PMEM_CHUNK;
}

/* The first chunk that begins at or after @granule. */
static u64 chunk_from(const struct p2pmem_region *r, u64 granule)
{
	u64 skew = p2pmem_chunk_skew(r);

	return round_up(granule + skew, P2PMEM_CHUNK) - skew;
}

/*
 * May one entry map a chunk from @granule on?  Its extent is in use, so the shape cannot
 * change meanwhile.
 */
bool p2pmem_is_chunk(struct p2pmem_region *r, u64 granule)
{
	struct page *page = p2pmem_page(r, granule);

	if (COMPAT_HAS_FOLIOS)
		return PageHead(page) &&
		       folio_order(page_folio(page)) == P2PMEM_CHUNK_ORDER;
	return P2PMEM_HAS_CHUNKS && chunk_from(r, granule) == granule;
}

/* Makes single pages of all chunks before the backing of an unused region goes. */
void p2pmem_unshape(struct p2pmem_region *r)
{
	u64 chunk;

	if (!COMPAT_HAS_FOLIOS)
		return;
	cond_synchronize_rcu(r->given);
	for (chunk = chunk_from(r, 0);
	     chunk + P2PMEM_CHUNK <= r->alloc.granules; chunk += P2PMEM_CHUNK) {
		split(r, chunk);
		cond_resched();
	}
}

/* Do chunks of the region change their shape with their owner? */
bool p2pmem_has_shapes(const struct p2pmem_region *r)
{
	return COMPAT_HAS_FOLIOS && !r->folio_order && !r->borrowed;
}

/* The first chunk that @e touches.  It may begin before @e, but not before the region. */
u64 p2pmem_first_chunk(const struct p2pmem_region *r, const struct p2pmem_extent *e)
{
	u64 chunk = chunk_from(r, e->first);

	return chunk > e->first && chunk >= P2PMEM_CHUNK ? chunk - P2PMEM_CHUNK : chunk;
}

/* Do file and region agree on where the chunk begins, and does the extent cover all of it? */
static bool suits_folio(const struct p2pmem_extent *e, u64 chunk)
{
	return !((e->first ^ e->file_first) % P2PMEM_CHUNK) && chunk >= e->first &&
	       e->first + e->count >= chunk + P2PMEM_CHUNK;
}

/*
 * Gives a chunk the shape that suits @e.  Others can own a part of the chunk only if the
 * extent does not cover all of it, and then they would split it as well.  Returns false if
 * @may_change is false and the chunk has another shape.
 */
static bool shape(struct p2pmem_region *r, const struct p2pmem_extent *e, u64 chunk,
		  bool may_change)
{
	bool joined = suits_folio(e, chunk);

	lockdep_assert_held(&r->alloc_lock);
	if (!!PageHead(p2pmem_page(r, chunk)) == joined)
		return true;
	if (!may_change)
		return false;
	if (joined)
		join(r, chunk);
	else
		split(r, chunk);
	return true;
}

#define BATCH_CHUNKS	16

/*
 * Gives a batch of chunks, from *@chunk on, the shape that suits @e, which nobody has
 * seen yet.  Without @may_change, it returns false at the first chunk that has another
 * shape, because an RCU grace period has to lie between the last owner and the change.
 * The caller is in the region.  Others may take alloc_lock between two chunks.
 */
bool p2pmem_shape_some(struct p2pmem_region *r, const struct p2pmem_extent *e,
		       u64 *chunk, bool may_change)
{
	int n;

	lockdep_assert_held(&r->gate);
	for (n = 0; n < BATCH_CHUNKS && *chunk < e->first + e->count; n++) {
		bool fits;

		mutex_lock(&r->alloc_lock);
		fits = shape(r, e, *chunk, may_change);
		mutex_unlock(&r->alloc_lock);
		if (!fits)
			return false;
		*chunk += P2PMEM_CHUNK;
	}
	return true;
}
