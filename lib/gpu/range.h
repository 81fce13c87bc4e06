/* SPDX-License-Identifier: Apache-2.0 */
/* A range of an allocation of GPU memory that this process has. */
#ifndef DND_GPU_RANGE_H
#define DND_GPU_RANGE_H

#include "gpu/device.h"

/* NVIDIA's driver pins pages of this size. */
#define DND_GPU_PAGE_BYTES	0x10000ULL

struct dnd_gpu_range {
	CUdeviceptr address;
	uint64_t bytes;
	CUcontext context;	/* in which it was allocated; for memory of a pool the GPU's primary one */
	bool retained;		/* this holds a reference to the primary context */
	struct dnd_gpu gpu;	/* whose memory it is */
	CUdeviceptr allocation;	/* only of dnd_gpu_alloc(): the address that CUDA returned */
	unsigned long long identity;	/* tells it from other allocations at that address; 0: not known */
};

/*
 * Fills in what CUDA knows about the address.  Fails unless one allocation contains all
 * the bytes.  dnd_gpu_let_go() releases the context that it retained.
 */
int dnd_gpu_find(struct donard_context *ctx, const struct dnd_cuda *cuda, CUdeviceptr address,
		 uint64_t bytes, struct dnd_gpu_range *range);
void dnd_gpu_let_go(const struct dnd_cuda *cuda, const struct dnd_gpu_range *range);
/* Makes the GPU's copies to and from the range synchronous: a peer sees their result when they return. */
int dnd_gpu_make_synchronous(struct donard_context *ctx, const struct dnd_cuda *cuda,
			     const struct dnd_gpu_range *range);

#endif /* DND_GPU_RANGE_H */
