// SPDX-License-Identifier: Apache-2.0
/*
 * Two spare blocks of the region, where a drive may write without harm.  They serve
 * the proof of a route, and the merging of a partial last block.
 *
 * They come from memory that nobody owns at the moment, but that somebody may want:
 * another copy may be about to write there, or an earlier copy has left its bytes
 * there.  So this file
 *   - takes them near the end of the region, because users begin at its start;
 *   - holds them only while they are in use, by an open file of their own, since a
 *     file keeps what it owns until it is closed.  Others who claim the range
 *     meanwhile wait for that moment (dnd_memory_own());
 *   - puts back the bytes that were there, as far as this user may see them.  What
 *     another user left there reads as zero from then on.
 * A copy into a region needs no spare blocks: it uses its destination.
 */
#include <stdlib.h>

#include "join/join.h"

uint64_t dnd_spare_bytes(uint32_t align)
{
	return 2ULL * align;
}

/* Tries at the end, then twice as far from it each time, so that few tries cover any region. */
static int own_near_end(struct donard_memory *memory, uint64_t bytes)
{
	uint64_t size = memory->region.info.region_bytes, behind, start;
	int rc;

	for (behind = bytes;; behind *= 2) {
		start = behind < size ? size - behind : 0;
		rc = dnd_memory_try_own(memory, start, bytes);
		if (rc != -EBUSY || !start)
			return rc;
	}
}

static int take(struct donard_context *ctx, struct dnd_spare *spare, const char *region, uint64_t bytes)
{
	int rc = dnd_memory_open(ctx, region, &spare->memory);

	if (rc)
		return rc;
	if (dnd_region_persistent(&spare->memory->region) || own_near_end(spare->memory, bytes))
		rc = dnd_memory_own_any(spare->memory, bytes);
	if (rc)
		return rc;
	spare->kept = malloc(bytes);
	if (!spare->kept)
		return dnd_fail_memory(ctx);
	rc = dnd_memory_load(spare->memory, 0, spare->kept, bytes);
	if (rc)
		return dnd_memory_access_failed(spare->memory, -rc);
	spare->place = dnd_memory_place(spare->memory, 0);
	return 0;
}

int dnd_spare_take(struct donard_context *ctx, struct dnd_spare *spare, const char *region,
		   uint32_t align)
{
	struct dnd_failure before = dnd_failure_keep(ctx);
	int rc = spare->place.address ? 0 : take(ctx, spare, region, dnd_spare_bytes(align));

	if (!rc)
		return 0;
	dnd_spare_give(spare);
	if (dnd_error_is_want(rc))
		return rc;
	dnd_failure_put_back(ctx, &before);
	return 1;
}

void dnd_spare_give(struct dnd_spare *spare)
{
	if (!spare->memory)
		return;
	if (spare->place.address)	/* otherwise nothing was changed, and the memory may be gone */
		dnd_place_store(&spare->place, spare->kept, spare->memory->length);
	free(spare->kept);
	donard_memory_free(spare->memory);
	*spare = (struct dnd_spare){ .memory = NULL };
}
