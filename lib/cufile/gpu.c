// SPDX-License-Identifier: Apache-2.0
/* See gpu.h.  The calls of libcuda.so.1, by the symbol names of CUDA 11 and later. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cufile/gpu.h"
#include "cufile/locks.h"
#include "gpu/cuda.h"

#define DEVICES_MAX	64
/* The calling thread's default stream, as cuda.h has it. */
#define CU_STREAM_PER_THREAD	((void *)2)

static struct {
	int (*pointer_get_attribute)(void *data, int attribute, uint64_t pointer);
	int (*device_get)(int *device, int ordinal);
	int (*retain_primary)(void **context, int device);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*allocate)(uint64_t *pointer, size_t bytes);
	int (*free)(uint64_t pointer);
	int (*host_register)(void *pointer, size_t bytes, unsigned int flags);
	int (*stream_create)(void **stream, unsigned int flags);
	int (*stream_destroy)(void *stream);
	int (*stream_synchronize)(void *stream);
	int (*stream_query)(void *stream);
	int (*stream_is_capturing)(void *stream, int *status);
	int (*exchange_capture_mode)(int *mode);
	int (*event_create)(void **event, unsigned int flags);
	int (*event_record)(void *event, void *stream);
	int (*event_synchronize)(void *event);
	int (*event_destroy)(void *event);
	int (*copy_async)(uint64_t to, uint64_t from, size_t bytes, void *stream);
	int (*launch_host_function)(void *stream, void (*call)(void *), void *data);
} cuda;

static const struct {
	const char *name;
	void *place;
} names[] = {
	{ "cuPointerGetAttribute", &cuda.pointer_get_attribute },
	{ "cuDeviceGet", &cuda.device_get },
	{ "cuDevicePrimaryCtxRetain", &cuda.retain_primary },
	{ "cuCtxPushCurrent_v2", &cuda.push },
	{ "cuCtxPopCurrent_v2", &cuda.pop },
	{ "cuMemAlloc_v2", &cuda.allocate },
	{ "cuMemFree_v2", &cuda.free },
	{ "cuMemHostRegister_v2", &cuda.host_register },
	{ "cuStreamCreate", &cuda.stream_create },
	{ "cuStreamDestroy_v2", &cuda.stream_destroy },
	{ "cuStreamSynchronize", &cuda.stream_synchronize },
	{ "cuStreamQuery", &cuda.stream_query },
	{ "cuStreamIsCapturing", &cuda.stream_is_capturing },
	{ "cuEventCreate", &cuda.event_create },
	{ "cuEventRecord", &cuda.event_record },
	{ "cuEventSynchronize", &cuda.event_synchronize },
	{ "cuEventDestroy_v2", &cuda.event_destroy },
	{ "cuThreadExchangeStreamCaptureMode", &cuda.exchange_capture_mode },
	{ "cuMemcpyAsync", &cuda.copy_async },
	{ "cuLaunchHostFunc", &cuda.launch_host_function },
};

/*
 * The loader is as the parent's threads left it.  One that was loading or unloading a library may have left the lists half
 * changed, in which dlopen() crashes, or the lock taken that dl_iterate_phdr() takes; and fork() mends neither.
 */
static bool in_child;

void cuf_gpu_after_fork(void)
{
	in_child = true;
}

static int take_loads(struct dl_phdr_info *info, size_t bytes, void *loads)
{
	(void)bytes;
	*(unsigned long long *)loads = info->dlpi_adds;
	return 1;
}

/*
 * Returns how many libraries were ever loaded; 0: unknown.  Takes our lock, so that no fork() leaves the loader's lock held in
 * a child.
 */
static unsigned long long count_loads(void)
{
	unsigned long long loads = 0;

	if (in_child)
		return 0;
	cuf_lock(CUF_LOCK_CUDA);
	dl_iterate_phdr(take_loads, &loads);
	cuf_unlock(CUF_LOCK_CUDA);
	return loads;
}

/* Returns how many pages of addresses are mapped; 0: unknown. */
static unsigned long long mapped_pages(void)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (!statm)
		return 0;
	if (fscanf(statm, "%llu", &pages) != 1)
		pages = 0;
	fclose(statm);
	return pages;
}

