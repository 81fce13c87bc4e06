// SPDX-License-Identifier: GPL-2.0
/*
 * A driver named "nvidia" that declares itself proprietary, as the one of NVIDIA's
 * that is not open does.  It does nothing with its function: what is tested is who
 * refuses it, and how.
 */
#include <linux/module.h>
#include <linux/pci.h>

static int proprietary_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	return 0;
}

static const struct pci_device_id proprietary_ids[] = { { } };

static struct pci_driver proprietary_driver = {
	.name = "nvidia",
	.id_table = proprietary_ids,
	.probe = proprietary_probe,
};
module_pci_driver(proprietary_driver);

MODULE_DESCRIPTION("A driver of the name of NVIDIA's that GPL modules may not use");
MODULE_VERSION("535.0-lab");
MODULE_LICENSE("Proprietary");
