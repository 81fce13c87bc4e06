// SPDX-License-Identifier: GPL-2.0
/*
 * Extents say which memory of a region lies behind which offset of an open file.  This
 * file also makes sure that nobody sees the bytes of an earlier owner.
 */
#include <linux/freezer.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "backing.h"
#include "bytes.h"
#include "extent.h"
#include "gate.h"
#include "gpu.h"

/* The first extent that covers @granule or a later one, or NULL. */
struct p2pmem_extent *p2pmem_extent_from(struct p2pmem_file *f, u64 granule)
{
	struct rb_node *node = f->extents.rb_node;
	struct p2pmem_extent *found = NULL;

	lockdep_assert_held(&f->lock);
	while (node) {
		struct p2pmem_extent *e = rb_entry(node, struct p2pmem_extent, node);

		if (e->file_first + e->count <= granule) {
			node = node->rb_right;
		} else {
			found = e;
			node = node->rb_left;
		}
	}
	return found;
}

/* The next extent in the file, or NULL. */
struct p2pmem_extent *p2pmem_extent_next(const struct p2pmem_extent *e)
{
	return rb_entry_safe(rb_next(&e->node), struct p2pmem_extent, node);
}

void p2pmem_extent_insert(struct p2pmem_file *f, struct p2pmem_extent *new)
{
	struct rb_node **link = &f->extents.rb_node, *parent = NULL;

	lockdep_assert_held(&f->lock);
	while (*link) {
		struct p2pmem_extent *e = rb_entry(*link, struct p2pmem_extent, node);

		parent = *link;
		link = new->file_first < e->file_first ? &parent->rb_left
						       : &parent->rb_right;
	}
	rb_link_node(&new->node, parent, link);
	rb_insert_color(&new->node, &f->extents);
}

/*
 * Leads from an offset of a file to memory: finds what lies behind @granule, or returns
 * false.  What it finds stays the file's until the caller leaves the region.  An extent
 * is published when nothing can fail any more (take.c).  While the file is open, only a
 * GPU's driver takes extents away, and the gate is closed for that (gpu_revoke.c).
 */
bool p2pmem_file_find_locked(struct p2pmem_file *f, u64 granule, struct p2pmem_span *span)
{
	struct p2pmem_extent *e = p2pmem_extent_from(f, granule);

	lockdep_assert_held(&f->region->gate);
	if (!e || e->file_first > granule)
		return false;
	*span = (struct p2pmem_span){
		.file_first = e->file_first,
		.first = e->first,
		.count = e->count,
		.revocable = e->pin && !e->pin->persistent,
	};
	return true;
}

/* The same, for a caller that does not hold the file's lock. */
bool p2pmem_file_find(struct p2pmem_file *f, u64 granule, struct p2pmem_span *span)
{
	bool found;

	mutex_lock(&f->lock);
	found = p2pmem_file_find_locked(f, granule, span);
	mutex_unlock(&f->lock);
	return found;
}

/* The same, but only for the part of the memory behind [granule, end). */
static bool find_part(struct p2pmem_file *f, u64 granule, u64 end,
		      struct p2pmem_span *part)
{
	if (!p2pmem_file_find(f, granule, part))
		return false;
	part->first = p2pmem_span_at(part, granule);
	part->count = min(part->file_first + part->count, end) - granule;
	part->file_first = granule;
	return true;
}

/* One batch of p2pmem_file_walk(); advances *@first. */
static int walk_some(struct p2pmem_file *f, u64 *first, u64 end,
		     int (*each)(const struct p2pmem_span *part, void *data), void *data)
{
	struct p2pmem_span part;
	int n, ret = 0;

	for (n = 0; n < P2PMEM_BATCH_PIECES && *first < end && !ret; n++) {
		if (!find_part(f, *first, end, &part))
			return -ENXIO;
		ret = each ? each(&part, data) : 0;
		*first += part.count;
	}
	return ret;
}

/*
 * Calls @each for the memory behind [first, first + count), piece by piece.  It enters
 * the region for a batch of pieces at a time, so that a removal need not wait for all of
 * them.  Returns -ENXIO at a gap, -ENODEV if the region goes away, -EINTR if the caller
 * is killed, or what @each returns if that is not 0.
 */
