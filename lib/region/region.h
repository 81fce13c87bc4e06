/* SPDX-License-Identifier: Apache-2.0 */
/* An open region: the node, its INFO, and windows mapped from it. */
#ifndef DONARD_REGION_H
#define DONARD_REGION_H

#include "base/base.h"

struct dnd_region {
	char name[P2PMEM_NAME_BYTES];
	char bdf[DONARD_BDF_BYTES];
	int fd;
	struct p2pmem_info info;
};

/* A mapped part of an open region; data is what the caller asked for. */
struct dnd_window {
	uint8_t *map;
	size_t map_bytes;
	uint64_t file_offset;
	uint8_t *data;
};

int dnd_region_open(struct donard_context *ctx, const char *name, struct dnd_region *region);
void dnd_region_close(struct dnd_region *region);
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
void dnd_window_unmap(struct dnd_window *window);
/* Fails because the region @name does not exist, or is about not to. */
int dnd_region_missing(struct donard_context *ctx, const char *name);
/* A descriptor of the window as a dma-buf, or -errno. */
int dnd_region_export(const struct dnd_region *region, const struct dnd_window *window);
int dnd_region_sync(struct donard_context *ctx, const struct dnd_region *region, bool durable);
/* "; held by fio (pid 12), app (pid 13, device 0000:01:00.0)" or "" */
void dnd_region_holders_text(struct donard_context *ctx, const char *name, char *text,
			     size_t text_bytes);

/* An open file owns as little as spare blocks of a copy are. */
bool dnd_region_has_small_holder(struct donard_context *ctx, const char *name);

/* "rxe0 and mlx5_0": RDMA devices on which that process has registered memory, or "" */
void dnd_rdma_devices_of(int pid, char *text, size_t text_bytes);

int dnd_require_module(struct donard_context *ctx);

#endif /* DONARD_REGION_H */
