// SPDX-License-Identifier: Apache-2.0
/* The driver, its device and contexts. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stub.h"

struct CUctx_st {
	bool live;
	unsigned int retained;	/* of the primary one */
};

#define STACK 16

static int node = -1;
static bool inherited;		/* by fork(): of no use in a child */
static struct CUctx_st primary, others[STACK];
static __thread CUcontext stack[STACK];
static __thread int depth;

CUcontext stub_context(void)
{
	return depth ? stack[depth - 1] : NULL;
}

bool stub_lever(const char *name)
{
	const char *value = getenv(name);

	return value && *value == '1';
}

CUresult stub_ready(bool context)
{
	if (node < 0 || inherited)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (context && !stub_context())
		return CUDA_ERROR_INVALID_CONTEXT;
	return context && !stub_context()->live ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

/* The environment is looked at last: a program asks with each request. */
CUresult stub_ready_to_tell(void)
{
	return stub_ready((!stub_context() || !stub_context()->live) && stub_lever("LAB_CUDA_STRICT"));
}

CUresult stub_call(unsigned long request, void *arg)
{
	if (!ioctl(node, request, arg))
		return CUDA_SUCCESS;
	switch (errno) {
	case ENOMEM:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case ENODEV:
		return CUDA_ERROR_NO_DEVICE;
	case EOPNOTSUPP:
	case 524:
		return CUDA_ERROR_NOT_SUPPORTED;
	case ENOENT:
	case EINVAL:
		return CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_ERROR_UNKNOWN;
	}
}

static void in_child(void)
{
	inherited = node >= 0;
}

/* Calling getpid() instead would cost a system call for each question about a pointer, and CUDA makes none. */
__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

STUB CUresult cuInit(unsigned int flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (node >= 0)
		return stub_ready(false);
	node = open("/dev/" NVLAB_NODE, O_RDWR | O_CLOEXEC);
	return node < 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

STUB CUresult cuDriverGetVersion(int *version)
{
	*version = 12040;
	return CUDA_SUCCESS;
}

/* --- the device --- */

static CUresult device(CUdevice dev)
{
	CUresult rc = stub_ready(false);

	return rc ? rc : dev ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

STUB CUresult cuDeviceGetCount(int *count)
{
	*count = 1;
	return stub_ready(false);
}

STUB CUresult cuDeviceGet(CUdevice *dev, int ordinal)
{
	*dev = ordinal;
	return device(ordinal);
}

STUB CUresult cuDeviceGetName(char *name, int length, CUdevice dev)
{
	snprintf(name, (size_t)length, "NVIDIA of the lab");
	return device(dev);
}

STUB CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	memcpy(uuid->bytes, "the lab's GPU 0", sizeof(uuid->bytes));
	return device(dev);
}

STUB CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	return cuDeviceGetUuid_v2(uuid, dev);
}

static CUresult ask(CUdevice dev, struct nvlab_device *about)
{
	CUresult rc = device(dev);

	return rc ? rc : stub_call(NVLAB_DEVICE, about);
}

STUB CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	struct nvlab_device about = { 0 };
	CUresult rc = ask(dev, &about);

	*bytes = stub_lever("LAB_CUDA_LARGE") ? 4 * about.vram_bytes : about.vram_bytes;
	return rc;
}

STUB CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	struct nvlab_device about = { 0 };
	CUresult rc = stub_ready(true);

	if (!rc)
		rc = ask(0, &about);
	*free_bytes = about.free_bytes;
	*total = about.vram_bytes;
	return rc;
}

STUB CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice dev)
{
	struct nvlab_device about = { 0 };
	CUresult rc = ask(dev, &about);

	if (rc)
		return rc;
	switch ((int)attribute) {
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*value = (int)about.bus;
		break;
	case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
		*value = (int)about.device;
		break;
	case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
		*value = (int)about.domain;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*value = 9;
		break;
	case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
	case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
	case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
	case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS:
	case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
		*value = 1;
		break;
	case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING:
		*value = stub_lever("LAB_CUDA_UNORDERED") ? CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE :
			 CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES;
		break;
	default:
		*value = 0;
	}
	return CUDA_SUCCESS;
}

