// SPDX-License-Identifier: Apache-2.0
/*
 * A device of LVM or md may come to consist of other devices while it is in use: a volume is moved or
 * extended, an array reshaped, a spare added, a path of a namespace found.  The kernel tells nobody, so donard
 * looks now and then, and at the end of a copy.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "drive/blockdev.h"
#include "drive/disk.h"
#include "drive/stack.h"

/* Only new controllers matter, because one that is gone needs no route. */
static bool has_new_controller(const struct dnd_blockdev *before, const struct dnd_blockdev *now)
{
	for (size_t i = 0; i < now->controller_count; i++) {
		size_t j = 0;

		while (j < before->controller_count && strcmp(before->controllers[j], now->controllers[i]))
			j++;
		if (j == before->controller_count)
			return true;
	}
	return false;
}

/* The index of the leg in @stack, or leg_count if it has no such leg. */
static size_t find_leg(const struct dnd_stack *stack, const struct dnd_leg *wanted)
{
	size_t i = 0;

	for (; i < stack->leg_count; i++) {
		const struct dnd_leg *leg = &stack->legs[i];

		if (leg->device == wanted->device && !strcmp(leg->under, wanted->under) &&
		    !has_new_controller(&leg->blockdev, &wanted->blockdev))
			break;
	}
	return i;
}

/* Renumbers the legs of @now as in @before.  Returns false if @now has a leg that @before lacks. */
static bool number_as_before(const struct dnd_stack *before, struct dnd_stack *now)
{
	uint16_t numbers[DND_LEGS];

	now->left = 0;
	for (size_t i = 0; i < before->leg_count; i++)
		now->left |= 1U << i;
	for (size_t i = 0; i < now->leg_count; i++) {
		numbers[i] = (uint16_t)find_leg(before, &now->legs[i]);
		if (numbers[i] == before->leg_count)
			return false;
		now->left &= ~(1U << numbers[i]);
	}
	for (size_t i = 0; i < now->node_count; i++)
		if (now->nodes[i].layout == DND_LAYOUT_LEG)
			now->nodes[i].leg = numbers[now->nodes[i].leg];
	return true;
}

static bool same_node(const struct dnd_node *a, const struct dnd_node *b)
{
	return a->layout == b->layout && a->leg == b->leg && a->first_piece == b->first_piece &&
	       a->piece_count == b->piece_count && a->chunk_bytes == b->chunk_bytes && a->copies == b->copies;
}

static bool same_piece(const struct dnd_piece *a, const struct dnd_piece *b)
{
	return a->node == b->node && a->at_bytes == b->at_bytes && a->from_bytes == b->from_bytes &&
	       a->length_bytes == b->length_bytes;
}

static bool same_map(const struct dnd_stack *a, const struct dnd_stack *b)
{
	if (a->node_count != b->node_count || a->piece_count != b->piece_count || a->top != b->top)
		return false;
	for (size_t i = 0; i < a->node_count; i++)
		if (!same_node(&a->nodes[i], &b->nodes[i]))
			return false;
	for (size_t i = 0; i < a->piece_count; i++)
		if (!same_piece(&a->pieces[i], &b->pieces[i]))
			return false;
	return true;
}

static bool stays(const struct dnd_stack *before, uint16_t a, const struct dnd_stack *now, uint16_t b);

/* A table may have been extended, or have more targets for the same bytes. */
static bool piece_stays(const struct dnd_stack *before, const struct dnd_piece *piece, const struct dnd_stack *now,
			const struct dnd_node *line)
{
	uint64_t at = piece->at_bytes, end = piece->at_bytes + piece->length_bytes;

	for (uint16_t i = 0; i < line->piece_count && at < end; i++) {
		const struct dnd_piece *part = &now->pieces[line->first_piece + i];

		if (at < part->at_bytes || at - part->at_bytes >= part->length_bytes)
			continue;
		if (part->from_bytes + (at - part->at_bytes) != piece->from_bytes + (at - piece->at_bytes) ||
		    !stays(before, piece->node, now, part->node))
			return false;
		at = part->at_bytes + part->length_bytes;
	}
	return at >= end;
}

static bool chunks_stay(const struct dnd_stack *before, const struct dnd_node *was, const struct dnd_stack *now,
			const struct dnd_node *is)
{
	if (was->chunk_bytes != is->chunk_bytes || was->copies != is->copies || was->piece_count != is->piece_count)
		return false;
	for (uint16_t i = 0; i < was->piece_count; i++) {
		const struct dnd_piece *a = &before->pieces[was->first_piece + i], *b = &now->pieces[is->first_piece + i];

		if (a->from_bytes != b->from_bytes || !stays(before, a->node, now, b->node))
			return false;
	}
	return true;
}

/*
 * md moves bytes between its members by itself, and keeps them.  A member may be a device of device-mapper, which does not;
 * one that has left or has come is md's concern.
 */
static bool members_stay(const struct dnd_stack *before, const struct dnd_node *was, const struct dnd_stack *now,
			 const struct dnd_node *is)
{
	if (is->device != was->device)
		return false;
	for (uint16_t i = 0; i < was->piece_count; i++) {
		uint16_t a = before->pieces[was->first_piece + i].node;

		for (uint16_t j = 0; a != DND_NO_NODE && j < is->piece_count; j++) {
			uint16_t b = now->pieces[is->first_piece + j].node;

			if (b != DND_NO_NODE && now->nodes[b].device == before->nodes[a].device && !stays(before, a, now, b))
				return false;
		}
	}
	return true;
}

