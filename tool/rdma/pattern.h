/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test data that depend on their place: each block of 4 KiB has a nonce made from
 * the seed and the number of the block, and each word in it is made from that nonce
 * and the number of the word.  Bytes of another pass or another place do not compare
 * equal.
 */
#ifndef DONARD_TOOL_RDMA_PATTERN_H
#define DONARD_TOOL_RDMA_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "donard/memory.h"

/* Which part of the endless pattern of @seed: it begins @position bytes behind its beginning. */
struct cli_rdma_pattern {
	uint64_t seed;
	uint64_t position;
};

/* Called after each step of some length; ends the work with a negative errno that has its text. */
typedef int (*cli_rdma_step_fn)(void *user);

void cli_rdma_pattern_make(uint8_t *to, struct cli_rdma_pattern pattern, size_t length);
/* Writes it to [offset, offset + length) of the memory.  Returns 0 or -errno with a text.  @step_fn may be NULL. */
int cli_rdma_pattern_fill(struct donard_memory *memory, uint64_t offset, struct cli_rdma_pattern pattern, uint64_t length,
			  cli_rdma_step_fn step_fn, void *user);
/* Returns 0 if equal; 1 if different, and *where is the first wrong byte, counted from @offset; or -errno with a text. */
int cli_rdma_pattern_check(struct donard_memory *memory, uint64_t offset, struct cli_rdma_pattern pattern, uint64_t length,
			   uint64_t *where, cli_rdma_step_fn step_fn, void *user);

#endif /* DONARD_TOOL_RDMA_PATTERN_H */
