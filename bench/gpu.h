/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a GPU, as a program of CUDA has it: libcuda.so.1 is looked up when first needed. */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H

#include "bench_copy.h"

struct bench_gpu {
	void *context;		/* the GPU's primary one, current in this thread */
	int device;
	unsigned long long address;	/* of what was allocated */
	uint64_t bytes;
};

/* "gpu:0": its number, or -1. */
int bench_gpu_number(const char *text);
/* Allocates memory of that GPU, in whole GPU pages; tells on stderr what fails. Returns 0 or -errno. */
int bench_gpu_alloc(struct bench_gpu *gpu, const char *name, uint64_t bytes);
/* NULL is fine, and what was never allocated. */
void bench_gpu_free(struct bench_gpu *gpu);
/* By the GPU's own copies. */
int bench_gpu_load(const struct bench_gpu *gpu, uint64_t offset, void *to, size_t bytes);
int bench_gpu_store(const struct bench_gpu *gpu, uint64_t offset, const void *from, size_t bytes);

/*
 * What the drive cannot have by chance: for a piece that checks itself, before anything moves.
 * Then, whether the piece's last block is at @place of the memory as on the drive. 0 or -errno.
 */
int bench_gpu_scramble(const struct bench_gpu *gpu, const struct bench_piece *piece);
int bench_gpu_check(const struct bench_gpu *gpu, const struct bench_piece *piece, uint64_t place);

#endif /* BENCH_GPU_H */
