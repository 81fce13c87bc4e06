/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcuda of a test's program, strict as the real one is by its documentation, and with each of its answers.  The one file that
 * includes this wraps dlopen(), dlsym(), dlerror() and dlclose().
 */
#ifndef PLAY_CUDA_H
#define PLAY_CUDA_H

#include <dlfcn.h>
#include <stdbool.h>

#include "unit.h"
#include "gpu/cuda.h"

#define VRAM_BYTES	(4U << 20)
#define CHUNK		0x302000000ULL

static struct {
	/* what the played CUDA answers */
	const char *loader_says, *missing;
	CUresult init, retain, alloc, set, ordinal, managed_rc, push, flush, order_rc;
	int ordering, options;		/* of what peers write */
	bool managed, host, pool, capable, strict;
	unsigned int out_of_memory;	/* how often an allocation fails */
	uint64_t skew;			/* by how much an allocation misses its alignment */
	const char *bdf;
	/* what it was called with */
	unsigned int retained, depth, allocations, sync, frees, closed, flushed;
	CUcontext stack[4], flushed_in;
	uint64_t allocated;
	unsigned long long identity;
	CUstreamCaptureMode mode;
} gpu;

static struct CUctx_st { int of; } primary = { 0 }, programs = { 1 };

static CUresult in_context(void)
{
	return gpu.depth ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult init(unsigned int flags)
{
	assert_int_equal(flags, 0);
	return gpu.init;
}

static CUresult error_name(CUresult rc, const char **name)
{
	*name = "CUDA_ERROR_PLAYED";
	return rc == 12345 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult device_get(CUdevice *device, int ordinal)
{
	*device = ordinal + 100;	/* a handle, not the number */
	return ordinal ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

static CUresult device_count(int *count)
{
	*count = 1;
	return CUDA_SUCCESS;
}

static CUresult device_bdf(char *text, int bytes, CUdevice device)
{
	assert_int_equal(device, 100);
	snprintf(text, (size_t)bytes, "%s", gpu.bdf);
	return CUDA_SUCCESS;
}

static CUresult device_bytes(size_t *bytes, CUdevice device)
{
	assert_int_equal(device, 100);
	*bytes = VRAM_BYTES;
	return CUDA_SUCCESS;
}

static CUresult device_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	assert_int_equal(device, 100);
	if (attribute == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING)
		*value = gpu.ordering;
	else
		*value = gpu.options;
	return gpu.order_rc;
}

static CUresult primary_state(CUdevice device, unsigned int *flags, int *active)
{
	assert_int_equal(device, 100);
	*flags = 0;
	*active = !!gpu.retained;
	return CUDA_SUCCESS;
}

static CUresult retain(CUcontext *context, CUdevice device)
{
	assert_int_equal(device, 100);
	if (gpu.retain)
		return gpu.retain;
	gpu.retained++;
	*context = &primary;
	return CUDA_SUCCESS;
}

static CUresult release(CUdevice device)
{
	assert_int_equal(device, 100);
	assert_true(gpu.retained);
	gpu.retained--;
	return CUDA_SUCCESS;
}

static CUresult push(CUcontext context)
{
	assert_true(context == &programs || (context == &primary && gpu.retained));
	if (gpu.push)
		return gpu.push;
	gpu.stack[gpu.depth++] = context;
	return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *context)
{
	assert_true(gpu.depth);
	*context = gpu.stack[--gpu.depth];
	return CUDA_SUCCESS;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes)
{
	assert_false(in_context());
	assert_int_equal(gpu.mode, CU_STREAM_CAPTURE_MODE_RELAXED);
	if (gpu.out_of_memory) {
		gpu.out_of_memory--;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (gpu.alloc)
		return gpu.alloc;
	gpu.allocations++;
	gpu.allocated = bytes;
	gpu.identity++;
	*address = CHUNK + gpu.skew;
	return CUDA_SUCCESS;
}

static CUresult free_it(CUdeviceptr address)
{
	assert_false(in_context());
	assert_int_equal(address, CHUNK + gpu.skew);
	gpu.frees++;
	gpu.allocated = 0;
	return CUDA_SUCCESS;
}

static CUresult to_host(void *to, CUdeviceptr from, size_t bytes)
{
	assert_false(in_context());
	memset(to, (int)(from >> 16), bytes);
	return CUDA_SUCCESS;
}

static CUresult from_host(CUdeviceptr to, const void *from, size_t bytes)
{
	(void)to;
	(void)from;
	(void)bytes;
	return in_context();
}

static bool knows(CUdeviceptr address)
{
	return address >= CHUNK + gpu.skew && address < CHUNK + gpu.skew + gpu.allocated;
}

static CUresult address_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
	if (in_context())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!knows(address))
		return CUDA_ERROR_NOT_FOUND;
	*base = CHUNK + gpu.skew;
	*bytes = gpu.allocated;
	return CUDA_SUCCESS;
}

static CUresult get_attribute(void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
	static const unsigned int no = 0, yes = 1;
	CUcontext context = gpu.pool ? NULL : &programs;
	unsigned int type = gpu.host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;

	if (gpu.strict && in_context())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!knows(address))
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		memcpy(value, &type, sizeof(type));
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		memcpy(value, &context, sizeof(context));
		return gpu.pool && gpu.strict ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		memcpy(value, gpu.managed ? &yes : &no, 1);
		return gpu.managed_rc;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		memcpy(value, &no, sizeof(no));
		return gpu.ordinal;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		memcpy(value, gpu.capable ? &yes : &no, 1);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		memcpy(value, &gpu.identity, sizeof(gpu.identity));
		return CUDA_SUCCESS;
	default:
		fail_msg("attribute %d", (int)attribute);
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static unsigned int pins;

static CUresult set_attribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
	assert_int_equal(attribute, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
	assert_int_equal(*(const unsigned int *)value, 1);
	assert_true(knows(address));
	assert_true(pins);	/* before that a refusal would leave it set */
	if (in_context())
		return CUDA_ERROR_INVALID_CONTEXT;
	gpu.sync += !gpu.set;
	return gpu.set;
}

static CUresult capture_mode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = gpu.mode;

	gpu.mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

static CUresult flush(CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope)
{
	assert_int_equal(target, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX);
	assert_int_equal(scope, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
	if (in_context())
		return CUDA_ERROR_INVALID_CONTEXT;
	gpu.flushed_in = gpu.stack[gpu.depth - 1];
	gpu.flushed += !gpu.flush;
	return gpu.flush;
}

static const struct dnd_cuda played = {
	.init = init, .error_name = error_name, .device_get = device_get, .device_count = device_count,
	.device_bdf = device_bdf, .device_bytes = device_bytes, .device_attribute = device_attribute,
	.state = primary_state, .retain = retain,
	.release = release, .push = push, .pop = pop, .alloc = allocate, .free = free_it, .to_host = to_host,
	.from_host = from_host, .range = address_range, .get_attribute = get_attribute,
	.set_attribute = set_attribute, .capture_mode = capture_mode, .flush = flush,
};

#define CALL(name, member) { name, (const void *)&played.member }

static const struct {
	const char *name;
	const void *call;	/* where its address is */
} symbols[] = {
	CALL("cuInit", init), CALL("cuGetErrorName", error_name), CALL("cuDeviceGet", device_get),
	CALL("cuDeviceGetCount", device_count), CALL("cuDeviceGetPCIBusId", device_bdf),
	CALL("cuDeviceTotalMem_v2", device_bytes), CALL("cuDeviceGetAttribute", device_attribute),
	CALL("cuDevicePrimaryCtxGetState", state),
	CALL("cuDevicePrimaryCtxRetain", retain), CALL("cuDevicePrimaryCtxRelease_v2", release),
	CALL("cuCtxPushCurrent_v2", push), CALL("cuCtxPopCurrent_v2", pop), CALL("cuMemAlloc_v2", alloc),
	CALL("cuMemFree_v2", free), CALL("cuMemcpyDtoH_v2", to_host), CALL("cuMemcpyHtoD_v2", from_host),
	CALL("cuMemGetAddressRange_v2", range), CALL("cuPointerGetAttribute", get_attribute),
	CALL("cuPointerSetAttribute", set_attribute), CALL("cuThreadExchangeStreamCaptureMode", capture_mode),
	CALL("cuFlushGPUDirectRDMAWrites", flush),
};

void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlsym(void *library, const char *name);
char *__wrap_dlerror(void);
int __wrap_dlclose(void *library);

void *__wrap_dlopen(const char *name, int flags)
{
	assert_string_equal(name, "libcuda.so.1");
	assert_int_equal(flags, RTLD_LAZY);
	return gpu.loader_says ? NULL : &gpu;
}

char *__wrap_dlerror(void)
{
	return (char *)(uintptr_t)gpu.loader_says;
}

int __wrap_dlclose(void *library)
{
	assert_ptr_equal(library, &gpu);
	gpu.closed++;
	return 0;
}

void *__wrap_dlsym(void *library, const char *name)
{
	void *symbol = NULL;

	assert_ptr_equal(library, &gpu);
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (!strcmp(symbols[i].name, name) && (!gpu.missing || strcmp(gpu.missing, name)))
			memcpy(&symbol, symbols[i].call, sizeof(symbol));
	return symbol;
}

#endif /* PLAY_CUDA_H */
