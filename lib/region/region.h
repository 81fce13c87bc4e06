/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What region offers to the rest of the library: open regions and windows mapped
 * from them, the routes to them, and how regions are named.  The lists of regions
 * and of clients are public (donard/donard.h).
 */
#ifndef DND_REGION_H
#define DND_REGION_H

#include <sys/stat.h>

#include "base/base.h"
#include "uapi/p2pmem.h"

struct dnd_region {
	char name[P2PMEM_NAME_BYTES];
	char bdf[DONARD_BDF_BYTES];
	int fd;
	struct p2pmem_info info;
};

/* A mapped part of an open region. */
struct dnd_window {
	uint8_t *map;
	size_t map_bytes;	/* 0: the mapping belongs to another window */
	uint64_t file_offset;
	uint8_t *data;		/* the first byte that the caller asked for */
};

/* Finds the region's name, as "p2pmem0", by its node, whatever that is called; false if the file is no node of a region. */
bool dnd_region_of_node(const struct donard_context *ctx, const struct stat *file, char name[P2PMEM_NAME_BYTES]);
int dnd_region_open(struct donard_context *ctx, const char *name, struct dnd_region *region);
/* Uses the open file of @fd by a duplicate of it.  The caller has set @region->name. */
int dnd_region_adopt(struct donard_context *ctx, int fd, struct dnd_region *region);
/* Updates @region->info: how often the region was reset, how much of it is free. */
int dnd_region_ask_again(struct donard_context *ctx, struct dnd_region *region);
void dnd_region_close(struct dnd_region *region);
/* Returns true if the region asks its holders to let go, or has ended.  Costs one system call. */
bool dnd_region_called_back(const struct dnd_region *region);
/*
 * After ENODEV of a dma-buf: true if the region is still there, and the GPU's driver took the memory back because the program
 * freed it.
 */
bool dnd_region_lost_memory(const struct dnd_region *region);
/* May the GPU's driver take memory of the region back while somebody holds it?  Then nobody may pin it for good. */
bool dnd_region_may_revoke(const struct dnd_region *region);
/* The words for that; the name of the object goes in front of them. */
#define DND_REGION_LOST_MEMORY "its memory was freed (cuMemFree(), or the end of the process that allocated it), and the GPU's driver " \
			       "took it back"
/* Says why no region can be added for a GPU that CUDA has, and the remedy; "" if one can. */
void dnd_region_gpu_obstacle(const struct donard_context *ctx, const char *bdf, char *text, size_t text_bytes);
static inline bool dnd_region_persistent(const struct dnd_region *region)
{
	return region->info.flags & P2PMEM_REGION_PERSISTENT;
}

/*
 * Owns and maps [offset, offset + length) of the region; the offsets in the file are those in the region.  Returns 0
 * or -errno without a text.
 */
int dnd_region_try_claim(struct dnd_region *region, uint64_t offset, uint64_t length,
			 struct dnd_window *window);
/* Does the same, and waits if spare blocks of a copy, which last only a moment, may be in the way. */
int dnd_region_claim(struct donard_context *ctx, struct dnd_region *region, uint64_t offset,
		     uint64_t length, struct dnd_window *window);
/* Owns and maps any free memory of a volatile region, through a file that owns nothing yet. */
int dnd_region_scratch(struct donard_context *ctx, struct dnd_region *region, uint64_t length,
		       struct dnd_window *window);
/* Maps granules of the file; window->data begins @skip bytes after the start of the mapping. */
int dnd_region_map(struct donard_context *ctx, struct dnd_region *region, uint64_t file_offset,
		   uint64_t length, uint64_t skip, struct dnd_window *window);
void dnd_window_unmap(struct dnd_window *window);
/* Exports granules of the file as a dma-buf.  @access: O_RDWR or O_RDONLY.  Returns a descriptor or -errno. */
int dnd_region_export(const struct dnd_region *region, uint64_t file_offset, uint64_t length,
		      int access);
/*
 * Runs the barrier.  Returns 0 or -errno without a text: -EIO if the device was reset since the last barrier, -ENODEV
 * if the region goes away.
 */
int dnd_region_try_sync(const struct dnd_region *region, bool durable);
int dnd_region_sync(struct donard_context *ctx, const struct dnd_region *region, bool durable);
/* How often the device was reset, as far as the kernel has noticed.  Never waits, and does not access the device. */
uint64_t dnd_region_resets(const struct dnd_region *region);
/* Fails with a text if the device was reset since the region was opened, or has gone away; else returns 0. */
int dnd_region_check_resets(struct donard_context *ctx, const struct dnd_region *region);

