// SPDX-License-Identifier: Apache-2.0
/* Attributes of pointers. */
#include <string.h>

#include "stub.h"

/* A block of the GPU's memory or of the host's. */
struct known {
	struct stub_block block;
	bool host;
	uint64_t at, start, bytes;
};

static void put(void *data, const void *value, size_t bytes)
{
	memcpy(data, value, bytes);
}

static CUresult get_number(void *data, unsigned int number)
{
	put(data, &number, sizeof(number));
	return CUDA_SUCCESS;
}

/* The documentation says "boolean", and NVIDIA's driver writes four bytes. */
static CUresult get_flag(void *data, bool flag)
{
	return get_number(data, flag);
}

static CUresult get_wide(void *data, uint64_t number)
{
	put(data, &number, sizeof(number));
	return CUDA_SUCCESS;
}

static CUresult get_context(void *data, CUcontext context)
{
	put(data, &context, sizeof(context));
	return CUDA_SUCCESS;
}

static CUresult get(void *data, int attribute, const struct known *known)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		return get_context(data, known->block.context);
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		return get_number(data, known->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		return get_number(data, known->block.synchronous);
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		return get_number(data, 0);
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		return get_flag(data, known->block.kind == STUB_MANAGED);
	case CU_POINTER_ATTRIBUTE_MAPPED:
		return get_flag(data, !known->host);
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		return get_flag(data, !known->host && known->block.kind == STUB_PLAIN);
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!known->host)
			return CUDA_ERROR_INVALID_VALUE;
		/* fallthrough */
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		return get_wide(data, known->at);
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		return get_wide(data, known->block.serial);
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		return get_wide(data, known->start);
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		return get_wide(data, known->bytes);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult find(CUdeviceptr ptr, struct known *known)
{
	CUresult rc = stub_ready_to_tell();

	*known = (struct known){ .at = ptr };
	if (rc)
		return rc;
	/* The GPU's first: a program asks with each request, and the host's are a long list. */
	if (stub_find(ptr, 1, &known->block)) {
		known->start = known->block.at;
		known->bytes = known->block.bytes;
		return CUDA_SUCCESS;
	}
	known->host = stub_find_host(ptr, &known->block);
	known->start = known->block.at;
	known->bytes = known->block.bytes;
	return known->host ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

STUB CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct known known;
	CUresult rc = find(ptr, &known);

	return rc ? rc : get(data, (int)attribute, &known);
}

/* For a pointer that CUDA does not know, the call succeeds, and all attributes are zero. */
STUB CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes,
				     void **data, CUdeviceptr ptr)
{
	struct known known;
	CUresult rc = find(ptr, &known);

	if (rc && rc != CUDA_ERROR_INVALID_VALUE)
		return rc;
	for (unsigned int i = 0; i < count; i++) {
		if (rc)
			*(unsigned int *)data[i] = 0;
		else if (get(data[i], (int)attributes[i], &known))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

STUB CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
				    CUdeviceptr ptr)
{
	CUresult rc = stub_ready(true);
	struct known known;

	if (!rc)
		rc = find(ptr, &known);
	if (rc)
		return rc;
	if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	if (!known.host)
		stub_set_synchronous(ptr, *(const unsigned int *)value);
	return CUDA_SUCCESS;
}
