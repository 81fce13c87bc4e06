/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a block device is made of others: by device-mapper's linear and striped
 * tables, and by md's raid0, raid1 and raid10.  At the bottom are its legs: NVMe
 * drives and partitions.
 */
#ifndef DND_STACK_H
#define DND_STACK_H

#include <sys/types.h>

#include "drive/drive.h"

#define DND_STACK_DEPTH	4	/* LVM on md on partitions is 2 */
#define DND_NODES	64
#define DND_PIECES	128
#define DND_NO_NODE	UINT16_MAX
#define DND_WHOLE_BYTES	(1ULL << 56)	/* more than any device has; sums of it do not overflow */

/* A device that a node consists of. */
struct dnd_piece {
	uint16_t node;		/* DND_NO_NODE: the leg is missing, as in a degraded array */
	uint64_t at_bytes;	/* where it begins in its parent; linear only */
	uint64_t from_bytes;	/* where it begins on the node's device */
	uint64_t length_bytes;
};

enum dnd_layout {
	DND_LAYOUT_LEG,		/* a drive or partition */
	DND_LAYOUT_LINEAR,	/* one piece after the other */
	/*
	 * Chunk after chunk, each @copies times, on one piece after the other.  With
	 * one copy this is raid0 and striped; with as many copies as pieces, raid1; in
	 * between, the near layout of raid10 (__raid10_find_phys() in
	 * drivers/md/raid10.c, far_copies 1).
	 */
	DND_LAYOUT_CHUNKS,
	DND_LAYOUT_UNKNOWN,	/* nobody knows where the bytes lie */
};

struct dnd_node {
	enum dnd_layout layout;
	dev_t device;		/* by which further pieces find the node; 0: none, as for a target or partition */
	uint16_t leg;		/* for DND_LAYOUT_LEG */
	uint16_t first_piece, piece_count;
	uint64_t chunk_bytes;
	uint32_t copies;
};

struct dnd_leg {
	char name[48];		/* "nvme1n1p2" */
	char under[48];		/* "md0": the device that it is a leg of */
	dev_t device;
	struct dnd_blockdev blockdev;	/* of its own, as if it were opened alone */
};

struct dnd_stack {
	char suspended[96];	/* "dm-0 (vg-data)", a suspended device, whose requests wait; or "" */
	char kind[48];		/* of the topmost device: "raid1", "linear", "striped" */
	bool untold;		/* the table of the topmost device could not be read, now or at a later look (change.c) */
	size_t leg_count;
	uint32_t left;		/* the legs that it has lost, as bits (change.c) */
	uint32_t moves;		/* how often bytes were found elsewhere than before (change.c) */
	bool away;		/* bytes are elsewhere than this map says, which has not been replaced (change.c) */
	struct dnd_leg legs[DND_LEGS];
	size_t node_count, piece_count;
	struct dnd_node nodes[DND_NODES];
	struct dnd_piece pieces[DND_PIECES];
	uint16_t top;
	uint64_t chunk_bytes;	/* the shortest chunk; a request that crosses its border is split; 0: none */
	bool behind;		/* raid1 with write-behind */
	bool replacing;		/* md fills a leg that will replace another: it gets writes, too, but is no piece */
	bool mirrored;		/* a byte lies on several legs, and any of them may answer a read */
};

/* The state of a walk through a stack. */
struct dnd_stack_walk {
	struct donard_context *ctx;
	const char *label;	/* as the user typed it */
	struct dnd_stack *stack;
	const char *under;	/* the device whose parts are being added */
	unsigned int depth;
	/* Adds the device with that number, "259:3", and everything below it; sets *node. */
	int (*add)(struct dnd_stack_walk *walk, const char *number, uint16_t *node);
};

/* layout.c */
int dnd_stack_add_piece(struct dnd_stack_walk *walk, const struct dnd_piece *part);
/* Adds a node; the caller adds its pieces next. */
int dnd_stack_add_node(struct dnd_stack_walk *walk, const struct dnd_node *node, uint16_t *index);

/* Sets the stack's kind, if @walk is at the topmost device. */
void dnd_stack_set_kind(struct dnd_stack_walk *walk, const char *kind);

/* The failure that a stack has more of @what than there is room for. */
int dnd_stack_too_large(struct dnd_stack_walk *walk, const char *what, int limit);

/* stack.c */
int dnd_stack_resolve(struct donard_context *ctx, const char *number, const char *label,
		      struct dnd_stack **stack);
void dnd_stack_free(struct dnd_stack *stack);
/* share.c: do two different disks lie on the same bytes of a drive, as an array and its leg do? */
enum dnd_sharing dnd_stack_share(const struct dnd_blockdev *a, const struct dnd_blockdev *b);

/* md.c and dm.c: add the devices that the disk, "md0" or "dm-0", is made of; @number is the disk's own */
int dnd_md_add(struct dnd_stack_walk *walk, const char *disk, uint16_t *node);
int dnd_dm_add(struct dnd_stack_walk *walk, const char *disk, const char *number, uint16_t *node);

/* dm_table.c: one target of a table, which device-mapper shows only to root */
struct dnd_dm_target {
	uint64_t start_bytes;
	uint64_t length_bytes;
	char type[16];
	const char *parameters;	/* "259:1 2048" */
};

typedef int (*dnd_dm_target_fn)(void *user, const struct dnd_dm_target *target);

/*
 * Calls @fn for each target until it returns nonzero.  Returns 0, what @fn returned, or -errno: -EACCES or -EPERM if this
 * user may not see the table, -ENOENT if the control node is missing.  Sets no text.
 */
int dnd_dm_table(const struct donard_context *ctx, dev_t device, dnd_dm_target_fn fn, void *user);
struct dnd_dm_device {
	char number[16];	/* "259:1" */
	uint64_t from_bytes;
};

/*
 * Parses the devices of a linear or striped target.  Returns how many, at most @max, or
 * -errno.  *chunk_bytes is 0 for linear.  Pure.
 */
int dnd_dm_devices(const struct dnd_dm_target *target, struct dnd_dm_device *devices, int max,
		   uint64_t *chunk_bytes);
/*
 * Without reading a table: do all tables of this machine use only the targets of dm_mod
 * itself, which are linear, striped and error?
 */
bool dnd_dm_all_plain(struct donard_context *ctx);

#endif /* DND_STACK_H */
