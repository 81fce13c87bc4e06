// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "kernel/path.h"
#include "route.h"

#define ANY_DEVICE	0x10000
#define ZEN		0x17	/* the first family of AMD's whose root complex forwards */

/*
 * Host bridges that forward the requests of peers, by the function that stands for them: those of
 * pci_p2pdma_whitelist in drivers/pci/p2pdma.c of Linux 7.3.  A kernel has a list of its own, which may be
 * shorter; where the module is loaded, that one decides.
 */
static const struct listed {
	unsigned int vendor, device;
	bool same_bridge;	/* only between ports of one host bridge */
} listed[] = {
	/* Xeon E5 and Core i7, Xeon E5 v3 and E7 v3 */
	{ 0x8086, 0x3c00, true }, { 0x8086, 0x3c01, true }, { 0x8086, 0x2f00, true }, { 0x8086, 0x2f01, true },
	/* Skylake-SP and its successors */
	{ 0x8086, 0x2020, false }, { 0x8086, 0x2030, false }, { 0x8086, 0x2031, false },
	{ 0x8086, 0x2032, false }, { 0x8086, 0x2033, false },
	/* Ice Lake-SP and later */
	{ 0x8086, 0x09a2, false },
	/* accelerators that are alone on a root bus of theirs: DSA, IAA, QAT */
	{ 0x8086, 0x0b25, false }, { 0x8086, 0x0cfe, false }, { 0x8086, 0x11fb, false },
	{ 0x8086, 0x1212, false }, { 0x8086, 0x1216, false }, { 0x8086, 0x4940, false },
	{ 0x8086, 0x4942, false }, { 0x8086, 0x4944, false }, { 0x8086, 0x4946, false },
	{ 0x8086, 0x4948, false },
	/* Google's machines; NVIDIA's processors */
	{ 0x1ae0, ANY_DEVICE, false },
	{ 0x10de, 0x2f95, false }, { 0x10de, 0x2f96, false }, { 0x10de, 0x2f97, false },
	{ 0x10de, 0x2f98, false },
};

static bool is_listed(const struct pci_function *bridge, bool same_bridge)
{
	for (size_t i = 0; bridge && i < sizeof(listed) / sizeof(listed[0]); i++)
		if (listed[i].vendor == bridge->vendor &&
		    (listed[i].device == ANY_DEVICE || listed[i].device == bridge->device))
			return same_bridge || !listed[i].same_bridge;
	return false;
}

/* Where the configuration space cannot be read, a bridge on a root bus is taken for a root port. */
static bool is_root_port(const struct pci_function *function)
{
	return function->config_whole ? function->port == PCI_PORT_ROOT : pci_is_bridge(function);
}

static bool is_at(const struct pci_function *function, const char *device_and_function)
{
	return !strcmp(function->bdf + strlen(function->bdf) - 4, device_and_function);
}

/* Device 00.0 of the root bus, or the first root port where that comes first. */
const struct pci_function *route_host_bridge(const struct pci *pci, const struct pci_function *function)
{
	const struct pci_function *root = pci_root_of(function), *first = NULL;

	for (size_t i = 0; i < pci->count && !first; i++)
		if (!pci->functions[i].up && !strcmp(pci->functions[i].root_bus, root->root_bus))
			first = &pci->functions[i];
	return first && (is_at(first, "00.0") || is_root_port(first)) ? first : NULL;
}

static bool is_zen(const struct kernel *kernel)
{
	return !strcmp(kernel->cpu_vendor, "AuthenticAMD") && kernel->cpu_family >= ZEN;
}

static bool same_root_bus(const struct pci_function *a, const struct pci_function *b)
{
	return !strcmp(pci_root_of(a)->root_bus, pci_root_of(b)->root_bus);
}

/* Another function on the root bus, without which the kernel cannot be asked. */
static bool has_neighbour(const struct pci *pci, const struct pci_function *function)
{
	const struct pci_function *root = pci_root_of(function);

	for (size_t i = 0; i < pci->count; i++)
		if (&pci->functions[i] != root && !pci->functions[i].up &&
		    !strcmp(pci->functions[i].root_bus, root->root_bus))
			return true;
	return false;
}

static bool bridges_listed(const struct pci *pci, const struct pci_function *a,
			   const struct pci_function *b)
{
	if (same_root_bus(a, b))
		return is_listed(route_host_bridge(pci, a), true);
	return is_listed(route_host_bridge(pci, a), false) && is_listed(route_host_bridge(pci, b), false);
}

/* kernel/route.c, root_complex_forwards() */
bool route_forwards(const struct pci *pci, const struct kernel *kernel, const struct pci_function *a,
		    const struct pci_function *b)
{
	if (!kernel->p2pdma)
		return is_zen(kernel) && !strncmp(a->bdf, b->bdf, strcspn(a->bdf, ":"));
	if (is_zen(kernel))
		return true;
	if (pci_root_of(a) == pci_root_of(b) && !has_neighbour(pci, a))
		return false;
	return bridges_listed(pci, a, b);
}

/* Drivers that hand the function on, so that it may get another IOMMU domain at any moment. */
static bool uses_dma_api(const struct pci_function *client)
{
	return client->driver[0] && !strstr(client->driver, "vfio") && strcmp(client->driver, "pci-stub") &&
	       strcmp(client->driver, "pcieport");
}

