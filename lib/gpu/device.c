// SPDX-License-Identifier: Apache-2.0
/* See device.h. */
#include "gpu/device.h"
#include "gpu/driver.h"

static int no_such_gpu(struct donard_context *ctx, const struct dnd_cuda *cuda, int number)
{
	int count = 0;

	cuda->device_count(&count);
	return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "gpu:%d: there is no such GPU; CUDA sees %d, numbered from 0. "
			"CUDA_VISIBLE_DEVICES may hide some. CUDA_DEVICE_ORDER=PCI_BUS_ID numbers them as nvidia-smi does.",
			number, count);
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

static int read_bdf(struct donard_context *ctx, const struct dnd_cuda *cuda, struct dnd_gpu *gpu)
{
	char text[32] = "";
	CUresult rc = get_bdf(cuda, gpu->device, text, gpu->bdf);

	if (rc)
		return dnd_cuda_failed(ctx, cuda, rc, "gpu:%d: CUDA does not give its PCI address", gpu->number);
	if (gpu->bdf[0])
		return 0;
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "gpu:%d: '%s' is not the address of a PCI device: there is no BAR1 through "
			"which to reach its memory. Use a GPU on PCI Express.", gpu->number, text);
}

int dnd_gpu_get(struct donard_context *ctx, const struct dnd_cuda *cuda, int number, struct dnd_gpu *gpu)
{
	CUresult rc;

	*gpu = (struct dnd_gpu){ .number = number };
	rc = cuda->device_get(&gpu->device, number);
	if (rc == CUDA_ERROR_INVALID_DEVICE)
		return no_such_gpu(ctx, cuda, number);
	if (rc)
		return dnd_cuda_failed(ctx, cuda, rc, "gpu:%d: CUDA does not give the device", number);
	return read_bdf(ctx, cuda, gpu);
}

int dnd_gpu_by_address(struct donard_context *ctx, const char *bdf, unsigned int *number)
{
	char text[32], found[DONARD_BDF_BYTES];
	const struct dnd_cuda *cuda;
	CUdevice device;
	int count = 0, rc = dnd_cuda_open(ctx, &cuda);

	if (rc)
		return rc;
	cuda->device_count(&count);
	for (*number = 0; *number < (unsigned int)count; (*number)++)
		if (!cuda->device_get(&device, (int)*number) && !get_bdf(cuda, device, text, found) && !strcmp(found, bdf))
			return 0;
	return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "gpu:%s: none of CUDA's %d GPUs has this address. CUDA_VISIBLE_DEVICES may hide "
			"it; 'nvidia-smi -L' and 'lspci -k' show what there is.", bdf, count);
}

int dnd_gpu_by_name(struct donard_context *ctx, const struct dnd_spec *spec, unsigned int *number)
{
	*number = spec->gpu;
	return spec->gpu_bdf[0] ? dnd_gpu_by_address(ctx, spec->gpu_bdf, number) : 0;
}

int dnd_gpu_bytes(struct donard_context *ctx, unsigned int number, uint64_t *bytes)
{
	const struct dnd_cuda *cuda;
	struct dnd_gpu gpu;
	size_t total = 0;
	CUresult found;
	int rc = dnd_cuda_open(ctx, &cuda);

	if (!rc)
		rc = dnd_gpu_get(ctx, cuda, (int)number, &gpu);
	if (rc)
		return rc;
	found = cuda->device_bytes(&total, gpu.device);
	*bytes = total;
	return found ? dnd_cuda_failed(ctx, cuda, found, "gpu:%u: CUDA does not say how much memory it has", number) : 0;
}
