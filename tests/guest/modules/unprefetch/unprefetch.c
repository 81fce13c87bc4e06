// SPDX-License-Identifier: GPL-2.0
/*
 * Has the kernel take a BAR for one that is not prefetchable, while it is loaded:
 * the emulator has no large one of that kind.
 */
#include <linux/module.h>
#include <linux/pci.h>

static char *bdf;
module_param(bdf, charp, 0);
MODULE_PARM_DESC(bdf, "the function, as DDDD:BB:DD.F");

static uint bar;
module_param(bar, uint, 0);
MODULE_PARM_DESC(bar, "its BAR");

static struct pci_dev *pdev;

static int __init unprefetch_init(void)
{
	unsigned int domain, bus, device, function;

	if (!bdf || bar >= PCI_STD_NUM_BARS ||
	    sscanf(bdf, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return -EINVAL;
	pdev = pci_get_domain_bus_and_slot(domain, bus,
					   PCI_DEVFN(device, function));
	if (!pdev)
		return -ENODEV;
	pdev->resource[bar].flags &= ~IORESOURCE_PREFETCH;
	return 0;
}

static void __exit unprefetch_exit(void)
{
	pdev->resource[bar].flags |= IORESOURCE_PREFETCH;
	pci_dev_put(pdev);
}

module_init(unprefetch_init);
module_exit(unprefetch_exit);

MODULE_DESCRIPTION("A BAR that is not prefetchable, for tests");
MODULE_LICENSE("GPL");
