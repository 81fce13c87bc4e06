/* SPDX-License-Identifier: Apache-2.0 */
/* GPU memory that is allocated by CUDA; libcuda.so.1 is loaded when it is first needed. */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H

#include "bench_copy.h"

struct bench_gpu {
	void *context;		/* the GPU's primary one, current in this thread */
	int device;
	unsigned long long address;	/* of the allocation */
	uint64_t bytes;
};

/* Returns the number in "gpu:0", or -1. */
int bench_gpu_number(const char *text);
/* Allocates memory of that GPU, in whole GPU pages; tells on stderr what fails. Returns 0 or -errno. */
int bench_gpu_alloc(struct bench_gpu *gpu, const char *name, uint64_t bytes);
/* Accepts NULL, and a struct that never had memory. */
void bench_gpu_free(struct bench_gpu *gpu);
/* Moves bytes by the GPU's own copies. */
int bench_gpu_load(const struct bench_gpu *gpu, uint64_t offset, void *to, size_t bytes);
int bench_gpu_store(const struct bench_gpu *gpu, uint64_t offset, const void *from, size_t bytes);

/*
 * For a piece that checks itself. The first fills the memory, before anything moves, with bytes that the drive does not have.
 * The second compares the piece's last block, at @place of the memory, with the drive. Both return 0 or -errno.
 */
int bench_gpu_scramble(const struct bench_gpu *gpu, const struct bench_piece *piece);
int bench_gpu_check(const struct bench_gpu *gpu, const struct bench_piece *piece, uint64_t place);

#endif /* BENCH_GPU_H */
