// SPDX-License-Identifier: GPL-2.0
/*
 * NVMe Controller Memory Buffer (Base Specification 2.0, 8.5).
 *
 * With CONFIG_PCI_P2PDMA the nvme driver publishes the CMB as a P2PDMA pool,
 * which also holds its submission queues, so p2pmem takes memory from the pool only.
 * The driver enables the CMB once; after a reset that cleared CMBMSC, enable()
 * does.  Without CONFIG_PCI_P2PDMA the driver writes CMBMSC=0 at every reset;
 * then find() enables the CMB, and enable() repeats that.
 */
#include <linux/slab.h>

#include "nvme_regs.h"
#include "p2pmem.h"
#include "pool.h"
#include "provider.h"
#include "reason.h"
#include "registry.h"

struct cmb {
	void __iomem *regs;
	u64 enabled;		/* the value of CMBMSC while the CMB is enabled */
	bool pool;		/* from a pool of the nvme driver, which enables and disables the CMB */
	bool has_cmbmsc;	/* before NVMe 1.4 a CMB has no enable bit */
};

/* Checks that CMBMSC has the value that was found or stored there. */
static int cmb_check(struct pci_dev *pdev, struct cmb *cmb, struct p2pmem_region_add *req)
{
	u64 now = hi_lo_readq(cmb->regs + NVME_CMBMSC);

	if (!cmb->has_cmbmsc || (now == cmb->enabled && now != ~0ULL && now & NVME_CMBMSC_CMSE))
		return 0;
	p2pmem_reason(req->reason, "the CMB of %s cannot be enabled (CMBMSC is %#llx): its device does not answer, or does not keep the address",
		      pci_name(pdev), now);
	return -EIO;
}

/* CMBLOC and CMBSZ read as zero until CMBMSC.CRE is set. */
static int cmb_locate(struct pci_dev *pdev, void __iomem *regs,
		      struct p2pmem_region_add *req, struct p2pmem_place *place)
{
	u32 size = readl(regs + NVME_CMBSZ);
	u32 location = readl(regs + NVME_CMBLOC);
	unsigned int units = (size >> 8) & 0xf;
	u64 unit, bar_bytes;

	if (units > 6) {	/* 64 GiB; more is reserved */
		p2pmem_reason(req->reason, "the CMB of %s has a reserved size unit",
			      pci_name(pdev));
		return -EOPNOTSUPP;
	}
	unit = 1ULL << (12 + 4 * units);
	if (!(size & NVME_CMBSZ_RDS) || !(size & NVME_CMBSZ_WDS)) {
		p2pmem_reason(req->reason, "the CMB of %s takes no data (CMBSZ.RDS/WDS)",
			      pci_name(pdev));
		return -EOPNOTSUPP;
	}
	place->bar = location & 7;
	place->offset = unit * (location >> 12);
	place->bytes = unit * (size >> 12);
	if (place->bar > 5) {
		p2pmem_reason(req->reason, "the CMB of %s names a BAR that does not exist (CMBLOC.BIR)",
			      pci_name(pdev));
		return -ENXIO;
	}
	bar_bytes = pci_resource_len(pdev, place->bar);
	if (place->offset >= bar_bytes) {
		p2pmem_reason(req->reason, "the CMB of %s lies past its BAR%u",
			      pci_name(pdev), place->bar);
		return -ENXIO;
	}
	place->bytes = min(place->bytes, bar_bytes - place->offset);
	return 0;
}

/* The part that the request names; without a length, as much as can have struct pages. */
static int cmb_narrow(struct p2pmem_region_add *req, struct p2pmem_place *place)
{
	u64 rest = place->bytes - req->offset;

	if (req->offset >= place->bytes ||
	    req->length > rest) {
		p2pmem_reason(req->reason, "the range ends past the CMB (%llu bytes)",
			      place->bytes);
		return -ENXIO;
	}
	place->offset += req->offset;
	place->bytes = req->length ?: round_down(rest, P2PMEM_PAGEMAP_ALIGN) ?: rest;
	return 0;
}

