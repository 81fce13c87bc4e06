// SPDX-License-Identifier: GPL-2.0
/*
 * Extents: which bytes of a region stand behind which offset of an open file,
 * and that nobody sees bytes which are not his.
 */
#include <linux/freezer.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "gpu.h"

/*
 * Pieces after which whoever makes or undoes them leaves the locks to others, and
 * looks whether it has been killed.
 */
#define BATCH_PIECES	256

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

/* The extent that covers @granule of the file, or NULL. */
struct p2pmem_extent *p2pmem_extent_find(struct p2pmem_file *f, u64 granule)
{
	struct p2pmem_extent *e = p2pmem_extent_from(f, granule);

	return e && e->file_first <= granule ? e : NULL;
}

/* The one that follows in the file, or NULL. */
struct p2pmem_extent *p2pmem_extent_next(const struct p2pmem_extent *e)
{
	return rb_entry_safe(rb_next(&e->node), struct p2pmem_extent, node);
}

/* First granule in [from, end) that an extent covers, or @end. */
static u64 next_covered(struct p2pmem_file *f, u64 from, u64 end)
{
	struct p2pmem_extent *e = p2pmem_extent_from(f, from);

	return e ? min(max(e->file_first, from), end) : end;
}

static void extent_insert(struct p2pmem_file *f, struct p2pmem_extent *new)
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

static struct p2pmem_extent *extent_new(struct p2pmem_file *f, u64 file_first)
{
	struct p2pmem_extent *e = kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT);

	if (!e)
		return NULL;
	INIT_LIST_HEAD(&e->link);
	e->file_first = file_first;
	e->owner = f->owner;
	e->pid = f->pid;
	memcpy(e->comm, f->comm, sizeof(e->comm));
	return e;
}

/*
 * Persistent bytes are never zeroed, nor are a GPU's, which the process owns that
 * pinned them; others only stay for whom they belong to.
 * What its opener may do counts: who was handed the file sees them as well.
 */
static void admit(struct p2pmem_file *f, struct p2pmem_extent *e)
{
	struct p2pmem_region *r = f->region;
	bool trusted = r->persistent || r->provider->pinned ||
		       file_ns_capable(f->filp, &init_user_ns, CAP_SYS_RAWIO);

	lockdep_assert_held(&r->alloc_lock);
	p2pmem_bytes_admit(&r->alloc.bytes, e->first, e->count, e->owner, trusted);
}

/* File and region need to agree on where a chunk begins. */
#define ALIKE_MODULO	(P2PMEM_HAS_CHUNKS ? P2PMEM_CHUNK : 1)

/* Memory for @e: @want granules at @first, which must not have been promised. */
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
	admit(f, e);
	return 0;
}

/* As many of @want granules, which were promised, as lie together anywhere. */
static void take_anywhere(struct p2pmem_file *f, struct p2pmem_extent *e, u64 want)
{
	struct p2pmem_region *r = f->region;

	lockdep_assert_held(&r->alloc_lock);
	e->count = p2pmem_alloc_take(&r->alloc, want, ALIKE_MODULO,
				     e->file_first, &e->first);
	r->promised -= e->count;
	f->promised -= e->count;
}

/* Backs a gap, or the beginning of it, with one extent.  *@count says how much. */
static int back_piece(struct p2pmem_file *f, u64 file_first, u64 *count,
		      const u64 *first, struct list_head *made)
{
	struct p2pmem_region *r = f->region;
	struct p2pmem_extent *e = extent_new(f, file_first);
	unsigned long given;
	int ret = 0;

	lockdep_assert_held(&f->back_lock);
	if (!e)
		return -ENOMEM;
	mutex_lock(&r->alloc_lock);
	if (first)
		ret = take_place(f, e, *count, *first);
	else
		take_anywhere(f, e, *count);
	given = r->given;
	mutex_unlock(&r->alloc_lock);
	if (ret) {
		kfree(e);
		return ret;
	}
	p2pmem_shape_extent(r, e, given);
	extent_insert(f, e);
	list_add_tail(&e->link, made);
	*count = e->count;
	return 0;
}

