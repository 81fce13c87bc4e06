// SPDX-License-Identifier: Apache-2.0
/* The route policy of one pair: it never bounces unless the caller allows it. */
#include <stdio.h>
#include <string.h>

#include "join/join.h"

static int probe_leg(struct dnd_join *join, size_t leg)
{
	const struct dnd_blockdev *drive = dnd_blockdev_leg(&join->drive->blockdev, leg);
	struct donard_route route = { .size = sizeof(route) }, worst = { 0 };
	int rc;

	for (size_t i = 0; i < drive->controller_count; i++) {
		rc = dnd_route_probe(join->ctx, join->region, drive->controllers[i], &route);
		if (rc)
			return rc;
		if (!i || dnd_route_rank(&route) < dnd_route_rank(&worst))
			worst = route;
		if (join->client[0] && dnd_route_rank(&route) >= dnd_route_rank(&join->route))
			continue;
		join->route = route;
		join->leg = leg;
		snprintf(join->client, sizeof(join->client), "%s", drive->controllers[i]);
	}
	join->legs.routes[leg] = worst.route;
	return 0;
}

/* A leg that is gone has no route; the array goes on without it. */
static bool leg_is_gone(const struct dnd_join *join, size_t leg)
{
	size_t ignored;

	return join->drive->blockdev.stack &&
	       dnd_blockdev_health(join->ctx, dnd_blockdev_leg(&join->drive->blockdev, leg),
				   &ignored) == DND_HEALTH_GONE;
}

int dnd_join_probe(struct dnd_join *join)
{
	int rc = 0;

	join->client[0] = '\0';
	for (size_t i = 0; !rc && i < dnd_blockdev_leg_count(&join->drive->blockdev); i++)
		if (!leg_is_gone(join, i))
			rc = probe_leg(join, i);
	return rc || join->client[0] ? rc : probe_leg(join, 0);
}

/* "/dev/nvme0n1 (0000:01:00.0)", or "/dev/md0, leg nvme0n1 of md0 (0000:01:00.0)" */
const char *dnd_join_client_text(const struct dnd_join *join, char text[DND_JOIN_NAME_BYTES])
{
	char leg[DND_LEG_TEXT_BYTES];

	dnd_blockdev_leg_text(&join->drive->blockdev, join->leg, leg);
	snprintf(text, DND_JOIN_NAME_BYTES, "%.255s%s%s (%s)", join->drive->path, leg[0] ? ", " : "", leg,
		 join->client);
	return text;
}

/* "p2pmem0 (0000:03:00.0)" */
const char *dnd_join_region_text(const struct dnd_join *join, char text[DND_JOIN_NAME_BYTES])
{
	snprintf(text, DND_JOIN_NAME_BYTES, "%s (%s)", join->region->name, join->region->bdf);
	return text;
}

/* The words between the remedy and the name of the flag that allows a bounce. */
static const char *or_pass(const struct donard_route *route)
{
	bool has_parts = strchr(dnd_route_remedy(route), ',');

	if (donard_route_verdict(route) == DONARD_VERDICT_UNLISTED)
		return has_parts ? ". Or pass ALLOW_UNLISTED to try it, or " : ", or pass ALLOW_UNLISTED to try it, or ";
	return has_parts ? ". Or pass " : ", or pass ";
}

/* Does the leg have other controllers than the one that is refused, and does each of them have a route? */
static bool others_reach(const struct dnd_join *join)
{
	const struct dnd_blockdev *drive = dnd_blockdev_leg(&join->drive->blockdev, join->leg);
	struct donard_route route = { .size = sizeof(route) };

	for (size_t i = 0; i < drive->controller_count; i++)
		if (strcmp(drive->controllers[i], join->client) != 0 &&
		    (dnd_route_probe(join->ctx, join->region, drive->controllers[i], &route) ||
		     donard_route_verdict(&route) != DONARD_VERDICT_YES))
			return false;
	return drive->controller_count > 1;
}

