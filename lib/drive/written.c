// SPDX-License-Identifier: Apache-2.0
/*
 * Was a drive or file written in between?  A file tells by the time of its last change, which has the resolution of the
 * kernel's clock tick, and a device by the writes and discards that the block layer has counted for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "drive/disk.h"

static uint64_t changed_nanoseconds(const struct dnd_drive *drive)
{
	struct stat st;

	return fstat(drive->fd, &st) ? 0 : (uint64_t)st.st_mtim.tv_sec * 1000000000U + (uint64_t)st.st_mtim.tv_nsec;
}

/* Documentation/block/stat.rst; the first is 1.  DISCARDS is missing before Linux 4.19. */
enum stat_field { WRITES = 5, DISCARDS = 12 };

/* Adds the writes of the device with that folder in sysfs.  False: they are not known. */
static bool add_writes(struct donard_context *ctx, const char *folder, uint64_t *sum)
{
	char text[256], *at = text, *end;
	uint64_t value;
	int field;

	if (dnd_sysfs_read(ctx, text, sizeof(text), "%s/stat", folder))
		return false;
	for (field = 1; field <= DISCARDS; field++, at = end) {
		value = strtoull(at, &end, 10);
		if (end == at)
			break;
		if (field == WRITES || field == DISCARDS)
			*sum += value;
	}
	return field > WRITES;
}

static bool counts_nothing(struct donard_context *ctx, const char *folder)
{
	uint64_t on = 1;

	dnd_sysfs_read_u64(ctx, &on, "%s/queue/iostats", folder);
	return !on;
}

/* Each path counts writes to the whole namespace, so the count says nothing about one partition. */
static bool add_writes_of_paths(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t *sum)
{
	const struct dnd_blockdev *blockdev = &drive->blockdev;
	char folder[DND_PATH_BYTES];

	if (dnd_sysfs_exists(ctx, "dev/block/%u:%u/partition", major(drive->device), minor(drive->device)))
		return false;
	for (size_t i = 0; i < blockdev->controller_count; i++)
		if (!dnd_disk_path(blockdev->disk, blockdev->controller_names[i], folder) || counts_nothing(ctx, folder) ||
		    !add_writes(ctx, folder, sum))
			return false;
	return blockdev->multipath;
}

/* While queue/iostats is 0 a device counts nothing, as the head of several paths before Linux 6.4. */
static uint64_t counted_writes(struct donard_context *ctx, const struct dnd_drive *drive)
{
	char folder[96];
	uint64_t sum = 0;
	bool known;

	snprintf(folder, sizeof(folder), "block/%s", drive->blockdev.disk);
	if (counts_nothing(ctx, folder)) {
		known = add_writes_of_paths(ctx, drive, &sum);
	} else {
		snprintf(folder, sizeof(folder), "dev/block/%u:%u", major(drive->device), minor(drive->device));
		known = add_writes(ctx, folder, &sum);
	}
	return known ? sum + 1 : 0;	/* a device that was never written is known, too */
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
