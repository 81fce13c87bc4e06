// SPDX-License-Identifier: GPL-2.0
#include "nvme_regs.h"
#include "p2pmem.h"

#define NVME_CLASS	0x010802

/* Nobody maps these registers otherwise than uncached: what fails is for lack of memory. */
void __iomem *p2pmem_nvme_map(struct pci_dev *pdev, char *reason)
{
	void __iomem *regs;

	if (pdev->class != NVME_CLASS) {
		p2pmem_reason(reason, "%s is not an NVMe controller (class %06x)",
			      pci_name(pdev), pdev->class);
		return IOMEM_ERR_PTR(-EINVAL);
	}
	if (!pdev->dev.driver || strcmp(pdev->dev.driver->name, "nvme")) {
		p2pmem_reason(reason, "%s is not driven by the nvme driver: bind it first",
			      pci_name(pdev));
		return IOMEM_ERR_PTR(-EINVAL);
	}
	if (pci_resource_len(pdev, 0) < NVME_REGS_BYTES) {
		p2pmem_reason(reason, "BAR0 of %s is too small", pci_name(pdev));
		return IOMEM_ERR_PTR(-EINVAL);
	}
	regs = ioremap(pci_resource_start(pdev, 0), NVME_REGS_BYTES);
	if (!regs) {
		p2pmem_reason(reason, "the kernel has no memory to map the registers of %s: free some, and try again",
			      pci_name(pdev));
		return IOMEM_ERR_PTR(-ENOMEM);
	}
	return regs;
}
