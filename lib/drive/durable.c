// SPDX-License-Identifier: Apache-2.0
/*
 * Does fsync() reach the drive's medium, and does the file outlive it?  It succeeds even if something on the way sends no
 * flushes: a file system that is mounted without barriers or has its journal elsewhere (journal.c), or a block device whose
 * write cache somebody declared write-through (queue/write_cache).  A file without a name ends with a power cut.
 *
 * queue/fua shows whether the drive has a volatile cache (VWC of its Identify).  The nvme driver sets both attributes
 * by that, and only write_cache can be changed afterwards.  md sets both.  dm takes both from the devices below it when a table
 * is loaded: before Linux 6.11 it says 'write through', without fua, if write_cache of these said so at that moment, and
 * answers each flush itself from then on.
 */
#include <stdio.h>
#include <sys/sysmacros.h>

#include "drive/blockdev.h"
#include "drive/disk.h"
#include "drive/file_check.h"
#include "drive/stack.h"

/* A doubt that is certain takes the place of one that is not; else the first stays. */
static void doubt_it(struct dnd_doubt *doubt, bool certain, const char *format, ...) DND_PRINTF(3, 4);
static void doubt_it(struct dnd_doubt *doubt, bool certain, const char *format, ...)
{
	va_list args;

	if (doubt->certain || (doubt->text[0] && !certain))
		return;
	doubt->certain = certain;
	va_start(args, format);
	vsnprintf(doubt->text, sizeof(doubt->text), format, args);
	va_end(args);
}

static void not_known(struct dnd_doubt *doubt, const char *name)
{
	doubt_it(doubt, false, "whether %s is flushed is not known: sysfs does not show it", name);
}

/* The leg at or below the node that says that it has a volatile write cache; NULL: none does. */
static const char *cached_below(struct donard_context *ctx, const struct dnd_stack *stack, uint16_t index)
{
	const struct dnd_node *node = &stack->nodes[index];
	const char *leg = stack->legs[node->leg].blockdev.disk;
	char cache[32];

	if (node->layout == DND_LAYOUT_LEG)
		return !dnd_sysfs_read(ctx, cache, sizeof(cache), "block/%s/queue/write_cache", leg) &&
		       !strcmp(cache, "write back") ? leg : NULL;
	leg = NULL;
	for (size_t i = node->first_piece; !leg && i < (size_t)node->first_piece + node->piece_count; i++)
		if (stack->pieces[i].node != DND_NO_NODE)
			leg = cached_below(ctx, stack, stack->pieces[i].node);
	return leg;
}

/*
 * @queue: the folder of a block device's queue below /sys.  @name: the device's name in the text.
 * @below: a leg of it that has a volatile write cache, or NULL.
 */
static void check_queue(struct donard_context *ctx, const char *queue, const char *name, const char *below,
			struct dnd_doubt *doubt)
{
	char cache[32];
	uint64_t fua;

	if (dnd_sysfs_read(ctx, cache, sizeof(cache), "%s/write_cache", queue) ||
	    dnd_sysfs_read_u64(ctx, &fua, "%s/fua", queue))
		doubt_it(doubt, false, "whether %s is flushed is not known: /sys/%s cannot be read", name, queue);
	else if (!strcmp(cache, "write through") && fua)
		doubt_it(doubt, true, "%s has a volatile write cache, and is not flushed: /sys/%s/write_cache says 'write through'. "
			 "Write 'write back' to it", name, queue);
	else if (!strcmp(cache, "write through") && below)
		doubt_it(doubt, true, "%s passes no flush on to %s, which has a volatile write cache: /sys/%s/write_cache says "
			 "'write through'. Activate %s anew", name, below, queue, name);
}

static void check_disk(struct donard_context *ctx, const char *disk, const char *below, struct dnd_doubt *doubt)
{
	char queue[96];

	snprintf(queue, sizeof(queue), "block/%s/queue", disk);
	check_queue(ctx, queue, disk, below, doubt);
}

static void check_path(struct donard_context *ctx, const char *disk, const char *controller_name, struct dnd_doubt *doubt)
{
	char folder[DND_PATH_BYTES], queue[DND_PATH_BYTES + 8];

	if (!dnd_disk_path(disk, controller_name, folder)) {
		not_known(doubt, controller_name);
		return;
	}
	snprintf(queue, sizeof(queue), "%s/queue", folder);
	check_queue(ctx, queue, strrchr(folder, '/') + 1, NULL, doubt);
}

