// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that another driver runs (nvme): the end of the regions on them when
 * that driver leaves, and resets, of which that driver alone is told.
 *
 * The driver core says so by BUS_NOTIFY_UNBIND_DRIVER, before the driver's
 * .remove, with the bus's chain of notifiers locked for reading: who registers a
 * notifier then waits, and after it every bind and unbind of the bus.  So the
 * notifier (notifier.c) only begins the removal, and gives requests in flight a moment.
 *
 * What is held for longer is waited for by the guard, a device resource of the
 * function.  The core releases it after .remove and before anybody else can have
 * the function, with no lock but the function's own.  The memory is there until
 * then: .remove stops the controller, but neither takes its power nor its BARs.
 * Resources are released in reverse order, and the guard is the last whenever a
 * region is added: so its wait precedes the end of a P2PDMA pool that the region
 * is a part of.
 *
 * A reset is found out by a mark in the copy of the function's configuration space
 * that the PCI core keeps in struct pci_dev.  The core overwrites the copy before it
 * resets a function by any method and before it suspends it, and so does the nvme
 * driver in each reset of the controller and recovery of an error.  The mark stands
 * for a read-only register: should it ever be restored, nothing takes it.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include "guard.h"
#include "p2pmem.h"
#include "removal.h"

/*
 * A function with a guard.  On the list until BUS_NOTIFY_UNBOUND_DRIVER, which
 * follows the release of the guard under the same hold of the device lock: who
 * has that lock and finds the function gone knows that guard_release() is over.
 */
struct p2pmem_guarded {
	struct list_head link;
	struct pci_dev *pdev;
	bool marked;
	u64 resets;
};

/* In the place of vendor and device; no device has it, nor has one that is gone. */
#define RESET_MARK	0x70326d6d
#define MARK_INDEX	(PCI_VENDOR_ID / 4)

static DEFINE_MUTEX(guarded_lock);
static LIST_HEAD(guarded_functions);

static void guard_release(struct device *dev, void *res)
{
	p2pmem_remove_regions_of(to_pci_dev(dev));
}

/* guarded_lock is held. */
static struct p2pmem_guarded *guarded_find(struct pci_dev *pdev)
{
	struct p2pmem_guarded *g;

	lockdep_assert_held(&guarded_lock);
	list_for_each_entry(g, &guarded_functions, link)
		if (g->pdev == pdev)
			return g;
	return NULL;
}

/*
 * The device lock is held, which resets are made under: the mark is in place
 * before one begins, or after it ended.
 */
static void put_mark(struct p2pmem_guarded *g)
{
	device_lock_assert(&g->pdev->dev);
	smp_wmb(); /* counted before the evidence goes: p2pmem_guard_saw_reset() */
	WRITE_ONCE(g->pdev->saved_config_space[MARK_INDEX], RESET_MARK);
	WRITE_ONCE(g->marked, true);
}

static bool mark_is_there(const struct p2pmem_guarded *g)
{
	return READ_ONCE(g->marked) &&
	       READ_ONCE(g->pdev->saved_config_space[MARK_INDEX]) == RESET_MARK;
}

/* guarded_lock and the device lock are held. */
static struct p2pmem_guarded *guarded_new(struct pci_dev *pdev)
{
	struct p2pmem_guarded *g = kzalloc(sizeof(*g), GFP_KERNEL);

	lockdep_assert_held(&guarded_lock);
	if (!g)
		return NULL;
	g->pdev = pci_dev_get(pdev);
	/* Without a driver it might lose power while the guard waits. */
	pm_runtime_get_noresume(&pdev->dev);
	put_mark(g);
	list_add(&g->link, &guarded_functions);
	return g;
}

static int guarded_add(struct pci_dev *pdev)
{
	struct p2pmem_guarded *g;

	mutex_lock(&guarded_lock);
	g = guarded_find(pdev);
	if (!g) {
		g = guarded_new(pdev);
	} else if (!mark_is_there(g)) {
		WRITE_ONCE(g->resets, g->resets + 1);
		put_mark(g);
	}
	mutex_unlock(&guarded_lock);
	return g ? 0 : -ENOMEM;
}

