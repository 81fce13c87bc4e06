// SPDX-License-Identifier: Apache-2.0
/*
 * Two spare blocks of the region, for the proof of a route and for merging a
 * partial last block: places where a drive may write without harm.
 *
 * They come from memory that nobody owns at the moment, and which yet may be
 * wanted: another copy's destination begins there, or it keeps what an earlier
 * copy left.  So they are
 *   - taken near the end of the region, away from where people begin;
 *   - held for the moment of their use only, by an open file of their own,
 *     since a file keeps what it owns until it is closed; whoever claims the
 *     range meanwhile waits for that moment (dnd_region_claim());
 *   - given back with the bytes that were there, as far as this user may
 *     see them: what another user left reads as zero from then on.
 * A copy into a region needs none: its destination is such a place.
 */
#include <stdlib.h>

#include "copy/copy.h"

uint64_t dnd_copy_spare_bytes(const struct dnd_copy *copy)
{
	return 2ULL * copy->align;
}

/* At the end, then twice as far from it each time: few looks at any region. */
static int claim_near_end(const struct dnd_copy *copy, struct dnd_region *region,
			  struct dnd_window *window)
{
	uint64_t bytes = dnd_copy_spare_bytes(copy), size = region->info.region_bytes;
	uint64_t behind, start;
	int rc;

	for (behind = bytes;; behind *= 2) {
		start = behind < size ? size - behind : 0;
		rc = dnd_region_try_claim(region, start, bytes, window);
		if (rc != -EBUSY || !start)
			return rc;
	}
}

static int take(struct dnd_copy *copy, struct donard_context *ctx)
{
	struct dnd_spare *spare = &copy->own_spare;
	int rc = dnd_region_open(ctx, dnd_copy_region(copy)->name, &spare->region);

	if (rc)
		return rc;
	if (dnd_region_persistent(&spare->region) ||
	    claim_near_end(copy, &spare->region, &spare->window))
		rc = dnd_region_scratch(ctx, &spare->region, dnd_copy_spare_bytes(copy),
					&spare->window);
	if (rc)
		return rc;
	spare->kept = malloc(spare->window.map_bytes);
	if (!spare->kept)
		return dnd_fail_memory(ctx);
	rc = dnd_memory_copy(spare->kept, spare->window.map, spare->window.map_bytes);
	if (!rc)
		copy->spare = spare->window.data;
	return rc;
}

int dnd_copy_spare_take(struct dnd_copy *copy)
{
	struct dnd_failure before = dnd_failure_keep(copy->ctx);
	int rc = copy->spare ? 0 : take(copy, copy->ctx);

	if (rc) {
		dnd_copy_spare_give(copy);
		dnd_failure_put_back(copy->ctx, &before);
	}
	return rc;
}

void dnd_copy_spare_give(struct dnd_copy *copy)
{
	struct dnd_spare *spare = &copy->own_spare;

	if (spare->region.fd < 0)
		return;
	if (copy->spare)	/* else nothing was changed; and there may be nothing any more */
		dnd_memory_copy(spare->window.map, spare->kept, spare->window.map_bytes);
	copy->spare = NULL;
	free(spare->kept);
	spare->kept = NULL;
	dnd_window_unmap(&spare->window);
	dnd_region_close(&spare->region);
}

int dnd_copy_no_spare(struct dnd_copy *copy)
{
	if (dnd_copy_region_gone(copy))
		return dnd_copy_failed(copy, DND_STEP_CPU, 0, ENODEV);
	if (dnd_region_persistent(dnd_copy_region(copy)))
		return dnd_fail(copy->ctx, DND_E_NO_SPACE, "%s: the last block of the copy is "
				"partial, and no block of %s, which is persistent memory, is used to "
				"merge it with what %s holds. Use a --size that is a multiple of %u.",
				copy->dst.label, dnd_copy_region(copy)->name, copy->dst.label,
				copy->align);
	return dnd_fail(copy->ctx, DND_E_NO_SPACE, "%s: the last block of the copy is partial, "
			"and %s has no spare block in which to merge it with what %s holds. Use a "
			"--size that is a multiple of %u, or free some of the region.",
			copy->dst.label, dnd_copy_region(copy)->name, copy->dst.label,
			copy->align);
}
