/* SPDX-License-Identifier: Apache-2.0 */
/* Registered buffers, by their first address. */
#ifndef CUF_BUFFERS_H
#define CUF_BUFFERS_H

#include "cufile/gpu.h"

struct cuf_buffer {
	uint64_t base, bytes;
	bool taken;			/* out of the table, where the same address may be registered anew; atomic */
	struct cuf_pointer pointer;
	uint64_t number;		/* for CUF_KIND_DEVICE: identifies the allocation */
	struct donard_memory *memory;	/* the pinned memory, in the context of CUF_LOCK_PINS; or NULL */
	struct donard_memory_info info;	/* of the pinned memory; read without that lock */
};

static inline bool cuf_buffer_has(const struct cuf_buffer *buffer, uint64_t start, uint64_t bytes)
{
	return start >= buffer->base && bytes <= buffer->bytes && start - buffer->base <= buffer->bytes - bytes;
}

/* Returns 0 or a code; with CUF_CUDA_DRIVER_ERROR, *cuda is the CUresult. */
int cuf_buffer_register(const void *base, size_t bytes, int *cuda);
/* Takes the buffer out of the table; it stays in use until cuf_buffer_free().  NULL: there is none. */
struct cuf_buffer *cuf_buffer_take(const void *base);
void cuf_buffer_free(struct cuf_buffer *buffer);
/* The caller holds the home's lock.  Find a buffer by its first address, or one that has all these bytes. */
struct cuf_buffer *cuf_buffer_find(uint64_t base);
struct cuf_buffer *cuf_buffer_around(uint64_t start, uint64_t bytes);
/*
 * The caller does not hold it.  Do these bytes lie in a registered buffer of a GPU that is pinned?  *context is the
 * buffer's then; it may be NULL.
 */
bool cuf_buffer_is_pinned(uint64_t base, int64_t offset, uint64_t bytes, void **context);
/* Was registered GPU memory freed, or did it end with its context?  Its address may be another allocation's by now. */
bool cuf_buffer_is_gone(const struct cuf_buffer *buffer);
void cuf_buffers_end(void);

#endif /* CUF_BUFFERS_H */
