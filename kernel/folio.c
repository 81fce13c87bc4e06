// SPDX-License-Identifier: GPL-2.0
/*
 * 2 MiB folios where an extent covers them whole: a mapping, a pin or an idle
 * check then costs one step instead of 512.  A region starts out as single
 * pages; whenever an extent takes memory the chunks that it touches get the
 * shape that suits it.  So a large folio never has two owners, and "its
 * references are back at one" answers for the extent alone.
 *
 * Shapes change while nobody owns the chunk.  Lockless walkers of page tables
 * (get_user_pages_fast()) may follow an entry that has gone since, and count a
 * single page and a large folio differently: so an RCU grace period, which waits
 * for them, lies between the last owner and the change.  All counts are frozen
 * at zero meanwhile, which refuses anybody else.
 */
#include <linux/page_ref.h>
#include <linux/sched.h>

#include "p2pmem.h"

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

	if (PageHead(page))
		return;
	cond_synchronize_rcu(r->given);
	if (!freeze_pages(page, P2PMEM_CHUNK))
		return;
	compat_form_folio(page, &r->backing.pgmap, P2PMEM_CHUNK_ORDER);
}

static void split(struct p2pmem_region *r, u64 chunk)
{
	struct page *page = p2pmem_page(r, chunk);
	unsigned int i;

	if (!PageHead(page))
		return;
	cond_synchronize_rcu(r->given);
	while (!page_ref_freeze(page, 1))
		cond_resched(); /* a passing speculative reference */
	for (i = 0; i < P2PMEM_CHUNK; i++)
		compat_form_folio(page + i, &r->backing.pgmap, 0);
}

bool p2pmem_has_folios(const struct p2pmem_region *r)
{
	return COMPAT_HAS_FOLIOS && r->backing.type == P2PMEM_PAGES_GENERIC;
}

/* @e has just been taken, and nobody has seen it.  alloc_lock is held. */
void p2pmem_shape_extent(struct p2pmem_region *r, const struct p2pmem_extent *e)
{
	u64 end = e->first + e->count;
	bool congruent = !((e->first ^ e->file_first) % P2PMEM_CHUNK);
	u64 chunk;

	if (!p2pmem_has_folios(r))
		return;
	for (chunk = round_down(e->first, P2PMEM_CHUNK); chunk < end;
	     chunk += P2PMEM_CHUNK) {
		if (congruent && chunk >= e->first && end - chunk >= P2PMEM_CHUNK)
			join(r, chunk);
		else
			split(r, chunk);
		cond_resched();
	}
}
