// SPDX-License-Identifier: Apache-2.0
/* The memory of a region as a store; its barrier is that of the device. */
#include "cache/nvram.h"

static struct dnd_cache_nvram *nvram_of(struct dnd_cache_store *store)
{
	return (struct dnd_cache_nvram *)store;
}

static int nvram_read(struct dnd_cache_store *store, uint64_t at, void *to, size_t length_bytes)
{
	return donard_memory_read(nvram_of(store)->memory, at, to, length_bytes);
}

static int nvram_write(struct dnd_cache_store *store, uint64_t at, const void *from,
		       size_t length_bytes)
{
	return donard_memory_write(nvram_of(store)->memory, at, from, length_bytes);
}

static int nvram_barrier(struct dnd_cache_store *store)
{
	struct dnd_cache_nvram *nvram = nvram_of(store);

	nvram->barriers++;
	return donard_memory_sync(nvram->memory, store->is_volatile ? 0 : DONARD_SYNC_DURABLE);
}

void dnd_cache_nvram_init(struct dnd_cache_nvram *nvram, struct donard_memory *memory,
			  uint64_t length_bytes, bool durable)
{
	*nvram = (struct dnd_cache_nvram){
		.store = { .length_bytes = length_bytes, .is_volatile = !durable, .read = nvram_read, .write = nvram_write,
			   .barrier = nvram_barrier },
		.memory = memory,
	};
}
