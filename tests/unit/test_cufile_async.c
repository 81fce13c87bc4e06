// SPDX-License-Identifier: Apache-2.0
/*
 * libcufile's batches and streams.  Needs ext4 or xfs under /tmp, and io_uring.
 */
#include <limits.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "cufile_scene.h"

/* ---- batches ---- */

static struct cuf_batch_request batch_read(struct scene *scene, unsigned int i)
{
	return (struct cuf_batch_request){
		.mode = CUF_MODE_BATCH, .base = scene->device, .file_offset = i * 65536, .offset = i * 65536,
		.bytes = 65536, .handle = scene->handle, .operation = CUF_READ, .cookie = (void *)(uintptr_t)(i + 1),
	};
}

static void test_batch(void **state)
{
	struct scene *scene = scene_of(state);
	struct cuf_batch_request requests[32];
	struct cuf_batch_event events[32];
	unsigned int count, seen = 0;
	uint32_t cookies = 0;
	void *batch;

	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	for (unsigned int i = 0; i < 32; i++)
		requests[i] = batch_read(scene, i);
	requests[30].bytes = 1001;	/* unaligned */
	requests[31].handle = NULL;
	assert_int_equal(cuFileBatchIOSetUp(&batch, 32).code, 0);
	assert_int_equal(cuFileBatchIOSubmit(batch, 32, requests, 0).code, 0);
	assert_int_equal(cuFileBatchIOSubmit(batch, 1, requests, 0).code, CUF_BATCH_FULL);
	while (seen < 32) {
		count = 32;
		assert_int_equal(cuFileBatchIOGetStatus(batch, 1, &count, events, NULL).code, 0);
		assert_in_range(count, 1, 32);
		for (unsigned int i = 0; i < count; i++) {
			uintptr_t cookie = (uintptr_t)events[i].cookie;

			cookies |= 1U << (cookie - 1);
			assert_int_equal(events[i].status, cookie == 32 ? CUF_INVALID : CUF_COMPLETE);
			assert_int_equal((ssize_t)events[i].result, cookie == 31 ? 1001 :
					 cookie == 32 ? -CUF_HANDLE_NOT_REGISTERED : 65536);
		}
		seen += count;
	}
	assert_int_equal(cookies, UINT32_MAX);
	assert_memory_equal(scene->device, scene->data, 30 * 65536 + 1001);
	count = 32;
	assert_int_equal(cuFileBatchIOGetStatus(batch, 32, &count, events, NULL).code, 0);
	assert_int_equal(count, 0);
	requests[0].operation = CUF_WRITE;
	assert_int_equal(cuFileBatchIOSubmit(batch, 1, requests, 0).code, 0);
	count = 1;
	assert_int_equal(cuFileBatchIOGetStatus(batch, 1, &count, events, &(struct timespec){ .tv_sec = HANG_SECONDS }).code,
			 0);
	assert_int_equal(count, 1);
	assert_int_equal(events[0].result, 65536);
	/* For pinned memory the program waits, where CUDA's calls do not; for other memory the submission does. */
	assert_int_equal(gpu.settled, 0);
	assert_int_equal(cuFileBufDeregister(scene->device).code, 0);
	assert_int_equal(cuFileBatchIOSubmit(batch, 2, requests, 0).code, 0);
	assert_int_equal(gpu.settled, 1);
	cuFileBatchIODestroy(batch);
	assert_int_equal(cuFileBatchIOCancel(batch).code, CUF_INVALID_VALUE);
}

