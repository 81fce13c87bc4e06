// SPDX-License-Identifier: GPL-2.0
/*
 * Ranges of an open file, for users that take no page faults: this file takes memory for
 * a range, zeroes it, and says where in the region it lies.
 */
#include <linux/slab.h>

#include "extent.h"
#include "gate.h"
#include "p2pmem.h"
#include "range.h"
#include "reap.h"
#include "take.h"

/* Takes memory as mmap() does, but waits for memory of files that were closed a moment ago. */
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
		/* Tries again, too, if memory came back during the call that was refused. */
	} while (p2pmem_settle(r, asked) ||
		 (ret == -ENOSPC && READ_ONCE(r->gives) != gives && time_before(jiffies, asked + HZ)));
	return p2pmem_settled(r, ret);
}

/* Does the same, waits until the memory can be used, and zeroes what the file's user must not see. */
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

/* What p2pmem_file_ranges() notes.  Without @ranges, note() only counts. */
struct noted {
	phys_addr_t base;
	struct p2pmem_range *ranges;
	unsigned int room;
	unsigned int nr_ranges;
	phys_addr_t end;
};

/* Pieces that also follow one another in the region are one range. */
static int note(const struct p2pmem_span *part, void *data)
{
	struct noted *n = data;
	phys_addr_t phys = n->base + (part->first << PAGE_SHIFT);
	bool follows = n->nr_ranges && phys == n->end;

	n->end = phys + (part->count << PAGE_SHIFT);
	if (!follows && n->nr_ranges++ == UINT_MAX)
		return -E2BIG;
	if (!n->ranges)
		return 0;
	if (n->nr_ranges > n->room)	/* the memory has changed since the walk that counted */
		return -ENXIO;
	if (!follows)
		n->ranges[n->nr_ranges - 1].phys = phys;
	n->ranges[n->nr_ranges - 1].bytes = n->end - n->ranges[n->nr_ranges - 1].phys;
	return 0;
}

/*
 * Returns where [first, first + count) of the file lies, in an array that the caller frees
 * by kvfree().  The answer stays true while the file is open, except for memory that a
 * GPU's driver takes away (file->taken_back).
 */
struct p2pmem_range *p2pmem_file_ranges(struct p2pmem_file *f, u64 first, u64 count,
					unsigned int *nr_ranges)
{
	struct noted n = { .base = f->region->backing.phys };
	int ret = p2pmem_file_walk(f, first, count, note, &n);

	if (ret)
		return ERR_PTR(ret);
	n.room = n.nr_ranges;
	n.nr_ranges = 0;
	n.ranges = kvcalloc(n.room, sizeof(*n.ranges), GFP_KERNEL_ACCOUNT);
	if (!n.ranges)
		return ERR_PTR(-ENOMEM);
	ret = p2pmem_file_walk(f, first, count, note, &n);
	if (ret) {
		kvfree(n.ranges);
		return ERR_PTR(ret);
	}
	*nr_ranges = n.nr_ranges;
	return n.ranges;
}
