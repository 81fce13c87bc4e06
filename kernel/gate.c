// SPDX-License-Identifier: GPL-2.0
/*
 * The gate of a region: whoever uses its pages passes in and out here, and
 * removal shuts it.  Besides, what is asked of the device in between: whether it
 * still has its memory, and that the CPU's stores are there.
 */
#include <linux/pci.h>

#include "p2pmem.h"

/* True: the region is in use until p2pmem_leave(); false: it is going away. */
bool p2pmem_enter(struct p2pmem_region *r)
{
	down_read(&r->gate);
	if (r->state == P2PMEM_STATE_READY)
		return true;
	up_read(&r->gate);
	return false;
}

void p2pmem_leave(struct p2pmem_region *r)
{
	up_read(&r->gate);
}

/* 1: the device had forgotten its memory; counted, and it is enabled again. */
int p2pmem_revalidate(struct p2pmem_region *r)
{
	int lost;

	if (!r->provider->revalidate)
		return 0;
	mutex_lock(&r->revalidate_lock);
	lost = r->provider->revalidate(r);
	if (lost) {
		atomic64_inc(&r->resets);
		dev_warn_ratelimited(&r->dev, "the device was reset and had its memory disabled; enabled again, its contents may be lost\n");
	}
	mutex_unlock(&r->revalidate_lock);
	return lost;
}

/*
 * Between enter and leave: returns when the CPU's own stores, write-combined
 * ones too, are at the device.
 */
int p2pmem_flush(struct p2pmem_region *r)
{
	int ret = 0;

	wmb(); /* out of the CPU before the device is asked */
	if (r->provider->commit)
		ret = r->provider->commit(r);
	else
		READ_ONCE(*(u64 *)r->backing.kaddr);
	if (!pci_device_is_present(r->pdev))
		ret = -EIO;	/* a dead device answers reads, too */
	return ret;
}
