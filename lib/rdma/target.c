// SPDX-License-Identifier: Apache-2.0
/* See target.h. */
#include "rdma/target.h"

const char *dnd_target_name(const struct donard_memory *memory)
{
	return *memory->region.name ? memory->region.name : "dma-buf";
}

bool dnd_target_gone(const struct donard_memory *memory)
{
	return memory && dnd_region_called_back(&memory->region);
}

int dnd_target_gone_text(struct donard_context *ctx, const struct donard_memory *memory)
{
	if (!dnd_memory_is_region(memory))
		return dnd_memory_access_failed(memory, ENODEV);
	return dnd_fail(ctx, DND_E_REGION_GONE, "%s: the region was taken away while RDMA used it. "
			"Add it again, and start again.", dnd_memory_name(memory));
}

bool dnd_target_persistent(const struct donard_memory *memory)
{
	return dnd_region_persistent(&memory->region);
}

uint64_t dnd_target_resets(const struct donard_memory *memory)
{
	return dnd_region_resets(&memory->region);
}

int dnd_target_reset_text(const struct donard_memory *memory)
{
	return dnd_memory_access_failed(memory, EIO);
}
