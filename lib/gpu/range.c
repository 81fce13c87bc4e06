// SPDX-License-Identifier: Apache-2.0
/* Asks CUDA about an address that a program gives. */
#include "gpu/context.h"
#include "gpu/driver.h"
#include "gpu/range.h"

/* A context for a thread that has none and wants to ask CUDA something. */
struct loan {
	bool taken;
	CUdevice device;
	CUstreamCaptureMode mode;
};

/*
 * According to its documentation, CUDA may refuse any question of a thread without a
 * context; which ones it does refuse depends on its version.
 */
static bool is_refused_without_context(const struct dnd_cuda *cuda, CUdeviceptr address)
{
	static const CUpointer_attribute asked[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
	};
	uint64_t value;

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		if (cuda->get_attribute(&value, asked[i], address) == CUDA_ERROR_INVALID_CONTEXT)
			return true;
	return false;
}

/* Any context will do, because addresses mean the same in all of them. */
static CUresult borrow_context(const struct dnd_cuda *cuda, CUdeviceptr address, struct loan *loan)
{
	CUcontext context;
	CUresult rc;

	*loan = (struct loan){ 0 };
	if (!is_refused_without_context(cuda, address))
		return CUDA_SUCCESS;
	loan->device = dnd_cuda_any_device(cuda);
	rc = cuda->retain(&context, loan->device);
	if (rc)
		return rc;
	rc = dnd_cuda_enter(cuda, context, &loan->mode);
	if (rc)
		cuda->release(loan->device);
	loan->taken = !rc;
	return rc;
}

static void return_context(const struct dnd_cuda *cuda, const struct loan *loan)
{
	if (!loan->taken)
		return;
	dnd_cuda_leave(cuda, loan->mode);
	cuda->release(loan->device);
}

static int refuse(struct donard_context *ctx, CUdeviceptr address, const char *what)
{
	return dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_VALUE("address", address),
			       "%#llx: %s", address, what);
}

/* CUDA writes a flag as one byte or as four. */
static CUresult get_flag(const struct dnd_cuda *cuda, CUpointer_attribute attribute, CUdeviceptr address, bool *set)
{
	uint8_t value[sizeof(unsigned int)] = { 0 };
	CUresult rc = cuda->get_attribute(value, attribute, address);

	*set = value[0];
	return rc;
}

/* Accepts only memory of a GPU that stays where it is. */
static int check_kind(struct donard_context *ctx, const struct dnd_cuda *cuda, CUdeviceptr address)
{
	unsigned int type = 0;
	CUresult rc = cuda->get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
	bool managed = false;

	if (rc == CUDA_ERROR_INVALID_VALUE)
		return refuse(ctx, address, "no memory of a GPU in this process: it was freed, or is memory of the program, "
			      "which donard_memory_from_host() takes.");
	if (!rc)
		rc = get_flag(cuda, CU_POINTER_ATTRIBUTE_IS_MANAGED, address, &managed);
	if (rc)
		return dnd_cuda_failed(ctx, cuda, rc, "%#llx: CUDA does not say what it is", address);
	if (managed)
		return refuse(ctx, address, "managed memory, which moves between GPU and host. Use memory of cudaMalloc() or "
			      "cuMemAlloc().");
	if (type != CU_MEMORYTYPE_DEVICE)
		return refuse(ctx, address, "memory of the host that CUDA knows. Use donard_memory_from_host().");
	return 0;
}

/*
 * Memory of cuMemAllocAsync()'s pools and of cuMemCreate() belongs to no context, and
 * the driver pins it only if it was made for GPUDirect RDMA.
 */
static int take_primary_context(struct donard_context *ctx, const struct dnd_cuda *cuda, struct dnd_gpu_range *range)
{
	bool capable = false;
	CUresult rc = get_flag(cuda, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, range->address, &capable);

	if (rc || !capable)
		return refuse(ctx, range->address, "memory of a CUDA pool (cuMemAllocAsync()) or of cuMemCreate() that was not "
			      "made for GPUDirect RDMA, so that the driver pins none of it. Use memory of cuMemAlloc() or "
			      "cudaMalloc(); in PyTorch, leave out expandable_segments and backend:cudaMallocAsync.");
	rc = cuda->retain(&range->context, range->gpu.device);
	if (rc)
		return dnd_cuda_failed(ctx, cuda, rc, "gpu:%d: CUDA cannot create a context on it", range->gpu.number);
	range->retained = true;
	return 0;
}

