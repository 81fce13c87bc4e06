// SPDX-License-Identifier: Apache-2.0
/* The route policy: no bounce that the caller did not allow. */
#include <stdio.h>

#include "copy/copy.h"

/* Keeps the worse of the route so far and this drive's. */
static int probe_drive(struct donard_context *ctx, const struct dnd_region *region,
		       const struct dnd_drive *drive, struct dnd_choice *worst)
{
	struct donard_route route = { .size = sizeof(route) };
	int rc;

	for (size_t i = 0; i < drive->blockdev.controller_count; i++) {
		rc = dnd_route_probe(ctx, region, drive->blockdev.controllers[i], &route);
		if (rc)
			return rc;
		if (worst->drive && dnd_route_rank(&route) >= dnd_route_rank(&worst->route))
			continue;
		worst->route = route;
		snprintf(worst->client, sizeof(worst->client), "%s", drive->blockdev.controllers[i]);
		worst->drive = drive;
	}
	return 0;
}

static int probe_region(const struct dnd_copy *copy, const struct dnd_region *region,
			struct dnd_choice *worst)
{
	int rc = 0;

	memset(worst, 0, sizeof(*worst));
	if (!copy->src.is_region)
		rc = probe_drive(copy->ctx, region, &copy->src.drive, worst);
	if (!rc && !copy->dst.is_region)
		rc = probe_drive(copy->ctx, region, &copy->dst.drive, worst);
	return rc;
}

/* "/dev/nvme0n1 (0000:01:00.0)" */
const char *dnd_copy_route_client(const struct dnd_copy *copy, char text[DND_ROUTE_NAME_BYTES])
{
	const struct dnd_choice *chosen = &copy->chosen;

	snprintf(text, DND_ROUTE_NAME_BYTES, "%.255s (%s)",
		 chosen->drive ? chosen->drive->path : "the drive", chosen->client);
	return text;
}

/* "p2pmem0 (0000:03:00.0)" */
const char *dnd_copy_route_region(struct dnd_copy *copy, char text[DND_ROUTE_NAME_BYTES])
{
	const struct dnd_region *region = dnd_copy_region(copy);

	snprintf(text, DND_ROUTE_NAME_BYTES, "%s (%s)", region->name, region->bdf);
	return text;
}

static const char *remedy(const struct donard_route *route)
{
	if (route->route == DONARD_ROUTE_BOUNCED)
		return "Boot without swiotlb=force, and without an IOMMU mode that bounces untrusted "
		       "devices; if the device cannot address the BAR, put the BAR below 4 GiB or "
		       "turn the IOMMU on. Or pass ";
	if (dnd_route_verdict(route) == DND_ROUTE_UNLISTED)
		return "Put both below one PCIe switch, or pass --allow-unlisted-bridge to try it, or ";
	return "Put both below one PCIe switch, or pass ";
}

static int refuse(struct dnd_copy *copy, const struct dnd_region *region)
{
	const struct donard_route *route = &copy->chosen.route;
	bool named = strstr(route->reason, route->bridge);	/* in the reason already */
	char client[DND_ROUTE_NAME_BYTES];

	return dnd_fail(copy->ctx, DND_E_UNREACHABLE, "%s cannot reach %s (%s): %s%s%s. "
			"%s--allow-bounce.", dnd_copy_route_client(copy, client), region->name,
			region->bdf, route->reason[0] ? route->reason : "the kernel found no route",
			named ? "" : ", at ", named ? "" : route->bridge, remedy(route));
}

static int decide(struct dnd_copy *copy, const struct dnd_region *region)
{
	struct donard_route *route = &copy->chosen.route;
	enum dnd_verdict verdict = dnd_route_verdict(route);

	if (dnd_copy_flag(copy, DONARD_COPY_FORCE_BOUNCE)) {
		copy->bounced = true;
		return 0;
	}
	if (verdict == DND_ROUTE_GO)
		return 0;
	if (verdict == DND_ROUTE_UNLISTED && dnd_copy_flag(copy, DONARD_COPY_ALLOW_UNLISTED)) {
		route->route = route->translated ? DONARD_ROUTE_IOMMU : DONARD_ROUTE_BRIDGE;
		return 0;
	}
	if (!dnd_copy_flag(copy, DONARD_COPY_ALLOW_BOUNCE))
		return refuse(copy, region);
	copy->bounced = true;
	return 0;
}

static bool usable_for_staging(const struct donard_region_info *info)
{
	return info->state == DONARD_STATE_READY && !info->persistent && info->available_bytes;
}

static int rank_of(const struct dnd_copy *copy, const char *name)
{
	struct dnd_choice worst;
	struct dnd_region region;
	int rank = -1;

	if (dnd_region_open(copy->ctx, name, &region))
		return -1;
	if (!probe_region(copy, &region, &worst))
		rank = dnd_route_rank(&worst.route);
	dnd_region_close(&region);
	return rank;
}

/* Name of the best region, "" when there is none. */
static int choose_staging(const struct dnd_copy *copy, char name[P2PMEM_NAME_BYTES])
{
	struct donard_region_list *list;
	int best = -1, rank, count = donard_region_list(copy->ctx, &list);

	name[0] = '\0';
	for (int i = 0; i < count; i++) {
		const struct donard_region_info *info = donard_region_get(list, (size_t)i);

		rank = usable_for_staging(info) ? rank_of(copy, info->name) : -1;
		if (rank <= best)
			continue;
		best = rank;
		snprintf(name, P2PMEM_NAME_BYTES, "%s", info->name);
	}
	if (count < 0)
		return count;
	donard_region_list_free(list);
	return 0;
}

static int no_staging(struct dnd_copy *copy)
{
	if (!dnd_copy_flag(copy, DONARD_COPY_ALLOW_BOUNCE))
		return dnd_fail(copy->ctx, DND_E_UNREACHABLE, "no volatile region with free memory "
				"is ready to carry the data between %s and %s. Add one with "
				"'donard-cli region add', or pass --allow-bounce.",
				copy->src.label, copy->dst.label);
	copy->bounced = true;
	return 0;
}

static int open_staging(struct dnd_copy *copy)
{
	char name[P2PMEM_NAME_BYTES];
	int rc;

	if (copy->options.via) {
		rc = dnd_region_open(copy->ctx, copy->options.via, &copy->via);
	} else {
		rc = choose_staging(copy, name);
		if (rc || !name[0])
			return rc && !dnd_copy_flag(copy, DONARD_COPY_ALLOW_BOUNCE) ?
				rc : no_staging(copy);
		rc = dnd_region_open(copy->ctx, name, &copy->via);
	}
	if (rc || !dnd_region_persistent(&copy->via))
		return rc;
	return dnd_fail(copy->ctx, DND_E_UNSUPPORTED, "%s: persistent memory is never used for "
			"staging: its bytes are somebody's data. Name a volatile region.",
			copy->via.name);
}

int dnd_copy_choose_route(struct dnd_copy *copy)
{
	struct dnd_region *region;
	int rc;

	if (copy->src.is_region && copy->dst.is_region) {
		copy->chosen.route.route = DONARD_ROUTE_CPU;
		return 0;
	}
	rc = dnd_copy_check_files(copy);
	if (rc)
		return rc;
	if (dnd_copy_staged(copy)) {
		copy->bounced |= dnd_copy_flag(copy, DONARD_COPY_FORCE_BOUNCE);
		rc = copy->bounced ? 0 : open_staging(copy);
		if (rc || copy->bounced)
			return rc;
	}
	region = dnd_copy_region(copy);
	rc = probe_region(copy, region, &copy->chosen);
	return rc ? rc : decide(copy, region);
}
