// SPDX-License-Identifier: GPL-2.0
/*
 * How a PCI function reaches a region.  GENERIC pages go through the DMA API
 * like RAM, so nothing in the kernel asks whether a TLP can get there: this
 * file does, by the rules of drivers/pci/p2pdma.c, and then maps one page to
 * see what address the client would really be given.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#ifdef CONFIG_X86
#include <asm/processor.h>
#endif

#include "p2pmem.h"

struct peer_path {
	struct pci_dev *common;		/* lowest bridge above both, or NULL */
	struct pci_dev *redirect;	/* port whose ACS sends requests up */
	unsigned int distance;		/* bridges on the way */
};

/* ACS bits that keep a downstream port from turning requests round itself. */
static bool acs_redirects(struct pci_dev *port)
{
	int pos = pci_find_ext_capability(port, PCI_EXT_CAP_ID_ACS);
	u16 ctrl;

	if (!pos)
		return false;
	pci_read_config_word(port, pos + PCI_ACS_CTRL, &ctrl);
	return ctrl & (PCI_ACS_RR | PCI_ACS_CR | PCI_ACS_EC);
}

static bool is_above(struct pci_dev *bridge, struct pci_dev *pdev)
{
	struct pci_dev *up;

	for (up = pci_upstream_bridge(pdev); up; up = pci_upstream_bridge(up))
		if (up == bridge)
			return true;
	return false;
}

/* Walks from @pdev up to, and without, @end; counts and looks for ACS. */
static void walk_up(struct pci_dev *pdev, struct pci_dev *end, struct peer_path *p)
{
	struct pci_dev *up;

	for (up = pci_upstream_bridge(pdev); up && up != end;
	     up = pci_upstream_bridge(up)) {
		p->distance++;
		if (!p->redirect && acs_redirects(up))
			p->redirect = up;
	}
}

static void find_path(struct pci_dev *a, struct pci_dev *b, struct peer_path *p)
{
	struct pci_dev *up;

	for (up = pci_upstream_bridge(a); up; up = pci_upstream_bridge(up))
		if (is_above(up, b))
			break;
	p->common = up;
	walk_up(a, up, p);
	walk_up(b, up, p);
}

static struct pci_dev *root_port_of(struct pci_dev *pdev)
{
	struct pci_dev *up, *root = pdev;

	for (up = pci_upstream_bridge(pdev); up; up = pci_upstream_bridge(up))
		root = up;
	return root;
}

/*
 * AMD's root complexes forward peer requests since family 17h
 * (drivers/pci/p2pdma.c, cpu_supports_p2pdma).
 */
static bool cpu_forwards(void)
{
#ifdef CONFIG_X86
	return boot_cpu_data.x86_vendor == X86_VENDOR_AMD &&
	       boot_cpu_data.x86 >= 0x17;
#else
	return false;
#endif
}

/* The kernel's list where this kernel has one, else the CPU rule alone. */
static bool host_bridge_listed(struct pci_dev *provider, struct pci_dev *client)
{
	if (COMPAT_HAS_P2PDMA)
		return compat_p2pdma_distance(provider, client) >= 0;
	return pci_domain_nr(provider->bus) == pci_domain_nr(client->bus) &&
	       cpu_forwards();
}

static void set_bridge(struct p2pmem_probe *out, struct pci_dev *bridge)
{
	out->bridge_domain = pci_domain_nr(bridge->bus);
	out->bridge_bus = bridge->bus->number;
	out->bridge_devfn = bridge->devfn;
}

static void through_host_bridge(struct p2pmem_region *r, struct pci_dev *client,
				struct peer_path *p, struct p2pmem_probe *out)
{
	struct pci_dev *root = p->redirect ?: root_port_of(client);

	set_bridge(out, root);
	if (p->redirect)
		out->flags |= P2PMEM_PROBE_ACS_REDIRECT;
	if (host_bridge_listed(r->pdev, client)) {
		out->route = P2PMEM_ROUTE_BRIDGE;
		p2pmem_reason(out->reason, "through the host bridge above %s, which forwards peer requests",
			      pci_name(root));
		return;
	}
	out->route = P2PMEM_ROUTE_NONE;
	out->flags |= P2PMEM_PROBE_UNLISTED_BRIDGE;
	if (p->redirect)
		p2pmem_reason(out->reason, "ACS at switch port %s sends peer requests up to a host bridge that is on no allow-list",
			      pci_name(root));
	else
		p2pmem_reason(out->reason, "the path crosses an unlisted host bridge (above root port %s)",
			      pci_name(root));
}

static void predict_path(struct p2pmem_region *r, struct pci_dev *client,
			 struct p2pmem_probe *out)
{
	struct peer_path p = { };

	if (client == r->pdev) {
		out->route = P2PMEM_ROUTE_SWITCH;
		out->flags |= P2PMEM_PROBE_SAME_DEVICE;
		p2pmem_reason(out->reason, "the memory is the client's own");
		return;
	}
	find_path(r->pdev, client, &p);
	out->distance = p.distance;
	if (!p.common || p.redirect) {
		through_host_bridge(r, client, &p, out);
		return;
	}
	set_bridge(out, p.common);
	out->route = P2PMEM_ROUTE_SWITCH;
	p2pmem_reason(out->reason, "turned round below %s", pci_name(p.common));
}

