// SPDX-License-Identifier: Apache-2.0
/*
 * See streams.h.  The stream calls us when it is a request's turn, and continues when we
 * return.  In that call CUDA's own calls are forbidden, so the request runs in a thread of
 * the pool meanwhile.  Requests that need CUDA to copy do not wait for their turn at all:
 * see can_wait_for_its_turn().
 *
 * The stream gets only the number of a request, because a stream that failed may never
 * call; then the request ends when the stream is deregistered.
 */
#include <pthread.h>
#include <stdlib.h>

#include "cufile/buffers.h"
#include "cufile/calls.h"
#include "cufile/codes.h"
#include "cufile/driver.h"
#include "cufile/files.h"
#include "cufile/gpu.h"
#include "cufile/locks.h"
#include "cufile/map.h"
#include "cufile/pool.h"
#include "cufile/settings.h"
#include "cufile/streams.h"
#include "cufile/transfer.h"
#include "gpu/cuda.h"

#define KNOWN_FLAGS	(CUF_STREAM_FIXED_OFFSET | CUF_STREAM_FIXED_FILE_OFFSET | CUF_STREAM_FIXED_BYTES | \
			 CUF_STREAM_ALIGNED)

struct request {
	struct cuf_job job;	/* first, so that the pool's job is the request */
	void *stream;
	struct cuf_transfer transfer;
	unsigned int flags;	/* which arguments were read at submission */
	const size_t *bytes;
	const off_t *file_offset, *offset;
	ssize_t *done;
	pthread_mutex_t lock;
	pthread_cond_t end;
	bool begun, ended;
};

/* CUF_LOCK_STREAMS protects these.  Flags of registered streams, plus KNOWN_FLAGS + 1, so that no value is NULL. */
static struct cuf_map table;
/* Requests by number until they end; if the stream never calls, until it is deregistered. */
static struct cuf_map requests;
static uint64_t last_number;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;	/* a request was taken out of the map */

/* Adds 1, because the default stream is NULL, and keys must not be 0. */
static uint64_t key_of(const void *stream)
{
	return (uint64_t)(uintptr_t)stream + 1;
}

static unsigned int flags_of(const void *stream)
{
	unsigned int flags;

	cuf_lock(CUF_LOCK_STREAMS);
	flags = (unsigned int)(uintptr_t)cuf_map_get(&table, key_of(stream)) & KNOWN_FLAGS;
	cuf_unlock(CUF_LOCK_STREAMS);
	return flags;
}

static void free_request(struct request *request)
{
	pthread_cond_destroy(&request->end);
	pthread_mutex_destroy(&request->lock);
	free(request);
}

static uint64_t number_of_one_in(const void *stream)
{
	for (size_t i = 0; i < requests.room; i++) {
		const struct request *request = requests.entries[i].value;

		if (requests.entries[i].key && request->stream == stream)
			return requests.entries[i].key;
	}
	return 0;
}

/*
 * For a stream that failed; the caller holds the lock.  Waits for requests that have begun, and frees the others.  Does
 * not write to where their results should go, because that memory may be gone.
 */
static bool end_requests_in(const void *stream)
{
	struct request *request;
	uint64_t number;
	bool any = false;

	for (; (number = number_of_one_in(stream)); any = true) {
		request = cuf_map_get(&requests, number);
		if (request->begun)
			pthread_cond_wait(&change, &cuf_locks[CUF_LOCK_STREAMS]);
		else
			free_request(cuf_map_take(&requests, number));
	}
	return any;
}

/* A request whose turn comes later ends with the code for a closed driver (in_turn()). */
void cuf_streams_end(void)
{
	cuf_lock(CUF_LOCK_STREAMS);
	cuf_map_free(&table);
	cuf_unlock(CUF_LOCK_STREAMS);
}

/* Streams, requests and their results are the parent's. */
void cuf_streams_after_fork(void)
{
	pthread_cond_init(&change, NULL);
	for (size_t i = 0; i < requests.room; i++)
		if (requests.entries[i].key)
			free(requests.entries[i].value);
	cuf_map_free(&requests);
	cuf_map_free(&table);
}

/* Is this an error that ends a context, such as CUDA_ERROR_ILLEGAL_ADDRESS, and not one of a wrong call? */
static bool has_failed(int result)
{
	return (result >= 700 && result < 800) || result == CUDA_ERROR_ECC_UNCORRECTABLE || result == 999;
}

