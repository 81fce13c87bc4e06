// SPDX-License-Identifier: Apache-2.0
/*
 * libcufile's driver, settings, files and buffers: no device, no root.  Needs ext4 or
 * xfs under /tmp, and io_uring.
 */
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include "cufile_scene.h"
#include "base/mounts.h"
#include "cufile/denied.h"
#include "cufile/log.h"

int __wrap_strcasecmp(const char *a, const char *b);
int __wrap_strcasecmp(const char *a, const char *b)
{
	fail_msg("'%s' and '%s' are compared by the program's locale", a, b);
	return 0;
}

static void test_log_levels(void **state)
{
	(void)state;
	assert_int_equal(cuf_log_level_of("info"), cuf_log_level_of("INFO"));
	assert_int_equal(cuf_log_level_of("Notice"), CUF_LOG_NOTICE);
	assert_int_equal(cuf_log_level_of("tRACE"), CUF_LOG_TRACE);
	assert_int_equal(cuf_log_level_of(""), -1);
	assert_int_equal(cuf_log_level_of("INFOS"), -1);
	assert_int_equal(cuf_log_level_of("INF"), -1);
}

/* ---- the driver ---- */

static void test_open_and_close(void **state)
{
	struct cuf_properties properties;
	int version = 0;

	(void)state;
	assert_int_equal(cuFileUseCount(), 0);
	assert_int_equal(cuFileDriverClose_v2().code, CUF_DRIVER_NOT_INITIALIZED);
	assert_int_equal(cuFileDriverOpen().code, 0);
	assert_int_equal(cuFileDriverOpen().code, 0);
	assert_int_equal(cuFileUseCount(), 2);
	assert_int_equal(cuFileDriverClose().code, 0);
	assert_int_equal(cuFileUseCount(), 1);
	assert_int_equal(cuFileDriverGetProperties(&properties).code, 0);
	assert_int_equal(properties.driver.max_direct_kib, 16384);
	assert_int_equal(properties.driver.controls, 0);
	assert_int_equal(properties.driver.file_systems, 1 << CUF_FS_NVME);
	assert_int_equal(properties.max_cache_kib, 131072);
	assert_int_equal(properties.max_batch, 128);
	assert_int_equal(cuFileDriverGetProperties(NULL).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	assert_int_equal(cuFileDriverClose_v2().code, CUF_DRIVER_NOT_INITIALIZED);
	assert_int_equal(cuFileGetVersion(&version).code, 0);
	assert_int_equal(version, 1090);
	assert_int_equal(cuFileGetVersion(NULL).code, CUF_INVALID_VALUE);
}

/* A call that opens the driver by itself counts as one opening, which the next cuFileDriverOpen() takes over. */
static void test_opens_by_itself(void **state)
{
	(void)state;
	assert_int_equal(cuFileDriverSetMaxPinnedMemSize(1024).code, 0);
	assert_int_equal(cuFileUseCount(), 1);
	assert_int_equal(cuFileDriverOpen().code, 0);
	assert_int_equal(cuFileUseCount(), 1);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	assert_int_equal(cuFileUseCount(), 0);
}

static void test_without_module(void **state)
{
	struct scene *scene = *state;
	char folder[128];

	snprintf(folder, sizeof(folder), "%s/class/p2pmem", machine->root);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(cuFileDriverOpen().code, CUF_DRIVER_NOT_INITIALIZED);
	assert_says(scene, "modprobe p2pmem");
	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	assert_int_equal(cuFileDriverOpen().code, 0);
	fake_folder(machine, "class/p2pmem");
}

static void test_set_properties(void **state)
{
	struct cuf_properties properties;

	(void)state;
	assert_int_equal(cuFileDriverSetPollMode(true, 8).code, 0);
	assert_int_equal(cuFileDriverSetMaxDirectIOSize(4096).code, 0);
	assert_int_equal(cuFileDriverSetMaxCacheSize(1024).code, 0);
	assert_int_equal(cuFileDriverSetMaxPinnedMemSize(8192).code, 0);
	assert_int_equal(cuFileDriverSetMaxDirectIOSize(3).code, CUF_DRIVER_UNSUPPORTED_LIMIT);
	assert_int_equal(cuFileDriverSetPollMode(false, 5).code, CUF_DRIVER_UNSUPPORTED_LIMIT);
	assert_int_equal(cuFileDriverGetProperties(&properties).code, 0);
	assert_int_equal(properties.driver.controls, 1 << CUF_CONTROL_POLL);
	assert_int_equal(properties.driver.poll_threshold_kib, 8);
	assert_int_equal(properties.driver.max_direct_kib, 4096);
	assert_int_equal(properties.max_cache_kib, 1024);
	assert_int_equal(properties.max_pinned_kib, 8192);
}

/* The first test: later the process has a key, which all of its threads use. */
static void test_without_keys(void **state)
{
	struct scene *scene = scene_of(state);
	pthread_key_t keys[PTHREAD_KEYS_MAX];
	unsigned int count = 0;

	while (!pthread_key_create(&keys[count], NULL))
		count++;
	assert_int_equal(cuFileRead(scene->handle, scene->host, 4096, 0, 0), -CUF_INTERNAL_ERROR);
	assert_says(scene, "this thread can neither read nor write: pthread_key_create() fails");
	for (unsigned int i = 0; i < count; i++) {
		assert_null(pthread_getspecific(keys[i]));
		pthread_key_delete(keys[i]);
	}
	assert_int_equal(cuFileRead(scene->handle, scene->host, 4096, 0, 0), 4096);
}

/* ---- the log ---- */

/* The log's readers have cufile.json, and neither the options of a call nor those of donard-cli. */
static void test_remedies(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(cuFileDriverOpen().code, 0);
	cuf_log(CUF_LOG_ERROR, "%s", "Put both below one PCIe switch, or pass ALLOW_BOUNCE.");
	assert_says(scene, "switch, or set properties.allow_compat_mode in cufile.json.");
	cuf_log(CUF_LOG_ERROR, "%s", "Put both below one bridge, or pass ALLOW_UNLISTED to try it, or ALLOW_BOUNCE.");
	assert_says(scene, "bridge, or set properties.allow_compat_mode in cufile.json.");
	cuf_log(CUF_LOG_ERROR, "%s", "Align both, or let the queue bounce (ALLOW_BOUNCE).");
	assert_says(scene, "both, or set properties.allow_compat_mode in cufile.json.");
}

/* Tries to register a file below the machine's folder, opened in a way that is refused. */
static void refuse(const char *name, int flags)
{
	char path[PATH_MAX];
	void *handle;
	int fd;

	fake_file(machine, name, "");
	snprintf(path, sizeof(path), "%s/%s", machine->root, name);
	fd = open(path, O_RDONLY | flags);
	assert_true(fd >= 0);
	assert_int_equal(register_fd(fd, &handle).code, CUF_INVALID_FILE_OPEN_FLAG);
	close(fd);
}

/* Long names are shortened so that files of one folder still differ, and no name breaks a line or pushes the message out. */
static void test_names_in_the_log(void **state)
{
	struct scene *scene = *state;
	char name[3000] = "d", said[PATH_MAX + 64];

	for (size_t length = 1; length < 100; length += 10)
		strcpy(name + length, "/long-name");
	refuse(name, O_APPEND);
	snprintf(said, sizeof(said), "] ERROR %s/%s was opened with O_APPEND", machine->root, name);
	assert_says(scene, said);
	refuse("d/two\nlines\033[31m", O_APPEND);
	assert_says(scene, "/d/two\\x0alines\\x1b[31m was opened with O_APPEND");
	name[0] = 'e';
	for (size_t length = 1; length < 2800; length += 10)
		strcpy(name + length, "/long-name");
	refuse(name, O_PATH);
	assert_says(scene, "/long-name was opened with O_PATH, and cannot be read: open it without");
}

/* ---- settings ---- */

static void test_json(void **state)
{
	struct scene *scene = *state;
	struct cuf_properties properties;

	write_text(scene->json, "/* own */ { \"properties\": { \"allow_compat_mode\": true, // yes\n"
		   "\"max_direct_io_size_kb\": 1024, \"max_batch_io_timeout_msecs\": 7, \"unknown\": [] }, \"execution\": { \"max_io_threads\": 2 } }");
	assert_int_equal(cuFileDriverGetProperties(&properties).code, 0);
	assert_int_equal(properties.driver.max_direct_kib, 1024);
	assert_int_equal(properties.max_batch_timeout_ms, 7);
	assert_int_equal(properties.driver.controls, 1 << CUF_CONTROL_COMPAT);
}

static void assert_bad_json(struct scene *scene, const char *text, const char *said)
{
	write_text(scene->json, text);
	assert_int_equal(cuFileDriverOpen().code, CUF_DRIVER_INVALID_PROPS);
	assert_says(scene, said);
	assert_int_equal(cuFileUseCount(), 0);
}

static void test_bad_json(void **state)
{
	struct scene *scene = *state;

	assert_bad_json(scene, "{\n\"properties\": {\n", "line 3");
	assert_bad_json(scene, "[]", "it is no object");
	assert_bad_json(scene, "{ \"properties\": {} },\n\"denylist\": { \"filesystems\": [ \"xfs\" ] } }",
			"line 1: there is something behind the object");
	assert_bad_json(scene, "{ } /* own */ // and\n{ }", "line 2: there is something");
	assert_bad_json(scene, "{ } /* without an end", "");
	assert_bad_json(scene, "", "cufile.json: line 1");
	assert_bad_json(scene, "{ \"properties\": { \"allow_compat_mode\": 1 } }", "allow_compat_mode is not true or false");
	assert_bad_json(scene, "{ \"properties\": { \"per_buffer_cache_size_kb\": 65 } }", "a multiple of 4 from 64");
	assert_bad_json(scene, "{ \"logging\": { \"level\": \"LOUD\" } }", "cufile.json: logging.level is not NOTICE");
	assert_bad_json(scene, "{ \"denylist\": { \"devices\": [ 1 ] } }", "denylist.devices is not a list");
	assert_bad_json(scene, "{ \"denylist\": { \"devices\": null } }", "denylist.devices is not a list");
	assert_bad_json(scene, "{ \"denylist\": [ \"/dev/nvme0n1\" ] }", "denylist is not an object");
	assert_bad_json(scene, "{ \"logging\": null }", "logging is not an object");
	assert_bad_json(scene, "{ \"properties\": [ { \"force_compat_mode\": true } ] }", "properties is not an object");
	assert_bad_json(scene, "{ \"denylist\": { \"drivers\": [ \"nvme\" ] } }", "drivers cannot be denied");
	assert_bad_json(scene, "{ \"denylist\": { \"fsids\": [ \"1\" ] } }", "identifiers of file systems cannot be denied");
	assert_bad_json(scene, "{ \"miscellaneous\": { \"api_check_aggressive\": 1 } }", "miscellaneous.api_check_aggressive is not");
	unlink(scene->json);
	assert_int_equal(cuFileDriverOpen().code, CUF_DRIVER_INVALID_PROPS);
	assert_says(scene, "No such file");
	write_text(scene->json, "{ \"denylist\": { \"drivers\": [], \"fsids\": [] } }");
	assert_int_equal(cuFileDriverOpen().code, 0);
}

/* The log names what is to be mended; a variable that is empty is as none. */
static void test_bad_environment(void **state)
{
	static const char *const variables[] = { "CUFILE_LOGGING_LEVEL", "CUFILE_ALLOW_COMPAT_MODE", "CUFILE_FORCE_COMPAT_MODE" };
	struct scene *scene = *state;
	char said[64];

	for (size_t i = 0; i < 3; i++) {
		setenv(variables[i], "LOUD", 1);
		snprintf(said, sizeof(said), "environment: %s is not ", variables[i]);
		assert_bad_json(scene, "{}", said);
		setenv(variables[i], "", 1);
		assert_int_equal(cuFileDriverOpen().code, 0);
		assert_int_equal(cuFileDriverClose_v2().code, 0);
		unsetenv(variables[i]);
	}
}

/* Parameters that the program set hold until a driver that was open is closed. */
static void test_failed_open_keeps_parameters(void **state)
{
	struct scene *scene = *state;
	size_t value = 0;

	assert_int_equal(cuFileSetParameterSizeT(CUF_SIZE_BATCH, 7).code, 0);
	assert_bad_json(scene, "[]", "it is no object");
	write_text(scene->json, "{}");
	assert_int_equal(cuFileDriverOpen().code, 0);
	assert_int_equal(cuFileGetParameterSizeT(CUF_SIZE_BATCH, &value).code, 0);
	assert_int_equal(value, 7);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	assert_int_equal(cuFileGetParameterSizeT(CUF_SIZE_BATCH, &value).code, 0);
	assert_int_equal(value, 128);
}

/* Settings of the log that the program makes between two openings hold for the second. */
static void test_log_moves(void **state)
{
	struct scene *scene = *state;
	char first[sizeof(scene->log)];

	memcpy(first, scene->log, sizeof(first));
	assert_bad_json(scene, "[]", "it is no object");
	snprintf(scene->log, sizeof(scene->log), "%s/other.log", machine->root);
	assert_int_equal(cuFileSetParameterString(CUF_TEXT_LOG_FILE, scene->log).code, 0);
	assert_bad_json(scene, "{", "cufile.json: line");
	write_text(scene->json, "{}");
	assert_int_equal(cuFileDriverOpen().code, 0);
	assert_int_equal(unlink(first), 0);
}

static void test_force_compat(void **state)
{
	struct scene *scene = *state;
	struct cuf_properties properties;

	write_text(scene->json, "{ \"properties\": { \"force_compat_mode\": true } }");
	scene_of(state);
	assert_int_equal(cuFileDriverGetProperties(&properties).code, 0);
	assert_int_equal(properties.driver.controls, 1 << CUF_CONTROL_COMPAT);
	assert_int_equal(cuFileRead(scene->handle, scene->host, 4096, 0, 0), 4096);
	assert_int_equal(counted().compat_bytes, 4096);
	assert_says(scene, "NOTICE");	/* at the default level */
}

/* The program's word counts more than the environment's, and that more than the file's. */
static void test_parameters(void **state)
{
	char text[16];
	size_t value = 0, most = 0;
	bool flag = false;

	(void)state;
	assert_int_equal(cuFileSetParameterSizeT(CUF_SIZE_BATCH, 7).code, 0);
	assert_int_equal(cuFileSetParameterBool(CUF_FLAG_ALLOW_COMPAT, false).code, 0);
	assert_int_equal(cuFileSetParameterString(CUF_TEXT_LOG_LEVEL, "WARN").code, 0);
	assert_int_equal(cuFileSetParameterSizeT(CUF_SIZE_BATCH, 0).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileSetParameterSizeT(CUF_SIZE_COUNT, 1).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileSetParameterString(CUF_TEXT_LOG_LEVEL, "LOUD").code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileGetParameterSizeT(CUF_SIZE_BATCH, &value).code, 0);
	assert_int_equal(value, 7);
	setenv("CUFILE_ALLOW_COMPAT_MODE", "true", 1);
	assert_int_equal(cuFileDriverOpen().code, 0);
	unsetenv("CUFILE_ALLOW_COMPAT_MODE");
	assert_int_equal(cuFileGetParameterSizeT(CUF_SIZE_BATCH, &value).code, 0);
	assert_int_equal(value, 7);
	assert_int_equal(cuFileGetParameterBool(CUF_FLAG_ALLOW_COMPAT, &flag).code, 0);
	assert_false(flag);
	assert_int_equal(cuFileGetParameterString(CUF_TEXT_LOG_LEVEL, text, 5).code, 0);
	assert_string_equal(text, "WARN");
	assert_int_equal(cuFileGetParameterString(CUF_TEXT_LOG_LEVEL, text, 4).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileGetParameterBool(-1, &flag).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileSetParameterSizeT(CUF_SIZE_BATCH, 9).code, CUF_DRIVER_ALREADY_OPEN);
	assert_int_equal(cuFileGetParameterMinMaxValue(CUF_SIZE_BATCH, &value, &most).code, 0);
	assert_int_equal(value, 1);
	assert_int_equal(most, 4096);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	assert_int_equal(cuFileGetParameterSizeT(CUF_SIZE_BATCH, &value).code, 0);
	assert_int_equal(value, 128);
}

/* The ends that are named can be set. */
static void test_limits(void **state)
{
	size_t value = 0, least = 0, most = 0;

	(void)state;
	for (int i = 0; i < CUF_SIZE_COUNT; i++) {
		assert_int_equal(cuFileGetParameterMinMaxValue(i, &least, &most).code, 0);
		assert_int_equal(cuFileGetParameterSizeT(i, &value).code, 0);
		assert_int_equal(cuFileSetParameterSizeT(i, least).code, 0);
		assert_int_equal(cuFileSetParameterSizeT(i, most).code, 0);
		assert_int_equal(cuFileSetParameterSizeT(i, value).code, 0);
	}
	assert_int_equal(cuFileDriverOpen().code, 0);	/* its close forgets them */
}

/* ---- files ---- */

static void test_handles(void **state)
{
	struct scene *scene = scene_of(state);
	struct cuf_descriptor descriptor = { .type = CUF_DESCRIPTOR_USERSPACE };
	void *again = NULL;
	int pipes[2], other;

	assert_int_equal(register_fd(scene->fd, &again).code, CUF_HANDLE_ALREADY_REGISTERED);
	assert_says(scene, "is registered by descriptor");
	other = open(scene->path, O_RDONLY);	/* without O_DIRECT, too */
	assert_int_equal(register_fd(other, &again).code, 0);
	assert_ptr_not_equal(again, scene->handle);
	cuFileHandleDeregister(again);
	close(other);
	other = open(scene->path, O_RDWR | O_APPEND | O_DIRECT);
	assert_int_equal(register_fd(other, &again).code, CUF_INVALID_FILE_OPEN_FLAG);
	assert_says(scene, "d/file was opened with O_APPEND, by which each write goes to its end: open it without");
	close(other);
	other = open(scene->path, O_PATH);
	assert_int_equal(register_fd(other, &again).code, CUF_INVALID_FILE_OPEN_FLAG);
	assert_says(scene, "d/file was opened with O_PATH, and cannot be read: open it without");
	close(other);
	assert_int_equal(register_fd(other, &again).code, CUF_INVALID_VALUE);
	assert_int_equal(register_fd(-1, &again).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileHandleRegister(&again, NULL).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileHandleRegister(&again, &descriptor).code, CUF_IO_NOT_SUPPORTED);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(register_fd(pipes[0], &again).code, CUF_INVALID_FILE_TYPE);
	assert_says(scene, "is neither a regular file nor a block device");
	close(pipes[0]);
	close(pipes[1]);
	cuFileHandleDeregister(scene->handle);
	assert_int_equal(cuFileRead(scene->handle, scene->host, 4096, 0, 0), -CUF_HANDLE_NOT_REGISTERED);
	cuFileHandleDeregister(scene->handle);	/* which only the log reports */
	assert_says(scene, "is no handle");
	assert_int_equal(register_fd(scene->fd, &scene->handle).code, 0);
}

static int fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void *read_once(void *data)
{
	struct scene *scene = data;

	return (void *)(intptr_t)cuFileRead(scene->handle, scene->host, 4096, 0, 0);
}

struct sleeper {
	struct scene *scene;
	pthread_barrier_t at;
};

static void *read_and_sleep(void *data)
{
	struct sleeper *sleeper = data;
	ssize_t got = cuFileRead(sleeper->scene->handle, sleeper->scene->host, 4096, 0, 0);

	pthread_barrier_wait(&sleeper->at);
	pthread_barrier_wait(&sleeper->at);
	return (void *)(intptr_t)got;
}

/* A thread that used the file, and sleeps, does not keep it open. */
static void test_deregister_reaches_sleepers(void **state)
{
	struct scene *scene = scene_of(state);
	struct sleeper sleeper = { .scene = scene };
	char link[64], target[256];
	pthread_t thread;
	void *got;

	pthread_barrier_init(&sleeper.at, NULL, 2);
	pthread_create(&thread, NULL, read_and_sleep, &sleeper);
	pthread_barrier_wait(&sleeper.at);
	cuFileHandleDeregister(scene->handle);
	close(scene->fd);
	for (int fd = 0; fd < 1024; fd++) {
		ssize_t bytes;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		bytes = readlink(link, target, sizeof(target) - 1);
		target[bytes > 0 ? bytes : 0] = '\0';
		assert_string_not_equal(target, scene->path);
	}
	scene->fd = -1;
	pthread_barrier_wait(&sleeper.at);
	pthread_join(thread, &got);
	assert_int_equal((intptr_t)got, 4096);
	pthread_barrier_destroy(&sleeper.at);
}

/* Nothing of a thread stays behind when it ends. */
static void test_threads_end(void **state)
{
	struct scene *scene = scene_of(state);
	pthread_t thread;
	void *got;
	int before;

	for (int i = 0; i < 3; i++) {
		before = fds();
		pthread_create(&thread, NULL, read_once, scene);
		pthread_join(thread, &got);
		assert_int_equal((intptr_t)got, 4096);
		assert_int_equal(fds(), before);
	}
}

static void test_access_modes(void **state)
{
	struct scene *scene = scene_with(state, O_WRONLY | O_DIRECT);
	void *handle = NULL;
	int fd;

	assert_int_equal(cuFileRead(scene->handle, scene->host, 4096, 0, 0), -1);
	assert_int_equal(errno, EBADF);
	assert_says(scene, "d/file was not opened for reading");
	memcpy(scene->host, scene->data + 4096, 4096);
	memcpy(scene->data, scene->data + 4096, 4096);
	assert_int_equal(cuFileWrite(scene->handle, scene->host, 4096, 0, 0), 4096);
	assert_file(scene, BYTES);
	fd = open(scene->path, O_RDONLY | O_DIRECT);
	assert_int_equal(register_fd(fd, &handle).code, 0);
	assert_int_equal(cuFileWrite(handle, scene->host, 4096, 0, 0), -1);
	assert_int_equal(errno, EBADF);
	close(fd);		/* before it is deregistered: the handle goes on */
	assert_int_equal(cuFileRead(handle, scene->host, 4096, 8192, 0), 4096);
	assert_memory_equal(scene->host, scene->data + 8192, 4096);
}

static void register_with_too_many(struct scene *scene, const char *json)
{
	struct rlimit before, limit;
	void *handle = NULL;
	int code, free_fd;

	needs_supported_file_system(scene->path);
	write_text(scene->json, json);
	assert_int_equal(cuFileDriverOpen().code, 0);
	scene->fd = open(scene->path, O_RDWR | O_DIRECT);
	free_fd = dup(scene->fd);
	close(free_fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (rlim_t more = 0; more < 3; more++) {
		limit = (struct rlimit){ .rlim_cur = (rlim_t)free_fd + more, .rlim_max = before.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		code = register_fd(scene->fd, &handle).code;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_int_equal(code, CUF_GETNEWFD_FAILED);
	}
	assert_int_equal(register_fd(scene->fd, &handle).code, 0);
}

/* It is passing: no reason to go through DRAM from now on, though that is allowed. */
static void test_too_many_files(void **state)
{
	register_with_too_many(*state, "{ \"properties\": { \"allow_compat_mode\": true } }");
}

/* A want of descriptors is no reason to ignore the denylist, although the file's mount cannot be looked up. */
static void test_too_many_files_and_denylist(void **state)
{
	register_with_too_many(*state, "{ \"denylist\": { \"filesystems\": [ \"none\" ] } }");
}

struct place {
	const char *path;
	char best[256];
};

static int take_longer(void *user, const struct dnd_mount *mount)
{
	struct place *place = user;
	size_t bytes = strlen(mount->place);

	if (!strncmp(place->path, mount->place, bytes) && (bytes == 1 || place->path[bytes] == '/') && bytes >= strlen(place->best))
		snprintf(place->best, sizeof(place->best), "%s", mount->place);
	return 0;
}

/* A mount as people write it, and not as the kernel does. */
static void test_denied_mount(void **state)
{
	struct scene *scene = *state;
	struct place place = { .path = scene->path };
	char text[512];
	void *handle = NULL;

	needs_supported_file_system(scene->path);
	dnd_mounts_each(take_longer, &place);
	if (!place.best[0])
		skip();		/* a chroot whose root is no mount: the library refuses all files there (denied.c) */
	snprintf(text, sizeof(text), "{ \"denylist\": { \"mounts\": [ \"/proc\", \"%s/.//\" ] } }", place.best);
	write_text(scene->json, text);
	scene->fd = open(scene->path, O_RDWR | O_DIRECT);
	assert_int_equal(register_fd(scene->fd, &handle).code, CUF_IO_DISABLED);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	write_text(scene->json, "{ \"denylist\": { \"mounts\": [ \"/proc\" ], \"devices\": [ \"/dev/null\" ] } }");
	assert_int_equal(register_fd(scene->fd, &handle).code, 0);
}

static void test_denied(void **state)
{
	struct scene *scene = *state;
	void *handle = NULL;

	needs_supported_file_system(scene->path);
	write_text(scene->json, "{ \"denylist\": { \"filesystems\": [ \"ext4\", \"xfs\" ] } }");
	scene->fd = open(scene->path, O_RDWR | O_DIRECT);
	assert_int_equal(register_fd(scene->fd, &handle).code, CUF_IO_DISABLED);
	assert_says(scene, "denylist");
}

/* ---- buffers ---- */

static void test_buffers(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	assert_int_equal(gpu.pins, 1);
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, CUF_MEMORY_ALREADY_REGISTERED);
	assert_int_equal(cuFileBufRegister(scene->device + 65536, BYTES, 0).code, CUF_CUDA_POINTER_RANGE_ERROR);
	assert_says(scene, "go past the end of their allocation, which has 4194304 bytes");
	assert_int_equal(cuFileBufRegister(scene->host, BYTES, 0).code, 0);
	assert_int_equal(gpu.pins, 1);
	assert_int_equal(cuFileBufDeregister(scene->host).code, 0);
	assert_int_equal(cuFileBufDeregister(scene->device).code, 0);
	assert_int_equal(cuFileBufDeregister(scene->device).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileBufDeregister(NULL).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileBufRegister(NULL, BYTES, 0).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileBufRegister(scene->device, 0, 0).code, CUF_INVALID_VALUE);
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 64).code, CUF_INVALID_VALUE);
	/* An address that CUDA knows as the GPU's, but without an allocation. */
	assert_int_equal(cuFileBufRegister(gpu.memory + GPU_BYTES - 65536, 65536, 0).code, CUF_CUDA_DRIVER_ERROR);
	assert_int_equal(cuFileBufRegister(gpu.memory + GPU_BYTES - 65536, 65536, 0).cuda, 1);
}