/* True if an IOMMU translates what @client sends. */
static bool translated(struct pci_dev *client, struct p2pmem_probe *out)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&client->dev);

	if (!domain)
		return false;
	if (domain->type & __IOMMU_DOMAIN_PAGING)
		return true;
	out->flags |= P2PMEM_PROBE_PASSTHROUGH;
	return false;
}

/*
 * P2PDMA pages are given switch-local bus addresses even where an IOMMU then
 * sees them first (seen with intel-iommu: the writes vanish and the command
 * succeeds).  GENERIC pages get an IOVA that means the BAR.
 */
static void judge_iommu(struct pci_dev *client, u32 page_type,
			struct p2pmem_probe *out)
{
	if (out->flags & P2PMEM_PROBE_SAME_DEVICE || !translated(client, out))
		return;
	if (page_type == P2PMEM_PAGES_P2PDMA) {
		if (out->route != P2PMEM_ROUTE_SWITCH)
			return;
		out->route = P2PMEM_ROUTE_NONE;
		p2pmem_reason(out->reason, "an IOMMU translates %s, which gets untranslated bus addresses for p2pdma pages: use page type generic, or boot with iommu=pt",
			      pci_name(client));
		return;
	}
	out->route = P2PMEM_ROUTE_IOMMU;
	out->flags &= ~P2PMEM_PROBE_UNLISTED_BRIDGE;
	p2pmem_reason(out->reason, "an IOMMU translates %s: every request passes the root complex",
		      pci_name(client));
}

/*
 * The route by topology, when addresses are given out as for @page_type.  The
 * region is in use (p2pmem_enter).
 */
void p2pmem_predict(struct p2pmem_region *r, struct pci_dev *client,
		    u32 page_type, struct p2pmem_probe *out)
{
	out->bus_address = p2pmem_bus_address(r);
	predict_path(r, client, out);
	judge_iommu(client, page_type, out);
}

/* What the address that the DMA API gave says about the route. */
static void judge_address(struct p2pmem_region *r, struct pci_dev *client,
			  struct p2pmem_probe *out, dma_addr_t dma)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&client->dev);
	phys_addr_t phys = r->backing.phys;

	out->dma_address = dma;
	out->flags |= P2PMEM_PROBE_MAPPED;
	if (dma == phys || dma == out->bus_address)
		return;
	if (domain && iommu_iova_to_phys(domain, dma) == phys)
		return;
	out->route = P2PMEM_ROUTE_BOUNCED;
	p2pmem_reason(out->reason, "the kernel gives %s a bounce buffer in DRAM (swiotlb, or a DMA mask that does not reach the BAR)",
		      pci_name(client));
}

/* No transfer: SKIP_CPU_SYNC keeps a bounce buffer from being filled. */
static void probe_mapping(struct p2pmem_region *r, struct pci_dev *client,
			  struct p2pmem_probe *out)
{
	struct scatterlist sg;
	struct sg_table table = { .sgl = &sg, .nents = 1, .orig_nents = 1 };
	int ret;

	if (!client->dev.driver)
		return;
	sg_init_table(&sg, 1);
	sg_set_page(&sg, p2pmem_page(r, 0), PAGE_SIZE, 0);
	ret = dma_map_sgtable(&client->dev, &table, DMA_BIDIRECTIONAL,
			      DMA_ATTR_SKIP_CPU_SYNC);
	if (ret) {
		if (out->route == P2PMEM_ROUTE_NONE)
			return;
		out->route = P2PMEM_ROUTE_NONE;
		p2pmem_reason(out->reason, "the kernel refuses to map the memory for %s (errno %d)",
			      pci_name(client), -ret);
		return;
	}
	judge_address(r, client, out, sg_dma_address(&sg));
	dma_unmap_sgtable(&client->dev, &table, DMA_BIDIRECTIONAL,
			  DMA_ATTR_SKIP_CPU_SYNC);
}

/*
 * The client's device lock keeps its driver while the page is mapped; it is
 * taken before the gate, since an unbind holds it while it waits for a region.
 */
int p2pmem_probe(struct p2pmem_region *r, struct p2pmem_probe *out)
{
	struct pci_dev *client;
	int ret;

	client = pci_get_domain_bus_and_slot(out->pci_domain, out->pci_bus,
					     out->pci_devfn);
	if (!client)
		return -ENODEV;
	memset(out->reason, 0, sizeof(out->reason));
	ret = device_lock_interruptible(&client->dev);
	if (ret)
		goto out_put;
	if (p2pmem_enter(r)) {
		p2pmem_predict(r, client, r->backing.type, out);
		probe_mapping(r, client, out);
		p2pmem_leave(r);
	} else {
		ret = -ENODEV;
	}
	device_unlock(&client->dev);
out_put:
	pci_dev_put(client);
	return ret;
}
