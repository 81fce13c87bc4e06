// SPDX-License-Identifier: Apache-2.0
/*
 * libcufile's driver that is closed while others register, and fork() amid threads.  Needs
 * ext4 or xfs under /tmp, and io_uring.
 */
#include <sched.h>
#include <sys/wait.h>

#include "cufile_scene.h"

/* ---- closing, while others register ---- */

struct registrar {
	int fd;
	bool stop;
	int bad;		/* a code that none of these calls may have */
	unsigned int registered;	/* bits: a file, a batch, a buffer */
};

static bool may_be(int code)
{
	return !code || code == CUF_DRIVER_CLOSING || code == CUF_DRIVER_NOT_INITIALIZED;
}

static void *register_often(void *data)
{
	struct registrar *registrar = data;
	void *handle = NULL, *batch = NULL, *host = aligned_alloc(4096, 4096);
	int codes[4] = { 0 };

	while (!__atomic_load_n(&registrar->stop, __ATOMIC_RELAXED)) {
		codes[0] = register_fd(registrar->fd, &handle).code;
		codes[1] = cuFileBatchIOSetUp(&batch, 4).code;
		codes[2] = cuFileBufRegister(host, 4096, 0).code;
		codes[3] = cuFileBufDeregister(host).code;
		for (int i = 0; i < 3; i++)
			if (!codes[i])
				__atomic_or_fetch(&registrar->registered, 1U << i, __ATOMIC_RELAXED);
		if (!codes[1])
			cuFileBatchIODestroy(batch);
		if (!codes[0])
			cuFileHandleDeregister(handle);
		for (int i = 0; i < 4; i++)
			if (!may_be(codes[i]) && codes[i] != CUF_INVALID_VALUE)
				registrar->bad = codes[i];
	}
	free(host);
	return NULL;
}

static bool all_registered(struct registrar *registrars, int count)
{
	unsigned int all = 7;

	for (int i = 0; i < count; i++)
		all &= __atomic_load_n(&registrars[i].registered, __ATOMIC_RELAXED);
	return all == 7;
}

/* Each call is before the end or after it, and none has half of a driver. */
static void test_close_against_registration(void **state)
{
	struct scene *scene = *state;
	struct registrar registrars[3];
	pthread_t threads[3];

	needs_supported_file_system(scene->path);
	for (int i = 0; i < 3; i++) {
		registrars[i] = (struct registrar){ .fd = open(scene->path, O_RDWR | O_DIRECT) };
		pthread_create(&threads[i], NULL, register_often, &registrars[i]);
	}
	for (int i = 0; i < 200 || !all_registered(registrars, 3); i++)
		assert_true(may_be(cuFileDriverClose_v2().code));
	for (int i = 0; i < 3; i++) {
		__atomic_store_n(&registrars[i].stop, true, __ATOMIC_RELAXED);
		pthread_join(threads[i], NULL);
		assert_int_equal(registrars[i].bad, 0);
		close(registrars[i].fd);
	}
}

/* ---- fork() ---- */

/* A child without threads works, whatever the parent's threads were doing at the fork(). */
static int child_works(struct scene *scene, void *batch)
{
	struct cuf_batch_event events[4];
	unsigned int count = 4;
	void *handle = NULL;
	bool works;

	alarm(HANG_SECONDS);		/* a child that hangs is a failure, too */
	works = !register_fd(open(scene->path, O_RDWR | O_DIRECT), &handle).code &&
		cuFileRead(handle, scene->host + 1, 100, 1, 0) == 100 &&
		cuFileWrite(handle, scene->data + 5, 100, 5, 0) == 100 &&
		!cuFileBatchIOGetStatus(batch, 4, &count, events, NULL).code && count == 4;
	cuFileHandleDeregister(handle);
	cuFileBatchIODestroy(batch);
	return !works;
}

static struct cuf_batch_request whole_read(struct scene *scene)
{
	return (struct cuf_batch_request){
		.mode = CUF_MODE_BATCH, .base = scene->host, .file_offset = 65536, .offset = 65536,
		.bytes = 65536, .handle = scene->handle, .operation = CUF_READ,
	};
}

/* Ends the child by executing another program: valgrind would report the parent's threads' memory as leaks of the child. */
static void end_child(int failed)
{
	if (!failed)
		execl("/bin/true", "true", NULL);
	_exit(1);
}

