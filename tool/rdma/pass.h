/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that cycle through a range: how many bytes a number of requests is, and back. */
#ifndef DONARD_TOOL_RDMA_PASS_H
#define DONARD_TOOL_RDMA_PASS_H

#include <stdint.h>

#define CLI_RDMA_BLOCK_MAX	(1ULL << 30)	/* a request of the library moves no more */
#define CLI_RDMA_DEFAULT_MAX	(1ULL << 30)	/* so many bytes are mapped and pinned, unless the user gives the length */

struct cli_rdma_pass {
	uint64_t length;	/* bytes of the range */
	uint64_t block;		/* bytes of one request; the last of a round may be shorter */
};

/* How many requests a round has. */
uint64_t cli_rdma_blocks(const struct cli_rdma_pass *pass);
/* How many bytes the first @requests have. */
uint64_t cli_rdma_bytes(const struct cli_rdma_pass *pass, uint64_t requests);
/* How many complete requests the first @bytes are. */
uint64_t cli_rdma_requests(const struct cli_rdma_pass *pass, uint64_t bytes);
/*
 * How long the range is that many requests cycle through by default: a block for each of @depth in flight, but only whole
 * blocks, and no more than CLI_RDMA_DEFAULT_MAX.  @block: 1 to CLI_RDMA_BLOCK_MAX.
 */
uint64_t cli_rdma_round_bytes(uint64_t block, uint32_t depth);
/* How many work requests may be under way, if @depth requests of @block bytes are in flight. */
uint32_t cli_rdma_depth(uint64_t block, uint32_t depth);

#endif /* DONARD_TOOL_RDMA_PASS_H */
