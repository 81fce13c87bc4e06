// SPDX-License-Identifier: GPL-2.0
/*
 * Struct pages that a GPU's driver has made for its whole aperture (static BAR1), as a
 * P2PDMA pool.  p2pmem never allocates from that pool, because the pool gives out pages
 * behind the memory of processes.  Instead, when a process has pinned memory, p2pmem
 * raises each of its pages from the resting count to one, the base reference.  It puts
 * the page back to rest when the memory is given back.  So the pool's own page_free()
 * never runs for such a page.
 */
#include "alloc.h"
#include "borrow.h"
#include "p2pmem.h"

/* Do both ends lie in the same P2PDMA pagemap? */
bool p2pmem_range_is_p2pdma(phys_addr_t phys, u64 bytes)
{
	struct dev_pagemap *first = compat_get_dev_pagemap(PHYS_PFN(phys));
	struct dev_pagemap *last = compat_get_dev_pagemap(PHYS_PFN(phys + bytes - 1));
	bool is = first && first == last && first->type == MEMORY_DEVICE_PCI_P2PDMA;

	put_dev_pagemap(first);
	put_dev_pagemap(last);
	return is;
}

/*
 * Takes the base references.  Returns false if a mapping of the pool (p2pmem/allocate in
 * sysfs) has one of the pages.  Memory that a driver took out of the pool by a call
 * leaves no trace in the pages.
 */
bool p2pmem_borrow(struct p2pmem_region *r, u64 first, u64 count)
{
	u64 i;

	lockdep_assert_held(&r->alloc_lock);
	if (!r->borrowed)
		return true;
	for (i = 0; i < count; i++)
		if (page_ref_count(p2pmem_page(r, first + i)) != COMPAT_P2PDMA_REST)
			return false;
	for (i = 0; i < count; i++)
		set_page_count(p2pmem_page(r, first + i), 1);
	return true;
}

#define REST_TRIES	100000

/*
 * Whoever maps pages of the pool takes and drops references without regard to p2pmem.
 * Such a page is not ours to put to rest.
 */
static void rest(struct p2pmem_region *r, u64 granule)
{
	struct page *page = p2pmem_page(r, granule);
	unsigned int tries = 0;

	while (!page_ref_freeze(page, 1)) {
		if (!page_ref_count(page) || ++tries > REST_TRIES) {
			dev_err_ratelimited(&r->dev, "the pool of the GPU's driver has given out memory that a process has pinned: let nobody map p2pmem/allocate\n");
			return;
		}
		cond_resched(); /* a passing speculative reference */
	}
}

/*
 * Nobody refers to the pages.  If the region is gone, p2pmem_put_all_to_rest() has put
 * all of them to rest already.
 */
void p2pmem_put_to_rest(struct p2pmem_region *r, u64 first, u64 count)
{
	u64 i;

	lockdep_assert_held(&r->alloc_lock);
	if (!r->borrowed || r->gone || COMPAT_P2PDMA_REST)
		return;
	for (i = 0; i < count; i++)
		rest(r, first + i);
}

#define BATCH_GRANULES	(1ULL << 15)

/*
 * Puts the pages that files still own to rest, before the region goes and leaves the
 * pagemap to the driver.
 */
void p2pmem_put_all_to_rest(struct p2pmem_region *r)
{
	struct p2pmem_alloc *a = &r->alloc;
	u64 at = 0, to, i;

	while (at < a->granules) {
		mutex_lock(&r->alloc_lock);
		at = p2pmem_alloc_next_used(a, at);
		to = min(p2pmem_alloc_next_free(a, at), at + BATCH_GRANULES);
		for (i = at; i < to && !COMPAT_P2PDMA_REST; i++)
			rest(r, i);
		mutex_unlock(&r->alloc_lock);
		at = to;
		cond_resched();
	}
}