/* The same with a batch on which the parent's threads work. */
static void test_fork_with_threads(void **state)
{
	struct scene *scene = scene_of(state);
	struct registrar registrar = { .fd = open(scene->path, O_RDWR | O_DIRECT) };
	struct cuf_batch_request requests[4];
	pthread_t thread;
	int status;
	void *batch;
	pid_t child;

	pthread_create(&thread, NULL, register_often, &registrar);
	for (int i = 0; i < 4; i++)
		requests[i] = whole_read(scene);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(cuFileBatchIOSetUp(&batch, 4).code, 0);
		assert_int_equal(cuFileBatchIOSubmit(batch, 4, requests, 0).code, 0);
		child = fork();
		if (!child)
			end_child(child_works(scene, batch));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		cuFileBatchIODestroy(batch);
	}
	__atomic_store_n(&registrar.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(registrar.bad, 0);
	close(registrar.fd);
}

static void *close_often(void *data)
{
	struct registrar *registrar = data;

	while (!__atomic_load_n(&registrar->stop, __ATOMIC_RELAXED)) {
		if (cuFileDriverOpen().code || cuFileDriverClose_v2().code)
			registrar->bad = 1;
		sched_yield();
	}
	return NULL;
}

/* At whatever point of a close the fork() comes, the child can open the driver, and has nothing of the parent's. */
static void test_fork_while_closing(void **state)
{
	struct scene *scene = *state;
	struct registrar registrar = { 0 };
	void *handle = NULL;
	pthread_t thread;
	pid_t child;
	int status;

	needs_supported_file_system(scene->path);
	pthread_create(&thread, NULL, close_often, &registrar);
	for (int i = 0; i < 40; i++) {
		child = fork();
		if (!child) {
			alarm(HANG_SECONDS);
			end_child(register_fd(open(scene->path, O_RDWR | O_DIRECT), &handle).code ||
				  cuFileRead(handle, scene->host, 4096, 8192, 0) != 4096 ||
				  cuFileDriverClose_v2().code);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	__atomic_store_n(&registrar.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(registrar.bad, 0);
}

/* Files that a thread of the parent had open do not stay open in the child. */
static void test_child_lets_go(void **state)
{
	struct scene *scene = scene_of(state);
	int status, before = fds_of_file(scene);
	pid_t child;

	assert_int_equal(cuFileRead(scene->handle, scene->host, 4096, 0, 0), 4096);
	assert_int_equal(fds_of_file(scene), before + 1);
	child = fork();
	if (!child)
		end_child(fds_of_file(scene) != before);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static bool in_child;

struct tm *__real_localtime_r(const time_t *now, struct tm *parts);
struct tm *__wrap_localtime_r(const time_t *now, struct tm *parts);

/* Another thread was in it at the fork(). */
struct tm *__wrap_localtime_r(const time_t *now, struct tm *parts)
{
	while (in_child)
		pause();
	return __real_localtime_r(now, parts);
}

static void local_minute(char text[32])
{
	time_t now = time(NULL);
	struct tm parts;

	strftime(text, 32, "%d-%m-%Y %H:%M:", localtime_r(&now, &parts));
}

static int child_logs(struct scene *scene)
{
	void *handle = NULL;

	alarm(HANG_SECONDS);
	in_child = true;
	unlink(scene->log);
	return register_fd(-1, &handle).code != CUF_INVALID_VALUE || cuFileDriverClose_v2().code;
}

/* Its times are those of the parent's time zone. */
static void test_child_logs(void **state)
{
	struct scene *scene = *state;
	char before[32], after[32], line[64] = "";
	FILE *log;
	pid_t child;
	int status;

	setenv("TZ", "here-13:45", 1);
	tzset();
	assert_int_equal(cuFileDriverOpen().code, 0);
	local_minute(before);
	child = fork();
	if (!child)
		end_child(child_logs(scene));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	local_minute(after);
	unsetenv("TZ");
	tzset();
	log = fopen(scene->log, "re");
	assert_true(log && fgets(line, sizeof(line), log));
	fclose(log);
	line[strlen(before)] = '\0';
	if (strcmp(line, before))
		assert_string_equal(line, after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(test_close_against_registration),
		SCENE_TEST(test_fork_with_threads),
		SCENE_TEST(test_fork_while_closing),
		SCENE_TEST(test_child_lets_go),
		SCENE_TEST(test_child_logs),
	};

	return cmocka_run_group_tests_name("cufile_fork", tests, make_machine, remove_machine);
}
