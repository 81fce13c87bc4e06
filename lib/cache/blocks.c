// SPDX-License-Identifier: Apache-2.0
/*
 * Linear probing; the table is at most half full.  Freeing a place moves back the entries
 * behind it that would not be found otherwise (Knuth, volume 3, 6.4, algorithm R).
 */
#include <errno.h>
#include <stdlib.h>

#include "cache/blocks.h"

/* The multiplication by the golden ratio in 64 bits spreads adjacent blocks (Knuth, 6.4). */
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

/* Does @at lie between the home of the entry at @from, and @from, possibly around the end? */
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
	/* A freed place may get another entry, so it is looked at again; no entry moves around the end twice. */
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
	/* Choose the way with fewer steps: one for each place, or one for each block number. */
	if (count > blocks->mask + 1) {
		drop_by_places(blocks, first, count);
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		dnd_cache_blocks_drop(blocks, first + i, UINT64_MAX);
}
