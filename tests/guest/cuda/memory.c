// SPDX-License-Identifier: Apache-2.0
/* Memory of the GPU and of the host. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stub.h"

/* Host memory that a context knows: it allocated it (own), or has locked its pages. */
static struct host { struct stub_block block; bool own; } hosts[64];
static pthread_mutex_t hosts_lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult allocate(CUdeviceptr *ptr, size_t bytes, enum stub_kind kind)
{
	CUresult rc = stub_ready(true);

	stub_wait_for_frees();
	return rc ? rc : stub_allocate(bytes, kind, ptr);
}

STUB CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	return allocate(ptr, bytes, STUB_PLAIN);
}

STUB CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags)
{
	return flags == 1 || flags == 2 ? allocate(ptr, bytes, STUB_MANAGED) : CUDA_ERROR_INVALID_VALUE;
}

/* Allocates from the default pool, which was not made for GPUDirect RDMA. */
STUB CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
	(void)stream;
	return allocate(ptr, bytes, STUB_POOL);
}

STUB CUresult cuMemFree_v2(CUdeviceptr ptr)
{
	CUresult rc = stub_ready(true);

	if (rc || !ptr)
		return rc;
	stub_begin_free();
	rc = stub_free(ptr);
	stub_end_free();
	return rc;
}

STUB CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr ptr)
{
	CUresult rc = stub_ready(true);
	struct stub_block found;

	if (rc)
		return rc;
	if (!stub_find(ptr, 1, &found))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = found.at;
	if (bytes)
		*bytes = found.bytes;
	return CUDA_SUCCESS;
}

STUB CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr ptr, size_t bytes,
					    CUmemRangeHandleType type, unsigned long long flags)
{
	struct nvlab_export arg = { .va = ptr, .bytes = bytes };
	CUresult rc = stub_ready(true);
	struct stub_block found;

	if (!rc && !stub_find(ptr, bytes, &found))
		rc = CUDA_ERROR_INVALID_VALUE;
	if (!rc && (type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags))
		rc = CUDA_ERROR_INVALID_VALUE;
	if (!rc)
		rc = stub_call(NVLAB_EXPORT, &arg);
	if (!rc)
		*(int *)handle = arg.fd;
	return rc;
}

/* --- copies --- */

static CUresult copy(CUdeviceptr va, uint64_t peer, size_t bytes, uint64_t direction)
{
	struct nvlab_copy arg = { .va = va, .peer = peer, .bytes = bytes, .direction = direction };
	CUresult rc = stub_ready(true);
	struct stub_block found;

	if (rc || !bytes)
		return rc;
	if (!stub_find(va, bytes, &found) || (direction == NVLAB_ON_GPU && !stub_find(peer, bytes, &found)))
		return CUDA_ERROR_INVALID_VALUE;
	stub_wait_for_frees();
	stub_drain();
	return stub_call(NVLAB_COPY, &arg);
}

STUB CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
	return copy(to, (uintptr_t)from, bytes, NVLAB_TO_GPU);
}

STUB CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
	return copy(from, (uintptr_t)to, bytes, NVLAB_TO_HOST);
}

STUB CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return copy(to, from, bytes, NVLAB_ON_GPU);
}

/* Unified addresses: which side each is on can be told. */
STUB CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	bool to_gpu = to < NVLAB_LAST_VA && to >= NVLAB_FIRST_VA;
	bool from_gpu = from < NVLAB_LAST_VA && from >= NVLAB_FIRST_VA;

	if (to_gpu)
		return copy(to, from, bytes, from_gpu ? NVLAB_ON_GPU : NVLAB_TO_GPU);
	if (from_gpu)
		return copy(from, to, bytes, NVLAB_TO_HOST);
	memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
	return stub_ready(true);
}

static CUresult set(CUdeviceptr to, uint32_t value, uint32_t width, size_t count)
{
	struct nvlab_set arg = { .va = to, .count = count, .value = value, .width = width };
	CUresult rc = stub_ready(true);
	struct stub_block found;

	if (rc || !count)
		return rc;
	if (!stub_find(to, count * width, &found))
		return CUDA_ERROR_INVALID_VALUE;
	stub_wait_for_frees();
	stub_drain();
	return stub_call(NVLAB_SET, &arg);
}

STUB CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count)
{
	return set(to, value, 1, count);
}

STUB CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count)
{
	return set(to, value, 4, count);
}

/* --- memory of the host --- */

static CUresult add_host(void *at, size_t bytes, bool own)
{
	struct stub_block block = { .at = (uintptr_t)at, .bytes = bytes, .serial = stub_serial(), .context = stub_context() };
	CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;

	pthread_mutex_lock(&hosts_lock);
	for (size_t i = 0; rc && i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		if (hosts[i].block.at)
			continue;
		hosts[i] = (struct host){ block, own };
		rc = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&hosts_lock);
	return rc;
}

/* The caller holds the lock. */
static void forget(struct host *host)
{
	if (host->own)
		munmap((void *)(uintptr_t)host->block.at, host->block.bytes);
	host->block.at = 0;
}

static CUresult remove_host(void *at, bool own, CUresult missing)
{
	CUresult rc = missing;

	stub_begin_free();
	pthread_mutex_lock(&hosts_lock);
	for (size_t i = 0; at && i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		if (hosts[i].block.at != (uintptr_t)at || hosts[i].own != own)
			continue;
		forget(&hosts[i]);
		rc = CUDA_SUCCESS;
		break;
	}
	pthread_mutex_unlock(&hosts_lock);
	stub_end_free();
	return rc;
}

void stub_forget_hosts(CUcontext context)
{
	pthread_mutex_lock(&hosts_lock);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (hosts[i].block.at && hosts[i].block.context == context)
			forget(&hosts[i]);
	pthread_mutex_unlock(&hosts_lock);
}

bool stub_find_host(uint64_t address, struct stub_block *found)
{
	bool is_host = false;

	pthread_mutex_lock(&hosts_lock);
	for (size_t i = 0; !is_host && i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		*found = hosts[i].block;
		is_host = found->at && address >= found->at && address - found->at < found->bytes;
	}
	pthread_mutex_unlock(&hosts_lock);
	return is_host;
}

STUB CUresult cuMemHostAlloc(void **at, size_t bytes, unsigned int flags)
{
	CUresult rc = stub_ready(true);
	void *map;

	(void)flags;
	if (rc || !bytes)
		return rc ? rc : CUDA_ERROR_INVALID_VALUE;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*at = map;
	return add_host(map, bytes, true);
}

STUB CUresult cuMemAllocHost_v2(void **at, size_t bytes)
{
	return cuMemHostAlloc(at, bytes, 0);
}

STUB CUresult cuMemFreeHost(void *at)
{
	return remove_host(at, true, CUDA_ERROR_INVALID_VALUE);
}

STUB CUresult cuMemHostRegister_v2(void *at, size_t bytes, unsigned int flags)
{
	CUresult rc = stub_ready(true);
	struct stub_block found;

	(void)flags;
	stub_wait_for_frees();
	if (!rc && stub_find_host((uintptr_t)at, &found))
		rc = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	return rc ? rc : add_host(at, bytes, false);
}

STUB CUresult cuMemHostUnregister(void *at)
{
	return remove_host(at, false, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

STUB CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *ptr, void *at, unsigned int flags)
{
	struct stub_block found;

	if (flags || !stub_find_host((uintptr_t)at, &found))
		return CUDA_ERROR_INVALID_VALUE;
	*ptr = (uintptr_t)at;
	return stub_ready(true);
}
