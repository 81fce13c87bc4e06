// SPDX-License-Identifier: GPL-2.0
/*
 * The answer of PROBE_PEER: first the route by topology, then the address that the
 * client really gets when one page is mapped for it.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>

#include "gate.h"
#include "p2pmem.h"
#include "path.h"
#include "pmem.h"
#include "probe.h"
#include "reason.h"
#include "route.h"
#include "trace.h"

#define PROBE_TRIES	10
#define PROBE_RETRY_MS	10

/* Judges the route again by the address that the DMA API gave. */
static void judge_address(struct p2pmem_region *r, struct pci_dev *client,
			  struct p2pmem_probe *out, dma_addr_t dma)
{
	u32 route = p2pmem_route_by_address(client, out->route, dma, out->bus_address,
					    r->backing.phys);

	out->dma_address = dma;
	out->flags |= P2PMEM_PROBE_MAPPED;
	if (route == out->route)
		return;
	out->route = route;
	if (route == P2PMEM_ROUTE_BOUNCED)
		p2pmem_reason(out->reason, "the kernel gives %s a bounce buffer in DRAM (swiotlb)",
			      pci_name(client));
	else
		p2pmem_reason(out->reason, "the kernel gives %s the CPU's address of the BAR, which is another one on its bus",
			      pci_name(client));
}

/*
 * Where no IOMMU translates, the DMA API bounces addresses past the mask of the client's
 * driver, or warns if it has no buffers for that.  So memory past the mask is not mapped.
 */
static bool reaches(struct p2pmem_region *r, struct pci_dev *client)
{
	return p2pmem_translation(client) ||
	       p2pmem_mask_reaches(&client->dev, r->backing.phys + r->backing.bytes - 1);
}

static void refuse_mask(struct pci_dev *client, struct p2pmem_probe *out)
{
	u64 mask = dma_get_mask(&client->dev), limit = client->dev.bus_dma_limit;

	if (out->route == P2PMEM_ROUTE_NONE)
		return;
	out->route = P2PMEM_ROUTE_NONE;
	out->flags |= P2PMEM_PROBE_BEYOND_MASK;
	if (limit && limit < mask)
		p2pmem_reason(out->reason, "the bus of %s carries addresses up to 0x%llx, which does not reach the BAR",
			      pci_name(client), limit);
	else
		p2pmem_reason(out->reason, "the DMA mask that its driver gave %s (0x%llx) does not reach the BAR",
			      pci_name(client), mask);
}

/*
 * Nothing is transferred: with SKIP_CPU_SYNC the DMA API does not fill a bounce buffer.
 * While a pmem device has no pages, the answer goes by topology alone.
 */
static void probe_mapping(struct p2pmem_region *r, struct pci_dev *client,
			  struct p2pmem_probe *out)
{
	struct scatterlist sg;
	struct sg_table table = { .sgl = &sg, .nents = 1, .orig_nents = 1 };
	struct dev_pagemap *pages = NULL;
	int ret;

	if (p2pmem_is_pmem(r)) {
		pages = p2pmem_pmem_pages_get(r);
		if (!pages)
			return;
	}
	sg_init_table(&sg, 1);
	sg_set_page(&sg, p2pmem_page(r, 0), PAGE_SIZE, 0);
	ret = dma_map_sgtable(&client->dev, &table, DMA_BIDIRECTIONAL,
			      DMA_ATTR_SKIP_CPU_SYNC);
	if (!ret) {
		judge_address(r, client, out, sg_dma_address(&sg));
		dma_unmap_sgtable(&client->dev, &table, DMA_BIDIRECTIONAL,
				  DMA_ATTR_SKIP_CPU_SYNC);
	} else if (out->route != P2PMEM_ROUTE_NONE) {
		out->route = P2PMEM_ROUTE_NONE;
		p2pmem_reason(out->reason, "the kernel refuses to map the memory for %s (errno %d)",
			      pci_name(client), -ret);
	}
	put_dev_pagemap(pages);
}

/*
 * Only a bus master whose driver uses the DMA API has a page mapped for it.  For a bridge,
 * a function without a driver, one that VFIO has or one that is no bus master, the answer
 * goes by topology alone.
 */
static bool does_dma(struct pci_dev *client)
{
	return client->is_busmaster && p2pmem_uses_dma_api(client);
}

static bool is_bridge(const struct pci_dev *client)
{
	return client->hdr_type != PCI_HEADER_TYPE_NORMAL;
}

/*
 * For such a client only the topology is looked at, which takes no device lock: a bridge sends
 * no requests of its own, and no page is mapped for a function whose driver does not use the
 * DMA API.  The lock of such a function must not be taken either.  VFIO resets a function
 * between two users, but only tries the lock for that (pci_dev_trylock()), and does without the
 * reset if a probe holds the lock at that moment.
 */
static bool needs_no_lock(struct pci_dev *client)
{
	return is_bridge(client) || !p2pmem_uses_dma_api(client);
}

/*
 * The client's device lock keeps its driver and its IOMMU domain while this function looks
 * at them and maps the page, and no longer.  The lock is only tried: its holder binds,
 * unbinds or resets the function, may take long, and may wait for this very region.
 * Because the lock is only tried, the gate can be taken first.  The caller tries again on
 * -EAGAIN.
 */
static int probe_once(struct p2pmem_region *r, struct pci_dev *client,
		      struct p2pmem_probe *out)
{
	int ret = -EAGAIN;

	if (!p2pmem_enter(r))
		return -ENODEV;
	if (needs_no_lock(client)) {
		p2pmem_predict(r, client, r->backing.type, false, out);
		ret = 0;
	} else if (device_trylock(&client->dev)) {
		p2pmem_predict(r, client, r->backing.type, true, out);
		if (does_dma(client) && !reaches(r, client))
			refuse_mask(client, out);
		else if (does_dma(client))
			probe_mapping(r, client, out);
		device_unlock(&client->dev);
		ret = 0;
	}
	p2pmem_leave(r);
	return ret;
}

/* Counts and traces an answer that somebody acts on. */
void p2pmem_count_route(struct p2pmem_region *r, struct pci_dev *client,
			const struct p2pmem_probe *probe)
{
	p2pmem_count(r, routes, 1);
	trace_p2pmem_route(r, client, probe->route, probe->distance, probe->flags);
}

int p2pmem_probe(struct p2pmem_region *r, struct p2pmem_probe *out)
{
	struct pci_dev *client;
	int ret, tries = PROBE_TRIES;

	client = pci_get_domain_bus_and_slot(out->pci_domain, out->pci_bus,
					     out->pci_devfn);
	if (!client)
		return -ENODEV;
	do {
		out->flags = 0;
		out->bridge_domain = 0;
		out->bridge_bus = 0;
		out->bridge_devfn = 0;
		memset(out->reason, 0, sizeof(out->reason));
		ret = probe_once(r, client, out);
	} while (ret == -EAGAIN && --tries && !msleep_interruptible(PROBE_RETRY_MS));
	if (!ret)
		p2pmem_count_route(r, client, out);
	pci_dev_put(client);
	return ret;
}
