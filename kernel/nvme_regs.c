// SPDX-License-Identifier: GPL-2.0
#include "nvme_regs.h"
#include "p2pmem.h"

#define NVME_CLASS	0x010802

void __iomem *p2pmem_nvme_map(struct pci_dev *pdev, char *reason)
{
	void __iomem *regs;

	if (pdev->class != NVME_CLASS) {
		p2pmem_reason(reason, "%s is not an NVMe controller (class %06x)",
			      pci_name(pdev), pdev->class);
		return NULL;
	}
	if (!pdev->dev.driver || strcmp(pdev->dev.driver->name, "nvme")) {
		p2pmem_reason(reason, "%s is not driven by the nvme driver: bind it first",
			      pci_name(pdev));
		return NULL;
	}
	if (pci_resource_len(pdev, 0) < NVME_REGS_BYTES) {
		p2pmem_reason(reason, "BAR0 of %s is too small", pci_name(pdev));
		return NULL;
	}
	regs = ioremap(pci_resource_start(pdev, 0), NVME_REGS_BYTES);
	if (!regs)
		p2pmem_reason(reason, "the registers of %s cannot be mapped",
			      pci_name(pdev));
	return regs;
}
