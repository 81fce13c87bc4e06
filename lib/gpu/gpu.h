/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gpu offers to the rest of the library: GPU memory that the CUDA driver API
 * allocated, pinned into an open file of the GPU's region.  libcuda.so.1 is loaded at
 * first use; the build needs nothing of CUDA.
 */
#ifndef DND_GPU_H
#define DND_GPU_H

#include "gpu/cuda.h"
#include "memory/memory.h"

/* NVIDIA's driver pins pages of this size. */
#define DND_GPU_PAGE_BYTES	0x10000ULL

/* A range of an allocation of this process. */
struct dnd_gpu_range {
	CUdeviceptr address;
	uint64_t bytes;
	CUcontext context;	/* in which it was allocated; for memory of a pool the device's primary one */
	bool retained;		/* this holds a reference to the primary context */
	CUdevice device;
	int gpu;		/* CUDA's number */
	char bdf[DONARD_BDF_BYTES];
	CUdeviceptr allocation;	/* only of dnd_gpu_alloc(): the address that CUDA returned */
	unsigned long long identity;	/* tells it from other allocations at that address; 0: not known */
};

/* cuda.c: loads and initialises the driver; fails if there is none, or no GPU. */
int dnd_cuda_open(struct donard_context *ctx, const struct dnd_cuda **cuda);
/* Fails with a text for the call that failed, the remedy, and an errno. */
int dnd_cuda_failed(struct donard_context *ctx, const struct dnd_cuda *cuda, CUresult rc,
		    const char *format, ...) DND_PRINTF(4, 5);

/*
 * context.c: calls that need a context are made between these two.  Leaving restores
 * the thread's own context and capture mode.
 */
CUresult dnd_cuda_enter(const struct dnd_cuda *cuda, CUcontext context, CUstreamCaptureMode *mode);
void dnd_cuda_leave(const struct dnd_cuda *cuda, CUstreamCaptureMode mode);
/* The first device whose primary context the program uses, or else the first device. */
CUdevice dnd_cuda_any_device(const struct dnd_cuda *cuda);
/* Fills in CUDA's device with the number range->gpu, and the address of its PCI function. */
int dnd_gpu_device(struct donard_context *ctx, const struct dnd_cuda *cuda, struct dnd_gpu_range *range);
/* Finds CUDA's number for a PCI function. */
int dnd_gpu_by_address(struct donard_context *ctx, const char *bdf, unsigned int *gpu);

/*
 * range.c: fills in what CUDA knows about the address.  Fails unless one allocation
 * contains all the bytes.  dnd_gpu_let_go() releases the context that it retained.
 */
int dnd_gpu_find(struct donard_context *ctx, const struct dnd_cuda *cuda, CUdeviceptr address,
		 uint64_t bytes, struct dnd_gpu_range *range);
void dnd_gpu_let_go(const struct dnd_cuda *cuda, const struct dnd_gpu_range *range);
/* Makes the GPU's copies to and from the range synchronous: a peer sees their result when they return. */
int dnd_gpu_make_synchronous(struct donard_context *ctx, const struct dnd_cuda *cuda,
			     const struct dnd_gpu_range *range);

/* alloc.c: allocates whole pages on that GPU, in its primary context, and frees them. */
int dnd_gpu_alloc(struct donard_context *ctx, const struct dnd_cuda *cuda, int gpu, uint64_t bytes,
		  struct dnd_gpu_range *range);
void dnd_gpu_free(const struct dnd_cuda *cuda, const struct dnd_gpu_range *range);
/* How much memory that GPU has. */
int dnd_gpu_bytes(struct donard_context *ctx, unsigned int gpu, uint64_t *bytes);

/* pin.c: did donard_memory_alloc_cuda() make this memory? */
bool dnd_gpu_allocated(const struct donard_memory *memory);
/* pin.c: CUDA's copies move bytes of such a memory.  A failure has a text. */
int dnd_gpu_load(const struct donard_memory *memory, uint64_t offset, void *to, size_t bytes);
int dnd_gpu_store(const struct donard_memory *memory, uint64_t offset, const void *from, size_t bytes);
/* Afterwards the GPU sees what peers have written. */
int dnd_gpu_flush(const struct donard_memory *memory);

#endif /* DND_GPU_H */
