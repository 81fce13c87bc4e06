/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test data that names its own place: each block of 4 KiB has a nonce made
 * of the seed and its number, each word of it the nonce and its own number.
 * Bytes that came late, twice, or to the wrong place do not compare equal.
 */
#ifndef DONARD_RDMA_PATTERN_H
#define DONARD_RDMA_PATTERN_H

#include "region/region.h"

/* Bytes [position, position + length) of the endless pattern of @seed. */
void dnd_pattern_make(uint8_t *to, uint64_t seed, uint64_t position, size_t length);

/*
 * The same in device memory or DRAM, in steps; after each @step_fn may end it
 * with a negative errno (NULL: never).  -ENODEV when the memory went away.
 */
typedef int (*dnd_step_fn)(void *user);
int dnd_pattern_fill(const struct dnd_place *memory, uint64_t seed, uint64_t position, uint64_t length,
		     dnd_step_fn step_fn, void *user);
/* 0 equal, 1 different with *where the first wrong byte, counted from memory. */
int dnd_pattern_check(const struct dnd_place *memory, uint64_t seed, uint64_t position, uint64_t length,
		      uint64_t *where, dnd_step_fn step_fn, void *user);

#endif /* DONARD_RDMA_PATTERN_H */