static bool has_mapped_cuda(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128];
	bool found = !maps;	/* not known */

	while (!found && fgets(line, sizeof(line), maps))
		found = strstr(line, "/libcuda.so");
	if (maps)
		fclose(maps);
	return found;
}

/*
 * Is there a reason to ask the loader in a child of fork()?  A program that loaded CUDA in the child has a working loader
 * there, and more addresses mapped than at the last check.  Their number is read for each request, since to read all mappings
 * would take too long.
 */
static bool may_have_cuda(void)
{
	static unsigned long long looked_pages;
	unsigned long long pages = mapped_pages();

	if (pages && pages == __atomic_load_n(&looked_pages, __ATOMIC_RELAXED))
		return false;
	if (has_mapped_cuda())
		return true;
	__atomic_store_n(&looked_pages, pages, __ATOMIC_RELAXED);
	return false;
}

/*
 * The program may load CUDA at any time, and never unloads it.  dlopen() searches folders for the file before it checks whether
 * it is loaded, which would cost each request of a program without CUDA too much.  So it is called only if a library was loaded
 * since.
 */
static void *find_library(void)
{
	static unsigned long long asked;
	unsigned long long loads = count_loads();
	void *library;

	if (in_child && !may_have_cuda())
		return NULL;
	if (loads && loads == __atomic_load_n(&asked, __ATOMIC_RELAXED))
		return NULL;
	library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
	if (!library)
		__atomic_store_n(&asked, loads, __ATOMIC_RELAXED);
	return library;
}

static bool is_loaded(void)
{
	static bool found;
	void *library;

	if (__atomic_load_n(&found, __ATOMIC_ACQUIRE))
		return true;
	library = find_library();
	if (!library)
		return false;
	cuf_lock(CUF_LOCK_CUDA);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *symbol = dlsym(library, names[i].name);

		memcpy(names[i].place, &symbol, sizeof(symbol));
	}
	__atomic_store_n(&found, true, __ATOMIC_RELEASE);
	cuf_unlock(CUF_LOCK_CUDA);
	return true;
}

/*
 * While a thread captures a stream, CUDA forbids others to allocate, and may end the capture; our calls have nothing to do
 * with it.  *mode is for leave().
 */
static int enter(void *context, int *mode)
{
	int rc = is_loaded() && cuda.push && cuda.pop ? cuda.push(context) : CUDA_ERROR_NOT_FOUND;

	*mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	if (!rc && cuda.exchange_capture_mode)
		cuda.exchange_capture_mode(mode);
	return rc;
}

static void leave(int mode)
{
	void *context;

	if (cuda.exchange_capture_mode)
		cuda.exchange_capture_mode(&mode);
	cuda.pop(&context);
}

/*
 * Retains the primary context of each device, until the process ends.  No lock is held meanwhile: CUDA may make the
 * context, and wait.  If two threads are the first, the device is retained twice, which does no harm.
 */
static int primary_context(int ordinal, void **context)
{
	static void *kept[DEVICES_MAX];
	int device, rc;

	if (ordinal < 0 || ordinal >= DEVICES_MAX || !cuda.device_get || !cuda.retain_primary)
		return CUDA_ERROR_NOT_FOUND;
	*context = __atomic_load_n(&kept[ordinal], __ATOMIC_ACQUIRE);
	if (*context)
		return 0;
	rc = cuda.device_get(&device, ordinal);
	if (!rc)
		rc = cuda.retain_primary(context, device);
	if (!rc)
		__atomic_store_n(&kept[ordinal], *context, __ATOMIC_RELEASE);
	return rc;
}

/* Memory of CUDA's pools belongs to no context. */
static int find_context(uint64_t address, void **context)
{
	int ordinal, rc;

	*context = NULL;
	cuda.pointer_get_attribute(context, CU_POINTER_ATTRIBUTE_CONTEXT, address);
	if (*context)
		return 0;
	rc = cuda.pointer_get_attribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
	return rc ? rc : primary_context(ordinal, context);
}