bool route_translated(const struct pci_function *client)
{
	if (!client->iommu[0])
		return false;
	return !uses_dma_api(client) || (strcmp(client->iommu, "identity") && strcmp(client->iommu, "blocked"));
}

static const void *bridge_above(const void *node)
{
	return ((const struct pci_function *)node)->up;
}

static bool acs_redirects(const void *node)
{
	return pci_redirects(node);
}

static const struct p2pmem_tree sysfs_tree = { .up = bridge_above, .redirects = acs_redirects };

/* What p2pmem_path_find() stops at the first of. */
static void collect_redirects(const struct pci_function *from, const struct p2pmem_path *path,
			      struct tree_route *out)
{
	for (; from != path->common; from = from->up)
		if (pci_redirects(from) && out->redirect_count < ROUTE_REDIRECTS)
			out->redirects[out->redirect_count++] = from;
}

static bool all_known(const struct pci_function *from, const struct pci_function *end)
{
	for (; from != end; from = from->up)
		if (!from->config_whole)
			return false;
	return true;
}

static bool acs_known(const struct p2pmem_path *path, const struct pci_function *a,
		      const struct pci_function *b)
{
	const struct pci_function *common = path->common;

	return a == b || !common || (common->config_whole && all_known(a, common) && all_known(b, common));
}

static void explain(struct tree_route *out, const struct p2pmem_way *way,
		    const struct pci_function *client, const struct pci_function *bridge)
{
	struct donard_route *route = &out->route;
	char *text = route->reason;
	const size_t bytes = sizeof(route->reason);

	if (route->route == DONARD_ROUTE_BOUNCED)
		snprintf(text, bytes, "swiotlb=force gives %s a bounce buffer in DRAM", client->bdf);
	else if (route->unlisted_bridge && way->path.redirect)
		snprintf(text, bytes, "ACS at %s sends peer requests up to a host bridge that is on no list",
			 bridge->bdf);
	else if (route->unlisted_bridge && way->translated)
		snprintf(text, bytes, "an IOMMU translates %s, so its requests cross an unlisted host bridge (above %s)",
			 client->bdf, bridge->bdf);
	else if (route->unlisted_bridge)
		snprintf(text, bytes, "the path crosses an unlisted host bridge (above %s)", bridge->bdf);
	else if (route->route == DONARD_ROUTE_NONE)
		snprintf(text, bytes, "an IOMMU translates %s, which would need untranslated bus addresses for p2pdma pages",
			 client->bdf);
	else if (way->same)
		snprintf(text, bytes, "the memory is the client's own");
	else if (route->route == DONARD_ROUTE_SWITCH)
		snprintf(text, bytes, "turned round below %s", bridge->bdf);
	else if (route->route == DONARD_ROUTE_BRIDGE)
		snprintf(text, bytes, "through the host bridge above %s, which forwards peer requests", bridge->bdf);
	else
		snprintf(text, bytes, "an IOMMU translates %s: through the root complex, which forwards peer requests",
			 client->bdf);
}

/* The bridge that decides: kernel/route.c, decider() */
static const struct pci_function *decider(const struct p2pmem_way *way, const struct pci_function *client)
{
	if (way->path.redirect)
		return way->path.redirect;
	return way->path.common && !way->translated ? way->path.common : pci_root_of(client);
}

/* Generic pages are mapped as RAM is; P2PDMA pages get their bus address below a switch. */
static bool bounces(const struct kernel *kernel, const struct p2pmem_way *way)
{
	return kernel_forces_swiotlb(kernel) && !way->translated &&
	       way->page_type == P2PMEM_PAGES_GENERIC;
}

void route_predict(const struct pci *pci, const struct kernel *kernel, const struct pci_function *memory,
		   const struct pci_function *client, enum donard_page_type page_type,
		   struct tree_route *out)
{
	struct p2pmem_way way = {
		.same = memory == client,
		.forwards = route_forwards(pci, kernel, memory, client),
		.translated = route_translated(client),
		.page_type = page_type == DONARD_PAGES_P2PDMA ? P2PMEM_PAGES_P2PDMA : P2PMEM_PAGES_GENERIC,
	};
	const struct pci_function *bridge;
	__u32 flags = 0;

	memset(out, 0, sizeof(*out));
	out->route.size = sizeof(out->route);
	p2pmem_path_find(&sysfs_tree, memory, client, &way.path);
	out->route.route = (enum donard_route_type)p2pmem_way_judge(&way, &flags);
	if (bounces(kernel, &way))
		out->route.route = DONARD_ROUTE_BOUNCED;
	out->route.distance = way.path.distance;
	out->route.unlisted_bridge = flags & P2PMEM_PROBE_UNLISTED_BRIDGE;
	out->route.same_device = way.same;
	out->route.acs_redirect = way.path.redirect;
	out->route.translated = way.translated;
	out->behind_redirect = way.path.common && way.path.redirect;
	out->certain = acs_known(&way.path, memory, client) && strcmp(client->iommu, "unknown");
	if (out->behind_redirect) {
		collect_redirects(memory, &way.path, out);
		collect_redirects(client, &way.path, out);
		if (pci_redirects(way.path.common) && out->redirect_count < ROUTE_REDIRECTS)
			out->redirects[out->redirect_count++] = way.path.common;
	}
	bridge = decider(&way, client);
	if (bridge != client)
		snprintf(out->route.bridge, sizeof(out->route.bridge), "%s", bridge->bdf);
	explain(out, &way, client, bridge);
}
