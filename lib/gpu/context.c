// SPDX-License-Identifier: Apache-2.0
/* See context.h. */
#include "gpu/context.h"

/*
 * While any thread captures a graph, CUDA forbids allocations and copies in the default
 * stream to every thread whose capture mode is not relaxed.
 */
CUresult dnd_cuda_enter(const struct dnd_cuda *cuda, CUcontext context, CUstreamCaptureMode *mode)
{
	CUresult rc = cuda->push(context);

	*mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	if (!rc && cuda->capture_mode(mode))
		*mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
	return rc;
}

void dnd_cuda_leave(const struct dnd_cuda *cuda, CUstreamCaptureMode mode)
{
	CUcontext popped;

	cuda->capture_mode(&mode);
	cuda->pop(&popped);
}

CUdevice dnd_cuda_any_device(const struct dnd_cuda *cuda)
{
	CUdevice device, first = 0;
	int count = 0, active;
	unsigned int flags;

	cuda->device_count(&count);
	for (int i = count - 1; i >= 0; i--) {
		if (cuda->device_get(&device, i))
			continue;
		first = device;
		if (!cuda->state(device, &flags, &active) && active)
			break;
	}
	return first;
}