/* The device lock is held: the copy is again what the PCI core had read. */
static void guarded_forget(struct pci_dev *pdev)
{
	struct p2pmem_guarded *g;

	device_lock_assert(&pdev->dev);
	mutex_lock(&guarded_lock);
	g = guarded_find(pdev);
	if (g)
		list_del(&g->link);
	mutex_unlock(&guarded_lock);
	if (!g)
		return;
	if (mark_is_there(g))
		pdev->saved_config_space[MARK_INDEX] = pdev->device << 16 | pdev->vendor;
	pm_runtime_put(&pdev->dev);
	pci_dev_put(g->pdev);
	kfree(g);
}

/*
 * Before a region is added to a function that another driver runs.  The device
 * lock is held.
 */
int p2pmem_guard(struct pci_dev *pdev)
{
	void *guard;
	int ret;

	device_lock_assert(&pdev->dev);
	ret = guarded_add(pdev);
	if (ret)
		return ret;
	guard = devres_remove(&pdev->dev, guard_release, NULL, NULL);
	if (!guard)
		guard = devres_alloc(guard_release, 1, GFP_KERNEL);
	if (!guard)
		return -ENOMEM;
	devres_add(&pdev->dev, guard);
	return 0;
}

/*
 * Resets of the function that were noticed so far.  While the device lock cannot be
 * had, a reset may be under way that is yet to do its harm: each look counts anew,
 * until the mark is back.
 */
u64 p2pmem_guard_resets(struct pci_dev *pdev)
{
	struct p2pmem_guarded *g;
	u64 resets = 0;

	mutex_lock(&guarded_lock);
	g = guarded_find(pdev);
	if (g && !mark_is_there(g)) {
		WRITE_ONCE(g->resets, g->resets + 1);
		WRITE_ONCE(g->marked, false);
		if (device_trylock(&pdev->dev)) {
			put_mark(g);
			device_unlock(&pdev->dev);
		}
	}
	if (g)
		resets = g->resets;
	mutex_unlock(&guarded_lock);
	return resets;
}

/* For who ends before the function's guard does; the device lock is held. */
const struct p2pmem_guarded *p2pmem_guard_of(struct pci_dev *pdev)
{
	const struct p2pmem_guarded *g;

	device_lock_assert(&pdev->dev);
	mutex_lock(&guarded_lock);
	g = guarded_find(pdev);
	mutex_unlock(&guarded_lock);
	return g;
}

/* Without a lock: has there been a reset since there were @resets? */
bool p2pmem_guard_saw_reset(const struct p2pmem_guarded *g, u64 resets)
{
	bool marked = mark_is_there(g);

	smp_rmb(); /* put_mark() */
	return !marked || READ_ONCE(g->resets) != resets;
}

bool p2pmem_is_guarded(struct pci_dev *pdev)
{
	bool guarded;

	mutex_lock(&guarded_lock);
	guarded = guarded_find(pdev);
	mutex_unlock(&guarded_lock);
	return guarded;
}

/* From the notifier: the driver and its resources are gone. */
void p2pmem_guard_unbound(struct pci_dev *pdev)
{
	guarded_forget(pdev);
}

static struct pci_dev *guarded_first(void)
{
	struct p2pmem_guarded *g;
	struct pci_dev *pdev;

	mutex_lock(&guarded_lock);
	g = list_first_entry_or_null(&guarded_functions, struct p2pmem_guarded, link);
	pdev = g ? pci_dev_get(g->pdev) : NULL;
	mutex_unlock(&guarded_lock);
	return pdev;
}

/* At module exit, while the notifier is still there. */
void p2pmem_guards_exit(void)
{
	struct pci_dev *pdev;

	while ((pdev = guarded_first())) {
		device_lock(&pdev->dev);
		devres_release(&pdev->dev, guard_release, NULL, NULL);
		guarded_forget(pdev);
		device_unlock(&pdev->dev);
		pci_dev_put(pdev);
	}
}