static void test_bad_batches(void **state)
{
	struct scene *scene = scene_of(state);
	struct cuf_batch_request request = batch_read(scene, 0);
	struct cuf_batch_event event;
	unsigned int count = 1;
	void *batch;

	assert_int_equal(cuFileBatchIOSetUp(&batch, 0).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileBatchIOSetUp(&batch, 129).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileBatchIOSetUp(NULL, 1).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileBatchIOSetUp(&batch, 1).code, 0);
	assert_int_equal(cuFileBatchIOSubmit(batch, 0, &request, 0).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileBatchIOSubmit(batch, 2, &request, 0).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileBatchIOSubmit(batch, 1, &request, 1).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileBatchIOSubmit(batch, 1, NULL, 0).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileBatchIOSubmit(NULL, 1, &request, 0).code, CUF_INVALID_VALUE);
	request.operation = 2;
	assert_int_equal(cuFileBatchIOSubmit(batch, 1, &request, 0).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileBatchIOGetStatus(batch, 2, &count, &event, NULL).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileBatchIOGetStatus(batch, 0, &count, &event, NULL).code, 0);
	assert_int_equal(count, 0);
	assert_int_equal(cuFileBatchIOSubmit(batch, 1, &(struct cuf_batch_request){ .mode = CUF_MODE_BATCH }, 0).code, 0);
	count = 1;
	assert_int_equal(cuFileBatchIOGetStatus(batch, 1, &count, &event,
						&(struct timespec){ .tv_sec = LONG_MAX }).code, 0);
	assert_int_equal(count, 1);
	assert_int_equal(event.status, CUF_INVALID);
	cuFileBatchIODestroy(NULL);
}

/* One thread works on the first; what waits behind it is canceled, and told so. */
static void test_cancel(void **state)
{
	struct scene *scene = *state;
	struct cuf_batch_request requests[8];
	struct cuf_batch_event events[8];
	unsigned int count = 8, canceled = 0;
	void *batch;

	write_text(scene->json, "{ \"execution\": { \"max_io_threads\": 1 } }");
	scene = scene_of(state);
	for (unsigned int i = 0; i < 8; i++) {
		requests[i] = batch_read(scene, i);
		requests[i].base = i ? scene->host : scene->device;
	}
	assert_int_equal(cuFileBatchIOSetUp(&batch, 8).code, 0);
	pthread_mutex_lock(&gpu.gate);
	assert_int_equal(cuFileBatchIOSubmit(batch, 8, requests, 0).code, 0);
	while (!__atomic_load_n(&gpu.copies, __ATOMIC_RELAXED))
		sched_yield();
	assert_int_equal(cuFileBatchIOCancel(batch).code, 0);
	pthread_mutex_unlock(&gpu.gate);
	assert_int_equal(cuFileBatchIOGetStatus(batch, 8, &count, events, NULL).code, 0);
	assert_int_equal(count, 8);
	for (unsigned int i = 0; i < 8; i++) {
		canceled += events[i].status == CUF_CANCELED;
		assert_true(events[i].status == CUF_CANCELED || events[i].status == CUF_COMPLETE);
		assert_int_equal(events[i].result, events[i].status == CUF_CANCELED ? 0 : 65536);
	}
	assert_int_equal(canceled, 7);
	assert_int_equal(counted().reads, 1);
	/* Destroyed and closed with requests in flight. */
	assert_int_equal(cuFileBatchIOSubmit(batch, 8, requests, 0).code, 0);
	cuFileBatchIODestroy(batch);
	assert_int_equal(cuFileBatchIOSetUp(&batch, 8).code, 0);
	assert_int_equal(cuFileBatchIOSubmit(batch, 8, requests, 0).code, 0);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
}

/* ---- streams ---- */

static void test_stream(void **state)
{
	struct scene *scene = scene_of(state);
	size_t bytes = BYTES;
	off_t at = 0, offset = 0;
	ssize_t first = 0, second = 0;

	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	assert_int_equal(cuFileStreamRegister(&stream, 0).code, 0);
	pthread_mutex_lock(&stream.gate);
	assert_int_equal(cuFileReadAsync(scene->handle, scene->device, &bytes, &at, &offset, &first, &stream).code, 0);
	/* Read at its turn. */
	bytes = 70001;
	at = 4096;
	offset = 3;
	assert_int_equal(first, 0);
	pthread_mutex_unlock(&stream.gate);
	assert_int_equal(cuFileWriteAsync(scene->handle, scene->device, &bytes, &at, &offset, &second, &stream).code, 0);
	assert_int_equal(gpu_wait_for_stream(&stream), 0);
	assert_int_equal(first, 70001);
	assert_int_equal(second, 70001);
	assert_memory_equal(scene->device + 3, scene->data + 4096, 70001);
	assert_file(scene, BYTES);
	assert_int_equal(cuFileStreamDeregister(&stream).code, 0);
	assert_int_equal(cuFileStreamDeregister(&stream).code, 0);	/* it need not be registered */
	assert_int_equal(cuFileStreamDeregister(&gpu).code, CUF_INVALID_VALUE);
}

