// SPDX-License-Identifier: GPL-2.0
/*
 * The BAR1 aperture of a GPU that NVIDIA's driver runs.  Peers reach the GPU's memory
 * through it.  The driver stays bound, and decides what lies behind each page of the
 * aperture.  Memory appears there when a process pins some (gpu_pin.c), and nobody may
 * touch any other part.
 */
#include <linux/module.h>
#include <linux/pci.h>

#include "borrow.h"
#include "generic.h"
#include "gpu.h"
#include "provider.h"
#include "reason.h"
#include "registry.h"

#define DRIVER_NAME	"nvidia"

static int check_driver(struct pci_dev *pdev, char *reason)
{
	const struct device_driver *driver = pdev->dev.driver;

	if (!driver || strcmp(driver->name, DRIVER_NAME)) {
		p2pmem_reason(reason, "%s is driven by %s: gpu-nvidia needs NVIDIA's open kernel module on it (Debian contrib: nvidia-open-kernel-dkms)",
			      pci_name(pdev), driver ? driver->name : "nothing");
		return -EOPNOTSUPP;
	}
	if (driver->owner && test_bit(TAINT_PROPRIETARY_MODULE, &driver->owner->taints)) {
		p2pmem_reason(reason, "%s is driven by NVIDIA's proprietary module, which GPL modules cannot use: install the open one (Debian contrib: nvidia-open-kernel-dkms)",
			      pci_name(pdev));
		return -EOPNOTSUPP;
	}
	return 0;
}

static bool is_aperture(struct pci_dev *pdev, int bar)
{
	unsigned long flags = pci_resource_flags(pdev, bar);

	return flags & IORESOURCE_MEM && flags & IORESOURCE_PREFETCH &&
	       pci_resource_start(pdev, bar) && pci_resource_len(pdev, bar);
}

/* BAR1 is the largest prefetchable BAR.  Its number may differ from 1, as drivers number BARs by register. */
static int largest_aperture(struct pci_dev *pdev)
{
	int bar, found = -1;

	for (bar = 0; bar < PCI_STD_NUM_BARS; bar++)
		if (is_aperture(pdev, bar) &&
		    (found < 0 || pci_resource_len(pdev, bar) > pci_resource_len(pdev, found)))
			found = bar;
	return found;
}

static int choose_bar(struct pci_dev *pdev, struct p2pmem_region_add *req)
{
	int bar = req->bar ?: largest_aperture(pdev);

	if (bar < 0) {
		p2pmem_reason(req->reason, "%s has no prefetchable memory BAR with an address: enable \"Above 4G decoding\" in the firmware",
			      pci_name(pdev));
		return -EOPNOTSUPP;
	}
	if (!is_aperture(pdev, bar)) {
		p2pmem_reason(req->reason, "BAR%d of %s is no prefetchable memory BAR, as a GPU's aperture is",
			      bar, pci_name(pdev));
		return -EINVAL;
	}
	return bar;
}

/* The part of the BAR that the request names; without a length, all from its offset on. */
static int choose_part(struct pci_dev *pdev, struct p2pmem_region_add *req,
		       struct p2pmem_place *place)
{
	u64 bar_bytes = pci_resource_len(pdev, place->bar);

	if (req->offset >= bar_bytes || req->length > bar_bytes - req->offset) {
		p2pmem_reason(req->reason, "the range ends past BAR%u of %s (%llu bytes)",
			      place->bar, pci_name(pdev), bar_bytes);
		return -ENXIO;
	}
	place->offset = req->offset;
	place->bytes = req->length ?: bar_bytes - req->offset;
	return 0;
}

/*
 * With static BAR1 all of the GPU's memory is in the aperture.  The driver has made struct
 * pages for it, and a pool of them that aliases memory which others use.  p2pmem uses the
 * pages, but takes none from the pool.
 */
static int choose_pages(struct pci_dev *pdev, struct p2pmem_place *place, char *reason)
{
	phys_addr_t phys = pci_resource_start(pdev, place->bar) + place->offset;

	if (!compat_p2pdma_has_pool(pdev) && !p2pmem_range_has_pagemap(phys, place->bytes))
		return 0;
	place->borrowed = COMPAT_HAS_P2PDMA && p2pmem_range_is_p2pdma(phys, place->bytes);
	if (place->borrowed)
		return 0;
	p2pmem_reason(reason, "the driver of %s has struct pages for a part of BAR%u itself, or of a type that p2pmem cannot use: start it without (static BAR1, its parameter RMForceStaticBar1), or import dma-bufs of the GPU's memory",
		      pci_name(pdev), place->bar);
	return -EEXIST;
}

static int gpu_find(struct pci_dev *pdev, struct p2pmem_region_add *req,
		    struct p2pmem_place *place, void **data)
{
	int ret = check_driver(pdev, req->reason);

	if (!ret)
		ret = p2pmem_region_refuse_second(pdev, P2PMEM_KIND_GPU_NVIDIA, "aperture", req->reason);
	if (ret)
		return ret;
	ret = choose_bar(pdev, req);
	if (ret < 0)
		return ret;
	place->bar = ret;
	return choose_part(pdev, req, place) ?: choose_pages(pdev, place, req->reason);
}

/*
 * The CPU's stores are at the device once a read comes back.  Only pinned memory answers
 * a read.  If none is pinned, none was written.
 */
static int gpu_commit(struct p2pmem_region *r)
{
	struct p2pmem_extent *e;
	struct p2pmem_pin *pin;

	mutex_lock(&r->alloc_lock);
	list_for_each_entry(pin, &r->pins, link) {
		if (pin->revoked || list_empty(&pin->extents))
			continue;
		e = list_first_entry(&pin->extents, struct p2pmem_extent, pin_link);
		READ_ONCE(*(u64 *)p2pmem_kaddr(r, e->first));
		break;
	}
	mutex_unlock(&r->alloc_lock);
	return 0;
}

/* p2pmem has no enable bit to set for this memory, and the guard counts resets. */
const struct p2pmem_provider p2pmem_provider_gpu_nvidia = {
	.kind = P2PMEM_KIND_GPU_NVIDIA,
	.name = "gpu-nvidia",
	.default_memtype = P2PMEM_MEMTYPE_WC,
	.foreign = true,
	.can_p2pdma = true,
	.pinned = true,
	.find = gpu_find,
	.commit = gpu_commit,
};
