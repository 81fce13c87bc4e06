/* SPDX-License-Identifier: GPL-2.0 */
/* The route of a PCI function to a region, as the topology and the address predict it. */
#ifndef P2PMEM_ROUTE_H
#define P2PMEM_ROUTE_H

#include <linux/dma-mapping.h>
#include <linux/pci.h>

#include "p2pmem.h"

struct iommu_domain;

bool p2pmem_uses_dma_api(struct pci_dev *client);
u32 p2pmem_route_by_address(struct pci_dev *client, u32 route, dma_addr_t dma, u64 bus,
			    phys_addr_t phys);
struct iommu_domain *p2pmem_translation(struct pci_dev *client);

/* Does the client's DMA mask cover the last byte, if no IOMMU translates? */
static inline bool p2pmem_mask_reaches(struct device *dev, dma_addr_t last)
{
	return last <= min_not_zero(dma_get_mask(dev), dev->bus_dma_limit);
}

void p2pmem_predict(struct p2pmem_region *r, struct pci_dev *client,
		    u32 page_type, bool steady, struct p2pmem_probe *out);

#endif
