// SPDX-License-Identifier: Apache-2.0
/* Asks the kernel how a client reaches a region, and judges the route. */
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
	route->route = probe->route <= P2PMEM_ROUTE_BOUNCED ? (enum donard_route_type)probe->route :
			DONARD_ROUTE_NONE;
	route->distance = probe->distance;
	route->unlisted_bridge = probe->flags & P2PMEM_PROBE_UNLISTED_BRIDGE;
	route->same_device = probe->flags & P2PMEM_PROBE_SAME_DEVICE;
	route->acs_redirect = probe->flags & P2PMEM_PROBE_ACS_REDIRECT;
	route->passthrough = probe->flags & P2PMEM_PROBE_PASSTHROUGH;
	route->translated = probe->flags & P2PMEM_PROBE_TRANSLATED;
	route->beyond_mask = probe->flags & P2PMEM_PROBE_BEYOND_MASK;
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
	if (ioctl(region->fd, P2PMEM_IOC_PROBE_PEER, &probe) == 0) {
		fill_route(route, &probe);
		return 0;
	}
	if (errno == EAGAIN)
		return dnd_fail(ctx, DND_E_BUSY, "the route from %s to %s cannot be determined while "
				"%s is being bound, unbound or reset. Wait for that to end.",
				client_bdf, region->name, client_bdf);
	return dnd_fail_errno(ctx, errno, "the route from %s to %s cannot be determined", client_bdf,
			      region->name);
}

DND_PUBLIC int donard_route_probe(struct donard_context *ctx, const char *region_name,
				  const char *client_bdf, struct donard_route *route)
{
	DND_USES(CONTEXT, ctx);
	struct donard_route found = { .size = sizeof(found) };
	struct dnd_region region;
	int rc = dnd_struct_check(ctx, route, "donard_route");

	if (!rc)
		rc = dnd_region_open(ctx, region_name, &region);
	if (rc)
		return rc;
	rc = dnd_route_probe(ctx, &region, client_bdf, &found);
	dnd_region_close(&region);
	if (!rc)
		dnd_struct_give(route, &found, sizeof(found));
	return rc;
}

DND_PUBLIC enum donard_verdict donard_route_verdict(const struct donard_route *route)
{
	switch (route->route) {
	case DONARD_ROUTE_SWITCH:
	case DONARD_ROUTE_IOMMU:
		return DONARD_VERDICT_YES;
	case DONARD_ROUTE_BRIDGE:
		return route->unlisted_bridge ? DONARD_VERDICT_UNLISTED : DONARD_VERDICT_YES;
	case DONARD_ROUTE_NONE:
		return route->unlisted_bridge ? DONARD_VERDICT_UNLISTED : DONARD_VERDICT_NO;
	default:
		return DONARD_VERDICT_NO;
	}
}

/*
 * Requests that an IOMMU translates cross the root complex, even between two functions below one switch, with or without ACS.
 */
static const char *remedy_of_translated(const struct donard_route *route)
{
	if (route->unlisted_bridge && route->acs_redirect)
		return "Boot with iommu=pt, and switch ACS redirection off if it is still in the way then";
	if (route->unlisted_bridge && !route->same_device)
		return "Boot with iommu=pt, and have both below one PCIe switch";
	return "Boot with iommu=pt";
}

/* Did the client get the CPU's address of the memory, which differs from the address on its bus? */
static bool has_wrong_address(const struct donard_route *route)
{
	return !route->unlisted_bridge && route->dma_address && route->dma_address != route->bus_address;
}

const char *dnd_route_remedy(const struct donard_route *route)
{
	if (route->route == DONARD_ROUTE_BOUNCED)
		return "Boot without swiotlb=force, and without an IOMMU mode that bounces untrusted "
		       "devices";
	if (route->beyond_mask)
		return "Let an IOMMU translate for it (boot without iommu=pt), or have the firmware place the BAR lower "
		       "('Above 4G Decoding')";
	if (route->translated)
		return remedy_of_translated(route);
	if (has_wrong_address(route))
		return "Let an IOMMU translate for it (boot without iommu=pt), or use page type p2pdma, if the region can "
		       "have it, with both below one PCIe switch";
	if (route->acs_redirect)
		return "Switch ACS redirection off at the ports that join the two (boot with pci=disable_acs_redir=PORTS)";
	return "Put both below one PCIe switch";
}

int dnd_route_rank(const struct donard_route *route)
{
	switch (donard_route_verdict(route)) {
	case DONARD_VERDICT_NO:
		return 0;
	case DONARD_VERDICT_UNLISTED:
		return 1;
	case DONARD_VERDICT_YES:
		break;
	}
	if (route->route == DONARD_ROUTE_SWITCH)
		return 4;
	return route->route == DONARD_ROUTE_BRIDGE ? 3 : 2;
}
