/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that cycle through a range: how many bytes a number of requests is, and back. */
#ifndef DONARD_TOOL_RDMA_PASS_H
#define DONARD_TOOL_RDMA_PASS_H

#include <stdint.h>

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
/* How many work requests may be under way, if @depth requests of @block bytes are in flight. */
uint32_t cli_rdma_depth(uint64_t block, uint32_t depth);

#endif /* DONARD_TOOL_RDMA_PASS_H */
