// SPDX-License-Identifier: GPL-2.0
/*
 * Page type pmem: the region is a pmem device of the kernel's nvdimm layer
 * (libnvdimm), whose flush is the barrier of the region's device.
 *
 * The pmem driver makes and frees the pages, and open files of the region have none.
 * The barrier is the read of a register, which no instruction of a program can replace.
 * So the nvdimm region is declared asynchronous: MAP_SYNC is refused, and a file system
 * flushes at fsync().
 *
 * The pmem driver claims the range, but the nvme driver has already claimed it with all
 * BARs of its function.  The nvme driver never touches the BAR of a PMR, so it lends its
 * claim: p2pmem releases the claim while the region lives, and makes it again in the nvme
 * driver's name afterwards.  When the nvme driver leaves, it gives up all its claims,
 * perhaps before the pmem driver has given up its own.  Then p2pmem does not make the lent
 * claim again.
 *
 * p2pmem looks up the functions of libnvdimm for the first such region, and keeps them
 * until the last one has ended.  So this module loads without them.
 */
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/kmod.h>
#include <linux/libnvdimm.h>
#include <linux/module.h>
#include <linux/nd.h>
#include <linux/pci.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat/disk.h"
#include "gate.h"
#include "guard.h"
#include "memtype.h"
#include "p2pmem.h"
#include "pmem.h"
#include "reason.h"
#include "registry.h"

/* The pmem driver's probe runs in another thread, and nobody reports its failure. */
#define PROBE_TIMEOUT		(10 * HZ)
#define PROBE_INTERVAL_MS	10
#define TELL_AFTER		(2 * HZ)	/* after so long, p2pmem_pmem_close() logs what it waits for */

/**
 * struct p2pmem_pmem - what a region of page type pmem has
 * @region: the region that it belongs to
 * @name: "p2pmem2", by which the nvdimm layer names the bus' provider
 * @desc: what the nvdimm layer is told of the bus
 * @res: the memory, as the nvdimm layer claims it
 * @bus: the region's bus in the nvdimm layer
 * @range: its range there
 * @bus_dev: the device of @bus
 * @modes: a notifier, which sees what ndctl makes of the namespace
 * @never: a device that never gets a driver; devices of refused modes depend on it, so
 *	that they get none either
 * @refused: the memory's own metadata asks for such a mode
 * @lender: the driver that lent its claim of the BAR, or NULL; under pmem_lock
 * @guard: the guard of the function
 * @resets_seen: how many resets the region had when it was added
 * @function_resets: how many the function had then
 * @look: counts a reset that a flush has seen, and enables the memory again
 * @silent: no flush may read the registers, which are about to be unmapped or already are
 * @disk: while the pmem device is taken away: a claim of its disk, so that nobody mounts it
 * @leave: takes the pmem device away
 * @left: bit 0: @leave was queued; bit 1: it has ended
 */
struct p2pmem_pmem {
	struct p2pmem_region *region;
	char name[P2PMEM_NAME_BYTES];
	struct nvdimm_bus_descriptor desc;
	struct resource res;
	struct nvdimm_bus *bus;
	struct nd_region *range;
	struct device *bus_dev;
	struct notifier_block modes;
	struct device *never;
	bool refused;
	const char *lender;
	const struct p2pmem_guarded *guard;
	u64 resets_seen;
	u64 function_resets;
	struct work_struct look;
	bool silent;
	COMPAT_DISK_CLAIM *disk;
	struct work_struct leave;
	unsigned long left;
};

/* Protects the lenders, and backing.pmem for callers that do not keep the region from ending. */
static DEFINE_MUTEX(pmem_lock);

/* --- libnvdimm --- */

static struct {
	typeof(&nvdimm_bus_register) bus_register;
	typeof(&nvdimm_bus_unregister) bus_unregister;
	typeof(&to_nvdimm_bus_dev) bus_dev;
	typeof(&nvdimm_pmem_region_create) region_create;
	typeof(&nd_region_provider_data) provider_data;
	typeof(&nd_region_dev) region_dev;
} nd;

static DEFINE_MUTEX(nd_lock);
static unsigned int nd_users;

#define ND_PUT(member, symbol)			\
	do {					\
		if (nd.member)			\
			symbol_put(symbol);	\
		nd.member = NULL;		\
	} while (0)

static void nd_put_all(void)
{
	ND_PUT(bus_register, nvdimm_bus_register);
	ND_PUT(bus_unregister, nvdimm_bus_unregister);
	ND_PUT(bus_dev, to_nvdimm_bus_dev);
	ND_PUT(region_create, nvdimm_pmem_region_create);
	ND_PUT(provider_data, nd_region_provider_data);
	ND_PUT(region_dev, nd_region_dev);
}

