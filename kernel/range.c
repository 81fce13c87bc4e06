// SPDX-License-Identifier: GPL-2.0
/*
 * Ranges of an open file for who takes no faults: backed, fit to be seen, and
 * where in the region they lie.
 */
#include "p2pmem.h"

/* Backed as mmap() would; waits for memory of files that were closed a moment before. */
int p2pmem_file_back_settled(struct p2pmem_file *f, u64 first, u64 count)
{
	struct p2pmem_region *r = f->region;
	unsigned long asked = jiffies, gives;
	int ret;

	do {
		gives = READ_ONCE(r->gives);
		ret = p2pmem_file_back(f, first, count);
		if (ret != -ENOSPC && ret != -EBUSY)
			return ret;
		/* Once more if the last of what drained came back after the look at what is free. */
	} while (p2pmem_settle(r, asked) ||
		 (ret == -ENOSPC && READ_ONCE(r->gives) != gives && time_before(jiffies, asked + HZ)));
	return ret;
}

/* The same, and zeroed. */
int p2pmem_file_prepare(struct p2pmem_file *f, u64 first, u64 count)
{
	int ret;

	if (!p2pmem_enter(f->region))
		return -ENODEV;
	p2pmem_revalidate(f->region);
	p2pmem_leave(f->region);
	ret = p2pmem_file_back_settled(f, first, count);
	return ret ?: p2pmem_await_ready(f->region) ?:
	       p2pmem_file_show(f, first, count);
}

/*
 * Counts the contiguous pieces of [first, first + count), which is owned by the
 * file; notes them if @ranges.  None if the driver of a GPU took a part of it away.
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
		u64 skip, granules;
		phys_addr_t phys;

		if (!e || e->file_first > first) {
			n = 0;
			break;
		}
		skip = first - e->file_first;
		granules = min(e->count - skip, end - first);
		phys = f->region->backing.phys + ((e->first + skip) << PAGE_SHIFT);
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
