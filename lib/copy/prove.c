// SPDX-License-Identifier: Apache-2.0
/*
 * Chooses where a copy proves the routes of its drives (join/prove.c): in the destination
 * itself if that is a region, else in spare blocks (join/spare.c).
 */
#include <stdlib.h>

#include "copy/copy.h"

/*
 * How many blocks the proof may try.  In an old file they lie before its end: behind the end the proof writes only the
 * first block, by which the file grows.
 */
static uint64_t blocks_of(const struct dnd_copy *copy, const struct dnd_side *side)
{
	uint64_t bytes = copy->plan.full_bytes;

	if (side == &copy->dst && dnd_copy_into_old_file(copy))
		bytes = dnd_min(bytes, dnd_max(side->drive.size_bytes, side->offset) - side->offset);
	return bytes / copy->align;
}

static struct dnd_proof proof_of(const struct dnd_copy *copy, const struct dnd_side *side)
{
	return (struct dnd_proof){
		.offset = side->offset,
		.blocks = blocks_of(copy, side),
	};
}

/* May the copy overwrite a whole block of the destination, beginning at byte @at of the copy? */
bool dnd_copy_owns_block(const struct dnd_copy *copy, uint64_t at)
{
	return at + copy->align <= copy->dst.room_bytes;
}

/* Puts back what was there, because the copy may fail before its first block. */
static int prove_in_place(struct dnd_copy *copy, bool *proven)
{
	const struct dnd_place place = dnd_copy_place(&copy->dst, 0);
	const struct dnd_proof proof = proof_of(copy, &copy->src);
	uint8_t *kept = malloc(copy->align);
	int rc, back;

	if (!kept)
		return dnd_fail_memory(copy->ctx);
	rc = dnd_place_load(&place, kept, copy->align);
	if (rc) {
		free(kept);
		return dnd_copy_failed(copy, DND_STEP_CPU, 0, -rc);
	}
	rc = dnd_join_prove_read(&copy->src.join, &proof, &place, proven);
	back = dnd_place_store(&place, kept, copy->align);
	free(kept);
	if (back)
		copy->touched_end = copy->align;
	return !rc && back ? dnd_copy_failed(copy, DND_STEP_CPU, 0, -back) : rc;
}

/*
 * Proves the route into a region.  In persistent memory the proof overwrites only whole
 * blocks of the copy: after a power cut the bytes behind a partial block would be lost.
 */
static int prove_in_destination(struct dnd_copy *copy, bool *proven)
{
	if (copy->plan.full_bytes ||
	    (!dnd_region_persistent(&copy->dst.region) && dnd_copy_owns_block(copy, 0)))
		return prove_in_place(copy, proven);
	*proven = false;
	return 0;
}

/* Proves the route to a drive, from a region or through a staging region. */
static int prove_with_spare(struct dnd_copy *copy, bool *proven)
{
	const struct dnd_proof reads = proof_of(copy, &copy->src), writes = proof_of(copy, &copy->dst);
	struct dnd_place from = copy->spare.place;
	int rc = 0;

	if (!copy->src.is_memory)
		rc = dnd_join_prove_read(&copy->src.join, &reads, &copy->spare.place, proven);
	else
		from = dnd_copy_place(&copy->src, 0);
	if (!rc && !copy->plan.full_bytes)
		*proven = false;
	else if (!rc)
		rc = dnd_copy_settle_proof(copy, dnd_join_prove_write(&copy->dst.join, &writes, &from,
								      &copy->spare.place, proven));
	/* The legs of the blocks that the proof did not write are known only once they are written. */
	if (copy->dst.drive.blockdev.stack && writes.blocks < copy->plan.full_bytes / copy->align)
		*proven = false;
	return rc;
}

/* The route stays unproven if the region has no spare blocks. */
static int prove_to_drive(struct dnd_copy *copy, bool *proven)
{
	int rc = dnd_copy_spare_take(copy);

	if (rc) {
		*proven = false;
		return rc < 0 ? rc : 0;
	}
	rc = prove_with_spare(copy, proven);
	dnd_spare_give(&copy->spare);
	return rc;
}

static bool has_paths(const struct dnd_side *side)
{
	return !side->is_memory && dnd_blockdev_has_paths(&side->drive.blockdev);
}

int dnd_copy_prove(struct dnd_copy *copy)
{
	bool proven = true;
	int rc;

	if (copy->bounced || (copy->src.is_memory && copy->dst.is_memory))
		return 0;
	rc = copy->dst.is_memory ? prove_in_destination(copy, &proven) : prove_to_drive(copy, &proven);
	if (copy->dst.join.spoilt_end)
		copy->touched_end = copy->dst.join.spoilt_end - copy->dst.offset;
	if (!rc && proven && !has_paths(&copy->src) && !has_paths(&copy->dst))
		copy->result->route_evidence = DONARD_EVIDENCE_PROVEN;
	return rc;
}
