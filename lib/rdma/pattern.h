/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test data that depend on their place: each block of 4 KiB has a nonce made from
 * the seed and the number of the block, and each word in it is made from that nonce
 * and the number of the word.  Bytes of another pass or another place do not compare
 * equal.
 */
#ifndef DONARD_RDMA_PATTERN_H
#define DONARD_RDMA_PATTERN_H

#include "region/region.h"

/* Makes the bytes [position, position + length) of the endless pattern of @seed. */
void dnd_pattern_make(uint8_t *to, uint64_t seed, uint64_t position, size_t length);

/*
 * Writes them to device memory or DRAM, in steps.  After each step, @step_fn unless
 * NULL may end it with a negative errno.  Returns -ENODEV if the memory went away.
 */
typedef int (*dnd_step_fn)(void *user);
int dnd_pattern_fill(const struct dnd_place *memory, uint64_t seed, uint64_t position, uint64_t length,
		     dnd_step_fn step_fn, void *user);
/* Returns 0 if equal; 1 if different, and *where is the first wrong byte, counted from @memory; or -errno. */
int dnd_pattern_check(const struct dnd_place *memory, uint64_t seed, uint64_t position, uint64_t length,
		      uint64_t *where, dnd_step_fn step_fn, void *user);

#endif /* DONARD_RDMA_PATTERN_H */