/*
 * access.c: a place in an open region.  Devices use its address; the CPU reads and
 * writes it through the file, or, if there is a dma-buf, through its mapping.  If
 * region and dmabuf are NULL, the place is in DRAM.
 */
struct dnd_place {
	const struct dnd_region *region;
	const struct dnd_dmabuf *dmabuf;
	uint8_t *address;
	uint64_t file_offset;
};

struct dnd_place dnd_place_in(const struct dnd_region *region, const struct dnd_window *window,
			      uint8_t *address);
struct dnd_place dnd_place_behind(const struct dnd_place *place, uint64_t bytes);
/* Returns 0 or -errno: -ENODEV if the region goes away, -EIO if its device was reset. */
int dnd_place_load(const struct dnd_place *place, void *to, size_t bytes);
/* Does the same; afterwards devices see what was stored. */
int dnd_place_store(const struct dnd_place *place, const void *from, size_t bytes);
int dnd_place_zero(const struct dnd_place *place, uint64_t bytes);
/* Moves bytes between regions without a detour through DRAM; the ranges may overlap, as in memmove(). */
int dnd_place_move(const struct dnd_place *to, const struct dnd_place *from, uint64_t bytes);
/* Returns 0 if equal; 1 if different, and *where is the first differing byte; or -errno. */
int dnd_place_compare(const struct dnd_place *place, const void *with, size_t bytes, size_t *where);
int dnd_region_access_failed(struct donard_context *ctx, const struct dnd_region *region,
			     int error_number);
/* Describes the failure of such an access, to a place of the region or of a dma-buf of it. */
int dnd_place_failed(struct donard_context *ctx, const struct dnd_place *place, const struct dnd_region *region,
		     int error_number);

/* Fails unless p2pmem is loaded. */
int dnd_require_module(struct donard_context *ctx);

/* route.c: asks for the kernel's prediction.  The verdict on it is public (donard_route_verdict()). */
int dnd_route_probe(struct donard_context *ctx, const struct dnd_region *region,
		    const char *client_bdf, struct donard_route *route);
/* What to do about a route that is refused: a sentence without its full stop. */
const char *dnd_route_remedy(const struct donard_route *route);
/* Rates a route: 0 is refused, 4 is the best. */
int dnd_route_rank(const struct donard_route *route);

/*
 * page_type.c: what to do about a region whose pages are of type p2pdma: sentences, the last one without its full stop.  Some
 * regions cannot have pages of another type; the remedy then says what else to do.
 */
#define DND_GENERIC_REMEDY_BYTES	128
const char *dnd_region_generic_remedy(const struct donard_context *ctx, const struct dnd_region *region,
				      char text[DND_GENERIC_REMEDY_BYTES]);

/* spec.c: parses the name of an end of a copy; it looks only at the text */
struct dnd_spec {
	bool is_region;
	bool is_gpu;
	char region[P2PMEM_NAME_BYTES];
	unsigned int gpu;	/* CUDA's number; INT_MAX if the text has its PCI address instead */
	char gpu_bdf[DONARD_BDF_BYTES];	/* that address, or "" */
	const char *path;	/* points into the argument */
};

int dnd_spec_parse(struct donard_context *ctx, const char *text, struct dnd_spec *spec);
/* Fails if the text is the name of a link below /dev/p2pmem: it was not taken for a region, so the link is not there. */
int dnd_spec_check_link(struct donard_context *ctx, const char *text);
/* Refuses a path without a slash: it is probably a mistyped region, and would be created as a file. */
int dnd_spec_check_path(struct donard_context *ctx, const struct dnd_spec *spec);
/* Takes the name of a whole region, "p2pmem0", "/dev/p2pmem0" or a link below /dev/p2pmem; @name becomes "p2pmem0". */
int dnd_region_name(struct donard_context *ctx, const char *text, char name[P2PMEM_NAME_BYTES]);
/* list.c: donard_region_find(), but finds out only these parts. */
int dnd_region_find(struct donard_context *ctx, const char *name, unsigned int parts, struct donard_region_list **list);
/* list.c: is a region of this address in quarantine?  A new card in the slot may have the same memory addresses. */
bool dnd_region_quarantined_of(struct donard_context *ctx, const char *bdf, char name[P2PMEM_NAME_BYTES]);

#endif /* DND_REGION_H */