static struct cuf_error read_in_stream(struct scene *scene, ssize_t *done)
{
	static size_t bytes = 8192;
	static off_t at, offset;

	return cuFileReadAsync(scene->handle, scene->host, &bytes, &at, &offset, done, &stream);
}

static void *hold_gate(void *held)
{
	pthread_mutex_lock(&stream.gate);
	__atomic_store_n((bool *)held, true, __ATOMIC_RELEASE);
	usleep(20000);
	pthread_mutex_unlock(&stream.gate);
	return NULL;
}

/*
 * CUDA makes no copy while a cuMemFree() of the program waits for a stream.  So what needs one is done when the call
 * returns, and its turn never comes.
 */
static void test_stream_that_needs_copies(void **state)
{
	struct scene *scene = scene_of(state);
	unsigned int calls = stream.calls;
	size_t bytes = 8192;
	off_t at = 4096, offset = 4096;
	ssize_t first = 0, done = 0;
	pthread_t holder;
	bool held = false;

	/* The stream's earlier work comes first. */
	pthread_create(&holder, NULL, hold_gate, &held);
	while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
		sched_yield();
	assert_int_equal(read_in_stream(scene, &first).code, 0);
	assert_int_equal(cuFileReadAsync(scene->handle, scene->device, &bytes, &at, &offset, &done, &stream).code, 0);
	assert_int_equal(first, 8192);
	assert_int_equal(done, 8192);
	pthread_join(holder, NULL);
	assert_memory_equal(scene->device + 4096, scene->data + 4096, 8192);
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	bytes = 8191;
	assert_int_equal(cuFileReadAsync(scene->handle, scene->device, &bytes, &at, &offset, &done, &stream).code, 0);
	assert_int_equal(done, 8191);
	assert_int_equal(stream.calls, calls + 1);
	bytes = 8192;
	assert_int_equal(cuFileReadAsync(scene->handle, scene->device, &bytes, &at, &offset, &done, &stream).code, 0);
	assert_int_equal(stream.calls, calls + 2);
	assert_int_equal(gpu_wait_for_stream(&stream), 0);
	assert_int_equal(done, 8192);
}

/* Its buffer is gone at its turn: CUDA would have to copy for it now, and a cuMemFree() of that buffer would wait for both. */
static void test_stream_whose_buffer_is_deregistered(void **state)
{
	struct scene *scene = scene_of(state);
	size_t bytes = 8192;
	off_t at = 0, offset = 0;
	ssize_t first = 0, second = 0;

	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	pthread_mutex_lock(&stream.gate);
	assert_int_equal(cuFileReadAsync(scene->handle, scene->device, &bytes, &at, &offset, &first, &stream).code, 0);
	assert_int_equal(cuFileBufDeregister(scene->device).code, 0);
	pthread_mutex_unlock(&stream.gate);
	assert_int_equal(gpu_wait_for_stream(&stream), 0);
	assert_int_equal(first, -CUF_MEMORY_NOT_REGISTERED);
	assert_says(scene, "buffer was deregistered, or the size or offset changed");
	/* Registered anew, but not pinned. */
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	pthread_mutex_lock(&stream.gate);
	assert_int_equal(cuFileWriteAsync(scene->handle, scene->device, &bytes, &at, &offset, &second, &stream).code, 0);
	assert_int_equal(cuFileBufDeregister(scene->device).code, 0);
	gpu.pin_fails = -EBUSY;
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	pthread_mutex_unlock(&stream.gate);
	assert_int_equal(gpu_wait_for_stream(&stream), 0);
	assert_int_equal(second, -CUF_MEMORY_NOT_REGISTERED);
	assert_int_equal(gpu.copies, 0);
	assert_file(scene, BYTES);
}