STUB CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice dev)
{
	struct nvlab_device about = { 0 };
	CUresult rc = ask(dev, &about);

	if (!rc)
		snprintf(text, (size_t)length, "%04X:%02X:%02X.%x", about.domain, about.bus,
			 about.device, about.function);
	return rc;
}

STUB CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *text)
{
	char own[32];
	CUresult rc = cuDeviceGetPCIBusId(own, sizeof(own), 0);

	*dev = 0;
	return rc ? rc : strcasecmp(own, text) ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

/* The lab's BAR needs no flush, so only a failure shows that a program flushes. */
STUB CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
					 CUflushGPUDirectRDMAWritesScope scope)
{
	if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
	    (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER && (int)scope != 200))
		return CUDA_ERROR_INVALID_VALUE;
	return stub_lever("LAB_CUDA_FLUSH_FAILS") ? CUDA_ERROR_LAUNCH_FAILED : stub_ready(true);
}

/* --- contexts --- */

/* A context that is still on a thread's stack is dead afterwards. */
static void end(CUcontext context)
{
	stub_drain();
	stub_free_all(context);
	stub_forget_hosts(context);
	context->live = false;
}

STUB CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice dev)
{
	CUresult rc = device(dev);

	if (rc)
		return rc;
	primary.live = true;
	primary.retained++;
	*context = &primary;
	return CUDA_SUCCESS;
}

STUB CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	CUresult rc = device(dev);

	if (rc)
		return rc;
	if (!primary.retained)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!--primary.retained && primary.live)
		end(&primary);
	return CUDA_SUCCESS;
}

STUB CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return cuDevicePrimaryCtxRelease_v2(dev);
}

/* Frees everything in the context, however often it was retained; retaining it again returns the same context. */
STUB CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	CUresult rc = device(dev);

	if (rc || !primary.live)
		return rc;
	end(&primary);
	return CUDA_SUCCESS;
}

STUB CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	*flags = 0;
	*active = primary.live;
	return device(dev);
}

/*
 * The primary one may be pushed at any time, and calls fail in it while it is not active. A destroyed one of
 * cuCtxCreate() is memory that NVIDIA's driver (580) has freed, and writes into: the program dies, now or later.
 */
STUB CUresult cuCtxPushCurrent_v2(CUcontext context)
{
	CUresult rc = stub_ready(false);

	if (rc)
		return rc;
	if (!context || depth == STACK)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (context != &primary && !context->live) {
		fprintf(stderr, "libcuda of the lab: a context that was destroyed is pushed\n");
		abort();
	}
	stack[depth++] = context;
	return CUDA_SUCCESS;
}

STUB CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
	CUresult rc = stub_ready(false);

	if (rc)
		return rc;
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (context)
		*context = stack[depth];
	return CUDA_SUCCESS;
}

STUB CUresult cuCtxGetCurrent(CUcontext *context)
{
	*context = stub_context();
	return stub_ready(false);
}

STUB CUresult cuCtxSetCurrent(CUcontext context)
{
	CUresult rc = stub_ready(false);

	if (rc)
		return rc;
	if (depth)
		depth--;
	return context ? cuCtxPushCurrent_v2(context) : CUDA_SUCCESS;
}

STUB CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice dev)
{
	CUresult rc = device(dev);

	(void)flags;
	for (int i = 0; !rc && i < STACK; i++) {
		if (others[i].live)
			continue;
		others[i].live = true;
		*context = &others[i];
		return cuCtxPushCurrent_v2(*context);
	}
	return rc ? rc : CUDA_ERROR_OUT_OF_MEMORY;
}

STUB CUresult cuCtxDestroy_v2(CUcontext context)
{
	if (!context || context == &primary || !context->live)
		return CUDA_ERROR_INVALID_CONTEXT;
	end(context);
	if (stub_context() == context)
		depth--;
	return CUDA_SUCCESS;
}

STUB CUresult cuCtxGetDevice(CUdevice *dev)
{
	*dev = 0;
	return stub_ready(true);
}

STUB CUresult cuCtxSynchronize(void)
{
	CUresult rc = stub_ready(true);

	if (!rc)
		stub_drain();
	return rc;
}

STUB CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	static __thread CUstreamCaptureMode now;
	CUstreamCaptureMode old = now;

	if ((unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	now = *mode;
	*mode = old;
	return stub_ready(false);
}
