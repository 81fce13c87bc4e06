/* SPDX-License-Identifier: Apache-2.0 */
/* Maps numbers to pointers in a few instructions.  A zeroed map is empty; keys are not 0.  Takes no locks. */
#ifndef CUF_MAP_H
#define CUF_MAP_H

#include <stddef.h>
#include <stdint.h>

struct cuf_map_entry {
	uint64_t key;		/* 0: free */
	void *value;
};

struct cuf_map {
	struct cuf_map_entry *entries;
	size_t room;		/* 0, or a power of 2 */
	size_t count;
};

static inline size_t cuf_map_slot(const struct cuf_map *map, uint64_t key)
{
	return (size_t)((key * 0x9e3779b97f4a7c15ULL) >> 32) & (map->room - 1);
}

static inline void *cuf_map_get(const struct cuf_map *map, uint64_t key)
{
	if (!map->room)
		return NULL;
	for (size_t i = cuf_map_slot(map, key); map->entries[i].key; i = (i + 1) & (map->room - 1))
		if (map->entries[i].key == key)
			return map->entries[i].value;
	return NULL;
}

/* Returns 0 or -ENOMEM.  The key must be new. */
int cuf_map_put(struct cuf_map *map, uint64_t key, void *value);
/* Removes the key; returns its value, or NULL. */
void *cuf_map_take(struct cuf_map *map, uint64_t key);
void cuf_map_free(struct cuf_map *map);

#endif /* CUF_MAP_H */
