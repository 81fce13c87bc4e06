/* SPDX-License-Identifier: Apache-2.0 */
/* GPU memory that donard itself allocates. */
#ifndef DND_GPU_ALLOC_H
#define DND_GPU_ALLOC_H

#include "gpu/range.h"

/* Allocates whole pages on the GPU with that number, in its primary context. */
int dnd_gpu_alloc(struct donard_context *ctx, const struct dnd_cuda *cuda, int number, uint64_t bytes,
		  struct dnd_gpu_range *range);
/* Frees them; does nothing to another allocation that has the address by now. */
void dnd_gpu_free(const struct dnd_cuda *cuda, const struct dnd_gpu_range *range);

#endif /* DND_GPU_ALLOC_H */
