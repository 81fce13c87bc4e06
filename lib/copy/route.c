// SPDX-License-Identifier: Apache-2.0
/* Chooses the route.  The copy never bounces unless the caller allows it. */
#include <stdio.h>
#include <unistd.h>

#include "copy/copy.h"

static void join_side(struct dnd_copy *copy, struct dnd_side *side, const struct dnd_region *region)
{
	unsigned int leave = 0;

	if (dnd_copy_flag(copy, DONARD_COPY_ALLOW_BOUNCE | DONARD_COPY_FORCE_BOUNCE))
		leave |= DND_JOIN_BOUNCE;
	if (dnd_copy_flag(copy, DONARD_COPY_ALLOW_UNLISTED))
		leave |= DND_JOIN_UNLISTED;
	side->join = (struct dnd_join){
		.ctx = copy->ctx,
		.region = region,
		.drive = &side->drive,
		.generic = side->generic.fd >= 0 ? &side->generic : NULL,
		.leave = leave,
		.align = copy->align,
		.bounced = copy->bounced,
	};
}

static int probe_side(struct dnd_copy *copy, struct dnd_side *side, const struct dnd_region *region)
{
	int rc;

	if (side->is_memory)
		return 0;
	join_side(copy, side, region);
	rc = dnd_join_probe(&side->join);
	if (!rc && (!copy->worst || dnd_route_rank(&side->join.route) < dnd_route_rank(&copy->worst->route)))
		copy->worst = &side->join;
	return rc;
}

/* Probes the route of each side that is a drive; sets copy->worst to the worst of them. */
static int probe_region(struct dnd_copy *copy, const struct dnd_region *region)
{
	int rc;

	copy->worst = NULL;
	rc = probe_side(copy, &copy->src, region);
	return rc ? rc : probe_side(copy, &copy->dst, region);
}

static int decide_side(struct dnd_copy *copy, struct dnd_side *side)
{
	int rc;

	if (side->is_memory || copy->bounced)
		return 0;
	rc = dnd_join_decide(&side->join);
	copy->bounced |= side->join.bounced;
	return rc;
}

static int decide(struct dnd_copy *copy)
{
	int rc;

	copy->bounced |= dnd_copy_flag(copy, DONARD_COPY_FORCE_BOUNCE);
	rc = decide_side(copy, &copy->src);
	if (!rc)
		rc = decide_side(copy, &copy->dst);
	return rc;
}

/* It has room for the spare blocks and for one that carries bytes. */
static bool usable_for_staging(const struct dnd_copy *copy, const struct donard_region_info *info)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t least = dnd_round_up(dnd_spare_bytes(copy->align), page) + dnd_max(copy->align, page);

	return info->state == DONARD_STATE_READY && !info->persistent && info->available_bytes >= least;
}

/* The rank of the worse route if @name were the staging region, or -errno with a text if it cannot be used. */
static int rank_of(struct dnd_copy *copy, const char *name)
{
	struct donard_memory *memory;
	int rc = dnd_memory_open(copy->ctx, name, &memory);

	if (rc)
		return rc;
	rc = probe_region(copy, &memory->region);
	if (!rc)
		rc = dnd_route_rank(&copy->worst->route);
	donard_memory_free(memory);
	copy->src.join.region = copy->dst.join.region = NULL;
	copy->worst = NULL;
	return rc;
}

/*
 * Sets @name to the region with the best route, of several to the one with the most free memory, or to "" if there is none.
 * If no candidate can be used, fails as the last one did.
 */
static int choose_staging(struct dnd_copy *copy, char name[P2PMEM_NAME_BYTES])
{
	struct donard_region_list *list;
	int best = -1, rank, rc = 0, count = donard_region_list_parts(copy->ctx, 0, &list);
	uint64_t most = 0;

	name[0] = '\0';
	for (int i = 0; i < count; i++) {
		const struct donard_region_info *info = donard_region_get(list, (size_t)i);

		if (!usable_for_staging(copy, info))
			continue;
		rank = rank_of(copy, info->name);
		rc = rank < 0 ? rank : rc;
		if (rank < 0 || rank < best || (rank == best && info->available_bytes <= most))
			continue;
		best = rank;
		most = info->available_bytes;
		snprintf(name, P2PMEM_NAME_BYTES, "%s", info->name);
	}
	if (count < 0)
		return count;
	donard_region_list_free(list);
	return name[0] ? 0 : rc;
}

static int no_staging(struct dnd_copy *copy)
{
	if (!dnd_copy_flag(copy, DONARD_COPY_ALLOW_BOUNCE))
		return dnd_fail(copy->ctx, DND_E_UNREACHABLE, "no volatile region with free memory "
				"is ready to carry the data between %s and %s. Add one with "
				"donard_region_add(), or pass ALLOW_BOUNCE.",
				copy->src.label, copy->dst.label);
	copy->bounced = true;
	return 0;
}

static int open_staging(struct dnd_copy *copy)
{
	char name[P2PMEM_NAME_BYTES];
	int rc;

	if (copy->options.via) {
		rc = dnd_memory_open(copy->ctx, copy->options.via, &copy->staging);
	} else {
		rc = choose_staging(copy, name);
		if (rc || !name[0])
			return rc && !dnd_copy_flag(copy, DONARD_COPY_ALLOW_BOUNCE) ?
				rc : no_staging(copy);
		rc = dnd_memory_open(copy->ctx, name, &copy->staging);
	}
	if (rc)
		return rc;
	copy->via = copy->staging->region;
	if (copy->via.info.kind == P2PMEM_KIND_GPU_NVIDIA)
		return dnd_fail(copy->ctx, DND_E_UNSUPPORTED, "%s: its memory is the GPU's own, which programs allocate by the GPU's "
				"driver: there is none for staging. Name a region of another kind.", copy->via.name);
	if (!dnd_region_persistent(&copy->via))
		return 0;
	return dnd_fail(copy->ctx, DND_E_UNSUPPORTED, "%s: persistent memory is never used for "
			"staging: its bytes are somebody's data. Name a volatile region.",
			copy->via.name);
}

int dnd_copy_choose_route(struct dnd_copy *copy)
{
	int rc;

	if (copy->src.is_memory && copy->dst.is_memory)
		return 0;
	join_side(copy, &copy->src, NULL);
	join_side(copy, &copy->dst, NULL);
	rc = dnd_copy_check_files(copy);
	if (rc)
		return rc;
	if (dnd_copy_staged(copy)) {
		copy->bounced |= dnd_copy_flag(copy, DONARD_COPY_FORCE_BOUNCE);
		rc = copy->bounced ? 0 : open_staging(copy);
		if (rc || copy->bounced)
			return rc;
	}
	rc = probe_region(copy, dnd_copy_region(copy));
	return rc ? rc : decide(copy);
}
