// SPDX-License-Identifier: Apache-2.0
/* Pins GPU memory as memory of donard. */
#include "cufile/gpu.h"

int cuf_gpu_pin(struct donard_context *ctx, void *pointer, uint64_t bytes, struct donard_memory **memory)
{
	return donard_memory_from_cuda(ctx, (uintptr_t)pointer, bytes, memory);
}
