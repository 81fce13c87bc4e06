// SPDX-License-Identifier: GPL-2.0
/*
 * Gives memory of a region to an open file: anywhere (mmap and the like), at a place that
 * the caller names, or where a GPU's driver has pinned it.
 *
 * A call first takes pieces on a list of its own, where nobody sees them.  Then it gives
 * chunks the shape that suits their owner (folio.c).  When nothing can fail any more, the
 * pieces become extents of the file.  So memory that is found in a file can be relied on
 * (p2pmem_file_find()), and a call that fails gives back only what nobody has seen.
 */
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "alloc.h"
#include "borrow.h"
#include "bytes.h"
#include "extent.h"
#include "folio.h"
#include "gate.h"
#include "gpu.h"
#include "take.h"

/**
 * struct taking - what one call takes
 * @file: will own the memory; its back_lock is held
 * @pieces: extents in the order of the file, which are not in its tree yet
 * @at_place: the pieces have fixed places, and some of their bytes may be the owner's
 */
struct taking {
	struct p2pmem_file *file;
	struct list_head pieces;
	bool at_place;
};

static void taking_init(struct taking *t, struct p2pmem_file *f, bool at_place)
{
	t->file = f;
	INIT_LIST_HEAD(&t->pieces);
	t->at_place = at_place;
}

/* The caller is in the region, so this allocation must not wait for a drive (gate.c). */
static struct p2pmem_extent *extent_new(struct p2pmem_file *f, u64 file_first)
{
	struct p2pmem_extent *e = kzalloc(sizeof(*e), GFP_NOIO | __GFP_ACCOUNT);

	if (!e)
		return NULL;
	INIT_LIST_HEAD(&e->link);
	RB_CLEAR_NODE(&e->node);
	e->file_first = file_first;
	e->owner = f->owner;
	e->who = f->who;
	return e;
}

/* File and region need to agree on where a chunk begins. */
#define ALIKE_MODULO	(P2PMEM_HAS_CHUNKS ? P2PMEM_CHUNK : 1)

/* Takes the @want granules at @first for @e, if enough stay free for what was promised. */
static int take_place(struct p2pmem_file *f, struct p2pmem_extent *e, u64 want,
		      u64 first)
{
	struct p2pmem_region *r = f->region;

	lockdep_assert_held(&r->alloc_lock);
	if (want > r->alloc.free - r->promised ||
	    !p2pmem_alloc_take_at(&r->alloc, first, want))
		return -EBUSY;
	if (!p2pmem_borrow(r, first, want)) {
		p2pmem_alloc_give(&r->alloc, first, want, f->owner);
		return -ETXTBSY;
	}
	e->first = first;
	e->count = want;
	return 0;
}

/* Takes as many of @want granules, which were promised, as lie together anywhere. */
static void take_anywhere(struct p2pmem_file *f, struct p2pmem_extent *e, u64 want)
{
	struct p2pmem_region *r = f->region;

	lockdep_assert_held(&r->alloc_lock);
	e->count = p2pmem_alloc_take(&r->alloc, want, ALIKE_MODULO,
				     e->file_first, &e->first);
	r->promised -= e->count;
	f->promised -= e->count;
}

/*
 * Takes a piece for a gap of *@count granules or for its beginning, and sets *@count to the
 * length of the piece.  If the place is fixed, it is @first.
 */
static int take_piece(struct taking *t, u64 file_first, u64 *count, u64 first)
{
	struct p2pmem_region *r = t->file->region;
	struct p2pmem_extent *e = extent_new(t->file, file_first);
	int ret = 0;

	if (!e)
		return -ENOMEM;
	mutex_lock(&r->alloc_lock);
	if (t->at_place)
		ret = take_place(t->file, e, *count, first);
	else
		take_anywhere(t->file, e, *count);
	mutex_unlock(&r->alloc_lock);
	if (ret) {
		kfree(e);
		return ret;
	}
	list_add_tail(&e->link, &t->pieces);
	*count = e->count;
	return 0;
}

/*
 * Moves *@first to the next gap of the file before @end, and returns its length.  Returns
 * 0 if there is none, or if a batch of extents lies before it.  Nobody fills the gap while
 * back_lock is held.
 */
