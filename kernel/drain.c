// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a region.  memunmap_pages() does not wait for references to
 * GENERIC pages, so this file does: no pagemap goes before every page is back
 * at its base reference.  docs/lifetime.md has the whole argument.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include "alloc.h"
#include "backing.h"
#include "drain.h"
#include "holders.h"
#include "importers.h"
#include "mmap.h"
#include "p2pmem.h"
#include "pins.h"
#include "pmem.h"
#include "quarantine.h"
#include "reap.h"
#include "registry.h"
#include "trace.h"

#define DRAIN_INTERVAL_MIN	msecs_to_jiffies(5)
#define DRAIN_INTERVAL_MAX	msecs_to_jiffies(250)
/* At most SURPRISE_GRACE: an unplug delays other work, and the log should soon name the holder. */
#define DRAIN_FIRST_REPORT	(2 * HZ)
#define DRAIN_REPORT_INTERVAL	(10 * HZ)
/* How many granules a look covers before processes that close files can have alloc_lock. */
#define SLICE_GRANULES		(1ULL << 15)
/*
 * After a device has vanished, requests in flight have this long to end by their own
 * time-outs.
 */
#define SURPRISE_GRACE		(2 * HZ)
/*
 * Nobody tells p2pmem of a reset of a function that another driver runs.  The PCI core gives
 * it 60 s to come back (PCIE_RESET_READY_POLL_MS).
 */
#define SILENCE_PATIENCE	(90 * HZ)

/* Are the next owned granules from *@at on idle?  Advances *@at, by one slice at most. */
static bool slice_idle(struct p2pmem_region *r, u64 *at)
{
	struct p2pmem_alloc *a = &r->alloc;
	u64 from = p2pmem_alloc_next_used(a, *at);
	u64 to = min(p2pmem_alloc_next_free(a, from), from + SLICE_GRANULES);

	lockdep_assert_held(&r->alloc_lock);
	*at = to;
	return p2pmem_range_idle(r, from, to - from);
}

/*
 * Is every owned page back at its base reference?  Free pages always are.  The gate is
 * closed, so no page is taken while others have the lock.
 */
static bool region_pages_idle(struct p2pmem_region *r)
{
	bool idle = true;
	u64 at = 0;

	while (at < r->alloc.granules && idle) {
		mutex_lock(&r->alloc_lock);
		idle = slice_idle(r, &at);
		mutex_unlock(&r->alloc_lock);
		cond_resched();
	}
	return idle;
}

static void report_holders(struct p2pmem_region *r)
{
	char *text = kmalloc(512, GFP_KERNEL);

	if (!text)
		return;
	p2pmem_holders_text(r, text, 512, &init_pid_ns);
	dev_warn(&r->dev, "removal waits for these holders (pid, command, bytes, pinned pages, importing device):\n%s",
		 text);
	kfree(text);
}

/* The PCI core says so; no reset is the cause. */
static bool has_failed(struct p2pmem_region *r)
{
	return READ_ONCE(r->pdev->error_state) == pci_channel_io_perm_failure;
}

static bool device_vanished(struct p2pmem_region *r)
{
	return READ_ONCE(r->lost) || has_failed(r) || !pci_device_is_present(r->pdev);
}

/* How long the device may be silent before it counts as gone. */
static unsigned long grace(struct p2pmem_region *r)
{
	return r->provider->foreign && !has_failed(r) ? SILENCE_PATIENCE : SURPRISE_GRACE;
}

/* The device does not answer now, but will again. */
static bool device_resets(struct p2pmem_region *r)
{
	return READ_ONCE(r->resetting) && !READ_ONCE(r->lost) && !has_failed(r);
}

/*
 * No page is touched after this.  Extents that closed files left behind are reaped
 * without a look at their pages.
 */
static void drop_pages(struct p2pmem_region *r)
{
	mutex_lock(&r->alloc_lock);
	r->gone = true;
	mutex_unlock(&r->alloc_lock);
	if (r->backing.type)
		p2pmem_backing_close(r);
}

