// SPDX-License-Identifier: GPL-2.0
/*
 * Holds the device lock of a PCI function while it is loaded, and is never
 * loaded: a signal to insmod ends both.  So does a driver that probes a device
 * which does not answer.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/pci.h>

static char *bdf;
module_param(bdf, charp, 0444);
MODULE_PARM_DESC(bdf, "the function");

static bool holds;
module_param(holds, bool, 0444);
MODULE_PARM_DESC(holds, "whether it has the lock");

static int __init busy_init(void)
{
	struct device *dev = bdf ? bus_find_device_by_name(&pci_bus_type, NULL, bdf) : NULL;

	if (!dev)
		return -ENODEV;
	device_lock(dev);
	WRITE_ONCE(holds, true);
	while (!msleep_interruptible(1000))
		;
	device_unlock(dev);
	put_device(dev);
	return -EINTR;
}

module_init(busy_init);

MODULE_DESCRIPTION("Holds the device lock of a PCI function, for tests");
MODULE_LICENSE("GPL");
