/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of this machine, by the numbers that CUDA gives them. */
#ifndef DND_GPU_DEVICE_H
#define DND_GPU_DEVICE_H

#include "gpu/cuda.h"
#include "region/region.h"

struct dnd_gpu {
	int number;		/* from 0 */
	CUdevice device;
	char bdf[DONARD_BDF_BYTES];
};

/* Fills in the GPU with that number. */
int dnd_gpu_get(struct donard_context *ctx, const struct dnd_cuda *cuda, int number, struct dnd_gpu *gpu);
/* Finds the number for a PCI function. */
int dnd_gpu_by_address(struct donard_context *ctx, const char *bdf, unsigned int *number);
/* Finds the number of the GPU that a user named. */
int dnd_gpu_by_name(struct donard_context *ctx, const struct dnd_spec *spec, unsigned int *number);
/* How much memory that GPU has. */
int dnd_gpu_bytes(struct donard_context *ctx, unsigned int number, uint64_t *bytes);

#endif /* DND_GPU_DEVICE_H */
