/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which record has the newest bytes of each block that is in the log: a hash table
 * that never grows, because the log never does.
 */
#ifndef DND_CACHE_BLOCKS_H
#define DND_CACHE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dnd_cache_block {
	uint64_t number;	/* of the block on the drive */
	uint64_t sequence;	/* of the record that has its newest bytes; 0: the place is free */
};

struct dnd_cache_blocks {
	struct dnd_cache_block *places;
	size_t mask;
	size_t used;
};

/* Makes room for @most blocks at once.  Returns 0 or -ENOMEM. */
int dnd_cache_blocks_init(struct dnd_cache_blocks *blocks, size_t most);
void dnd_cache_blocks_free(struct dnd_cache_blocks *blocks);
/* Returns the sequence of the record that has the block's newest bytes; 0: the drive has them. */
uint64_t dnd_cache_blocks_find(const struct dnd_cache_blocks *blocks, uint64_t number);
/* From now on this record has the newest bytes of the block. */
void dnd_cache_blocks_set(struct dnd_cache_blocks *blocks, uint64_t number, uint64_t sequence);
/* Forgets the block, unless a newer record than this one has its newest bytes. */
void dnd_cache_blocks_drop(struct dnd_cache_blocks *blocks, uint64_t number, uint64_t sequence);
/* Forgets the @count blocks from @first on. */
void dnd_cache_blocks_drop_range(struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count);

#endif /* DND_CACHE_BLOCKS_H */
