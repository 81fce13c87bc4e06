// SPDX-License-Identifier: Apache-2.0
/* How libcufile interprets CUDA's answers about a pointer; there is no GPU and no libcuda. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "fake_sysfs.h"
#include "cufile/gpu.h"

static struct {
	int rc;			/* a CUresult */
	unsigned int type;
	bool managed;
	void *context;
	unsigned int retained;
	bool strict;		/* CUDA answers nothing to a thread without a context */
	unsigned int depth;
	int stream_rc, capture_rc, capture_status;
	void *copied_in;	/* the stream of the last copy */
	unsigned int events, recorded, waited;
	int mode;		/* of captures, of this thread */
} answer;

static char primary;	/* the context of device 3 */

static int get_attribute(void *data, int attribute, uint64_t pointer)
{
	if (answer.rc)
		return answer.rc;
	if (!answer.depth && (answer.strict || attribute == 11 || attribute == 12))
		return 201;	/* CUDA_ERROR_INVALID_CONTEXT */
	switch (attribute) {
	case 1:	/* CU_POINTER_ATTRIBUTE_CONTEXT */
		*(void **)data = answer.context;
		break;
	case 2:	/* _MEMORY_TYPE */
		*(unsigned int *)data = answer.type;
		break;
	case 7:	/* _BUFFER_ID */
		*(uint64_t *)data = 42;
		break;
	case 8:	/* _IS_MANAGED */
		*(unsigned int *)data = answer.managed;
		break;
	case 9:	/* _DEVICE_ORDINAL */
		*(int *)data = 3;
		break;
	case 11:	/* _RANGE_START_ADDR */
		*(uint64_t *)data = pointer & ~0xffffULL;
		break;
	case 12:	/* _RANGE_SIZE */
		*(size_t *)data = 65536;
		break;
	default:
		return 1;
	}
	return 0;
}

static int get_device(int *device, int ordinal)
{
	*device = 100 + ordinal;
	return 0;
}

static int retain_primary(void **context, int device)
{
	assert_true(device == 103 || (device == 100 && answer.strict));
	answer.retained += device == 103;
	*context = &primary;
	return 0;
}

static int query(void *stream)
{
	assert_ptr_equal(stream, &primary);
	return answer.stream_rc;
}

static int exchange_mode(int *mode)
{
	int before = answer.mode;

	answer.mode = *mode;
	*mode = before;
	return 0;
}

#define PER_THREAD	((void *)2)	/* the default stream of the calling thread */

static int create_stream(void **stream, unsigned int flags)
{
	assert_int_equal(flags, 1);	/* CU_STREAM_NON_BLOCKING */
	*stream = &answer;
	return 0;
}

static int copy_async(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
	assert_int_equal(answer.mode, 2);	/* CU_STREAM_CAPTURE_MODE_RELAXED */
	assert_int_equal(to - from, 4096);
	assert_int_equal(bytes, 100);
	answer.copied_in = stream;
	return 0;
}

static int create_event(void **event, unsigned int flags)
{
	assert_int_equal(flags, 2);	/* CU_EVENT_DISABLE_TIMING */
	answer.events++;
	*event = &answer.events;
	return 0;
}

static int record_event(void *event, void *stream)
{
	assert_ptr_equal(event, &answer.events);
	assert_ptr_equal(stream, PER_THREAD);
	answer.recorded++;
	return 0;
}

static int wait_for_event(void *event)
{
	assert_ptr_equal(event, &answer.events);
	answer.waited++;
	return 0;
}

static int destroy_event(void *event)
{
	assert_ptr_equal(event, &answer.events);
	answer.events--;
	return 0;
}

static int end_stream(void *stream)
{
	assert_ptr_equal(stream, answer.copied_in);
	return 0;
}

static int is_capturing(void *stream, int *status)
{
	assert_true(stream == &primary || stream == PER_THREAD);
	*status = answer.capture_status;
	return answer.capture_rc;
}

static int push(void *context)
{
	assert_true(context == &primary || context == &answer);
	answer.depth++;
	return 0;
}

static int pop(void **context)
{
	*context = &primary;
	answer.depth--;
	return 0;
}

/* The libraries that the program has loaded; the tests begin without CUDA. */
#define CUDA_IS_LOADED	7
static struct {
	unsigned int loads, asked;
} loader = { .loads = CUDA_IS_LOADED - 2 };

int __wrap_dl_iterate_phdr(int (*each)(struct dl_phdr_info *info, size_t bytes, void *user), void *user);

int __wrap_dl_iterate_phdr(int (*each)(struct dl_phdr_info *info, size_t bytes, void *user), void *user)
{
	struct dl_phdr_info info = { .dlpi_adds = loader.loads };

	return each(&info, sizeof(info), user);
}

void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlsym(void *library, const char *name);

void *__wrap_dlopen(const char *name, int flags)
{
	assert_string_equal(name, "libcuda.so.1");
	assert_int_equal(flags & RTLD_NOLOAD, RTLD_NOLOAD);
	loader.asked++;
	return loader.loads < CUDA_IS_LOADED ? NULL : &answer;
}

