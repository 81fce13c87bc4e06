// SPDX-License-Identifier: Apache-2.0
/*
 * Does the page cache take part in the copy?  Direct I/O that falls back to it
 * succeeds without a word, so its pages are looked at:
 *
 *   before   a file whose file system says that it does no direct I/O is
 *            refused, or bounced by leave of the caller (file_check.c);
 *   proof    the block that proves the route is dropped from the page cache
 *            first, and must not be there after the read;
 *   after    the page cache must hold no more of a file's range than when the
 *            copy began.
 *
 * A block device is not looked at afterwards: there is nothing to see. The page
 * cache reads only what a direct read returned without (blkdev_read_iter() in
 * block/fops.c), and that of io_uring returns -EIOCBQUEUED or an error.
 *
 * One bounce leaves no trace: while another program keeps dirtying the pages that
 * are written, a write cannot push them out of the page cache, goes through it,
 * and drops the pages. So do block devices (direct_write_fallback()) and ext4
 * (ext4_dio_write_iter()); XFS leaves the pages, which are seen.
 *
 * Any other program may read the same file meanwhile, and its pages look like
 * those of a bounce.  In the proof other blocks are tried before it fails.
 * Afterwards the file system is asked once more: if it still says that it goes
 * straight, the result gives the pages that came as the most that may have
 * bounced, and does not claim 0.
 */
#include <stdlib.h>
#include <unistd.h>

#include "copy/copy.h"

static const struct dnd_bounce seen_to_bounce = {
	"what is read directly comes into the page cache all the same",
	"If another program keeps reading it, wait for that to end"
};

static int refuse(struct dnd_copy *copy, const struct dnd_side *side,
		  const struct dnd_bounce *bounce)
{
	return dnd_fail(copy->ctx, DND_E_BOUNCES, "%s: its bytes would go through DRAM: %s. %s, or "
			"pass --allow-bounce.", side->label, bounce->cause, bounce->remedy);
}

static int check_side(struct dnd_copy *copy, const struct dnd_side *side)
{
	const struct dnd_bounce *bounce = side->is_region ? NULL : side->drive.bounce;

	if (!bounce || copy->bounced)
		return 0;
	if (!dnd_copy_flag(copy, DONARD_COPY_ALLOW_BOUNCE | DONARD_COPY_FORCE_BOUNCE))
		return refuse(copy, side, bounce);
	copy->bounced = true;
	return 0;
}

int dnd_copy_check_files(struct dnd_copy *copy)
{
	int rc = check_side(copy, &copy->src);

	return rc ? rc : check_side(copy, &copy->dst);
}

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

bool dnd_copy_drop_cached(const struct dnd_copy *copy, const struct dnd_side *side, uint64_t offset)
{
	dnd_residency_drop(side->drive.fd, offset, copy->align);
	return !dnd_residency_pages(side->drive.fd, offset, copy->align);
}

void dnd_copy_note_cached(const struct dnd_copy *copy, struct dnd_side *side, uint64_t offset)
{
	int64_t pages = dnd_residency_pages(side->drive.fd, offset, copy->align);

	if (!pages)
		side->cached = DND_CACHED_NOT;
	else if (pages > 0 && side->cached == DND_CACHED_UNKNOWN)
		side->cached = DND_CACHED_SEEN;
}

int dnd_copy_seen_to_bounce(struct dnd_copy *copy, const struct dnd_side *side)
{
	return side->cached == DND_CACHED_SEEN ? refuse(copy, side, &seen_to_bounce) : 0;
}

/* Whole blocks of file system and page cache: the last, partial one is accounted by itself. */
static void begin_side(struct dnd_copy *copy, struct dnd_side *side)
{
	uint64_t unit = dnd_max(page_bytes(), side->drive.fs_block_bytes);
	uint64_t start = dnd_round_up(side->offset, unit);
	uint64_t end = dnd_round_down(side->offset + copy->plan.full_bytes, unit);

	if (side->is_region || !side->drive.is_file || side->generic.fd >= 0 ||
	    side->cached != DND_CACHED_NOT || end <= start)
		return;
	if (dnd_residency_take(side->drive.fd, start, end - start, &side->before))
		side->cached = DND_CACHED_UNKNOWN;
}

void dnd_copy_watch_begin(struct dnd_copy *copy)
{
	if (copy->bounced)
		return;
	begin_side(copy, &copy->src);
	begin_side(copy, &copy->dst);
}

static int end_side(struct dnd_copy *copy, struct dnd_side *side, uint64_t *grown_bytes)
{
	int64_t grown;

	if (!side->before.pages)
		return 0;
	grown = dnd_residency_grown(side->drive.fd, &side->before);
	if (grown < 0)
		side->cached = DND_CACHED_UNKNOWN;
	if (grown <= 0)
		return 0;
	*grown_bytes += (uint64_t)grown;
	dnd_drive_ask(copy->ctx, &side->drive);
	return side->drive.bounce ? refuse(copy, side, side->drive.bounce) : 0;
}

static enum donard_bounce_evidence evidence(const struct dnd_copy *copy)
{
	bool known = (copy->src.is_region || copy->src.cached == DND_CACHED_NOT) &&
		     (copy->dst.is_region || copy->dst.cached == DND_CACHED_NOT);

	if (copy->bounced || (copy->src.is_region && copy->dst.is_region))
		return DONARD_BOUNCE_CERTAIN;
	return known ? DONARD_BOUNCE_WATCHED : DONARD_BOUNCE_STATED;
}

int dnd_copy_watch_end(struct dnd_copy *copy)
{
	struct donard_copy_result *result = copy->result;
	uint64_t grown_bytes = 0;
	int rc = end_side(copy, &copy->src, &grown_bytes);

	if (!rc)
		rc = end_side(copy, &copy->dst, &grown_bytes);
	result->bounced_evidence = grown_bytes ? DONARD_BOUNCE_AT_MOST : evidence(copy);
	result->bounced_bytes = dnd_min(result->bounced_bytes + grown_bytes, result->bytes);
	return rc;
}

void dnd_copy_watch_free(struct dnd_copy *copy)
{
	dnd_residency_free(&copy->src.before);
	dnd_residency_free(&copy->dst.before);
}
