// SPDX-License-Identifier: GPL-2.0
/*
 * Extents: which bytes of a region stand behind which offset of an open file,
 * and that nobody sees bytes which are not his.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "p2pmem.h"

/* The extent that covers @granule of the file, or NULL.  file->lock is held. */
struct p2pmem_extent *p2pmem_extent_find(struct p2pmem_file *f, u64 granule)
{
	struct rb_node *node = f->extents.rb_node;

	while (node) {
		struct p2pmem_extent *e = rb_entry(node, struct p2pmem_extent, node);

		if (granule < e->file_first)
			node = node->rb_left;
		else if (granule - e->file_first >= e->count)
			node = node->rb_right;
		else
			return e;
	}
	return NULL;
}

/* First granule in [from, end) that an extent covers, or @end. */
static u64 next_covered(struct p2pmem_file *f, u64 from, u64 end)
{
	struct rb_node *node = f->extents.rb_node;

	while (node) {
		struct p2pmem_extent *e = rb_entry(node, struct p2pmem_extent, node);

		if (e->file_first + e->count <= from) {
			node = node->rb_right;
		} else {
			if (e->file_first < end)
				end = max(e->file_first, from);
			node = node->rb_left;
		}
	}
	return end;
}

static void extent_insert(struct p2pmem_file *f, struct p2pmem_extent *new)
{
	struct rb_node **link = &f->extents.rb_node, *parent = NULL;

	while (*link) {
		struct p2pmem_extent *e = rb_entry(*link, struct p2pmem_extent, node);

		parent = *link;
		link = new->file_first < e->file_first ? &parent->rb_left
						       : &parent->rb_right;
	}
	rb_link_node(&new->node, parent, link);
	rb_insert_color(&new->node, &f->extents);
}

static struct p2pmem_extent *extent_new(struct p2pmem_file *f, u64 file_first)
{
	struct p2pmem_extent *e = kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT);

	if (!e)
		return NULL;
	INIT_LIST_HEAD(&e->link);
	e->file_first = file_first;
	e->uid = f->uid;
	e->pid = f->pid;
	memcpy(e->comm, f->comm, sizeof(e->comm));
	return e;
}

/* Persistent bytes are never zeroed; others only stay for whom they belong to. */
static void admit(struct p2pmem_region *r, struct p2pmem_extent *e)
{
	bool trusted = r->persistent || capable(CAP_SYS_RAWIO);

	p2pmem_bytes_admit(&r->alloc.bytes, e->first, e->count,
			   from_kuid(&init_user_ns, e->uid), trusted);
}

/* File and region need to agree on where a chunk begins. */
#define ALIKE_MODULO	(P2PMEM_HAS_CHUNKS ? P2PMEM_CHUNK : 1)

/* Backs part of a gap with memory at a fixed place (@first) or anywhere. */
static int back_piece(struct p2pmem_file *f, u64 file_first, u64 want,
		      const u64 *first, struct list_head *made)
{
	struct p2pmem_region *r = f->region;
	struct p2pmem_extent *e = extent_new(f, file_first);
	int ret = 0;

	if (!e)
		return -ENOMEM;
	mutex_lock(&r->alloc_lock);
	if (first) {
		e->first = *first;
		e->count = want;
		if (p2pmem_alloc_take_at(&r->alloc, *first, want))
			admit(r, e);
		else
			ret = -EBUSY;
	} else {
		e->count = p2pmem_alloc_take(&r->alloc, want, ALIKE_MODULO,
					     file_first, &e->first);
		if (!e->count)
			ret = -ENOSPC;
	}
	if (!ret)
		p2pmem_shape_extent(r, e);
	mutex_unlock(&r->alloc_lock);
	if (ret) {
		kfree(e);
		return ret;
	}
	extent_insert(f, e);
	list_add_tail(&e->link, made);
	return 0;
}

static int back_gap(struct p2pmem_file *f, u64 from, u64 end,
		    struct list_head *made)
{
	struct p2pmem_region *r = f->region;
	int ret;

