/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a block device is made of others: device-mapper's linear and striped
 * tables, and md's raid0, raid1 and raid10.  What lies at the bottom are its
 * legs: NVMe drives and partitions.
 */
#ifndef DND_STACK_H
#define DND_STACK_H

#include <sys/types.h>

#include "drive/drive.h"

#define DND_STACK_DEPTH	4	/* LVM on md on partitions is 2 */
#define DND_NODES	64
#define DND_PIECES	128
#define DND_NO_NODE	UINT16_MAX
#define DND_WHOLE_BYTES	(1ULL << 56)	/* more than any device has, and sums of it fit */

/* A device that a node consists of. */
struct dnd_piece {
	uint16_t node;		/* DND_NO_NODE: the leg is missing, as in a degraded array */
	uint64_t at_bytes;	/* where it begins in its parent; linear only */
	uint64_t from_bytes;	/* what comes first of it */
	uint64_t length_bytes;
};

enum dnd_layout {
	DND_LAYOUT_LEG,		/* a drive or partition */
	DND_LAYOUT_LINEAR,	/* one part after the other */
	/*
	 * Chunk after chunk, each @copies times, on part after part.  One copy:
	 * raid0 and striped; as many as parts: raid1; between: raid10's near
	 * layout (__raid10_find_phys() in drivers/md/raid10.c, far_copies 1).
	 */
	DND_LAYOUT_CHUNKS,
	DND_LAYOUT_UNKNOWN,	/* which bytes are where is not known */
};

struct dnd_node {
	enum dnd_layout layout;
	dev_t device;		/* a part may name it again; 0: none of its own, as of a target */
	uint16_t leg;		/* of DND_LAYOUT_LEG */
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
	char suspended[96];	/* "dm-0 (vg-data)", for which requests wait now; or "" */
	char kind[48];		/* of the topmost device: "raid1", "linear", "striped" */
	size_t leg_count;
	uint32_t left;		/* as bits: legs that it has no more (change.c) */
	uint32_t moves;		/* how often its map said that bytes lie elsewhere on its legs (change.c) */
	struct dnd_leg legs[DND_LEGS];
	size_t node_count, piece_count;
	struct dnd_node nodes[DND_NODES];
	struct dnd_piece pieces[DND_PIECES];
	uint16_t top;
	uint64_t chunk_bytes;	/* the shortest; a request that crosses one is split; 0: none */
	bool behind;		/* raid1 with write-behind */
	bool replacing;		/* md fills a leg that will take another's place: it gets writes, too, and is no piece */
	bool mirrored;		/* a byte is on several legs, one of which answers */
};

/* While one is looked through. */
struct dnd_stack_walk {
	struct donard_context *ctx;
	const char *label;	/* as the user typed it */
	struct dnd_stack *stack;
	const char *under;	/* the device that is looked into */
	unsigned int depth;
	/* The device of that number, "259:3", and all below it; *node is what it became. */
	int (*add)(struct dnd_stack_walk *walk, const char *number, uint16_t *node);
};

/* layout.c */
int dnd_stack_add_piece(struct dnd_stack_walk *walk, const struct dnd_piece *part);
/* A node whose parts are added next. */
int dnd_stack_add_node(struct dnd_stack_walk *walk, const struct dnd_node *node, uint16_t *index);

/* Of the topmost device alone; see struct dnd_stack. */
void dnd_stack_set_kind(struct dnd_stack_walk *walk, const char *kind);

/* Fails for what is more than there is room for. */
int dnd_stack_too_large(struct dnd_stack_walk *walk, const char *what, int limit);

/* stack.c */
int dnd_stack_resolve(struct donard_context *ctx, const char *number, const char *label,
		      struct dnd_stack **stack);
void dnd_stack_free(struct dnd_stack *stack);
/* share.c: do two different disks lie on the same bytes of a drive, as an array and its leg do? */
enum dnd_sharing dnd_stack_share(const struct dnd_blockdev *a, const struct dnd_blockdev *b);

/* md.c and dm.c: what the disk, "md0" or "dm-0", is made of; @number: its own */
int dnd_md_add(struct dnd_stack_walk *walk, const char *disk, uint16_t *node);
int dnd_dm_add(struct dnd_stack_walk *walk, const char *disk, const char *number, uint16_t *node);

/* dm_table.c: the table as device-mapper tells it to root alone: one target at a time. */
struct dnd_dm_target {
	uint64_t start_bytes;
	uint64_t length_bytes;
	char type[16];
	const char *parameters;	/* "259:1 2048" */
};

typedef int (*dnd_dm_target_fn)(void *user, const struct dnd_dm_target *target);

/* -EACCES or -ENOENT: it is not told to this user; another -errno; or what @fn returned. No text. */
int dnd_dm_table(const struct donard_context *ctx, dev_t device, dnd_dm_target_fn fn, void *user);
struct dnd_dm_device {
	char number[16];	/* "259:1" */
	uint64_t from_bytes;
};

/*
 * The devices of a linear or striped target: how many, at most @max, or -errno.
 * *chunk_bytes is 0 for linear.  Pure.
 */
int dnd_dm_devices(const struct dnd_dm_target *target, struct dnd_dm_device *devices, int max,
		   uint64_t *chunk_bytes);
/*
 * Without the table: can a table of this machine have other targets than those of
 * dm_mod itself, which are linear, striped and error?
 */
bool dnd_dm_all_plain(struct donard_context *ctx);

#endif /* DND_STACK_H */