static int nd_get_all(void)
{
	nd.bus_register = symbol_get(nvdimm_bus_register);
	nd.bus_unregister = symbol_get(nvdimm_bus_unregister);
	nd.bus_dev = symbol_get(to_nvdimm_bus_dev);
	nd.region_create = symbol_get(nvdimm_pmem_region_create);
	nd.provider_data = symbol_get(nd_region_provider_data);
	nd.region_dev = symbol_get(nd_region_dev);
	if (nd.bus_register && nd.bus_unregister && nd.bus_dev &&
	    nd.region_create && nd.provider_data && nd.region_dev)
		return 0;
	nd_put_all();
	return -ENOPKG;
}

static int nd_get(void)
{
	int ret = 0;

	request_module("nd_pmem");
	mutex_lock(&nd_lock);
	if (!nd_users)
		ret = nd_get_all();
	if (!ret)
		nd_users++;
	mutex_unlock(&nd_lock);
	return ret;
}

static void nd_put(void)
{
	mutex_lock(&nd_lock);
	if (!--nd_users)
		nd_put_all();
	mutex_unlock(&nd_lock);
}

/* --- the claim of the BAR --- */

/* The caller holds the device lock, and the function's driver is bound. */
static void claim_lend(struct p2pmem_pmem *p)
{
	struct p2pmem_region *r = p->region;

	device_lock_assert(&r->pdev->dev);
	mutex_lock(&pmem_lock);
	p->lender = r->pdev->dev.driver->name;	/* lives as long as the claim does */
	pci_release_region(r->pdev, r->bar);
	mutex_unlock(&pmem_lock);
}

static void claim_give_back(struct p2pmem_pmem *p)
{
	struct p2pmem_region *r = p->region;

	mutex_lock(&pmem_lock);
	if (p->lender && pci_request_region(r->pdev, r->bar, p->lender))
		dev_warn(&r->dev, "BAR%u stays without the claim of %s\n", r->bar, p->lender);
	r->backing.pmem = NULL;
	mutex_unlock(&pmem_lock);
}

/* The lender leaves and gives up all its claims, so p2pmem must not make this one again. */
static void forget_lender(struct p2pmem_region *r)
{
	mutex_lock(&pmem_lock);
	if (r->backing.pmem)
		r->backing.pmem->lender = NULL;
	mutex_unlock(&pmem_lock);
}

/* The driver of @pdev is about to give up its claims. */
void p2pmem_forget_lenders(struct pci_dev *pdev)
{
	p2pmem_for_regions_of(pdev, forget_lender);
}

/* --- flush --- */

/*
 * A reset may have lost earlier writes, and nobody knows whose they were.  So every flush
 * fails from then on.
 */
static int flush_range(struct p2pmem_pmem *p)
{
	struct p2pmem_region *r = p->region;
	int ret = p2pmem_barrier(r);

	if (!p2pmem_was_reset(r, p->guard, p->resets_seen, p->function_resets))
		return ret;
	dev_err_ratelimited(&r->dev, "the device was reset: no flush succeeds until the region is removed and added anew\n");
	queue_work(p2pmem_wq, &p->look);
	return -EIO;
}

/*
 * A btt calls this with a spinlock held, and a file system calls it while it writes pages
 * back because the kernel is short of memory.  So it takes no lock and waits for nothing.
 * A draining region answers flushes until the pmem driver has left; a region in
 * quarantine fails them, as it has no registers any more.
 */
static int pmem_flush(struct nd_region *range, struct bio *bio)
{
	struct p2pmem_pmem *p = nd.provider_data(range);
	int ret = -EIO;

	rcu_read_lock();
	if (!READ_ONCE(p->silent))
		ret = flush_range(p);
	rcu_read_unlock();
	return ret;
}

/* When this returns, no flush reads a register of the region any more. */
void p2pmem_pmem_silence(struct p2pmem_region *r)
{
	if (!p2pmem_is_pmem(r))
		return;
	mutex_lock(&pmem_lock);
	if (r->backing.pmem)
		WRITE_ONCE(r->backing.pmem->silent, true);
	mutex_unlock(&pmem_lock);
	synchronize_rcu();
}

/* Enables the memory again for its readers, and counts the reset for open files. */
static void look_fn(struct work_struct *work)
{
	struct p2pmem_pmem *p = container_of(work, struct p2pmem_pmem, look);
	struct p2pmem_region *r = p->region;

	down_read(&r->gate);
	if (r->state != P2PMEM_STATE_QUARANTINED)
		p2pmem_revalidate(r);
	up_read(&r->gate);
}

