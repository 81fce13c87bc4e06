/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a region as a store of the log. */
#ifndef DND_CACHE_NVRAM_H
#define DND_CACHE_NVRAM_H

#include <stdbool.h>

#include "cache/store.h"
#include "donard/memory.h"

struct dnd_cache_nvram {
	struct dnd_cache_store store;	/* first: the log gives it back */
	struct donard_memory *memory;	/* the caller's, for as long as the store is used */
	unsigned int sync_flags;
	uint64_t barriers;		/* asked for so far */
};

/*
 * The first @length_bytes of @memory.  Without @durable a barrier makes bytes reach the device, and
 * a power cut may still lose them: for volatile memory that the user has agreed to.
 */
void dnd_cache_nvram_init(struct dnd_cache_nvram *nvram, struct donard_memory *memory,
			  uint64_t length_bytes, bool durable);

#endif /* DND_CACHE_NVRAM_H */
