// SPDX-License-Identifier: Apache-2.0
/* Asks the kernel how a client reaches a region. */
#include <stdio.h>
#include <sys/ioctl.h>

#include "region/names.h"
#include "region/region.h"

static void fill_bridge(struct donard_route *route, const struct p2pmem_probe *probe)
{
	struct dnd_bdf bridge = {
		.domain = probe->bridge_domain,
		.bus = probe->bridge_bus,
		.devfn = probe->bridge_devfn,
	};

	route->bridge[0] = '\0';
	if (bridge.domain || bridge.bus || bridge.devfn)
		dnd_bdf_format(route->bridge, bridge);
}

static void fill_route(struct donard_route *route, const struct p2pmem_probe *probe)
{
	route->route = dnd_route_word(probe->route);
	route->distance = probe->distance;
	route->unlisted_bridge = probe->flags & P2PMEM_PROBE_UNLISTED_BRIDGE;
	route->same_device = probe->flags & P2PMEM_PROBE_SAME_DEVICE;
	route->acs_redirect = probe->flags & P2PMEM_PROBE_ACS_REDIRECT;
	route->passthrough = probe->flags & P2PMEM_PROBE_PASSTHROUGH;
	route->bus_address = probe->bus_address;
	route->dma_address = probe->flags & P2PMEM_PROBE_MAPPED ? probe->dma_address : 0;
	snprintf(route->reason, sizeof(route->reason), "%.*s", (int)sizeof(probe->reason) - 1,
		 probe->reason);
	fill_bridge(route, probe);
}

int dnd_route_probe(struct donard_context *ctx, const struct dnd_region *region,
		    const char *client_bdf, struct donard_route *route)
{
	struct p2pmem_probe probe = { .size = sizeof(probe) };
	struct dnd_bdf bdf;

	if (dnd_bdf_parse(client_bdf, &bdf))
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: not a PCI address; they look like "
				"0000:03:00.0.", client_bdf);
	probe.pci_domain = bdf.domain;
	probe.pci_bus = bdf.bus;
	probe.pci_devfn = bdf.devfn;
	if (ioctl(region->fd, P2PMEM_IOC_PROBE_PEER, &probe) < 0)
		return dnd_fail_errno(ctx, errno, "the route from %s to %s cannot be found out",
				      client_bdf, region->name);
	fill_route(route, &probe);
	return 0;
}

DND_PUBLIC int donard_route_probe(struct donard_context *ctx, const char *region_name,
				  const char *client_bdf, struct donard_route *route)
{
	struct dnd_region region;
	int rc;

	if (route->size < sizeof(*route))
		return dnd_fail(ctx, DND_E_BAD_OPTION, "struct donard_route has a wrong size");
	rc = dnd_region_open(ctx, region_name, &region);
	if (rc)
		return rc;
	rc = dnd_route_probe(ctx, &region, client_bdf, route);
	dnd_region_close(&region);
	return rc;
}

enum dnd_verdict dnd_route_verdict(const struct donard_route *route)
{
	if (!strcmp(route->route, "switch") || !strcmp(route->route, "iommu"))
		return DND_ROUTE_GO;
	if (!strcmp(route->route, "bridge"))
		return route->unlisted_bridge ? DND_ROUTE_UNLISTED : DND_ROUTE_GO;
	if (!strcmp(route->route, "none") && route->unlisted_bridge)
		return DND_ROUTE_UNLISTED;
	return DND_ROUTE_REFUSED;
}

int dnd_route_rank(const struct donard_route *route)
{
	switch (dnd_route_verdict(route)) {
	case DND_ROUTE_REFUSED:
		return 0;
	case DND_ROUTE_UNLISTED:
		return 1;
	case DND_ROUTE_GO:
		break;
	}
	if (!strcmp(route->route, "switch"))
		return 4;
	return !strcmp(route->route, "bridge") ? 3 : 2;
}