static void test_pin_limit(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(cuFileDriverSetMaxPinnedMemSize(BYTES / 1024 - 64).code, 0);
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, CUF_INVALID_MAPPING_SIZE);
	assert_int_equal(cuFileBufRegister(scene->device, BYTES / 2, 0).code, 0);
	assert_int_equal(cuFileBufRegister(scene->device + BYTES / 2, BYTES / 2, 0).code, CUF_GPU_MEMORY_PINNING_FAILED);
	assert_int_equal(cuFileBufDeregister(scene->device).code, 0);
	assert_int_equal(cuFileBufRegister(scene->device + BYTES / 2, BYTES / 2, 0).code, 0);
	gpu.pin_fails = -ENOMEM;
	assert_int_equal(cuFileBufRegister(scene->device, 65536, 0).code, CUF_GPU_MEMORY_PINNING_FAILED);
	gpu.pin_fails = -EOPNOTSUPP;
	assert_int_equal(cuFileBufRegister(scene->device, 65536, 0).code, CUF_DEVICE_NOT_SUPPORTED);
	gpu.pin_fails = -EXDEV;
	assert_int_equal(cuFileBufRegister(scene->device, 65536, 0).code, CUF_DEVICE_NOT_FOUND);
}

/* Without /proc the drive is recognized by its device number. */
static void test_denied_drive_without_name(void **state)
{
	struct scene *scene = *state;
	struct cuf_file drive = { .name = (char *)"", .device = makedev(259, 7) };
	char text[256], node[128];

	snprintf(node, sizeof(node), "%s/node", machine->root);
	if (mknod(node, S_IFBLK | 0600, drive.device))
		skip();		/* not root */
	snprintf(text, sizeof(text), "{ \"denylist\": { \"devices\": [ \"%s\" ] } }", node);
	write_text(scene->json, text);
	assert_int_equal(cuFileDriverOpen().code, 0);
	assert_int_equal(cuf_denied(&drive, -1), CUF_IO_DISABLED);
	drive.device = makedev(259, 8);
	assert_int_equal(cuf_denied(&drive, -1), 0);
	unlink(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(test_without_keys),
		cmocka_unit_test(test_log_levels),
		SCENE_TEST(test_open_and_close),
		SCENE_TEST(test_opens_by_itself),
		SCENE_TEST(test_without_module),
		SCENE_TEST(test_set_properties),
		SCENE_TEST(test_remedies),
		SCENE_TEST(test_names_in_the_log),
		SCENE_TEST(test_json),
		SCENE_TEST(test_bad_json),
		SCENE_TEST(test_bad_environment),
		SCENE_TEST(test_parameters),
		SCENE_TEST(test_limits),
		SCENE_TEST(test_failed_open_keeps_parameters),
		SCENE_TEST(test_log_moves),
		SCENE_TEST(test_force_compat),
		SCENE_TEST(test_handles),
		SCENE_TEST(test_deregister_reaches_sleepers),
		SCENE_TEST(test_threads_end),
		SCENE_TEST(test_access_modes),
		SCENE_TEST(test_too_many_files), SCENE_TEST(test_too_many_files_and_denylist),
		SCENE_TEST(test_denied),
		SCENE_TEST(test_denied_mount),
		SCENE_TEST(test_denied_drive_without_name),
		SCENE_TEST(test_buffers),
		SCENE_TEST(test_pin_limit),
	};

	return cmocka_run_group_tests_name("cufile", tests, make_machine, remove_machine);
}
