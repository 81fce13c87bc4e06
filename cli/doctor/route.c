// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "kernel/path.h"
#include "route.h"

/* If the configuration space cannot be read, a bridge on a root bus counts as a root port. */
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

bool route_uses_dma_api(const struct pci_function *client)
{
	return client->driver[0] && !strstr(client->driver, "vfio") && strcmp(client->driver, "pci-stub") &&
	       strcmp(client->driver, "pcieport");
}

bool route_starts_dma(const struct pci_function *client)
{
	static const char *const others[] = { "p2pmem", "ast", "mgag200" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(client->driver, others[i]))
			return false;
	return route_uses_dma_api(client);
}

bool route_translated(const struct pci_function *client)
{
	if (!client->iommu[0])
		return false;
	return !route_uses_dma_api(client) || (strcmp(client->iommu, "identity") && strcmp(client->iommu, "blocked"));
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

/* Collects all functions that redirect; p2pmem_path_find() stops at the first. */
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

static void explain_undecided(struct tree_route *out, const struct p2pmem_way *way,
			      const struct pci_function *client, const struct pci_function *bridge)
{
	char *text = out->route.reason;
	const size_t bytes = sizeof(out->route.reason);

	if (way->path.redirect)
		snprintf(text, bytes, "ACS at %s sends peer requests up to a host bridge", bridge->bdf);
	else if (way->translated)
		snprintf(text, bytes, "an IOMMU translates %s, so its requests cross a host bridge (above %s)", client->bdf,
			 bridge->bdf);
	else
		snprintf(text, bytes, "the path crosses a host bridge (above %s)", bridge->bdf);
}

static void explain(struct tree_route *out, const struct p2pmem_way *way,
		    const struct pci_function *client, const struct pci_function *bridge)
{
	struct donard_route *route = &out->route;
	char *text = route->reason;
	const size_t bytes = sizeof(route->reason);

	if (route->route == DONARD_ROUTE_BOUNCED)
		snprintf(text, bytes, "swiotlb=force gives %s a bounce buffer in DRAM", client->bdf);
	else if (out->undecided)
		explain_undecided(out, way, client, bridge);
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

/* Returns the bridge that decides, as decider() in kernel/route.c does. */
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

void route_predict(const struct kernel *kernel, const struct pci_function *memory,
		   const struct pci_function *client, enum donard_page_type page_type,
		   enum kernel_word word, struct tree_route *out)
{
	struct p2pmem_way way = {
		.same = memory == client,
		.forwards = word == KERNEL_FORWARDS,
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
	out->undecided = out->route.unlisted_bridge && word == KERNEL_NOT_ASKED &&
			 out->route.route != DONARD_ROUTE_BOUNCED;
	out->route.same_device = way.same;
	out->route.acs_redirect = way.path.redirect;
	out->route.translated = way.translated;
	out->below_one = way.path.common;
	out->behind_redirect = out->below_one && way.path.redirect;
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

bool route_contradicts(const struct kernel *kernel, const struct tree_route *tree, const struct donard_route *module)
{
	const struct donard_route *sysfs = &tree->route;

	if (!tree->certain || module->beyond_mask || (module->route == DONARD_ROUTE_BOUNCED && !kernel_forces_swiotlb(kernel)))
		return false;
	return module->route != sysfs->route || module->unlisted_bridge != sysfs->unlisted_bridge;
}
