/* SPDX-License-Identifier: Apache-2.0 */
/* What the room memory offers: a range of a region, plain DRAM, or a dma-buf of somebody else, behind one handle. */
#ifndef DND_MEMORY_H
#define DND_MEMORY_H

#include "donard/memory.h"
#include "region/region.h"

struct donard_memory {
	struct dnd_handle handle;	/* its owner, and requests in flight */
	struct donard_context *ctx;
	struct dnd_region region;	/* an open file of its own; fd is -1 of no region */
	struct dnd_dmabuf dmabuf;	/* that it came as; then the region's file owns nothing.  fd is -1 of none */
	uint64_t dmabuf_offset;		/* in it, of the first byte */
	enum donard_memory_pages pages;
	char unmapped[DONARD_REASON_BYTES];
	struct dnd_window window;	/* its granules; data is NULL where the CPU has no mapping */
	uint64_t length;		/* from window.data on */
	void (*end)(void *data);	/* after it was unmapped and closed, or NULL */
	void *end_data;
};

static inline bool dnd_memory_is_region(const struct donard_memory *memory)
{
	return memory->region.fd >= 0;
}

static inline bool dnd_memory_is_imported(const struct donard_memory *memory)
{
	return memory->dmabuf.fd >= 0;
}

/* "p2pmem0", "dram", or "dma-buf of udmabuf" */
static inline const char *dnd_memory_name(const struct donard_memory *memory)
{
	return *memory->region.name ? memory->region.name : memory->dmabuf.name;
}

/* Of its first byte, in the open file; of what was imported, in the dma-buf. */
static inline uint64_t dnd_memory_file_offset(const struct donard_memory *memory)
{
	return memory->window.file_offset +
	       (uint64_t)(memory->window.data - memory->window.map);
}

/* The region whose file gives this memory to a ring; NULL: it owns none of it. */
static inline const struct dnd_region *dnd_memory_giver(const struct donard_memory *memory)
{
	return dnd_memory_is_region(memory) && !dnd_memory_is_imported(memory) ? &memory->region : NULL;
}

/* A byte of it, for devices and for the CPU. */
static inline struct dnd_place dnd_memory_place(const struct donard_memory *memory, uint64_t offset)
{
	struct dnd_place place = dnd_place_in(&memory->region, &memory->window, memory->window.data + offset);

	if (!dnd_memory_is_region(memory))
		place.region = NULL;
	if (dnd_memory_is_imported(memory))
		place.dmabuf = &memory->dmabuf;
	return place;
}

/* Fails unless the bytes lie in it. */
int dnd_memory_check_range(const struct donard_memory *memory, uint64_t offset, uint64_t length);

/* access.c: each fails with a text unless ... the CPU sees it; a drive's transfers reach it without a copy */
int dnd_memory_check_mapped(const struct donard_memory *memory);
int dnd_memory_check_direct(const struct donard_memory *memory, uint64_t offset, uint64_t length);
/* ... it may be written */
int dnd_memory_check_writable(const struct donard_memory *memory);
/* A byte range of the CPU's, which was checked; 0 or -errno without a text. */
int dnd_memory_load(const struct donard_memory *memory, uint64_t offset, void *to, size_t bytes);
int dnd_memory_access_failed(const struct donard_memory *memory, int error_number);

/* open.c: one without anything yet, or NULL with a text; and it is handed out, or freed after a failure. */
struct donard_memory *dnd_memory_new(struct donard_context *ctx, const char *name);
int dnd_memory_give(struct donard_memory *memory, int rc, struct donard_memory **out);
/*
 * Of a region, of which it has nothing yet: for who must know the region before it is known how much is wanted.  Then it
 * gets, once, the bytes at their place, or any that are free.
 */
int dnd_memory_open(struct donard_context *ctx, const char *region, struct donard_memory **out);
int dnd_memory_own(struct donard_memory *memory, uint64_t offset, uint64_t length);
int dnd_memory_own_any(struct donard_memory *memory, uint64_t length);

/* pages.c: what all pages of a range of this process have in common; UNKNOWN if nothing, or the kernel does not tell */
enum donard_memory_pages dnd_pages_behind(const void *address, uint64_t bytes);
/* A new mapping has page frames without struct pages. */
bool dnd_pages_are_frames(const struct dnd_window *window);

/* Where a byte of it lies in its region, and how many of it follow there without a gap. */
struct dnd_run {
	uint64_t region_offset, bytes;
};

/* info.c: -errno */
int dnd_memory_run(const struct donard_memory *memory, uint64_t offset, struct dnd_run *run);
/*
 * overlap.c: two ranges of memories of one region.  1: they share bytes, 0: they do not, or -errno with a text.  *shift: how
 * far the second lies behind the first; 0 where they are in pieces.
 */
int dnd_memory_overlap(const struct donard_memory *a, uint64_t a_offset, const struct donard_memory *b, uint64_t b_offset,
		       uint64_t length, int64_t *shift);

/* import.c: where in its region a place of an imported one lies; -errno */
int dnd_memory_locate(const struct donard_memory *memory, uint64_t offset, struct p2pmem_locate_dmabuf *place);

#endif /* DND_MEMORY_H */
