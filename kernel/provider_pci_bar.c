// SPDX-License-Identifier: GPL-2.0
/*
 * Any memory BAR that an administrator names.  The administrator binds the function to
 * this driver through driver_override; the empty id table matches nothing by itself.
 * As the driver, p2pmem has sound claims and a remove() callback.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "p2pmem.h"
#include "provider.h"
#include "reason.h"
#include "registry.h"
#include "removal.h"
#include "resets.h"

static int pci_bar_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int ret = pci_enable_device_mem(pdev);

	if (ret)
		return ret;
	ret = p2pmem_resets_watch(pdev);
	if (ret)
		pci_disable_device(pdev);
	return ret;
}

/* Returns when nobody refers to a page of its regions, or they are in quarantine. */
static void pci_bar_remove(struct pci_dev *pdev)
{
	p2pmem_resets_leave(pdev);
	p2pmem_remove_regions_of(pdev);
	pci_disable_device(pdev);
	p2pmem_resets_free(pdev);
}

static const struct pci_device_id pci_bar_ids[] = { { } };

static struct pci_driver pci_bar_driver = {
	.name = "p2pmem",
	.id_table = pci_bar_ids,
	.probe = pci_bar_probe,
	.remove = pci_bar_remove,
	.err_handler = &p2pmem_resets_handlers,
	.driver.pm = pm_sleep_ptr(&p2pmem_resets_pm),
};

int p2pmem_pci_bar_init(void)
{
	return pci_register_driver(&pci_bar_driver);
}

void p2pmem_pci_bar_exit(void)
{
	pci_unregister_driver(&pci_bar_driver);
}

/* The pages of the MSI-X table and PBA belong to the interrupt code. */
bool p2pmem_bar_has_msix(struct pci_dev *pdev, unsigned int bar, u64 offset,
			 u64 bytes)
{
	static const int tables[] = { PCI_MSIX_TABLE, PCI_MSIX_PBA };
	u32 vectors, length[2];
	u16 flags;
	int i;

	if (!pdev->msix_cap)
		return false;
	pci_read_config_word(pdev, pdev->msix_cap + PCI_MSIX_FLAGS, &flags);
	vectors = (flags & PCI_MSIX_FLAGS_QSIZE) + 1;
	length[0] = vectors * PCI_MSIX_ENTRY_SIZE;
	length[1] = DIV_ROUND_UP(vectors, 64) * 8;
	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		u32 at;

		pci_read_config_dword(pdev, pdev->msix_cap + tables[i], &at);
		if ((at & PCI_MSIX_TABLE_BIR) != bar)
			continue;
		at &= PCI_MSIX_TABLE_OFFSET;
		if (at + (u64)length[i] > offset &&
		    (at < offset || at - offset < bytes))
			return true;
	}
	return false;
}

static int vet_bar(struct pci_dev *pdev, struct p2pmem_region_add *req,
		   u64 bytes)
{
	u64 bar_bytes = pci_resource_len(pdev, req->bar);

	if (!(pci_resource_flags(pdev, req->bar) & IORESOURCE_MEM) ||
	    !bar_bytes || !pci_resource_start(pdev, req->bar)) {
		p2pmem_reason(req->reason, "BAR%u of %s is no assigned memory BAR: choose another, or have the firmware give it an address (decoding above 4 GiB)",
			      req->bar, pci_name(pdev));
		return -EINVAL;
	}
	if (bar_bytes < P2PMEM_PAGEMAP_ALIGN) {
		p2pmem_reason(req->reason, "BAR%u of %s has %llu bytes, and struct pages of devices need 2 MiB: choose another BAR",
			      req->bar, pci_name(pdev), bar_bytes);
		return -EINVAL;
	}
	if (req->offset >= bar_bytes || bytes > bar_bytes - req->offset) {
		p2pmem_reason(req->reason, "the range ends past BAR%u of %s (%llu bytes)",
			      req->bar, pci_name(pdev), bar_bytes);
		return -ENXIO;
	}
	if (p2pmem_bar_has_msix(pdev, req->bar, req->offset, bytes)) {
		p2pmem_reason(req->reason, "the MSI-X table of %s lies in that range of BAR%u: leave it out with offset and length",
			      pci_name(pdev), req->bar);
		return -EINVAL;
	}
	return 0;
}

/*
 * Explains why a part of a BAR cannot be claimed: a region has it, or the kernel for the
 * firmware's frame buffer, or others.  A region that had it may have ended meanwhile.
 */
static int explain_claimed(struct pci_dev *pdev, struct p2pmem_region_add *req,
			   const struct resource *claim)
{
	int id = p2pmem_region_at(claim->start, resource_size(claim), false);

	if (id >= 0) {
		p2pmem_reason(req->reason, "part of BAR%u of %s is a region already: p2pmem%d",
			      req->bar, pci_name(pdev), id);
		return -EEXIST;
	}
	p2pmem_reason(req->reason, "part of BAR%u of %s is claimed already: /proc/iomem names by whom; end that, or choose another part by offset and length; if nobody is named, try again",
		      req->bar, pci_name(pdev));
	return -EBUSY;
}

/* request_mem_region() would not tell a conflict from a lack of memory. */
static int claim_place(struct pci_dev *pdev, struct p2pmem_region_add *req,
		       const struct p2pmem_place *place, void **data)
{
	struct resource *claim = kzalloc(sizeof(*claim), GFP_KERNEL);
	int ret;

	if (!claim)
		return -ENOMEM;
	claim->name = "p2pmem";
	claim->start = pci_resource_start(pdev, place->bar) + place->offset;
	claim->end = claim->start + place->bytes - 1;
	claim->flags = IORESOURCE_MEM | IORESOURCE_BUSY;
	if (request_resource(&pdev->resource[place->bar], claim)) {
		ret = explain_claimed(pdev, req, claim);
		kfree(claim);
		return ret;
	}
	*data = claim;
	return 0;
}

static int pci_bar_find(struct pci_dev *pdev, struct p2pmem_region_add *req,
			struct p2pmem_place *place, void **data)
{
	u64 bytes = req->length;
	int ret;

	if (pdev->dev.driver != &pci_bar_driver.driver) {
		p2pmem_reason(req->reason, "%s is driven by %s: bind it to p2pmem first (driver_override)",
			      pci_name(pdev),
			      pdev->dev.driver ? pdev->dev.driver->name : "nothing");
		return -EBUSY;
	}
	if (!p2pmem_resets_over(pdev)) {
		p2pmem_reason(req->reason, "%s does not work: it recovers from an error, or failed to, or its memory is disabled; try again, and if that does not help, %s",
			      pci_name(pdev), p2pmem_made_anew(pdev));
		return -EBUSY;
	}
	if (!bytes && pci_resource_len(pdev, req->bar) > req->offset)
		bytes = pci_resource_len(pdev, req->bar) - req->offset;
	ret = vet_bar(pdev, req, bytes);
	if (ret)
		return ret;
	place->bar = req->bar;
	place->offset = req->offset;
	place->bytes = bytes;
	return claim_place(pdev, req, place, data);
}

/* The BAR's resource is there even if the device is gone, because remove() waits. */
static void pci_bar_release(struct pci_dev *pdev, void *data, bool alive)
{
	release_resource(data);
	kfree(data);
}

const struct p2pmem_provider p2pmem_provider_pci_bar = {
	.kind = P2PMEM_KIND_PCI_BAR,
	.name = "pci-bar",
	.default_memtype = P2PMEM_MEMTYPE_WC,
	.can_p2pdma = true,
	.find = pci_bar_find,
	.release = pci_bar_release,
};
