// SPDX-License-Identifier: Apache-2.0
/* See engine.h. */
#include "copy/engine.h"

static bool is_power_of_two(uint32_t value)
{
	return value && !(value & (value - 1));
}

static int fit_window(struct dnd_plan *plan, uint64_t window_bytes)
{
	uint64_t fitting;

	if (window_bytes < plan->align_bytes)
		return -ENOSPC;
	if (plan->block_bytes > window_bytes)
		plan->block_bytes = dnd_round_down(window_bytes, plan->align_bytes);
	fitting = window_bytes / plan->block_bytes;
	if (fitting < plan->lanes)
		plan->lanes = (uint32_t)fitting;
	return 0;
}

uint64_t dnd_plan_block(uint64_t block_bytes, uint64_t length_bytes, uint32_t align_bytes)
{
	uint64_t whole = dnd_round_up(length_bytes, align_bytes);

	return dnd_min(block_bytes, dnd_max(whole, align_bytes));
}

int dnd_plan_make(struct dnd_plan *plan, uint64_t length_bytes, uint32_t align_bytes,
		  uint64_t block_bytes, uint32_t lanes, uint64_t window_bytes)
{
	int rc = 0;

	memset(plan, 0, sizeof(*plan));
	if (!is_power_of_two(align_bytes) || !block_bytes || block_bytes % align_bytes || !lanes)
		return -EINVAL;
	plan->length_bytes = length_bytes;
	plan->align_bytes = align_bytes;
	plan->full_bytes = dnd_round_down(length_bytes, align_bytes);
	plan->tail_bytes = (uint32_t)(length_bytes - plan->full_bytes);
	plan->block_bytes = dnd_plan_block(block_bytes, length_bytes, align_bytes);
	plan->lanes = lanes;
	if (window_bytes)
		rc = fit_window(plan, window_bytes);
	plan->requests = plan->full_bytes / plan->block_bytes +
			 (plan->full_bytes % plan->block_bytes != 0);
	if (plan->requests && plan->requests < plan->lanes)
		plan->lanes = (uint32_t)plan->requests;
	return rc;
}

struct dnd_request dnd_plan_request(const struct dnd_plan *plan, uint64_t index)
{
	struct dnd_request request = { .offset_bytes = index * plan->block_bytes };

	request.length_bytes = dnd_min(plan->block_bytes,
				       plan->full_bytes - request.offset_bytes);
	return request;
}
