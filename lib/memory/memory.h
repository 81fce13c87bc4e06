/* SPDX-License-Identifier: Apache-2.0 */
/* What the room memory offers: a range of a region, or plain DRAM, behind one handle. */
#ifndef DND_MEMORY_H
#define DND_MEMORY_H

#include "donard/memory.h"
#include "region/region.h"

struct donard_memory {
	struct donard_context *ctx;
	struct dnd_region region;	/* an open file of its own; fd is -1 of DRAM */
	struct dnd_window window;	/* its granules */
	uint64_t length;		/* from window.data on */
};

static inline bool dnd_memory_is_region(const struct donard_memory *memory)
{
	return memory->region.fd >= 0;
}

/* "p2pmem0", or "dram" */
static inline const char *dnd_memory_name(const struct donard_memory *memory)
{
	return memory->region.name;
}

/* Of its first byte, in the open file. */
static inline uint64_t dnd_memory_file_offset(const struct donard_memory *memory)
{
	return memory->window.file_offset +
	       (uint64_t)(memory->window.data - memory->window.map);
}

/* Fails unless the bytes lie in it. */
int dnd_memory_check_range(const struct donard_memory *memory, uint64_t offset, uint64_t length);

#endif /* DND_MEMORY_H */
