// SPDX-License-Identifier: Apache-2.0
/* Handles that were freed, or that are of another kind: a debug build finds them, another one has nothing for it. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "base/base.h"
#include "donard/cache.h"
#include "donard/cacheclient.h"
#include "donard/candidate.h"
#include "donard/gpu.h"
#include "donard/memory.h"
#include "donard/meter.h"
#include "donard/queue.h"
#include "donard/rdma.h"
#include "fake_sysfs.h"
#include "memory/memory.h"
#include "says.h"

static struct donard_memory *dram(struct fake *fake)
{
	struct donard_memory *memory;

	assert_int_equal(donard_memory_dram(fake->ctx, 4096, &memory), 0);
	return memory;
}

/* Requests in flight hold it: it is there, but no longer the program's. */
static void freed_while_held(void **state)
{
	struct donard_memory *memory = dram(*state);
	char byte;

	dnd_handle_get(&memory->handle);
	donard_memory_free(memory);
#ifdef DONARD_DEBUG
	assert_int_equal(donard_memory_read(memory, 0, &byte, 1), -EBADF);
#else
	assert_int_equal(donard_memory_read(memory, 0, &byte, 1), 0);
	assert_int_equal(dnd_handle_check(DND_A_FILE, memory, "nobody"), 0);
#endif
	assert_int_equal(dnd_handle_holders(&memory->handle), 1);
	dnd_memory_put(memory);
}

#ifdef DONARD_DEBUG

#define HANDLE_BYTES 64

/* One that no device is needed for: nothing looks into it once it is freed. */
static void *freed(struct donard_context *ctx, enum dnd_handle_kind kind)
{
	void *handle = calloc(1, HANDLE_BYTES);

	assert_non_null(handle);
	dnd_handle_made(kind, handle, ctx);
	dnd_handle_free(handle, HANDLE_BYTES);
	return handle;
}

static void assert_told(struct donard_context *ctx, int rc, const char *text)
{
	assert_int_equal(rc, -EBADF);
	assert_string_equal(donard_error_code(ctx), "bad-handle");
	assert_says(donard_error(ctx), text);
	donard_fail(ctx, EIO, "device", "another failure");
}

static void memories(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct donard_memory_info info = { .size = sizeof(info) };
	struct donard_route route = { .size = sizeof(route) };
	struct donard_memory *memory = dram(*state);
	const char *text = " was called with a memory that donard_memory_free() had freed.";
	struct donard_copy_end end = { .size = sizeof(end), .memory = memory };
	struct donard_copy_result result = { .size = sizeof(result) };
	struct donard_rdma_connect_options options = {
		.size = sizeof(options), .address = "::1", .rights = DONARD_RDMA_READ, .memory = memory,
	};
	struct donard_rdma_client *client;
	char byte;
	int fd;

	assert_int_equal(donard_memory_write(memory, 0, "x", 1), 0);
	donard_memory_free(memory);
	assert_told(ctx, donard_memory_write(memory, 0, "x", 1), "donard_memory_write() was called with a memory that");
	assert_told(ctx, donard_memory_read(memory, 0, &byte, 1), text);
	assert_told(ctx, donard_memory_zero(memory, 0, 1), text);
	assert_told(ctx, donard_memory_sync(memory, 0), text);
	assert_told(ctx, donard_memory_info(memory, &info), text);
	assert_told(ctx, donard_memory_export(memory, 0, 0, 0, &fd), text);
	assert_told(ctx, donard_memory_route(memory, "0000:01:00.0", &route), text);
	assert_told(ctx, donard_rdma_register(memory, 0, 0, NULL, 0, NULL), text);
	assert_told(ctx, donard_rdma_serve(memory, NULL), text);
	assert_told(ctx, donard_cache_serve_from(memory, NULL, NULL), text);
	assert_told(ctx, donard_copy_between(&end, &end, NULL, &result), text);
	assert_told(ctx, donard_copy_between(NULL, &end, NULL, &result), text);
	assert_told(ctx, donard_rdma_connect(ctx, &options, &client), text);
}