/* --- the block device --- */

struct disk {
	char name[DISK_NAME_LEN];
	dev_t dev;
	bool in_use;
};

static int look_at_disk(struct device *dev, void *data)
{
	struct disk *disk = data;

	if (!dev->type || !dev->type->name || strcmp(dev->type->name, "disk"))
		return 0;
	strscpy(disk->name, dev_name(dev), sizeof(disk->name));
	disk->dev = disk_devt(dev_to_disk(dev));
	disk->in_use = disk_openers(dev_to_disk(dev));
	return 1;
}

/* The disk's parent is a child of the range: a namespace, or what ndctl made of one. */
static int look_below(struct device *dev, void *data)
{
	return device_for_each_child(dev, data, look_at_disk);
}

static bool find_disk(struct p2pmem_region *r, struct disk *disk)
{
	bool found = false;

	memset(disk, 0, sizeof(*disk));
	mutex_lock(&pmem_lock);
	if (r->backing.pmem)
		found = device_for_each_child(nd.region_dev(r->backing.pmem->range),
					      disk, look_below);
	mutex_unlock(&pmem_lock);
	return found;
}

/* Is its disk open, by a mount for example? */
bool p2pmem_pmem_in_use(struct p2pmem_region *r)
{
	struct disk disk;

	return find_disk(r, &disk) && disk.in_use;
}

/* Writes the name of its disk, or "" if it has none, as while ndctl changes the mode. */
size_t p2pmem_pmem_text(struct p2pmem_region *r, char *buf, size_t bytes)
{
	struct disk disk;

	find_disk(r, &disk);
	return scnprintf(buf, bytes, "%s", disk.name);
}

static int await_disk(struct p2pmem_region *r)
{
	unsigned long end = jiffies + PROBE_TIMEOUT;
	struct disk disk;

	while (!find_disk(r, &disk)) {
		if (READ_ONCE(r->backing.pmem->refused))
			return -EMEDIUMTYPE;
		if (time_after(jiffies, end))
			return -EIO;
		if (msleep_interruptible(PROBE_INTERVAL_MS))
			return -EINTR;
	}
	return 0;
}

/* --- the modes of ndctl --- */

static bool is_refused(struct p2pmem_pmem *p, struct device *dev)
{
	const char *type = dev->type && dev->type->name ? dev->type->name : "";

	return (!strcmp(type, "nd_dax") || !strcmp(type, "nd_pfn")) &&
	       dev->parent && dev->parent->parent == p->bus_dev;
}

static int has_claimed(struct device *child, void *dev)
{
	return child->type && child->type->name &&
	       !strcmp(child->type->name, "nd_namespace_io") &&
	       to_ndns(child)->claim == dev;
}

/*
 * Device-dax (nd_dax) grants every program MAP_SYNC, whatever the region says, and has no
 * flush: nothing that is stored there would be durable.  A namespace with struct pages
 * of its own (nd_pfn) may have them in the drive's memory, which is gone when the drive
 * is.  libnvdimm has no callback that could refuse these modes.  So a device link ties
 * their devices to one that never gets a driver, which keeps them from getting a driver.
 * The namespace then keeps its struct pages in DRAM, and DAX goes on working.
 */
static int mode_added(struct notifier_block *nb, unsigned long action, void *data)
{
	struct p2pmem_pmem *p = container_of(nb, struct p2pmem_pmem, modes);
	struct device *dev = data;

	if (action != BUS_NOTIFY_ADD_DEVICE || !is_refused(p, dev))
		return NOTIFY_DONE;
	if (!device_link_add(dev, p->never, 0))
		dev_err(&p->region->dev, "ndctl's %s cannot be kept away: do not use it, no barrier makes it durable\n",
			dev_name(dev));
	if (device_for_each_child(dev->parent, dev, has_claimed))
		WRITE_ONCE(p->refused, true);
	return NOTIFY_DONE;
}

static int modes_watch(struct p2pmem_pmem *p)
{
	char name[P2PMEM_NAME_BYTES + 16];
	int ret;

	snprintf(name, sizeof(name), "%s-has-no-mode", p->name);
	p->never = root_device_register(name);
	if (IS_ERR(p->never))
		return PTR_ERR(p->never);
	p->bus_dev = get_device(nd.bus_dev(p->bus));
	p->modes.notifier_call = mode_added;
	ret = bus_register_notifier(p->bus_dev->bus, &p->modes);
	if (!ret)
		return 0;
	put_device(p->bus_dev);
	root_device_unregister(p->never);
	return ret;
}

