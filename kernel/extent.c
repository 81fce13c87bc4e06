// SPDX-License-Identifier: GPL-2.0
/*
 * Extents: which bytes of a region stand behind which offset of an open file,
 * and that nobody sees bytes which are not his.
 */
#include <linux/freezer.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "backing.h"
#include "bytes.h"
#include "extent.h"
#include "gate.h"
#include "gpu.h"

/* The first extent that covers @granule or what comes after it, or NULL. */
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

/* The one that follows in the file, or NULL. */
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
 * The way from an offset of a file to memory: what stands behind @granule of it, or
 * false.  What is found stays the file's until the caller leaves the region.  An extent
 * is published when nothing can fail any more (take.c), and while the file is open only
 * a GPU's driver takes some away, for which the gate is shut (gpu_revoke.c).
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

/* The same, for who has not the file's lock. */
bool p2pmem_file_find(struct p2pmem_file *f, u64 granule, struct p2pmem_span *span)
{
	bool found;

	mutex_lock(&f->lock);
	found = p2pmem_file_find_locked(f, granule, span);
	mutex_unlock(&f->lock);
	return found;
}

/* And no more than [granule, end) of it. */
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

/* A batch of p2pmem_file_walk(); advances *@first. */
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
 * Calls @each for what stands behind [first, first + count), piece by piece; the region
 * is entered, and left after each batch, so that a removal need not wait for all of
 * them.  -ENXIO at a gap, -ENODEV, -EINTR for who is killed, or what @each returns
 * if that is not 0.
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
 * Stores zeros where bytes are unknown, if any: @at is the first such granule.  They
 * are lost if the device is reset meanwhile (-EAGAIN), or away before anybody has
 * been told (-EIO).
 */
static int zero_unknown(struct p2pmem_region *r, u64 at, u64 end)
{
	u64 resets = p2pmem_resets_seen(r), last = at;
	bool kept, disabled;

	while (at < end) {
		last = at;
		p2pmem_zero_granule(r, at);
		at = p2pmem_bytes_next_unknown(&r->alloc.bytes, at + 1, end);
	}
	kept = p2pmem_zeros_arrive(r, last);
	disabled = r->provider->forgot && r->provider->forgot(r);
	mb(); /* of registers, and of memory: p2pmem_revalidate() */
	/* While another driver's reset is under way, each look counts anew. */
	if (p2pmem_resets_seen(r) != resets)
		return -EAGAIN;
	return kept && !disabled ? 0 : -EIO;
}

/*
 * Granules of the region that the file owns.  Nothing has changed after -EIO, the
 * device does not keep what is stored, and -EAGAIN, it was reset meanwhile: without
 * zeros nobody may see them.
 */
int p2pmem_make_visible_locked(struct p2pmem_file *f, u64 granule, u64 count)
{
	struct p2pmem_region *r = f->region;
	struct p2pmem_bytes *bytes = &r->alloc.bytes;
	u64 end = granule + count, at;
	int ret;

	lockdep_assert_held(&f->lock);
	lockdep_assert_held(&r->gate);
	if (r->folio_order) {	/* its bytes have entries of whole blocks only */
		end = round_up(end, P2PMEM_BYTES_BLOCK);
		granule = round_down(granule, P2PMEM_BYTES_BLOCK);
	}
	at = p2pmem_bytes_next_unknown(bytes, granule, end);
	if (at == end)
		return 0;
	ret = zero_unknown(r, at, end);
	if (ret == -EIO && r->provider->forgot) {
		p2pmem_revalidate(r);	/* perhaps its memory was disabled only */
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

/* The first chunk that is not, for who has the file's lock: 1, or -errno; 0 when all of it is visible. */
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
 * Makes owned granules fit to be seen by a device, which takes no fault.  This
 * may take long, so the region is left between pieces; what a file owns stays
 * while it is open, but for memory of a GPU that its driver takes away (-ENXIO).
 * -ENODEV if the region goes away meanwhile, -EIO if the device does not keep what
 * is stored.  The caller holds no lock: who is frozen here keeps it.
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
