// SPDX-License-Identifier: Apache-2.0
/*
 * Was a drive or file written in between?  A file tells by the time of its last change, which has the resolution of the
 * kernel's clock tick, and a device by the writes and discards that the block layer has counted for it.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "drive/drive.h"

static uint64_t changed_nanoseconds(const struct dnd_drive *drive)
{
	struct stat st;

	return fstat(drive->fd, &st) ? 0 : (uint64_t)st.st_mtim.tv_sec * 1000000000U + (uint64_t)st.st_mtim.tv_nsec;
}

/* Documentation/block/stat.rst; the first is 1.  DISCARDS is missing before Linux 4.19. */
enum stat_field { WRITES = 5, DISCARDS = 12 };

static uint64_t counted_writes(struct donard_context *ctx, const struct dnd_drive *drive)
{
	uint64_t sum = 0, value;
	char text[256], *at = text, *end;
	int field;

	if (dnd_sysfs_read(ctx, text, sizeof(text), "dev/block/%u:%u/stat", major(drive->device), minor(drive->device)))
		return 0;
	for (field = 1; field <= DISCARDS; field++, at = end) {
		value = strtoull(at, &end, 10);
		if (end == at)
			break;
		if (field == WRITES || field == DISCARDS)
			sum += value;
	}
	return field > WRITES ? sum + 1 : 0;	/* a device that was never written is known, too */
}

uint64_t dnd_drive_write_mark(struct donard_context *ctx, const struct dnd_drive *drive)
{
	return drive->is_file ? changed_nanoseconds(drive) : counted_writes(ctx, drive);
}

bool dnd_drive_was_written(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t mark)
{
	uint64_t now = mark ? dnd_drive_write_mark(ctx, drive) : 0;

	return now && now != mark;
}
