// SPDX-License-Identifier: GPL-2.0
/*
 * Has the kernel recover a function from an error, once, with an outcome that the
 * test chooses.  The walk over the functions and its calls are the kernel's own
 * (pcie_do_recovery()); the reset is this module's, and so is the vote of another
 * function below the port.  An injected error would take the path of success on
 * each machine of the lab: its functions sit alone below their ports, and the
 * emulator's resets do not fail.  Or has it sleep and wake: the whole machine
 * cannot, as its 9p file systems do not wake with it.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/workqueue.h>

static char *bdf;
module_param(bdf, charp, 0);
MODULE_PARM_DESC(bdf, "the function, as DDDD:BB:DD.F; it has a driver with error handlers");

static bool fatal;
module_param(fatal, bool, 0);
MODULE_PARM_DESC(fatal, "the error is");

static uint vote;
module_param(vote, uint, 0);
MODULE_PARM_DESC(vote, "what all functions together answer to the error (enum pci_ers_result); 0: what this one does");

static bool disagree;
module_param(disagree, bool, 0);
MODULE_PARM_DESC(disagree, "another function says after the reset that it does not work");

static bool fail;
module_param(fail, bool, 0);
MODULE_PARM_DESC(fail, "the bus's reset does: what is below it has lost its configuration");

static bool sleep;
module_param(sleep, bool, 0);
MODULE_PARM_DESC(sleep, "there is no error: the function is suspended, loses its power and wakes");

static bool hold;
module_param(hold, bool, 0644);
MODULE_PARM_DESC(hold, "until this is N, the reset does not end");

static bool early;
module_param(early, bool, 0);
MODULE_PARM_DESC(early, "hold is waited for before the reset, and not after it");

static bool held;
module_param(held, bool, 0444);
MODULE_PARM_DESC(held, "the bus has been reset (early: is about to be), and hold is waited for");

static bool over;
module_param(over, bool, 0444);
MODULE_PARM_DESC(over, "the recovery, or the sleep, is");

static char calls[128];
module_param_string(calls, calls, sizeof(calls), 0444);
MODULE_PARM_DESC(calls, "of the function's driver, until now");

typedef pci_ers_result_t recover_fn(struct pci_dev *dev, pci_channel_state_t state,
				    pci_ers_result_t (*reset)(struct pci_dev *bridge));

static recover_fn *do_recovery;
static struct pci_dev *pdev;
static struct pci_driver *driver;
static const struct pci_error_handlers *real;

static void called(const char *what)
{
	size_t at = strlen(calls);

	scnprintf(calls + at, sizeof(calls) - at, "%s%s", at ? " " : "", what);
}

static pci_ers_result_t error_detected(struct pci_dev *dev, pci_channel_state_t state)
{
	static const char *const names[] = { "?", "normal", "frozen", "failed" };
	unsigned int at = (__force unsigned int)state;
	pci_ers_result_t own = real->error_detected(dev, state);

	called(names[at < ARRAY_SIZE(names) ? at : 0]);
	return vote && state != pci_channel_io_perm_failure ? (__force pci_ers_result_t)vote : own;
}

static pci_ers_result_t slot_reset(struct pci_dev *dev)
{
	pci_ers_result_t own = real->slot_reset(dev);

	called("slot_reset");
	return disagree ? PCI_ERS_RESULT_DISCONNECT : own;
}

static void resume(struct pci_dev *dev)
{
	real->resume(dev);
	called("resume");
}

static struct pci_error_handlers handlers;

static void wait_while_held(void)
{
	WRITE_ONCE(held, true);
	while (READ_ONCE(hold))
		msleep(20);
}

static pci_ers_result_t reset_bus(struct pci_dev *bridge)
{
	if (early)
		wait_while_held();
	device_lock(&pdev->dev);
	pci_cfg_access_lock(bridge);
	pci_bridge_secondary_bus_reset(bridge);
	pci_cfg_access_unlock(bridge);
	device_unlock(&pdev->dev);
	called("reset");
	if (!early)
		wait_while_held();
	return fail ? PCI_ERS_RESULT_DISCONNECT : PCI_ERS_RESULT_RECOVERED;
}

/* Suspends and resumes one function, as the PM core and the PCI core do. */
static void sleep_and_wake(void)
{
	const struct dev_pm_ops *pm = driver->driver.pm;

	device_lock(&pdev->dev);
	pm->prepare(&pdev->dev);
	called("prepare");
	pci_save_state(pdev);
	device_unlock(&pdev->dev);
	reset_bus(pci_upstream_bridge(pdev));
	device_lock(&pdev->dev);
	pci_restore_state(pdev);
	pm->complete(&pdev->dev);
	called("complete");
	device_unlock(&pdev->dev);
}

static void recover(struct work_struct *work)
{
	if (sleep)
		sleep_and_wake();
	else
		do_recovery(pdev, fatal ? pci_channel_io_frozen : pci_channel_io_normal,
			    reset_bus);
	WRITE_ONCE(over, true);
}

static DECLARE_WORK(recovery, recover);

/* The kernel exports it since 7.x only. */
static int find_recovery(void)
{
	struct kprobe probe = { .symbol_name = "pcie_do_recovery" };
	int ret = register_kprobe(&probe);

	if (ret)
		return ret;
	do_recovery = (recover_fn *)probe.addr;
	unregister_kprobe(&probe);
	return 0;
}

static int find_function(void)
{
	unsigned int domain, bus, device, function;

	if (!bdf || sscanf(bdf, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return -EINVAL;
	pdev = pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(device, function));
	return pdev ? 0 : -ENODEV;
}

/* The test neither unbinds the driver nor unloads it before this module. */
static int take_handlers(void)
{
	int ret = -ENODEV;

	device_lock(&pdev->dev);
	driver = pdev->driver;
	if (driver && sleep && !driver->driver.pm) {
		ret = -EOPNOTSUPP;	/* a kernel without CONFIG_PM_SLEEP */
	} else if (driver && driver->err_handler) {
		real = driver->err_handler;
		handlers = *real;
		handlers.error_detected = error_detected;
		handlers.slot_reset = slot_reset;
		handlers.resume = resume;
		driver->err_handler = &handlers;
		ret = 0;
	}
	device_unlock(&pdev->dev);
	return ret;
}

static int __init recovery_init(void)
{
	int ret = find_recovery() ?: find_function();

	if (ret)
		return ret;
	ret = take_handlers();
	if (ret)
		pci_dev_put(pdev);
	else
		schedule_work(&recovery);
	return ret;
}

static void __exit recovery_exit(void)
{
	WRITE_ONCE(hold, false);
	flush_work(&recovery);
	device_lock(&pdev->dev);
	driver->err_handler = real;
	device_unlock(&pdev->dev);
	pci_dev_put(pdev);
}

module_init(recovery_init);
module_exit(recovery_exit);

MODULE_DESCRIPTION("Error recovery with a chosen outcome, for tests");
MODULE_LICENSE("GPL");
