// SPDX-License-Identifier: Apache-2.0
/*
 * Walks through a stack from the top.  Each device is a leg, or is made of others;
 * see stack.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "drive/disk.h"
#include "drive/stack.h"

static int not_a_leg(struct dnd_stack_walk *walk, const char *name, const char *disk)
{
	return dnd_fail(walk->ctx, DND_E_NOT_NVME, "%s: the leg %s of %s is %s, not an NVMe drive. Use a "
			"device whose legs are all NVMe drives", walk->label, name, walk->under,
			dnd_disk_describe(disk));
}

static dev_t device_of(const char *number)
{
	unsigned int major_number = 0, minor_number = 0;

	sscanf(number, "%u:%u", &major_number, &minor_number);
	return makedev(major_number, minor_number);
}

static int leg_node(struct dnd_stack_walk *walk, size_t leg, uint16_t *node)
{
	const struct dnd_node leaf = {
		.layout = DND_LAYOUT_LEG, .leg = (uint16_t)leg, .device = walk->stack->legs[leg].device,
	};

	return dnd_stack_add_node(walk, &leaf, node);
}

/* Several pieces of a logical volume may lie on one leg or array, and then share its node. */
static bool is_known(const struct dnd_stack *stack, dev_t device, uint16_t *node)
{
	for (size_t i = 0; i < stack->node_count; i++)
		if (stack->nodes[i].device == device) {
			*node = (uint16_t)i;
			return true;
		}
	return false;
}

static int add_leg(struct dnd_stack_walk *walk, const char *number, const char *name, uint16_t *node)
{
	struct dnd_stack *stack = walk->stack;
	struct dnd_leg *leg = &stack->legs[stack->leg_count];
	char label[PATH_MAX];
	int rc;

	if (is_known(stack, device_of(number), node))
		return 0;
	if (stack->leg_count == DND_LEGS)
		return dnd_stack_too_large(walk, "legs", DND_LEGS);
	snprintf(leg->name, sizeof(leg->name), "%s", name);
	snprintf(leg->under, sizeof(leg->under), "%s", walk->under);
	leg->device = device_of(number);
	snprintf(label, sizeof(label), "%.3000s: leg %s of %s", walk->label, name, walk->under);
	rc = dnd_disk_resolve(walk->ctx, leg->device, label, &leg->blockdev);
	if (rc)
		return rc;
	return leg_node(walk, stack->leg_count++, node);
}

static int add_made(struct dnd_stack_walk *walk, const char *disk, const char *number, uint16_t *node)
{
	struct dnd_stack_walk below = *walk;
	int rc;

	if (is_known(walk->stack, device_of(number), node))
		return 0;
	below.under = disk;
	below.depth++;
	if (below.depth > DND_STACK_DEPTH)
		return dnd_stack_too_large(walk, "devices above each other", DND_STACK_DEPTH);
	rc = !strncmp(disk, "md", 2) ? dnd_md_add(&below, disk, node) :
				       dnd_dm_add(&below, disk, number, node);
	if (!rc)
		walk->stack->nodes[*node].device = device_of(number);
	return rc;
}

/* Adds a node for a partition above the array's node. */
static int add_partition(struct dnd_stack_walk *walk, const char *number, uint16_t *node)
{
	const struct dnd_node line = { .layout = DND_LAYOUT_LINEAR, .piece_count = 1 };
	struct dnd_piece part = { .node = *node };
	uint64_t start = 0, sectors = 0;
	int rc;

	dnd_sysfs_read_u64(walk->ctx, &start, "dev/block/%s/start", number);
	dnd_sysfs_read_u64(walk->ctx, &sectors, "dev/block/%s/size", number);
	part.from_bytes = start * DND_SECTOR_BYTES;
	part.length_bytes = sectors * DND_SECTOR_BYTES;
	rc = dnd_stack_add_node(walk, &line, node);
	return rc ? rc : dnd_stack_add_piece(walk, &part);
}

/* Sets @whole to the number of the array that a partition belongs to, or to @number if it is the array itself. */
static int whole_number(struct dnd_stack_walk *walk, const char *number, char whole[32])
{
	if (!dnd_sysfs_exists(walk->ctx, "dev/block/%s/partition", number)) {
		snprintf(whole, 32, "%s", number);
		return 0;
	}
	return dnd_sysfs_read(walk->ctx, whole, 32, "dev/block/%s/../dev", number);
}

static int gone(struct dnd_stack_walk *walk, const char *number)
{
	return dnd_fail(walk->ctx, DND_E_NO_SUCH_DEVICE, "%s: the block device %s below it is not "
			"in sysfs. It has just gone away: try again.", walk->label, number);
}

/* Adds a device that is made of others, or a partition of such a device. */
static int add_whole(struct dnd_stack_walk *walk, const char *disk, const char *number, uint16_t *node)
{
	char whole[32];
	int rc;

	if (whole_number(walk, number, whole))
		return gone(walk, number);
	rc = add_made(walk, disk, whole, node);
	return rc || !strcmp(number, whole) ? rc : add_partition(walk, number, node);
}

static int add(struct dnd_stack_walk *walk, const char *number, uint16_t *node)
{
	char name[48], disk[64];

	if (dnd_sysfs_link_name(walk->ctx, name, sizeof(name), "dev/block/%s", number) ||
	    dnd_disk_name(walk->ctx, number, disk, sizeof(disk)))
		return gone(walk, number);
	if (!strncmp(disk, "nvme", 4))
		return add_leg(walk, number, name, node);
	if (!dnd_disk_is_stack(disk))
		return not_a_leg(walk, name, disk);
	return add_whole(walk, disk, number, node);
}

int dnd_stack_resolve(struct donard_context *ctx, const char *number, const char *label,
		      struct dnd_stack **stack_out)
{
	struct dnd_stack_walk walk = { .ctx = ctx, .label = label, .under = "", .add = add };
	int rc;

	walk.stack = calloc(1, sizeof(*walk.stack));
	if (!walk.stack)
		return dnd_fail_memory(ctx);
	rc = add(&walk, number, &walk.stack->top);
	if (rc)
		free(walk.stack);
	else
		*stack_out = walk.stack;
	return rc;
}

void dnd_stack_free(struct dnd_stack *stack)
{
	free(stack);
}

uint32_t dnd_blockdev_legs_left(const struct dnd_blockdev *blockdev)
{
	return blockdev->stack ? blockdev->stack->left : 0;
}

uint32_t dnd_blockdev_moves(const struct dnd_blockdev *blockdev)
{
	return blockdev->stack ? blockdev->stack->moves : 0;
}

uint32_t dnd_blockdev_legs_in_use(const struct dnd_blockdev *blockdev)
{
	const struct dnd_stack *stack = blockdev->stack;
	uint32_t bits = 0;

	for (size_t i = 0; stack && i < stack->piece_count; i++) {
		uint16_t node = stack->pieces[i].node;

		if (node != DND_NO_NODE && stack->nodes[node].layout == DND_LAYOUT_LEG)
			bits |= 1U << stack->nodes[node].leg;
	}
	return bits;
}
