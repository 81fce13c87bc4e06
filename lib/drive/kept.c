// SPDX-License-Identifier: Apache-2.0
/*
 * Does a file still have what was written to it, and does its name still lead to it?  No write fails because another
 * program cuts the file, punches a hole into it, removes it or puts another file in its place.
 */
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "drive/drive.h"

#define EXTENTS	32	/* asked for at once */

union extents {
	struct fiemap map;
	char room[sizeof(struct fiemap) + EXTENTS * sizeof(struct fiemap_extent)];
};

/*
 * Asks for the first extents of this range.  Does not use lseek(SEEK_HOLE), which would move the position of a descriptor that
 * the program may read by itself.  Returns false if nobody knows them.
 */
static bool ask(int fd, uint64_t offset, uint64_t end, union extents *extents)
{
	memset(extents, 0, sizeof(*extents));
	extents->map.fm_start = offset;
	extents->map.fm_length = end - offset;
	extents->map.fm_extent_count = EXTENTS;
	return !ioctl(fd, FS_IOC_FIEMAP, &extents->map);
}

bool dnd_drive_has_data(const struct dnd_drive *drive, uint64_t offset, uint64_t end_bytes)
{
	union extents extents;

	if (!drive->is_file)
		return true;
	if (!ask(drive->fd, offset, end_bytes, &extents))
		return false;
	for (uint32_t i = 0; i < extents.map.fm_mapped_extents; i++)
		if (!(extents.map.fm_extents[i].fe_flags & FIEMAP_EXTENT_UNWRITTEN))
			return true;
	return false;
}

/* How far from @offset on the extents have data without a gap. */
static uint64_t follow(const struct fiemap *map, uint64_t offset)
{
	for (uint32_t i = 0; i < map->fm_mapped_extents; i++) {
		const struct fiemap_extent *extent = &map->fm_extents[i];

		if (extent->fe_logical > offset || extent->fe_flags & FIEMAP_EXTENT_UNWRITTEN)
			break;
		offset = extent->fe_logical + extent->fe_length;
	}
	return offset;
}

/* Finds where the first hole begins, or returns @end.  What was written and flushed is in no unwritten extent. */
static uint64_t find_hole(int fd, uint64_t offset, uint64_t end)
{
	union extents extents;
	uint64_t at = offset, behind;

	for (; at < end; at = behind) {
		if (!ask(fd, at, end, &extents))
			return end;
		behind = follow(&extents.map, at);
		if (behind == at)
			return at;
	}
	return end;
}

int dnd_drive_check_kept(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t offset, uint64_t end_bytes,
			 uint64_t *kept_end)
{
	uint64_t length = dnd_drive_size_now(drive);
	int rc;

	*kept_end = end_bytes;
	if (drive->is_file)
		*kept_end = find_hole(drive->fd, offset, dnd_max(offset, dnd_min(length, end_bytes)));
	if (*kept_end == end_bytes)
		return 0;
	rc = *kept_end >= length ? dnd_drive_shrank(ctx, drive, end_bytes) : 0;
	return rc ? rc :
	       dnd_fail(ctx, DND_E_BUSY, "%s: another program cut it or punched a hole into it during the copy: copied bytes "
			"are missing from offset %llu on. Wait for that program, and copy again.", drive->path,
			(unsigned long long)*kept_end);
}

bool dnd_drive_has_name(const struct dnd_drive *drive)
{
	struct stat st;

	return !drive->is_file || fstat(drive->fd, &st) || st.st_nlink;
}

int dnd_drive_check_path(struct donard_context *ctx, const struct dnd_drive *drive)
{
	struct stat file, st = { 0 };
	int error_number;

	if (!drive->is_file || fstat(drive->fd, &file))
		return 0;
	error_number = stat(drive->path, &st) ? errno : 0;
	if (!error_number && st.st_dev == file.st_dev && st.st_ino == file.st_ino)
		return 0;
	/* Any other error means that this process may not look the name up. */
	if (error_number && error_number != ENOENT && error_number != ENOTDIR && error_number != ELOOP)
		return 0;
	return dnd_fail(ctx, DND_E_BUSY, "%s: another program %s it during the copy. All was copied, into a file that has %s. Wait for "
			"that program, and copy again.", drive->path, error_number ? "removed" : "replaced",
			file.st_nlink ? "another name now" : "no name any more, and is gone");
}
