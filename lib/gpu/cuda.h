/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the CUDA driver API that donard uses, declared after its public
 * documentation and under the names used there.  It has numbers and types, but no
 * functions: these are looked up in libcuda.so.1 at run time.  libcufile uses this file,
 * too, and looks them up itself if the program has loaded that library.
 * tests/host/cudaapi.sh compares all of it with Debian's cuda.h.
 */
#ifndef DND_CUDA_H
#define DND_CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;

typedef enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_DEINITIALIZED = 4,
	CUDA_ERROR_STUB_LIBRARY = 34,
	CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_ECC_UNCORRECTABLE = 214,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_NOT_PERMITTED = 800,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_SYSTEM_NOT_READY = 802,
	CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
	CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
	CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
	CUDA_ERROR_UNKNOWN = 999,
} CUresult;

typedef enum {
	CU_POINTER_ATTRIBUTE_CONTEXT = 1,
	CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
	CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
	CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
	CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
	CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
	CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
	CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
	CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
} CUpointer_attribute;

enum {
	CU_MEMORYTYPE_HOST = 1,
	CU_MEMORYTYPE_DEVICE = 2,
};

enum {
	CU_STREAM_NON_BLOCKING = 1,
};

enum {
	CU_EVENT_DISABLE_TIMING = 2,
};

typedef enum {
	CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
	CU_STREAM_CAPTURE_MODE_RELAXED = 2,
} CUstreamCaptureMode;

typedef enum {
	CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX = 0,
} CUflushGPUDirectRDMAWritesTarget;

typedef enum {
	CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER = 100,
} CUflushGPUDirectRDMAWritesScope;

typedef enum {
	CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS = 117,
	CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING = 118,
} CUdevice_attribute;

enum {
	CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST = 1,
};

enum {
	CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE = 0,
	CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER = 100,
};

/* The calls; driver.c has the symbol for each. */
struct dnd_cuda {
	CUresult (*init)(unsigned int flags);
	CUresult (*error_name)(CUresult rc, const char **name);
	CUresult (*device_get)(CUdevice *device, int ordinal);
	CUresult (*device_count)(int *count);
	CUresult (*device_bdf)(char *text, int bytes, CUdevice device);
	CUresult (*device_bytes)(size_t *bytes, CUdevice device);
	CUresult (*device_attribute)(int *value, CUdevice_attribute attribute, CUdevice device);
	CUresult (*state)(CUdevice device, unsigned int *flags, int *active);
	CUresult (*retain)(CUcontext *context, CUdevice device);
	CUresult (*release)(CUdevice device);
	CUresult (*push)(CUcontext context);
	CUresult (*pop)(CUcontext *context);
	CUresult (*alloc)(CUdeviceptr *address, size_t bytes);
	CUresult (*free)(CUdeviceptr address);
	CUresult (*to_host)(void *to, CUdeviceptr from, size_t bytes);
	CUresult (*from_host)(CUdeviceptr to, const void *from, size_t bytes);
	CUresult (*range)(CUdeviceptr *base, size_t *bytes, CUdeviceptr address);
	CUresult (*get_attribute)(void *value, CUpointer_attribute attribute, CUdeviceptr address);
	CUresult (*set_attribute)(const void *value, CUpointer_attribute attribute, CUdeviceptr address);
	CUresult (*capture_mode)(CUstreamCaptureMode *mode);
	/* NULL before CUDA 11.3 */
	CUresult (*flush)(CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope);
};

#endif /* DND_CUDA_H */
