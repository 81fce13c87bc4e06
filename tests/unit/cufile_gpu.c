// SPDX-License-Identifier: Apache-2.0
/* See cufile_scene.h: a part of the memory plays the GPU's. */
#include "cufile_scene.h"
#include "cufile/gpu.h"

struct fake_gpu gpu = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .gate = PTHREAD_MUTEX_INITIALIZER, .pin_gate = PTHREAD_MUTEX_INITIALIZER,
};

static bool is_gpu(const void *pointer)
{
	return (const uint8_t *)pointer >= gpu.memory && (const uint8_t *)pointer < gpu.memory + GPU_BYTES;
}

static int find_allocation(uint64_t at, struct cuf_pointer *found)
{
	int rc = 1;

	pthread_mutex_lock(&gpu.lock);
	for (unsigned int i = 0; i < gpu.count && rc; i++) {
		if (at - gpu.allocations[i].start >= gpu.allocations[i].bytes)
			continue;
		found->start = gpu.allocations[i].start;
		found->bytes = gpu.allocations[i].bytes;
		rc = 0;
	}
	pthread_mutex_unlock(&gpu.lock);
	return rc;
}

static int gpu_look_up(const void *pointer, struct cuf_pointer *found)
{
	*found = (struct cuf_pointer){ .kind = CUF_KIND_HOST };
	if (!is_gpu(pointer))
		return 0;
	found->kind = gpu.managed ? CUF_KIND_MANAGED : CUF_KIND_DEVICE;
	if (gpu.managed)
		return 0;
	found->context = &gpu;
	return find_allocation((uintptr_t)pointer, found);
}

static int gpu_pin(struct donard_context *ctx, void *pointer, uint64_t bytes, struct donard_memory **memory)
{
	if (gpu.pin_fails)
		return gpu.pin_fails;
	__atomic_add_fetch(&gpu.pins, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&gpu.pinned, (uintptr_t)pointer, __ATOMIC_RELAXED);
	pthread_mutex_lock(&gpu.pin_gate);
	pthread_mutex_unlock(&gpu.pin_gate);
	return donard_memory_from_host(ctx, pointer, bytes, memory);
}

int gpu_allocate(void *context, size_t bytes, void **pointer)
{
	size_t whole = (gpu.skew + bytes + 65535) & ~(size_t)65535;
	int rc = 2;		/* CUDA_ERROR_OUT_OF_MEMORY */

	(void)context;
	pthread_mutex_lock(&gpu.lock);
	if (gpu.count < 64 && gpu.used + whole <= GPU_BYTES) {
		*pointer = gpu.memory + gpu.used + gpu.skew;
		gpu.allocations[gpu.count].start = (uintptr_t)*pointer;
		gpu.allocations[gpu.count++].bytes = bytes;
		gpu.used += whole;
		rc = 0;
	}
	pthread_mutex_unlock(&gpu.lock);
	return rc;
}

static void gpu_free(void *context, void *pointer)
{
	(void)context;
	__atomic_store_n(&gpu.freed, pointer, __ATOMIC_RELAXED);
	__atomic_add_fetch(&gpu.frees, 1, __ATOMIC_RELAXED);
}

static int gpu_lock_pages(void *context, void *pointer, size_t bytes)
{
	(void)context;
	(void)pointer;
	(void)bytes;
	if (gpu.lock_fails)
		return gpu.lock_fails;
	__atomic_add_fetch(&gpu.locks, 1, __ATOMIC_RELAXED);
	return 0;
}

static int gpu_open_stream(void *context, bool after_calls, void **made)
{
	__atomic_add_fetch(after_calls ? &gpu.ordered_streams : &gpu.streams, 1, __ATOMIC_RELAXED);
	*made = context;
	return 0;
}

static void gpu_settle_calls(void *context)
{
	assert_ptr_equal(context, &gpu);
	__atomic_add_fetch(&gpu.settled, 1, __ATOMIC_RELAXED);
}

static int gpu_identify(const void *pointer, uint64_t *number)
{
	*number = (uintptr_t)pointer + gpu.resets;
	return 0;
}

static void gpu_close_stream(void *context, void *ours)
{
	(void)context;
	(void)ours;
}

static int gpu_copy(void *context, void *ours, void *to, const void *from, size_t bytes)
{
	assert_ptr_equal(context, &gpu);
	if (ours)
		assert_ptr_equal(ours, &gpu);
	__atomic_add_fetch(&gpu.copies, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&gpu.gate);
	pthread_mutex_unlock(&gpu.gate);
	memcpy(to, from, bytes);
	return 0;
}

struct fake_stream stream = { .gate = PTHREAD_MUTEX_INITIALIZER };

static void *take_turn(void *data)
{
	struct fake_turn *turn = data;

	if (!turn->first)
		pthread_join(turn->before, NULL);
	pthread_mutex_lock(&stream.gate);
	pthread_mutex_unlock(&stream.gate);
	turn->call(turn->data);
	if (stream.repeats)
		turn->call(turn->data);
	return NULL;
}

static int gpu_call_in_stream(void *which, void (*call)(void *), void *data)
{
	struct fake_turn *turn = &stream.turns[stream.count];

	if (which != &stream)
		return 400;	/* CUDA_ERROR_INVALID_HANDLE */
	stream.calls++;
	if (stream.rc)
		return 0;	/* its turn never comes */
	*turn = (struct fake_turn){ .call = call, .data = data, .first = !stream.count };
	if (stream.count)
		turn->before = stream.turns[stream.count - 1].me;
	stream.count++;
	return pthread_create(&turn->me, NULL, take_turn, turn);
}

int gpu_wait_for_stream(void *which)
{
	if (which && which != &stream)
		return 400;
	if (which && stream.count)
		pthread_join(stream.turns[stream.count - 1].me, NULL);
	stream.count = which ? 0 : stream.count;
	return which ? stream.rc : 0;
}

static bool gpu_is_stream(void *which)
{
	return !which || which == &stream;
}

static bool gpu_is_captured(void *which)
{
	return which == &stream && stream.captured;
}

const struct cuf_gpu fake_gpu_calls = {
	.look_up = gpu_look_up,
	.pin = gpu_pin,
	.allocate = gpu_allocate,
	.free = gpu_free,
	.lock_pages = gpu_lock_pages,
	.open_stream = gpu_open_stream,
	.settle_calls = gpu_settle_calls,
	.identify = gpu_identify,
	.close_stream = gpu_close_stream,
	.copy = gpu_copy,
	.call_in_stream = gpu_call_in_stream,
	.wait_for_stream = gpu_wait_for_stream,
	.is_stream = gpu_is_stream,
	.is_captured = gpu_is_captured,
};
