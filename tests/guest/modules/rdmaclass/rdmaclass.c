// SPDX-License-Identifier: GPL-2.0
/*
 * While it is loaded, a PCI function looks as if its driver had registered an RDMA
 * device: a device of a class "infiniband" is below it, or below an auxiliary device of
 * it, as drivers in two parts have it.  The class is not the kernel's, so ib_core must not
 * be loaded.
 */
#include <linux/auxiliary_bus.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/pci.h>

static char *function;
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "the PCI function, as DOMAIN:BUS:DEVICE.FUNCTION");

static bool auxiliary;
module_param(auxiliary, bool, 0444);
MODULE_PARM_DESC(auxiliary, "whether an auxiliary device is between the two");

static struct class rdma_class = { .name = "infiniband" };
static struct device *rdma_device;
static struct pci_dev *pdev;

static void between_release(struct device *dev)
{
}

static struct auxiliary_device between = {
	.name = "rdma",
	.dev.release = between_release,
};

static int add_between(struct device *parent)
{
	int err;

	between.dev.parent = parent;
	err = auxiliary_device_init(&between);
	if (err)
		return err;
	err = auxiliary_device_add(&between);
	if (err)
		auxiliary_device_uninit(&between);
	return err;
}

static void remove_between(void)
{
	auxiliary_device_delete(&between);
	auxiliary_device_uninit(&between);
}

static int add_device(void)
{
	struct device *parent = &pdev->dev;
	int err;

	if (auxiliary) {
		err = add_between(parent);
		if (err)
			return err;
		parent = &between.dev;
	}
	rdma_device = device_create(&rdma_class, parent, 0, NULL, "lookalike0");
	if (!IS_ERR(rdma_device))
		return 0;
	if (auxiliary)
		remove_between();
	return PTR_ERR(rdma_device);
}

static struct pci_dev *find_function(void)
{
	unsigned int domain, bus, slot, func;

	if (!function ||
	    sscanf(function, "%x:%x:%x.%x", &domain, &bus, &slot, &func) != 4)
		return NULL;
	return pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, func));
}

static int __init rdmaclass_init(void)
{
	int err;

	pdev = find_function();
	if (!pdev)
		return -ENODEV;
	err = class_register(&rdma_class);
	if (err)
		goto put;
	err = add_device();
	if (err)
		goto unregister;
	return 0;
unregister:
	class_unregister(&rdma_class);
put:
	pci_dev_put(pdev);
	return err;
}

static void __exit rdmaclass_exit(void)
{
	device_unregister(rdma_device);
	if (auxiliary)
		remove_between();
	class_unregister(&rdma_class);
	pci_dev_put(pdev);
}

module_init(rdmaclass_init);
module_exit(rdmaclass_exit);

MODULE_DESCRIPTION("Makes a PCI function look like one of RDMA, for tests");
MODULE_LICENSE("GPL");