static int get_range(uint64_t address, struct cuf_pointer *found)
{
	size_t bytes = 0;
	int rc = cuda.pointer_get_attribute(&found->start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address);

	if (!rc)
		rc = cuda.pointer_get_attribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address);
	found->bytes = bytes;
	return rc;
}

/* CUDA may give a range only to a thread with a context, and our own threads have none. */
static int look_up_device(uint64_t address, struct cuf_pointer *found)
{
	int mode, rc = find_context(address, &found->context);

	found->kind = CUF_KIND_DEVICE;
	if (!rc)
		rc = enter(found->context, &mode);
	if (rc)
		return rc;
	rc = get_range(address, found);
	leave(mode);
	return rc;
}

/*
 * If CUDA is not initialised, as in a child of fork(), or has ended, as it does at the
 * process's exit, every address counts as the host's; an access to one that is not fails
 * with EFAULT.
 */
static bool is_host(int result)
{
	return result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_INITIALIZED ||
	       result == CUDA_ERROR_DEINITIALIZED;
}

static int ask_kind(uint64_t address, void *found_)
{
	struct cuf_pointer *found = found_;
	unsigned int type = 0, managed = 0;	/* room for a flag of four bytes */
	int rc = cuda.pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);

	if (rc)
		return is_host(rc) ? 0 : rc;
	if (!cuda.pointer_get_attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) && managed)
		found->kind = CUF_KIND_MANAGED;
	else if (type == CU_MEMORYTYPE_DEVICE)
		return look_up_device(address, found);
	return 0;
}

static int ask_number(uint64_t address, void *number)
{
	return cuda.pointer_get_attribute(number, CU_POINTER_ATTRIBUTE_BUFFER_ID, address);
}

/*
 * CUDA may refuse the question of a thread that has no context, as our own threads.  Then it
 * is asked in the primary context of device 0, since addresses mean the same in all contexts.
 */
static int ask(int (*question)(uint64_t address, void *answer), const void *pointer, void *answer)
{
	void *context;
	int mode, rc = question((uintptr_t)pointer, answer);

	if (rc != CUDA_ERROR_INVALID_CONTEXT || primary_context(0, &context) || enter(context, &mode))
		return rc;
	rc = question((uintptr_t)pointer, answer);
	leave(mode);
	return rc;
}

static bool can_ask(void)
{
	return is_loaded() && cuda.pointer_get_attribute;
}

static int look_up(const void *pointer, struct cuf_pointer *found)
{
	*found = (struct cuf_pointer){ .kind = CUF_KIND_HOST };
	return can_ask() ? ask(ask_kind, pointer, found) : 0;
}

static int identify(const void *pointer, uint64_t *number)
{
	return can_ask() ? ask(ask_number, pointer, number) : CUDA_ERROR_NOT_FOUND;
}

static int allocate(void *context, size_t bytes, void **pointer)
{
	uint64_t address = 0;
	int mode, rc = enter(context, &mode);

	if (rc)
		return rc;
	rc = cuda.allocate ? cuda.allocate(&address, bytes) : CUDA_ERROR_NOT_FOUND;
	leave(mode);
	*pointer = (void *)(uintptr_t)address;
	return rc;
}

static void give_back(void *context, void *pointer)
{
	int mode;

	if (enter(context, &mode))
		return;		/* the memory was freed with its context */
	if (cuda.free)
		cuda.free((uintptr_t)pointer);
	leave(mode);
}

static int lock_pages(void *context, void *pointer, size_t bytes)
{
	int mode, rc = enter(context, &mode);

	if (rc)
		return rc;
	rc = cuda.host_register ? cuda.host_register(pointer, bytes, 0) : CUDA_ERROR_NOT_FOUND;
	leave(mode);
	return rc;
}

/* Call this before any other question about the stream, which would end a capture. */
static bool is_captured(void *stream)
{
	int status = 0, rc;

	if (!is_loaded() || !cuda.stream_is_capturing)
		return false;
	rc = cuda.stream_is_capturing(stream, &status);
	return rc == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || (!rc && status);
}

