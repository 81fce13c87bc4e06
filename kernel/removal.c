// SPDX-License-Identifier: GPL-2.0
/*
 * Asks regions to end, and waits for that.  A work item ends the region (drain.c), even if
 * the caller stops waiting.
 */
#include <linux/module.h>
#include <linux/pci.h>

#include "p2pmem.h"
#include "registry.h"
#include "removal.h"

void p2pmem_remove_start(struct p2pmem_region *r)
{
	if (test_and_set_bit(0, &r->removing))
		return;
	__module_get(THIS_MODULE);
	get_device(&r->dev);
	queue_work(p2pmem_remove_wq, &r->remove_work);
}

static bool removal_over(struct p2pmem_region *r)
{
	return READ_ONCE(r->finished) ||
	       READ_ONCE(r->state) == P2PMEM_STATE_QUARANTINED;
}

/* Returns 0 when the region has ended or is in quarantine, and -EINTR on a signal. */
int p2pmem_remove_wait(struct p2pmem_region *r, bool interruptible)
{
	if (!interruptible) {
		wait_event_idle(r->wait, removal_over(r));
		return 0;
	}
	/* A suspend is no reason to stop waiting. */
	return wait_event_freezable(r->wait, removal_over(r)) ? -EINTR : 0;
}

/* Waits for @timeout at most; returns what is left of it, or 0 if the time is up. */
static long remove_wait_briefly(struct p2pmem_region *r, long timeout)
{
	return wait_event_idle_timeout(r->wait, removal_over(r), timeout);
}

/*
 * Removes every region of a function whose driver is about to leave (or of all
 * functions, at module exit).  Returns when nobody refers to their pages or, if
 * the device has gone by surprise, when they are in quarantine.
 */
void p2pmem_remove_regions_of(struct pci_dev *pdev)
{
	struct p2pmem_region *r;

	/* Starts all removals before it waits for one, which a holder may delay without a bound. */
	p2pmem_for_regions_of(pdev, p2pmem_remove_start);
	while ((r = p2pmem_region_of(pdev))) {
		p2pmem_remove_start(r);
		p2pmem_remove_wait(r, false);
		p2pmem_region_put(r);
	}
}

/*
 * Begins the same removals, and returns when they are done, or after @grace jiffies.
 * The caller holds the device lock, so no region is added.
 */
void p2pmem_remove_regions_soon(struct pci_dev *pdev, long grace)
{
	struct p2pmem_region *r;

	device_lock_assert(&pdev->dev);
	p2pmem_for_regions_of(pdev, p2pmem_remove_start);
	while (grace && (r = p2pmem_region_of(pdev))) {
		grace = remove_wait_briefly(r, grace);
		p2pmem_region_put(r);
	}
}
