// SPDX-License-Identifier: Apache-2.0
/*
 * Streams: a thread each, which does what it was given in order.  The null stream
 * and every synchronous call come after what all streams were given before.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stub.h"

enum what { HOST_FN, CALLBACK, COPY, SET, RECORD, WAIT_EVENT, WAIT_VALUE, WRITE_VALUE };

struct task {
	struct task *next;
	enum what what;
	union {
		struct { CUhostFn fn; void *data; } host;
		struct { CUstreamCallback fn; void *data; } callback;
		struct nvlab_copy copy;
		struct nvlab_set set;
		CUevent event;
		struct { uint64_t at; uint32_t value; unsigned int flags; } value;
	};
};

struct CUstream_st {
	struct CUstream_st *next;
	pthread_t thread;
	struct task *first, **last;
	bool busy, ends;
	CUcontext context;
};

struct CUevent_st {
	bool recorded;
	struct timespec when;
	unsigned int pending;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct CUstream_st *streams;
static unsigned int freeing;	/* calls between stub_begin_free() and stub_end_free() */

CUresult cuCtxSetCurrent(CUcontext context);

/* --- a stream's thread --- */

static uint32_t read_value(uint64_t at)
{
	struct nvlab_copy arg = { .va = at, .bytes = 4, .direction = NVLAB_TO_HOST };
	uint32_t value = 0;

	if (at >= NVLAB_LAST_VA)
		return __atomic_load_n((uint32_t *)(uintptr_t)at, __ATOMIC_ACQUIRE);
	arg.peer = (uintptr_t)&value;
	stub_call(NVLAB_COPY, &arg);
	return value;
}

/* flags: 0 at least (cyclic), 1 equal, 2 a common bit, 3 not all of its bits */
static bool value_is(uint32_t seen, uint32_t value, unsigned int flags)
{
	switch (flags & 3) {
	case 0:
		return (int32_t)(seen - value) >= 0;
	case 1:
		return seen == value;
	case 2:
		return seen & value;
	default:
		return ~(seen | value);
	}
}

static void write_value(uint64_t at, uint32_t value)
{
	struct nvlab_set arg = { .va = at, .count = 1, .value = value, .width = 4 };

	if (at >= NVLAB_LAST_VA)
		__atomic_store_n((uint32_t *)(uintptr_t)at, value, __ATOMIC_RELEASE);
	else
		stub_call(NVLAB_SET, &arg);
}

