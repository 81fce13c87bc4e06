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

/* The memory behind a pointer. */
struct cuf_pointer {
	enum cuf_kind kind;
	void *context;		/* for CUF_KIND_DEVICE, as is the range of its allocation: */
	uint64_t start, bytes;
};

/* The library has one set of these calls, its tests another. */
struct cuf_gpu {
	/* Without CUDA all memory counts as the host's. */
	int (*look_up)(const void *pointer, struct cuf_pointer *found);
	/* Pins GPU memory as memory of donard.  Returns 0 or -errno, with the context's text. */
	int (*pin)(struct donard_context *ctx, void *pointer, uint64_t bytes, struct donard_memory **memory);
	int (*allocate)(void *context, size_t bytes, void **pointer);
	void (*free)(void *context, void *pointer);
	/*
	 * Opens a stream for our copies.  @after_calls: copies in it come after everything that the calling thread's
	 * default stream and the legacy default stream were given before.  So they see the results of the program's copies
	 * and sets, for which not all calls of CUDA wait.  Such a copy may wait for a stream of the program that waits for
	 * a request of ours, so no thread of the pool may use it, nor a thread that holds a lock that a request needs.
	 * Without @after_calls the stream is ordered with no other.
	 */
	int (*open_stream)(void *context, bool after_calls, void **stream);
	/* Waits for everything that such a copy would come after. */
	void (*settle_calls)(void *context);
	/*
	 * Locks whole pages of the host, so that this context's copies reach them by DMA.  Otherwise the driver copies
	 * them to pages of its own first.  The lock ends with the context, and not before: CUDA's call for that would wait
	 * for all streams of the context, and one of them may wait for a request of ours.
	 */
	int (*lock_pages)(void *context, void *pointer, size_t bytes);
	/*
	 * A number that no other allocation and no other locked pages have or had; after a reset, another allocation may
	 * get the same address.  Fails if there is none any more.
	 */
	int (*identify)(const void *pointer, uint64_t *number);
	void (*close_stream)(void *context, void *stream);
	/*
	 * Copies between any two of host and device, and returns when the copy is complete.  Uses a new stream that is
	 * ordered with no other if @stream is NULL, or if it is the per-thread stream and the program captures that.
	 */
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
