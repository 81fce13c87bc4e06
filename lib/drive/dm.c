// SPDX-License-Identifier: Apache-2.0
/*
 * A device-mapper device as part of a stack.  The targets linear and striped
 * change a request's device and offset, and split it at borders; they pass the
 * pages of the payload on as they are.  All other targets are refused by name: they
 * read the bytes, copy them, or choose by rules of their own where to put them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "drive/stack.h"

#define TARGET_DEVICES 32

struct table {
	struct dnd_stack_walk *walk;
	const char *disk;
	char title[96];			/* "dm-0 (vg-data)" */
	struct dnd_node node;		/* the concatenation of all targets */
	struct dnd_piece targets[DND_PIECES];
	size_t count;
	int rc;				/* why a target was refused */
};

static const char *what_it_does(const char *type)
{
	static const struct {
		const char *type, *does;
	} known[] = {
		{ "crypt", "encrypts the data by CPU" },
		{ "integrity", "checks the data by CPU" },
		{ "verity", "checks the data by CPU" },
		{ "mirror", "copies the data through DRAM" },
		{ "raid", "may compute parity of the data" },
		{ "snapshot", "copies the data through DRAM" },
		{ "snapshot-origin", "copies the data through DRAM" },
		{ "snapshot-merge", "copies the data through DRAM" },
		{ "thin", "chooses where the data goes when it is written" },
		{ "cache", "copies the data through DRAM" },
		{ "writecache", "copies the data through DRAM" },
		{ "era", "is not known to pass data on" },
		{ "multipath", "chooses a path by itself; NVMe's own multipath is supported" },
		{ "error", "has no device" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(type, known[i].type))
			return known[i].does;
	return "is not known to pass data on";
}

static int refuse(const struct table *table, const char *type)
{
	return dnd_fail(table->walk->ctx, DND_E_UNSUPPORTED, "%s: %s is a device-mapper device with "
			"the target '%s', which %s. Use a device of linear or striped targets, or "
			"what lies below.", table->walk->label, table->title, type, what_it_does(type));
}

static int odd_table(const struct table *table, const struct dnd_dm_target *target)
{
	return dnd_fail(table->walk->ctx, DND_E_UNSUPPORTED, "%s: %s has a table that donard does not "
			"understand or that is too long: %s %.100s. Use what lies below.",
			table->walk->label, table->title, target->type, target->parameters);
}

static int add_devices(struct table *table, struct dnd_piece *parts,
		       const struct dnd_dm_device *devices, int count, uint64_t length_bytes)
{
	int rc = 0;

	for (int i = 0; !rc && i < count; i++) {
		parts[i] = (struct dnd_piece){
			.from_bytes = devices[i].from_bytes, .length_bytes = length_bytes / (uint64_t)count,
		};
		rc = table->walk->add(table->walk, devices[i].number, &parts[i].node);
	}
	return rc;
}

static int add_parts(struct dnd_stack_walk *walk, const struct dnd_piece *parts, size_t count)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++)
		rc = dnd_stack_add_piece(walk, &parts[i]);
	return rc;
}

/* A striped target becomes a node of its own, in the place of a single device. */
static int add_striped(struct table *table, const struct dnd_piece *parts, int count,
		       uint64_t chunk_bytes, struct dnd_piece *whole)
{
	const struct dnd_node node = {
		.layout = DND_LAYOUT_CHUNKS, .chunk_bytes = chunk_bytes, .copies = 1,
		.piece_count = (uint16_t)count,
	};
	int rc = dnd_stack_add_node(table->walk, &node, &whole->node);

	return rc ? rc : add_parts(table->walk, parts, (size_t)count);
}

static int take_target(struct table *table, const struct dnd_dm_target *target)
{
	struct dnd_piece parts[TARGET_DEVICES], whole;
	struct dnd_dm_device devices[TARGET_DEVICES];
	uint64_t chunk_bytes;
	int rc, count;

	if (strcmp(target->type, "linear") && strcmp(target->type, "striped"))
		return refuse(table, target->type);
	count = dnd_dm_devices(target, devices, TARGET_DEVICES, &chunk_bytes);
	if (count < 0 || table->count == DND_PIECES)
		return odd_table(table, target);
	rc = add_devices(table, parts, devices, count, target->length_bytes);
	whole = parts[0];
	if (!rc && chunk_bytes) {
		whole.from_bytes = 0;
		rc = add_striped(table, parts, count, chunk_bytes, &whole);
	}
	whole.at_bytes = target->start_bytes;
	whole.length_bytes = target->length_bytes;
	if (!table->count)
		dnd_stack_set_kind(table->walk, target->type);
	table->targets[table->count++] = whole;
	return rc;
}

