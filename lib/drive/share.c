// SPDX-License-Identifier: Apache-2.0
/*
 * Do two devices lie on the same bytes of a drive, as an array and its leg do, or a
 * volume and the drive below it?  Two volumes of one array may share a drive, but no bytes.
 */
#include "drive/disk.h"
#include "drive/stack.h"

struct extent {
	const struct dnd_blockdev *drive;
	uint64_t start_bytes, length_bytes;
	bool known;		/* all of it is the device's; false: perhaps only some of it */
};

/* A walk over one device, which calls @see for each extent on a drive. */
struct walk {
	const struct dnd_stack *stack;
	void (*see)(void *user, const struct extent *extent);
	void *user;
	bool known;
};

static void see_drive(const struct walk *walk, const struct dnd_blockdev *drive, uint64_t offset,
		      uint64_t length)
{
	const struct extent extent = {
		drive, drive->start_bytes + offset, dnd_min(length, drive->length_bytes - offset),
		walk->known,
	};

	if (offset < drive->length_bytes)
		walk->see(walk->user, &extent);
}

static void see_node(const struct walk *walk, uint16_t index, uint64_t offset, uint64_t length);

static void see_line(const struct walk *walk, const struct dnd_node *node, uint64_t offset, uint64_t length)
{
	for (uint16_t i = 0; i < node->piece_count; i++) {
		const struct dnd_piece *part = &walk->stack->pieces[node->first_piece + i];
		uint64_t from = dnd_max(offset, part->at_bytes);
		uint64_t end = dnd_min(offset + length, part->at_bytes + part->length_bytes);

		if (from < end)
			see_node(walk, part->node, part->from_bytes + from - part->at_bytes, end - from);
	}
}

/* Visits whole rows of chunks. */
static void see_rows(const struct walk *walk, const struct dnd_node *node, uint64_t offset, uint64_t length)
{
	uint64_t chunk = node->chunk_bytes, last = (offset + length - 1) / chunk;
	uint64_t first_row = offset / chunk * node->copies / node->piece_count;
	uint64_t last_row = (last * node->copies + node->copies - 1) / node->piece_count;

	for (uint16_t i = 0; i < node->piece_count; i++) {
		const struct dnd_piece *part = &walk->stack->pieces[node->first_piece + i];

		if (chunk == UINT64_MAX)	/* raid1 is one chunk */
			see_node(walk, part->node, part->from_bytes + offset, length);
		else
			see_node(walk, part->node, part->from_bytes + first_row * chunk,
				 (last_row - first_row + 1) * chunk);
	}
}

static void see_all(const struct walk *walk, const struct dnd_node *node)
{
	struct walk unknown = *walk;

	unknown.known = false;
	for (uint16_t i = 0; i < node->piece_count; i++) {
		const struct dnd_piece *part = &walk->stack->pieces[node->first_piece + i];

		see_node(&unknown, part->node, part->from_bytes,
			 part->length_bytes ? part->length_bytes : DND_WHOLE_BYTES);
	}
}

static void see_node(const struct walk *walk, uint16_t index, uint64_t offset, uint64_t length)
{
	const struct dnd_node *node;

	if (index == DND_NO_NODE)
		return;
	node = &walk->stack->nodes[index];
	if (node->layout == DND_LAYOUT_LEG)
		see_drive(walk, &walk->stack->legs[node->leg].blockdev, offset, length);
	else if (node->layout == DND_LAYOUT_LINEAR)
		see_line(walk, node, offset, length);
	else if (node->layout == DND_LAYOUT_CHUNKS)
		see_rows(walk, node, offset, length);
	else
		see_all(walk, node);
}

/* Calls @see for each extent of the device. */
static void see_device(const struct dnd_blockdev *device, void (*see)(void *, const struct extent *), void *user)
{
	const struct walk walk = { device->stack, see, user, true };

	if (device->stack)
		see_node(&walk, device->stack->top, 0, DND_WHOLE_BYTES);
	else
		see_drive(&walk, device, 0, device->length_bytes);
}

struct meeting {
	const struct dnd_blockdev *other;
	const struct extent *extent;
	enum dnd_sharing sharing;
};

static void meet(void *user, const struct extent *b)
{
	struct meeting *meeting = user;
	const struct extent *a = meeting->extent;

	if (dnd_blockdev_is_same(a->drive, b->drive) && a->start_bytes < b->start_bytes + b->length_bytes &&
	    b->start_bytes < a->start_bytes + a->length_bytes && meeting->sharing != DND_SHARE)
		meeting->sharing = a->known && b->known ? DND_SHARE : DND_MAY_SHARE;
}

static void meet_other(void *user, const struct extent *extent)
{
	struct meeting *meeting = user;

	meeting->extent = extent;
	see_device(meeting->other, meet, meeting);
}

enum dnd_sharing dnd_stack_share(const struct dnd_blockdev *a, const struct dnd_blockdev *b)
{
	struct meeting meeting = { .other = b, .sharing = DND_APART };

	if (a->stack || b->stack)
		see_device(a, meet_other, &meeting);
	return meeting.sharing;
}
