/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which record has the newest bytes of each block that is in the log: a tree of extents, so that a record costs
 * as much whether it has one block or a thousand.  It never allocates after its start, because what was acknowledged must
 * find its place.
 */
#ifndef DND_CACHE_BLOCKS_H
#define DND_CACHE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Contiguous blocks of the drive whose newest bytes one record has. */
struct dnd_cache_extent {
	uint64_t first, count;
	uint64_t sequence;	/* of the record; never 0 */
};

struct dnd_cache_node;

struct dnd_cache_blocks {
	struct dnd_cache_node *nodes;
	uint64_t touched;		/* how many of the nodes were ever used */
	struct dnd_cache_node *spare;	/* those of them that are not used now */
	struct dnd_cache_node *root;
	uint64_t seed;			/* of the priorities */
};

/*
 * Makes room for @records writes and trims at a time, counted from the oldest whose blocks were not dropped yet.  The caller
 * drops records in the order in which they came.  Each adds at most one extent, and splits at most one older extent.  Returns 0
 * or -ENOMEM.
 */
int dnd_cache_blocks_init(struct dnd_cache_blocks *blocks, uint64_t records);
void dnd_cache_blocks_free(struct dnd_cache_blocks *blocks);
/* Returns the sequence of the record that has the block's newest bytes; 0: the drive has them. */
uint64_t dnd_cache_blocks_find(const struct dnd_cache_blocks *blocks, uint64_t number);
/* Finds the first extent with some of the @count blocks from @first on, and cuts it to these; false if there is none. */
bool dnd_cache_blocks_next(const struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count,
			   struct dnd_cache_extent *extent);
/* From now on this record, the newest, has the newest bytes of the @count blocks from @first on. */
void dnd_cache_blocks_set(struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count, uint64_t sequence);
/* Of the @count blocks from @first on, forgets those whose newest bytes are in this record or in an older one. */
void dnd_cache_blocks_drop(struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count, uint64_t sequence);
/* Forgets the @count blocks from @first on. */
void dnd_cache_blocks_drop_range(struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count);

#endif /* DND_CACHE_BLOCKS_H */
