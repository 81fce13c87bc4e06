/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU memory as struct donard_memory: pinned into an open file of the GPU's region, so
 * that other devices reach it.
 */
#ifndef DND_GPU_PIN_H
#define DND_GPU_PIN_H

#include "memory/memory.h"

/* Did donard_memory_alloc_cuda() make this memory? */
bool dnd_gpu_allocated(const struct donard_memory *memory);
/* CUDA's copies move bytes of such a memory.  A failure has a text. */
int dnd_gpu_load(const struct donard_memory *memory, uint64_t offset, void *to, size_t bytes);
int dnd_gpu_store(const struct donard_memory *memory, uint64_t offset, const void *from, size_t bytes);

#endif /* DND_GPU_PIN_H */