/* Runs the call in a thread of its own, and returns when that waits at a gate of CUDA's and has been counted. */
static pthread_t stand_at(pthread_mutex_t *gate, const unsigned int *count, void *(*call)(void *), struct scene *scene)
{
	pthread_t thread;

	pthread_mutex_lock(gate);
	pthread_create(&thread, NULL, call, scene);
	while (!__atomic_load_n(count, __ATOMIC_RELAXED))
		sched_yield();
	return thread;
}

static void let_through(pthread_mutex_t *gate, pthread_t thread, const struct scene *scene)
{
	void *succeeded;

	pthread_mutex_unlock(gate);
	pthread_join(thread, &succeeded);
	assert_ptr_equal(succeeded, scene);
}

static void *write_part_of_a_block(void *data)
{
	struct scene *scene = data;

	return cuFileWrite(scene->handle, scene->device, 100, 100, 0) == 100 ? scene : NULL;
}

/*
 * A write of part of a block has its blocks alone while CUDA copies for it, which may wait for the stream.  So what the
 * stream writes to other places of the file must not wait for that write.
 */
static void test_stream_beside_a_staged_write(void **state)
{
	struct scene *scene = scene_of(state);
	size_t bytes = 8192;
	off_t at = 4096, offset = 0;
	ssize_t done = 0;
	pthread_t writer = stand_at(&gpu.gate, &gpu.copies, write_part_of_a_block, scene);

	alarm(HANG_SECONDS);
	assert_int_equal(cuFileWriteAsync(scene->handle, scene->host, &bytes, &at, &offset, &done, &stream).code, 0);
	assert_int_equal(gpu_wait_for_stream(&stream), 0);
	alarm(0);
	assert_int_equal(done, 8192);
	let_through(&gpu.gate, writer, scene);
}

/*
 * If compatibility mode is allowed, only the transfer itself shows whether CUDA has to copy.  So the first request between a
 * file and a GPU is complete when the call returns.
 */
static void test_stream_that_may_fall_back(void **state)
{
	struct scene *scene = *state;
	unsigned int calls = stream.calls;
	size_t bytes = 8192;
	off_t at = 0, offset = 0;
	ssize_t done = 0;

	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	scene = scene_of(state);
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	memcpy(scene->device, scene->data, 8192);
	assert_int_equal(cuFileWrite(scene->handle, scene->device, 8192, 0, 0), 8192);	/* is no proof that a read will do */
	assert_int_equal(cuFileReadAsync(scene->handle, scene->device, &bytes, &at, &offset, &done, &stream).code, 0);
	assert_int_equal(done, 8192);
	assert_int_equal(stream.calls, calls);
	assert_int_equal(cuFileReadAsync(scene->handle, scene->device, &bytes, &at, &offset, &done, &stream).code, 0);
	assert_int_equal(stream.calls, calls + 1);
	assert_int_equal(gpu_wait_for_stream(&stream), 0);
	assert_int_equal(done, 8192);
}

static void *register_device(void *data)
{
	struct scene *scene = data;

	return cuFileBufRegister(scene->device, BYTES, 0).code ? NULL : scene;
}

/* CUDA may wait for the stream while it pins memory for a registration, so the stream must not wait for that. */
static void test_stream_beside_a_registration(void **state)
{
	struct scene *scene = scene_of(state);
	ssize_t done = 0;
	pthread_t thread = stand_at(&gpu.pin_gate, &gpu.pins, register_device, scene);

	alarm(HANG_SECONDS);
	assert_int_equal(read_in_stream(scene, &done).code, 0);
	assert_int_equal(gpu_wait_for_stream(&stream), 0);
	alarm(0);
	assert_int_equal(done, 8192);
	let_through(&gpu.pin_gate, thread, scene);
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, CUF_MEMORY_ALREADY_REGISTERED);
}

/* The thread that has a part of the file alone is the parent's, so no write of the child waits for it. */
static void test_fork_beside_a_staged_write(void **state)
{
	struct scene *scene = scene_of(state);
	pthread_t writer = stand_at(&gpu.gate, &gpu.copies, write_part_of_a_block, scene);
	int status = 0;
	pid_t child;

	child = fork();
	if (!child) {
		alarm(HANG_SECONDS);
		_exit(cuFileWrite(scene->handle, scene->host, 8192, 0, 0) != 8192);
	}
	waitpid(child, &status, 0);
	let_through(&gpu.gate, writer, scene);
	assert_int_equal(status, 0);
}