static void files(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct donard_file_info info = { .size = sizeof(info) };
	struct donard_file *file = freed(ctx, DND_A_FILE);
	struct donard_copy_end end = { .size = sizeof(end), .file = file };
	struct donard_copy_result result = { .size = sizeof(result) };
	struct donard_memory *memory = dram(*state);
	const char *text = " was called with a file that donard_file_close() had freed.";

	assert_told(ctx, donard_file_info(file, &info), text);
	assert_told(ctx, donard_copy_between(&end, NULL, NULL, &result), text);
	assert_told(ctx, donard_cache_serve_from(memory, file, NULL), text);
	donard_memory_free(memory);
}

static void queues(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct donard_queue *queue = freed(ctx, DND_A_QUEUE);
	struct donard_queue_info info = { .size = sizeof(info) };
	struct donard_cache *cache;
	const char *text = " was called with a queue that donard_queue_close() had freed.";

	assert_told(ctx, donard_queue_read(queue, NULL, 0, NULL, 0, 0, NULL), "donard_queue_read() was called with a queue");
	assert_told(ctx, donard_queue_write(queue, NULL, 0, NULL, 0, 0, NULL), text);
	assert_told(ctx, donard_queue_flush(queue, NULL, NULL), text);
	assert_told(ctx, donard_queue_register(queue, NULL), text);
	assert_told(ctx, donard_queue_unregister(queue, NULL), text);
	assert_told(ctx, donard_queue_submit(queue), text);
	assert_told(ctx, donard_queue_poll(queue, NULL, 0), text);
	assert_told(ctx, donard_queue_wait(queue, 0, 0, NULL, 0), text);
	assert_told(ctx, donard_queue_descriptor(queue), text);
	assert_told(ctx, donard_queue_cancel(queue, NULL), text);
	assert_told(ctx, donard_queue_info(queue, &info), text);
	assert_told(ctx, donard_cache_connect(queue, NULL, &cache), text);
}

/* A real one, where the kernel lets this process have a ring. */
static void queues_with_others(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct donard_file *file = freed(ctx, DND_A_FILE);
	struct donard_memory *memory = dram(*state);
	struct donard_queue *queue;

	donard_memory_free(memory);
	if (donard_queue_open(ctx, NULL, &queue))
		skip();
	assert_told(ctx, donard_queue_read(queue, file, 0, NULL, 0, 0, NULL), "a file that donard_file_close()");
	assert_told(ctx, donard_queue_write(queue, NULL, 0, memory, 0, 0, NULL), "a memory that donard_memory_free()");
	assert_told(ctx, donard_queue_flush(queue, file, NULL), "a file that donard_file_close()");
	assert_told(ctx, donard_queue_register(queue, memory), "a memory that donard_memory_free()");
	assert_told(ctx, donard_queue_unregister(queue, memory), "a memory that donard_memory_free()");
	donard_queue_close(queue);
	assert_told(ctx, donard_queue_submit(queue), "a queue that donard_queue_close() had freed");
}

static void caches(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct donard_cache *cache = freed(ctx, DND_A_CACHE);
	struct donard_cache_info info = { .size = sizeof(info) };
	const char *text = " was called with a connection to a cache that donard_cache_close() had freed.";

	assert_told(ctx, donard_cache_write(cache, 0, NULL, 0, 0, NULL), text);
	assert_told(ctx, donard_cache_read(cache, 0, NULL, 0, 0, NULL), text);
	assert_told(ctx, donard_cache_trim(cache, 0, 0, NULL), text);
	assert_told(ctx, donard_cache_flush(cache, 0, NULL), text);
	assert_told(ctx, donard_cache_register(cache, NULL, 0), text);
	assert_told(ctx, donard_cache_forget(cache, NULL), text);
	assert_told(ctx, donard_cache_info(cache, &info), text);
}