static int find_owner(struct donard_context *ctx, const struct dnd_cuda *cuda, struct dnd_gpu_range *range)
{
	int number = 0, found;
	CUresult rc = cuda->get_attribute(&number, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, range->address);

	if (rc)
		return dnd_cuda_failed(ctx, cuda, rc, "%#llx: CUDA does not say which GPU has it", range->address);
	found = dnd_gpu_get(ctx, cuda, number, &range->gpu);
	if (found)
		return found;
	rc = cuda->get_attribute(&range->context, CU_POINTER_ATTRIBUTE_CONTEXT, range->address);
	if (rc && rc != CUDA_ERROR_INVALID_VALUE)
		return dnd_cuda_failed(ctx, cuda, rc, "%#llx: CUDA does not say to which context it belongs", range->address);
	return !rc && range->context ? 0 : take_primary_context(ctx, cuda, range);
}

static int check_range(struct donard_context *ctx, const struct dnd_cuda *cuda, const struct dnd_gpu_range *range)
{
	CUstreamCaptureMode mode;
	CUdeviceptr base = 0;
	size_t bytes = 0;
	CUresult rc = dnd_cuda_enter(cuda, range->context, &mode);

	if (rc)
		return dnd_cuda_failed(ctx, cuda, rc, "%#llx: its context cannot be entered", range->address);
	rc = cuda->range(&base, &bytes, range->address);
	dnd_cuda_leave(cuda, mode);
	if (rc)
		return dnd_cuda_failed(ctx, cuda, rc, "%#llx: CUDA does not say to which allocation it belongs",
				       range->address);
	if (dnd_range_fits(range->address - base, range->bytes, bytes))
		return 0;
	return dnd_fail_member(ctx, DND_E_PAST_END, dnd_past_end(range->address - base, range->bytes, bytes),
			       "%#llx: %llu bytes from there go past the end of its allocation, which has %zu "
			       "bytes from %#llx on. A memory lies in one allocation: make one of each.", range->address,
			       (unsigned long long)range->bytes, bytes, base);
}

static int find(struct donard_context *ctx, const struct dnd_cuda *cuda, struct dnd_gpu_range *range)
{
	int rc = check_kind(ctx, cuda, range->address);

	if (!rc)
		rc = find_owner(ctx, cuda, range);
	return rc ? rc : check_range(ctx, cuda, range);
}

int dnd_gpu_find(struct donard_context *ctx, const struct dnd_cuda *cuda, CUdeviceptr address,
		 uint64_t bytes, struct dnd_gpu_range *range)
{
	struct loan loan;
	CUresult lent = borrow_context(cuda, address, &loan);
	int rc;

	*range = (struct dnd_gpu_range){ .address = address, .bytes = bytes };
	if (lent)
		return dnd_cuda_failed(ctx, cuda, lent, "%#llx: this thread has no context to ask CUDA in, and none can be "
				       "created", address);
	rc = find(ctx, cuda, range);
	return_context(cuda, &loan);
	if (rc)
		dnd_gpu_let_go(cuda, range);
	return rc;
}

void dnd_gpu_let_go(const struct dnd_cuda *cuda, const struct dnd_gpu_range *range)
{
	if (range->retained)
		cuda->release(range->gpu.device);
}

int dnd_gpu_make_synchronous(struct donard_context *ctx, const struct dnd_cuda *cuda,
			     const struct dnd_gpu_range *range)
{
	unsigned int on = 1;
	CUstreamCaptureMode mode;
	CUresult rc = dnd_cuda_enter(cuda, range->context, &mode);

	if (!rc) {
		rc = cuda->set_attribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, range->address);
		dnd_cuda_leave(cuda, mode);
	}
	return rc ? dnd_cuda_failed(ctx, cuda, rc, "%#llx: SYNC_MEMOPS cannot be set, without which a peer may miss what the "
				    "GPU's copies write. Use memory of cuMemAlloc() or cudaMalloc(); in PyTorch, leave out "
				    "expandable_segments", range->address) : 0;
}
