// SPDX-License-Identifier: GPL-2.0
/*
 * Resets of a function that p2pmem drives: who begins one, and who says that it
 * is over.  Meanwhile its regions are closed to whoever zeroes pages.  The PCI
 * core makes every call with the device lock held, and that lock is what the two
 * flags are under.  docs/lifetime.md says which calls follow one another.
 *
 * The end of a reset and of a suspend is always told.  That of an error recovery
 * is, if it succeeded; of a failure a driver hears only where
 * COMPAT_TELLS_FAILED_RECOVERY.  Elsewhere a work item watches, which belongs to
 * the binding: p2pmem_resets_leave() waits for it.  It only tries the device lock,
 * which that caller has.
 */
#include <linux/jiffies.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "importers.h"
#include "p2pmem.h"
#include "registry.h"
#include "removal.h"
#include "resets.h"

/*
 * The PCI core gives a function 60 s to come back from a reset
 * (PCIE_RESET_READY_POLL_MS), and drivers of others below the port have their turn.
 */
#define RECOVERY_PATIENCE	(90 * HZ)
#define WATCH_INTERVAL		HZ

/* Drvdata of the function. */
struct function {
	struct pci_dev *pdev;
	bool resetting;		/* a reset or a suspend; both flags under the device lock */
	bool recovering;	/* from an error */
	unsigned long heard;	/* jiffies of the last word; under the device lock */
	struct delayed_work watch;
};

/* A reset takes BARs and command register; who restores them makes it whole. */
static bool answers(struct pci_dev *pdev)
{
	u16 command;

	if (!pci_device_is_present(pdev))
		return false;
	pci_read_config_word(pdev, PCI_COMMAND, &command);
	return command & PCI_COMMAND_MEMORY;
}

static bool works(struct pci_dev *pdev)
{
	return READ_ONCE(pdev->error_state) == pci_channel_io_normal && answers(pdev);
}

static void close_region(struct p2pmem_region *r)
{
	down_write(&r->gate);	/* whoever zeroes pages has ended */
	r->reset_began = jiffies;
	WRITE_ONCE(r->resetting, true);
	p2pmem_imports_outdate(r);
	up_write(&r->gate);
}

/* Counted at the end: who syncs meanwhile has an error anyway. */
static void open_region(struct p2pmem_region *r)
{
	if (!READ_ONCE(r->resetting))	/* an error closed nothing */
		p2pmem_imports_outdate(r);
	down_write(&r->gate);	/* whoever is in there sees both, or neither */
	atomic64_inc(&r->resets);
	WRITE_ONCE(r->resetting, false);
	up_write(&r->gate);
	wake_up_all(&r->wait);
	dev_warn(&r->dev, "the device was reset; what was written to its memory may be lost\n");
}

/* They end as if the device had been pulled out.  Waits for nothing. */
static void lose_region(struct p2pmem_region *r)
{
	WRITE_ONCE(r->lost, true);
	p2pmem_remove_start(r);
}

/* The device forgets, or is about to.  Before one of the flags is set. */
static void begin(struct function *f)
{
	device_lock_assert(&f->pdev->dev);
	if (f->resetting || f->recovering)
		return;
	p2pmem_for_regions_of(f->pdev, close_region);
	p2pmem_for_regions_of(f->pdev, p2pmem_imports_await);
}

/* After one of them was cleared. */
static void settle(struct function *f)
{
	device_lock_assert(&f->pdev->dev);
	if (f->resetting || f->recovering)
		return;
	if (works(f->pdev)) {
		p2pmem_for_regions_of(f->pdev, open_region);
	} else {
		pci_err(f->pdev, "does not work after a reset or an error: its regions end; remove the function and rescan its bus to have it back\n");
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

	/* Who has it resets the function, tells it something, or ends its binding. */
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

/* In probe().  From here on the PCI core's calls are answered. */
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

/* In remove(), before its regions end: of a recovery under way nothing is heard any more. */
void p2pmem_resets_leave(struct pci_dev *pdev)
{
	struct function *f = pci_get_drvdata(pdev);

	cancel_delayed_work_sync(&f->watch);
	if (f->recovering)
		end_recovery(f);
}

/* At the end of remove(). */
void p2pmem_resets_free(struct pci_dev *pdev)
{
	kfree(pci_get_drvdata(pdev));
}

/* Between an error and the end of the recovery from it, and for ever if that failed: false. */
bool p2pmem_resets_over(struct pci_dev *pdev)
{
	struct function *f = pci_get_drvdata(pdev);

	device_lock_assert(&pdev->dev);
	return !f->recovering && works(pdev);
}

static void reset_prepare(struct pci_dev *pdev)
{
	struct function *f = pci_get_drvdata(pdev);

	begin(f);
	f->resetting = true;
}

/* Follows in any case, whether the reset succeeded or not. */
static void reset_done(struct pci_dev *pdev)
{
	struct function *f = pci_get_drvdata(pdev);

	f->resetting = false;
	if (answers(pdev))
		pci_save_state(pdev);	/* before 7.x a restore uses it up */
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
 * Some request was lost, even if the link needs no reset.  Where another function
 * below the port asks for one, kernels that tell of a failure reset the bus; older
 * ones do not after an error that is not fatal, and may never say another word.
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
		p2pmem_for_regions_of(pdev, open_region);	/* counts it */
	return PCI_ERS_RESULT_CAN_RECOVER;
}

static pci_ers_result_t slot_reset(struct pci_dev *pdev)
{
	hear(pci_get_drvdata(pdev));
	pci_restore_state(pdev);
	if (!answers(pdev))
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
 * themselves.  The PCI core takes the power; regions stay, their bytes may not.
 * No device sleeps before the one call, nor when the other comes: importers of dma-bufs
 * are told while their devices still do what they are told, or else afterwards.
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