static int add_target(void *user, const struct dnd_dm_target *target)
{
	struct table *table = user;

	table->rc = take_target(table, target);
	return table->rc;
}

static int add_slave(struct donard_context *ctx, const char *slave, void *user)
{
	struct table *table = user;
	char number[32];

	if (dnd_sysfs_read(ctx, number, sizeof(number), "block/%s/slaves/%s/dev", table->disk, slave))
		return 0;
	if (table->count == DND_PIECES)
		return 0;
	return table->walk->add(table->walk, number, &table->targets[table->count++].node);
}

/*
 * Adds the devices that sysfs shows to everybody; it does not show where the bytes lie.  @rc says why the table cannot
 * be read.  It is -ENOENT in a container that lacks the node, even for root.
 */
static int add_without_table(struct table *table, int rc)
{
	struct dnd_stack_walk *walk = table->walk;
	char folder[PATH_MAX];

	if (!dnd_dm_all_plain(walk->ctx) && rc == -ENOENT)
		return dnd_fail(walk->ctx, DND_E_PERMISSION, "%s: %s is a device-mapper device, and there is no %s/mapper/control, "
				"through which the kernel shows its table; without it nobody knows whether the data "
				"passes through the CPU, since this machine also uses targets other than linear and "
				"striped. Give this container that node.", walk->label, table->title, walk->ctx->dev_root);
	if (!dnd_dm_all_plain(walk->ctx))
		return dnd_fail(walk->ctx, DND_E_PERMISSION, "%s: %s is a device-mapper device, and the "
				"kernel shows its table only to root; without it nobody knows whether the "
				"data passes through the CPU, since this machine also uses targets other "
				"than linear and striped. Run as root (CAP_SYS_ADMIN).", walk->label,
				table->title);
	table->node.layout = DND_LAYOUT_UNKNOWN;
	dnd_stack_set_kind(walk, "linear or striped");
	walk->stack->untold |= walk->depth == 1;
	snprintf(folder, sizeof(folder), "block/%s/slaves", table->disk);
	return dnd_for_each_entry(walk->ctx, folder, add_slave, table);
}

static int read_table(struct table *table, const char *number)
{
	unsigned int major_number = 0, minor_number = 0;
	int rc;

	sscanf(number, "%u:%u", &major_number, &minor_number);
	table->node.layout = DND_LAYOUT_LINEAR;
	rc = dnd_dm_table(table->walk->ctx, makedev(major_number, minor_number), add_target, table);
	if (table->rc || !rc)
		return table->rc;
	if (rc == -EACCES || rc == -EPERM || rc == -ENOENT)
		return add_without_table(table, rc);
	return dnd_fail_errno(table->walk->ctx, rc, "%s: the table of %s cannot be read",
			      table->walk->label, table->title);
}

static void note_suspended(const struct table *table)
{
	struct dnd_stack *stack = table->walk->stack;
	uint64_t suspended = 0;

	dnd_sysfs_read_u64(table->walk->ctx, &suspended, "block/%s/dm/suspended", table->disk);
	if (suspended)
		snprintf(stack->suspended, sizeof(stack->suspended), "%s", table->title);
}

static int add_table(struct table *table, const char *number, uint16_t *node)
{
	struct dnd_stack_walk *walk = table->walk;
	int rc;

	note_suspended(table);
	rc = read_table(table, number);
	if (!rc && !table->count)
		rc = dnd_fail(walk->ctx, DND_E_UNSUPPORTED, "%s: %s has no table. Activate it, or use "
			      "another device.", walk->label, table->title);
	if (rc)
		return rc;
	table->node.piece_count = (uint16_t)table->count;
	rc = dnd_stack_add_node(walk, &table->node, node);
	return rc ? rc : add_parts(walk, table->targets, table->count);
}

int dnd_dm_add(struct dnd_stack_walk *walk, const char *disk, const char *number, uint16_t *node)
{
	struct table *table = calloc(1, sizeof(*table));
	char name[64] = "?";
	int rc;

	if (!table)
		return dnd_fail_memory(walk->ctx);
	table->walk = walk;
	table->disk = disk;
	dnd_sysfs_read(walk->ctx, name, sizeof(name), "block/%s/dm/name", disk);
	snprintf(table->title, sizeof(table->title), "%.20s (%s)", disk, name);
	rc = add_table(table, number, node);
	free(table);
	return rc;
}
