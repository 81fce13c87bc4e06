/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that RDMA reads and writes, as a user names it, and what becomes of it meanwhile. */
#ifndef DONARD_RDMA_TARGET_H
#define DONARD_RDMA_TARGET_H

#include "donard/rdma.h"
#include "memory/memory.h"

/* "p2pmem0", "p2pmem0+64M", "dram", "gpu:0". @length 0: to the end of a region; @dram_length of plain and GPU memory. */
int dnd_target_open(struct donard_context *ctx, const char *text, uint64_t length,
		    uint64_t dram_length, struct donard_memory **memory);
/* Somebody removes the region, or its device went. @memory NULL: there is none yet. */
bool dnd_target_gone(const struct donard_memory *memory);
int dnd_target_gone_text(struct donard_context *ctx, const struct donard_memory *memory);

/* Whether it keeps its bytes without power, once the barrier of its device has passed. */
bool dnd_target_persistent(const struct donard_memory *memory);
/*
 * settle.c: runs that barrier.  0 or -errno without a text: -EIO when its device was reset since the last time, -ENODEV.
 * Of DRAM there is nothing to do.
 *
 * That of persistent memory may take minutes, and @meanwhile_fn is called every 20 ms until it has passed.
 * What that returns other than 0 is returned, and the barrier is left alone: until it ends it has the memory, and it may
 * be the one that is told of a reset, as dnd_target_resets() tells all the same.
 */
int dnd_target_settle(const struct donard_memory *memory, int (*meanwhile_fn)(void *user), void *user);
/* How often its device was reset, as far as the kernel has noticed; costs one system call. */
uint64_t dnd_target_resets(const struct donard_memory *memory);
int dnd_target_reset_text(struct donard_context *ctx, const struct donard_memory *memory);

#endif /* DONARD_RDMA_TARGET_H */
