// SPDX-License-Identifier: Apache-2.0
/* Memory of a copy: claimed windows, staging, DRAM buffers. */
#include <stdlib.h>
#include <unistd.h>

#include "copy/copy.h"

static int plan(struct dnd_copy *copy, uint64_t window_bytes)
{
	int rc = dnd_plan_make(&copy->plan, copy->length, copy->align,
			       copy->options.block_bytes, copy->options.queue_depth,
			       window_bytes);

	if (rc)
		return dnd_fail(copy->ctx, DND_E_NO_SPACE, "not one block of %u bytes fits into the "
				"free memory of the region. Use another region.", copy->align);
	copy->result->block_bytes = copy->plan.block_bytes;
	copy->result->queue_depth = copy->plan.lanes ? copy->plan.lanes : 1;
	return 0;
}

/* Staging: two spare blocks, then a buffer a lane, as many as are free. */
static int map_staging(struct dnd_copy *copy)
{
	uint64_t granule = copy->via.info.granule_bytes;
	uint64_t spare = dnd_round_up(dnd_spare_bytes(copy->align), granule);
	uint64_t free_bytes = dnd_round_down(copy->via.info.available_bytes, granule);
	uint64_t block = dnd_plan_block(copy->options.block_bytes, copy->length, copy->align);
	uint64_t wanted = block * copy->options.queue_depth;
	int rc;

	wanted = dnd_min(wanted, dnd_round_up(copy->length, block));
	wanted = dnd_round_up(wanted + spare, granule);
	if (free_bytes < wanted)
		wanted = free_bytes;
	if (wanted <= spare)
		return dnd_fail(copy->ctx, DND_E_NO_SPACE, "%s: too little memory is free to carry "
				"a copy. Wait for its holders to end, or name another region by "
				"options.via.", copy->via.name);
	rc = dnd_region_scratch(copy->ctx, &copy->via, wanted, &copy->scratch);
	if (rc)
		return rc;
	copy->spare.place = dnd_place_in(&copy->via, &copy->scratch, copy->scratch.data);
	copy->buffers = copy->scratch.data + spare;
	return plan(copy, wanted - spare);
}

static int claim_side(struct dnd_copy *copy, struct dnd_side *side)
{
	uint64_t bytes = side->region.info.granule_bytes % copy->align ? copy->length :
			 dnd_round_up(copy->length, copy->align);

	return dnd_region_claim(copy->ctx, &side->region, side->offset, bytes, &side->window);
}

/* One claim over both ranges when they share what has one owner: a granule, or a folio. */
static int claim_both(struct dnd_copy *copy)
{
	struct dnd_side *low = &copy->src, *high = &copy->dst;
	const struct p2pmem_info *info = &copy->src.region.info;
	uint64_t unit = dnd_max(info->granule_bytes, info->folio_bytes);
	int rc;

	if (copy->src.offset > copy->dst.offset) {
		low = &copy->dst;
		high = &copy->src;
	}
	if (dnd_round_up(low->offset + copy->length, unit) <= dnd_round_down(high->offset, unit)) {
		rc = claim_side(copy, low);
		return rc ? rc : claim_side(copy, high);
	}
	rc = dnd_region_claim(copy->ctx, &low->region, low->offset,
			      high->offset + copy->length - low->offset, &low->window);
	if (rc)
		return rc;
	high->window = low->window;
	high->window.map_bytes = 0;
	high->window.data += high->offset - low->offset;
	return 0;
}

static int map_regions(struct dnd_copy *copy)
{
	int rc = 0;

	if (copy->one_region)
		return claim_both(copy);
	if (copy->src.is_region && !copy->src.window.map)
		rc = claim_side(copy, &copy->src);
	if (!rc && copy->dst.is_region && !copy->dst.window.map)
		rc = claim_side(copy, &copy->dst);
	return rc;
}

int dnd_copy_map(struct dnd_copy *copy)
{
	int rc;

	if (copy->bounced)
		return dnd_copy_map_bounce(copy);
	if (dnd_copy_staged(copy))
		return map_staging(copy);
	rc = map_regions(copy);
	if (rc)
		return rc;
	dnd_copy_gpu_spare(copy);
	return plan(copy, 0);
}

int dnd_copy_map_bounce(struct dnd_copy *copy)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t spare = dnd_round_up(dnd_spare_bytes(copy->align), page), bytes;
	void *memory;
	int rc;

	copy->bounced = true;
	dnd_window_unmap(&copy->scratch);
	rc = plan(copy, 0);
	if (!rc)
		rc = map_regions(copy);
	if (rc)
		return rc;
	bytes = spare + copy->plan.block_bytes * dnd_max(copy->plan.lanes, 1);
	if (posix_memalign(&memory, dnd_max(page, copy->align), bytes))
		return dnd_fail_memory(copy->ctx);
	/* Faulted in before the clock runs, and no stranger's bytes behind a tail. */
	memset(memory, 0, bytes);
	copy->dram = memory;
	copy->spare.place = (struct dnd_place){ .address = memory };
	copy->buffers = copy->dram + spare;
	return 0;
}

void dnd_copy_unmap(struct dnd_copy *copy)
{
	free(copy->dram);
	dnd_window_unmap(&copy->scratch);
	dnd_copy_gpu_close(&copy->src);
	dnd_copy_gpu_close(&copy->dst);
	dnd_window_unmap(&copy->src.window);
	dnd_window_unmap(&copy->dst.window);
}
