// SPDX-License-Identifier: Apache-2.0
/* See alloc.h. */
#include <unistd.h>

#include "gpu/alloc.h"
#include "gpu/context.h"
#include "gpu/driver.h"

#define FREE_TRIES	100
#define FREE_PAUSE_US	10000

/* Pinned memory returns to the GPU only a moment after its file was closed, hence the tries. */
static CUresult alloc_patiently(const struct dnd_cuda *cuda, CUdeviceptr *address, uint64_t bytes)
{
	CUresult rc = cuda->alloc(address, bytes);

	for (int i = 0; rc == CUDA_ERROR_OUT_OF_MEMORY && i < FREE_TRIES; i++) {
		usleep(FREE_PAUSE_US);
		rc = cuda->alloc(address, bytes);
	}
	return rc;
}

/*
 * CUDA cuts small allocations from a chunk, at 256 or 512 bytes, but a page can be pinned
 * only once.  An allocation that is not page-aligned is made anew with one page more, so
 * that it shares no page.
 */
static CUresult alloc_pages(const struct dnd_cuda *cuda, struct dnd_gpu_range *range)
{
	uint64_t bytes = dnd_round_up(range->bytes, DND_GPU_PAGE_BYTES);
	CUresult rc = alloc_patiently(cuda, &range->allocation, bytes);

	if (!rc && range->allocation % DND_GPU_PAGE_BYTES) {
		cuda->free(range->allocation);
		rc = alloc_patiently(cuda, &range->allocation, bytes + DND_GPU_PAGE_BYTES);
	}
	range->address = dnd_round_up(range->allocation, DND_GPU_PAGE_BYTES);
	return rc;
}

static CUresult get_identity(const struct dnd_cuda *cuda, CUdeviceptr address, unsigned long long *identity)
{
	return cuda->get_attribute(identity, CU_POINTER_ATTRIBUTE_BUFFER_ID, address);
}

static CUresult alloc_in_context(const struct dnd_cuda *cuda, struct dnd_gpu_range *range)
{
	CUstreamCaptureMode mode;
	CUresult rc = dnd_cuda_enter(cuda, range->context, &mode);

	if (rc)
		return rc;
	rc = alloc_pages(cuda, range);
	if (!rc && get_identity(cuda, range->allocation, &range->identity))
		range->identity = 0;
	dnd_cuda_leave(cuda, mode);
	return rc;
}

int dnd_gpu_alloc(struct donard_context *ctx, const struct dnd_cuda *cuda, int number, uint64_t bytes,
		  struct dnd_gpu_range *range)
{
	CUresult failed;
	int rc;

	*range = (struct dnd_gpu_range){ .bytes = bytes };
	rc = dnd_gpu_get(ctx, cuda, number, &range->gpu);
	if (rc)
		return rc;
	failed = cuda->retain(&range->context, range->gpu.device);
	if (failed)
		return dnd_cuda_failed(ctx, cuda, failed, "gpu:%d: CUDA cannot create a context on it", number);
	range->retained = true;
	failed = alloc_in_context(cuda, range);
	if (!failed)
		return 0;
	dnd_gpu_let_go(cuda, range);
	return dnd_cuda_failed(ctx, cuda, failed, failed == CUDA_ERROR_OUT_OF_MEMORY ?
			       "gpu:%d: %llu bytes of its memory are not free" :
			       "gpu:%d: %llu bytes of its memory cannot be allocated", number, (unsigned long long)bytes);
}

/* The program may have reset the context or freed the memory; another allocation may have the address by now. */
static bool is_still_there(const struct dnd_cuda *cuda, const struct dnd_gpu_range *range)
{
	unsigned long long now = 0;

	return !range->identity || (!get_identity(cuda, range->allocation, &now) && now == range->identity);
}

void dnd_gpu_free(const struct dnd_cuda *cuda, const struct dnd_gpu_range *range)
{
	CUstreamCaptureMode mode;

	if (!dnd_cuda_enter(cuda, range->context, &mode)) {
		if (is_still_there(cuda, range))
			cuda->free(range->allocation);
		dnd_cuda_leave(cuda, mode);
	}
	dnd_gpu_let_go(cuda, range);
}
