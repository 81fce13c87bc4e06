/* SPDX-License-Identifier: Apache-2.0 */
/* The NVRAM as the log sees it: memory of donard, or a simulation that loses power. */
#ifndef DND_CACHE_STORE_H
#define DND_CACHE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dnd_cache_store {
	uint64_t length_bytes;
	bool is_volatile;	/* a power cut, and a reset of its device, lose the bytes */
	/* Each returns 0 or a negative errno. */
	int (*read)(struct dnd_cache_store *store, uint64_t at, void *to, size_t length_bytes);
	/* The data are durable only after a barrier; before that, a power cut may leave any pieces of 8 bytes. */
	int (*write)(struct dnd_cache_store *store, uint64_t at, const void *from,
		     size_t length_bytes);
	/* When it returns 0, everything that the CPU and devices wrote before is durable. */
	int (*barrier)(struct dnd_cache_store *store);
};

#endif /* DND_CACHE_STORE_H */
