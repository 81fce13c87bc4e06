/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of CUDA.  A thread of the program may have a current one or none. */
#ifndef DND_GPU_CONTEXT_H
#define DND_GPU_CONTEXT_H

#include "gpu/cuda.h"

/*
 * Calls that need a context are made between these two.  Leaving restores the thread's
 * own context and capture mode.
 */
CUresult dnd_cuda_enter(const struct dnd_cuda *cuda, CUcontext context, CUstreamCaptureMode *mode);
void dnd_cuda_leave(const struct dnd_cuda *cuda, CUstreamCaptureMode mode);
/* The first device whose primary context the program uses, or else the first device. */
CUdevice dnd_cuda_any_device(const struct dnd_cuda *cuda);

#endif /* DND_GPU_CONTEXT_H */
