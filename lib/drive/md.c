// SPDX-License-Identifier: Apache-2.0
/*
 * A software RAID (md) as part of a stack.  Its folder in sysfs shows everybody how it is made.
 *
 * raid0, raid1 and raid10 pass the payload's pages on as they are; raid1 and
 * raid10 pass them to as many legs as there are copies.  Three things go through
 * DRAM all the same:
 *   write-behind  raid1 with write-mostly legs and a backlog copies the data that
 *		   it writes (alloc_behind_master_bio() in drivers/md/raid1.c).
 *		   Such an array counts as one that bounces writes.
 *   resync	   md reads and writes through pages of its own.  Requests are not
 *		   part of it, though it may copy bytes of the payload once more.
 *   bad blocks	   md reads such a block from another leg and rewrites it, through
 *		   pages of its own (fix_read_error()); then it repeats the request.
 */
#include <stdio.h>
#include <stdlib.h>

#include "drive/stack.h"

#define SECTOR_BYTES	512
#define MEMBERS_MAX	DND_LEGS

struct member {
	struct dnd_piece part;
	uint64_t slot;		/* UINT64_MAX: a spare */
	bool replaces;		/* it is going to replace the slot's present member */
};

struct array {
	struct dnd_stack_walk *walk;
	const char *disk;
	char level[32];
	uint64_t disks, chunk_bytes, layout;
	bool write_mostly;
	struct member members[MEMBERS_MAX];
	size_t count;
};

static uint64_t number_of(const struct array *array, const char *name)
{
	uint64_t value = 0;

	dnd_sysfs_read_u64(array->walk->ctx, &value, "block/%s/md/%s", array->disk, name);
	return value;
}

static void read_text(const struct array *array, const char *name, char *text, size_t text_bytes)
{
	dnd_sysfs_read(array->walk->ctx, text, text_bytes, "block/%s/md/%s", array->disk, name);
}

static bool is_level(const struct array *array, const char *level)
{
	return !strcmp(array->level, level);
}

static int refuse_level(const struct array *array)
{
	bool parity = is_level(array, "raid4") || is_level(array, "raid5") || is_level(array, "raid6");

	return dnd_fail(array->walk->ctx, DND_E_UNSUPPORTED, "%s: %s is a software RAID of the level "
			"'%s'%s. Use raid0, raid1 or raid10, or what lies below.", array->walk->label,
			array->disk, array->level, parity ? ", for which the CPU must see all data to "
			"compute parity" : ", which is not known to pass data on");
}

static int check_state(const struct array *array)
{
	char state[32], position[32];

	read_text(array, "array_state", state, sizeof(state));
	read_text(array, "reshape_position", position, sizeof(position));
	if (!strcmp(state, "clear") || !strcmp(state, "inactive") || !strcmp(state, "suspended"))
		return dnd_fail(array->walk->ctx, DND_E_UNSUPPORTED, "%s: the software RAID %s does not "
				"run (%s). Start it (mdadm --run).", array->walk->label, array->disk, state);
	/* sync_action does not tell: it says "frozen" or "idle" for a reshape that was frozen or interrupted. */
	if (strcmp(position, "none"))
		return dnd_fail(array->walk->ctx, DND_E_UNSUPPORTED, "%s: the software RAID %s is being "
				"reshaped, which moves its bytes. Wait for the end "
				"(/proc/mdstat), or go on with it (mdadm --grow --continue).",
				array->walk->label, array->disk);
	return 0;
}

static int read_array(struct array *array)
{
	read_text(array, "level", array->level, sizeof(array->level));
	if (!is_level(array, "raid0") && !is_level(array, "raid1") && !is_level(array, "raid10"))
		return refuse_level(array);
	array->disks = number_of(array, "raid_disks");
	array->chunk_bytes = number_of(array, "chunk_size");
	array->layout = number_of(array, "layout");
	return check_state(array);
}

/* "in_sync,write_mostly" */
static bool says(const char *states, const char *word)
{
	size_t length = strlen(word), part;

	for (; *states; states += part + (states[part] == ',')) {
		part = strcspn(states, ",");
		if (part == length && !strncmp(states, word, length))
			return true;
	}
	return false;
}

static void read_member(const struct array *array, const char *entry, struct member *member)
{
	struct donard_context *ctx = array->walk->ctx;
	uint64_t sectors = 0, kib = 0;

	if (dnd_sysfs_read_u64(ctx, &member->slot, "block/%s/md/%s/slot", array->disk, entry))
		member->slot = UINT64_MAX;	/* "none" */
	dnd_sysfs_read_u64(ctx, &sectors, "block/%s/md/%s/offset", array->disk, entry);
	dnd_sysfs_read_u64(ctx, &kib, "block/%s/md/%s/size", array->disk, entry);
	member->part.from_bytes = sectors * SECTOR_BYTES;
	member->part.length_bytes = kib << 10;
}

