// SPDX-License-Identifier: GPL-2.0
/* What the driver's errors mean, and what helps.  Userspace does not know all of its errnos. */
#include <linux/pci.h>

#include "gpu.h"
#include "reason.h"

/* What the driver keeps of BAR1 for itself. */
#define BAR1_RESERVE_MIB	36

/* The largest size that the card offers for its BAR, in MiB, or 0 if it cannot be resized. */
static u64 largest_bar_mib(struct p2pmem_region *r)
{
	u64 sizes = pci_rebar_get_possible_sizes(r->pdev, r->bar);

	return sizes ? BIT_ULL(fls64(sizes) - 1) : 0;
}

static void explain_room(struct p2pmem_region *r, u64 bytes, char *reason)
{
	u64 now_mib = pci_resource_len(r->pdev, r->bar) >> 20;
	u64 best_mib = largest_bar_mib(r);

	if (best_mib > now_mib)
		p2pmem_reason(reason, "BAR1 of %s (%llu MiB, %u kept by the driver) has no room for %llu KiB more: unpin some, or enable resizable BAR in the firmware, which gives %llu MiB",
			      pci_name(r->pdev), now_mib, BAR1_RESERVE_MIB, bytes >> 10, best_mib);
	else
		p2pmem_reason(reason, "BAR1 of %s (%llu MiB, %u kept by the driver) has no room for %llu KiB more: unpin some, or pin less at a time; the card offers no larger BAR",
			      pci_name(r->pdev), now_mib, BAR1_RESERVE_MIB, bytes >> 10);
}

/*
 * Explains the driver's @err.  Returns our errno for it, one of those that the UAPI
 * header lists.
 */
int p2pmem_gpu_explain(struct p2pmem_region *r, u64 bytes, int err, char *reason)
{
	switch (err) {
	case -ENOMEM:
		explain_room(r, bytes, reason);
		return -ENOSPC;
	case -EINVAL:
		p2pmem_reason(reason, "the driver knows no such memory: the range must lie in one cuMemAlloc() allocation of this process that was not freed (no host or managed memory, not two allocations)");
		return -EINVAL;
	case -P2PMEM_GPU_ENOTSUPP:
	case -EOPNOTSUPP:
		p2pmem_reason(reason, "the driver of %s does not pin this memory for peers: a partitioned (MIG) or virtual GPU (vGPU), or a model without GPUDirect; turn MIG off, or import a dma-buf of it",
			      pci_name(r->pdev));
		return -EOPNOTSUPP;
	case -EINTR:
		p2pmem_reason(reason, "a signal ended the call: try again");
		return -EINTR;
	case -EBUSY:
		p2pmem_reason(reason, "the driver of %s is busy (a reset, or another pin of the same range): try again",
			      pci_name(r->pdev));
		return -EBUSY;
	case -ENODEV:
		p2pmem_reason(reason, "the driver has lost %s, or is leaving it: see the kernel log",
			      pci_name(r->pdev));
		return -ENODEV;
	default:
		p2pmem_reason(reason, "the driver of %s failed to pin the memory (errno %d): see the kernel log",
			      pci_name(r->pdev), -err);
		return -EIO;
	}
}

/* The function that has @phys in one of its BARs, with a reference, or NULL. */
static struct pci_dev *function_at(phys_addr_t phys)
{
	struct pci_dev *pdev = NULL;
	int bar;

	for_each_pci_dev(pdev)
		for (bar = 0; bar < PCI_STD_NUM_BARS; bar++)
			if (pci_resource_flags(pdev, bar) & IORESOURCE_MEM &&
			    pci_resource_len(pdev, bar) &&
			    phys >= pci_resource_start(pdev, bar) &&
			    phys <= pci_resource_end(pdev, bar))
				return pdev;
	return NULL;
}

/* Explains that the memory is not of this region. */
void p2pmem_gpu_explain_foreign(struct p2pmem_region *r, phys_addr_t phys, char *reason)
{
	struct pci_dev *owner = function_at(phys);

	if (owner == r->pdev)
		p2pmem_reason(reason, "the driver put the memory at %pa, a part of the BAR of %s that %s leaves out: add the region without bar, offset and length",
			      &phys, pci_name(owner), dev_name(&r->dev));
	else if (owner)
		p2pmem_reason(reason, "the memory lies on %s, but %s is memory of %s: pin it through a region of that GPU",
			      pci_name(owner), dev_name(&r->dev), pci_name(r->pdev));
	else
		p2pmem_reason(reason, "the memory lies at %pa, in no BAR of any function (an address of NVLink, or of system memory); %s is memory of %s",
			      &phys, dev_name(&r->dev), pci_name(r->pdev));
	pci_dev_put(owner);
}
