// SPDX-License-Identifier: Apache-2.0
/* See flow.h. */
#include <stdlib.h>

#include "rdma/flow.h"

#define NOT_POSTED	UINT64_MAX

int dnd_flow_open(struct dnd_flow *flow, uint32_t slots)
{
	uint64_t room = 1;

	while (room < slots)
		room *= 2;
	memset(flow, 0, sizeof(*flow));
	flow->slots = slots;
	flow->mask = room - 1;
	flow->requests = calloc(room, sizeof(*flow->requests));
	flow->ends = calloc(room, sizeof(*flow->ends));
	return flow->requests && flow->ends ? 0 : -ENOMEM;
}

void dnd_flow_close(struct dnd_flow *flow)
{
	free(flow->requests);
	free(flow->ends);
	memset(flow, 0, sizeof(*flow));
}

void dnd_flow_add(struct dnd_flow *flow, const struct dnd_flow_request *request)
{
	struct dnd_flow_request *added = &flow->requests[flow->added++ & flow->mask];

	*added = *request;
	added->posted = 0;
	added->end = NOT_POSTED;
	flow->pieces_added += (request->length + DND_PIECE_BYTES - 1) / DND_PIECE_BYTES;
	flow->bytes_added += request->length;
}

uint64_t dnd_flow_next_length(const struct dnd_flow *flow)
{
	const struct dnd_flow_request *request = &flow->requests[flow->begun & flow->mask];

	return dnd_min(request->length - request->posted, DND_PIECE_BYTES);
}

struct dnd_flow_piece dnd_flow_next(struct dnd_flow *flow)
{
	struct dnd_flow_request *request = &flow->requests[flow->begun & flow->mask];
	const struct dnd_flow_piece piece = {
		.local = request->local + request->posted,
		.remote = request->remote + request->posted,
		.length = (uint32_t)dnd_flow_next_length(flow),
		.lkey = request->lkey,
		.reads = request->reads,
		.number = flow->pieces_posted + 1,
	};

	request->posted += piece.length;
	flow->bytes_posted += piece.length;
	flow->ends[flow->pieces_posted++ & flow->mask] = flow->bytes_posted;
	if (request->posted == request->length) {
		request->end = piece.number;
		flow->begun++;
	}
	return piece;
}

void dnd_flow_done(struct dnd_flow *flow, uint64_t number)
{
	flow->pieces_done = number;
	flow->bytes_done = flow->ends[(number - 1) & flow->mask];
	while (flow->finished < flow->begun && flow->requests[flow->finished & flow->mask].end <= number)
		flow->finished++;
}