	if (r->persistent)
		return back_piece(f, from, end - from, &from, made);
	while (from < end) {
		struct p2pmem_extent *e;

		ret = back_piece(f, from, end - from, NULL, made);
		if (ret)
			return ret;
		e = list_last_entry(made, struct p2pmem_extent, link);
		from += e->count;
	}
	return 0;
}

/* Nobody has seen these yet: they go straight back. */
static void unback(struct p2pmem_file *f, struct list_head *made)
{
	struct p2pmem_region *r = f->region;
	struct p2pmem_extent *e, *next;

	mutex_lock(&r->alloc_lock);
	list_for_each_entry_safe(e, next, made, link) {
		rb_erase(&e->node, &f->extents);
		p2pmem_alloc_give(&r->alloc, e->first, e->count,
				  from_kuid(&init_user_ns, e->uid));
		kfree(e);
	}
	mutex_unlock(&r->alloc_lock);
}

static void keep(struct list_head *made)
{
	while (!list_empty(made))
		list_del_init(made->next);
}

/* Gives memory to every part of [first, first + count) that has none. */
int p2pmem_file_back(struct p2pmem_file *f, u64 first, u64 count)
{
	u64 end = first + count;
	LIST_HEAD(made);
	int ret = 0;

	if (f->region->persistent &&
	    (end > f->region->alloc.granules || end < first))
		return -ENXIO;
	mutex_lock(&f->lock);
	while (first < end && !ret) {
		struct p2pmem_extent *e = p2pmem_extent_find(f, first);
		u64 gap_end;

		if (e) {
			first = e->file_first + e->count;
			continue;
		}
		gap_end = next_covered(f, first, end);
		ret = back_gap(f, first, gap_end, &made);
		first = gap_end;
	}
	if (ret)
		unback(f, &made);
	else
		keep(&made);
	mutex_unlock(&f->lock);
	return ret;
}

int p2pmem_file_claim(struct p2pmem_file *f, u64 file_first, u64 count,
		      u64 first)
{
	LIST_HEAD(made);
	int ret;

	mutex_lock(&f->lock);
	if (next_covered(f, file_first, file_first + count) < file_first + count)
		ret = -EEXIST;
	else
		ret = back_piece(f, file_first, count, &first, &made);
	keep(&made);
	mutex_unlock(&f->lock);
	return ret;
}

/* file->lock is held, and the granules are owned by that file. */
void p2pmem_make_visible(struct p2pmem_region *r, u64 granule, u64 count)
{
	struct p2pmem_bytes *bytes = &r->alloc.bytes;
	u64 end = granule + count;
	u64 at = p2pmem_bytes_next_unknown(bytes, granule, end);

	if (at == end)
		return;
	while (at < end) {
		p2pmem_zero_granule(r, at);
		at = p2pmem_bytes_next_unknown(bytes, at + 1, end);
	}
	wmb(); /* zeros before the mapping that shows them */
	p2pmem_bytes_show(bytes, granule, count);
}

static void show_piece(struct p2pmem_file *f, u64 first, u64 end)
{
	mutex_lock(&f->lock);
	while (first < end) {
		struct p2pmem_extent *e = p2pmem_extent_find(f, first);
		u64 skip = first - e->file_first;
		u64 count = min(end - first, e->count - skip);

		p2pmem_make_visible(f->region, e->first + skip, count);
		first += count;
	}
	mutex_unlock(&f->lock);
}

/*
 * Makes owned granules fit to be seen by a device, which takes no fault.  This
 * may take long, so the region is left between pieces; what a file owns stays
 * while it is open.  -ENODEV if the region goes away meanwhile.
 */
int p2pmem_file_show(struct p2pmem_file *f, u64 first, u64 count)
{
	u64 end = first + count;

	while (first < end) {
		u64 to = min(first + (u64)P2PMEM_CHUNK, end);

		if (!p2pmem_enter(f->region))
			return -ENODEV;
		show_piece(f, first, to);
		p2pmem_leave(f->region);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		first = to;
	}
	return 0;
}