static void rdma(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct donard_rdma_client *client = freed(ctx, DND_A_RDMA_CLIENT);
	struct donard_rdma_client_info info = { .size = sizeof(info) };
	struct donard_rdma_registration_info about = { .size = sizeof(about) };
	const char *text = " was called with an RDMA client that donard_rdma_close() had freed.";

	assert_told(ctx, donard_rdma_write(client, 0, NULL, 0, 0), text);
	assert_told(ctx, donard_rdma_read(client, 0, NULL, 0, 0), text);
	assert_told(ctx, donard_rdma_wait(client, 0, 0), text);
	assert_told(ctx, donard_rdma_attach(client, NULL, 0, NULL), text);
	assert_told(ctx, donard_rdma_detach(client, NULL), text);
	assert_told(ctx, donard_rdma_sync(client, NULL, NULL), text);
	assert_told(ctx, donard_rdma_ask(client, NULL, NULL), text);
	assert_told(ctx, donard_rdma_leave(client, NULL), text);
	assert_told(ctx, donard_rdma_client_info(client, &info), text);
	assert_told(ctx, donard_rdma_registration_info(freed(ctx, DND_A_REGISTRATION), &about),
		    "a registration that donard_rdma_deregister() had freed");
}

static void meters(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct donard_measurement measurement = { .size = sizeof(measurement) };
	struct donard_metering metering = { .size = sizeof(metering), .measurement = &measurement };
	struct donard_interval interval = { .ctx = ctx };
	struct donard_meter *meter;
	const char *text = " was called with a meter that donard_meter_close() had freed.";

	assert_int_equal(donard_meter_open(ctx, "none", &meter), 0);
	donard_meter_close(meter);
	metering.meter = meter;
	assert_told(ctx, donard_meter_begin(meter), text);
	assert_told(ctx, donard_meter_end(meter, &measurement), text);
	assert_told(ctx, donard_meter_own(meter, NULL, 0), text);
	assert_told(ctx, donard_meter_interval_begin(&metering, &interval), text);
}

static void other_kinds(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct donard_memory *memory = dram(*state), *none;
	char byte;

	assert_told(ctx, donard_queue_submit((void *)memory), "donard_queue_submit() was called with a memory in place of a queue.");
	assert_told(ctx, donard_memory_read((void *)ctx, 0, &byte, 1), "with a context in place of a memory.");
	assert_told(ctx, donard_memory_dram((void *)memory, 4096, &none), "with a memory in place of a context.");
	assert_says(donard_error((void *)memory), "no context");
	donard_memory_free(memory);
}

static void contexts(void **state)
{
	struct donard_failure failure = { .size = sizeof(failure) };
	struct donard_memory *memory, *none;
	struct donard_region_list *list;
	struct donard_context *ctx;
	char byte;

	(void)state;
	assert_int_equal(donard_open(&ctx, NULL), 0);
	assert_int_equal(donard_memory_dram(ctx, 4096, &memory), 0);
	donard_close(ctx);
	assert_int_equal(donard_memory_dram(ctx, 4096, &none), -EBADF);
	assert_int_equal(donard_region_list(ctx, &list), -EBADF);
	assert_int_equal(donard_fail(ctx, EIO, NULL, "x"), -EBADF);
	assert_int_equal(donard_memory_read(memory, 0, &byte, 1), -EBADF);	/* its context is closed */
	assert_string_equal(donard_error_code(ctx), "bad-handle");
	assert_says(donard_error(ctx), "this is no context, or it was closed.");
	assert_int_equal(donard_failure_get(ctx, &failure), 0);
	assert_string_equal(failure.code, "bad-handle");
	dnd_memory_put(memory);
}

