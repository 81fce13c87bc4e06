/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that RDMA reads and writes: notices its removal and resets, and runs its device's barrier. */
#ifndef DONARD_RDMA_TARGET_H
#define DONARD_RDMA_TARGET_H

#include "donard/rdma.h"
#include "memory/memory.h"

/* The name that peers get, one word: "p2pmem0", "dram", or "dma-buf" for a dma-buf of another exporter. */
const char *dnd_target_name(const struct donard_memory *memory);

/* Returns true if the region is being removed, or its device is gone.  @memory may be NULL. */
bool dnd_target_gone(const struct donard_memory *memory);
int dnd_target_gone_text(struct donard_context *ctx, const struct donard_memory *memory);

/* Does the memory keep its bytes without power, once the barrier of its device has passed? */
bool dnd_target_persistent(const struct donard_memory *memory);
/*
 * settle.c: runs the same barrier as donard_memory_sync(), which will still report a reset to the program.  Returns 0 or
 * -errno, with the text still to be made: -EIO if the device was reset since the last barrier, -ENODEV if the region goes away,
 * -EREMOTEIO if a GPU cannot be shown what was written.  For a dma-buf of another exporter, that exporter's errors are returned.
 *
 * The barrier of persistent memory may take minutes, and an exporter may wait for devices; meanwhile @meanwhile_fn is called
 * every 20 ms.  If that returns other than 0, this returns the same and abandons the barrier.  An abandoned barrier holds the
 * memory until it ends, and may consume the -EIO of a reset; dnd_target_resets() still counts that reset.
 */
int dnd_target_settle(const struct donard_memory *memory, int (*meanwhile_fn)(void *user), void *user);
/* How often the device was reset, as far as the kernel has noticed.  Costs one system call. */
uint64_t dnd_target_resets(const struct donard_memory *memory);
int dnd_target_reset_text(const struct donard_memory *memory);

#endif /* DONARD_RDMA_TARGET_H */
