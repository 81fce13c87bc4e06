// SPDX-License-Identifier: GPL-2.0
/*
 * Importers of dma-bufs when the exporter's device is reset.
 *
 * A reset ends each attachment that was made before it: its importer is told to let
 * go, and what it asks for afterwards is refused (EIO).  So whoever uses it hears of
 * the reset from its own device, and does not read on in memory that was lost.  A new
 * attachment is as good as any.  The memory keeps its owner and its place meanwhile: an
 * importer that lets go late, or never, harms nobody else.
 *
 * A worker tells them, since they may wait for whatever they like, and whoever resets a
 * device holds locks.  That one gives them a moment and no more.
 *
 * Nobody tells p2pmem of resets of another driver's function.  They are looked for while
 * an importer has a mapping.
 */
#include <linux/dma-resv.h>
#include <linux/pci.h>
#include <linux/workqueue.h>

#include "dmabuf.h"

/* An importer that stops its device does so within less. */
#define IMPORTERS_GRACE		HZ
#define NAP_MIN			1
#define NAP_MAX			(HZ / 4)
#define WATCH_INTERVAL		(HZ / 4)

/* True if @each is, of all exports.  Whoever has the list may be in an importer: false. */
static bool all_exports(struct p2pmem_region *r,
			bool (*each)(struct p2pmem_export *x, u64 epoch))
{
	struct p2pmem_export *x;
	bool all = true;
	u64 epoch;

	if (!mutex_trylock(&r->exports_lock))
		return false;
	epoch = atomic64_read(&r->import_epoch);	/* of no export there is a later one */
	list_for_each_entry(x, &r->exports, link)
		if (!each(x, epoch))
			all = false;
	mutex_unlock(&r->exports_lock);
	return all;
}

/* Mappings of those that cannot let go; the reservation lock is held. */
static unsigned int count_staying(struct p2pmem_export *x)
{
	struct dma_buf_attachment *attach;
	unsigned int staying = 0;

	dma_resv_assert_held(x->dmabuf->resv);
	list_for_each_entry(attach, &x->dmabuf->attachments, node) {
		struct p2pmem_attachment *a = attach->priv;

		if (!compat_dma_buf_revocable(attach))
			staying += a->maps;
	}
	return staying;
}

/* False: somebody has the reservation lock, so that they are yet to be told. */
static bool tell_of_reset(struct p2pmem_export *x, u64 epoch)
{
	if (x->told_epoch == epoch)
		return true;
	if (!p2pmem_export_is_unmapped(x)) {
		if (!dma_resv_trylock(x->dmabuf->resv))
			return false;
		p2pmem_export_tell(x, "told to let go, since the device is reset",
				   "cannot be revoked, and keeps its mapping although the device is reset");
		x->staying = count_staying(x);
		dma_resv_unlock(x->dmabuf->resv);
	} else {
		x->staying = 0;
	}
	x->told_epoch = epoch;
	return true;
}

/* Nobody has a mapping of whom that can be expected otherwise, nor a request under way. */
static bool has_settled(struct p2pmem_export *x, u64 epoch)
{
	unsigned int staying = x->told_epoch == epoch ? x->staying : 0;

	return atomic_read(&x->maps) <= staying && p2pmem_export_has_no_requests(x);
}

/* A reference of the region is this one's. */
void p2pmem_outdate_fn(struct work_struct *work)
{
	struct p2pmem_region *r = container_of(work, struct p2pmem_region, outdate_work);
	long nap = NAP_MIN;

	while (!all_exports(r, tell_of_reset)) {
		schedule_timeout_idle(nap);
		nap = min(nap * 2, (long)NAP_MAX);
	}
	p2pmem_region_put(r);
}

/*
 * What importers have mapped is lost, or is about to be: they get no mapping by an
 * attachment that they have now, and will be told.  Waits for nobody.
 */
void p2pmem_imports_outdate(struct p2pmem_region *r)
{
	atomic64_inc(&r->import_epoch);
	smp_mb__after_atomic(); /* with p2pmem_dmabuf_map(): it sees this, or we see its count */
	get_device(&r->dev);
	if (!queue_work(p2pmem_wq, &r->outdate_work))
		put_device(&r->dev);
}

/* Returns when they have let go, or after a moment: a reset waits no longer for anybody's driver. */
void p2pmem_imports_await(struct p2pmem_region *r)
{
	unsigned long end = jiffies + IMPORTERS_GRACE;

	while (!all_exports(r, has_settled)) {
		if (time_after(jiffies, end)) {
			dev_warn(&r->dev, "the device is reset although importers of its dma-bufs have not let go yet\n");
			return;
		}
		schedule_timeout_idle(NAP_MIN);
	}
}

/* --- functions of other drivers --- */

/*
 * By the guard alone while a reset is under way: the device's registers may not be
 * there.  It tells that by a different answer each time.  The gate is open.
 */
static void look_for_reset(struct p2pmem_region *r)
{
	u64 resets;

	lockdep_assert_held(&r->gate);
	resets = p2pmem_guard_resets(r->pdev);
	if (resets == READ_ONCE(r->function_resets))
		return;
	if (p2pmem_guard_resets(r->pdev) == resets)
		p2pmem_revalidate(r);
	else
		p2pmem_imports_outdate(r);
}

static bool has_no_mapping(struct p2pmem_export *x, u64 epoch)
{
	return !atomic_read(&x->maps);
}

/* A reference of the region is this one's. */
void p2pmem_watch_fn(struct work_struct *work)
{
	struct p2pmem_region *r = container_of(to_delayed_work(work),
					       struct p2pmem_region, watch_work);

	if (p2pmem_enter(r)) {
		look_for_reset(r);
		p2pmem_leave(r);
		if (!all_exports(r, has_no_mapping))
			p2pmem_imports_watch(r);
	}
	p2pmem_region_put(r);
}

/*
 * After an importer has mapped.  Freezable: nothing is looked at while the device
 * sleeps.
 */
void p2pmem_imports_watch(struct p2pmem_region *r)
{
	if (!r->provider->foreign)
		return;
	get_device(&r->dev);
	if (!queue_delayed_work(system_freezable_wq, &r->watch_work, WATCH_INTERVAL))
		put_device(&r->dev);
}

/* At the region's end, when no importer maps any more. */
void p2pmem_imports_unwatch(struct p2pmem_region *r)
{
	if (cancel_delayed_work_sync(&r->watch_work))
		p2pmem_region_put(r);
}
