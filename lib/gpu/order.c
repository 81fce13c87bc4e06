// SPDX-License-Identifier: Apache-2.0
/* See order.h. */
#include "gpu/context.h"
#include "gpu/driver.h"
#include "gpu/order.h"

bool dnd_gpu_needs_flush(const struct dnd_cuda *cuda, const struct dnd_gpu *gpu)
{
	int ordering = CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER, options = 0;

	if (!cuda->flush || cuda->device_attribute(&ordering, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, gpu->device) ||
	    cuda->device_attribute(&options, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, gpu->device))
		return false;
	return ordering < CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER && options & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST;
}

int dnd_gpu_flush(struct donard_context *ctx, const struct dnd_cuda *cuda, const struct dnd_gpu_range *range)
{
	CUstreamCaptureMode mode;
	CUresult rc = dnd_cuda_enter(cuda, range->context, &mode);

	if (!rc) {
		rc = cuda->flush(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
		dnd_cuda_leave(cuda, mode);
	}
	return rc ? dnd_cuda_failed(ctx, cuda, rc, "gpu:%d: what its peers wrote cannot be made visible to it",
				    range->gpu.number) : 0;
}