/* Runs the call in a child, and asserts the text on its standard error before it aborts. */
static void assert_aborts(void (*call)(void *), void *handle, const char *text)
{
	char said[512] = "";
	int pipes[2], status;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		signal(SIGABRT, SIG_DFL);
		dup2(pipes[1], STDERR_FILENO);
		call(handle);
		_exit(0);
	}
	close(pipes[1]);
	assert_true(read(pipes[0], said, sizeof(said) - 1) >= 0);
	close(pipes[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_says(said, text);
}

/* Functions of each kind that return no failure. */
#define CALLS(name, expression)							\
	static void name(void *handle)						\
	{									\
		(void)(expression);						\
	}
#define FREES(name, function)							\
	static void name(void *handle)						\
	{									\
		function(handle);						\
	}
FREES(free_memory, donard_memory_free)
FREES(close_file, donard_file_close)
FREES(close_queue, donard_queue_close)
FREES(close_cache, donard_cache_close)
FREES(close_client, donard_rdma_close)
FREES(deregister, donard_rdma_deregister)
FREES(free_regions, donard_region_list_free)
FREES(free_clients, donard_client_list_free)
FREES(free_candidates, donard_candidate_list_free)
FREES(free_gpus, donard_gpu_list_free)
FREES(close_meter, donard_meter_close)
FREES(close_context, donard_close)
CALLS(state_of, donard_memory_state(handle))
CALLS(client_of, donard_file_client(handle, 0))
CALLS(leg_of, donard_file_leg(handle, 0))
CALLS(count_regions, donard_region_count(handle))
CALLS(get_region, donard_region_get(handle, 0))
CALLS(count_clients, donard_client_count(handle))
CALLS(get_client, donard_client_get(handle, 0))
CALLS(count_candidates, donard_candidate_count(handle))
CALLS(get_candidate, donard_candidate_get(handle, 0))
CALLS(count_gpus, donard_gpu_count(handle))
CALLS(get_gpu, donard_gpu_get(handle, 0))
CALLS(name_of, donard_meter_name(handle))
CALLS(root_of, donard_sysfs_root(handle))

static const struct {
	enum dnd_handle_kind kind;
	void (*call)(void *handle);
	const char *text;
} aborting[] = {
	{ DND_A_CONTEXT, close_context, "donard_close() was called with a context that donard_close() had freed." },
	{ DND_A_CONTEXT, root_of, "donard_sysfs_root() was called with a context" },
	{ DND_A_MEMORY, free_memory, "libdonard: donard_memory_free() was called with a memory that donard_memory_free() had freed." },
	{ DND_A_MEMORY, state_of, "donard_memory_state() was called with a memory" },
	{ DND_A_FILE, close_file, "donard_file_close() was called with a file that donard_file_close() had freed." },
	{ DND_A_FILE, client_of, "donard_file_client()" },
	{ DND_A_FILE, leg_of, "donard_file_leg()" },
	{ DND_A_QUEUE, close_queue, "a queue that donard_queue_close() had freed." },
	{ DND_A_CACHE, close_cache, "that donard_cache_close() had freed." },
	{ DND_A_RDMA_CLIENT, close_client, "that donard_rdma_close() had freed." },
	{ DND_A_REGISTRATION, deregister, "that donard_rdma_deregister() had freed." },
	{ DND_A_REGION_LIST, free_regions, "a list of regions that donard_region_list_free() had freed." },
	{ DND_A_REGION_LIST, count_regions, "donard_region_count()" },
	{ DND_A_REGION_LIST, get_region, "donard_region_get()" },
	{ DND_A_CLIENT_LIST, free_clients, "a list of clients that donard_client_list_free() had freed." },
	{ DND_A_CLIENT_LIST, count_clients, "donard_client_count()" },
	{ DND_A_CLIENT_LIST, get_client, "donard_client_get()" },
	{ DND_A_CANDIDATE_LIST, free_candidates, "a list of candidates that donard_candidate_list_free() had freed." },
	{ DND_A_CANDIDATE_LIST, count_candidates, "donard_candidate_count()" },
	{ DND_A_CANDIDATE_LIST, get_candidate, "donard_candidate_get()" },
	{ DND_A_GPU_LIST, free_gpus, "a list of GPUs that donard_gpu_list_free() had freed." },
	{ DND_A_GPU_LIST, count_gpus, "donard_gpu_count()" },
	{ DND_A_GPU_LIST, get_gpu, "donard_gpu_get()" },
	{ DND_A_METER, close_meter, "a meter that donard_meter_close() had freed." },
	{ DND_A_METER, name_of, "donard_meter_name()" },
};

static void no_failure_to_return(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct donard_memory *memory = dram(*state);

	for (size_t i = 0; i < sizeof(aborting) / sizeof(aborting[0]); i++)
		assert_aborts(aborting[i].call, freed(ctx, aborting[i].kind), aborting[i].text);
	assert_aborts(close_file, memory, "donard_file_close() was called with a memory in place of a file.");
	donard_memory_free(memory);
	assert_aborts(free_memory, memory, "donard_memory_free() was called with a memory that donard_memory_free() had freed.");
}

static void lists(void **state)
{
	struct fake *fake = *state;
	struct donard_candidate_list *candidates;
	struct donard_region_list *regions;
	struct donard_client_list *clients;
	struct donard_gpu_list *gpus;

	fake_region(fake, "p2pmem0", "pci-bar", "0000:03:00.0");
	fake_nvme(fake, 0, "0000:01:00.0");
	assert_int_equal(donard_region_list(fake->ctx, &regions), 1);
	assert_int_equal(donard_client_list(fake->ctx, &clients), 1);
	assert_true(donard_candidate_list(fake->ctx, &candidates) >= 0);
	assert_int_equal(donard_gpu_list(fake->ctx, &gpus), 0);
	donard_region_list_free(regions);
	donard_client_list_free(clients);
	donard_candidate_list_free(candidates);
	donard_gpu_list_free(gpus);
	assert_aborts(get_region, regions, "a list of regions that donard_region_list_free() had freed.");
	assert_aborts(get_client, clients, "a list of clients that donard_client_list_free() had freed.");
	assert_aborts(get_candidate, candidates, "a list of candidates that donard_candidate_list_free() had freed.");
	assert_aborts(get_gpu, gpus, "a list of GPUs that donard_gpu_list_free() had freed.");
}

static void *makes_and_frees(void *made)
{
	struct donard_memory **memories = made;
	struct donard_context *ctx;

	for (int i = 0; i < 64; i++) {
		if (donard_open(&ctx, NULL) || donard_memory_dram(ctx, 4096, &memories[i]))
			return NULL;
		donard_memory_free(memories[i]);
		donard_close(ctx);
	}
	return made;
}

/* No address comes twice, whichever thread freed it. */
static void threads(void **state)
{
	static struct donard_memory *memories[4 * 64];
	pthread_t others[4];
	void *made;
	char byte;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&others[i], NULL, makes_and_frees, &memories[i * 64]), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(others[i], &made);
		assert_non_null(made);
	}
	for (int i = 0; i < 4 * 64; i++) {
		assert_int_equal(donard_memory_read(memories[i], 0, &byte, 1), -EBADF);
		for (int j = 0; j < i; j++)
			assert_ptr_not_equal(memories[i], memories[j]);
	}
}

/* Objects that the library did not make, such as the tests' own, are accepted, and so is NULL. */
static void unknown(void **state)
{
	int own = 0;

	(void)state;
	assert_int_equal(dnd_handle_check(DND_A_MEMORY, &own, "nobody"), 0);
	assert_int_equal(dnd_handle_check(DND_A_MEMORY, NULL, "nobody"), 0);
	donard_memory_free(NULL);
	donard_close(NULL);
	assert_string_equal(donard_error(NULL), "no context");
}

#endif /* DONARD_DEBUG */

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(freed_while_held),
#ifdef DONARD_DEBUG
		TEST(memories),
		TEST(files),
		TEST(queues),
		TEST(queues_with_others),
		TEST(caches),
		TEST(rdma),
		TEST(meters),
		TEST(other_kinds),
		TEST(contexts),
		TEST(no_failure_to_return),
		TEST(lists),
		TEST(threads),
		TEST(unknown),
#endif
	};

	return cmocka_run_group_tests_name("handles", tests, NULL, NULL);
}