/*
 * Backs from *@first on what has no memory yet, and advances it: a batch of
 * pieces, and not beyond @end.
 */
static int back_some(struct p2pmem_file *f, u64 *first, u64 end,
		     struct list_head *made)
{
	int pieces, ret;

	for (pieces = 0; *first < end && pieces < BATCH_PIECES; pieces++) {
		struct p2pmem_extent *e = p2pmem_extent_find(f, *first);
		u64 count;

		if (e) {
			*first = e->file_first + e->count;
			continue;
		}
		/* The driver has taken back what promise() saw: none of the rest is ours. */
		if (f->region->provider->pinned)
			return -ENXIO;
		count = next_covered(f, *first, end) - *first;
		ret = back_piece(f, *first, &count,
				 f->region->persistent ? first : NULL, made);
		if (ret)
			return ret;
		*first += count;
	}
	return 0;
}

static void unback_some(struct p2pmem_file *f, struct list_head *made)
{
	struct p2pmem_region *r = f->region;
	struct p2pmem_extent *e, *next;
	int pieces = 0;

	lockdep_assert_held(&f->lock);
	mutex_lock(&r->alloc_lock);
	list_for_each_entry_safe(e, next, made, link) {
		if (pieces++ == BATCH_PIECES)
			break;
		list_del(&e->link);
		rb_erase(&e->node, &f->extents);
		p2pmem_put_to_rest(r, e->first, e->count);
		p2pmem_alloc_give(&r->alloc, e->first, e->count, e->owner);
		kfree(e);
	}
	mutex_unlock(&r->alloc_lock);
}

/* Nobody has seen these yet: they go straight back, even of a region that ends. */
static void unback(struct p2pmem_file *f, struct list_head *made)
{
	while (!list_empty(made)) {
		mutex_lock(&f->lock);
		unback_some(f, made);
		mutex_unlock(&f->lock);
		cond_resched();
	}
}

/* Of a call that succeeds: what another one gives back was never taken. */
static void count_taken(struct p2pmem_region *r, u64 granules)
{
	mutex_lock(&r->alloc_lock);
	WRITE_ONCE(r->taken, r->taken + granules);
	WRITE_ONCE(r->peak, max(r->peak, r->alloc.granules - r->alloc.free));
	mutex_unlock(&r->alloc_lock);
}

/* back_lock keeps the extents as they are. */
static void keep(struct p2pmem_file *f, struct list_head *made)
{
	struct p2pmem_extent *e, *next;
	u64 granules = 0;

	lockdep_assert_held(&f->back_lock);
	list_for_each_entry_safe(e, next, made, link) {
		granules += e->count;
		list_del_init(&e->link);
		cond_resched();
	}
	if (granules)
		count_taken(f->region, granules);
}

/* Enters the region for each batch: removal need not wait for all of them. */
static int back_all(struct p2pmem_file *f, u64 first, u64 end,
		    struct list_head *made)
{
	int ret = 0;

