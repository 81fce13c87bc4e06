/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda.so.1, which is loaded at first use: the build needs nothing of CUDA. */
#ifndef DND_GPU_DRIVER_H
#define DND_GPU_DRIVER_H

#include "base/base.h"
#include "gpu/cuda.h"

/* Loads and initialises the driver; fails if there is none, or no GPU. */
int dnd_cuda_open(struct donard_context *ctx, const struct dnd_cuda **cuda);
/* Fails with a text for the call that failed, the remedy, and an errno. */
int dnd_cuda_failed(struct donard_context *ctx, const struct dnd_cuda *cuda, CUresult rc,
		    const char *format, ...) DND_PRINTF(4, 5);

#endif /* DND_GPU_DRIVER_H */