static int open_stream(void *context, bool after_calls, void **stream)
{
	int mode, rc;

	if (after_calls) {
		*stream = CU_STREAM_PER_THREAD;
		return 0;
	}
	rc = enter(context, &mode);
	if (rc)
		return rc;
	rc = cuda.stream_create ? cuda.stream_create(stream, CU_STREAM_NON_BLOCKING) : CUDA_ERROR_NOT_FOUND;
	leave(mode);
	return rc;
}

/* An event waits as a copy would.  CUDA's call that waits for the default stream would wait for other streams, too. */
static void wait_for_calls(void)
{
	void *event;

	if (!cuda.event_create || !cuda.event_record || !cuda.event_synchronize || !cuda.event_destroy ||
	    is_captured(CU_STREAM_PER_THREAD) || cuda.event_create(&event, CU_EVENT_DISABLE_TIMING))
		return;
	if (!cuda.event_record(event, CU_STREAM_PER_THREAD))
		cuda.event_synchronize(event);
	cuda.event_destroy(event);
}

static void settle_calls(void *context)
{
	int mode;

	if (enter(context, &mode))
		return;
	wait_for_calls();
	leave(mode);
}

static void close_stream(void *context, void *stream)
{
	int mode;

	if (stream == CU_STREAM_PER_THREAD || enter(context, &mode))
		return;
	if (cuda.stream_destroy)
		cuda.stream_destroy(stream);
	leave(mode);
}

static int copy_in(void *stream, void *to, const void *from, size_t bytes)
{
	int rc = cuda.copy_async && cuda.stream_synchronize ?
		 cuda.copy_async((uintptr_t)to, (uintptr_t)from, bytes, stream) : CUDA_ERROR_NOT_FOUND;

	return rc ? rc : cuda.stream_synchronize(stream);
}

static int copy_aside(void *to, const void *from, size_t bytes)
{
	void *stream;
	int rc = cuda.stream_create ? cuda.stream_create(&stream, CU_STREAM_NON_BLOCKING) : CUDA_ERROR_NOT_FOUND;

	if (rc)
		return rc;
	rc = copy_in(stream, to, from, bytes);
	if (cuda.stream_destroy)
		cuda.stream_destroy(stream);
	return rc;
}

/* A copy in a stream that the program is capturing would become a part of its graph, and not be made now. */
static int copy(void *context, void *stream, void *to, const void *from, size_t bytes)
{
	int mode, rc = enter(context, &mode);

	if (rc)
		return rc;
	if (!stream || (stream == CU_STREAM_PER_THREAD && is_captured(stream)))
		rc = copy_aside(to, from, bytes);
	else
		rc = copy_in(stream, to, from, bytes);
	leave(mode);
	return rc;
}

static int call_in_stream(void *stream, void (*call)(void *), void *data)
{
	return is_loaded() && cuda.launch_host_function ? cuda.launch_host_function(stream, call, data) : CUDA_ERROR_NOT_FOUND;
}

static int wait_for_stream(void *stream)
{
	if (!stream && !is_loaded())
		return 0;	/* the default stream of a program without CUDA is empty */
	return is_loaded() && cuda.stream_synchronize ? cuda.stream_synchronize(stream) : CUDA_ERROR_NOT_FOUND;
}

/* The default stream of a program without CUDA is empty. */
static bool is_stream(void *stream)
{
	if (!is_loaded() || !cuda.stream_query)
		return !stream;
	switch (cuda.stream_query(stream)) {
	case CUDA_ERROR_INVALID_VALUE:
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_INVALID_HANDLE:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return false;
	}
	return true;
}

static const struct cuf_gpu of_cuda = {
	.look_up = look_up,
	.pin = cuf_gpu_pin,
	.allocate = allocate,
	.free = give_back,
	.lock_pages = lock_pages,
	.open_stream = open_stream,
	.settle_calls = settle_calls,
	.identify = identify,
	.close_stream = close_stream,
	.copy = copy,
	.call_in_stream = call_in_stream,
	.wait_for_stream = wait_for_stream,
	.is_stream = is_stream,
	.is_captured = is_captured,
};

const struct cuf_gpu *cuf_gpu = &of_cuda;
