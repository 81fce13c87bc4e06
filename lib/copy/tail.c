// SPDX-License-Identifier: Apache-2.0
/*
 * The last, partial block.  The device moves whole blocks, and only the bytes
 * of the copy may change the destination.  In a region the bytes behind them
 * are kept aside and put back: they are not payload.  For a drive the block is
 * merged with the drive's own in spare blocks, of the region or of DRAM in a
 * bounced copy.
 */
#include <stdlib.h>
#include <unistd.h>

#include "copy/copy.h"

static int read_block(struct dnd_copy *copy, uint8_t *block)
{
	uint64_t at = copy->plan.full_bytes;
	ssize_t got = pread(copy->src.drive.fd, block, copy->align,
			    (off_t)(copy->src.offset + at));

	if (got >= (ssize_t)copy->plan.tail_bytes)
		return 0;
	return dnd_copy_failed(copy, DND_STEP_READ, at, got < 0 ? errno : EIO);
}

static int write_block(struct dnd_copy *copy, const uint8_t *block)
{
	uint64_t at = copy->plan.full_bytes;
	ssize_t put = pwrite(copy->dst.drive.fd, block, copy->align,
			     (off_t)(copy->dst.offset + at));

	if (put == (ssize_t)copy->align)
		return 0;
	return dnd_copy_failed(copy, DND_STEP_WRITE, at, put < 0 ? errno : EIO);
}

static int move(struct dnd_copy *copy, uint8_t *to, const uint8_t *from, size_t bytes)
{
	int rc = dnd_memory_copy(to, from, bytes);

	return rc ? dnd_copy_failed(copy, DND_STEP_CPU, copy->plan.full_bytes, -rc) : 0;
}

static int into_region_in_place(struct dnd_copy *copy, uint8_t *target)
{
	size_t behind = copy->align - copy->plan.tail_bytes;
	uint8_t *kept = malloc(behind);
	int rc;

	if (!kept)
		return dnd_fail_memory(copy->ctx);
	rc = move(copy, kept, target + copy->plan.tail_bytes, behind);
	if (!rc) {
		rc = read_block(copy, target);
		/* Put back after a failure too: the read may have come half way. */
		if (move(copy, target + copy->plan.tail_bytes, kept, behind))
			rc = -ENODEV;
	}
	free(kept);
	return rc;
}

static int into_region_by_spare(struct dnd_copy *copy, uint8_t *target)
{
	int rc = read_block(copy, copy->spare.blocks);

	return rc ? rc : move(copy, target, copy->spare.blocks, copy->plan.tail_bytes);
}

/* The block is not the copy's own to its end where it is larger than a page. */
static int into_region(struct dnd_copy *copy)
{
	uint8_t *target = copy->dst.window.data + copy->plan.full_bytes;

	if (!copy->spare.blocks && dnd_copy_owns_block(copy, copy->plan.full_bytes))
		return into_region_in_place(copy, target);
	if (dnd_copy_spare_take(copy))
		return dnd_copy_no_spare(copy);
	return into_region_by_spare(copy, target);
}

/* Merges the tail with the destination's own last block. */
static int patch_drive(struct dnd_copy *copy, const uint8_t *block)
{
	uint8_t *merged = copy->spare.blocks + copy->align;
	uint64_t at = copy->plan.full_bytes;
	ssize_t got = pread(copy->dst.drive.fd, merged, copy->align,
			    (off_t)(copy->dst.offset + at));
	int rc;

	if (got < 0)
		return dnd_copy_failed(copy, DND_STEP_WRITE, at, errno);
	rc = move(copy, merged, block, copy->plan.tail_bytes);
	return rc ? rc : write_block(copy, merged);
}

static int into_drive(struct dnd_copy *copy)
{
	uint8_t *block = copy->spare.blocks;
	int rc = 0;

	if (dnd_copy_patches(copy) && dnd_copy_spare_take(copy))
		return dnd_copy_no_spare(copy);
	if (!copy->src.is_region)
		rc = read_block(copy, block);
	else if (copy->bounced)
		rc = move(copy, block, copy->src.window.data + copy->plan.full_bytes,
			  copy->plan.tail_bytes);
	else
		block = copy->src.window.data + copy->plan.full_bytes;
	if (rc)
		return rc;
	return dnd_copy_patches(copy) ? patch_drive(copy, block) : write_block(copy, block);
}

int dnd_copy_tail(struct dnd_copy *copy)
{
	int rc;

	if (!copy->plan.tail_bytes)
		return 0;
	rc = copy->dst.is_region ? into_region(copy) : into_drive(copy);
	dnd_spare_give(&copy->spare);
	return rc;
}
