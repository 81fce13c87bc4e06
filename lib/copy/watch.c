// SPDX-License-Identifier: Apache-2.0
/*
 * Finds out what may have gone through DRAM during a copy: pages of the page cache (join/cache.c), or a drive whose
 * stack changed.
 */
#include <stdio.h>

#include "copy/copy.h"

static int check_side(struct dnd_copy *copy, struct dnd_side *side)
{
	int rc = 0;

	if (side->is_memory || copy->bounced)
		return 0;
	if (copy->held)
		rc = dnd_join_check_unchanged(&side->join);
	if (!rc)
		rc = dnd_join_check_file(&side->join);
	copy->bounced |= side->join.bounced;
	return rc;
}

int dnd_copy_check_files(struct dnd_copy *copy)
{
	int rc = check_side(copy, &copy->src);

	return rc ? rc : check_side(copy, &copy->dst);
}

/* Keeps the failure that there is.  @doubt: to be set as by dnd_drive_is_durable_now(), or NULL */
static void look_again(struct dnd_copy *copy, struct dnd_side *side, struct dnd_doubt *doubt)
{
	struct dnd_failure before = dnd_failure_keep(copy->ctx);
	enum dnd_change change;
	int rc;

	change = doubt ? dnd_drive_look_and_judge(copy->ctx, &side->drive, doubt, &rc) :
			 dnd_drive_look_again(copy->ctx, &side->drive, &rc);
	dnd_failure_put_back(copy->ctx, &before);
	side->unseen = dnd_error_is_want(rc);
	side->changed |= change == DND_CHANGED && !side->unseen;
}

static bool has_moved(const struct dnd_side *side)
{
	return !side->is_memory && dnd_blockdev_moves(&side->drive.blockdev) != side->moves_before;
}

static void begin_side(struct dnd_copy *copy, struct dnd_side *side)
{
	if (side->is_memory)
		return;
	/* Changes since the file was opened are no changes during the copy, so take note of them now. */
	if (copy->held)
		look_again(copy, side, NULL);
	side->moves_before = dnd_blockdev_moves(&side->drive.blockdev);
	side->changed = false;
	if (!copy->bounced)
		dnd_join_watch(&side->join, side->offset, copy->plan.full_bytes, side == &copy->dst, &side->before);
}

/* Do the copy's own writes count as writes to its source?  They lie in other ranges of the same file, drive or disk then. */
static bool writes_to_source(struct dnd_copy *copy)
{
	const struct dnd_drive *src = &copy->src.drive, *dst = &copy->dst.drive;

	if (copy->dst.is_memory || src->is_file)
		return dnd_copy_is_same_file(copy);
	return src->blockdev.stack || dst->blockdev.stack || dnd_blockdev_conflicts(copy->ctx, src->device, dst->device);
}

void dnd_copy_watch_begin(struct dnd_copy *copy)
{
	copy->looked_seconds = copy->looked_at_drives_seconds = dnd_now_seconds();
	begin_side(copy, &copy->src);
	if (!copy->src.is_memory && !writes_to_source(copy))
		copy->src.write_mark = dnd_drive_write_mark(copy->ctx, &copy->src.drive);
	begin_side(copy, &copy->dst);
}

/* No page cache lies between a drive itself and direct I/O. */
static bool known(const struct dnd_side *side)
{
	return side->is_memory || (!side->unseen && (!side->drive.is_file || side->join.cached == DND_CACHED_NOT));
}

static enum donard_bounce_evidence evidence(const struct dnd_copy *copy)
{
	if (copy->bounced || (copy->src.is_memory && copy->dst.is_memory))
		return DONARD_BOUNCE_CERTAIN;
	return known(&copy->src) && known(&copy->dst) ? DONARD_BOUNCE_WATCHED : DONARD_BOUNCE_STATED;
}

static void watch(struct dnd_copy *copy, struct dnd_side *side, struct dnd_doubt *doubt)
{
	if (side->is_memory)
		return;
	look_again(copy, side, doubt);
	side->changed |= has_moved(side);
}

void dnd_copy_watch(struct dnd_copy *copy, struct dnd_side *side)
{
	watch(copy, side, NULL);
}

/* If legs changed during the copy, nobody knows by which route the bytes went. */
bool dnd_copy_has_changed(struct dnd_copy *copy, struct dnd_side *side)
{
	dnd_copy_watch(copy, side);
	return side->changed;
}

/*
 * After a change of the devices: LVM, for one, moves the bytes along, but others may have left them on a device that is not
 * used now.
 */
static void doubt_durability(struct dnd_copy *copy)
{
	struct donard_copy_result *result = copy->result;

	if (!result->durable)
		return;
	result->durable = false;
	snprintf(result->durable_reason, sizeof(result->durable_reason), "the devices below %s changed during the copy, and nobody "
		 "knows whether its bytes were moved along", copy->dst.drive.blockdev.disk);
}

static int end_side(struct dnd_copy *copy, struct dnd_side *side, uint64_t *cached_bytes)
{
	/* The last bytes go through the page cache by design, and are counted when they are moved. */
	if (side->is_memory || copy->bounced || !copy->plan.full_bytes)
		return 0;
	return dnd_join_watched(&side->join, &side->before, copy->result->bytes, cached_bytes);
}

int dnd_copy_watch_end(struct dnd_copy *copy)
{
	struct donard_copy_result *result = copy->result;
	struct dnd_doubt doubt = { .certain = false };
	uint64_t cached_bytes = 0;
	int rc = end_side(copy, &copy->src, &cached_bytes);

	if (!rc)
		rc = end_side(copy, &copy->dst, &cached_bytes);
	dnd_copy_watch(copy, &copy->src);
	watch(copy, &copy->dst, &doubt);
	dnd_copy_judge(copy, &doubt);
	result->bounced_evidence = cached_bytes ? DONARD_BOUNCE_AT_MOST : evidence(copy);
	if (has_moved(&copy->dst))
		doubt_durability(copy);
	if ((copy->src.changed || copy->dst.changed) && !copy->bounced) {
		cached_bytes = result->bytes;
		result->bounced_evidence = DONARD_BOUNCE_CHANGED;
	}
	result->bounced_bytes = dnd_min(result->bounced_bytes + cached_bytes, result->bytes);
	return rc;
}

void dnd_copy_watch_free(struct dnd_copy *copy)
{
	dnd_residency_free(&copy->src.before);
	dnd_residency_free(&copy->dst.before);
}
