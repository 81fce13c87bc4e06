// SPDX-License-Identifier: GPL-2.0
/* Changes the page type of a region that nobody uses. */
#include <linux/device.h>
#include <linux/pci.h>

#include "backing.h"
#include "clients.h"
#include "holders.h"
#include "p2pmem.h"
#include "page_type.h"
#include "reap.h"

static int reopen_backing(struct p2pmem_region *r, u32 type)
{
	u32 old = r->backing.type;
	int ret;

	device_lock_assert(&r->pdev->dev);
	lockdep_assert_held_write(&r->gate);
	if (old)
		p2pmem_backing_close(r);
	ret = p2pmem_backing_open(r, type);
	if (ret && (!old || p2pmem_backing_open(r, old))) {
		/* The region has no pages at all, so there is nothing to drain. */
		WRITE_ONCE(r->state, P2PMEM_STATE_DRAINING);
		wake_up_all(&r->wait);
		dev_err(&r->dev, "has no struct pages (%pe): write its page type to try again, or remove the region\n",
			ERR_PTR(ret));
		return ret;
	}
	WRITE_ONCE(r->state, P2PMEM_STATE_READY);
	return ret;
}

bool p2pmem_lost_its_pages(struct p2pmem_region *r)
{
	return r->state == P2PMEM_STATE_DRAINING && !r->backing.type &&
	       !test_bit(0, &r->removing);
}

/*
 * A sysfs store calls this.  The removal of the region waits for such a store, perhaps
 * while somebody holds the device lock and waits for the removal.  So the lock is only
 * tried.
 */
static int set_page_type(struct p2pmem_region *r, u32 type)
{
	int ret = 0;

	if (!device_trylock(&r->pdev->dev))
		return -EBUSY;
	down_write(&r->gate);
	if (r->state != P2PMEM_STATE_READY && !p2pmem_lost_its_pages(r))
		ret = -ENODEV;
	else if (!p2pmem_region_idle(r))
		ret = -EBUSY;
	else if (type != r->backing.type)
		ret = reopen_backing(r, type);
	if (!ret)
		r->generic_by_name = type == P2PMEM_PAGES_GENERIC;
	up_write(&r->gate);
	if (!ret)
		p2pmem_warn_unrouted(r, NULL);
	device_unlock(&r->pdev->dev);
	return ret;
}

int p2pmem_region_set_page_type(struct p2pmem_region *r, u32 type)
{
	unsigned long asked = jiffies;
	int ret;

	if (type == P2PMEM_PAGES_P2PDMA && !COMPAT_HAS_P2PDMA)
		return -EOPNOTSUPP;
	if (type != r->backing.type && (type == P2PMEM_PAGES_PMEM || p2pmem_is_pmem(r)))
		return -EOPNOTSUPP;
	if ((!r->provider->can_p2pdma || r->folio_order || r->borrowed) && type != r->backing.type)
		return -EOPNOTSUPP;
	do {
		ret = set_page_type(r, type);
	} while (ret == -EBUSY && p2pmem_settle(r, asked));
	return ret;
}
