/* SPDX-License-Identifier: Apache-2.0 */
/* The NVRAM as the log sees it: donard's memory, or a simulated one that loses power. */
#ifndef DND_CACHE_STORE_H
#define DND_CACHE_STORE_H

#include <stddef.h>
#include <stdint.h>

struct dnd_cache_store {
	uint64_t length_bytes;
	/* Each returns 0 or a negative errno. */
	int (*read)(struct dnd_cache_store *store, uint64_t at, void *to, size_t length_bytes);
	/* Durable only after a barrier; until then any part of it, in pieces of 8 bytes. */
	int (*write)(struct dnd_cache_store *store, uint64_t at, const void *from,
		     size_t length_bytes);
	/* What was written before, by the CPU and by devices, is durable when it returns. */
	int (*barrier)(struct dnd_cache_store *store);
};

#endif /* DND_CACHE_STORE_H */
