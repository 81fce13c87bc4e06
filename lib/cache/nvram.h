/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a region as the store of a log. */
#ifndef DND_CACHE_NVRAM_H
#define DND_CACHE_NVRAM_H

#include <stdbool.h>

#include "cache/store.h"
#include "donard/memory.h"

struct dnd_cache_nvram {
	struct dnd_cache_store store;	/* first, so that the log's pointer to it is one to this */
	struct donard_memory *memory;	/* belongs to the caller, and outlives the store */
	uint64_t barriers;		/* how many were asked for so far */
};

/*
 * Uses the first @length_bytes of @memory.  If not @durable, a barrier only makes bytes reach the device,
 * and a power cut may still lose them; this is for volatile memory that the user has agreed to.
 */
void dnd_cache_nvram_init(struct dnd_cache_nvram *nvram, struct donard_memory *memory,
			  uint64_t length_bytes, bool durable);

#endif /* DND_CACHE_NVRAM_H */
