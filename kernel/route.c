// SPDX-License-Identifier: GPL-2.0
/*
 * How a PCI function reaches a region.  GENERIC pages go through the DMA API like
 * RAM, so the kernel does not check whether a request can get there, and this file
 * does.  path.c walks the tree and judges; this file collects the facts.
 */
#include <linux/iommu.h>
#include <linux/pci.h>
#include <linux/rcupdate.h>
#include <asm/processor.h>

#include "p2pmem.h"
#include "path.h"
#include "reason.h"
#include "route.h"

static const void *bridge_above(const void *node)
{
	return pci_upstream_bridge((struct pci_dev *)node);
}

/* Does ACS keep this port from turning requests round itself? */
static bool acs_redirects(const void *node)
{
	struct pci_dev *pdev = (struct pci_dev *)node;
	u16 ctrl;

	if (!pdev->acs_cap)
		return false;
	pci_read_config_word(pdev, pdev->acs_cap + PCI_ACS_CTRL, &ctrl);
	return ctrl & (PCI_ACS_RR | PCI_ACS_CR | PCI_ACS_EC);
}

static const struct p2pmem_tree pci_tree = {
	.up = bridge_above,
	.redirects = acs_redirects,
};

/* The function on a root bus that is @pdev or lies above it. */
static struct pci_dev *root_of(struct pci_dev *pdev)
{
	struct pci_dev *up;

	while ((up = pci_upstream_bridge(pdev)))
		pdev = up;
	return pdev;
}

/*
 * AMD's root complexes forward peer requests since family 17h
 * (drivers/pci/p2pdma.c, cpu_supports_p2pdma).
 */
static bool cpu_forwards(void)
{
	return boot_cpu_data.x86_vendor == X86_VENDOR_AMD && boot_cpu_data.x86 >= 0x17;
}

/* Another function on the root bus of @root, with a reference, or NULL. */
static struct pci_dev *neighbour_of(struct pci_dev *root)
{
	unsigned int devfn;

	for (devfn = 0; devfn < 256; devfn++) {
		struct pci_dev *pdev;

		if (devfn == root->devfn)
			continue;
		/* Unlike pci_get_slot(), this takes no lock that ranks above device locks. */
		pdev = pci_get_domain_bus_and_slot(pci_domain_nr(root->bus),
						   root->bus->number, devfn);
		if (pdev)
			return pdev;
	}
	return NULL;
}

/*
 * The kernel looks at its list of host bridges only for two functions that nothing
 * but a host bridge joins.  So this asks about two functions on root buses.
 */
static bool host_bridge_listed(struct pci_dev *provider, struct pci_dev *client)
{
	struct pci_dev *a = root_of(provider), *b = root_of(client);
	bool listed;

	if (a != b)
		return compat_p2pdma_distance(a, b) >= 0;
	b = neighbour_of(a);
	if (!b)
		return cpu_forwards();
	listed = compat_p2pdma_distance(a, b) >= 0;
	pci_dev_put(b);
	return listed;
}

/* Goes by the kernel's list if this kernel has one, else by the CPU alone. */
static bool root_complex_forwards(struct pci_dev *provider, struct pci_dev *client)
{
	if (COMPAT_HAS_P2PDMA)
		return host_bridge_listed(provider, client);
	return pci_domain_nr(provider->bus) == pci_domain_nr(client->bus) &&
	       cpu_forwards();
}

/*
 * Does the driver of @client use the kernel's DMA API?  Then the core lets nobody change
 * the IOMMU domain (iommu_device_use_default_domain()).  A function without a driver, or
 * with one that hands it on (VFIO), can get another domain at any moment.  The old one is
 * freed, so a look at it would read freed memory.
 *
 * If the caller is the driver of @client, or holds the device lock, the answer stays true.
 * For other callers it may be out of date at once: the driver may be unbound, and its module
 * unloaded, which waits for RCU readers such as this one (free_module()).
 */
bool p2pmem_uses_dma_api(struct pci_dev *client)
{
	struct device_driver *driver;
	bool uses;

	rcu_read_lock();
	driver = READ_ONCE(client->dev.driver);
	uses = driver && !to_pci_driver(driver)->driver_managed_dma;
	rcu_read_unlock();
	return uses;
}

/*
 * The domain that translates the requests of @client, or NULL.  p2pmem_uses_dma_api()
 * must be true for @client: then the domain stays as long as its driver does.
 */
struct iommu_domain *p2pmem_translation(struct pci_dev *client)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&client->dev);

	return domain && domain->type & __IOMMU_DOMAIN_PAGING ? domain : NULL;
}

