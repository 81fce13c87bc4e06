// SPDX-License-Identifier: Apache-2.0
/* The memory of a copy: that of its ends, staging memory, and DRAM buffers. */
#include <stdlib.h>
#include <unistd.h>

#include "copy/copy.h"

#define STAGING_TRIES	8

static int plan(struct dnd_copy *copy, uint64_t window_bytes)
{
	int rc = dnd_plan_make(&copy->plan, copy->length, copy->align,
			       copy->options.block_bytes, copy->options.queue_depth,
			       window_bytes);

	if (rc)
		return dnd_fail_member(copy->ctx, DND_E_NO_SPACE, DND_LEAST(NULL, window_bytes, copy->align),
				       "not one block of %u bytes fits into the "
				       "free memory of the region. Use another region.", copy->align);
	copy->result->block_bytes = copy->plan.block_bytes;
	copy->result->queue_depth = copy->plan.lanes ? copy->plan.lanes : 1;
	return 0;
}

/* Returns how much memory of the region the copy can use, or all that is free if that is less. */
static uint64_t staging_bytes(const struct dnd_copy *copy, uint64_t spare)
{
	uint64_t granule = copy->via.info.granule_bytes;
	uint64_t block = dnd_plan_block(copy->options.block_bytes, copy->length, copy->align);
	uint64_t wanted = dnd_min(block * copy->options.queue_depth, dnd_round_up(copy->length, block));

	return dnd_min(dnd_round_up(wanted + spare, granule), dnd_round_down(copy->via.info.available_bytes, granule));
}

/* Others may take the memory, too, since the region was asked how much of it is free. */
static int own_staging(struct dnd_copy *copy, uint64_t spare, uint64_t *bytes)
{
	int rc;

	for (unsigned int tries = 1;; tries++) {
		rc = dnd_region_ask_again(copy->ctx, &copy->via);
		if (rc)
			return rc;
		*bytes = staging_bytes(copy, spare);
		if (*bytes < spare + copy->align)
			return dnd_fail_member(copy->ctx, DND_E_NO_SPACE, DND_AT("options.via"),
					       "%s: too little memory is free to carry "
					       "a copy. Wait for its holders to end, or name another region by "
					       "options.via.", copy->via.name);
		rc = dnd_memory_own_any(copy->staging, *bytes);
		if (rc != -ENOSPC || tries == STAGING_TRIES)
			return rc;
	}
}

/* Maps staging memory: two spare blocks, then a buffer for each lane. */
static int map_staging(struct dnd_copy *copy)
{
	uint64_t spare = dnd_round_up(dnd_spare_bytes(copy->align), copy->via.info.granule_bytes);
	uint64_t bytes;
	int rc = own_staging(copy, spare, &bytes);

	if (rc)
		return rc;
	copy->spare.place = dnd_memory_place(copy->staging, 0);
	copy->buffers = copy->staging->window.data + spare;
	return plan(copy, bytes - spare);
}

/* Owns to the end of the last block if that lies in one granule, which has one owner anyway. */
static int own_side(struct dnd_copy *copy, const struct dnd_side *side)
{
	uint64_t bytes = side->region.info.granule_bytes % copy->align ? copy->length :
			 dnd_round_up(copy->length, copy->align);

	return side->is_memory ? dnd_memory_own(side->memory, side->offset, bytes) : 0;
}

/* The program's memory is left alone behind the range; of its own memory the copy may overwrite the rest of the mapping. */
static void note_room(const struct dnd_copy *copy, struct dnd_side *side)
{
	const struct dnd_window *window;

	if (!side->is_memory)
		return;
	window = &side->memory->window;
	side->room_bytes = copy->held ? copy->length : (uint64_t)(window->map + window->map_bytes - window->data) - side->at;
}

/*
 * Gives memory of a region that was opened by name its bytes.  Memory that has them is left as it is: the program's, that
 * of a GPU, and all of it in a copy that falls back to DRAM.  This comes after all checks, because it clears what another user left
 * there: only the ring, the proof and a lack of memory may still refuse the copy.
 */
static int claim(struct dnd_copy *copy)
{
	struct dnd_side *src = &copy->src, *dst = &copy->dst;
	int rc;

	if (src->is_memory && dst->is_memory)
		rc = dnd_memory_own_two(src->memory, src->offset, dst->memory, dst->offset, copy->length);
	else
		rc = own_side(copy, src->is_memory ? src : dst);
	if (rc)
		return rc;
	note_room(copy, src);
	note_room(copy, dst);
	return 0;
}

/* GPU memory that the copy allocated has spare blocks behind the payload, because a GPU's region has no free memory. */
static void find_spare(struct dnd_copy *copy)
{
	const struct dnd_side *side = copy->src.is_memory ? &copy->src : &copy->dst;
	uint64_t behind = dnd_round_up(copy->length, copy->align);

	if (side->is_gpu && side->room_bytes >= behind + dnd_spare_bytes(copy->align))
		copy->spare.place = dnd_copy_place(side, behind);
}

int dnd_copy_map(struct dnd_copy *copy)
{
	int rc;

	if (copy->bounced)
		return dnd_copy_map_bounce(copy);
	if (dnd_copy_staged(copy))
		return map_staging(copy);
	rc = claim(copy);
	if (rc)
		return rc;
	find_spare(copy);
	return plan(copy, 0);
}

/* Gives up the staging region.  The copy need not care about it any more, since it carries none of the bytes. */
static void forget_staging(struct dnd_copy *copy)
{
	donard_memory_free(copy->staging);
	copy->staging = NULL;
	copy->via.fd = -1;
}

int dnd_copy_map_bounce(struct dnd_copy *copy)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t spare = dnd_round_up(dnd_spare_bytes(copy->align), page), bytes;
	void *memory;
	int rc;

	copy->bounced = true;
	forget_staging(copy);
	rc = plan(copy, 0);
	if (!rc)
		rc = claim(copy);
	if (rc)
		return rc;
	bytes = spare + copy->plan.block_bytes * dnd_max(copy->plan.lanes, 1);
	if (posix_memalign(&memory, dnd_max(page, copy->align), bytes))
		return dnd_fail_memory(copy->ctx);
	/* This faults the memory in before the clock runs, and leaves no old bytes behind a tail. */
	memset(memory, 0, bytes);
	copy->dram = memory;
	copy->spare.place = (struct dnd_place){ .address = memory };
	copy->buffers = copy->dram + spare;
	return 0;
}

void dnd_copy_unmap(struct dnd_copy *copy)
{
	free(copy->dram);
	donard_memory_free(copy->staging);
}
