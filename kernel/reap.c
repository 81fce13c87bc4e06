// SPDX-License-Identifier: GPL-2.0
/*
 * The end of an extent when its file is closed: no page is given to another
 * owner before it is back at its base reference.  docs/lifetime.md has the
 * whole argument.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "alloc.h"
#include "borrow.h"
#include "folio.h"
#include "p2pmem.h"
#include "pins.h"
#include "reap.h"
#include "registry.h"

/* When the worker looks again; the delay doubles after each look that was in vain. */
#define REAP_DELAY_MIN		msecs_to_jiffies(20)
#define REAP_DELAY_MAX		HZ
/* io_uring and the like unpin some time after the last close. */
#define SETTLE_TIME		HZ
#define SETTLE_INTERVAL		msecs_to_jiffies(5)
/* How much is looked at before the locks are dropped for others. */
#define BATCH_EXTENTS		256
#define BATCH_FOLIOS		(1UL << 15)

/* Every page of the range is back at its base reference. */
bool p2pmem_range_idle(struct p2pmem_region *r, u64 first, u64 count)
{
	u64 end = first + count, step;

	lockdep_assert_held(&r->alloc_lock);
	for (; first < end; first += step)
		if (folio_ref_count(p2pmem_folio_at(r, first, end, &step)) != 1)
			return false;
	return true;
}

enum look { IDLE, BUSY, UNDECIDED };

/*
 * Looks for references to an extent of a closed file.  Only the holder of a reference to a
 * page can add another, so a page without one need not be looked at again.  Each look
 * begins where the last one met a reference or used up its @budget.
 */
static enum look look_at(struct p2pmem_region *r, struct p2pmem_extent *e,
			 unsigned long *budget)
{
	u64 end = e->first + e->count, step;

	lockdep_assert_held(&r->alloc_lock);
	for (; e->idle < e->count; e->idle += step) {
		if (!*budget)
			return UNDECIDED;
		(*budget)--;
		if (folio_ref_count(p2pmem_folio_at(r, e->first + e->idle, end,
						    &step)) != 1)
			return BUSY;
	}
	return IDLE;
}

/* The extent has left its file and the draining list. */
static void extent_free(struct p2pmem_extent *e)
{
	p2pmem_pin_leave(e);
	kfree(e);
}

/*
 * Makes the extent's memory free again, and frees the extent.  Nobody refers to its pages
 * or can get a reference to them.
 */
void p2pmem_extent_give(struct p2pmem_region *r, struct p2pmem_extent *e)
{
	lockdep_assert_held(&r->alloc_lock);
	p2pmem_put_to_rest(r, e->first, e->count);
	p2pmem_alloc_give(&r->alloc, e->first, e->count, e->owner);
	r->given = get_state_synchronize_rcu();
	WRITE_ONCE(r->gives, r->gives + 1);
	extent_free(e);
}

/* Pending work owns a reference to the region's device and one to the module. */
static void reap_after(struct p2pmem_region *r, unsigned long delay)
{
	lockdep_assert_held(&r->alloc_lock);
	__module_get(THIS_MODULE);
	get_device(&r->dev);
	if (mod_delayed_work(p2pmem_wq, &r->reap_work, delay)) {
		put_device(&r->dev);
		module_put(THIS_MODULE);
	}
}

/* While extents drain, a look is always queued or under way.  This makes it come earlier. */
static void reap_soon(struct p2pmem_region *r)
{
	lockdep_assert_held(&r->alloc_lock);
	if (r->reap_delay == REAP_DELAY_MIN)
		return;
	r->reap_delay = REAP_DELAY_MIN;
	reap_after(r, r->reap_delay);
}

/* For callers that wait for draining extents. */
void p2pmem_reap_soon(struct p2pmem_region *r)
{
	if (r->drains)
		reap_soon(r);
}

/* Puts the extent on the draining list, where it holds the region and the module. */
static void drain_extent(struct p2pmem_region *r, struct p2pmem_extent *e)
{
	lockdep_assert_held(&r->alloc_lock);
	list_add_tail(&e->link, &r->draining);
	WRITE_ONCE(r->drains, r->drains + 1);
	r->drained = jiffies;
	reap_soon(r);
	__module_get(THIS_MODULE);
	get_device(&r->dev);
}

/* Takes a batch of extents out of the closed file; returns false when none is left. */
static bool release_some(struct p2pmem_file *f)
{
	struct p2pmem_region *r = f->region;
	unsigned long budget = BATCH_FOLIOS;
	struct rb_node *node;
	int n;

	lockdep_assert_held(&f->lock);
	for (n = 0; n < BATCH_EXTENTS && (node = rb_first(&f->extents)); n++) {
		struct p2pmem_extent *e = rb_entry(node, struct p2pmem_extent, node);
		enum look seen = r->gone ? IDLE : look_at(r, e, &budget);

		if (seen == UNDECIDED)
			return true;
		rb_erase(node, &f->extents);
		RB_CLEAR_NODE(node);
		if (r->gone)
			extent_free(e);
		else if (seen == IDLE)
			p2pmem_extent_give(r, e);
		else
			drain_extent(r, e);
	}
	return !RB_EMPTY_ROOT(&f->extents);
}