CUF_PUBLIC struct cuf_error cuFileStreamRegister(void *stream, unsigned int flags)
{
	int rc;

	if (flags & ~KNOWN_FLAGS)
		return cuf_error(CUF_INVALID_VALUE);
	if (cuf_gpu->is_captured(stream))
		return cuf_error(CUF_ASYNC_NOT_SUPPORTED);
	if (!cuf_gpu->is_stream(stream))
		return cuf_error(CUF_INVALID_VALUE);
	rc = cuf_driver_need();
	if (rc)
		return cuf_error(rc);
	cuf_lock(CUF_LOCK_STREAMS);
	cuf_map_take(&table, key_of(stream));
	rc = cuf_map_put(&table, key_of(stream), (void *)(uintptr_t)(flags | (KNOWN_FLAGS + 1)));
	cuf_unlock(CUF_LOCK_STREAMS);
	cuf_driver_leave();
	return cuf_error(rc ? CUF_INTERNAL_ERROR : 0);
}

/* The stream may have been used without registration, and it may have failed. */
CUF_PUBLIC struct cuf_error cuFileStreamDeregister(void *stream)
{
	int rc = cuf_driver_check();
	bool known, failed;

	if (rc)
		return cuf_error(rc);
	if (cuf_gpu->is_captured(stream))
		return cuf_error(CUF_ASYNC_NOT_SUPPORTED);
	failed = has_failed(cuf_gpu->wait_for_stream(stream));
	cuf_lock(CUF_LOCK_STREAMS);
	known = cuf_map_take(&table, key_of(stream));
	if (failed)
		known |= end_requests_in(stream);
	cuf_unlock(CUF_LOCK_STREAMS);
	return cuf_error(known || cuf_gpu->is_stream(stream) ? CUF_SUCCESS : CUF_INVALID_VALUE);
}

/* ---- a request's turn ---- */

static void read_arguments(struct request *request, bool fixed)
{
	if (!(request->flags & CUF_STREAM_FIXED_BYTES) == !fixed)
		request->transfer.bytes = *request->bytes;
	if (!(request->flags & CUF_STREAM_FIXED_FILE_OFFSET) == !fixed)
		request->transfer.file_offset = *request->file_offset;
	if (!(request->flags & CUF_STREAM_FIXED_OFFSET) == !fixed)
		request->transfer.offset = *request->offset;
}

static void run(struct cuf_job *job)
{
	struct request *request = (struct request *)job;

	*request->done = cuf_returned(cuf_transfer(&request->transfer));
	pthread_mutex_lock(&request->lock);
	request->ended = true;
	pthread_cond_signal(&request->end);
	pthread_mutex_unlock(&request->lock);
}

/* Returns NULL if the request had its turn already, or does not exist any more. */
static struct request *begin_request(void *number)
{
	struct request *request;

	cuf_lock(CUF_LOCK_STREAMS);
	request = cuf_map_get(&requests, (uintptr_t)number);
	if (request && request->begun)
		request = NULL;
	if (request)
		request->begun = true;
	cuf_unlock(CUF_LOCK_STREAMS);
	return request;
}

static void end_request(void *number)
{
	struct request *request;

	cuf_lock(CUF_LOCK_STREAMS);
	request = cuf_map_take(&requests, (uintptr_t)number);
	pthread_cond_broadcast(&change);
	cuf_unlock(CUF_LOCK_STREAMS);
	if (request)
		free_request(request);
}

static void in_turn(void *number)
{
	struct request *request = begin_request(number);
	int code;

	if (!request)
		return;
	read_arguments(request, false);
	request->job.run = run;
	code = cuf_driver_check();
	if (!code)
		code = cuf_pool_add(CUF_POOL_STREAMS, &request->job);
	if (code) {
		*request->done = -code;
	} else {
		pthread_mutex_lock(&request->lock);
		while (!request->ended)
			pthread_cond_wait(&request->end, &request->lock);
		pthread_mutex_unlock(&request->lock);
	}
	end_request(number);
}

/* ---- submission ---- */

static int check_handle(void *handle)
{
	int rc = cuf_driver_check();

	if (rc)
		return rc;
	cuf_home_lock();
	rc = cuf_file_find((uintptr_t)handle) ? 0 : CUF_HANDLE_NOT_REGISTERED;
	cuf_home_unlock();
	return rc;
}

static bool is_aligned(const struct cuf_file *file, const struct cuf_transfer *transfer)
{
	uint64_t address = transfer->base + (uint64_t)transfer->offset;

	return file->align && address % file->memory_align == 0 && (uint64_t)transfer->file_offset % file->align == 0 &&
	       transfer->bytes && transfer->bytes % file->align == 0;
}

/*
 * Will the request need no copy by CUDA, if its arguments do not change?  If compatibility mode is allowed, a request that
 * finds no route goes through DRAM, and CUDA copies for it.  So the drive must then have reached the GPU before, in the same
 * direction.
 */
