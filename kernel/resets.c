// SPDX-License-Identifier: GPL-2.0
/*
 * Resets of a function that p2pmem drives: what begins one, and what says that it
 * is over.  Meanwhile nobody can zero pages of the function's regions.  The PCI core
 * makes every call with the device lock held, which protects the two flags.
 * docs/lifetime.md says which calls follow one another.
 *
 * The PCI core always tells the driver that a reset or a suspend is over, and that an
 * error recovery has succeeded.  It says that a recovery has failed only where
 * COMPAT_TELLS_FAILED_RECOVERY.  Elsewhere a work item watches for that.  It belongs
 * to the binding of the driver: p2pmem_resets_leave() waits for it with the device
 * lock held, so the work item only tries that lock.
 */
#include <linux/jiffies.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "answers.h"
#include "importers.h"
#include "p2pmem.h"
#include "reason.h"
#include "registry.h"
#include "removal.h"
#include "resets.h"

/*
 * The PCI core gives a function 60 s to come back from a reset
 * (PCIE_RESET_READY_POLL_MS), and also calls the drivers of others below the port.
 */
#define RECOVERY_PATIENCE	(90 * HZ)
#define WATCH_INTERVAL		HZ

/* Drvdata of the function. */
struct function {
	struct pci_dev *pdev;
	bool resetting;		/* in a reset or a suspend; both flags under the device lock */
	bool recovering;	/* from an error */
	unsigned long heard;	/* jiffies of the last call; under the device lock */
	struct delayed_work watch;
};

static void close_region(struct p2pmem_region *r)
{
	down_write(&r->gate);	/* nobody zeroes pages any more */
	r->reset_began = jiffies;
	WRITE_ONCE(r->resetting, true);
	p2pmem_imports_outdate(r);
	up_write(&r->gate);
}

/* The reset is counted at its end, because SYNC fails meanwhile anyway. */
static void open_region(struct p2pmem_region *r)
{
	if (!READ_ONCE(r->resetting))	/* an error that closed nothing */
		p2pmem_imports_outdate(r);
	down_write(&r->gate);	/* users inside see both changes, or neither */
	atomic64_inc(&r->resets);
	WRITE_ONCE(r->resetting, false);
	up_write(&r->gate);
	wake_up_all(&r->wait);
	dev_warn(&r->dev, "the device was reset; what was written to its memory may be lost\n");
}

/* Ends the region as if the device had been pulled out.  Waits for nothing. */
static void lose_region(struct p2pmem_region *r)
{
	WRITE_ONCE(r->lost, true);
	p2pmem_remove_start(r);
}

/* The device loses its memory, or is about to.  Called before one of the flags is set. */
static void begin(struct function *f)
{
	device_lock_assert(&f->pdev->dev);
	if (f->resetting || f->recovering)
		return;
	p2pmem_for_regions_of(f->pdev, close_region);
	p2pmem_for_regions_of(f->pdev, p2pmem_imports_await);
}

/* Called after one of the flags was cleared. */
static void settle(struct function *f)
{
	device_lock_assert(&f->pdev->dev);
	if (f->resetting || f->recovering)
		return;
	if (p2pmem_function_works(f->pdev)) {
		p2pmem_for_regions_of(f->pdev, open_region);
	} else {
		pci_err(f->pdev, "does not work after a reset or an error: its regions end; %s to have it back\n",
			p2pmem_made_anew(f->pdev));
		p2pmem_for_regions_of(f->pdev, lose_region);
	}
}

static void end_recovery(struct function *f)
{
	f->recovering = false;
	settle(f);
}

static void watch_fn(struct work_struct *work)
{
	struct function *f = container_of(to_delayed_work(work), struct function, watch);
	bool over = false;

	/* The holder of the lock resets the function, calls its driver, or ends its binding. */
	if (device_trylock(&f->pdev->dev)) {
		if (f->recovering && !f->resetting &&
		    time_after(jiffies, f->heard + RECOVERY_PATIENCE)) {
			pci_err(f->pdev, "no word of its error recovery for %u s: it has failed\n",
				RECOVERY_PATIENCE / HZ);
			end_recovery(f);
		}
		over = !f->recovering;
		device_unlock(&f->pdev->dev);
	}
	if (!over)
		queue_delayed_work(p2pmem_wq, &f->watch, WATCH_INTERVAL);
}

static void hear(struct function *f)
{
	device_lock_assert(&f->pdev->dev);
	f->heard = jiffies;
}

