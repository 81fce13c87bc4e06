/* SPDX-License-Identifier: Apache-2.0 */
/* Registered buffers, by their first address. */
#ifndef CUF_BUFFERS_H
#define CUF_BUFFERS_H

#include "cufile/gpu.h"

struct cuf_buffer {
	uint64_t base, bytes;
	struct cuf_pointer pointer;
	uint64_t number;		/* of CUF_KIND_DEVICE: which allocation that is */
	struct donard_memory *memory;	/* pinned, in the home's context; or NULL */
};

static inline bool cuf_buffer_has(const struct cuf_buffer *buffer, uint64_t start, uint64_t bytes)
{
	return start >= buffer->base && bytes <= buffer->bytes && start - buffer->base <= buffer->bytes - bytes;
}

/* 0, a code, or a CUresult in @cuda beside CUF_CUDA_DRIVER_ERROR. */
int cuf_buffer_register(const void *base, size_t bytes, int *cuda);
/* As with files: in no table any more, and in use until it is freed. */
struct cuf_buffer *cuf_buffer_take(const void *base);
void cuf_buffer_free(struct cuf_buffer *buffer);
/* With the home's lock held: by its first address; or one that has all these bytes. */
struct cuf_buffer *cuf_buffer_find(uint64_t base);
struct cuf_buffer *cuf_buffer_around(uint64_t start, uint64_t bytes);
/* GPU memory that was freed, or ended with its context, while it is registered: the address may be another's. */
bool cuf_buffer_is_gone(const struct cuf_buffer *buffer);
void cuf_buffers_end(void);

#endif /* CUF_BUFFERS_H */
