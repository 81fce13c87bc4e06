// SPDX-License-Identifier: Apache-2.0
/* What CUDA knows about the GPU at a PCI address. */
#include "donard/gpu.h"
#include "gpu/device.h"

DND_PUBLIC int donard_gpu_memory(struct donard_context *ctx, const char *bdf, unsigned int *number, uint64_t *bytes)
{
	DND_USES(CONTEXT, ctx);
	int rc = dnd_gpu_by_address(ctx, bdf, number);

	return rc ? rc : dnd_gpu_bytes(ctx, *number, bytes);
}
