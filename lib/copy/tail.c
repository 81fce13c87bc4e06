// SPDX-License-Identifier: Apache-2.0
/*
 * Moves the last, partial block.  The drive moves whole blocks, but only the bytes of the
 * copy may change the destination.
 *
 * In a region the copy saves the bytes behind the tail and puts them back.  It does not do
 * so in persistent memory, where a power cut in between would lose them, nor in the
 * program's own memory, where the program may change them.  There the tail goes
 * through DRAM, and counts as bounced.
 *
 * On a drive, which nobody else writes to, the copy merges the tail with the destination's block in
 * spare blocks of the region.  In a file another program may write beside the tail, or add to it.  There the
 * copy writes the tail alone, through the page cache, and it counts as bounced.
 *
 * The region may have no spare blocks, or somebody else may have taken the last ones in mid copy.  DRAM serves instead, and
 * the tail counts as bounced.
 */
#include <stdlib.h>
#include <unistd.h>

#include "copy/copy.h"

static int read_block(struct dnd_copy *copy, const struct dnd_place *block)
{
	uint64_t at = copy->plan.full_bytes;
	ssize_t got = pread(copy->src.drive.fd, block->address, copy->align,
			    (off_t)(copy->src.offset + at));

	if (got >= (ssize_t)copy->plan.tail_bytes)
		return 0;
	return dnd_copy_failed(copy, DND_STEP_READ, at, got < 0 ? errno : DND_CUT_SHORT);
}

/* Records that the destination may now have the tail, or a part of it. */
static void touch(struct dnd_copy *copy)
{
	copy->touched_end = copy->length;
}

static int write_block(struct dnd_copy *copy, const struct dnd_place *block, size_t bytes)
{
	uint64_t at = copy->plan.full_bytes;
	ssize_t put;

	touch(copy);
	put = pwrite(copy->dst.drive.fd, block->address, bytes, (off_t)(copy->dst.offset + at));
	if (put == (ssize_t)bytes)
		return 0;
	return dnd_copy_failed(copy, DND_STEP_WRITE, at, put < 0 ? errno : DND_CUT_SHORT);
}

static int lost(struct dnd_copy *copy, int rc)
{
	return rc ? dnd_copy_failed(copy, DND_STEP_CPU, copy->plan.full_bytes, -rc) : 0;
}

static bool is_of_module(const struct dnd_place *place)
{
	return place->region && !place->dmabuf;
}

static int move_by_dram(struct dnd_copy *copy, const struct dnd_place *to, const struct dnd_place *from)
{
	uint8_t *bytes = malloc(copy->align);
	int rc;

	if (!bytes)
		return dnd_fail_memory(copy->ctx);
	rc = dnd_place_load(from, bytes, copy->plan.tail_bytes);
	if (!rc)
		rc = dnd_place_store(to, bytes, copy->plan.tail_bytes);
	free(bytes);
	if (!rc && !copy->bounced)
		copy->result->bounced_bytes += copy->plan.tail_bytes;
	return lost(copy, rc);
}

/* The CPU moves the bytes of the tail: between regions through its registers, else through DRAM, and then they count. */
static int move_tail(struct dnd_copy *copy, const struct dnd_place *to, const struct dnd_place *from)
{
	if (is_of_module(to) && is_of_module(from))
		return lost(copy, dnd_place_move(to, from, copy->plan.tail_bytes));
	return move_by_dram(copy, to, from);
}

static int into_region_in_place(struct dnd_copy *copy, const struct dnd_place *target)
{
	const struct dnd_place rest = dnd_place_behind(target, copy->plan.tail_bytes);
	size_t behind = copy->align - copy->plan.tail_bytes;
	uint8_t *kept = malloc(behind);
	int rc, back;

	if (!kept)
		return dnd_fail_memory(copy->ctx);
	rc = lost(copy, dnd_place_load(&rest, kept, behind));
	if (!rc) {
		touch(copy);
		rc = read_block(copy, target);
		/* Put them back after a failure too: the read may have overwritten some of them. */
		back = dnd_place_store(&rest, kept, behind);
		if (!rc)
			rc = lost(copy, back);
	}
	free(kept);
	return rc;
}

static int into_region_by_spare(struct dnd_copy *copy, const struct dnd_place *target)
{
	int rc = read_block(copy, &copy->spare.place);

	if (!rc)
		touch(copy);
	return rc ? rc : move_tail(copy, target, &copy->spare.place);
}