static const struct {
	const char *name;
	void *call;
} calls[] = {
	{ "cuPointerGetAttribute", get_attribute },
	{ "cuStreamQuery", query },
	{ "cuStreamIsCapturing", is_capturing },
	{ "cuStreamCreate", create_stream },
	{ "cuStreamSynchronize", end_stream },
	{ "cuStreamDestroy_v2", end_stream },
	{ "cuMemcpyAsync", copy_async },
	{ "cuEventCreate", create_event },
	{ "cuEventRecord", record_event },
	{ "cuEventSynchronize", wait_for_event },
	{ "cuEventDestroy_v2", destroy_event },
	{ "cuThreadExchangeStreamCaptureMode", exchange_mode },
	{ "cuDeviceGet", get_device },
	{ "cuCtxPushCurrent_v2", push },
	{ "cuCtxPopCurrent_v2", pop },
	{ "cuDevicePrimaryCtxRetain", retain_primary },
};

void *__wrap_dlsym(void *library, const char *name)
{
	assert_ptr_equal(library, &answer);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(name, calls[i].name))
			return calls[i].call;
	return NULL;
}

/* The loader looks through folders when it is asked: once, and again only after a library was loaded. */
static void test_without_cuda(void **state)
{
	struct cuf_pointer found = { .kind = CUF_KIND_DEVICE };

	(void)state;
	for (unsigned int loads = 0; loads < 2; loads++, loader.loads++) {
		for (int i = 0; i < 3; i++) {
			assert_int_equal(cuf_gpu->look_up(&found, &found), 0);
			assert_int_equal(found.kind, CUF_KIND_HOST);
		}
		assert_int_equal(loader.asked, loads + 1);
	}
}

static void map_library(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (ftruncate(fd, 4096) || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(2);
	close(fd);
}

/* Another thread may have left the child's loader half changed: it is asked only once there is a mapping of CUDA. */
static int child_asks(const char *folder)
{
	struct cuf_pointer found = { .kind = CUF_KIND_DEVICE };
	char path[128];

	loader.asked = 0;
	for (int i = 0; i < 2; i++)
		if (cuf_gpu->look_up(&found, &found) || loader.asked)
			return 3;
	snprintf(path, sizeof(path), "%s/libother.so.1", folder);
	map_library(path);
	if (cuf_gpu->look_up(&found, &found) || loader.asked)
		return 4;
	snprintf(path, sizeof(path), "%s/libcuda.so.535", folder);
	map_library(path);
	loader.loads = CUDA_IS_LOADED;
	answer.type = 2;
	answer.managed = true;
	return cuf_gpu->look_up(&found, &found) || loader.asked != 1 || found.kind != CUF_KIND_MANAGED ? 5 : 0;
}

static void test_child_without_cuda(void **state)
{
	struct fake *fake;
	int status = 0;
	pid_t child;

	(void)state;
	if (access("/proc/self/maps", R_OK))
		skip();
	assert_int_equal(fake_setup((void **)&fake), 0);
	loader.loads = CUDA_IS_LOADED - 1;
	child = fork();
	if (!child)
		_exit(child_asks(fake->root));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(fake_teardown((void **)&fake), 0);
	assert_int_equal(status, 0);
	loader.loads = CUDA_IS_LOADED;
}

static void ask(int rc, unsigned int type, bool managed, struct cuf_pointer *found)
{
	answer.rc = rc;
	answer.type = type;
	answer.managed = managed;
	assert_int_equal(cuf_gpu->look_up((void *)0x7f0000012345, found), 0);
	assert_int_equal(answer.depth, 0);
}

static void test_kinds(void **state)
{
	struct cuf_pointer found;

	(void)state;
	ask(0, 1, false, &found);
	assert_int_equal(found.kind, CUF_KIND_HOST);
	ask(0, 2, true, &found);
	assert_int_equal(found.kind, CUF_KIND_MANAGED);
	answer.context = &answer;
	ask(0, 2, false, &found);
	assert_int_equal(found.kind, CUF_KIND_DEVICE);
	assert_ptr_equal(found.context, &answer);
	assert_int_equal(found.start, 0x7f0000010000);
	assert_int_equal(found.bytes, 65536);
}

/* Memory of cuMemAllocAsync() and cuMemMap() has no context: its device's primary context serves, retained once. */
static void test_no_context(void **state)
{
	struct cuf_pointer found;

	(void)state;
	answer.context = NULL;
	for (int i = 0; i < 2; i++) {
		ask(0, 2, false, &found);
		assert_int_equal(found.kind, CUF_KIND_DEVICE);
		assert_ptr_equal(found.context, &primary);
		assert_int_equal(answer.retained, 1);
	}
}

/* A thread of ours has none, and CUDA tells it nothing. */
static void test_thread_without_context(void **state)
{
	struct cuf_pointer found;

	(void)state;
	answer.strict = true;
	answer.context = &answer;
	ask(0, 2, false, &found);
	assert_int_equal(found.kind, CUF_KIND_DEVICE);
	assert_int_equal(found.start, 0x7f0000010000);
	ask(0, 2, true, &found);
	assert_int_equal(found.kind, CUF_KIND_MANAGED);
	ask(1, 0, false, &found);
	assert_int_equal(found.kind, CUF_KIND_HOST);
	answer.strict = false;
}

/* A thread without a context gets no answer about the allocation of an address, either. */
static void test_number_without_context(void **state)
{
	uint64_t number = 0;

	(void)state;
	answer.rc = 0;
	answer.strict = true;
	assert_int_equal(cuf_gpu->identify((void *)0x7f0000012345, &number), 0);
	assert_int_equal(number, 42);
	assert_int_equal(answer.depth, 0);
	answer.strict = false;
}

/* "No pointer of mine"; "not begun", which a child hears after fork(); and "ended", which a destructor hears at exit. */
static void test_unknown_is_host(void **state)
{
	static const int unknown[] = { 1, 3, 4 };
	struct cuf_pointer found;

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		ask(unknown[i], 2, false, &found);
		assert_int_equal(found.kind, CUF_KIND_HOST);
	}
}

