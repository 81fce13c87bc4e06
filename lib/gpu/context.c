// SPDX-License-Identifier: Apache-2.0
/* Contexts and devices.  A thread of the program may have a current context or none. */
#include "gpu/gpu.h"

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

static int no_such_gpu(struct donard_context *ctx, const struct dnd_cuda *cuda, int gpu)
{
	int count = 0;

	cuda->device_count(&count);
	return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "gpu:%d: there is no such GPU; CUDA sees %d, numbered from 0. "
			"CUDA_VISIBLE_DEVICES may hide some. CUDA_DEVICE_ORDER=PCI_BUS_ID numbers them as nvidia-smi does.",
			gpu, count);
}

/* CUDA writes the address in capitals, and some versions write the domain with eight digits. */
static CUresult get_bdf(const struct dnd_cuda *cuda, CUdevice device, char text[32], char bdf[DONARD_BDF_BYTES])
{
	struct dnd_bdf found;
	CUresult rc = cuda->device_bdf(text, 32, device);

	bdf[0] = '\0';
	if (!rc && !dnd_bdf_parse(text, &found))
		dnd_bdf_format(bdf, found);
	return rc;
}

static int read_bdf(struct donard_context *ctx, const struct dnd_cuda *cuda, struct dnd_gpu_range *range)
{
	char text[32] = "";
	CUresult rc = get_bdf(cuda, range->device, text, range->bdf);

	if (rc)
		return dnd_cuda_failed(ctx, cuda, rc, "gpu:%d: CUDA does not give its PCI address", range->gpu);
	if (range->bdf[0])
		return 0;
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "gpu:%d: '%s' is not the address of a PCI device: there is no BAR1 through "
			"which to reach its memory. Use a GPU on PCI Express.", range->gpu, text);
}

int dnd_gpu_by_address(struct donard_context *ctx, const char *bdf, unsigned int *gpu)
{
	char text[32], found[DONARD_BDF_BYTES];
	const struct dnd_cuda *cuda;
	CUdevice device;
	int count = 0, rc = dnd_cuda_open(ctx, &cuda);

	if (rc)
		return rc;
	cuda->device_count(&count);
	for (*gpu = 0; *gpu < (unsigned int)count; (*gpu)++)
		if (!cuda->device_get(&device, (int)*gpu) && !get_bdf(cuda, device, text, found) && !strcmp(found, bdf))
			return 0;
	return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "gpu:%s: none of CUDA's %d GPUs has this address. CUDA_VISIBLE_DEVICES may hide "
			"it; 'nvidia-smi -L' and 'lspci -k' show what there is.", bdf, count);
}

int dnd_gpu_device(struct donard_context *ctx, const struct dnd_cuda *cuda, struct dnd_gpu_range *range)
{
	CUresult rc = cuda->device_get(&range->device, range->gpu);

	if (rc == CUDA_ERROR_INVALID_DEVICE)
		return no_such_gpu(ctx, cuda, range->gpu);
	if (rc)
		return dnd_cuda_failed(ctx, cuda, rc, "gpu:%d: CUDA does not give the device", range->gpu);
	return read_bdf(ctx, cuda, range);
}