static int by_dram(struct dnd_copy *copy, const struct dnd_place *target)
{
	struct dnd_place block = { 0 };
	void *memory;
	int rc;

	if (posix_memalign(&memory, copy->align, copy->align))
		return dnd_fail_memory(copy->ctx);
	block.address = memory;
	rc = read_block(copy, &block);
	if (!rc) {
		touch(copy);
		rc = lost(copy, dnd_place_store(target, memory, copy->plan.tail_bytes));
	}
	if (!rc && !copy->bounced)
		copy->result->bounced_bytes += copy->plan.tail_bytes;
	free(memory);
	return rc;
}

/* Reports no failure: without spare blocks, for whatever reason, the tail goes through DRAM. */
static bool has_spare(struct dnd_copy *copy)
{
	struct dnd_failure before = dnd_failure_keep(copy->ctx);

	if (!dnd_copy_spare_take(copy))
		return true;
	dnd_failure_put_back(copy->ctx, &before);
	return false;
}

/* The copy may not own the last block to its end if that is larger than a granule. */
static int into_region(struct dnd_copy *copy)
{
	const struct dnd_place target = dnd_copy_place(&copy->dst, copy->plan.full_bytes);

	if (dnd_copy_keeps_rest(copy))
		return by_dram(copy, &target);
	if (!copy->spare.place.address && dnd_copy_owns_block(copy, copy->plan.full_bytes))
		return into_region_in_place(copy, &target);
	return has_spare(copy) ? into_region_by_spare(copy, &target) : by_dram(copy, &target);
}

/*
 * Merges the tail with the destination's own last block.  Where the source has larger blocks than the destination, the
 * destination may end within one of them.
 */
static int patch_device(struct dnd_copy *copy, const struct dnd_place *block)
{
	const struct dnd_place merged = dnd_place_behind(&copy->spare.place, copy->align);
	uint64_t at = copy->plan.full_bytes;
	ssize_t got = pread(copy->dst.drive.fd, merged.address, copy->align,
			    (off_t)(copy->dst.offset + at));
	int rc;

	if (got < (ssize_t)copy->plan.tail_bytes || got % copy->dst.drive.align_bytes)
		return dnd_copy_failed(copy, DND_STEP_WRITE, at, got < 0 ? errno : DND_CUT_SHORT);
	rc = move_tail(copy, &merged, block);
	return rc ? rc : write_block(copy, &merged, (size_t)got);
}

/* Sets *block to a whole block that begins with the tail: the source itself, or a spare block that was read. */
static int fetch_tail(struct dnd_copy *copy, struct dnd_place *block)
{
	if (copy->src.is_memory) {
		*block = dnd_copy_place(&copy->src, copy->plan.full_bytes);
		return 0;
	}
	*block = copy->spare.place;
	return read_block(copy, block);
}

static int into_file(struct dnd_copy *copy)
{
	uint64_t at = copy->plan.full_bytes;
	uint8_t *bytes = malloc(copy->plan.tail_bytes);
	struct dnd_place from;
	int rc;

	if (!bytes)
		return dnd_fail_memory(copy->ctx);
	rc = fetch_tail(copy, &from);
	if (!rc)
		rc = lost(copy, dnd_place_load(&from, bytes, copy->plan.tail_bytes));
	if (!rc) {
		touch(copy);
		rc = dnd_drive_write_cached(&copy->dst.drive, bytes, copy->plan.tail_bytes, copy->dst.offset + at);
		copy->tail_cached = !rc;
		if (rc)
			rc = dnd_copy_failed(copy, DND_STEP_WRITE, at, -rc);
	}
	free(bytes);
	return rc;
}

static int into_device(struct dnd_copy *copy)
{
	struct dnd_place block, from;
	int rc = fetch_tail(copy, &from);

	if (rc)
		return rc;
	block = from;
	if (copy->src.is_memory && copy->bounced) {
		block = copy->spare.place;
		rc = move_tail(copy, &block, &from);
	}
	return rc ? rc : patch_device(copy, &block);
}

static int into_device_by_dram(struct dnd_copy *copy)
{
	void *memory;
	int rc;

	if (posix_memalign(&memory, copy->align, dnd_spare_bytes(copy->align)))
		return dnd_fail_memory(copy->ctx);
	copy->spare.place = (struct dnd_place){ .address = memory };
	rc = into_device(copy);
	copy->spare.place.address = NULL;
	free(memory);
	return rc;
}

int dnd_copy_tail(struct dnd_copy *copy)
{
	uint64_t bounced_bytes = copy->result->bounced_bytes;
	int rc;

	if (!copy->plan.tail_bytes)
		return 0;
	if (copy->dst.is_memory)
		rc = into_region(copy);
	else if (copy->dst.drive.is_file)
		rc = into_file(copy);
	else
		rc = has_spare(copy) ? into_device(copy) : into_device_by_dram(copy);
	dnd_spare_give(&copy->spare);
	if (rc)			/* these bytes do not count as copied */
		copy->result->bounced_bytes = bounced_bytes;
	return rc;
}