static bool goes_straight(const struct request *request)
{
	struct cuf_transfer now = request->transfer;
	const struct cuf_file *file;
	void *context = NULL;
	bool straight;

	now.bytes = *request->bytes;
	now.file_offset = *request->file_offset;
	now.offset = *request->offset;
	if (!cuf_buffer_is_pinned(now.base, now.offset, now.bytes, &context))
		return false;
	cuf_home_lock();
	file = cuf_file_find(now.handle);
	straight = file && is_aligned(file, &now) &&
		   (!cuf_flag(CUF_FLAG_ALLOW_COMPAT) || cuf_file_has_reached(file, now.writes, context));
	cuf_home_unlock();
	return straight;
}

static bool is_on_host(const struct request *request)
{
	struct cuf_pointer found;

	return !cuf_gpu->look_up((void *)(uintptr_t)request->transfer.base, &found) && found.kind == CUF_KIND_HOST;
}

/*
 * Only a request that needs no copy by CUDA can run when the stream calls for it, because the program's cuMemFree() waits for
 * all streams, and the driver makes no copy meanwhile (seen with 580.159): cuMemFree() would wait for this stream, and this
 * stream for the copy.  The program may still change the size or offsets so that a copy is needed.  If it deregisters the
 * buffer, the request fails (target.c).
 */
static bool can_wait_for_its_turn(const struct request *request)
{
	return request->stream && (is_on_host(request) || goes_straight(request));
}

/* Waits for the stream, and does the request before the call returns. */
static struct cuf_error do_now(struct request *request)
{
	int cuda = cuf_gpu->wait_for_stream(request->stream);

	if (!cuda) {
		read_arguments(request, false);
		*request->done = cuf_returned(cuf_transfer(&request->transfer));
	}
	free_request(request);
	return cuda ? cuf_cuda_error(cuda) : cuf_error(CUF_SUCCESS);
}

static int add_request(struct request *request, void **number)
{
	int rc;

	cuf_lock(CUF_LOCK_STREAMS);
	rc = cuf_map_put(&requests, ++last_number, request) ? CUF_INTERNAL_ERROR : 0;
	*number = (void *)(uintptr_t)last_number;
	cuf_unlock(CUF_LOCK_STREAMS);
	return rc;
}

static struct cuf_error submit(struct request *request)
{
	void *number, *stream = request->stream;	/* the request may be freed once it is added */
	int rc, cuda;

	request->flags = flags_of(request->stream);
	read_arguments(request, true);
	if (!can_wait_for_its_turn(request))
		return do_now(request);
	request->transfer.in_stream = true;
	rc = add_request(request, &number);
	if (rc) {
		free_request(request);
		return cuf_error(rc);
	}
	cuda = cuf_gpu->call_in_stream(stream, in_turn, number);
	if (!cuda)
		return cuf_error(CUF_SUCCESS);
	end_request(number);
	return cuf_cuda_error(cuda);
}

static int check(const struct request *asked)
{
	if (!asked->bytes || !asked->file_offset || !asked->offset || !asked->done || !asked->transfer.base)
		return CUF_INVALID_VALUE;
	if (cuf_gpu->is_captured(asked->stream))
		return CUF_ASYNC_NOT_SUPPORTED;
	return check_handle((void *)(uintptr_t)asked->transfer.handle);
}

static struct cuf_error enqueue(const struct request *asked)
{
	struct request *request;
	int rc = check(asked);

	if (rc)
		return cuf_error(rc);
	request = malloc(sizeof(*request));
	if (!request)
		return cuf_error(CUF_INTERNAL_ERROR);
	*request = *asked;
	pthread_mutex_init(&request->lock, NULL);
	pthread_cond_init(&request->end, NULL);
	return submit(request);
}

CUF_PUBLIC struct cuf_error cuFileReadAsync(void *handle, void *base, size_t *bytes, off_t *file_offset,
					    off_t *offset, ssize_t *done, void *stream)
{
	return enqueue(&(struct request){
		.transfer = { .handle = (uintptr_t)handle, .base = (uintptr_t)base },
		.stream = stream, .bytes = bytes, .file_offset = file_offset, .offset = offset, .done = done,
	});
}

CUF_PUBLIC struct cuf_error cuFileWriteAsync(void *handle, void *base, size_t *bytes, off_t *file_offset,
					     off_t *offset, ssize_t *done, void *stream)
{
	return enqueue(&(struct request){
		.transfer = { .handle = (uintptr_t)handle, .base = (uintptr_t)base, .writes = true },
		.stream = stream, .bytes = bytes, .file_offset = file_offset, .offset = offset, .done = done,
	});
}
