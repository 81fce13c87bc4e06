/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of CUDA.  Its library is looked for where the program has loaded
 * it, and never loaded from here: a program without it has no GPU memory.
 *
 * Calls return a CUresult, of which 0 is success.
 */
#ifndef CUF_GPU_H
#define CUF_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "donard/memory.h"

enum cuf_kind {
	CUF_KIND_HOST,		/* the CPU's, and any address that CUDA does not know */
	CUF_KIND_DEVICE,
	CUF_KIND_MANAGED,	/* moves between both */
	CUF_KIND_FOREIGN,	/* of a device, and not CUDA's: a mapping of a region, say.  look_up() never says so */
};

/* Where a pointer points to. */
struct cuf_pointer {
	enum cuf_kind kind;
	void *context;		/* of CUF_KIND_DEVICE; and of which allocation: */
	uint64_t start, bytes;
};

/* One set for the library, another for its tests. */
struct cuf_gpu {
	/* Without CUDA everything is the host's. */
	int (*look_up)(const void *pointer, struct cuf_pointer *found);
	/* Pinned memory of donard: 0 or -errno, with the context's text. */
	int (*pin)(struct donard_context *ctx, void *pointer, uint64_t bytes, struct donard_memory **memory);
	int (*allocate)(void *context, size_t bytes, void **pointer);
	void (*free)(void *context, void *pointer);
	/* Ours: in no order with the program's streams. */
	int (*open_stream)(void *context, void **stream);
	/* A number that no other allocation has or had: after a reset the same address is another one's. */
	int (*identify)(const void *pointer, uint64_t *number);
	void (*close_stream)(void *context, void *stream);
	/* Both may be the host's or the device's; returns when it is done. */
	int (*copy)(void *context, void *stream, void *to, const void *from, size_t bytes);
	/* In the order of the program's stream: the stream goes on when @call returns. */
	int (*call_in_stream)(void *stream, void (*call)(void *), void *data);
	int (*wait_for_stream)(void *stream);
	/* Without waiting: does CUDA know it?  A stream that failed is still one. */
	bool (*is_stream)(void *stream);
	/* Into a graph, which may run never or often. */
	bool (*is_captured)(void *stream);
};

extern const struct cuf_gpu *cuf_gpu;

/* pin.c: by the library */
int cuf_gpu_pin(struct donard_context *ctx, void *pointer, uint64_t bytes, struct donard_memory **memory);

#endif /* CUF_GPU_H */