/* Each path of native multipath has a queue of its own, which may drop flushes as well. */
static void check_drive(struct donard_context *ctx, const struct dnd_blockdev *drive, struct dnd_doubt *doubt)
{
	check_disk(ctx, drive->disk, NULL, doubt);
	for (size_t i = 0; drive->multipath && i < drive->controller_count; i++)
		check_path(ctx, drive->disk, drive->controller_names[i], doubt);
}

/* Each device of a stack. */
static void check_nodes(struct donard_context *ctx, const struct dnd_stack *stack, struct dnd_doubt *doubt)
{
	char number[32], disk[64];

	for (size_t i = 0; i < stack->node_count; i++) {
		dev_t device = stack->nodes[i].device;

		if (!device)
			continue;
		snprintf(number, sizeof(number), "%u:%u", major(device), minor(device));
		if (dnd_disk_name(ctx, number, disk, sizeof(disk)))
			not_known(doubt, number);
		else
			check_disk(ctx, disk, cached_below(ctx, stack, (uint16_t)i), doubt);
	}
}

static void check_blockdev(struct donard_context *ctx, const struct dnd_blockdev *blockdev, struct dnd_doubt *doubt)
{
	const struct dnd_stack *stack = blockdev->stack;

	if (stack) {
		check_disk(ctx, blockdev->disk, cached_below(ctx, stack, stack->top), doubt);
		check_nodes(ctx, stack, doubt);
	}
	for (size_t leg = 0; leg < dnd_blockdev_leg_count(blockdev); leg++)
		check_drive(ctx, dnd_blockdev_leg(blockdev, leg), doubt);
}

static void check_file(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_doubt *doubt)
{
	if (!dnd_drive_has_name(drive))
		doubt_it(doubt, false, "it has no name, because it was removed or never had one: it is gone once it is closed");
	else if (dnd_file_is_flushed(drive->fd, doubt))
		dnd_file_journal_is_inside(ctx, drive->fd, doubt);
}

static void check(struct donard_context *ctx, const struct dnd_drive *drive, const struct dnd_blockdev *blockdev,
		  struct dnd_doubt *doubt)
{
	*doubt = (struct dnd_doubt){ .certain = false };
	if (drive->is_file)
		check_file(ctx, drive, doubt);
	check_blockdev(ctx, blockdev, doubt);
}

bool dnd_drive_is_durable(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_doubt *doubt)
{
	check(ctx, drive, &drive->blockdev, doubt);
	return !doubt->text[0];
}

/* Judges by what the drive is resolved to now.  Returns -errno with a text if it cannot be any more. */
static int judge_now(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_blockdev *now, struct dnd_doubt *doubt)
{
	int rc = dnd_blockdev_resolve_again(ctx, drive->device, drive->path, now);

	check(ctx, drive, rc ? &drive->blockdev : now, doubt);
	if (rc)
		doubt_it(doubt, false, "whether %s is flushed is not known: donard cannot read all of what it is made of now",
			 drive->blockdev.disk);
	return rc;
}

bool dnd_drive_is_durable_now(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_doubt *doubt)
{
	struct dnd_failure before = dnd_failure_keep(ctx);
	struct dnd_blockdev now;

	if (!dnd_drive_may_change(ctx, drive))
		return dnd_drive_is_durable(ctx, drive, doubt);
	if (!judge_now(ctx, drive, &now, doubt))
		dnd_blockdev_release(&now);
	dnd_failure_put_back(ctx, &before);
	return !doubt->text[0];
}

enum dnd_change dnd_drive_look_and_judge(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_doubt *doubt, int *rc)
{
	struct dnd_blockdev now;
	enum dnd_change change;

	*rc = 0;
	if (!dnd_drive_may_change(ctx, drive)) {
		dnd_drive_is_durable(ctx, drive, doubt);
		return DND_UNCHANGED;
	}
	*rc = judge_now(ctx, drive, &now, doubt);
	change = dnd_drive_changed(ctx, drive, &now, *rc);
	if (!*rc)
		dnd_blockdev_release(&now);
	return change;
}