	while (first < end && !ret) {
		if (!p2pmem_enter(f->region))
			return -ENODEV;
		mutex_lock(&f->lock);
		ret = back_some(f, &first, end, made);
		mutex_unlock(&f->lock);
		p2pmem_leave(f->region);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return ret;
}

/* How much of [*first, end) a batch of extents covers; moves *@first behind it. */
static u64 covered_some(struct p2pmem_file *f, u64 *first, u64 end)
{
	struct p2pmem_extent *e = p2pmem_extent_from(f, *first);
	u64 covered = 0;
	int n;

	for (n = 0; n < BATCH_PIECES && e && e->file_first < end; n++) {
		u64 to = min(e->file_first + e->count, end);

		covered += to - max(e->file_first, *first);
		*first = to;
		e = p2pmem_extent_next(e);
	}
	if (!e || e->file_first >= end)
		*first = end;
	return covered;
}

/* How much of [first, end) has no memory; back_lock keeps that as it is. */
static u64 lacking(struct p2pmem_file *f, u64 first, u64 end)
{
	u64 lacks = end - first;

	lockdep_assert_held(&f->back_lock);
	while (first < end) {
		mutex_lock(&f->lock);
		lacks -= covered_some(f, &first, end);
		mutex_unlock(&f->lock);
		cond_resched();
	}
	return lacks;
}

/*
 * Pieces are taken in batches, between which others take theirs.  What all of them
 * need is set aside before: else two callers take what one of them could have, and
 * both have to give it back.  Persistent memory has its place, and needs no promise.
 * Where memory is pinned there is none to give out.
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
 * Gives memory to every part of [first, first + count) that has none, or to none
 * of it; of large folios to the whole of each.  Nobody else makes extents of the file meanwhile, or could count on one
 * that is undone.
 */
int p2pmem_file_back(struct p2pmem_file *f, u64 first, u64 count)
{
	u64 end = first + count;
	LIST_HEAD(made);
	int ret;

	if (p2pmem_is_pmem(f->region))
		return -EOPNOTSUPP;
	if (f->region->persistent &&
	    (end > f->region->alloc.granules || end < first))
		return -ENXIO;
	first = round_down(first, p2pmem_unit(f->region));
	end = round_up(end, p2pmem_unit(f->region));
	if (mutex_lock_killable(&f->back_lock))
		return -EINTR;
	ret = promise(f, first, end) ?: back_all(f, first, end, &made);
	release_promise(f);
	if (ret)
		unback(f, &made);
	else
		keep(f, &made);
	mutex_unlock(&f->back_lock);
	return ret;
}

static int claim(struct p2pmem_file *f, u64 file_first, u64 count, u64 first)
{
	LIST_HEAD(made);
	int ret;

	mutex_lock(&f->lock);
	if (next_covered(f, file_first, file_first + count) < file_first + count)
		ret = -EEXIST;
	else
		ret = back_piece(f, file_first, &count, &first, &made);
	keep(f, &made);
	mutex_unlock(&f->lock);
	return ret;
}

/*
 * Gives the memory at @first, and no other, to a part of the file that has none; of
 * large folios the whole of each, which in the file begin where they do in memory.
 */
int p2pmem_file_claim(struct p2pmem_file *f, u64 file_first, u64 count,
		      u64 first)
{
	u64 unit = p2pmem_unit(f->region), skip = first % unit;
	int ret = -ENODEV;

	count = round_up(skip + count, unit);

	if (mutex_lock_killable(&f->back_lock))
		return -EINTR;
	if (p2pmem_enter(f->region)) {
		p2pmem_revalidate(f->region);
		ret = claim(f, file_first - skip, count, first - skip);
		p2pmem_leave(f->region);
	}
	mutex_unlock(&f->back_lock);
	return ret;
}

/* The driver may have taken the memory back before anybody had it. */
static int adopt(struct p2pmem_pin *pin, struct list_head *made)
{
	struct p2pmem_region *r = pin->region;
	struct p2pmem_extent *e;
	int ret = 0;

	mutex_lock(&r->alloc_lock);
	if (pin->revoked) {
		ret = -ESTALE;
	} else {
		pin->state = P2PMEM_PIN_LIVE;
		list_for_each_entry(e, made, link) {
			e->pin = pin;
			list_add_tail(&e->pin_link, &pin->extents);
		}
	}
	mutex_unlock(&r->alloc_lock);
	wake_up_all(&r->wait);	/* a callback waits for whoever makes it */
	return ret;
}

static int own_ranges(struct p2pmem_file *f, u64 first, const struct p2pmem_pin *pin,
		      struct list_head *made)
{
	u64 end = first + (pin->bytes >> PAGE_SHIFT);
	unsigned int i;
	int ret = 0;