static int refuse(const struct dnd_join *join)
{
	const struct donard_route *route = &join->route;
	/* The reason names the bridge already, or is the IOMMU, which no bridge decides. */
	bool named = strstr(route->reason, route->bridge) || (route->translated && !route->unlisted_bridge);
	char client[DND_JOIN_NAME_BYTES], region[DND_JOIN_NAME_BYTES];

	return dnd_fail(join->ctx, DND_E_UNREACHABLE, "%s cannot reach %s: %s%s%s. "
			"%s%s%sALLOW_BOUNCE.", dnd_join_client_text(join, client),
			dnd_join_region_text(join, region),
			route->reason[0] ? route->reason : "the kernel found no route",
			named ? "" : ", at ", named ? "" : route->bridge, dnd_route_remedy(route),
			others_reach(join) ? ", or unbind that controller if all its namespaces have others that work: the drive's have a route" : "",
			or_pass(route));
}

/* Legs for which the kernel finds no route get the one through the unlisted bridge that is being tried. */
static void name_unlisted(struct dnd_join *join)
{
	for (size_t i = 0; i < dnd_blockdev_leg_count(&join->drive->blockdev); i++)
		if (join->legs.routes[i] == DONARD_ROUTE_NONE)
			join->legs.routes[i] = join->route.route;
}

int dnd_join_decide(struct dnd_join *join)
{
	struct donard_route *route = &join->route;
	enum donard_verdict verdict = donard_route_verdict(route);

	if (verdict == DONARD_VERDICT_YES)
		return 0;
	if (verdict == DONARD_VERDICT_UNLISTED && join->leave & DND_JOIN_UNLISTED) {
		route->route = route->translated ? DONARD_ROUTE_IOMMU : DONARD_ROUTE_BRIDGE;
		name_unlisted(join);
		return 0;
	}
	if (!(join->leave & DND_JOIN_BOUNCE))
		return refuse(join);
	join->bounced = true;
	return 0;
}

/*
 * Keeps the text of a lookup that failed.  -EACCES gets another text, because the table was readable, or not needed, when the
 * drive was opened.
 */
static int refuse_change(const struct dnd_join *join, int rc)
{
	const struct dnd_drive *drive = join->drive;

	if (rc == -EACCES)
		return dnd_fail(join->ctx, DND_E_PERMISSION, "%s: it is no longer known what %s is made of: "
				"this machine uses device-mapper targets other than linear and striped, and only root can read its "
				"table. Either they came into use, or this process has given up CAP_SYS_ADMIN, since it was opened. "
				"Open it again as root (CAP_SYS_ADMIN), or pass ALLOW_BOUNCE.", drive->path, drive->blockdev.disk);
	if (rc) {
		int lost = dnd_drive_lost(join->ctx, drive);

		return lost ? lost : rc;
	}
	return dnd_fail(join->ctx, DND_E_UNREACHABLE, "%s: the devices below %s have changed since it was "
			"opened, and the new ones have no proven route. Open it again, or pass ALLOW_BOUNCE.",
			drive->path, drive->blockdev.disk);
}

int dnd_join_check_unchanged(struct dnd_join *join)
{
	int rc;

	if (dnd_drive_look_again(join->ctx, join->drive, &rc) != DND_CHANGED)
		return 0;
	if (!(join->leave & DND_JOIN_BOUNCE))
		return refuse_change(join, rc);
	join->bounced = true;
	return 0;
}

/*
 * The kernel describes the memory of a PASSTHROUGH command by a scatter list, which is always
 * in DRAM.  A drive may require that the list for data in its own memory lies there, too
 * (CDPMLS of its register CMBLOC).
 */
int dnd_join_check_commands(struct dnd_join *join)
{
	const struct dnd_region *region = join->region;
	const struct dnd_blockdev *blockdev = &join->drive->blockdev;

	if (!join->generic || join->bounced || region->info.kind == P2PMEM_KIND_PCI_BAR)
		return 0;
	for (size_t i = 0; i < blockdev->controller_count; i++)
		if (!strcmp(blockdev->controllers[i], region->bdf))
			return dnd_fail(join->ctx, DND_E_UNSUPPORTED, "%s: %s is the drive's own "
					"memory, which the NVMe commands of PASSTHROUGH cannot "
					"address. Use another region, or leave "
					"PASSTHROUGH out.", join->drive->path, region->name);
	return 0;
}
