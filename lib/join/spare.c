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
 *     meanwhile wait for that moment (dnd_region_claim());
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
static int claim_near_end(struct dnd_region *region, uint64_t bytes, struct dnd_window *window)
{
	uint64_t size = region->info.region_bytes, behind, start;
	int rc;

	for (behind = bytes;; behind *= 2) {
		start = behind < size ? size - behind : 0;
		rc = dnd_region_try_claim(region, start, bytes, window);
		if (rc != -EBUSY || !start)
			return rc;
	}
}

static int take(struct donard_context *ctx, struct dnd_spare *spare, const char *region, uint64_t bytes)
{
	int rc = dnd_region_open(ctx, region, &spare->region);
	struct dnd_place place;

	if (rc)
		return rc;
	if (dnd_region_persistent(&spare->region) ||
	    claim_near_end(&spare->region, bytes, &spare->window))
		rc = dnd_region_scratch(ctx, &spare->region, bytes, &spare->window);
	if (rc)
		return rc;
	spare->kept = malloc(spare->window.map_bytes);
	if (!spare->kept)
		return dnd_fail_memory(ctx);
	place = dnd_place_in(&spare->region, &spare->window, spare->window.map);
	rc = dnd_place_load(&place, spare->kept, spare->window.map_bytes);
	if (!rc)
		spare->place = dnd_place_in(&spare->region, &spare->window, spare->window.data);
	return rc;
}

int dnd_spare_take(struct donard_context *ctx, struct dnd_spare *spare, const char *region,
		   uint32_t align)
{
	struct dnd_failure before = dnd_failure_keep(ctx);
	int rc = spare->place.address ? 0 : take(ctx, spare, region, dnd_spare_bytes(align));

	if (rc) {
		dnd_spare_give(spare);
		dnd_failure_put_back(ctx, &before);
	}
	return rc;
}

void dnd_spare_give(struct dnd_spare *spare)
{
	struct dnd_place place;

	if (spare->region.fd < 0)
		return;
	place = dnd_place_in(&spare->region, &spare->window, spare->window.map);
	if (spare->place.address)	/* otherwise nothing was changed, and the memory may be gone */
		dnd_place_store(&place, spare->kept, spare->window.map_bytes);
	spare->place.address = NULL;
	free(spare->kept);
	spare->kept = NULL;
	dnd_window_unmap(&spare->window);
	dnd_region_close(&spare->region);
}
