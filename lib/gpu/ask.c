// SPDX-License-Identifier: Apache-2.0
/* Asks CUDA about the GPU at a PCI address. */
#include "base/base.h"
#include "donard/gpu.h"
#include "gpu/device.h"

DND_PUBLIC int donard_gpu_memory(struct donard_context *ctx, const char *bdf, unsigned int *number, uint64_t *bytes)
{
	DND_USES(CONTEXT, ctx);
	char address[DONARD_BDF_BYTES];
	struct dnd_bdf parsed;
	int rc;

	if (dnd_bdf_parse(bdf, &parsed))
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: not a PCI address; they look like 0000:03:00.0.", bdf);
	dnd_bdf_format(address, parsed);
	rc = dnd_gpu_by_address(ctx, address, number);
	return rc ? rc : dnd_gpu_bytes(ctx, *number, bytes);
}