/* A pointer about which CUDA fails to answer is not taken for the host's, and the failure is reported. */
static void test_failure_is_told(void **state)
{
	static const int failures[] = { 100, 201, 700, 719, 999 };
	struct cuf_pointer found;

	(void)state;
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		answer.rc = failures[i];
		assert_int_equal(cuf_gpu->look_up((void *)0x7f0000012345, &found), failures[i]);
	}
}

/* One that works, is busy, or has failed is a stream; what CUDA does not know, or whose context is gone, is none. */
static void test_streams(void **state)
{
	static const int streams[] = { 0, 600, 700, 719, 999 }, none[] = { 1, 3, 201, 400, 709 };

	(void)state;
	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		answer.stream_rc = streams[i];
		assert_true(cuf_gpu->is_stream(&primary));
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		answer.stream_rc = none[i];
		assert_false(cuf_gpu->is_stream(&primary));
	}
}

/* Captured, or its capture is broken; or the default stream while another one is captured (906). */
static void test_captured(void **state)
{
	static const struct {
		int rc, status;
		bool captured;
	} answers[] = { { 0, 0, false }, { 0, 1, true }, { 0, 2, true }, { 906, 0, true }, { 400, 0, false }, { 700, 0, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		answer.capture_rc = answers[i].rc;
		answer.capture_status = answers[i].status;
		assert_int_equal(cuf_gpu->is_captured(&primary), answers[i].captured);
	}
}

/*
 * A thread of the program copies in its default stream, after what its calls of CUDA began; but not while the program
 * captures that stream into a graph.  A thread of the pool waits for no stream of the program.
 */
static void test_streams_of_copies(void **state)
{
	void *stream;

	(void)state;
	assert_int_equal(cuf_gpu->open_stream(&primary, true, &stream), 0);
	assert_ptr_equal(stream, PER_THREAD);
	answer.capture_rc = answer.capture_status = 0;
	assert_int_equal(cuf_gpu->copy(&primary, stream, (void *)8192, (void *)4096, 100), 0);
	assert_ptr_equal(answer.copied_in, PER_THREAD);
	answer.capture_status = 1;
	assert_int_equal(cuf_gpu->copy(&primary, stream, (void *)8192, (void *)4096, 100), 0);
	assert_ptr_equal(answer.copied_in, &answer);
	answer.capture_status = 0;
	cuf_gpu->close_stream(&primary, stream);
	assert_int_equal(cuf_gpu->open_stream(&primary, false, &stream), 0);
	assert_ptr_equal(stream, &answer);
	assert_int_equal(answer.depth, 0);
	assert_int_equal(answer.mode, 0);
}

static void test_settle(void **state)
{
	(void)state;
	answer.capture_status = 1;
	cuf_gpu->settle_calls(&primary);
	assert_int_equal(answer.recorded, 0);	/* it would become a part of the program's graph */
	answer.capture_status = 0;
	cuf_gpu->settle_calls(&primary);
	assert_int_equal(answer.recorded, 1);
	assert_int_equal(answer.waited, 1);
	assert_int_equal(answer.events, 0);
	assert_int_equal(answer.depth, 0);
	assert_int_equal(answer.mode, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_cuda),
		cmocka_unit_test(test_child_without_cuda),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_no_context),
		cmocka_unit_test(test_thread_without_context),
		cmocka_unit_test(test_number_without_context),
		cmocka_unit_test(test_unknown_is_host),
		cmocka_unit_test(test_failure_is_told),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_streams_of_copies),
		cmocka_unit_test(test_settle),
	};

	return cmocka_run_group_tests_name("cufile_cuda", tests, NULL, NULL);
}
