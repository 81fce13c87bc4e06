/* SPDX-License-Identifier: Apache-2.0 */
/* One handle for memory of three kinds: a range of a region, plain DRAM, or a dma-buf of another exporter. */
#ifndef DND_MEMORY_H
#define DND_MEMORY_H

#include "donard/memory.h"
#include "region/region.h"

#define DND_KERNEL_ENOTSUPP	524	/* internal to the kernel, but NVIDIA's driver returns it to programs */

struct donard_memory {
	struct dnd_handle handle;	/* held by its owner, and by requests in flight */
	unsigned int attachments;	/* how many of the holders are attachments of queues (queue/attach.c) */
	struct donard_context *ctx;
	struct dnd_region region;	/* an open file of its own; fd -1: not of a region */
	struct dnd_dmabuf dmabuf;	/* as which it was imported; then the region's file owns nothing.  fd -1: it was not */
	uint64_t dmabuf_offset;		/* of the first byte in the dma-buf */
	enum donard_memory_pages pages;
	char unmapped[DONARD_REASON_BYTES];
	struct dnd_window window;	/* maps its granules; data is NULL if the CPU has no mapping */
	uint64_t length;		/* from window.data on */
	uint64_t resets;		/* how many resets of the region's device a barrier of this memory has reported */
	void (*end)(void *data);	/* called after the memory was unmapped and closed; or NULL */
	void *end_data;
	/*
	 * Shows the device what others wrote, if it does not see that by itself.  Returns 0, or fails with a text.  NULL: not
	 * needed
	 */
	int (*flush)(const struct donard_memory *memory);
};

/* How many holders it has that are no attachments.  Those drop their hold when nobody else has one. */
static inline unsigned int dnd_memory_users(const struct donard_memory *memory)
{
	unsigned int attachments = __atomic_load_n(&memory->attachments, __ATOMIC_ACQUIRE);

	return dnd_handle_holders(&memory->handle) - attachments;
}

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

/* The offset of its first byte in the open file, or in the dma-buf if it was imported. */
static inline uint64_t dnd_memory_file_offset(const struct donard_memory *memory)
{
	return memory->window.file_offset +
	       (uint64_t)(memory->window.data - memory->window.map);
}

/* The region whose open file owns this memory, and can register it with a ring; NULL: there is none. */
static inline const struct dnd_region *dnd_memory_giver(const struct donard_memory *memory)
{
	return dnd_memory_is_region(memory) && !dnd_memory_is_imported(memory) ? &memory->region : NULL;
}

/* The address of the byte at @offset, as far as alignment is concerned; without a mapping, its offset in the dma-buf. */
static inline uintptr_t dnd_memory_address(const struct donard_memory *memory, uint64_t offset)
{
	return (memory->window.data ? (uintptr_t)memory->window.data : (uintptr_t)memory->dmabuf_offset) + offset;
}

/* Where the byte at @offset lies, for devices and for the CPU. */
static inline struct dnd_place dnd_memory_place(const struct donard_memory *memory, uint64_t offset)
{
	struct dnd_place place = dnd_place_in(&memory->region, &memory->window, memory->window.data + offset);

	if (!dnd_memory_is_region(memory))
		place.region = NULL;
	if (dnd_memory_is_imported(memory))
		place.dmabuf = &memory->dmabuf;
	return place;
}

static inline int dnd_memory_flush(const struct donard_memory *memory)
{
	return memory->flush ? memory->flush(memory) : 0;
}

/* Fails unless the range lies in the memory. */
int dnd_memory_check_range(const struct donard_memory *memory, uint64_t offset, uint64_t length);