/*
 * The file is closed, so only holders of references can add more of them.  Extents
 * without references go back at once; the others wait on the draining list.
 */
void p2pmem_extents_release(struct p2pmem_file *f)
{
	struct p2pmem_region *r = f->region;
	bool more;

	do {
		mutex_lock(&f->lock);
		mutex_lock(&r->alloc_lock);
		more = release_some(f);
		mutex_unlock(&r->alloc_lock);
		mutex_unlock(&f->lock);
		cond_resched();
	} while (more);
}

/*
 * Looks at a batch of the *@left extents that remain, from the front of the list, and
 * moves busy ones to its end.  Returns how many extents have ended.
 */
static unsigned int reap_some(struct p2pmem_region *r, unsigned long *left)
{
	unsigned long budget = BATCH_FOLIOS;
	unsigned int reaped = 0;
	int n;

	lockdep_assert_held(&r->reap_lock);
	lockdep_assert_held(&r->alloc_lock);
	for (n = 0; n < BATCH_EXTENTS && *left; n++, (*left)--) {
		struct p2pmem_extent *e = list_first_entry(&r->draining,
							   struct p2pmem_extent, link);
		enum look seen = r->gone ? IDLE : look_at(r, e, &budget);

		if (seen == UNDECIDED)
			break;
		list_move_tail(&e->link, &r->draining);
		if (seen == BUSY)
			continue;
		list_del(&e->link);
		WRITE_ONCE(r->drains, r->drains - 1);
		reaped++;
		if (r->gone)
			extent_free(e);
		else
			p2pmem_extent_give(r, e);
	}
	return reaped;
}

/* Looks once at each extent that drains now.  Only the worker takes extents off the list. */
static unsigned int reap_all(struct p2pmem_region *r)
{
	unsigned long left = READ_ONCE(r->drains);
	unsigned int reaped = 0;

	mutex_lock(&r->reap_lock);
	while (left) {
		mutex_lock(&r->alloc_lock);
		reaped += reap_some(r, &left);
		mutex_unlock(&r->alloc_lock);
		cond_resched();
	}
	mutex_unlock(&r->reap_lock);
	return reaped;
}

void p2pmem_reap_fn(struct work_struct *work)
{
	struct p2pmem_region *r = container_of(to_delayed_work(work),
					       struct p2pmem_region, reap_work);
	unsigned int reaped = reap_all(r);

	mutex_lock(&r->alloc_lock);
	r->reap_delay = reaped ? REAP_DELAY_MIN :
			min(2 * r->reap_delay, (unsigned long)REAP_DELAY_MAX);
	if (r->drains)
		reap_after(r, r->reap_delay);
	else
		r->reap_delay = 0;
	mutex_unlock(&r->alloc_lock);
	wake_up_all(&r->wait);
	while (reaped--) {
		put_device(&r->dev);
		module_put(THIS_MODULE);
	}
	put_device(&r->dev);
	module_put(THIS_MODULE);
}

/*
 * Returns true if an extent began to drain a moment ago, so that another look soon is
 * worthwhile, or if memory of a GPU is on its way back to its driver.
 */
bool p2pmem_settling(struct p2pmem_region *r)
{
	bool young;

	mutex_lock(&r->alloc_lock);
	young = r->drains && time_before(jiffies, r->drained + SETTLE_TIME);
	if (young)
		reap_soon(r);
	young = young || p2pmem_pins_are_put(r);
	mutex_unlock(&r->alloc_lock);
	return young;
}

/*
 * For a caller that asked for memory at jiffies @asked and was refused.  If a file was
 * closed a moment before, its pins may be about to end: the function sleeps briefly, and
 * returns true to say "try again".  Without this, a program that starts right after the
 * end of another would fail by chance.  SETTLE_TIME after @asked the answer is false,
 * whatever others close meanwhile.  The caller holds no lock of p2pmem.
 */
bool p2pmem_settle(struct p2pmem_region *r, unsigned long asked)
{
	if (time_after_eq(jiffies, asked + SETTLE_TIME) || !p2pmem_settling(r))
		return false;
	schedule_timeout_interruptible(SETTLE_INTERVAL);
	return !signal_pending(current);
}

/*
 * Returns the error for a caller that gave up after p2pmem_settle(): @refusal, or -EINTR if a
 * signal ended the wait, when nobody knows yet whether the memory comes back.
 */
int p2pmem_settled(struct p2pmem_region *r, int refusal)
{
	return signal_pending(current) && p2pmem_settling(r) ? -EINTR : refusal;
}
