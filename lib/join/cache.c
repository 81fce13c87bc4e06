// SPDX-License-Identifier: Apache-2.0
/*
 * Does the page cache take part in a transfer?  Direct I/O that falls back to it
 * succeeds silently, so this file looks at its pages:
 *
 *   before   a file whose file system says that it does no direct I/O is
 *            refused, or bounced if the caller allows that (drive/file_check.c);
 *   proof    the block that proves the route is dropped from the page cache
 *            first, and must not be there after the read;
 *   after    the page cache must hold no more of a range that was read than before, and
 *            nothing of one that was written: a direct write drops the pages first.  A
 *            bounce into pages that were there already would not show as growth.
 *
 * For a block device there is nothing to see afterwards.  The page cache reads only
 * what a direct read has left over (blkdev_read_iter() in block/fops.c), and a direct
 * read by io_uring leaves nothing: it returns -EIOCBQUEUED or an error.
 *
 * One kind of bounce leaves no trace.  While another program keeps dirtying the pages
 * that are written, a write cannot push them out of the page cache, so it goes through
 * the cache and then drops the pages.  Block devices (direct_write_fallback()) and ext4
 * (ext4_dio_write_iter()) do this; XFS leaves the pages, so that they are seen.
 *
 * Another program may read the same file meanwhile, and its pages look like those of
 * a bounce.  The proof therefore tries other blocks before it fails.  Afterwards the
 * file system is asked again.  If it still says that it does direct I/O, the result
 * reports these pages as the most that may have bounced, and does not claim 0.  If it
 * does not, all bytes may have bounced, since nobody knows when that began.
 */
#include <unistd.h>

#include "join/join.h"

static const struct dnd_bounce seen_to_bounce = {
	"what is read directly comes into the page cache all the same",
	"If another program keeps reading it, wait for that to end"
};

static int refuse(const struct dnd_join *join, const struct dnd_bounce *bounce)
{
	return dnd_fail(join->ctx, DND_E_BOUNCES, "%s: its bytes would go through DRAM: %s. %s, or "
			"pass ALLOW_BOUNCE.", join->drive->path, bounce->cause, bounce->remedy);
}

int dnd_join_check_file(struct dnd_join *join)
{
	const struct dnd_bounce *bounce = join->drive->bounce;

	if (!bounce || join->bounced)
		return 0;
	if (!(join->leave & DND_JOIN_BOUNCE))
		return refuse(join, bounce);
	join->bounced = true;
	return 0;
}

bool dnd_join_drop_cached(const struct dnd_join *join, uint64_t offset)
{
	dnd_residency_drop(join->drive->fd, offset, join->align);
	return !dnd_residency_pages(join->drive->fd, offset, join->align);
}

void dnd_join_note_cached(struct dnd_join *join, uint64_t offset)
{
	int64_t pages = dnd_residency_pages(join->drive->fd, offset, join->align);

	if (!pages)
		join->cached = DND_CACHED_NOT;
	else if (pages > 0 && join->cached == DND_CACHED_UNKNOWN)
		join->cached = DND_CACHED_SEEN;
}

int dnd_join_seen_to_bounce(struct dnd_join *join)
{
	return join->cached == DND_CACHED_SEEN ? refuse(join, &seen_to_bounce) : 0;
}

/* Watches whole blocks of file system and page cache; the code that moves a partial last block accounts for it. */
void dnd_join_watch(struct dnd_join *join, uint64_t offset, uint64_t length, bool writes,
		    struct dnd_residency *before)
{
	const struct dnd_drive *drive = join->drive;
	uint64_t unit = dnd_max((uint64_t)sysconf(_SC_PAGESIZE), drive->fs_block_bytes);
	uint64_t start = dnd_round_up(offset, unit);
	uint64_t end = dnd_round_down(offset + length, unit);

	if (!drive->is_file || join->generic || join->cached != DND_CACHED_NOT || !length)
		return;
	/* A range without a whole page shows nothing. */
	if (end <= start || (writes ? dnd_residency_none(start, end - start, before) :
		     dnd_residency_take(drive->fd, start, end - start, before)))
		join->cached = DND_CACHED_UNKNOWN;
}

static int has_bounced(const struct dnd_join *join)
{
	const struct dnd_bounce *bounce = join->drive->bounce;

	if (join->leave & DND_JOIN_BOUNCE)
		return 0;
	return dnd_fail(join->ctx, DND_E_BOUNCES, "%s: bytes of it went through DRAM during the copy: %s. All was copied. %s, or "
			"pass ALLOW_BOUNCE, before you copy again.", join->drive->path, bounce->cause, bounce->remedy);
}

int dnd_join_watched(struct dnd_join *join, const struct dnd_residency *before, uint64_t length, uint64_t *cached_bytes)
{
	int64_t cached = before->pages ? dnd_residency_grown(join->drive->fd, before) : 0;
	int rc;

	if (cached < 0)
		join->cached = DND_CACHED_UNKNOWN;
	/* The pages may have been dropped by now. */
	if (cached <= 0 && (join->generic || dnd_drive_is_direct(join->drive)))
		return 0;
	rc = dnd_drive_ask_again(join->ctx, join->drive);
	if (rc || join->drive->bounce)
		cached = (int64_t)length;
	if (cached > 0)
		*cached_bytes += (uint64_t)cached;
	return rc || !join->drive->bounce ? rc : has_bounced(join);
}
