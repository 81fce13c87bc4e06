// SPDX-License-Identifier: Apache-2.0
/*
 * Files and buffers of libcufile that are deregistered, and a driver that is closed, while other threads read.  Needs ext4 or
 * xfs under /tmp, and io_uring.
 */
#include <sched.h>

#include "cufile_scene.h"
#include "cufile/engine.h"

struct reader {
	struct scene *scene;
	void *other;		/* a handle that it reads by first, or NULL */
	ssize_t got[2];
	pthread_barrier_t at;
	pthread_t thread;
};

/* The second read is not aligned, and waits at the gate of the GPU's copies. */
static void *read_twice(void *data)
{
	struct reader *reader = data;
	struct scene *scene = reader->scene;

	if (reader->other)
		reader->got[0] = cuFileRead(reader->other, scene->host, 4096, 0, 0);
	reader->got[1] = cuFileRead(scene->handle, scene->device, 4096, 1, 0);
	pthread_barrier_wait(&reader->at);
	pthread_barrier_wait(&reader->at);
	return NULL;
}

static void begin_reader(struct reader *reader)
{
	pthread_barrier_init(&reader->at, NULL, 2);
	pthread_mutex_lock(&gpu.gate);
	pthread_create(&reader->thread, NULL, read_twice, reader);
	while (!__atomic_load_n(&gpu.copies, __ATOMIC_RELAXED))
		sched_yield();
}

static void end_reader(struct reader *reader)
{
	pthread_barrier_wait(&reader->at);
	pthread_join(reader->thread, NULL);
	pthread_barrier_destroy(&reader->at);
}

/* Deregisters one file and one buffer while a thread that knows both reads another file. */
static void test_deregister_waits_for_no_other(void **state)
{
	struct scene *scene = scene_of(state);
	struct reader reader = { .scene = scene };
	int before = fds_of_file(scene), fd = open(scene->path, O_RDONLY | O_DIRECT);

	assert_int_equal(register_fd(fd, &reader.other).code, 0);
	assert_int_equal(cuFileBufRegister(scene->host, BYTES, 0).code, 0);
	begin_reader(&reader);
	alarm(HANG_SECONDS);		/* a call that hangs is a failure, too */
	cuFileHandleDeregister(reader.other);
	assert_int_equal(cuFileBufDeregister(scene->host).code, 0);
	alarm(0);
	close(fd);
	pthread_mutex_unlock(&gpu.gate);
	pthread_barrier_wait(&reader.at);
	assert_int_equal(fds_of_file(scene), before + 1);	/* the thread's, of the file that is registered */
	end_reader(&reader);
	assert_int_equal(reader.got[0], 4096);
	assert_int_equal(reader.got[1], 4096);
}

/* A thread that takes away what the reader uses. */
struct taker {
	void (*take)(struct scene *scene);
	struct scene *scene;
	bool begun, ended;
};

static void take_file(struct scene *scene)
{
	cuFileHandleDeregister(scene->handle);
}

static void take_buffer(struct scene *scene)
{
	assert_int_equal(cuFileBufDeregister(scene->device).code, 0);
}

static void take_driver(struct scene *scene)
{
	(void)scene;
	assert_int_equal(cuFileDriverClose_v2().code, 0);
}

