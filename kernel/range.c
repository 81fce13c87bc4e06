// SPDX-License-Identifier: GPL-2.0
/*
 * Ranges of an open file for who takes no faults: backed, fit to be seen, and
 * where in the region they lie.
 */
#include "p2pmem.h"

/* Backed as mmap() would, and zeroed. */
int p2pmem_file_prepare(struct p2pmem_file *f, u64 first, u64 count)
{
	int ret;

	if (!p2pmem_enter(f->region))
		return -ENODEV;
	p2pmem_revalidate(f->region);
	p2pmem_leave(f->region);
	ret = p2pmem_file_back(f, first, count);
	return ret ?: p2pmem_await_ready(f->region) ?:
	       p2pmem_file_show(f, first, count);
}

/*
 * Counts the contiguous pieces of [first, first + count), which is owned by the
 * file; notes them if @ranges.
 */
unsigned int p2pmem_file_ranges(struct p2pmem_file *f, u64 first, u64 count,
				struct p2pmem_range *ranges)
{
	u64 end = first + count;
	struct p2pmem_extent *e;
	phys_addr_t expected = 0;
	unsigned int n = 0;

	mutex_lock(&f->lock);
	for (e = p2pmem_extent_find(f, first); first < end; e = p2pmem_extent_next(e)) {
		u64 skip = first - e->file_first;
		u64 granules = min(e->count - skip, end - first);
		phys_addr_t phys = f->region->backing.phys +
				   ((e->first + skip) << PAGE_SHIFT);

		if (!n || phys != expected) {
			n++;
			if (ranges)
				ranges[n - 1] = (struct p2pmem_range){ phys, 0 };
		}
		if (ranges)
			ranges[n - 1].bytes += granules << PAGE_SHIFT;
		expected = phys + (granules << PAGE_SHIFT);
		first += granules;
		cond_resched();
	}
	mutex_unlock(&f->lock);
	return n;
}