/* @place: scratch. */
static int explain_no_register(struct pci_dev *pdev, struct cmb *cmb, struct p2pmem_region_add *req,
			       struct p2pmem_place *place)
{
	int ret;

	if (!readl(cmb->regs + NVME_CMBSZ)) {
		p2pmem_reason(req->reason, "%s has no Controller Memory Buffer (CAP.CMBS is 0)",
			      pci_name(pdev));
		return -EOPNOTSUPP;
	}
	ret = cmb_locate(pdev, cmb->regs, req, place);
	if (ret)
		return ret;
	p2pmem_reason(req->reason, "the CMB of %s has no register for its address (CAP.CMBS is 0, as before NVMe 1.4): %s",
		      pci_name(pdev), COMPAT_HAS_P2PDMA ?
		      "the kernel log says why its nvme driver did not publish it" :
		      "use Linux 6.13 or later with CONFIG_PCI_P2PDMA, whose nvme driver publishes it");
	return -EOPNOTSUPP;
}

/*
 * Explains why a CMB that p2pmem cannot use is enabled.  With CONFIG_PCI_P2PDMA the nvme
 * driver enables a CMB that takes no data, too, but does not publish it.  Without
 * CONFIG_PCI_P2PDMA it left a CMB enabled that it could not publish, before Linux 6.14.
 * @place: scratch.
 */
static int explain_enabled(struct pci_dev *pdev, struct cmb *cmb, struct p2pmem_region_add *req,
			   struct p2pmem_place *place)
{
	int ret = cmb_locate(pdev, cmb->regs, req, place);

	if (ret)
		return ret;
	if (COMPAT_P2PDMA_TOO_OLD) {
		p2pmem_reason(req->reason, "the nvme driver has published the CMB of %s, and p2pmem can share it from Linux 6.13 on: use such a kernel",
			      pci_name(pdev));
		return -EOPNOTSUPP;
	}
	p2pmem_reason(req->reason, "the CMB of %s is enabled already (CMBMSC.CMSE), by another program or by an nvme driver of before Linux 6.14 that could not publish it: end that program and reset the controller, or use a later kernel",
		      pci_name(pdev));
	return -EBUSY;
}

static int cmb_find_own(struct pci_dev *pdev, struct cmb *cmb,
			struct p2pmem_region_add *req,
			struct p2pmem_place *place)
{
	u64 before = hi_lo_readq(cmb->regs + NVME_CMBMSC);
	int ret;

	/* The end of a first region would write CMBMSC, in two halves and without the device lock. */
	ret = p2pmem_region_refuse_second(pdev, P2PMEM_KIND_NVME_CMB, "CMB", req->reason);
	if (ret)
		return ret;
	if (!cmb->has_cmbmsc)
		return explain_no_register(pdev, cmb, req, place);
	if (before & NVME_CMBMSC_CMSE)
		return explain_enabled(pdev, cmb, req, place);
	p2pmem_nvme_space_off(cmb->regs + NVME_CMBMSC, NVME_CMBMSC_CRE);
	ret = cmb_locate(pdev, cmb->regs, req, place);
	if (!ret) {
		cmb->enabled = (pci_bus_address(pdev, place->bar) + place->offset) |
			       NVME_CMBMSC_CMSE | NVME_CMBMSC_CRE;
		ret = cmb_narrow(req, place);
	}
	if (!ret) {
		p2pmem_nvme_space_on(cmb->regs + NVME_CMBMSC, cmb->enabled);
		ret = cmb_check(pdev, cmb, req);
	}
	if (ret)
		p2pmem_nvme_space_off(cmb->regs + NVME_CMBMSC, before);
	return ret;
}

/*
 * Takes the length that the request names; without one, as much as is free in one piece.
 * The nvme driver keeps what its queues took.
 */
static int take_from_pool(struct pci_dev *pdev, struct p2pmem_region_add *req,
			  struct p2pmem_place *place)
{
	u64 step = p2pmem_pool_step(place->bytes, PAGE_SIZE);
	u64 bytes = req->length ?: place->bytes;
	phys_addr_t phys;

