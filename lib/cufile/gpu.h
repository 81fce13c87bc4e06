/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of CUDA.  This uses the library that the program has loaded, and never loads
 * it itself: a program without it has no GPU memory.
 *
 * Calls return a CUresult; 0 is success.
 */
#ifndef CUF_GPU_H
#define CUF_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "donard/memory.h"

enum cuf_kind {
	CUF_KIND_HOST,		/* host memory, and any address that CUDA does not know */
	CUF_KIND_DEVICE,
	CUF_KIND_MANAGED,	/* memory that moves between host and GPU */
	CUF_KIND_FOREIGN,	/* another device's, such as a mapping of a region; look_up() never says so */
};

/* What a pointer points to. */
struct cuf_pointer {
	enum cuf_kind kind;
	void *context;		/* for CUF_KIND_DEVICE, as is the range of its allocation: */
	uint64_t start, bytes;
};

/* The library has one set of these calls, its tests another. */
struct cuf_gpu {
	/* Without CUDA all memory is the host's. */
	int (*look_up)(const void *pointer, struct cuf_pointer *found);
	/* Pins GPU memory as memory of donard.  Returns 0 or -errno, with the context's text. */
	int (*pin)(struct donard_context *ctx, void *pointer, uint64_t bytes, struct donard_memory **memory);
	int (*allocate)(void *context, size_t bytes, void **pointer);
	void (*free)(void *context, void *pointer);
	/* Opens a stream of our own, which is not ordered with the program's streams. */
	int (*open_stream)(void *context, void **stream);
	/* A number that no other allocation has or had; after a reset, another allocation may get the same address. */
	int (*identify)(const void *pointer, uint64_t *number);
	void (*close_stream)(void *context, void *stream);
	/* Copies between any two of host and device, and returns when the copy is complete. */
	int (*copy)(void *context, void *stream, void *to, const void *from, size_t bytes);
	/* Makes the call in the order of the program's stream, which continues when @call returns. */
	int (*call_in_stream)(void *stream, void (*call)(void *), void *data);
	int (*wait_for_stream)(void *stream);
	/* Does CUDA know this stream, even if it failed?  Does not wait. */
	bool (*is_stream)(void *stream);
	/* Is the stream being captured into a graph, which may run never or often? */
	bool (*is_captured)(void *stream);
};

extern const struct cuf_gpu *cuf_gpu;

/* pin.c: the pin of the library */
int cuf_gpu_pin(struct donard_context *ctx, void *pointer, uint64_t bytes, struct donard_memory **memory);

#endif /* CUF_GPU_H */
