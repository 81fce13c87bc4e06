// SPDX-License-Identifier: Apache-2.0
/*
 * Does fsync() reach the drive's medium, and does the file outlive it?  It succeeds even if something on the way sends no
 * flushes: a file system that is mounted without barriers or has its journal elsewhere (journal.c), or a block device whose
 * write cache somebody declared write-through (queue/write_cache).  A file without a name ends with a power cut.
 *
 * queue/fua shows whether the drive has a volatile cache (VWC of its Identify).  The nvme driver sets both attributes
 * by that, dm and md by the devices below them, and only write_cache can be changed afterwards.
 */
#include <stdio.h>
#include <sys/sysmacros.h>

#include "drive/disk.h"
#include "drive/file_check.h"
#include "drive/stack.h"

static bool not_known(struct dnd_doubt *doubt, const char *name)
{
	snprintf(doubt->text, sizeof(doubt->text), "whether %s is flushed is not known: sysfs does not show it", name);
	return false;
}

/* @queue: the folder of a block device's queue below /sys.  @name: the device's name in the text. */
static bool passes_flushes(struct donard_context *ctx, const char *queue, const char *name, struct dnd_doubt *doubt)
{
	char cache[32];
	uint64_t fua;

	if (dnd_sysfs_read(ctx, cache, sizeof(cache), "%s/write_cache", queue) ||
	    dnd_sysfs_read_u64(ctx, &fua, "%s/fua", queue)) {
		snprintf(doubt->text, sizeof(doubt->text), "whether %s is flushed is not known: /sys/%s cannot be read", name,
			 queue);
		return false;
	}
	if (strcmp(cache, "write through") || !fua)
		return true;
	snprintf(doubt->text, sizeof(doubt->text), "%s has a volatile write cache, and is not flushed: /sys/%s/write_cache "
		 "says 'write through'. Write 'write back' to it", name, queue);
	return false;
}

static bool disk_passes(struct donard_context *ctx, const char *disk, struct dnd_doubt *doubt)
{
	char queue[96];

	snprintf(queue, sizeof(queue), "block/%s/queue", disk);
	return passes_flushes(ctx, queue, disk, doubt);
}

/* Each path of native multipath has a queue of its own, which may drop flushes as well. */
static bool paths_pass(struct donard_context *ctx, const struct dnd_blockdev *drive, struct dnd_doubt *doubt)
{
	char queue[128], path[48];
	unsigned int subsystem, head, controller;

	if (!drive->multipath)
		return true;
	if (sscanf(drive->disk, "nvme%un%u", &subsystem, &head) != 2)
		return not_known(doubt, drive->disk);
	for (size_t i = 0; i < drive->controller_count; i++) {
		if (sscanf(drive->controller_names[i], "nvme%u", &controller) != 1)
			return not_known(doubt, drive->controller_names[i]);
		snprintf(path, sizeof(path), "nvme%uc%un%u", subsystem, controller, head);
		snprintf(queue, sizeof(queue), "class/nvme/%s/%s/queue", drive->controller_names[i], path);
		if (!passes_flushes(ctx, queue, path, doubt))
			return false;
	}
	return true;
}

/* Checks each device of a stack. */
static bool nodes_pass(struct donard_context *ctx, const struct dnd_stack *stack, struct dnd_doubt *doubt)
{
	char number[32], disk[64];

	for (size_t i = 0; i < stack->node_count; i++) {
		dev_t device = stack->nodes[i].device;

		if (!device)
			continue;
		snprintf(number, sizeof(number), "%u:%u", major(device), minor(device));
		if (dnd_disk_name(ctx, number, disk, sizeof(disk)))
			return not_known(doubt, number);
		if (!disk_passes(ctx, disk, doubt))
			return false;
	}
	return true;
}

static bool blockdev_passes(struct donard_context *ctx, const struct dnd_blockdev *blockdev, struct dnd_doubt *doubt)
{
	if (!disk_passes(ctx, blockdev->disk, doubt) ||
	    (blockdev->stack && !nodes_pass(ctx, blockdev->stack, doubt)))
		return false;
	for (size_t leg = 0; leg < dnd_blockdev_leg_count(blockdev); leg++) {
		const struct dnd_blockdev *drive = dnd_blockdev_leg(blockdev, leg);

		if (!disk_passes(ctx, drive->disk, doubt) || !paths_pass(ctx, drive, doubt))
			return false;
	}
	return true;
}

static bool has_name(const struct dnd_drive *drive, struct dnd_doubt *doubt)
{
	if (dnd_drive_has_name(drive))
		return true;
	snprintf(doubt->text, sizeof(doubt->text), "it has no name, because it was removed or never had one: it is gone once it is "
		 "closed");
	return false;
}

bool dnd_drive_is_durable(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_doubt *doubt)
{
	doubt->text[0] = '\0';
	if (drive->is_file &&
	    (!has_name(drive, doubt) || !dnd_file_is_flushed(drive->fd, doubt) || !dnd_file_journal_is_inside(ctx, drive->fd, doubt)))
		return false;
	return blockdev_passes(ctx, &drive->blockdev, doubt);
}