	do {
		place->bytes = bytes;
		place->kaddr = pci_alloc_p2pmem(pdev, bytes);
		bytes = req->length ? 0 : p2pmem_pool_smaller(bytes, step);
	} while (!place->kaddr && bytes);
	if (!place->kaddr) {
		p2pmem_reason(req->reason, "the CMB of %s has not that much free memory%s; ask for less, or remove that first",
			      pci_name(pdev), p2pmem_region_exists(pdev, P2PMEM_KIND_NVME_CMB) ?
			      ": a region holds it already" : "");
		return -ENOSPC;
	}
	phys = virt_to_phys(place->kaddr);
	place->offset = phys - pci_resource_start(pdev, place->bar);
	return 0;
}

static int cmb_find_pool(struct pci_dev *pdev, struct cmb *cmb,
			 struct p2pmem_region_add *req,
			 struct p2pmem_place *place)
{
	int ret;

	if (req->offset) {
		p2pmem_reason(req->reason, "the CMB of %s is a pool of the nvme driver: an offset cannot be chosen, only a length",
			      pci_name(pdev));
		return -EINVAL;
	}
	if (req->page_type == P2PMEM_PAGES_GENERIC) {
		p2pmem_reason(req->reason, "the nvme driver has published the CMB of %s as p2pdma pages: page type generic cannot be had",
			      pci_name(pdev));
		return -EOPNOTSUPP;
	}
	ret = cmb_locate(pdev, cmb->regs, req, place);
	if (ret)
		return ret;
	cmb->pool = true;
	cmb->enabled = hi_lo_readq(cmb->regs + NVME_CMBMSC);
	ret = cmb_check(pdev, cmb, req);
	if (ret)
		return ret;
	return take_from_pool(pdev, req, place);
}

static int cmb_find(struct pci_dev *pdev, struct p2pmem_region_add *req,
		    struct p2pmem_place *place, void **data)
{
	struct cmb *cmb = kzalloc(sizeof(*cmb), GFP_KERNEL);
	int ret;

	if (!cmb)
		return -ENOMEM;
	cmb->regs = p2pmem_nvme_map(pdev, req->reason);
	ret = PTR_ERR_OR_ZERO((void __force *)cmb->regs);
	if (ret)
		goto err_free;
	cmb->has_cmbmsc = hi_lo_readq(cmb->regs + NVME_CAP) & NVME_CAP_CMBS;
	if (compat_p2pdma_published(pdev))
		ret = cmb_find_pool(pdev, cmb, req, place);
	else
		ret = cmb_find_own(pdev, cmb, req, place);
	if (ret)
		goto err_unmap;
	*data = cmb;
	return 0;

err_unmap:
	iounmap(cmb->regs);
err_free:
	kfree(cmb);
	return ret;
}

static void cmb_release(struct pci_dev *pdev, void *data, bool alive)
{
	struct cmb *cmb = data;

	if (alive && !cmb->pool)
		p2pmem_nvme_space_off(cmb->regs + NVME_CMBMSC, 0);
	iounmap(cmb->regs);
	kfree(cmb);
}

/* A reset of the function clears CMBMSC, and the nvme driver sets it only once. */
static bool cmb_forgot(struct p2pmem_region *r)
{
	struct cmb *cmb = r->provider_data;

	return cmb->has_cmbmsc && hi_lo_readq(cmb->regs + NVME_CMBMSC) != cmb->enabled;
}

static void cmb_enable_anew(struct p2pmem_region *r)
{
	struct cmb *cmb = r->provider_data;

	p2pmem_nvme_space_on(cmb->regs + NVME_CMBMSC, cmb->enabled);
}

const struct p2pmem_provider p2pmem_provider_nvme_cmb = {
	.kind = P2PMEM_KIND_NVME_CMB,
	.name = "nvme-cmb",
	.default_memtype = P2PMEM_MEMTYPE_WC,
	.foreign = true,
	.find = cmb_find,
	.release = cmb_release,
	.forgot = cmb_forgot,
	.enable = cmb_enable_anew,
};