/* Called by probe().  From here on the calls of the PCI core are answered. */
int p2pmem_resets_watch(struct pci_dev *pdev)
{
	struct function *f = kzalloc(sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	f->pdev = pdev;
	INIT_DELAYED_WORK(&f->watch, watch_fn);
	pci_set_drvdata(pdev, f);
	pci_save_state(pdev);	/* for slot_reset() */
	return 0;
}

/* Called by remove() before its regions end.  No more calls come from a recovery under way. */
void p2pmem_resets_leave(struct pci_dev *pdev)
{
	struct function *f = pci_get_drvdata(pdev);

	cancel_delayed_work_sync(&f->watch);
	if (f->recovering)
		end_recovery(f);
}

/* Called at the end of remove(). */
void p2pmem_resets_free(struct pci_dev *pdev)
{
	kfree(pci_get_drvdata(pdev));
}

/* False from an error to the end of the recovery from it, and for ever if that failed. */
bool p2pmem_resets_over(struct pci_dev *pdev)
{
	struct function *f = pci_get_drvdata(pdev);

	device_lock_assert(&pdev->dev);
	return !f->recovering && p2pmem_function_works(pdev);
}

static void reset_prepare(struct pci_dev *pdev)
{
	struct function *f = pci_get_drvdata(pdev);

	begin(f);
	f->resetting = true;
}

/* The PCI core calls this in any case, whether the reset succeeded or not. */
static void reset_done(struct pci_dev *pdev)
{
	struct function *f = pci_get_drvdata(pdev);

	f->resetting = false;
	if (p2pmem_function_answers(pdev))
		pci_save_state(pdev);	/* before 7.x a restore uses up the saved state */
	hear(f);
	settle(f);
}

static pci_ers_result_t recover(struct function *f, pci_ers_result_t vote)
{
	begin(f);
	f->recovering = true;
	hear(f);
	if (!COMPAT_TELLS_FAILED_RECOVERY)
		mod_delayed_work(p2pmem_wq, &f->watch, WATCH_INTERVAL);
	return vote;
}

/*
 * Some request was lost, even if the link needs no reset.  If another function below the
 * port asks for a reset, kernels that report a failed recovery reset the bus.  After an
 * error that is not fatal older kernels do not, and may never call this driver again.
 */
static pci_ers_result_t error_detected(struct pci_dev *pdev,
				       pci_channel_state_t state)
{
	struct function *f = pci_get_drvdata(pdev);

	if (state == pci_channel_io_perm_failure) {
		end_recovery(f);
		return PCI_ERS_RESULT_DISCONNECT;
	}
	if (state == pci_channel_io_frozen)
		return recover(f, PCI_ERS_RESULT_NEED_RESET);
	if (COMPAT_TELLS_FAILED_RECOVERY)
		return recover(f, PCI_ERS_RESULT_CAN_RECOVER);
	if (!f->resetting && !f->recovering)
		p2pmem_for_regions_of(pdev, open_region);	/* counts the error as a reset */
	return PCI_ERS_RESULT_CAN_RECOVER;
}

static pci_ers_result_t slot_reset(struct pci_dev *pdev)
{
	hear(pci_get_drvdata(pdev));
	pci_restore_state(pdev);
	if (!p2pmem_function_answers(pdev))
		return PCI_ERS_RESULT_DISCONNECT;
	pci_save_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void resume(struct pci_dev *pdev)
{
	struct function *f = pci_get_drvdata(pdev);

	if (f->recovering)
		end_recovery(f);
}

const struct pci_error_handlers p2pmem_resets_handlers = {
	.reset_prepare = reset_prepare,
	.reset_done = reset_done,
	.error_detected = error_detected,
	.slot_reset = slot_reset,
	.resume = resume,
};

static void fall_asleep(struct p2pmem_region *r)
{
	WRITE_ONCE(r->asleep, true);
}

static void wake(struct p2pmem_region *r)
{
	WRITE_ONCE(r->asleep, false);
	wake_up_all(&r->wait);
}

/*
 * Processes are frozen, and devices that know the memory's address suspend by
 * themselves.  The PCI core takes the function's power away: regions stay, but their bytes
 * may be lost.  No device sleeps before prepare(), and all are awake at complete().  So
 * importers of dma-bufs are told before any device sleeps, while their own devices can still
 * be stopped; importers that were not told by then are told after the suspend.
 */
static int sleep_begins(struct device *dev)
{
	reset_prepare(to_pci_dev(dev));
	p2pmem_for_regions_of(to_pci_dev(dev), fall_asleep);
	return 0;
}

static void sleep_ends(struct device *dev)
{
	p2pmem_for_regions_of(to_pci_dev(dev), wake);
	reset_done(to_pci_dev(dev));
}

const struct dev_pm_ops p2pmem_resets_pm = {
	.prepare = sleep_begins,
	.complete = sleep_ends,
};
