// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>

#include "nvme_regs.h"
#include "p2pmem.h"
#include "reason.h"

#define NVME_CLASS	0x010802
/* How long to try for the lock of a function: as long as the probe of a working drive may hold it. */
#define LOOK_TRIES	500
#define LOOK_RETRY_MS	20

/* Everybody maps these registers uncached, so ioremap() fails only for lack of memory. */
void __iomem *p2pmem_nvme_map(struct pci_dev *pdev, char *reason)
{
	void __iomem *regs;

	if (pdev->class != NVME_CLASS) {
		p2pmem_reason(reason, "%s is not an NVMe controller (class %06x): name one, or offer a BAR of this function as kind pci-bar",
			      pci_name(pdev), pdev->class);
		return IOMEM_ERR_PTR(-EINVAL);
	}
	if (!pdev->dev.driver || strcmp(pdev->dev.driver->name, "nvme")) {
		p2pmem_reason(reason, "%s is not driven by the nvme driver: bind it first",
			      pci_name(pdev));
		return IOMEM_ERR_PTR(-EBUSY);
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

/*
 * The register takes two stores.  If CMSE is set while one half of the address is missing,
 * the controller treats a piece of the host's memory as its own: data that it should write
 * to the host stays in the drive.  CMSE is in the low word, so this function stores the low
 * word last, and p2pmem_nvme_space_off() stores it first.
 *
 * Another driver runs the function and can reset it at any time, which undoes the store of
 * the high word.  So this function stores the low word only if the high word is in place, and
 * clears the low word again if the high word has gone.
 */
bool p2pmem_nvme_space_on(void __iomem *msc, u64 value)
{
	void __iomem *high = msc + 4;

	if (hi_lo_readq(msc) == value)
		return true;
	writel(0, msc);	/* firmware may have set another address */
	writel(upper_32_bits(value), high);
	if (readl(high) != upper_32_bits(value))
		return false;
	writel(lower_32_bits(value), msc);
	if (readl(high) == upper_32_bits(value))
		return true;
	writel(0, msc);
	return false;
}

void p2pmem_nvme_space_off(void __iomem *msc, u64 value)
{
	writel(lower_32_bits(value), msc);
	writel(upper_32_bits(value), msc + 4);
}

static int look_at(struct pci_dev *pdev, struct p2pmem_nvme_memory *req)
{
	void __iomem *regs;

	if (!pci_device_is_present(pdev)) {
		p2pmem_reason(req->reason, "the device does not answer: it was unplugged");
		return -ENODEV;
	}
	regs = p2pmem_nvme_map(pdev, req->reason);
	if (IS_ERR((void __force *)regs))
		return PTR_ERR((void __force *)regs);
	req->cap = hi_lo_readq(regs + NVME_CAP);
	req->cmbloc = readl(regs + NVME_CMBLOC);
	req->cmbsz = readl(regs + NVME_CMBSZ);
	req->pmrcap = req->cap & NVME_CAP_PMRS ? readl(regs + NVME_PMRCAP) : 0;
	iounmap(regs);
	return 0;
}

/*
 * The device lock keeps the driver bound.  The nvme driver's probe holds the lock until the namespaces are there.  If a drive
 * does not answer or is being reset, the lock is held for minutes.  A caller that looks at all drives must not wait that long
 * for one.
 */
static int lock_to_look(struct pci_dev *pdev, char *reason)
{
	int tries = LOOK_TRIES;

	while (!device_trylock(&pdev->dev)) {
		if (!--tries) {
			p2pmem_reason(reason, "the function is being bound, reset or taken away; ask again");
			return -EBUSY;
		}
		if (msleep_interruptible(LOOK_RETRY_MS)) {
			p2pmem_reason(reason, "a signal ended the wait for the function's driver; ask again");
			return -EINTR;
		}
	}
	return 0;
}

int p2pmem_nvme_look(struct p2pmem_nvme_memory *req)
{
	struct pci_dev *pdev;
	int ret;

	pdev = pci_get_domain_bus_and_slot(req->pci_domain, req->pci_bus, req->pci_devfn);
	if (!pdev) {
		p2pmem_reason(req->reason, "there is no such PCI function");
		return -ENODEV;
	}
	ret = lock_to_look(pdev, req->reason);
	if (!ret) {
		ret = look_at(pdev, req);
		device_unlock(&pdev->dev);
	}
	pci_dev_put(pdev);
	return ret;
}