/* Adds spares, too, because a spare takes over when a leg fails. */
static int add_member(struct donard_context *ctx, const char *entry, void *user)
{
	struct array *array = user;
	struct member *member = &array->members[array->count];
	char states[128], number[32];

	if (strncmp(entry, "dev-", 4))
		return 0;
	dnd_sysfs_read(ctx, states, sizeof(states), "block/%s/md/%s/state", array->disk, entry);
	if (says(states, "faulty") ||
	    dnd_sysfs_read(ctx, number, sizeof(number), "block/%s/md/%s/block/dev", array->disk, entry))
		return 0;
	if (array->count == MEMBERS_MAX)
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: %s has more than %d legs. Use what lies below.",
				array->walk->label, array->disk, MEMBERS_MAX);
	read_member(array, entry, member);
	member->replaces = says(states, "replacement");
	array->write_mostly |= says(states, "write_mostly");
	array->walk->stack->replacing |= member->replaces;
	array->count++;
	return array->walk->add(array->walk, number, &member->part.node);
}

/*
 * Does DND_LAYOUT_CHUNKS describe the array?  Not if it is a raid0 of legs of different sizes, where fewer legs hold
 * the rest, or a raid10 with a far layout, which keeps the copies elsewhere.
 */
static bool is_regular(const struct array *array)
{
	uint64_t bytes = array->count ? array->members[0].part.length_bytes : 0;

	if (is_level(array, "raid1"))
		return true;
	if (!array->chunk_bytes)
		return false;
	if (is_level(array, "raid10"))
		return (array->layout >> 8 & 0xff) == 1 && (array->layout & 0xff) >= 1;
	for (size_t i = 1; i < array->count; i++)
		if (dnd_round_down(array->members[i].part.length_bytes, array->chunk_bytes) !=
		    dnd_round_down(bytes, array->chunk_bytes))
			return false;
	return true;
}

/* A slot without a working leg gets no node. */
static int add_slots(const struct array *array)
{
	int rc = 0;

	for (uint64_t slot = 0; !rc && slot < array->disks; slot++) {
		struct dnd_piece part = { .node = DND_NO_NODE };

		for (size_t i = 0; i < array->count; i++)
			if (array->members[i].slot == slot && !array->members[i].replaces)
				part = array->members[i].part;
		rc = dnd_stack_add_piece(array->walk, &part);
	}
	return rc;
}

/* The pieces of an unknown layout still show which legs there are. */
static int add_all(const struct array *array)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < array->count; i++)
		rc = dnd_stack_add_piece(array->walk, &array->members[i].part);
	return rc;
}

static int add_array(struct array *array, uint16_t *node)
{
	struct dnd_stack *stack = array->walk->stack;
	bool regular = is_regular(array) && array->disks && array->disks <= MEMBERS_MAX;
	bool whole = is_level(array, "raid1");
	const struct dnd_node shape = {
		.layout = regular ? DND_LAYOUT_CHUNKS : DND_LAYOUT_UNKNOWN,
		/* raid1 has no chunks, so its only chunk has no end. */
		.chunk_bytes = whole ? UINT64_MAX : array->chunk_bytes,
		.copies = whole ? (uint32_t)array->disks :
			  is_level(array, "raid10") ? (uint32_t)(array->layout & 0xff) : 1,
		.piece_count = (uint16_t)(regular ? array->disks : array->count),
	};
	int rc;

	if (array->write_mostly && number_of(array, "bitmap/backlog"))
		stack->behind = true;
	stack->mirrored |= !is_level(array, "raid0");
	dnd_stack_set_kind(array->walk, array->level);
	rc = dnd_stack_add_node(array->walk, &shape, node);
	if (rc)
		return rc;
	return regular ? add_slots(array) : add_all(array);
}

static int look_at(struct array *array, uint16_t *node)
{
	char folder[PATH_MAX];
	int rc = read_array(array);

	snprintf(folder, sizeof(folder), "block/%s/md", array->disk);
	if (!rc)
		rc = dnd_for_each_entry(array->walk->ctx, folder, add_member, array);
	if (!rc && !array->count)
		rc = dnd_fail(array->walk->ctx, DND_E_UNSUPPORTED, "%s: the software RAID %s has no leg "
			      "that works. Bring one back ('mdadm --detail /dev/%s' names them).",
			      array->walk->label, array->disk, array->disk);
	return rc ? rc : add_array(array, node);
}

int dnd_md_add(struct dnd_stack_walk *walk, const char *disk, uint16_t *node)
{
	struct array *array = calloc(1, sizeof(*array));
	int rc;

	if (!array)
		return dnd_fail_memory(walk->ctx);
	array->walk = walk;
	array->disk = disk;
	rc = look_at(array, node);
	free(array);
	return rc;
}
