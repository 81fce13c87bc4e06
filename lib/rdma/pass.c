// SPDX-License-Identifier: Apache-2.0
/* See pass.h. */
#include "rdma/pass.h"

#define MAX_PIECES	256	/* limit for the pieces in flight, unless the depth itself is larger */

static uint64_t round_up_division(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit;
}

uint64_t dnd_pass_blocks(const struct dnd_pass *pass)
{
	return round_up_division(pass->length, pass->block);
}

uint64_t dnd_pass_bytes(const struct dnd_pass *pass, uint64_t requests)
{
	uint64_t blocks = dnd_pass_blocks(pass);

	return requests / blocks * pass->length +
	       dnd_min(requests % blocks * pass->block, pass->length);
}

uint64_t dnd_pass_requests(const struct dnd_pass *pass, uint64_t bytes)
{
	return bytes / pass->length * dnd_pass_blocks(pass) + bytes % pass->length / pass->block;
}

/* How many work requests a part of a round takes. */
static uint64_t pieces_within(const struct dnd_pass *pass, uint64_t bytes)
{
	return bytes / pass->block * round_up_division(pass->block, DND_PIECE_BYTES) +
	       round_up_division(bytes % pass->block, DND_PIECE_BYTES);
}

uint64_t dnd_pass_pieces(const struct dnd_pass *pass, uint64_t bytes)
{
	return bytes / pass->length * pieces_within(pass, pass->length) +
	       pieces_within(pass, bytes % pass->length);
}

uint32_t dnd_pass_slots(uint64_t block, uint32_t depth)
{
	uint64_t pieces = round_up_division(block, DND_PIECE_BYTES);

	return (uint32_t)dnd_min(depth * pieces, dnd_max(depth, MAX_PIECES));
}

struct dnd_pass_piece dnd_pass_piece(const struct dnd_pass *pass, uint64_t position)
{
	uint64_t at = position % pass->length;
	uint64_t rest = dnd_min(pass->block - at % pass->block, pass->length - at);

	return (struct dnd_pass_piece){ .at = at, .length = (uint32_t)dnd_min(rest, DND_PIECE_BYTES) };
}
