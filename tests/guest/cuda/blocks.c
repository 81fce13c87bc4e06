// SPDX-License-Identifier: Apache-2.0
/*
 * Allocations.  Large ones are the lab's driver's, each with pages of its own.  Small
 * ones may be cut from a chunk, as CUDA does it: then the driver knows the chunk alone,
 * and what is freed there is given out again without a word to anybody.
 */
#include <pthread.h>

#include "stub.h"

#define BLOCKS		4096
#define CHUNKS		16
#define CHUNK_BYTES	(2ULL << 20)
#define SMALL_BYTES	(1ULL << 20)
#define ALIGN_BYTES	512

static struct stub_block blocks[BLOCKS];
static size_t block_count;	/* of the first ones, which have been in use: a program asks with each of its requests */
static struct { uint64_t at; CUcontext context; } chunks[CHUNKS];
static uint64_t last_serial;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct stub_block *block_at(CUdeviceptr at, uint64_t bytes)
{
	for (size_t i = 0; i < block_count; i++) {
		struct stub_block *b = &blocks[i];

		if (b->at && at >= b->at && at - b->at < b->bytes)
			return bytes <= b->bytes - (at - b->at) ? b : NULL;
	}
	return NULL;
}

static struct stub_block *free_record(void)
{
	for (size_t i = 0; i < block_count; i++)
		if (!blocks[i].at)
			return &blocks[i];
	return block_count < BLOCKS ? &blocks[block_count++] : NULL;
}

/* --- chunks --- */

/* Returns a block of the chunk that overlaps the range, or NULL. */
static struct stub_block *in_the_way(uint64_t chunk, uint64_t at, uint64_t bytes)
{
	for (size_t i = 0; i < block_count; i++)
		if (blocks[i].at && blocks[i].chunk == chunk && at < blocks[i].at + blocks[i].bytes &&
		    blocks[i].at < at + bytes)
			return &blocks[i];
	return NULL;
}

/* The first gap, but never at the chunk's begin: no block is aligned to a page. */
static uint64_t gap_in(uint64_t chunk, uint64_t bytes)
{
	uint64_t at = chunk + ALIGN_BYTES;
	struct stub_block *other;

	while (at + bytes <= chunk + CHUNK_BYTES) {
		other = in_the_way(chunk, at, bytes);
		if (!other)
			return at;
		at = (other->at + other->bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
	}
	return 0;
}

static CUresult cut(struct stub_block *b)
{
	struct nvlab_alloc arg = { .bytes = CHUNK_BYTES };
	CUresult rc;

	for (size_t i = 0; i < CHUNKS; i++) {
		if (chunks[i].at && chunks[i].context != b->context)
			continue;
		if (!chunks[i].at) {
			rc = stub_call(NVLAB_ALLOC, &arg);
			if (rc)
				return rc;
			chunks[i].at = arg.va;
			chunks[i].context = b->context;
		}
		b->chunk = chunks[i].at;
		b->at = gap_in(b->chunk, b->bytes);
		if (b->at)
			return CUDA_SUCCESS;
	}
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* --- */

static CUresult place(struct stub_block *b)
{
	struct nvlab_alloc arg = { .bytes = b->bytes };
	CUresult rc;

	if (b->bytes && b->bytes <= SMALL_BYTES && stub_lever("LAB_CUDA_CHUNKS"))
		return cut(b);
	rc = stub_call(NVLAB_ALLOC, &arg);
	b->at = arg.va;
	return rc;
}

CUresult stub_allocate(uint64_t bytes, enum stub_kind kind, CUdeviceptr *at)
{
	struct stub_block b = { .bytes = bytes, .kind = kind, .context = kind == STUB_POOL ? NULL : stub_context() };
	struct stub_block *record;
	CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;

	pthread_mutex_lock(&lock);
	record = free_record();
	if (record)
		rc = place(&b);
	if (!rc) {
		b.serial = ++last_serial;
		*record = b;
		*at = b.at;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

/* The driver runs callbacks in it. */
static CUresult give_back(struct stub_block *b)
{
	CUresult rc = b->chunk ? CUDA_SUCCESS : stub_call(NVLAB_FREE, &b->at);

	if (!rc)
		*b = (struct stub_block){ 0 };
	return rc;
}

CUresult stub_free(CUdeviceptr at)
{
	CUresult rc = CUDA_ERROR_INVALID_VALUE;
	struct stub_block *b;

	pthread_mutex_lock(&lock);
	b = block_at(at, 1);
	if (b && b->at == at)
		rc = give_back(b);
	pthread_mutex_unlock(&lock);
	return rc;
}

uint64_t stub_serial(void)
{
	uint64_t serial;

	pthread_mutex_lock(&lock);
	serial = ++last_serial;
	pthread_mutex_unlock(&lock);
	return serial;
}

bool stub_find(CUdeviceptr at, uint64_t bytes, struct stub_block *found)
{
	struct stub_block *b;

	pthread_mutex_lock(&lock);
	b = block_at(at, bytes);
	if (b)
		*found = *b;
	pthread_mutex_unlock(&lock);
	return b;
}

void stub_set_synchronous(CUdeviceptr at, bool on)
{
	struct stub_block *b;

	pthread_mutex_lock(&lock);
	b = block_at(at, 1);
	if (b)
		b->synchronous = on;
	pthread_mutex_unlock(&lock);
}

void stub_free_all(CUcontext context)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < block_count; i++)
		if (blocks[i].at && blocks[i].context == context)
			give_back(&blocks[i]);
	for (size_t i = 0; i < CHUNKS; i++) {
		if (!chunks[i].at || chunks[i].context != context)
			continue;
		stub_call(NVLAB_FREE, &chunks[i].at);
		chunks[i].at = 0;
	}
	pthread_mutex_unlock(&lock);
}
