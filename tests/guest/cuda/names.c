// SPDX-License-Identifier: Apache-2.0
/* Names of errors, and calls by their names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "stub.h"

static const struct { CUresult rc; const char *name, *text; } errors[] = {
	{ CUDA_SUCCESS, "CUDA_SUCCESS", "no error" },
	{ CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
	{ CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
	{ CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" },
	{ CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down" },
	{ CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
	{ CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal" },
	{ CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
	{ CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed" },
	{ CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" },
	{ CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
	{ CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready" },
	{ CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted" },
	{ CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
	{ CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
	  "part or all of the requested memory range is already mapped" },
	{ CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
	  "pointer does not correspond to a registered memory region" },
	{ CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error" },
};

static CUresult look_up(CUresult rc, const char **name, const char **text)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].rc != rc)
			continue;
		*name = errors[i].name;
		*text = errors[i].text;
		return CUDA_SUCCESS;
	}
	*name = *text = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

STUB CUresult cuGetErrorName(CUresult rc, const char **name)
{
	const char *text;

	return look_up(rc, name, &text);
}

STUB CUresult cuGetErrorString(CUresult rc, const char **text)
{
	const char *name;

	return look_up(rc, &name, text);
}

/* The newest version of a call, as the runtime asks for it. */
STUB CUresult cuGetProcAddress_v2(const char *name, void **call, int version, uint64_t flags,
				   CUdriverProcAddressQueryResult *status)
{
	char versioned[128];
	void *self = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);

	(void)version;
	(void)flags;
	snprintf(versioned, sizeof(versioned), "%s_v2", name);
	*call = self ? dlsym(self, versioned) : NULL;
	if (self && !*call)
		*call = dlsym(self, name);
	if (self)
		dlclose(self);
	if (status)
		*status = *call ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return *call ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

STUB CUresult cuGetProcAddress(const char *name, void **call, int version, uint64_t flags)
{
	return cuGetProcAddress_v2(name, call, version, flags, NULL);
}