/* Called when the nvdimm bus is gone. */
static void modes_forget(struct p2pmem_pmem *p)
{
	bus_unregister_notifier(p->bus_dev->bus, &p->modes);
	put_device(p->bus_dev);
	root_device_unregister(p->never);
}

/* --- its life --- */

static int pmem_register(struct p2pmem_pmem *p)
{
	struct p2pmem_region *r = p->region;
	struct nd_region_desc desc = {
		.res = &p->res,
		.numa_node = dev_to_node(&r->pdev->dev),
		.target_node = dev_to_node(&r->pdev->dev),
		.provider_data = p,
		.flush = pmem_flush,
		.flags = BIT(ND_REGION_PAGEMAP) | BIT(ND_REGION_ASYNC),
	};
	int ret;

	/* The bus has no parent, since an unplugged function is removed before its quarantine ends. */
	p->bus = nd.bus_register(NULL, &p->desc);
	if (!p->bus)
		return -ENOMEM;
	ret = modes_watch(p);
	if (ret)
		goto err_unregister;
	ret = -ENOPKG;
	if (!driver_find("nd_pmem", p->bus_dev->bus))
		goto err_forget;
	ret = -ENOMEM;
	p->range = nd.region_create(p->bus, &desc);
	if (p->range) {
		get_device(nd.region_dev(p->range));	/* for find_disk(), until p2pmem_pmem_close() */
		return 0;
	}
err_forget:
	nd.bus_unregister(p->bus);
	modes_forget(p);
	return ret;

err_unregister:
	nd.bus_unregister(p->bus);
	return ret;
}

static void leave_fn(struct work_struct *work)
{
	struct p2pmem_pmem *p = container_of(work, struct p2pmem_pmem, leave);

	nd.bus_unregister(p->bus);
	modes_forget(p);
	if (p->disk)
		compat_unclaim_disk(p->disk, p);
	set_bit(1, &p->left);
}

static struct p2pmem_pmem *pmem_alloc(struct p2pmem_region *r)
{
	struct p2pmem_pmem *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	p->region = r;
	p->guard = p2pmem_guard_of(r->pdev);
	p->resets_seen = atomic64_read(&r->resets);
	p->function_resets = r->function_resets;
	INIT_WORK(&p->look, look_fn);
	snprintf(p->name, sizeof(p->name), "p2pmem%u", r->id);
	p->desc.provider_name = p->name;
	p->desc.module = THIS_MODULE;
	p->res.name = p->name;
	p->res.start = r->backing.phys;
	p->res.end = r->backing.phys + r->backing.bytes - 1;
	p->res.flags = IORESOURCE_MEM;
	INIT_WORK(&p->leave, leave_fn);
	return p;
}

/*
 * Keeps the pmem driver's pages until the caller puts the pagemap.  Returns NULL if there
 * are none now, because ndctl changes the mode or has set sector mode.
 */
struct dev_pagemap *p2pmem_pmem_pages_get(struct p2pmem_region *r)
{
	return compat_get_dev_pagemap(PHYS_PFN(r->backing.phys));
}

/*
 * Checks that the kernel's own mapping of the pages has the anchor's memory type.  If there
 * are no pages, the region has the anchor's type.
 */
static int check_memtype(struct p2pmem_region *r, struct p2pmem_backing *b)
{
	struct dev_pagemap *pages = p2pmem_pmem_pages_get(r);

	b->memtype = r->want_memtype;
	if (!pages)
		return 0;
	b->memtype = p2pmem_memtype_of(page_address(p2pmem_page(r, 0)));
	put_dev_pagemap(pages);
	return b->memtype == r->want_memtype ? 0 : -EBUSY;
}

/*
 * Holds a module reference until p2pmem_pmem_close(), because only root can end a mounted
 * file system.  The caller holds the device lock.
 */
