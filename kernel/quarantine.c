// SPDX-License-Identifier: GPL-2.0
/*
 * A device can vanish while its pages are pinned.  Its driver must let go, but the
 * struct pages stay until the last pin is gone.  Meanwhile a newly plugged device
 * must not get the address range: the old pages would alias its memory.
 *
 * The PCI core releases the BAR's resource with the device.  So p2pmem puts a
 * resource of the same range between the BAR and its bridge window.  p2pmem's
 * resource stays behind, and keeps the range out of the window's free space.  The
 * window's struct resource lives in the bridge's pci_dev, to which p2pmem holds a
 * reference as long as the quarantine lasts.
 *
 * When a new card does not fit into what is left, the PCI core may move the
 * window and drop all that is in it, p2pmem's resource too (release_child_resources,
 * drivers/pci/setup-bus.c).  So there is a second fence: a function whose BAR came
 * to lie on a quarantined range gets no driver until the quarantine is over.  Nor
 * does the region's own function if it works again, because importers can still
 * reach its memory.
 */
#include <linux/ioport.h>
#include <linux/mutex.h>
#include <linux/pci.h>

#include "p2pmem.h"
#include "pmem.h"
#include "quarantine.h"
#include "reason.h"
#include "trace.h"

/*
 * A BAR's parent may be the quarantine resource of another region, which is removed when
 * that quarantine ends.  This lock is taken inside of pci_lock_rescan_remove(), which an
 * unplug holds while it waits for p2pmem_quarantine_enter().
 */
static DEFINE_MUTEX(resources_lock);

/*
 * The BAR of a virtual function lies within a BAR of its physical function, whose resource
 * goes away with the physical function's pci_dev.  And virtual functions that are made anew
 * must find their place in that BAR free, or the PCI core runs into a BUG_ON()
 * (pci_iov_add_virtfn(), drivers/pci/iov.c).  So the range of the physical function's whole
 * BAR is kept; the second fence knows which part may not be used.
 */
static struct resource *kept_bar(struct p2pmem_region *r)
{
	struct resource *bar = &r->pdev->resource[r->bar];

	return r->pdev->is_virtfn ? bar->parent : bar;
}

static void resource_enter(struct p2pmem_region *r)
{
	struct resource *bar, *parent;

	mutex_lock(&resources_lock);
	bar = kept_bar(r);
	parent = bar ? bar->parent : NULL;
	if (parent) {
		r->quarantine.name = "p2pmem quarantine";
		r->quarantine.start = bar->start;
		r->quarantine.end = bar->end;
		/* Not BUSY, so that a driver's release_mem_region() looks below it. */
		r->quarantine.flags = IORESOURCE_MEM;
		if (insert_resource(parent, &r->quarantine))
			r->quarantine.flags = 0;
		else
			r->quarantine_bridge =
				pci_dev_get(pci_upstream_bridge(r->pdev));
	}
	mutex_unlock(&resources_lock);
}

void p2pmem_quarantine_enter(struct p2pmem_region *r)
{
	resource_enter(r);
	dev_err(&r->dev, "the device is gone but its memory is still pinned: quarantined until the last holder lets go\n");
	p2pmem_pmem_silence(r);
	down_write(&r->gate);	/* p2pmem_revalidate() reads registers until then */
	/* The provider releases its claims and register mappings while the BAR is still there. */
	if (r->provider->release)
		r->provider->release(r->pdev, r->provider_data, false);
	WRITE_ONCE(r->state, P2PMEM_STATE_QUARANTINED);
	up_write(&r->gate);
	wake_up_all(&r->wait);
	trace_p2pmem_state(r, P2PMEM_STATE_QUARANTINED);
}

void p2pmem_quarantine_leave(struct p2pmem_region *r)
{
	if (!r->quarantine.flags)
		return;
	pci_lock_rescan_remove();	/* nobody moves a window meanwhile */
	mutex_lock(&resources_lock);
	/* Not release_resource(): the BAR may still be below it, and moves up. */
	if (r->quarantine.parent)
		remove_resource(&r->quarantine);
	mutex_unlock(&resources_lock);
	pci_unlock_rescan_remove();
	r->quarantine.flags = 0;
	pci_dev_put(r->quarantine_bridge);
}

/*
 * Called before the driver of @pdev is probed: takes back each BAR that lies
 * on the quarantined range, so that pci_enable_device() refuses.  That call checks no BAR
 * of a function that is enabled already, perhaps by root (sysfs, "enable"), so this
 * disables the function first.
 */
void p2pmem_quarantine_fence(struct p2pmem_region *r, struct pci_dev *pdev)
{
	int bar;

	device_lock_assert(&pdev->dev);
	for (bar = 0; bar < PCI_STD_NUM_BARS; bar++) {
		struct resource *res = &pdev->resource[bar];

		if (!(res->flags & IORESOURCE_MEM) || !res->parent ||
		    res->start >= r->backing.phys + r->backing.bytes ||
		    res->end < r->backing.phys)
			continue;
		pci_err(pdev, "BAR%d lies on memory that %s keeps in quarantine: unusable until its holders let go; then %s\n",
			bar, dev_name(&r->dev), p2pmem_made_anew(pdev));
		release_resource(res);
		res->flags |= IORESOURCE_UNSET;
		while (pci_is_enabled(pdev))
			pci_disable_device(pdev);
	}
}