/*
 * Do the bytes of node @a lie where they did, as far as that is known?  A user can replace a table of device-mapper by loading
 * another.
 */
static bool stays(const struct dnd_stack *before, uint16_t a, const struct dnd_stack *now, uint16_t b)
{
	const struct dnd_node *was, *is;

	if (a == DND_NO_NODE || b == DND_NO_NODE)
		return true;
	was = &before->nodes[a];
	is = &now->nodes[b];
	if (was->layout == DND_LAYOUT_UNKNOWN || is->layout == DND_LAYOUT_UNKNOWN)
		return true;
	if (was->layout == DND_LAYOUT_LEG || is->layout == DND_LAYOUT_LEG)
		return was->layout == is->layout && before->legs[was->leg].device == now->legs[is->leg].device;
	if (was->layout == DND_LAYOUT_CHUNKS && was->device)	/* md */
		return members_stay(before, was, now, is);
	if (was->layout != is->layout)
		return false;
	if (was->layout == DND_LAYOUT_CHUNKS)
		return chunks_stay(before, was, now, is);
	for (uint16_t i = 0; i < was->piece_count; i++)
		if (!piece_stays(before, &before->pieces[was->first_piece + i], now, is))
			return false;
	return true;
}

/* Takes over where the bytes lie; the legs of @to stay, with their numbers. */
static void take_map(struct dnd_stack *to, const struct dnd_stack *from)
{
	to->left = from->left;
	to->replacing = from->replacing;
	to->top = from->top;
	to->node_count = from->node_count;
	to->piece_count = from->piece_count;
	memcpy(to->nodes, from->nodes, sizeof(to->nodes));
	memcpy(to->pieces, from->pieces, sizeof(to->pieces));
}

/* Each look compares with the map of @before, which stays while it cannot be replaced: so one move counts once. */
static void note_moved(struct dnd_stack *before, bool moved)
{
	before->moves += moved && !before->away;
	before->away = moved;
}

/*
 * The kind "linear" becomes "linear or striped" if this process may not read the table any more, so the two count as the same.
 */
static bool same_kind(const struct dnd_stack *before, const struct dnd_stack *now)
{
	return before->untold || now->untold || !strcmp(before->kind, now->kind);
}

static enum dnd_change compare(struct dnd_stack *before, struct dnd_stack *now)
{
	note_moved(before, !stays(before, before->top, now, now->top));
	if (!same_kind(before, now) || now->behind != before->behind ||
	    !number_as_before(before, now))
		return DND_CHANGED;
	if (now->left == before->left && now->replacing == before->replacing && same_map(before, now))
		return DND_UNCHANGED;
	take_map(before, now);
	before->untold |= now->untold;
	before->away = false;
	return DND_LEGS_LEFT;
}

/* Does it have a table of device-mapper, at the top or further down, which a user may replace?  md moves no bytes by itself. */
static bool has_table(struct donard_context *ctx, const struct dnd_stack *stack)
{
	char number[32], disk[64];

	for (size_t i = 0; i < stack->node_count; i++) {
		dev_t device = stack->nodes[i].device;

		snprintf(number, sizeof(number), "%u:%u", major(device), minor(device));
		if (device && !dnd_disk_name(ctx, number, disk, sizeof(disk)) && !strncmp(disk, "dm-", 3))
			return true;
	}
	return false;
}

static enum dnd_change stack_changed(struct donard_context *ctx, struct dnd_stack *stack, struct dnd_blockdev *now, int rc)
{
	/* A target that donard does not know, such as a mirror, or none that keeps anything; or a device that is no NVMe drive. */
	if ((rc == -EOPNOTSUPP || rc == -ENOTBLK) && has_table(ctx, stack))
		note_moved(stack, true);
	return !rc && now->stack ? compare(stack, now->stack) : DND_CHANGED;
}

/* A new controller of the namespace may get any request, so it counts as a change. */
enum dnd_change dnd_drive_changed(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_blockdev *now, int rc)
{
	if (drive->blockdev.stack)
		return stack_changed(ctx, drive->blockdev.stack, now, rc);
	return rc || has_new_controller(&drive->blockdev, now) ? DND_CHANGED : DND_UNCHANGED;
}

bool dnd_drive_may_change(struct donard_context *ctx, const struct dnd_drive *drive)
{
	const struct dnd_blockdev *blockdev = &drive->blockdev;

	/* If the drive is gone, its requests report that better. */
	return blockdev->stack || (blockdev->multipath && dnd_sysfs_exists(ctx, "block/%s", blockdev->disk));
}

enum dnd_change dnd_drive_look_again(struct donard_context *ctx, const struct dnd_drive *drive, int *rc)
{
	struct dnd_blockdev now;
	enum dnd_change change;

	*rc = 0;
	if (!dnd_drive_may_change(ctx, drive))
		return DND_UNCHANGED;
	*rc = dnd_blockdev_resolve_again(ctx, drive->device, drive->path, &now);
	change = dnd_drive_changed(ctx, drive, &now, *rc);
	if (!*rc)
		dnd_blockdev_release(&now);
	return change;
}
