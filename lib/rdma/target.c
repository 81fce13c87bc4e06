// SPDX-License-Identifier: Apache-2.0
/* See target.h. */
#include "rdma/target.h"

int dnd_target_open(struct donard_context *ctx, const char *text, uint64_t length,
		    uint64_t dram_length, struct donard_memory **memory)
{
	struct dnd_spec spec;
	int rc;

	if (!strcmp(text, "dram"))
		return donard_memory_dram(ctx, length ? length : dram_length, memory);
	rc = dnd_spec_parse(ctx, text, &spec);
	if (rc)
		return rc;
	if (!spec.is_region)
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: neither a region nor 'dram'; regions look "
				"like p2pmem0 or p2pmem0+64M.", text);
	return donard_memory_claim(ctx, spec.region, spec.offset_bytes, length, memory);
}

bool dnd_target_gone(const struct donard_memory *memory)
{
	return memory && dnd_region_called_back(&memory->region);
}

int dnd_target_gone_text(struct donard_context *ctx, const struct donard_memory *memory)
{
	return dnd_fail(ctx, DND_E_REGION_GONE, "%s: the region was taken away while RDMA used it. "
			"Add it again, and start again.", dnd_memory_name(memory));
}