	if (next_covered(f, first, end) < end || (first < f->dead_to && end > f->dead_from))
		return -EEXIST;
	for (i = 0; i < pin->nr_ranges && !ret; i++) {
		u64 at = PHYS_PFN(pin->ranges[i].phys - f->region->backing.phys);
		u64 count = pin->ranges[i].bytes >> PAGE_SHIFT;

		ret = back_piece(f, first, &count, &at, made);
		first += count;
	}
	return ret;
}

/* Nobody sees an extent before the pin has it: f->lock is held all the while. */
static int own(struct p2pmem_file *f, u64 first, struct p2pmem_pin *pin)
{
	LIST_HEAD(made);
	int ret;

	mutex_lock(&f->lock);
	ret = own_ranges(f, first, pin, &made) ?: adopt(pin, &made);
	while (ret && !list_empty(&made))
		unback_some(f, &made);
	keep(f, &made);
	mutex_unlock(&f->lock);
	return ret;
}

/*
 * All that @pin has, from @first on in a part of the file that has nothing; or none
 * of it.  On success the pin belongs to the extents.
 */
int p2pmem_file_own(struct p2pmem_file *f, u64 first, struct p2pmem_pin *pin)
{
	int ret = -ENODEV;

	if (mutex_lock_killable(&f->back_lock))
		return -EINTR;
	if (p2pmem_enter(f->region)) {
		ret = own(f, first, pin);
		p2pmem_leave(f->region);
	}
	mutex_unlock(&f->back_lock);
	return ret;
}

/* Granules of the region that the file owns; its device is there (gate). */
void p2pmem_make_visible(struct p2pmem_file *f, u64 granule, u64 count)
{
	struct p2pmem_region *r = f->region;
	struct p2pmem_bytes *bytes = &r->alloc.bytes;
	u64 end = granule + count, at, last;

	lockdep_assert_held(&f->lock);
	lockdep_assert_held(&r->gate);
	if (r->folio_order) {	/* its bytes have entries of whole blocks only */
		end = round_up(end, P2PMEM_BYTES_BLOCK);
		granule = round_down(granule, P2PMEM_BYTES_BLOCK);
	}
	at = p2pmem_bytes_next_unknown(bytes, granule, end);
	if (at == end)
		return;
	while (at < end) {
		last = at;
		p2pmem_zero_granule(r, at);
		at = p2pmem_bytes_next_unknown(bytes, at + 1, end);
	}
	p2pmem_stores_arrive(r, last);
	p2pmem_bytes_show(bytes, granule, end - granule);
}

/* The same for the first chunk that is not; false when all of it is visible. */
bool p2pmem_make_more_visible(struct p2pmem_file *f, u64 granule, u64 count)
{
	u64 end = granule + count;
	u64 at = p2pmem_bytes_next_unknown(&f->region->alloc.bytes, granule, end);

	if (at == end)
		return false;
	p2pmem_make_visible(f, at, min_t(u64, end - at, P2PMEM_CHUNK));
	return true;
}

static int show_piece(struct p2pmem_file *f, u64 first, u64 end)
{
	struct p2pmem_extent *e = NULL;

	mutex_lock(&f->lock);
	while (first < end && (e = p2pmem_extent_find(f, first))) {
		u64 skip = first - e->file_first;
		u64 count = min(end - first, e->count - skip);

		p2pmem_make_visible(f, e->first + skip, count);
		first += count;
	}
	mutex_unlock(&f->lock);
	return e ? 0 : -ENXIO;
}

/*
 * Makes owned granules fit to be seen by a device, which takes no fault.  This
 * may take long, so the region is left between pieces; what a file owns stays
 * while it is open, but for memory of a GPU that its driver takes away (-ENXIO).
 * -ENODEV if the region goes away meanwhile.  The caller holds
 * no lock: who is frozen here keeps it.
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
		if (!f->region->resetting) {
			ret = show_piece(f, first, to);
			first = to;
		}
		p2pmem_leave(f->region);
		try_to_freeze();	/* a suspend does not wait for the rest */
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return ret;
}
