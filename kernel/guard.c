// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that another driver runs (nvme): ends their regions when that driver leaves,
 * and finds out about resets, of which only that driver is told.
 *
 * The driver core announces by BUS_NOTIFY_UNBIND_DRIVER that the driver leaves.  This
 * comes before the driver's .remove, with the bus's chain of notifiers locked for
 * reading.  Whoever registers a notifier then waits, and behind it every bind and unbind
 * of the bus.  So the notifier (notifier.c) only begins the removal, and gives requests
 * in flight a moment.
 *
 * The guard, a device resource of the function, waits for what is held longer.  The core
 * releases it after .remove and before anybody else can have the function.  The core holds
 * the function's own lock meanwhile, and in a hot-unplug also that of all PCI hotplug.  The
 * memory is there until then: .remove stops the controller, but takes away neither its
 * power nor its BARs.  Resources are released in reverse order, and the guard becomes the
 * last one whenever a region is added.  So its wait precedes the end of a P2PDMA pool that
 * the region is a part of.
 *
 * A reset is found by a mark in the copy of the function's configuration space that the
 * PCI core keeps in struct pci_dev.  The core overwrites the copy before it suspends a
 * function, and before it resets it by any method, except in the recovery from an error.
 * The nvme driver overwrites it at the end of each reset of the controller, and of such a
 * recovery; until then the function's error_state or command register tells (answers.c).
 * Nothing tells of an error that the driver gets over without a reset.  The mark has the
 * place of a read-only register, so it does nothing if it is ever restored.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "guard.h"
#include "p2pmem.h"
#include "removal.h"

/*
 * A function with a guard.  It is on the list until BUS_NOTIFY_UNBOUND_DRIVER, which
 * follows the release of the guard before the device lock is dropped.  So whoever takes
 * that lock and finds the function gone from the list knows that guard_release() is over.
 */
struct p2pmem_guarded {
	struct list_head link;
	struct pci_dev *pdev;
	bool marked;
	u64 resets;
};

/*
 * Replaces the vendor and device IDs.  No device has it, and one that is gone does not
 * return it.
 */
#define RESET_MARK	0x70326d6d
#define MARK_INDEX	(PCI_VENDOR_ID / 4)

static DEFINE_MUTEX(guarded_lock);
static LIST_HEAD(guarded_functions);

static void guard_release(struct device *dev, void *res)
{
	p2pmem_remove_regions_of(to_pci_dev(dev));
}

/* The caller holds guarded_lock. */
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
 * The caller holds the device lock, under which resets are made.  So the mark is in place
 * before a reset begins, or after it ended.
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

/*
 * The caller holds guarded_lock and the device lock.  A user inside a region may wait for
 * guarded_lock, so this allocation must not wait for a drive (gate.c).
 */
static struct p2pmem_guarded *guarded_new(struct pci_dev *pdev)
{
	struct p2pmem_guarded *g = kzalloc(sizeof(*g), GFP_NOIO);

	lockdep_assert_held(&guarded_lock);
	if (!g)
		return NULL;
	g->pdev = pci_dev_get(pdev);
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

/*
 * The caller holds the device lock.  Replaces the mark by the IDs that the PCI core had
 * read there.
 */
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
	pci_dev_put(g->pdev);
	kfree(g);
}

/*
 * Called before a region is added to a function that another driver runs.  The caller
 * holds the device lock.
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
 * How many resets of the function were noticed so far.  If the device lock is busy, a
 * reset may be under way that has yet to do its harm.  Then each call counts one more,
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

/* For a caller that ends before the function's guard does.  It holds the device lock. */
const struct p2pmem_guarded *p2pmem_guard_of(struct pci_dev *pdev)
{
	const struct p2pmem_guarded *g;

	device_lock_assert(&pdev->dev);
	mutex_lock(&guarded_lock);
	g = guarded_find(pdev);
	mutex_unlock(&guarded_lock);
	return g;
}

/* Was there a reset since the count was @resets?  Takes no lock. */
bool p2pmem_guard_saw_reset(const struct p2pmem_guarded *g, u64 resets)
{
	bool marked = mark_is_there(g);

	smp_rmb(); /* pairs with put_mark() */
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

/* Called by the notifier when the driver and its device resources are gone. */
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

/* Called at module exit, while the notifier is still registered. */
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
