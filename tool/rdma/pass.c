// SPDX-License-Identifier: Apache-2.0
#include "rdma/pass.h"

#define PIECE_BYTES	(1ULL << 20)	/* the library sends more than that as several work requests */
#define MAX_PIECES	256		/* limit for these, unless the depth itself is larger */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t cli_rdma_blocks(const struct cli_rdma_pass *pass)
{
	return (pass->length + pass->block - 1) / pass->block;
}

uint64_t cli_rdma_bytes(const struct cli_rdma_pass *pass, uint64_t requests)
{
	uint64_t blocks = cli_rdma_blocks(pass);

	return requests / blocks * pass->length + least(requests % blocks * pass->block, pass->length);
}

uint64_t cli_rdma_requests(const struct cli_rdma_pass *pass, uint64_t bytes)
{
	return bytes / pass->length * cli_rdma_blocks(pass) + bytes % pass->length / pass->block;
}

uint64_t cli_rdma_round_bytes(uint64_t block, uint32_t depth)
{
	return block * least(depth, CLI_RDMA_DEFAULT_MAX / block);
}

uint32_t cli_rdma_depth(uint64_t block, uint32_t depth)
{
	uint64_t pieces = (block + PIECE_BYTES - 1) / PIECE_BYTES;

	return (uint32_t)least(depth * pieces, depth > MAX_PIECES ? depth : MAX_PIECES);
}