static void find_way(struct p2pmem_region *r, struct pci_dev *client,
		     u32 page_type, bool steady, struct p2pmem_way *way)
{
	p2pmem_path_find(&pci_tree, r->pdev, client, &way->path);
	way->same = client == r->pdev;
	way->forwards = root_complex_forwards(r->pdev, client);
	way->translated = steady ? !!p2pmem_translation(client) :
				   device_iommu_mapped(&client->dev);
	way->page_type = page_type;
}

static void set_bridge(struct p2pmem_probe *out, const struct pci_dev *bridge)
{
	out->bridge_domain = pci_domain_nr(bridge->bus);
	out->bridge_bus = bridge->bus->number;
	out->bridge_devfn = bridge->devfn;
}

/* The bridge that decides the route. */
static const struct pci_dev *decider(const struct p2pmem_way *way,
				     struct pci_dev *client)
{
	if (way->path.redirect)
		return way->path.redirect;
	if (way->path.common && !way->translated)
		return way->path.common;
	return root_of(client);
}

static void explain_unlisted(const struct p2pmem_way *way, struct pci_dev *client,
			     const char *bridge, struct p2pmem_probe *out)
{
	if (way->path.redirect)
		p2pmem_reason(out->reason, "ACS at %s sends peer requests up to a host bridge that is on no allow-list",
			      bridge);
	else if (way->path.common)
		p2pmem_reason(out->reason, "an IOMMU translates %s, so its requests cross an unlisted host bridge (above %s)",
			      pci_name(client), bridge);
	else
		p2pmem_reason(out->reason, "the path crosses an unlisted host bridge (above %s)",
			      bridge);
}

static void explain(const struct p2pmem_way *way, struct pci_dev *client,
		    const char *bridge, struct p2pmem_probe *out)
{
	if (out->flags & P2PMEM_PROBE_UNLISTED_BRIDGE)
		explain_unlisted(way, client, bridge, out);
	else if (out->route == P2PMEM_ROUTE_NONE)
		p2pmem_reason(out->reason, "an IOMMU translates %s, which gets untranslated bus addresses for p2pdma pages: use page type generic, or boot with iommu=pt",
			      pci_name(client));
	else if (out->route == P2PMEM_ROUTE_SWITCH && way->same)
		p2pmem_reason(out->reason, "the memory is the client's own");
	else if (out->route == P2PMEM_ROUTE_SWITCH)
		p2pmem_reason(out->reason, "turned round below %s", bridge);
	else if (out->route == P2PMEM_ROUTE_BRIDGE)
		p2pmem_reason(out->reason, "through the host bridge above %s, which forwards peer requests",
			      bridge);
	else
		p2pmem_reason(out->reason, "an IOMMU translates %s: every request passes the root complex, which forwards peer requests",
			      pci_name(client));
}

/*
 * Judges the route again, now that @client has got the address @dma for memory that lies
 * at @bus on the memory's own bus and at @phys for the CPU.  The caller keeps the driver
 * of @client bound, and that driver uses the DMA API.
 */
u32 p2pmem_route_by_address(struct pci_dev *client, u32 route, dma_addr_t dma, u64 bus,
			    phys_addr_t phys)
{
	struct iommu_domain *domain = p2pmem_translation(client);

	return p2pmem_address_judge(route, dma, bus, phys,
				    domain ? iommu_iova_to_phys(domain, dma) : 0);
}

/* The client has an IOMMU, which does not translate its requests. */
static bool passes_through(struct pci_dev *client)
{
	return iommu_get_domain_for_dev(&client->dev) && !p2pmem_translation(client);
}

/*
 * Predicts the route by topology, for addresses as @client gets them for @page_type.  The
 * caller has a reference to @client, and needs no lock.  If @steady, the caller also keeps
 * the driver of @client bound.  If the driver may be unbound, or does not use the DMA API,
 * any IOMMU is taken to translate, which is the stricter assumption.
 */
void p2pmem_predict(struct p2pmem_region *r, struct pci_dev *client,
		    u32 page_type, bool steady, struct p2pmem_probe *out)
{
	const struct pci_dev *bridge;
	struct p2pmem_way way;

	steady = steady && p2pmem_uses_dma_api(client);
	find_way(r, client, page_type, steady, &way);
	out->bus_address = p2pmem_bus_address(r);
	out->distance = way.path.distance;
	out->route = p2pmem_way_judge(&way, &out->flags);
	if (steady && passes_through(client))
		out->flags |= P2PMEM_PROBE_PASSTHROUGH;
	bridge = decider(&way, client);
	if (bridge != client)
		set_bridge(out, bridge);
	explain(&way, client, pci_name(bridge), out);
}