/* access.c: fails with a text unless the CPU has a mapping */
int dnd_memory_check_mapped(const struct donard_memory *memory);
/* Fails with a text unless a drive's transfers reach the range without a copy. */
int dnd_memory_check_direct(const struct donard_memory *memory, uint64_t offset, uint64_t length);
/* Fails with a text unless the memory may be written. */
int dnd_memory_check_writable(const struct donard_memory *memory);
/* The CPU reads a range that the caller has checked.  Returns 0 or -errno without a text. */
int dnd_memory_load(const struct donard_memory *memory, uint64_t offset, void *to, size_t bytes);
int dnd_memory_access_failed(const struct donard_memory *memory, int error_number);
/*
 * After a transfer failed with EFAULT: was any page of the range taken back, by its exporter or by a GPU's driver?  Returns the
 * errno that dnd_memory_access_failed() takes, or 0 if not, and also if the region is going away.
 */
int dnd_memory_taken_back(const struct donard_memory *memory, uint64_t offset, uint64_t length);
/*
 * Runs the barrier of memory of a region, and its flush.  Reports each reset once to this memory, even if another memory with
 * the same open file was told of it.
 */
int dnd_memory_barrier(struct donard_memory *memory, bool durable);

/* open.c: an empty handle, or NULL with a text */
struct donard_memory *dnd_memory_new(struct donard_context *ctx, const char *name);
/* Sets *out to @memory if @rc is 0, else frees it.  Returns @rc. */
int dnd_memory_give(struct donard_memory *memory, int rc, struct donard_memory **out);
/* Drops a hold; the last one frees the memory, which may be NULL.  donard_memory_free() drops the program's own. */
void dnd_memory_put(struct donard_memory *memory);
/*
 * Opens a region without claiming any of it, for a caller that must know the region before it knows how much it wants.
 * Then the caller claims once: the bytes at an offset, or any bytes that are free.
 */
int dnd_memory_open(struct donard_context *ctx, const char *region, struct donard_memory **out);
/* Does nothing if the memory has its bytes already, whoever claimed them. */
int dnd_memory_own(struct donard_memory *memory, uint64_t offset, uint64_t length);
/* Does the same at once, or fails with -errno and without a text; then it may be called again. */
int dnd_memory_try_own(struct donard_memory *memory, uint64_t offset, uint64_t length);
int dnd_memory_own_any(struct donard_memory *memory, uint64_t length);

/*
 * own.c: does the same for two memories, whose ranges may lie in one region and share bytes.  If they share a granule or a
 * folio, which has one owner, both become memory of one open file.
 */
int dnd_memory_own_two(struct donard_memory *a, uint64_t a_offset, struct donard_memory *b, uint64_t b_offset, uint64_t length);

/* pages.c: the kind of the pages behind a range of this process; UNKNOWN if they differ, or the kernel does not tell */
enum donard_memory_pages dnd_pages_behind(const void *address, uint64_t bytes);
/* Returns the name of a call that this process may not make, so that the pages behind its mappings stay unknown; NULL: none. */
const char *dnd_pages_forbidden_call(void);
/* Does a new mapping have page frames without struct pages? */
bool dnd_pages_are_frames(const struct dnd_window *window);

/*
 * mapped.c: is the byte mapped from the node of a region, or from a dma-buf?  Returns 1 or 0, also 0 if there is no /proc; -errno
 * without a text for want of descriptors or memory.
 */
int dnd_mapping_is_of_device(const struct donard_context *ctx, const void *address);

/* Where a byte lies in its region, and how many bytes of the memory lie there without a gap. */
struct dnd_run {
	uint64_t region_offset, bytes;
};

/* info.c: 0 or -errno without a text */
int dnd_memory_run(const struct donard_memory *memory, uint64_t offset, struct dnd_run *run);
/*
 * overlap.c: do two ranges of memories of one region share bytes?  Returns 1, 0, or -errno with a text.  *shift is how
 * far the second lies behind the first; 0 if one of them is in pieces.
 */
int dnd_memory_overlap(const struct donard_memory *a, uint64_t a_offset, const struct donard_memory *b, uint64_t b_offset,
		       uint64_t length, int64_t *shift);

/* import.c: where in its region a byte of an imported memory lies; 0 or -errno without a text */
int dnd_memory_locate(const struct donard_memory *memory, uint64_t offset, struct p2pmem_locate_dmabuf *place);

#endif /* DND_MEMORY_H */
