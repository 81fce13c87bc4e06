/* SPDX-License-Identifier: Apache-2.0 */
/* When a GPU sees what its peers have written into its memory. */
#ifndef DND_GPU_ORDER_H
#define DND_GPU_ORDER_H

#include "gpu/range.h"

/*
 * Does the GPU need a flush before it sees its peers' writes, and can this process make that flush?  Most GPUs order such
 * writes by themselves.  CUDA before 11.3 can neither tell nor flush: then this returns false.
 */
bool dnd_gpu_needs_flush(const struct dnd_cuda *cuda, const struct dnd_gpu *gpu);
/* Afterwards the GPU's kernels and copies in the range's context see what was written before. */
int dnd_gpu_flush(struct donard_context *ctx, const struct dnd_cuda *cuda, const struct dnd_gpu_range *range);

#endif /* DND_GPU_ORDER_H */
