// SPDX-License-Identifier: GPL-2.0
/*
 * What becomes of the importers of dma-bufs when the exporter's device is reset.
 *
 * A reset ends each attachment that was made before it.  The importer is told to let go,
 * and what it asks for afterwards is refused (-EIO).  So its users hear of the reset from
 * their own device, and do not read on in memory that was lost.  A new attachment works
 * as usual.  The memory keeps its owner and its place meanwhile, so an importer that lets
 * go late, or never, reaches nobody else's bytes.
 *
 * The work item of each dma-buf tells the importers (dmabuf_tell.c), because they may
 * wait for whatever they like, and whoever resets a device holds locks.  The reset gives
 * them a moment and no more.
 *
 * Nobody tells p2pmem of resets of a function that another driver runs.  p2pmem looks for
 * them while an importer has a mapping.
 */
#include <linux/pci.h>
#include <linux/workqueue.h>

#include "exports.h"
#include "gate.h"
#include "guard.h"
#include "importers.h"
#include "registry.h"

/* An importer that stops its device needs less than this. */
#define IMPORTERS_GRACE		HZ
#define NAP			1
#define WATCH_INTERVAL		(HZ / 4)

/* Is @each true for all exports?  Also returns false while somebody else holds the list. */
static bool all_exports(struct p2pmem_region *r,
			bool (*each)(struct p2pmem_export *x, u64 epoch))
{
	struct p2pmem_export *x;
	bool all = true;
	u64 epoch;

	if (!mutex_trylock(&r->exports_lock))
		return false;
	epoch = atomic64_read(&r->import_epoch);
	list_for_each_entry(x, &r->exports, link)
		if (!each(x, epoch))
			all = false;
	mutex_unlock(&r->exports_lock);
	return all;
}

/* No importer has a mapping but those that cannot let go, and no request is under way. */
static bool has_settled(struct p2pmem_export *x, u64 epoch)
{
	unsigned int staying = x->told_epoch >= epoch ? x->staying : 0;

	return atomic_read(&x->maps) <= staying && p2pmem_export_has_no_requests(x);
}

/*
 * A work item does this, because whoever resets may be in the gate, and exports_lock
 * comes before the gate.  The work item owns a reference to the region.
 */
void p2pmem_outdate_fn(struct work_struct *work)
{
	struct p2pmem_region *r = container_of(work, struct p2pmem_region, outdate_work);
	struct p2pmem_export *x;

	mutex_lock(&r->exports_lock);
	list_for_each_entry(x, &r->exports, link)
		p2pmem_export_tell_soon(x);
	mutex_unlock(&r->exports_lock);
	p2pmem_region_put(r);
}

/*
 * Returns when the importers have let go, or a moment after the reset began, whichever
 * comes first.  That moment covers all regions of the function together.
 */
void p2pmem_imports_await(struct p2pmem_region *r)
{
	while (!all_exports(r, has_settled)) {
		if (time_after(jiffies, r->reset_began + IMPORTERS_GRACE)) {
			dev_warn(&r->dev, "the device is reset although importers of its dma-bufs have not let go yet\n");
			return;
		}
		schedule_timeout_idle(NAP);
	}
}

/* --- functions of other drivers --- */

/* While a reset is under way, the guard gives a different answer each time. */
static bool is_being_reset(struct p2pmem_region *r)
{
	return p2pmem_guard_resets(r->pdev) != p2pmem_guard_resets(r->pdev);
}

/*
 * While a reset is under way, relies on the guard alone, because the device's registers
 * may not be there.  The caller is in the region.  Returns whether a reset is under way.
 */
static bool look_for_reset(struct p2pmem_region *r)
{
	lockdep_assert_held(&r->gate);
	if (p2pmem_guard_resets(r->pdev) == READ_ONCE(r->function_resets))
		return false;
	if (is_being_reset(r)) {
		p2pmem_imports_outdate(r);
		return true;
	}
	p2pmem_revalidate(r);
	return false;
}

/*
 * Was the device reset since an importer attached, in @epoch?  While no importer has a
 * mapping nobody looks for resets of another driver's function, so this does.  The caller
 * may hold the dma-buf's lock, and need not be in the region.
 */
bool p2pmem_imports_are_outdated(struct p2pmem_region *r, u64 epoch)
{
	u64 resets = r->provider->foreign ? p2pmem_guard_resets(r->pdev) : 0;

	/* Whoever counts a reset raises the epoch first, and function_resets afterwards. */
	if (resets != smp_load_acquire(&r->function_resets))
		return true;
	return atomic64_read(&r->import_epoch) != epoch;
}

/*
 * May somebody attach, as of @epoch?  Not while the device is being reset, and not while
 * others are told of a reset: all importers of a dma-buf are told at once, and a new
 * pinned importer would be revoked for good.  The caller is in the region.  Waits for
 * nobody.
 */
bool p2pmem_imports_may_begin(struct p2pmem_export *x, u64 epoch)
{
	struct p2pmem_region *r = x->region;

	lockdep_assert_held(&r->gate);
	return !READ_ONCE(r->resetting) && !p2pmem_imports_are_outdated(r, epoch) && p2pmem_export_was_told(x, epoch);
}

static bool has_no_mapping(struct p2pmem_export *x, u64 epoch)
{
	return !atomic_read(&x->maps);
}

/* The work item owns a reference to the region. */
void p2pmem_watch_fn(struct work_struct *work)
{
	struct p2pmem_region *r = container_of(to_delayed_work(work),
					       struct p2pmem_region, watch_work);

	if (p2pmem_enter(r)) {
		/* A reset is not counted before it is over. */
		bool goes_on = look_for_reset(r);

		p2pmem_leave(r);
		if (goes_on || !all_exports(r, has_no_mapping))
			p2pmem_imports_watch(r);
	}
	p2pmem_region_put(r);
}

/*
 * Called after an importer has mapped.  The work is freezable, so nothing is looked at
 * while the device sleeps.
 */
void p2pmem_imports_watch(struct p2pmem_region *r)
{
	if (!r->provider->foreign)
		return;
	get_device(&r->dev);
	if (!queue_delayed_work(system_freezable_wq, &r->watch_work, WATCH_INTERVAL))
		put_device(&r->dev);
}

/* Called at the region's end, when no importer can map any more. */
void p2pmem_imports_unwatch(struct p2pmem_region *r)
{
	if (cancel_delayed_work_sync(&r->watch_work))
		p2pmem_region_put(r);
}