/*
 * The device is gone and somebody does not let go, but the driver need not wait for that.
 * P2PDMA pages that are still referred to are waited for, because the driver core would
 * wait for them as well.  A request that stalls (userfaultfd, FUSE) holds them until its
 * process is killed.
 */
static bool is_given_up(struct p2pmem_region *r, unsigned long present, bool pages_idle)
{
	return r->state == P2PMEM_STATE_DRAINING && time_after(jiffies, present + grace(r)) &&
	       (pages_idle || r->backing.type != P2PMEM_PAGES_P2PDMA);
}

/*
 * If only mappings of dma-bufs are left, the pages go now, because such mappings name
 * addresses and no struct page.
 */
static void quarantine(struct p2pmem_region *r, bool pages_idle)
{
	if (pages_idle)
		drop_pages(r);
	p2pmem_quarantine_enter(r);
}

/*
 * A fork or mremap that is under way cannot leave entries behind this sweep
 * (docs/lifetime.md).  The removal repeats it nevertheless, for as long as it waits.
 */
static bool pages_are_idle(struct p2pmem_region *r)
{
	if (r->gone)
		return true;
	if (p2pmem_is_pmem(r))
		return p2pmem_pmem_leave(r);
	p2pmem_revoke_mappings(r, 0, 0);
	return region_pages_idle(r);
}

static void drain(struct p2pmem_region *r)
{
	unsigned long present = jiffies, report_at = jiffies + DRAIN_FIRST_REPORT;
	long nap = DRAIN_INTERVAL_MIN;

	for (;;) {
		bool unmapped = p2pmem_exports_revoke(r) == P2PMEM_IMPORTERS_NONE;
		bool pages_idle = pages_are_idle(r), given_up;

		trace_p2pmem_drain(r, !pages_idle, !unmapped);
		if (unmapped && pages_idle)
			return;
		if (!device_vanished(r) || device_resets(r))
			present = jiffies;
		given_up = is_given_up(r, present, pages_idle);
		if (given_up || time_after(jiffies, report_at)) {
			report_holders(r);
			report_at = jiffies + DRAIN_REPORT_INTERVAL;
		}
		if (given_up)
			quarantine(r, pages_idle);
		/*
		 * A device that merely does not answer may come back.  If its driver had got
		 * the pins back, the memory could belong to somebody else by then.  So this
		 * may become true long after the quarantine began.
		 */
		if (r->state == P2PMEM_STATE_QUARANTINED && has_failed(r))
			p2pmem_pins_give(r);
		schedule_timeout_idle(nap);
		nap = min(nap * 2, (long)DRAIN_INTERVAL_MAX);
	}
}

static void end_claims(struct p2pmem_region *r)
{
	if (r->state == P2PMEM_STATE_QUARANTINED)
		p2pmem_quarantine_leave(r);
	else if (r->provider->release)
		r->provider->release(r->pdev, r->provider_data,
				     !device_vanished(r));
}

/* Every region ends here, whoever asked for it. */
void p2pmem_remove_fn(struct work_struct *work)
{
	struct p2pmem_region *r = container_of(work, struct p2pmem_region,
					       remove_work);

	down_write(&r->gate);	/* faults and ioctls under way have ended */
	WRITE_ONCE(r->state, P2PMEM_STATE_DRAINING);
	up_write(&r->gate);
	wake_up_all(&r->wait);
	trace_p2pmem_state(r, P2PMEM_STATE_DRAINING);
	if (r->backing.type)
		drain(r);
	p2pmem_imports_unwatch(r);
	cdev_device_del(&r->cdev, &r->dev);	/* waits for sysfs readers */
	drop_pages(r);
	p2pmem_pins_end(r);
	end_claims(r);
	pm_runtime_put(&r->pdev->dev);	/* of region_create() */
	dev_info(&r->pdev->dev, "p2pmem%u: removed\n", r->id);
	trace_p2pmem_state(r, P2PMEM_STATE_GONE);
	p2pmem_region_forget(r);
	p2pmem_region_put(r);	/* of p2pmem_remove_start() */
	p2pmem_region_put(r);	/* of region_alloc() */
	module_put(THIS_MODULE);
}
