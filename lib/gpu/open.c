// SPDX-License-Identifier: Apache-2.0
/* Opens memory of any kind by the name that a user gives. */
#include "gpu/device.h"
#include "memory/memory.h"

#define DEFAULT_BYTES	(64ULL << 20)	/* of memory that is allocated here, if no length is given */

/* Allocates GPU memory that is freed with @memory; NICs reach it through the GPU's region. */
static int open_gpu(struct donard_context *ctx, const struct dnd_spec *spec, uint64_t length,
		    struct donard_memory **memory)
{
	unsigned int gpu;
	uint64_t address;
	int rc = dnd_gpu_by_name(ctx, spec, &gpu);

	return rc ? rc : donard_memory_alloc_cuda(ctx, gpu, length, &address, memory);
}

static int takes_no_offset(struct donard_context *ctx, const char *name, uint64_t offset)
{
	return dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_MOST("offset", offset, 0),
			       "%s: its memory is allocated for this call, so that it begins at 0: pass no offset.",
			       name);
}

DND_PUBLIC int donard_memory_open(struct donard_context *ctx, const char *name, uint64_t offset, uint64_t length,
				  struct donard_memory **memory)
{
	DND_USES(CONTEXT, ctx);
	struct dnd_spec spec;
	int rc;

	if (!strcmp(name, "dram"))
		return offset ? takes_no_offset(ctx, name, offset) : donard_memory_dram(ctx, length ? length : DEFAULT_BYTES, memory);
	rc = dnd_spec_parse(ctx, name, &spec);
	if (rc)
		return rc;
	if (spec.is_gpu)
		return offset ? takes_no_offset(ctx, name, offset) : open_gpu(ctx, &spec, length ? length : DEFAULT_BYTES, memory);
	rc = spec.is_region ? 0 : dnd_spec_check_link(ctx, name);
	if (rc)
		return rc;
	if (!spec.is_region)
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: neither a region, a GPU nor 'dram'; they look "
				"like p2pmem0 and gpu:0.", name);
	return donard_memory_claim(ctx, spec.region, offset, length, memory);
}
