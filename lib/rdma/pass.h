/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass over a range, request by request, round and round: where the next work
 * request goes, and what the bytes that completed amount to.  A request of more
 * than DND_PIECE_BYTES is several work requests, so that messages and the news
 * of completions come in between.  Work requests complete in order: two counts
 * of bytes say how far a pass is.  Pure arithmetic.
 */
#ifndef DONARD_RDMA_PASS_H
#define DONARD_RDMA_PASS_H

#include "base/base.h"

#define DND_PIECE_BYTES	(1ULL << 20)

struct dnd_pass {
	uint64_t length;	/* of the range */
	uint64_t block;		/* of one request; the last of a round may be shorter */
	uint64_t posted, completed, total;	/* bytes from the beginning of the pass */
};

/* One work request, in the range. */
struct dnd_pass_piece {
	uint64_t at;
	uint32_t length;
};

/* Requests in one round. */
uint64_t dnd_pass_blocks(const struct dnd_pass *pass);
/* Bytes of the first @requests. */
uint64_t dnd_pass_bytes(const struct dnd_pass *pass, uint64_t requests);
/* Whole requests in the first @bytes. */
uint64_t dnd_pass_requests(const struct dnd_pass *pass, uint64_t bytes);
/* Work requests that the first @bytes take; @bytes is where one ends. */
uint64_t dnd_pass_pieces(const struct dnd_pass *pass, uint64_t bytes);
/* For the queue pair: work requests under way at most, with requests of @block bytes, @depth in flight. */
uint32_t dnd_pass_slots(uint64_t block, uint32_t depth);
struct dnd_pass_piece dnd_pass_piece(const struct dnd_pass *pass, uint64_t position);

#endif /* DONARD_RDMA_PASS_H */
