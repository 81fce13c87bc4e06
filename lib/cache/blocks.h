/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the newest bytes of each block of the drive are, for blocks that are in
 * the log: a hash table that never grows, since the log never does.
 */
#ifndef DND_CACHE_BLOCKS_H
#define DND_CACHE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dnd_cache_block {
	uint64_t number;	/* of the block on the drive */
	uint64_t sequence;	/* of the record that has it; 0: the place is free */
};

struct dnd_cache_blocks {
	struct dnd_cache_block *places;
	size_t mask;
	size_t used;
};

/* Room for @most blocks at once.  0 or -ENOMEM. */
int dnd_cache_blocks_init(struct dnd_cache_blocks *blocks, size_t most);
void dnd_cache_blocks_free(struct dnd_cache_blocks *blocks);
/* The record that has the block's newest bytes; 0: the drive has them. */
uint64_t dnd_cache_blocks_find(const struct dnd_cache_blocks *blocks, uint64_t number);
/* The newest bytes of the block are this record's from now on. */
void dnd_cache_blocks_set(struct dnd_cache_blocks *blocks, uint64_t number, uint64_t sequence);
/* Forgets the block if its newest bytes are no newer than this record's. */
void dnd_cache_blocks_drop(struct dnd_cache_blocks *blocks, uint64_t number, uint64_t sequence);
/* Forgets each block from @first on, @count of them. */
void dnd_cache_blocks_drop_range(struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count);

#endif /* DND_CACHE_BLOCKS_H */