int p2pmem_file_walk(struct p2pmem_file *f, u64 first, u64 count,
		     int (*each)(const struct p2pmem_span *part, void *data), void *data)
{
	u64 end = first + count;
	int ret = 0;

	while (first < end && !ret) {
		if (!p2pmem_enter(f->region))
			return -ENODEV;
		ret = walk_some(f, &first, end, each, data);
		p2pmem_leave(f->region);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return ret;
}

/*
 * Stores zeros in all granules before @end whose bytes are unknown; @at is the first of
 * them.  The zeros are lost if the device is reset meanwhile (-EAGAIN), or if it is gone
 * and nobody has been told yet (-EIO).
 */
static int zero_unknown(struct p2pmem_region *r, u64 at, u64 end)
{
	u64 resets = p2pmem_resets_seen(r), last = at;
	bool kept, forgot;

	while (at < end) {
		last = at;
		p2pmem_zero_granule(r, at);
		at = p2pmem_bytes_next_unknown(&r->alloc.bytes, at + 1, end);
	}
	kept = p2pmem_zeros_arrive(r, last);
	forgot = p2pmem_forgot(r);
	mb(); /* orders registers and memory; pairs with p2pmem_revalidate() */
	/* While another driver's reset is under way, each call counts one more. */
	if (p2pmem_resets_seen(r) != resets)
		return -EAGAIN;
	return kept && !forgot ? 0 : -EIO;
}

/*
 * Makes granules of the region that the file owns visible.  After -EIO (the device does not
 * keep what is stored) or -EAGAIN (it was reset meanwhile) they stay hidden, because nobody
 * may see them without the zeros.
 */
int p2pmem_make_visible_locked(struct p2pmem_file *f, u64 granule, u64 count)
{
	struct p2pmem_region *r = f->region;
	struct p2pmem_bytes *bytes = &r->alloc.bytes;
	u64 end = granule + count, at;
	int ret;

	lockdep_assert_held(&f->lock);
	lockdep_assert_held(&r->gate);
	if (r->folio_order) {	/* its bytes only have entries for whole blocks */
		end = round_up(end, P2PMEM_BYTES_BLOCK);
		granule = round_down(granule, P2PMEM_BYTES_BLOCK);
	}
	at = p2pmem_bytes_next_unknown(bytes, granule, end);
	if (at == end)
		return 0;
	ret = zero_unknown(r, at, end);
	if (ret == -EIO && r->provider->forgot) {
		p2pmem_revalidate(r);	/* perhaps its memory was only disabled */
		ret = zero_unknown(r, at, end);
	}
	if (!ret)
		p2pmem_bytes_show(bytes, granule, end - granule);
	return ret;
}

int p2pmem_make_visible(struct p2pmem_file *f, u64 granule, u64 count)
{
	int ret;

	mutex_lock(&f->lock);
	ret = p2pmem_make_visible_locked(f, granule, count);
	mutex_unlock(&f->lock);
	return ret;
}

/*
 * Makes one more chunk visible, the first that is not.  Returns 1 if it did, 0 if all of
 * the range is visible, or -errno.  The caller holds the file's lock.
 */
int p2pmem_make_more_visible_locked(struct p2pmem_file *f, u64 granule, u64 count)
{
	u64 end = granule + count;
	u64 at = p2pmem_bytes_next_unknown(&f->region->alloc.bytes, granule, end);

	if (at == end)
		return 0;
	return p2pmem_make_visible_locked(f, at, min_t(u64, end - at, P2PMEM_CHUNK)) ?: 1;
}

static int show_piece(struct p2pmem_file *f, u64 first, u64 end)
{
	struct p2pmem_span part;
	int ret = 0;

	for (; first < end && !ret; first += part.count) {
		if (!find_part(f, first, end, &part))
			return -ENXIO;
		ret = p2pmem_make_visible(f, part.first, part.count);
	}
	return ret;
}

/*
 * Makes owned granules visible to a device, which takes no fault.  This may take long, so
 * it leaves the region between pieces.  What a file owns stays while the file is open,
 * except for memory of a GPU that its driver takes away (-ENXIO).  Returns -ENODEV if the
 * region goes away meanwhile, and -EIO if the device does not keep what is stored.  The
 * caller holds no lock, because a process that is frozen here would keep it.
 */
int p2pmem_file_show(struct p2pmem_file *f, u64 first, u64 count)
{
	u64 end = first + count;
	int ret = 0;

	while (first < end && !ret) {
		u64 to = min(first + (u64)P2PMEM_CHUNK, end);

		if (p2pmem_await_reset(f->region))
			return -EINTR;
		if (!p2pmem_enter(f->region))
			return -ENODEV;
		if (!READ_ONCE(f->region->resetting)) {
			ret = show_piece(f, first, to);
			first = ret ? first : to;
		}
		p2pmem_leave(f->region);
		if (ret == -EAGAIN) {
			schedule_timeout_killable(1);
			ret = 0;
		}
		try_to_freeze();	/* a suspend does not wait for the rest */
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return ret;
}
