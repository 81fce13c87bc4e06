// SPDX-License-Identifier: Apache-2.0
/*
 * Linear probing, at most half full.  A place is freed by moving back those
 * behind it that would not be found otherwise (Knuth, volume 3, 6.4, algorithm R).
 */
#include <errno.h>
#include <stdlib.h>

#include "cache/blocks.h"

/* Blocks that follow each other are to be spread: the golden ratio in 64 bits (Knuth, 6.4). */
static size_t home(const struct dnd_cache_blocks *blocks, uint64_t number)
{
	return (size_t)((number * 0x9e3779b97f4a7c15U) >> 20) & blocks->mask;
}

static size_t place_of(const struct dnd_cache_blocks *blocks, uint64_t number)
{
	size_t at = home(blocks, number);

	while (blocks->places[at].sequence && blocks->places[at].number != number)
		at = (at + 1) & blocks->mask;
	return at;
}

int dnd_cache_blocks_init(struct dnd_cache_blocks *blocks, size_t most)
{
	size_t size = 16;

	while (size < 2 * most)
		size *= 2;
	blocks->mask = size - 1;
	blocks->used = 0;
	blocks->places = calloc(size, sizeof(*blocks->places));
	return blocks->places ? 0 : -ENOMEM;
}

void dnd_cache_blocks_free(struct dnd_cache_blocks *blocks)
{
	free(blocks->places);
	blocks->places = NULL;
}

uint64_t dnd_cache_blocks_find(const struct dnd_cache_blocks *blocks, uint64_t number)
{
	return blocks->places[place_of(blocks, number)].sequence;
}

void dnd_cache_blocks_set(struct dnd_cache_blocks *blocks, uint64_t number, uint64_t sequence)
{
	struct dnd_cache_block *place = &blocks->places[place_of(blocks, number)];

	blocks->used += !place->sequence;
	*place = (struct dnd_cache_block){ .number = number, .sequence = sequence };
}

/* Is @at between the home of what lies at @from, and @from, around the end? */
static bool reachable(const struct dnd_cache_blocks *blocks, size_t at, size_t from)
{
	size_t start = home(blocks, blocks->places[from].number);

	return ((from - start) & blocks->mask) >= ((from - at) & blocks->mask);
}

static void free_place(struct dnd_cache_blocks *blocks, size_t at)
{
	size_t from = at;

	blocks->used--;
	for (;;) {
		blocks->places[at].sequence = 0;
		do {
			from = (from + 1) & blocks->mask;
			if (!blocks->places[from].sequence)
				return;
		} while (!reachable(blocks, at, from));
		blocks->places[at] = blocks->places[from];
		at = from;
	}
}

void dnd_cache_blocks_drop(struct dnd_cache_blocks *blocks, uint64_t number, uint64_t sequence)
{
	size_t at = place_of(blocks, number);

	if (blocks->places[at].sequence && blocks->places[at].sequence <= sequence)
		free_place(blocks, at);
}

static void drop_by_places(struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count)
{
	/* What is moved back comes to the same place, which is looked at again; none moves round the end twice. */
	for (size_t left = blocks->mask + 1, at = 0; left; ) {
		const struct dnd_cache_block *place = &blocks->places[at];

		if (place->sequence && place->number - first < count) {
			free_place(blocks, at);
			continue;
		}
		at = (at + 1) & blocks->mask;
		left--;
	}
}

void dnd_cache_blocks_drop_range(struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count)
{
	if (!blocks->used)
		return;
	/* Either way costs as many steps as it looks at places or at numbers. */
	if (count > blocks->mask + 1) {
		drop_by_places(blocks, first, count);
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		dnd_cache_blocks_drop(blocks, first + i, UINT64_MAX);
}