/* It waits for no thread that works on a batch: that may wait for CUDA, and CUDA for the stream. */
static void test_stream_beside_a_batch(void **state)
{
	struct scene *scene = *state;
	struct cuf_batch_request request;
	struct cuf_batch_event event;
	size_t bytes = 8192;
	unsigned int count = 1;
	off_t at = 0;
	ssize_t done = 0;
	void *batch;

	write_text(scene->json, "{ \"execution\": { \"max_io_threads\": 1 } }");
	scene = scene_of(state);
	request = batch_read(scene, 0);
	assert_int_equal(cuFileBatchIOSetUp(&batch, 1).code, 0);
	pthread_mutex_lock(&gpu.gate);
	assert_int_equal(cuFileBatchIOSubmit(batch, 1, &request, 0).code, 0);
	while (!__atomic_load_n(&gpu.copies, __ATOMIC_RELAXED))
		sched_yield();
	assert_int_equal(cuFileReadAsync(scene->handle, scene->host, &bytes, &at, &at, &done, &stream).code, 0);
	assert_int_equal(gpu_wait_for_stream(&stream), 0);
	assert_int_equal(done, 8192);
	pthread_mutex_unlock(&gpu.gate);
	assert_int_equal(cuFileBatchIOGetStatus(batch, 1, &count, &event, NULL).code, 0);
	assert_int_equal(event.result, 65536);
	/* The entry's copy comes after no call of the program, so the submission did. */
	assert_int_equal(gpu.settled, 1);
	assert_int_equal(gpu.ordered_streams, 0);
	assert_int_equal(gpu.streams, 1);
}

/* Arguments that the program promised not to change are read at once. */
static void test_fixed_stream(void **state)
{
	struct scene *scene = scene_of(state);
	size_t bytes = 8192;
	off_t at = 4096, offset = 4096;
	ssize_t done = 0;

	assert_int_equal(cuFileStreamRegister(&stream, 16).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileStreamRegister(&gpu, 15).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileStreamRegister(&stream, 15).code, 0);
	pthread_mutex_lock(&stream.gate);
	assert_int_equal(cuFileReadAsync(scene->handle, scene->host, &bytes, &at, &offset, &done, &stream).code, 0);
	bytes = 1;
	at = offset = 0;
	pthread_mutex_unlock(&stream.gate);
	assert_int_equal(gpu_wait_for_stream(&stream), 0);
	assert_int_equal(done, 8192);
	assert_memory_equal(scene->host + 4096, scene->data + 4096, 8192);
}

static void test_bad_streams(void **state)
{
	struct scene *scene = scene_of(state);
	size_t bytes = 8192;
	off_t at = 0, offset = 0;
	ssize_t done = 0;

	assert_int_equal(cuFileReadAsync(scene->handle, scene->host, NULL, &at, &offset, &done, &stream).code,
			 CUF_INVALID_VALUE);
	assert_int_equal(cuFileReadAsync(NULL, scene->host, &bytes, &at, &offset, &done, &stream).code,
			 CUF_HANDLE_NOT_REGISTERED);
	assert_int_equal(cuFileReadAsync(scene->handle, scene->host, &bytes, &at, &offset, &done, &gpu).code,
			 CUF_CUDA_DRIVER_ERROR);
	assert_int_equal(cuFileReadAsync(scene->handle, scene->host, &bytes, &at, &offset, &done, NULL).code, 0);
	assert_int_equal(done, 8192);	/* in no stream it waits */
	at = -5;
	assert_int_equal(cuFileReadAsync(scene->handle, scene->host, &bytes, &at, &offset, &done, &stream).code, 0);
	assert_int_equal(gpu_wait_for_stream(&stream), 0);
	assert_int_equal(done, -CUF_INVALID_VALUE);
	/* Its turn comes after the driver's end. */
	pthread_mutex_lock(&stream.gate);
	assert_int_equal(cuFileReadAsync(scene->handle, scene->host, &bytes, &at, &offset, &done, &stream).code, 0);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	pthread_mutex_unlock(&stream.gate);
	assert_int_equal(gpu_wait_for_stream(&stream), 0);
	assert_int_equal(done, -CUF_DRIVER_NOT_INITIALIZED);
}

