// SPDX-License-Identifier: Apache-2.0
/* See map.h: open addressing, at most half full. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cufile/map.h"

#define LEAST_ROOM	16

static void insert(struct cuf_map *map, uint64_t key, void *value)
{
	size_t i = cuf_map_slot(map, key);

	while (map->entries[i].key)
		i = (i + 1) & (map->room - 1);
	map->entries[i] = (struct cuf_map_entry){ key, value };
	map->count++;
}

static int grow(struct cuf_map *map)
{
	struct cuf_map larger = { .room = map->room ? 2 * map->room : LEAST_ROOM };

	larger.entries = calloc(larger.room, sizeof(*larger.entries));
	if (!larger.entries)
		return -ENOMEM;
	for (size_t i = 0; i < map->room; i++)
		if (map->entries[i].key)
			insert(&larger, map->entries[i].key, map->entries[i].value);
	free(map->entries);
	*map = larger;
	return 0;
}

int cuf_map_put(struct cuf_map *map, uint64_t key, void *value)
{
	int rc = 2 * (map->count + 1) > map->room ? grow(map) : 0;

	if (!rc)
		insert(map, key, value);
	return rc;
}

/* Inserts the entries behind the gap again, so that no search ends early at it. */
static void close_gap(struct cuf_map *map, size_t gap)
{
	for (size_t i = (gap + 1) & (map->room - 1); map->entries[i].key; i = (i + 1) & (map->room - 1)) {
		struct cuf_map_entry moved = map->entries[i];

		map->entries[i] = (struct cuf_map_entry){ 0 };
		map->count--;
		insert(map, moved.key, moved.value);
	}
}

void *cuf_map_take(struct cuf_map *map, uint64_t key)
{
	size_t i;
	void *value;

	if (!map->room)
		return NULL;
	for (i = cuf_map_slot(map, key); map->entries[i].key != key; i = (i + 1) & (map->room - 1))
		if (!map->entries[i].key)
			return NULL;
	value = map->entries[i].value;
	map->entries[i] = (struct cuf_map_entry){ 0 };
	map->count--;
	close_gap(map, i);
	return value;
}

void cuf_map_free(struct cuf_map *map)
{
	free(map->entries);
	memset(map, 0, sizeof(*map));
}
