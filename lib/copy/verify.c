// SPDX-License-Identifier: Apache-2.0
/* Reads source and destination independently and compares every byte.  Reads a GPU's memory by the GPU's own copies. */
#include <stdlib.h>
#include <unistd.h>

#include "copy/copy.h"

#define CHUNK_BYTES	(1U << 20)	/* a multiple of any alignment that check.c accepts */

/*
 * The GPU's copies need an allocation that this library made, not only an address.  Other memory of a GPU is read
 * through the BAR, like that of any region.
 */
static bool by_gpu(const struct dnd_side *side)
{
	return side->is_gpu && dnd_gpu_allocated(side->memory);
}

static int load(struct dnd_copy *copy, const struct dnd_side *side, uint64_t at, size_t bytes,
		uint8_t *to)
{
	struct dnd_place place;
	int rc, error_number;
	ssize_t got;

	if (by_gpu(side))
		return dnd_gpu_load(side->memory, side->at + at, to, bytes);
	if (side->is_memory) {
		place = dnd_copy_place(side, at);
		rc = dnd_place_load(&place, to, bytes);
		return rc ? dnd_copy_failed(copy, DND_STEP_CPU, at, -rc) : 0;
	}
	got = pread(side->drive.fd, to, dnd_round_up(bytes, copy->align),
		    (off_t)(side->offset + at));
	if (got >= (ssize_t)bytes)
		return 0;
	error_number = got < 0 ? errno : EIO;
	copy->drive_failed = true;
	rc = dnd_drive_lost(copy->ctx, &side->drive);
	if (!rc)
		rc = dnd_drive_shrank(copy->ctx, &side->drive, side->offset + at + bytes);
	return rc ? rc : dnd_fail_errno(copy->ctx, error_number, "%s: reading it again failed",
					side->label);
}

static bool was_written(struct dnd_copy *copy, const struct dnd_side *side)
{
	return !side->is_memory && dnd_drive_was_written(copy->ctx, &side->drive, side->write_mark);
}

/* May the destination lie on the source's bytes?  The copy then overwrites its own source. */
static bool lies_on_source(const struct dnd_copy *copy)
{
	return !copy->src.is_memory && !copy->dst.is_memory &&
	       dnd_drive_may_hold(copy->ctx, &copy->src.drive, &copy->dst.drive);
}

/* Names the cause if it is known.  Else blames not only the drive, since stores into a region are not counted. */
static void say_why(struct dnd_copy *copy)
{
	if (was_written(copy, &copy->src))
		dnd_fail_more(copy->ctx, " Another program wrote to %s during the copy, which may be why. Wait for that program, and copy again.",
			      copy->src.label);
	else if (was_written(copy, &copy->dst))
		dnd_fail_more(copy->ctx, " Another program wrote to %s while it was verified, which may be why; all had been copied before. "
			      "Wait for that program, and copy again.", copy->dst.label);
	else if (dnd_copy_has_changed(copy, &copy->src))
		dnd_fail_more(copy->ctx, " The devices below %s changed during the copy. Copy again.", copy->src.label);
	else if (dnd_copy_has_changed(copy, &copy->dst))
		dnd_fail_more(copy->ctx, " The devices below %s changed during the copy. Copy again.", copy->dst.label);
	else if (lies_on_source(copy))
		dnd_fail_more(copy->ctx, " %s lies on %s, so that the copy wrote to what it read, which may be why. Put the file "
			      "on another drive, and copy again.", copy->dst.label, copy->src.label);
	else
		dnd_fail_more(copy->ctx, " Copy again. If it stays so, and no other program writes to either of them, suspect the "
			      "route or the drive.");
}

static int mismatch(struct dnd_copy *copy, uint64_t at, const uint8_t *a, const uint8_t *b)
{
	int rc;

	while (*a == *b) {
		a++;
		b++;
		at++;
	}
	rc = dnd_fail(copy->ctx, DND_E_MISMATCH, "%s and %s differ: the first different byte is "
		      "%llu bytes into the copy (offset %llu of the destination).", copy->src.label,
		      copy->dst.label, (unsigned long long)at, (unsigned long long)(copy->dst.offset + at));
	say_why(copy);
	return rc;
}

static int compare_chunk(struct dnd_copy *copy, uint64_t at, uint8_t *a, uint8_t *b)
{
	size_t bytes = dnd_min(CHUNK_BYTES, copy->length - at);
	int rc = load(copy, &copy->src, at, bytes, a);

	if (!rc)
		rc = load(copy, &copy->dst, at, bytes, b);
	if (rc)
		return rc;
	return memcmp(a, b, bytes) ? mismatch(copy, at, a, b) : 0;
}

/* A file system that wrote through its page cache would read from there again, and not from the drive. */
static int drop_cached(struct dnd_copy *copy)
{
	const struct dnd_drive *drive = &copy->dst.drive;
	int64_t pages;

	if (copy->dst.is_memory || !drive->bounce)
		return 0;
	dnd_residency_drop(drive->fd, copy->dst.offset, copy->length);
	pages = dnd_residency_pages(drive->fd, copy->dst.offset, copy->length);
	if (!pages)
		return 0;
	if (pages < 0)
		return dnd_fail_errno(copy->ctx, (int)pages, "%s: nobody tells whether pages of it stay in the page cache, which VERIFY "
				      "would compare with the source, and not what the drive holds (cachestat, or mincore "
				      "before Linux 6.5). All was copied. Allow that call, or compare the files yourself after a "
				      "remount.", drive->path);
	return dnd_fail(copy->ctx, DND_E_BUSY, "%s: %lld pages of it stay in the page cache because another program maps or reads "
			"it: VERIFY would compare these with the source, and not what the drive holds. All was copied. End "
			"that program and copy again, or compare the files yourself after a remount.", drive->path,
			(long long)pages);
}

int dnd_copy_verify(struct dnd_copy *copy)
{
	int rc = drop_cached(copy);
	void *memory;

	if (rc)
		return rc;
	if (posix_memalign(&memory, CHUNK_BYTES, 2ULL * CHUNK_BYTES))
		return dnd_fail_memory(copy->ctx);
	for (uint64_t at = 0; !rc && at < copy->length; at += CHUNK_BYTES) {
		rc = copy->stopped ? dnd_fail(copy->ctx, DND_E_CANCELED, "stopped") :
		     compare_chunk(copy, at, memory, (uint8_t *)memory + CHUNK_BYTES);
		if (!rc)
			dnd_copy_progress(copy, DONARD_PHASE_VERIFY, dnd_min(at + CHUNK_BYTES, copy->length), copy->length);
	}
	free(memory);
	copy->result->verified = !rc;
	return rc;
}
