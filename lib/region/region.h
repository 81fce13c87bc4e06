/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the room region offers: open regions and windows mapped from them, the
 * routes to them, and how regions are named.  Lists of regions and of clients
 * are public (donard/donard.h).
 */
#ifndef DND_REGION_H
#define DND_REGION_H

#include "base/base.h"
#include "uapi/p2pmem.h"

struct dnd_region {
	char name[P2PMEM_NAME_BYTES];
	char bdf[DONARD_BDF_BYTES];
	int fd;
	struct p2pmem_info info;
};

/* A mapped part of an open region; data is what the caller asked for. */
struct dnd_window {
	uint8_t *map;
	size_t map_bytes;	/* 0: another window's */
	uint64_t file_offset;
	uint8_t *data;
};

int dnd_region_open(struct donard_context *ctx, const char *name, struct dnd_region *region);
/* The open file behind a copy of @fd, a region's; @region->name is set. */
int dnd_region_adopt(struct donard_context *ctx, int fd, struct dnd_region *region);
void dnd_region_close(struct dnd_region *region);
/* The region asks its holders to let go, or has ended.  Costs one system call. */
bool dnd_region_called_back(const struct dnd_region *region);
static inline bool dnd_region_persistent(const struct dnd_region *region)
{
	return region->info.flags & P2PMEM_REGION_PERSISTENT;
}

/* Own [offset, offset + length) of the region at its own place; -errno without a text. */
int dnd_region_try_claim(struct dnd_region *region, uint64_t offset, uint64_t length,
			 struct dnd_window *window);
/* The same, with a wait for spare blocks of copies that are in the way for a moment. */
int dnd_region_claim(struct donard_context *ctx, struct dnd_region *region, uint64_t offset,
		     uint64_t length, struct dnd_window *window);
/* Own any free memory of a volatile region, through a file that owns nothing yet. */
int dnd_region_scratch(struct donard_context *ctx, struct dnd_region *region, uint64_t length,
		       struct dnd_window *window);
/* Maps granules of the file; data begins @skip bytes behind them. */
int dnd_region_map(struct donard_context *ctx, struct dnd_region *region, uint64_t file_offset,
		   uint64_t length, uint64_t skip, struct dnd_window *window);
void dnd_window_unmap(struct dnd_window *window);
/* A descriptor of granules of the file as a dma-buf, or -errno; @access: O_RDWR or O_RDONLY. */
int dnd_region_export(const struct dnd_region *region, uint64_t file_offset, uint64_t length,
		      int access);
/* 0 or -errno without a text: -EIO when its device was reset since the last time, -ENODEV. */
int dnd_region_try_sync(const struct dnd_region *region, bool durable);
int dnd_region_sync(struct donard_context *ctx, const struct dnd_region *region, bool durable);
/* How often its device was reset, as far as the kernel has noticed.  Never waits, and does not look at the device. */
uint64_t dnd_region_resets(const struct dnd_region *region);
/* Was its device reset since the region was opened, or did it go away?  0, or the failure that says so. */
int dnd_region_check_resets(struct donard_context *ctx, const struct dnd_region *region);

/*
 * access.c: bytes of an open region, by address for devices and by its file for
 * the CPU; region NULL: in DRAM.  With a dma-buf, of which they are mapped, the CPU
 * takes that mapping and no file.
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
/* 0 or -errno: -ENODEV when the region goes away, -EIO when its device was reset. */
int dnd_place_load(const struct dnd_place *place, void *to, size_t bytes);
/* Devices see what was stored. */
int dnd_place_store(const struct dnd_place *place, const void *from, size_t bytes);
/* From region to region, by way of no DRAM; as memmove(). */
int dnd_place_move(const struct dnd_place *to, const struct dnd_place *from, uint64_t bytes);
/* 0 equal, 1 different with *where the first differing byte, or -errno. */
int dnd_place_compare(const struct dnd_place *place, const void *with, size_t bytes, size_t *where);
int dnd_region_access_failed(struct donard_context *ctx, const struct dnd_region *region,
			     int error_number);

/* Fails unless p2pmem is loaded. */
int dnd_require_module(struct donard_context *ctx);

/* route.c: the kernel's prediction; what the policy makes of it is public (donard_route_verdict()) */
int dnd_route_probe(struct donard_context *ctx, const struct dnd_region *region,
		    const char *client_bdf, struct donard_route *route);
/* 0 refused .. 4 best */
int dnd_route_rank(const struct donard_route *route);

/* spec.c: what SRC and DST may look like on a command line; pure text */
struct dnd_spec {
	bool is_region;
	bool is_gpu;
	char region[P2PMEM_NAME_BYTES];
	unsigned int gpu;	/* CUDA's number of it; INT_MAX if its address names it */
	char gpu_bdf[DONARD_BDF_BYTES];	/* that address, or "" */
	uint64_t offset_bytes;	/* the "+64M" of a region or GPU; else 0 */
	const char *path;	/* borrowed from the argument */
};

int dnd_spec_parse(struct donard_context *ctx, const char *text, struct dnd_spec *spec);
/* Where a path may stand: one without a slash is a mistyped region, which would become a file. */
int dnd_spec_check_path(struct donard_context *ctx, const struct dnd_spec *spec);
/* "p2pmem0" of "p2pmem0" or "/dev/p2pmem0", where a whole region is meant. */
int dnd_region_name(struct donard_context *ctx, const char *text, char name[P2PMEM_NAME_BYTES]);

#endif /* DND_REGION_H */