static u64 next_gap(struct p2pmem_file *f, u64 *first, u64 end)
{
	struct p2pmem_extent *e;
	u64 gap = 0;
	int n;

	lockdep_assert_held(&f->back_lock);
	mutex_lock(&f->lock);
	e = p2pmem_extent_from(f, *first);
	for (n = 0; n < P2PMEM_BATCH_PIECES && e && e->file_first <= *first; n++) {
		*first = min(e->file_first + e->count, end);
		e = p2pmem_extent_next(e);
	}
	if (n < P2PMEM_BATCH_PIECES)
		gap = (e ? min(e->file_first, end) : end) - *first;
	mutex_unlock(&f->lock);
	return gap;
}

/*
 * Takes a batch of pieces for gaps between *@first and @end, and advances *@first past
 * them.
 */
static int take_some(struct taking *t, u64 *first, u64 end)
{
	struct p2pmem_file *f = t->file;
	int pieces, ret;

	for (pieces = 0; *first < end && pieces < P2PMEM_BATCH_PIECES; pieces++) {
		u64 count = next_gap(f, first, end);

		if (!count)
			continue;
		/* promise() saw no gap here, so the GPU's driver has taken memory back since. */
		if (f->region->provider->pinned)
			return -ENXIO;
		ret = take_piece(t, *first, &count, *first);
		if (ret)
			return ret;
		*first += count;
	}
	return 0;
}