static void record(CUevent event)
{
	pthread_mutex_lock(&lock);
	clock_gettime(CLOCK_MONOTONIC, &event->when);
	event->pending--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void wait_event(CUevent event)
{
	pthread_mutex_lock(&lock);
	while (event->pending)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void perform(CUstream stream, struct task *task)
{
	switch (task->what) {
	case HOST_FN:
		task->host.fn(task->host.data);
		break;
	case CALLBACK:
		task->callback.fn(stream, CUDA_SUCCESS, task->callback.data);
		break;
	case COPY:
		stub_call(NVLAB_COPY, &task->copy);
		break;
	case SET:
		stub_call(NVLAB_SET, &task->set);
		break;
	case RECORD:
		record(task->event);
		break;
	case WAIT_EVENT:
		wait_event(task->event);
		break;
	case WAIT_VALUE:
		while (!value_is(read_value(task->value.at), task->value.value, task->value.flags))
			usleep(1000);
		break;
	case WRITE_VALUE:
		write_value(task->value.at, task->value.value);
		break;
	}
}

static void *work(void *arg)
{
	CUstream stream = arg;
	struct task *task;

	pthread_mutex_lock(&lock);
	while (!stream->ends || stream->first) {
		task = stream->first;
		if (!task) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		stream->first = task->next;
		if (!stream->first)
			stream->last = &stream->first;
		stream->busy = true;
		pthread_mutex_unlock(&lock);
		perform(stream, task);
		free(task);
		pthread_mutex_lock(&lock);
		stream->busy = false;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* --- giving work --- */

static bool idle(const struct CUstream_st *stream)
{
	return !stream->first && !stream->busy;
}

/* A stream's own thread, in a host function, does not wait for itself. */
static bool all_idle(void)
{
	for (struct CUstream_st *s = streams; s; s = s->next)
		if (!idle(s) && !pthread_equal(s->thread, pthread_self()))
			return false;
	return true;
}

void stub_drain(void)
{
	pthread_mutex_lock(&lock);
	while (!all_idle())
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

void stub_begin_free(void)
{
	pthread_mutex_lock(&lock);
	freeing++;
	while (!all_idle())
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

void stub_end_free(void)
{
	pthread_mutex_lock(&lock);
	freeing--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void stub_wait_for_frees(void)
{
	pthread_mutex_lock(&lock);
	while (freeing)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* 0: the null stream, 1: the legacy one by name, 2: the one of each thread, which is the same here. */
static bool is_null(CUstream stream)
{
	return (uintptr_t)stream <= 2;
}

static CUresult give(CUstream stream, struct task like)
{
	struct task *task;
	CUresult rc = stub_ready(false);

	if (rc)
		return rc;
	stub_wait_for_frees();
	if (is_null(stream)) {
		stub_drain();
		perform(stream, &like);
		return CUDA_SUCCESS;
	}
	task = malloc(sizeof(*task));
	if (!task)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*task = like;
	task->next = NULL;
	pthread_mutex_lock(&lock);
	*stream->last = task;
	stream->last = &task->next;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

STUB CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	CUresult rc = stub_ready(true);
	CUstream s;

	(void)flags;
	if (rc)
		return rc;
	stub_wait_for_frees();
	s = calloc(1, sizeof(*s));
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->last = &s->first;
	s->context = stub_context();
	pthread_mutex_lock(&lock);
	s->next = streams;
	streams = s;
	pthread_mutex_unlock(&lock);
	pthread_create(&s->thread, NULL, work, s);
	*stream = s;
	return CUDA_SUCCESS;
}

STUB CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	(void)priority;
	return cuStreamCreate(stream, flags);
}

STUB CUresult cuStreamDestroy_v2(CUstream stream)
{
	if (is_null(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&lock);
	stream->ends = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(stream->thread, NULL);
	pthread_mutex_lock(&lock);
	for (struct CUstream_st **at = &streams; *at; at = &(*at)->next) {
		if (*at == stream) {
			*at = stream->next;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	free(stream);
	return CUDA_SUCCESS;
}

STUB CUresult cuStreamSynchronize(CUstream stream)
{
	CUresult rc = stub_ready(false);

	if (rc)
		return rc;
	if (is_null(stream)) {
		stub_drain();
		return CUDA_SUCCESS;
	}
	pthread_mutex_lock(&lock);
	while (!idle(stream))
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

STUB CUresult cuStreamQuery(CUstream stream)
{
	CUresult rc;

	pthread_mutex_lock(&lock);
	rc = (is_null(stream) ? all_idle() : idle(stream)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
	pthread_mutex_unlock(&lock);
	return rc;
}

STUB CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
	*context = is_null(stream) ? stub_context() : stream->context;
	return stub_ready(false);
}

STUB CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data)
{
	return give(stream, (struct task){ .what = HOST_FN, .host = { fn, data } });
}

STUB CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback fn, void *data, unsigned int flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	return give(stream, (struct task){ .what = CALLBACK, .callback = { fn, data } });
}

static CUresult give_copy(CUstream stream, CUdeviceptr va, uint64_t peer, size_t bytes, uint64_t direction)
{
	return give(stream, (struct task){ .what = COPY, .copy = { va, peer, bytes, direction } });
}

STUB CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	return give_copy(stream, to, (uintptr_t)from, bytes, NVLAB_TO_GPU);
}

STUB CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return give_copy(stream, from, (uintptr_t)to, bytes, NVLAB_TO_HOST);
}

STUB CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return give_copy(stream, to, from, bytes, NVLAB_ON_GPU);
}

STUB CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	bool to_gpu = to < NVLAB_LAST_VA && to >= NVLAB_FIRST_VA;
	bool from_gpu = from < NVLAB_LAST_VA && from >= NVLAB_FIRST_VA;

	if (to_gpu)
		return give_copy(stream, to, from, bytes, from_gpu ? NVLAB_ON_GPU : NVLAB_TO_GPU);
	return from_gpu ? give_copy(stream, from, to, bytes, NVLAB_TO_HOST) : CUDA_ERROR_INVALID_VALUE;
}

STUB CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
	return give(stream, (struct task){ .what = SET, .set = { to, count, value, 1 } });
}

STUB CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr at, uint32_t value, unsigned int flags)
{
	return give(stream, (struct task){ .what = WAIT_VALUE, .value = { at, value, flags } });
}

STUB CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr at, uint32_t value, unsigned int flags)
{
	return give(stream, (struct task){ .what = WRITE_VALUE, .value = { at, value, flags } });
}

/* --- events --- */

STUB CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	CUresult rc = stub_ready(true);

	(void)flags;
	if (rc)
		return rc;
	*event = calloc(1, sizeof(**event));
	return *event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

STUB CUresult cuEventDestroy_v2(CUevent event)
{
	wait_event(event);
	free(event);
	return CUDA_SUCCESS;
}

STUB CUresult cuEventRecord(CUevent event, CUstream stream)
{
	pthread_mutex_lock(&lock);
	event->recorded = true;
	event->pending++;
	pthread_mutex_unlock(&lock);
	return give(stream, (struct task){ .what = RECORD, .event = event });
}

STUB CUresult cuEventSynchronize(CUevent event)
{
	wait_event(event);
	return CUDA_SUCCESS;
}

STUB CUresult cuEventQuery(CUevent event)
{
	CUresult rc;

	pthread_mutex_lock(&lock);
	rc = event->pending ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
	pthread_mutex_unlock(&lock);
	return rc;
}

STUB CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	if (!from->recorded || !to->recorded)
		return CUDA_ERROR_INVALID_HANDLE;
	*ms = (float)(to->when.tv_sec - from->when.tv_sec) * 1e3f +
	      (float)(to->when.tv_nsec - from->when.tv_nsec) / 1e6f;
	return cuEventQuery(from) || cuEventQuery(to) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

STUB CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	(void)flags;
	return give(stream, (struct task){ .what = WAIT_EVENT, .event = event });
}
