// SPDX-License-Identifier: Apache-2.0
/*
 * Was a drive or file written in between?  A file tells by the time of its last change, which has the resolution of the
 * kernel's clock tick, and a device by the writes and discards that the block layer has counted for it.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "drive/drive.h"

static uint64_t changed_nanoseconds(const struct dnd_drive *drive)
{
	struct stat st;

	return fstat(drive->fd, &st) ? 0 : (uint64_t)st.st_mtim.tv_sec * 1000000000U + (uint64_t)st.st_mtim.tv_nsec;
}

/* Documentation/block/stat.rst: "write I/Os" is field 5, "discard I/Os" field 12, which is missing before Linux 4.19. */
static uint64_t counted_writes(struct donard_context *ctx, const struct dnd_drive *drive)
{
	unsigned long long writes, discards = 0;
	char text[256];

	if (dnd_sysfs_read(ctx, text, sizeof(text), "dev/block/%u:%u/stat", major(drive->device), minor(drive->device)) ||
	    sscanf(text, "%*u %*u %*u %*u %llu %*u %*u %*u %*u %*u %*u %llu", &writes, &discards) < 1)
		return 0;
	return writes + discards + 1;	/* a device that was never written is known, too */
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