/* Enters the region anew for each batch, so that a removal need not wait for all of them. */
static int take_all(struct taking *t, u64 first, u64 end)
{
	struct p2pmem_region *r = t->file->region;
	int ret = 0;

	while (first < end && !ret) {
		if (!p2pmem_enter(r))
			return -ENODEV;
		ret = take_some(t, &first, end);
		p2pmem_leave(r);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return ret;
}

/*
 * Returns the RCU state of the moment when memory of the region last became free.  Memory
 * that was taken by now has had no previous owner since then.
 */
static unsigned long free_since(struct p2pmem_region *r)
{
	unsigned long given;

	mutex_lock(&r->alloc_lock);
	given = r->given;
	mutex_unlock(&r->alloc_lock);
	return given;
}

/* *@waited: the grace period has passed that must precede any change. */
static int shape_piece(struct p2pmem_region *r, const struct p2pmem_extent *e,
		       bool *waited)
{
	u64 chunk = p2pmem_first_chunk(r, e);

	while (chunk < e->first + e->count) {
		bool differs;

		if (!p2pmem_enter(r))
			return -ENODEV;
		differs = !p2pmem_shape_some(r, e, &chunk, *waited);
		p2pmem_leave(r);
		if (differs) {
			cond_synchronize_rcu(free_since(r));
			*waited = true;
		}
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/*
 * Waits for one grace period for all pieces.  It does so outside of the gate, because
 * others may wait for the gate.
 */
static int shape_all(struct taking *t)
{
	struct p2pmem_region *r = t->file->region;
	struct p2pmem_extent *e;
	bool waited = false;
	int ret = 0;

	if (!p2pmem_has_shapes(r))
		return 0;
	list_for_each_entry(e, &t->pieces, link) {
		ret = shape_piece(r, e, &waited);
		if (ret)
			break;
	}
	return ret;
}

/*
 * Persistent bytes are never zeroed, nor are those of a GPU, which belong to the process
 * that pinned them.  Other bytes stay only if they belong to the new owner, or if the
 * file's opener may see all.  The opener's rights count, because a process that was handed
 * the file sees the bytes as well.
 */
static void admit(struct p2pmem_file *f, struct p2pmem_extent *e)
{
	struct p2pmem_region *r = f->region;
	bool trusted = r->persistent || r->provider->pinned ||
		       file_ns_capable(f->filp, &init_user_ns, CAP_SYS_RAWIO);

	lockdep_assert_held(&r->alloc_lock);
	p2pmem_bytes_admit(&r->alloc.bytes, e->first, e->count, e->owner, trusted);
}

/* Counts what a call that succeeds has taken.  What a failed call gives back is not counted. */
static void count_taken(struct p2pmem_region *r, u64 granules)
{
	lockdep_assert_held(&r->alloc_lock);
	WRITE_ONCE(r->taken, r->taken + granules);
	WRITE_ONCE(r->peak, max(r->peak, r->alloc.granules - r->alloc.free));
}

/* From here on others can find these pieces, and nothing can fail. */
static void publish_some(struct taking *t)
{
	struct p2pmem_file *f = t->file;
	struct p2pmem_region *r = f->region;
	struct p2pmem_extent *e, *next;
	int n = 0;

	lockdep_assert_held(&f->back_lock);
	lockdep_assert_held(&f->lock);
	mutex_lock(&r->alloc_lock);
	list_for_each_entry_safe(e, next, &t->pieces, link) {
		if (n++ == P2PMEM_BATCH_PIECES)
			break;
		list_del_init(&e->link);
		if (t->at_place)
			admit(f, e);
		else
			p2pmem_bytes_forget(&r->alloc.bytes, e->first, e->count);
		count_taken(r, e->count);
		p2pmem_extent_insert(f, e);
	}
	mutex_unlock(&r->alloc_lock);
}

static void publish(struct taking *t)
{
	while (!list_empty(&t->pieces)) {
		mutex_lock(&t->file->lock);
		publish_some(t);
		mutex_unlock(&t->file->lock);
		cond_resched();
	}
}

static void give_some(struct taking *t)
{
	struct p2pmem_region *r = t->file->region;
	struct p2pmem_extent *e, *next;
	int n = 0;

	mutex_lock(&r->alloc_lock);
	list_for_each_entry_safe(e, next, &t->pieces, link) {
		if (n++ == P2PMEM_BATCH_PIECES)
			break;
		list_del(&e->link);
		p2pmem_put_to_rest(r, e->first, e->count);
		p2pmem_alloc_give(&r->alloc, e->first, e->count, e->owner);
		kfree(e);
	}
	mutex_unlock(&r->alloc_lock);
}

/*
 * Nobody has seen these pieces, so they go straight back, with the bytes of their previous
 * owner, even if the region is ending.
 */
static void give_back(struct taking *t)
{
	while (!list_empty(&t->pieces)) {
		give_some(t);
		cond_resched();
	}
}

static int finish(struct taking *t, int ret)
{
	if (ret)
		give_back(t);
	else
		publish(t);
	return ret;
}

/* --- anywhere --- */

/* How many granules of [first, end) have no memory; back_lock keeps that as it is. */
static u64 lacking(struct p2pmem_file *f, u64 first, u64 end)
{
	u64 lacks = 0;

	while (first < end) {
		u64 gap = next_gap(f, &first, end);

		lacks += gap;
		first += gap;
		cond_resched();
	}
	return lacks;
}

/*
 * Between two batches of a call, other calls take their pieces.  So a call reserves all that
 * it needs beforehand.  Without that, two calls could each take a part of the last free
 * memory, and both would have to give it back.  Persistent memory has fixed places and needs
 * no promise.  A region whose memory is pinned has none to give out.
 */
static int promise(struct p2pmem_file *f, u64 first, u64 end)
{
	struct p2pmem_region *r = f->region;
	u64 granules = r->persistent ? 0 : lacking(f, first, end);
	int ret = 0;

	if (r->provider->pinned)
		return granules ? -ENXIO : 0;
	mutex_lock(&r->alloc_lock);
	if (granules > r->alloc.free - r->promised) {
		ret = -ENOSPC;
	} else {
		r->promised += granules;
		f->promised = granules;
	}
	mutex_unlock(&r->alloc_lock);
	return ret;
}

static void release_promise(struct p2pmem_file *f)
{
	struct p2pmem_region *r = f->region;

	mutex_lock(&r->alloc_lock);
	r->promised -= f->promised;
	f->promised = 0;
	mutex_unlock(&r->alloc_lock);
}

/*
 * Gives memory to every part of [first, first + count) that has none, or fails and gives
 * none.  It gives large folios as a whole.  Others find the memory once all of it is there.
 */
int p2pmem_file_back(struct p2pmem_file *f, u64 first, u64 count)
{
	u64 end = first + count;
	struct taking t;
	int ret;

	if (p2pmem_is_pmem(f->region))
		return -EOPNOTSUPP;
	if (f->region->persistent &&
	    (end > f->region->alloc.granules || end < first))
		return -ENXIO;
	taking_init(&t, f, f->region->persistent);
	first = round_down(first, p2pmem_unit(f->region));
	end = round_up(end, p2pmem_unit(f->region));
	if (mutex_lock_killable(&f->back_lock))
		return -EINTR;
	ret = promise(f, first, end) ?: take_all(&t, first, end) ?: shape_all(&t);
	release_promise(f);
	finish(&t, ret);
	mutex_unlock(&f->back_lock);
	return ret;
}

/* --- at a place --- */

static int take_claimed(struct taking *t, u64 file_first, u64 count, u64 first)
{
	struct p2pmem_region *r = t->file->region;
	u64 at = file_first;
	int ret = -EEXIST;

	if (!p2pmem_enter(r))
		return -ENODEV;
	p2pmem_revalidate(r);
	if (next_gap(t->file, &at, file_first + count) == count)
		ret = take_piece(t, file_first, &count, first);
	p2pmem_leave(r);
	return ret;
}

/*
 * Gives the memory at @first, and no other, to a part of the file that has none.  It gives
 * large folios as a whole; they begin at the same places in the file as in memory.
 */
int p2pmem_file_claim(struct p2pmem_file *f, u64 file_first, u64 count,
		      u64 first)
{
	u64 unit = p2pmem_unit(f->region), skip = first % unit;
	struct taking t;
	int ret;

	taking_init(&t, f, true);
	count = round_up(skip + count, unit);
	if (mutex_lock_killable(&f->back_lock))
		return -EINTR;
	ret = take_claimed(&t, file_first - skip, count, first - skip) ?: shape_all(&t);
	finish(&t, ret);
	mutex_unlock(&f->back_lock);
	return ret;
}

/* --- what a GPU's driver has pinned --- */

/* Has the file no memory at @part, and was none taken back there while in a dma-buf? */
static bool may_pin_at(struct p2pmem_file *f, const struct p2pmem_part *part)
{
	struct p2pmem_extent *e = p2pmem_extent_from(f, part->first);

	return (!e || e->file_first >= part->end) &&
	       !(part->first < f->dead_to && part->end > f->dead_from);
}

static int take_ranges(struct taking *t, const struct p2pmem_pin *pin)
{
	u64 first = pin->part.first;
	unsigned int i;
	int ret;

	mutex_lock(&t->file->lock);
	ret = may_pin_at(t->file, &pin->part) ? 0 : -EEXIST;
	mutex_unlock(&t->file->lock);
	for (i = 0; i < pin->nr_ranges && !ret; i++) {
		u64 at = PHYS_PFN(pin->ranges[i].phys - pin->region->backing.phys);
		u64 count = pin->ranges[i].bytes >> PAGE_SHIFT;

		ret = take_piece(t, first, &count, at);
		first += count;
	}
	return ret;
}

static int take_pinned(struct taking *t, const struct p2pmem_pin *pin)
{
	int ret;

	if (!p2pmem_enter(pin->region))
		return -ENODEV;
	ret = take_ranges(t, pin);
	p2pmem_leave(pin->region);
	return ret;
}

/* Fails if the driver has taken the memory back before anybody had it. */
static int adopt(struct p2pmem_pin *pin, struct taking *t)
{
	struct p2pmem_region *r = pin->region;
	struct p2pmem_extent *e;
	int ret = 0;

	mutex_lock(&r->alloc_lock);
	if (pin->revoked) {
		ret = -ESTALE;
	} else {
		WRITE_ONCE(pin->state, P2PMEM_PIN_LIVE);
		list_for_each_entry(e, &t->pieces, link) {
			e->pin = pin;
			list_add_tail(&e->pin_link, &pin->extents);
		}
	}
	mutex_unlock(&r->alloc_lock);
	wake_up_all(&r->wait);	/* a callback waits while the pin is made */
	return ret;
}

/*
 * This stays inside of the gate and holds f->lock.  So nobody sees an extent before the pin
 * has it, and no callback looks for the extent before it is in the file.
 */
static int adopt_and_publish(struct taking *t, struct p2pmem_pin *pin)
{
	struct p2pmem_file *f = t->file;
	int ret = -EEXIST;

	if (!p2pmem_enter(f->region))
		return -ENODEV;
	mutex_lock(&f->lock);
	if (may_pin_at(f, &pin->part))
		ret = adopt(pin, t);
	while (!ret && !list_empty(&t->pieces))
		publish_some(t);
	mutex_unlock(&f->lock);
	p2pmem_leave(f->region);
	return ret;
}

/*
 * Gives all memory of @pin to a part of the file that has none, or fails and gives none.
 * On success the pin belongs to the extents.
 */
int p2pmem_file_own(struct p2pmem_file *f, struct p2pmem_pin *pin)
{
	struct taking t;
	int ret;

	taking_init(&t, f, true);
	if (mutex_lock_killable(&f->back_lock))
		return -EINTR;
	ret = take_pinned(&t, pin) ?: shape_all(&t) ?: adopt_and_publish(&t, pin);
	if (ret)
		give_back(&t);
	mutex_unlock(&f->back_lock);
	return ret;
}
