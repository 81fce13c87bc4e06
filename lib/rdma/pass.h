/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass over a range, request by request, any number of rounds: where the next work
 * request goes, and how many requests the completed bytes are.  A request of more
 * than DND_PIECE_BYTES is split into several work requests, so that messages and
 * completions can come in between.  Work requests complete in order, so two counts
 * of bytes say how far a pass has come.  All of this is arithmetic.
 */
#ifndef DONARD_RDMA_PASS_H
#define DONARD_RDMA_PASS_H

#include "base/base.h"

#define DND_PIECE_BYTES	(1ULL << 20)

struct dnd_pass {
	uint64_t length;	/* bytes of the range */
	uint64_t block;		/* bytes of one request; the last of a round may be shorter */
	uint64_t posted, completed, total;	/* bytes since the beginning of the pass */
};

/* The part of the range that one work request moves. */
struct dnd_pass_piece {
	uint64_t at;
	uint32_t length;
};

/* How many requests a round has. */
uint64_t dnd_pass_blocks(const struct dnd_pass *pass);
/* How many bytes the first @requests have. */
uint64_t dnd_pass_bytes(const struct dnd_pass *pass, uint64_t requests);
/* How many whole requests the first @bytes are. */
uint64_t dnd_pass_requests(const struct dnd_pass *pass, uint64_t bytes);
/* How many work requests the first @bytes are; one of them ends at @bytes. */
uint64_t dnd_pass_pieces(const struct dnd_pass *pass, uint64_t bytes);
/* How many work requests may be under way, if @depth requests of @block bytes are in flight. */
uint32_t dnd_pass_slots(uint64_t block, uint32_t depth);
/* The work request that begins @position bytes after the beginning of the pass. */
struct dnd_pass_piece dnd_pass_piece(const struct dnd_pass *pass, uint64_t position);

#endif /* DONARD_RDMA_PASS_H */
