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

#include "p2pmem.h"

#define REAP_INTERVAL		msecs_to_jiffies(20)
/* io_uring and the like unpin some time after the last close. */
#define SETTLE_TIME		HZ
#define SETTLE_INTERVAL		msecs_to_jiffies(5)

bool p2pmem_range_idle(struct p2pmem_region *r, u64 first, u64 count)
{
	u64 end = first + count, step;

	for (; first < end; first += step)
		if (folio_ref_count(p2pmem_folio_at(r, first, end, &step)) != 1)
			return false;
	return true;
}

/* alloc_lock is held. */
static void extent_give(struct p2pmem_region *r, struct p2pmem_extent *e)
{
	p2pmem_alloc_give(&r->alloc, e->first, e->count,
			  from_kuid(&init_user_ns, e->uid));
	r->given = get_state_synchronize_rcu();
	kfree(e);
}

/* alloc_lock is held.  Pending work owns a region and a module reference. */
static void reap_later(struct p2pmem_region *r)
{
	__module_get(THIS_MODULE);
	get_device(&r->dev);
	if (!queue_delayed_work(p2pmem_wq, &r->reap_work, REAP_INTERVAL)) {
		put_device(&r->dev);
		module_put(THIS_MODULE);
	}
}

/*
 * The file is closed, so nothing can add references but those who have some.
 * Extents without any go back at once; the others wait on the draining list,
 * which holds the region and the module.
 */
void p2pmem_extents_release(struct p2pmem_file *f)
{
	struct p2pmem_region *r = f->region;
	struct rb_node *node;

	mutex_lock(&f->lock);
	mutex_lock(&r->alloc_lock);
	while ((node = rb_first(&f->extents))) {
		struct p2pmem_extent *e = rb_entry(node, struct p2pmem_extent, node);

		rb_erase(node, &f->extents);
		if (r->gone) {
			kfree(e);
		} else if (p2pmem_range_idle(r, e->first, e->count)) {
			extent_give(r, e);
		} else {
			e->closed = jiffies;
			list_add_tail(&e->link, &r->draining);
			__module_get(THIS_MODULE);
			get_device(&r->dev);
		}
	}
	if (!list_empty(&r->draining))
		reap_later(r);
	mutex_unlock(&r->alloc_lock);
	mutex_unlock(&f->lock);
}

void p2pmem_reap_fn(struct work_struct *work)
{
	struct p2pmem_region *r = container_of(to_delayed_work(work),
					       struct p2pmem_region, reap_work);
	struct p2pmem_extent *e, *next;
	unsigned int reaped = 0;

	mutex_lock(&r->alloc_lock);
	list_for_each_entry_safe(e, next, &r->draining, link) {
		if (!r->gone && !p2pmem_range_idle(r, e->first, e->count))
			continue;
		list_del(&e->link);
		if (r->gone)
			kfree(e);
		else
			extent_give(r, e);
		reaped++;
	}
	if (!list_empty(&r->draining))
		reap_later(r);
	mutex_unlock(&r->alloc_lock);
	wake_up_all(&r->wait);
	while (reaped--) {
		put_device(&r->dev);
		module_put(THIS_MODULE);
	}
	put_device(&r->dev);
	module_put(THIS_MODULE);
}

/* Some extent was closed before @asked, and not long ago. */
static bool settling(struct p2pmem_region *r, unsigned long asked)
{
	struct p2pmem_extent *e;
	bool young = false;

	mutex_lock(&r->alloc_lock);
	list_for_each_entry(e, &r->draining, link)
		young = young || (time_before_eq(e->closed, asked) &&
				  time_before(jiffies, e->closed + SETTLE_TIME));
	mutex_unlock(&r->alloc_lock);
	return young;
}

/*
 * For who was refused memory at jiffies @asked.  If a file was closed a moment
 * before, its pins may be on their way out: naps, and returns true to say "try
 * again".  A program that follows another would fail by chance otherwise.  The
 * end comes SETTLE_TIME after @asked, whatever others close meanwhile.  Call it
 * without locks of ours.
 */
bool p2pmem_settle(struct p2pmem_region *r, unsigned long asked)
{
	if (!settling(r, asked))
		return false;
	schedule_timeout_interruptible(SETTLE_INTERVAL);
	return !signal_pending(current);
}