static void *take_away(void *data)
{
	struct taker *taker = data;

	__atomic_store_n(&taker->begun, true, __ATOMIC_RELEASE);
	taker->take(taker->scene);
	__atomic_store_n(&taker->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

/* The reader's second read is at the gate. */
static void check_waits_for(struct reader *reader, void (*take)(struct scene *scene))
{
	struct taker taker = { .take = take, .scene = reader->scene };
	pthread_t thread;

	pthread_create(&thread, NULL, take_away, &taker);
	while (!__atomic_load_n(&taker.begun, __ATOMIC_ACQUIRE))
		sched_yield();
	usleep(50000);		/* for what must not happen */
	assert_false(__atomic_load_n(&taker.ended, __ATOMIC_ACQUIRE));
	pthread_mutex_unlock(&gpu.gate);
	pthread_join(thread, NULL);
	pthread_barrier_wait(&reader->at);
}

static void check_waits(struct scene *scene, void (*take)(struct scene *scene))
{
	struct reader reader = { .scene = scene };

	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	begin_reader(&reader);
	check_waits_for(&reader, take);
	if (take != take_buffer)
		assert_int_equal(fds_of_file(scene), 1);
	end_reader(&reader);
	assert_int_equal(reader.got[1], 4096);
	assert_memory_equal(scene->device, scene->data + 1, 4096);
}

/* But for who reads that very file, or into that very buffer. */
static void test_file_waits_for_reader(void **state)
{
	check_waits(scene_of(state), take_file);
}

static void test_buffer_waits_for_reader(void **state)
{
	check_waits(scene_of(state), take_buffer);
}

static void test_close_waits_for_reader(void **state)
{
	check_waits(scene_of(state), take_driver);
}

/* ---- a thread that deregisters a buffer, and is held up between its two steps ---- */

static struct cuf_buffer *taken;

static void forget_taken(struct scene *scene)
{
	(void)scene;
	cuf_engines_forget_buffer(taken);
	cuf_buffer_free(taken);
}

/* Meanwhile another thread registers and deregisters a buffer at the same place, which nobody uses. */
static void test_each_waits_for_its_own_readers(void **state)
{
	struct scene *scene = scene_of(state);
	struct reader reader = { .scene = scene };

	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	begin_reader(&reader);
	taken = cuf_buffer_take(scene->device);
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	alarm(HANG_SECONDS);
	assert_int_equal(cuFileBufDeregister(scene->device).code, 0);
	alarm(0);
	check_waits_for(&reader, forget_taken);
	end_reader(&reader);
	assert_int_equal(reader.got[1], 4096);
}

/* Registers a larger buffer there instead: reads then use that one, whether they give its first address or another. */
static void check_reads_the_new_one(struct scene *scene, off_t inside)
{
	uint8_t *pointer = scene->device + inside;
	uint64_t staged = counted().staged_bytes;

	assert_int_equal(cuFileBufRegister(scene->device, 65536, 0).code, 0);
	assert_int_equal(cuFileRead(scene->handle, pointer, 4096, 0, 0), 4096);
	assert_int_equal(counted().staged_bytes, staged);
	taken = cuf_buffer_take(scene->device);
	assert_int_equal(cuFileRead(scene->handle, pointer, 4096, 0, 0), 4096);
	assert_int_equal(counted().staged_bytes, staged + 4096);	/* no buffer is registered */
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	assert_int_equal(cuFileRead(scene->handle, pointer, 1048576, 8192, 0), 1048576);
	assert_memory_equal(pointer, scene->data + 8192, 1048576);
	assert_int_equal(counted().staged_bytes, staged + 4096);
	forget_taken(scene);
	assert_int_equal(cuFileRead(scene->handle, pointer, 1048576, 8192, 0), 1048576);
	assert_int_equal(counted().staged_bytes, staged + 4096);
	assert_int_equal(cuFileBufDeregister(scene->device).code, 0);
}

static void test_reads_the_new_buffer(void **state)
{
	struct scene *scene = scene_of(state);

	check_reads_the_new_one(scene, 0);
	check_reads_the_new_one(scene, 4096);
}

/* A thread that is canceled ends behind its request, and holds nobody up. */
static void test_canceled_thread(void **state)
{
	struct scene *scene = scene_of(state);
	struct reader reader = { .scene = scene };
	void *ended;

	begin_reader(&reader);
	assert_int_equal(pthread_cancel(reader.thread), 0);
	pthread_mutex_unlock(&gpu.gate);
	pthread_barrier_wait(&reader.at);
	pthread_barrier_wait(&reader.at);
	assert_int_equal(pthread_join(reader.thread, &ended), 0);
	assert_int_equal(reader.got[1], 4096);
	alarm(HANG_SECONDS);
	cuFileHandleDeregister(scene->handle);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(test_deregister_waits_for_no_other),
		SCENE_TEST(test_file_waits_for_reader),
		SCENE_TEST(test_buffer_waits_for_reader),
		SCENE_TEST(test_close_waits_for_reader),
		SCENE_TEST(test_each_waits_for_its_own_readers),
		SCENE_TEST(test_reads_the_new_buffer),
		SCENE_TEST(test_canceled_thread),
	};

	return cmocka_run_group_tests_name("cufile_deregister", tests, make_machine, remove_machine);
}