/* Registering a stream does not wait for the stream's work. */
static void test_busy_stream(void **state)
{
	struct scene *scene = scene_of(state);
	ssize_t done = 0;

	pthread_mutex_lock(&stream.gate);
	assert_int_equal(read_in_stream(scene, &done).code, 0);
	assert_int_equal(cuFileStreamRegister(&stream, 0).code, 0);
	assert_int_equal(done, 0);
	pthread_mutex_unlock(&stream.gate);
	assert_int_equal(gpu_wait_for_stream(&stream), 0);
	assert_int_equal(done, 8192);
}

/* A graph may run never, or often: nothing is put into it. */
static void test_captured_stream(void **state)
{
	struct scene *scene = scene_of(state);
	unsigned int calls = stream.calls;
	ssize_t done = 0;

	stream.captured = true;
	assert_int_equal(cuFileStreamRegister(&stream, 0).code, CUF_ASYNC_NOT_SUPPORTED);
	assert_int_equal(read_in_stream(scene, &done).code, CUF_ASYNC_NOT_SUPPORTED);
	assert_int_equal(stream.calls, calls);
	assert_int_equal(done, 0);
}

/* Its request ends with the registration of the stream, and writes nowhere: that memory may be gone. */
static void test_failed_stream(void **state)
{
	struct scene *scene = scene_of(state);
	ssize_t *done = calloc(1, sizeof(*done));

	stream.rc = 719;	/* CUDA_ERROR_LAUNCH_FAILED */
	assert_int_equal(read_in_stream(scene, done).code, 0);
	assert_int_equal(*done, 0);
	free(done);
	assert_int_equal(cuFileStreamDeregister(&stream).code, 0);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
}

/* The parent's request does not notice what the child does with the driver. */
static void test_stream_and_fork(void **state)
{
	struct scene *scene = scene_of(state);
	ssize_t *done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pid_t child;

	pthread_mutex_lock(&stream.gate);
	assert_int_equal(read_in_stream(scene, done).code, 0);
	child = fork();
	if (!child)
		_exit(cuFileDriverClose_v2().code);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(*done, 0);
	pthread_mutex_unlock(&stream.gate);
	assert_int_equal(gpu_wait_for_stream(&stream), 0);
	assert_int_equal(*done, 8192);
	munmap(done, 4096);
}

/* A request runs once even if CUDA calls for it twice. */
static void test_repeated_turn(void **state)
{
	struct scene *scene = scene_of(state);
	ssize_t done = 0;

	stream.repeats = true;
	assert_int_equal(read_in_stream(scene, &done).code, 0);
	assert_int_equal(gpu_wait_for_stream(&stream), 0);
	assert_int_equal(done, 8192);
	assert_int_equal(counted().reads, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(test_batch),
		SCENE_TEST(test_bad_batches),
		SCENE_TEST(test_cancel),
		SCENE_TEST(test_stream),
		SCENE_TEST(test_stream_that_needs_copies),
		SCENE_TEST(test_stream_that_may_fall_back),
		SCENE_TEST(test_stream_whose_buffer_is_deregistered),
		SCENE_TEST(test_stream_beside_a_batch),
		SCENE_TEST(test_stream_beside_a_staged_write),
		SCENE_TEST(test_stream_beside_a_registration),
		SCENE_TEST(test_fork_beside_a_staged_write),
		SCENE_TEST(test_fixed_stream),
		SCENE_TEST(test_bad_streams),
		SCENE_TEST(test_busy_stream),
		SCENE_TEST(test_captured_stream),
		SCENE_TEST(test_failed_stream),
		SCENE_TEST(test_stream_and_fork),
		SCENE_TEST(test_repeated_turn),
	};

	return cmocka_run_group_tests_name("cufile_async", tests, make_machine, remove_machine);
}
