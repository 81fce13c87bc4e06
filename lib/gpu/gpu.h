/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the room gpu offers: memory of a GPU that the CUDA driver API allocated,
 * pinned into an open file of the GPU's region.  libcuda.so.1 is loaded when first
 * asked for; nothing of CUDA is needed to build.
 */
#ifndef DND_GPU_H
#define DND_GPU_H

#include "gpu/cuda.h"
#include "memory/memory.h"

/* What the driver pins is pages of this size. */
#define DND_GPU_PAGE_BYTES	0x10000ULL

/* A range of an allocation of this process. */
struct dnd_gpu_range {
	CUdeviceptr address;
	uint64_t bytes;
	CUcontext context;	/* that it was allocated in; of a pool's memory the device's primary one */
	bool retained;		/* that is the primary one, which this keeps */
	CUdevice device;
	int gpu;		/* CUDA's number */
	char bdf[DONARD_BDF_BYTES];
	CUdeviceptr allocation;	/* of dnd_gpu_alloc(): what CUDA gave */
	unsigned long long identity;	/* and which one it is, of all that had this address; 0: not known */
};

/* cuda.c: the driver, initialised; fails without one, or without a GPU. */
int dnd_cuda_open(struct donard_context *ctx, const struct dnd_cuda **cuda);
/* A text of the call that failed, with the remedy, and an errno. */
int dnd_cuda_failed(struct donard_context *ctx, const struct dnd_cuda *cuda, CUresult rc,
		    const char *format, ...) DND_PRINTF(4, 5);

/*
 * context.c: calls that need a context are made between these two.  The thread's own
 * context and capture mode are the same before and after.
 */
CUresult dnd_cuda_enter(const struct dnd_cuda *cuda, CUcontext context, CUstreamCaptureMode *mode);
void dnd_cuda_leave(const struct dnd_cuda *cuda, CUstreamCaptureMode mode);
/* A device whose primary context the program uses, or the first. */
CUdevice dnd_cuda_any_device(const struct dnd_cuda *cuda);
/* CUDA's device of that number, and the PCI function that it is. */
int dnd_gpu_device(struct donard_context *ctx, const struct dnd_cuda *cuda, struct dnd_gpu_range *range);
/* And CUDA's number of a function. */
int dnd_gpu_by_address(struct donard_context *ctx, const char *bdf, unsigned int *gpu);

/*
 * range.c: what CUDA knows of that address, which is to be of an allocation with all
 * these bytes.  dnd_gpu_let_go() ends what it retained.
 */
int dnd_gpu_find(struct donard_context *ctx, const struct dnd_cuda *cuda, CUdeviceptr address,
		 uint64_t bytes, struct dnd_gpu_range *range);
void dnd_gpu_let_go(const struct dnd_cuda *cuda, const struct dnd_gpu_range *range);
/* Copies of the GPU to and from it are complete when they return: a peer sees them. */
int dnd_gpu_make_synchronous(struct donard_context *ctx, const struct dnd_cuda *cuda,
			     const struct dnd_gpu_range *range);

/* alloc.c: allocates whole pages of that GPU, in its primary context, and gives them back. */
int dnd_gpu_alloc(struct donard_context *ctx, const struct dnd_cuda *cuda, int gpu, uint64_t bytes,
		  struct dnd_gpu_range *range);
void dnd_gpu_free(const struct dnd_cuda *cuda, const struct dnd_gpu_range *range);
/* How much memory that GPU has. */
int dnd_gpu_bytes(struct donard_context *ctx, unsigned int gpu, uint64_t *bytes);

/* pin.c: bytes of a memory that donard_memory_alloc_cuda() made, by the GPU's own copies; with a text */
int dnd_gpu_load(const struct donard_memory *memory, uint64_t offset, void *to, size_t bytes);
int dnd_gpu_store(const struct donard_memory *memory, uint64_t offset, const void *from, size_t bytes);
/* What peers have written is what the GPU sees. */
int dnd_gpu_flush(const struct donard_memory *memory);

#endif /* DND_GPU_H */
