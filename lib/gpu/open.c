// SPDX-License-Identifier: Apache-2.0
/* Opens memory of any kind by the name that a user gives. */
#include "gpu/gpu.h"

#define DEFAULT_BYTES	(64ULL << 20)	/* of memory that has no end of its own */

/* Allocates GPU memory that is freed with @memory; NICs reach it through the GPU's region. */
static int open_gpu(struct donard_context *ctx, const struct dnd_spec *spec, uint64_t length,
		    struct donard_memory **memory)
{
	unsigned int gpu = spec->gpu;
	uint64_t address;
	int rc = 0;

	if (spec->offset_bytes)
		return dnd_fail(ctx, DND_E_BAD_OPTION, "%s: its memory is allocated for this call, so it takes no offset: write "
				"%.*s.", spec->path, (int)strcspn(spec->path, "+"), spec->path);
	if (spec->gpu_bdf[0])
		rc = dnd_gpu_by_address(ctx, spec->gpu_bdf, &gpu);
	return rc ? rc : donard_memory_alloc_cuda(ctx, gpu, length, &address, memory);
}

DND_PUBLIC int donard_memory_open(struct donard_context *ctx, const char *text, uint64_t length,
				  struct donard_memory **memory)
{
	struct dnd_spec spec;
	int rc;

	if (!strcmp(text, "dram"))
		return donard_memory_dram(ctx, length ? length : DEFAULT_BYTES, memory);
	rc = dnd_spec_parse(ctx, text, &spec);
	if (rc)
		return rc;
	if (spec.is_gpu)
		return open_gpu(ctx, &spec, length ? length : DEFAULT_BYTES, memory);
	if (!spec.is_region)
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: neither a region, a GPU nor 'dram'; they look "
				"like p2pmem0, p2pmem0+64M and gpu:0.", text);
	return donard_memory_claim(ctx, spec.region, spec.offset_bytes, length, memory);
}