int p2pmem_pmem_open(struct p2pmem_region *r, struct p2pmem_backing *b)
{
	struct p2pmem_pmem *p;
	int ret;

	device_lock_assert(&r->pdev->dev);
	if (!IS_ALIGNED(b->phys | b->bytes, P2PMEM_PAGEMAP_ALIGN))
		return -EINVAL;
	ret = nd_get();
	if (ret)
		return ret;
	ret = -EBUSY;
	b->anchor = p2pmem_memtype_anchor(b->phys, r->want_memtype);
	if (!b->anchor)
		goto err_put_nd;
	b->kaddr = (void __force *)b->anchor;	/* one page, which a barrier reads */
	ret = -ENOMEM;
	p = pmem_alloc(r);
	if (!p)
		goto err_unmap;
	__module_get(THIS_MODULE);
	claim_lend(p);
	ret = pmem_register(p);
	if (ret)
		goto err_free;
	b->pmem = p;
	ret = await_disk(r) ?: check_memtype(r, b);
	if (!ret)
		return 0;
	p2pmem_pmem_close(r, b);
	return ret;

err_free:
	claim_give_back(p);
	kfree(p);
	module_put(THIS_MODULE);
err_unmap:
	iounmap(b->anchor);
	b->anchor = NULL;
	b->kaddr = NULL;
err_put_nd:
	nd_put();
	return ret;
}

/* Counts the pages to which somebody other than the pmem driver refers. */
u64 p2pmem_pmem_referred(struct p2pmem_region *r)
{
	u64 granules = r->backing.bytes >> PAGE_SHIFT, at, referred = 0;
	struct dev_pagemap *pages = p2pmem_pmem_pages_get(r);

	if (!pages)
		return 0;
	for (at = 0; at < granules; at++) {
		referred += page_ref_count(p2pmem_page(r, at)) > COMPAT_FS_DAX_REST;
		cond_resched();
	}
	put_dev_pagemap(pages);
	return referred;
}

/*
 * Claims the disk, so that nobody can mount it any more, if nobody has it open or refers
 * to its pages.  A pipe or a request of another device may refer to pages when the file
 * is no longer mapped and, up to 6.14, when the file system has been unmounted:
 * memunmap_pages() waits for none of them.
 */
static bool claim_disk(struct p2pmem_pmem *p)
{
	struct disk disk;

	if (!find_disk(p->region, &disk))
		return true;
	if (disk.in_use)
		return false;
	p->disk = compat_claim_disk(disk.dev, p);
	if (IS_ERR(p->disk)) {
		p->disk = NULL;
		return false;
	}
	if (!p2pmem_pmem_referred(p->region))
		return true;
	compat_unclaim_disk(p->disk, p);
	p->disk = NULL;
	return false;
}

/*
 * Takes the pmem device away as soon as that is possible; returns true when it is gone.  A
 * DAX file system keeps entries that lead to struct pages until it is unmounted: ext4 does
 * not drop them when it loses its disk (fs/dax.c, dax_disassociate_entry()).  Only the
 * thread that ends the region, or whose add failed, calls this, so no two calls run at once.
 */
bool p2pmem_pmem_leave(struct p2pmem_region *r)
{
	struct p2pmem_pmem *p = r->backing.pmem;

	if (!test_bit(0, &p->left) && claim_disk(p)) {
		set_bit(0, &p->left);
		queue_work(p2pmem_wq, &p->leave);
	}
	return test_bit(1, &p->left);
}

void p2pmem_pmem_close(struct p2pmem_region *r, struct p2pmem_backing *b)
{
	struct p2pmem_pmem *p = b->pmem;
	unsigned long tell_at = jiffies + TELL_AFTER;
	bool told = false;
	struct disk disk;

	/* The pmem device has left, unless the add failed; then somebody may have mounted it. */
	while (!p2pmem_pmem_leave(r)) {
		msleep(PROBE_INTERVAL_MS);
		if (told || time_before(jiffies, tell_at) || !find_disk(r, &disk))
			continue;
		pci_warn(r->pdev, "no region was made of the memory, and %s waits to be taken away until nobody uses it: unmount or close it\n",
			 disk.name);
		told = true;
	}
	flush_work(&p->leave);
	cancel_work_sync(&p->look);
	claim_give_back(p);
	put_device(nd.region_dev(p->range));
	kfree(p);
	iounmap(b->anchor);
	b->anchor = NULL;
	nd_put();
	module_put(THIS_MODULE);
}

/* May this region be a pmem device?  This is called before anything of it is made. */
int p2pmem_pmem_vet(struct p2pmem_region *r, struct p2pmem_region_add *req)
{
	if (!r->persistent) {
		p2pmem_reason(req->reason, "memory of kind %s is volatile, and a pmem device is not: use the Persistent Memory Region of a drive (nvme-pmr)",
			      r->provider->name);
		return -EOPNOTSUPP;
	}
	if (r->folio_order) {
		p2pmem_reason(req->reason, "the pages of a pmem device are made by its driver: leave the size of folios out");
		return -EOPNOTSUPP;
	}
	return 0;
}
