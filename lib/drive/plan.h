/* SPDX-License-Identifier: Apache-2.0 */
/* Pure arithmetic: how a range is cut into requests and a tail. */
#ifndef DONARD_PLAN_H
#define DONARD_PLAN_H

#include "base/base.h"

struct dnd_plan {
	uint64_t length_bytes;	/* of the whole copy */
	uint64_t full_bytes;	/* in requests of whole logical blocks */
	uint32_t tail_bytes;	/* the rest, less than align_bytes */
	uint32_t align_bytes;
	uint64_t block_bytes;	/* of one request */
	uint32_t lanes;		/* requests in flight */
	uint64_t requests;
};

struct dnd_request {
	uint64_t offset_bytes;	/* from the start of the range */
	uint64_t length_bytes;
};

/* No request is longer than the copy, so that no more is staged for one. */
uint64_t dnd_plan_block(uint64_t block_bytes, uint64_t length_bytes, uint32_t align_bytes);
/*
 * @window_bytes: memory that the lanes share as buffers, one block each; 0
 * when every request has its own place.  A window smaller than a block makes
 * the blocks smaller; one smaller than a logical block is -ENOSPC.
 */
int dnd_plan_make(struct dnd_plan *plan, uint64_t length_bytes, uint32_t align_bytes,
		  uint64_t block_bytes, uint32_t lanes, uint64_t window_bytes);
struct dnd_request dnd_plan_request(const struct dnd_plan *plan, uint64_t index);

#endif /* DONARD_PLAN_H */
