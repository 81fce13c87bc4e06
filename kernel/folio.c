// SPDX-License-Identifier: GPL-2.0
/*
 * Chunks: 2 MiB that an extent covers whole are mapped by one entry.  Where the
 * kernel has large folios of device memory, they become one: a pin or an idle
 * check then costs one step, too, instead of 512.  A region starts out as single
 * pages; whenever an extent takes memory the chunks that it touches get the
 * shape that suits it.  So a large folio never has two owners, and "its
 * references are back at one" answers for the extent alone.
 *
 * Shapes change while nobody owns the chunk.  Lockless walkers of page tables
 * (get_user_pages_fast()) may follow an entry that has gone since, and count a
 * single page and a large folio differently: so an RCU grace period, which waits
 * for them, lies between the last owner and the change.  All counts are frozen
 * at zero meanwhile, which refuses anybody else.
 *
 * A region may be added with larger struct pages instead: folios that the pagemap
 * is made of, most of whose struct pages share their memory.  No one can split
 * them, so each has one owner (take.c).
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

/* One folio out of 512 pages; another time if somebody looks at one of them. */
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
 * How far the region begins behind a place where a chunk may: a piece out of
 * a foreign pool lies anywhere.
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

/* From @granule on, a chunk may be mapped by one entry.  Its extent is in use. */
bool p2pmem_is_chunk(struct p2pmem_region *r, u64 granule)
{
	struct page *page = p2pmem_page(r, granule);

	if (COMPAT_HAS_FOLIOS)
		return PageHead(page) &&
		       folio_order(page_folio(page)) == P2PMEM_CHUNK_ORDER;
	return P2PMEM_HAS_CHUNKS && chunk_from(r, granule) == granule;
}

/* Before the backing of a region goes that nobody uses: single pages again. */
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

/* Does memory of the region change its shape with its owner? */
bool p2pmem_has_shapes(const struct p2pmem_region *r)
{
	return COMPAT_HAS_FOLIOS && !r->folio_order && !r->borrowed;
}

/* The first chunk that @e touches, which may begin before it; what begins before the region is none. */
u64 p2pmem_first_chunk(const struct p2pmem_region *r, const struct p2pmem_extent *e)
{
	u64 chunk = chunk_from(r, e->first);

	return chunk > e->first && chunk >= P2PMEM_CHUNK ? chunk - P2PMEM_CHUNK : chunk;
}

/* File and region agree on where it begins, and the extent has all of it. */
static bool suits_folio(const struct p2pmem_extent *e, u64 chunk)
{
	return !((e->first ^ e->file_first) % P2PMEM_CHUNK) && chunk >= e->first &&
	       e->first + e->count >= chunk + P2PMEM_CHUNK;
}

/*
 * Only a chunk that the extent covers in part is anybody else's concern, and they would
 * split it as well.
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
 * Gives a batch of chunks, from *@chunk on, the shape that suits @e, which nobody has seen.
 * Without @may_change it returns false at the first that has another shape: an RCU grace
 * period has to lie between the end of the last owner and the change.  The region is
 * entered; the lock is left to others between one chunk and the next.
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
