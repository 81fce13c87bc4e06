/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a client between the call that makes them and their completion.  A request of more than
 * DND_PIECE_BYTES is cut into pieces, each of which is one work request, so that messages and completions can come
 * in between.  A connection completes work requests in the order in which they were posted, so counts say how far it
 * has come, and only the last one of a chain has to report its completion.  All of this is arithmetic.
 */
#ifndef DONARD_RDMA_FLOW_H
#define DONARD_RDMA_FLOW_H

#include "base/base.h"

#define DND_PIECE_BYTES	(1ULL << 20)

struct dnd_flow_request {
	uint64_t local, remote;		/* addresses of its first byte */
	uint64_t length;
	uint64_t posted;		/* how many of its bytes are */
	uint64_t end;			/* the number of its last piece, once that is posted */
	uint32_t lkey;
	bool reads;
};

struct dnd_flow_piece {
	uint64_t local, remote;
	uint32_t length;
	uint32_t lkey;
	bool reads;
	uint64_t number;		/* counted from 1 */
};

struct dnd_flow {
	uint32_t slots;			/* how many work requests may be under way, and how many requests it holds */
	uint64_t mask;			/* of the index in both arrays */
	struct dnd_flow_request *requests;
	uint64_t *ends;			/* of each piece under way: how many bytes were posted up to its end */
	/* Numbers since the beginning. */
	uint64_t added, begun, finished;	/* requests: made, posted as a whole, completed */
	uint64_t pieces_added, pieces_posted, pieces_done;
	uint64_t bytes_added, bytes_posted, bytes_done;
};

int dnd_flow_open(struct dnd_flow *flow, uint32_t slots);
void dnd_flow_close(struct dnd_flow *flow);

static inline bool dnd_flow_is_full(const struct dnd_flow *flow)
{
	return flow->added - flow->finished >= flow->slots;
}

static inline bool dnd_flow_is_idle(const struct dnd_flow *flow)
{
	return flow->added == flow->finished;
}

/* The flow must not be full. */
void dnd_flow_add(struct dnd_flow *flow, const struct dnd_flow_request *request);
/* The next piece, which the caller posts; there must be one (pieces_added > pieces_posted). */
struct dnd_flow_piece dnd_flow_next(struct dnd_flow *flow);
/* How long that piece is. */
uint64_t dnd_flow_next_length(const struct dnd_flow *flow);
/* The piece with this number has completed, and so have all before it. */
void dnd_flow_done(struct dnd_flow *flow, uint64_t number);

#endif /* DONARD_RDMA_FLOW_H */
