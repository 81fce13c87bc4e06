// SPDX-License-Identifier: Apache-2.0
/*
 * What libcufile does when a call beneath it fails, and when threads write beside each
 * other.  Needs ext4 or xfs under /tmp, and io_uring.
 */
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "cufile_scene.h"
#include "donard/queue.h"

/* ---- calls of the library and the kernel, which fail or dawdle as a test says ---- */

static struct {
	int open_rc, flush_rc, wait_rc;	/* -errno; wait_rc once */
	int gone_rc;		/* fails once, like a region that was removed, */
	unsigned int gone_after;	/* behind so many requests */
	int plain_errno;	/* a file cannot be opened once more without O_DIRECT */
	int direct_errno;	/* and with it */
	uint64_t fs_block;	/* bytes */
	int thread_error;	/* errno of the library's own threads */
	int begin_rc;		/* -errno of libdonard's context */
	bool bounces;		/* the file system stopped direct I/O */
	int file_rc;		/* -errno of the file system, by whatever way it is read */
	unsigned int spared;	/* requests of a queue that it leaves alone first */
	unsigned int flushes, opens, polls, waits;
	const void *foreign;	/* memory of a device begins there */
	unsigned int align;	/* the blocks of the file system */
	bool dawdles;		/* between reading a block and writing it, and before a file is cut */
	unsigned int writing, met;	/* straight writes that are under way, and pwrite() that began meanwhile */
} faults;

int __real_donard_queue_open(struct donard_context *ctx, const struct donard_queue_options *options,
			     struct donard_queue **queue);
int __real_donard_queue_flush(struct donard_queue *queue, struct donard_file *file, void *user);
int __real_donard_queue_write(struct donard_queue *queue, struct donard_file *file, uint64_t file_offset,
			      struct donard_memory *memory, uint64_t memory_offset, uint64_t length_bytes,
			      void *user);
int __real_donard_queue_wait(struct donard_queue *queue, unsigned int least, int64_t timeout_ns,
			     struct donard_completion *completions, unsigned int most);
int __real_donard_queue_poll(struct donard_queue *queue, struct donard_completion *completions, unsigned int most);
int __real_donard_memory_from_host(struct donard_context *ctx, void *address, uint64_t length_bytes,
				   struct donard_memory **memory);
int __real_donard_file_info(const struct donard_file *file, struct donard_file_info *info);
int __real_ftruncate(int fd, off_t bytes);
ssize_t __real_pread(int fd, void *to, size_t bytes, off_t at);
ssize_t __real_pwrite(int fd, const void *from, size_t bytes, off_t at);
int __real_fstatfs(int fd, struct statfs *fs);
int __real_open(const char *path, int flags, ...);

int __wrap_donard_queue_open(struct donard_context *ctx, const struct donard_queue_options *options,
			     struct donard_queue **queue);
int __wrap_donard_queue_flush(struct donard_queue *queue, struct donard_file *file, void *user);
int __wrap_donard_queue_write(struct donard_queue *queue, struct donard_file *file, uint64_t file_offset,
			      struct donard_memory *memory, uint64_t memory_offset, uint64_t length_bytes,
			      void *user);
int __wrap_donard_queue_wait(struct donard_queue *queue, unsigned int least, int64_t timeout_ns,
			     struct donard_completion *completions, unsigned int most);
int __wrap_donard_queue_poll(struct donard_queue *queue, struct donard_completion *completions, unsigned int most);
int __wrap_donard_memory_from_host(struct donard_context *ctx, void *address, uint64_t length_bytes,
				   struct donard_memory **memory);
int __wrap_donard_file_info(const struct donard_file *file, struct donard_file_info *info);
int __wrap_ftruncate(int fd, off_t bytes);
ssize_t __wrap_pread(int fd, void *to, size_t bytes, off_t at);
ssize_t __wrap_pwrite(int fd, const void *from, size_t bytes, off_t at);
int __wrap_fstatfs(int fd, struct statfs *fs);
int __wrap_open(const char *path, int flags, ...);
int __wrap___open_2(const char *path, int flags);

int __real_donard_open(struct donard_context **ctx, const struct donard_config *config);
int __wrap_donard_open(struct donard_context **ctx, const struct donard_config *config);
int __wrap_donard_open(struct donard_context **ctx, const struct donard_config *config)
{
	return faults.begin_rc ? faults.begin_rc : __real_donard_open(ctx, config);
}

int __wrap_donard_queue_open(struct donard_context *ctx, const struct donard_queue_options *options,
			     struct donard_queue **queue)
{
	__atomic_add_fetch(&faults.opens, 1, __ATOMIC_RELAXED);
	return faults.open_rc ? faults.open_rc : __real_donard_queue_open(ctx, options, queue);
}

int __wrap_donard_queue_flush(struct donard_queue *queue, struct donard_file *file, void *user)
{
	__atomic_add_fetch(&faults.flushes, 1, __ATOMIC_RELAXED);
	return faults.flush_rc ? faults.flush_rc : __real_donard_queue_flush(queue, file, user);
}

typedef void *thread_fn(void *argument);

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how, thread_fn *fn, void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, thread_fn *fn, void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, thread_fn *fn, void *argument)
{
	return faults.thread_error ? faults.thread_error : __real_pthread_create(thread, how, fn, argument);
}

static void dawdle(void)
{
	if (faults.dawdles)
		usleep(500);
}

int __wrap_donard_queue_write(struct donard_queue *queue, struct donard_file *file, uint64_t file_offset,
			      struct donard_memory *memory, uint64_t memory_offset, uint64_t length_bytes,
			      void *user)
{
	int rc;

	__atomic_add_fetch(&faults.writing, 1, __ATOMIC_RELAXED);
	dawdle();
	rc = __real_donard_queue_write(queue, file, file_offset, memory, memory_offset, length_bytes, user);
	__atomic_sub_fetch(&faults.writing, 1, __ATOMIC_RELAXED);
	return rc;
}

ssize_t __wrap_pread(int fd, void *to, size_t bytes, off_t at)
{
	if (!faults.file_rc)
		return __real_pread(fd, to, bytes, at);
	errno = -faults.file_rc;
	return -1;
}

ssize_t __wrap_pwrite(int fd, const void *from, size_t bytes, off_t at)
{
	__atomic_add_fetch(&faults.met, __atomic_load_n(&faults.writing, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	return __real_pwrite(fd, from, bytes, at);
}

int __wrap_fstatfs(int fd, struct statfs *fs)
{
	int rc = __real_fstatfs(fd, fs);

	if (faults.fs_block)
		fs->f_bsize = (long)faults.fs_block;
	return rc;
}

/* Does the scene refuse this open(), as the kernel does for another user's file whose descriptor was handed to the program? */
static bool is_refused(const char *path, int flags)
{
	int error = flags & O_DIRECT ? faults.direct_errno : faults.plain_errno;

	if (!error || strncmp(path, "/proc/self/fd/", 14))
		return false;
	errno = error;
	return true;
}

int __wrap_open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list more;

	if (flags & O_CREAT) {
		va_start(more, flags);
		mode = va_arg(more, mode_t);
		va_end(more);
	}
	return is_refused(path, flags) ? -1 : __real_open(path, flags, mode);
}

/* open() becomes this call if it is compiled with _FORTIFY_SOURCE. */
int __wrap___open_2(const char *path, int flags)
{
	return is_refused(path, flags) ? -1 : __real_open(path, flags);
}

/* The request goes on, and its completion is not taken. */
int __wrap_donard_queue_wait(struct donard_queue *queue, unsigned int least, int64_t timeout_ns,
			     struct donard_completion *completions, unsigned int most)
{
	int rc = __atomic_exchange_n(&faults.wait_rc, 0, __ATOMIC_RELAXED);

	__atomic_add_fetch(&faults.waits, 1, __ATOMIC_RELAXED);
	if (!rc) {
		rc = __real_donard_queue_wait(queue, least, timeout_ns, completions, most);
		for (int i = 0; i < rc && faults.bounces; i++)
			completions[i].flags |= DONARD_COMPLETION_BOUNCED;
		for (int i = 0; i < rc && faults.file_rc; i++) {
			if (faults.spared && faults.spared--)
				continue;
			completions[i].result = faults.file_rc;
			completions[i].error_code = "system";
		}
		if (rc > 0 && faults.gone_rc && faults.gone_after)
			faults.gone_after--;
		else if (rc > 0 && faults.gone_rc) {
			completions[0].result = faults.gone_rc;
			completions[0].error_code = "region-gone";
			faults.gone_rc = 0;
		}
		return rc;
	}
	assert_int_equal(donard_queue_submit(queue), 0);
	return rc;
}

int __wrap_donard_queue_poll(struct donard_queue *queue, struct donard_completion *completions, unsigned int most)
{
	__atomic_add_fetch(&faults.polls, 1, __ATOMIC_RELAXED);
	return __real_donard_queue_poll(queue, completions, most);
}

int __wrap_donard_memory_from_host(struct donard_context *ctx, void *address, uint64_t length_bytes,
				   struct donard_memory **memory)
{
	return address && address == faults.foreign ? -EHOSTUNREACH :
	       __real_donard_memory_from_host(ctx, address, length_bytes, memory);
}

int __wrap_donard_file_info(const struct donard_file *file, struct donard_file_info *info)
{
	int rc = __real_donard_file_info(file, info);

	if (faults.align)
		info->align_bytes = faults.align;
	return rc;
}

int __wrap_ftruncate(int fd, off_t bytes)
{
	dawdle();
	return __real_ftruncate(fd, bytes);
}

static int setup(void **state)
{
	memset(&faults, 0, sizeof(faults));
	return scene_setup(state);
}

/* ---- failures ---- */

static struct scene *durable_scene(void **state)
{
	struct scene *scene = *state;

	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	return scene_with(state, O_RDWR | O_DIRECT | O_SYNC);
}

/* Once a write, however many pieces it has; and not for a read. */
static void test_durable(void **state)
{
	struct scene *scene = durable_scene(state);

	/* The tests' folder has no drive whose cache could be examined. */
	assert_says(scene, "d/file: a write may return before its bytes are durable, although it was opened with O_SYNC");
	assert_int_equal(cuFileWrite(scene->handle, scene->host, 65536, 0, 0), 65536);
	assert_int_equal(faults.flushes, 1);
	assert_int_equal(cuFileWrite(scene->handle, scene->host, 20000, 1000, 1000), 20000);
	assert_int_equal(faults.flushes, 2);
	assert_int_equal(cuFileRead(scene->handle, scene->host, 65536, 0, 0), 65536);
	assert_int_equal(faults.flushes, 2);
}

/* Bytes that are not durable were not written, and no other way is tried. */
static void test_flush_fails(void **state)
{
	struct scene *scene = durable_scene(state);

	faults.flush_rc = -EIO;
	assert_int_equal(cuFileWrite(scene->handle, scene->host, 65536, 0, 0), -1);
	assert_int_equal(errno, EIO);
	faults.flush_rc = -EOPNOTSUPP;
	assert_int_equal(cuFileWrite(scene->handle, scene->host, 65536, 0, 0), -CUF_IO_NOT_SUPPORTED);
	assert_int_equal(counted().compat_bytes, 0);
}

/* The result of a request that was given up is not the next one's. */
static void test_lost_request(void **state)
{
	struct scene *scene = scene_of(state);

	assert_int_equal(cuFileRead(scene->handle, scene->host, 4096, 0, 0), 4096);
	faults.wait_rc = -EIO;
	assert_int_equal(cuFileRead(scene->handle, scene->host, 65536, 0, 0), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(cuFileRead(scene->handle, scene->host, 4096, 8192, 0), 4096);
	assert_memory_equal(scene->host, scene->data + 8192, 4096);
}

/* XFS reports a damaged block so: donard did not refuse anything, and DRAM would not help. */
static void test_file_system_fails(void **state)
{
	struct scene *scene = *state;

	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	scene = scene_of(state);
	faults.file_rc = -EBADMSG;
	for (int forced = 0; forced < 2; forced++) {
		assert_int_equal(cuFileRead(scene->handle, scene->host, 4096, 0, 0), -1);
		assert_int_equal(errno, EBADMSG);
		assert_int_equal(counted().compat_bytes, 0);
		assert_int_equal(cuFileDriverClose_v2().code, 0);
		write_text(scene->json, "{ \"properties\": { \"force_compat_mode\": true } }");
		assert_int_equal(register_fd(scene->fd, &scene->handle).code, 0);
	}
	/* A read by a stream has no errno, so the log has it. */
	assert_says(scene, "d/file: reading 4096 bytes at 0 failed in compatibility mode: Bad message");
}

static void read_unregistered(struct scene *scene, ssize_t expected)
{
	memset(scene->device, 0, 8192);
	assert_int_equal(cuFileRead(scene->handle, scene->device, 8192, 4096, 0), expected);
	if (expected > 0)
		assert_memory_equal(scene->device, scene->data + 4096, 8192);
}

/* The library's own stage is pinned again, and if that fails, the error is the one that a first request would get. */
static void test_region_of_the_stage_is_removed(void **state)
{
	struct scene *scene = scene_of(state);

	read_unregistered(scene, 8192);
	assert_int_equal(gpu.pins, 1);
	faults.gone_rc = -ENODEV;
	read_unregistered(scene, 8192);
	assert_int_equal(gpu.pins, 2);
	memcpy(scene->device, scene->data + 5000, 3000);
	memcpy(scene->data + 100, scene->data + 5000, 3000);
	for (unsigned int requests = 0; requests < 2; requests++) {	/* the read of the block, the write */
		faults.gone_after = requests;
		faults.gone_rc = -ENODEV;
		assert_int_equal(cuFileWrite(scene->handle, scene->device, 3000, 100, 0), 3000);
		assert_int_equal(faults.gone_rc, 0);
		assert_file(scene, BYTES);
	}
	assert_int_equal(gpu.pins, 4);
	faults.gone_rc = gpu.pin_fails = -ENODEV;
	read_unregistered(scene, -CUF_GPU_MEMORY_PINNING_FAILED);
	gpu.pin_fails = 0;
	faults.file_rc = -ENODEV;	/* the drive's */
	read_unregistered(scene, -1);
	assert_int_equal(errno, ENODEV);
	faults.file_rc = 0;
	read_unregistered(scene, 8192);
}

/* If compatibility mode is allowed, a request whose second pin is refused goes through DRAM. */
static void test_region_of_the_stage_stays_away(void **state)
{
	struct scene *scene = *state;

	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	scene = scene_of(state);
	read_unregistered(scene, 8192);
	faults.gone_rc = gpu.pin_fails = -ENODEV;
	read_unregistered(scene, 8192);
	assert_int_equal(counted().compat_bytes, 8192);
}

static void *write_once(void *handle)
{
	static const uint8_t bytes[100];

	return (void *)(intptr_t)cuFileWrite(handle, bytes, sizeof(bytes), 0, 0);
}

/* Another user's descriptor with O_DIRECT offers no way through the page cache. */
static void test_file_that_cannot_be_opened_once_more(void **state)
{
	struct scene *scene = *state;
	int fd = open(scene->path, O_WRONLY | O_DIRECT), plain = open(scene->path, O_WRONLY);
	void *handle = NULL, *wrote;
	pthread_t thread;

	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	scene = scene_of(state);
	faults.plain_errno = faults.direct_errno = EACCES;
	assert_int_equal(register_fd(fd, &handle).code, CUF_PERMISSION_DENIED);
	assert_says(scene, "d/file cannot be opened once more without O_DIRECT, which compatibility mode would need: Permission denied");
	faults.plain_errno = ENOMEM;
	assert_int_equal(register_fd(fd, &handle).code, CUF_GETNEWFD_FAILED);
	faults.plain_errno = EACCES;
	assert_int_equal(register_fd(plain, &handle).code, 0);
	memcpy(scene->data + 1, scene->data + 5000, 100);
	assert_int_equal(cuFileWrite(handle, scene->data + 5000, 100, 1, 0), 100);
	assert_file(scene, BYTES);
	cuFileHandleDeregister(handle);
	faults.direct_errno = 0;
	assert_int_equal(register_fd(fd, &handle).code, 0);
	faults.open_rc = -EOPNOTSUPP;	/* what would fall back, in a thread without a queue */
	pthread_create(&thread, NULL, write_once, handle);
	pthread_join(thread, &wrote);
	assert_int_equal((intptr_t)wrote, -CUF_IO_NOT_SUPPORTED);
	assert_file(scene, BYTES);
	close(fd);
	close(plain);
}

/* The part with the end of the file was written, and another was not. */
static void test_failed_write_leaves_no_padding(void **state)
{
	struct scene *scene = scene_of(state);
	struct stat st;

	assert_int_equal(ftruncate(scene->fd, 0), 0);
	faults.file_rc = -EIO;
	faults.spared = 1;	/* the read of the block */
	assert_int_equal(cuFileWrite(scene->handle, scene->host, 100, 0, 0), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(fstat(scene->fd, &st), 0);
	assert_int_equal(st.st_size, 100);
}

/* XFS may have such blocks, and cufile.json allows such a small stage. */
static void test_blocks_larger_than_the_stage(void **state)
{
	struct scene *scene = *state;

	write_text(scene->json, "{ \"properties\": { \"per_buffer_cache_size_kb\": 64 } }");
	faults.align = 65536;
	scene = scene_of(state);
	assert_int_equal(cuFileRead(scene->handle, scene->host, 100, 1, 0), -CUF_INTERNAL_ERROR);
	assert_says(scene, "blocks of 65536 bytes needs memory for two of them, and properties.per_buffer_cache_size_kb of cufile.json "
		    "allows 64 KiB: raise it to 128");
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	write_text(scene->json, "{ \"properties\": { \"per_buffer_cache_size_kb\": 128 } }");
	assert_int_equal(register_fd(scene->fd, &scene->handle).code, 0);
	assert_int_equal(cuFileRead(scene->handle, scene->host, 100, 1, 0), 100);
	assert_memory_equal(scene->host, scene->data + 1, 100);
}

/* A transfer through the page cache counts neither as straight nor as staged. */
static void test_bounced_meanwhile(void **state)
{
	struct scene *scene = scene_of(state);

	faults.bounces = true;
	assert_int_equal(cuFileRead(scene->handle, scene->host, 8193, 0, 0), 8193);
	assert_int_equal(counted().compat_bytes, 8193);
	assert_int_equal(counted().staged_bytes, 0);
	assert_says(scene, "d/file: its file system stopped direct I/O");
	faults.bounces = false;
	assert_int_equal(cuFileRead(scene->handle, scene->host, 8192, 0, 0), 8192);
	assert_int_equal(counted().compat_bytes, 8193);
}

static void *read_once(void *data)
{
	struct scene *scene = data;

	return (void *)(intptr_t)cuFileRead(scene->handle, scene->host, 4096, 8192, 0);
}

static ssize_t read_in_thread(struct scene *scene)
{
	pthread_t thread;
	void *got;

	pthread_create(&thread, NULL, read_once, scene);
	pthread_join(thread, &got);
	return (intptr_t)got;
}

/* An entry of a batch has the number that cuFileRead() returns. */
static void read_in_batch(struct scene *scene, int status, ssize_t result)
{
	struct cuf_batch_request request = {
		.mode = CUF_MODE_BATCH, .base = scene->host, .bytes = 4096, .handle = scene->handle, .operation = CUF_READ,
	};
	struct cuf_batch_event event;
	unsigned int count = 1;
	void *batch;

	assert_int_equal(cuFileBatchIOSetUp(&batch, 1).code, 0);
	assert_int_equal(cuFileBatchIOSubmit(batch, 1, &request, 0).code, 0);
	assert_int_equal(cuFileBatchIOGetStatus(batch, 1, &count, &event, NULL).code, 0);
	assert_int_equal(event.status, status);
	assert_int_equal((ssize_t)event.result, result);
	cuFileBatchIODestroy(batch);
}

/* Compatibility mode works even if io_uring is switched off. */
static void test_without_io_uring(void **state)
{
	struct scene *scene = scene_of(state);

	faults.open_rc = -EOPNOTSUPP;
	assert_int_equal(read_in_thread(scene), -CUF_IO_NOT_SUPPORTED);
	assert_int_equal(faults.opens, 1);
	read_in_batch(scene, CUF_INVALID, -CUF_IO_NOT_SUPPORTED);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	assert_int_equal(register_fd(scene->fd, &scene->handle).code, 0);
	assert_int_equal(read_in_thread(scene), 4096);
	assert_memory_equal(scene->host, scene->data + 8192, 4096);
	assert_int_equal(counted().compat_bytes, 4096);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	write_text(scene->json, "{ \"properties\": { \"force_compat_mode\": true } }");
	faults.opens = 0;
	assert_int_equal(register_fd(scene->fd, &scene->handle).code, 0);
	assert_int_equal(read_in_thread(scene), 4096);
	assert_int_equal(faults.opens, 0);
}

static void test_without_libdonard(void **state)
{
	(void)state;
	faults.begin_rc = -ENOMEM;
	assert_int_equal(cuFileDriverOpen().code, CUF_NVFS_SETUP_ERROR);
	assert_int_equal(cuFileUseCount(), 0);
	faults.begin_rc = 0;
	assert_int_equal(cuFileDriverOpen().code, 0);
}

/* The user has as many tasks as allowed: the log says why the batch fails, and the next batch works. */
static void test_without_threads(void **state)
{
	struct scene *scene = scene_of(state);

	faults.thread_error = EAGAIN;
	read_in_batch(scene, CUF_INVALID, -CUF_BATCH_SUBMIT_FAILED);
	assert_says(scene, "no thread can be started for batches and streams");
	faults.thread_error = 0;
	read_in_batch(scene, CUF_COMPLETE, 4096);
}

/* A pointer that nobody may read or write: no signal, and the next call works. */
static void test_bad_address(void **state)
{
	struct scene *scene = scene_of(state);
	uint8_t *nothing = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const off_t places[] = { 0, 1 };
	static const uintptr_t nowhere[] = { 512, INT64_MAX - 4095, 0xdeadbeefdeadb000 };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		assert_int_equal(cuFileRead(scene->handle, nothing, 4096, places[i], 0), -1);
		assert_int_equal(errno, EFAULT);
		assert_int_equal(cuFileWrite(scene->handle, nothing, 4096, places[i], 0), -1);
		assert_int_equal(errno, EFAULT);
	}
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		assert_int_equal(cuFileRead(scene->handle, (void *)nowhere[i], 4096, 0, 0), -1);
		assert_int_equal(errno, EFAULT);
		assert_int_equal(cuFileWrite(scene->handle, (void *)nowhere[i], 4096, 0, 0), -1);
		assert_int_equal(errno, EFAULT);
	}
	assert_file(scene, BYTES);
	assert_int_equal(cuFileWrite(scene->handle, scene->data + 1, 100, 1, 0), 100);
	munmap(nothing, 65536);
}

/* Requests up to that size are polled for. */
static void test_poll_mode(void **state)
{
	struct scene *scene = scene_of(state);

	assert_int_equal(cuFileDriverSetPollMode(true, 4).code, 0);
	assert_int_equal(cuFileRead(scene->handle, scene->host, 4096, 8192, 0), 4096);
	assert_memory_equal(scene->host, scene->data + 8192, 4096);
	assert_true(faults.polls > 0);
	assert_int_equal(faults.waits, 0);
	faults.polls = 0;
	assert_int_equal(cuFileRead(scene->handle, scene->host, 8192, 0, 0), 8192);
	assert_int_equal(faults.polls, 0);
	assert_true(faults.waits > 0);
}

/* A mapping of a device is not the host's memory: no byte goes there as if it were. */
static void test_foreign_memory(void **state)
{
	struct scene *scene = scene_of(state);

	faults.foreign = scene->host;
	assert_int_equal(cuFileBufRegister(scene->host, BYTES, 0).code, CUF_CUDA_MEMORY_TYPE_INVALID);
	assert_int_equal(cuFileRead(scene->handle, scene->host, 4096, 0, 0), -CUF_CUDA_MEMORY_TYPE_INVALID);
	assert_int_equal(cuFileWrite(scene->handle, scene->host, 4096, 0, 0), -CUF_CUDA_MEMORY_TYPE_INVALID);
	assert_file(scene, BYTES);
	assert_int_equal(counted().read_bytes + counted().written_bytes, 0);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	assert_int_equal(register_fd(scene->fd, &scene->handle).code, 0);
	assert_int_equal(cuFileRead(scene->handle, scene->host, 4096, 0, 0), 4096);
	assert_memory_equal(scene->host, scene->data, 4096);
	assert_int_equal(counted().compat_bytes, 4096);
}

/* ---- threads that write beside each other ---- */

struct writer {
	void *handle;
	const uint8_t *from;
	size_t bytes;		/* 0: the thread ends */
	off_t at;
	ssize_t wrote;
	pthread_barrier_t *barrier;
	pthread_t thread;
};

/* They live as long as the test: the sanitizer takes a ring of a thread that began where one ended for the same. */
struct pair {
	struct writer writers[2];
	pthread_barrier_t barrier;
};

static void *write_when_told(void *data)
{
	struct writer *writer = data;

	for (pthread_barrier_wait(writer->barrier); writer->bytes; pthread_barrier_wait(writer->barrier)) {
		writer->wrote = cuFileWrite(writer->handle, writer->from, writer->bytes, writer->at, 0);
		pthread_barrier_wait(writer->barrier);
	}
	return NULL;
}

static void begin_pair(struct pair *pair)
{
	faults.dawdles = true;
	pthread_barrier_init(&pair->barrier, NULL, 3);
	for (int i = 0; i < 2; i++) {
		pair->writers[i] = (struct writer){ .barrier = &pair->barrier };
		pthread_create(&pair->writers[i].thread, NULL, write_when_told, &pair->writers[i]);
	}
}

static void tell(struct writer *writer, void *handle, const uint8_t *from, size_t bytes, off_t at)
{
	writer->handle = handle;
	writer->from = from;
	writer->bytes = bytes;
	writer->at = at;
}

static void write_both(struct pair *pair)
{
	pthread_barrier_wait(&pair->barrier);
	pthread_barrier_wait(&pair->barrier);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pair->writers[i].wrote, pair->writers[i].bytes);
}

static void end_pair(struct pair *pair)
{
	for (int i = 0; i < 2; i++)
		pair->writers[i].bytes = 0;
	pthread_barrier_wait(&pair->barrier);
	for (int i = 0; i < 2; i++)
		pthread_join(pair->writers[i].thread, NULL);
	pthread_barrier_destroy(&pair->barrier);
}

/* The lock is the file's, and not the registration's. */
static void test_two_handles(void **state)
{
	struct scene *scene = scene_of(state);
	int fd = open(scene->path, O_RDWR | O_DIRECT);
	void *other = NULL;
	struct pair pair;

	assert_int_equal(register_fd(fd, &other).code, 0);
	begin_pair(&pair);
	for (int i = 0; i < 40; i++) {
		tell(&pair.writers[0], scene->handle, scene->data, 100, 0);
		tell(&pair.writers[1], i % 2 ? other : scene->handle, scene->data + 100, 100, 100);
		dnd_nonce(scene->data, 200);
		write_both(&pair);
		assert_file(scene, BYTES);
	}
	end_pair(&pair);
	close(fd);
}

/* Two neighbours of so many bytes, one straight and one by the page cache. */
static void write_both_ways(void **state, size_t bytes)
{
	struct scene *scene = *state;
	uint8_t *aligned = aligned_alloc(4096, 4096);
	struct pair pair;

	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	scene = scene_of(state);
	faults.foreign = scene->host;	/* what only compatibility mode writes */
	begin_pair(&pair);
	tell(&pair.writers[0], scene->handle, aligned, bytes, 0);
	tell(&pair.writers[1], scene->handle, scene->host, bytes, (off_t)bytes);
	for (int i = 0; i < 40; i++) {
		dnd_nonce(aligned, bytes);
		dnd_nonce(scene->host, bytes);
		memcpy(scene->data, aligned, bytes);
		memcpy(scene->data + bytes, scene->host, bytes);
		write_both(&pair);
		assert_file(scene, BYTES);
	}
	end_pair(&pair);
	assert_int_equal(counted().compat_bytes, 40 * bytes);
	assert_int_equal(faults.met, 0);
	free(aligned);
}

/* The page cache would keep the old bytes of a block that is being written straight, and write the whole page. */
static void test_page_of_both_ways(void **state)
{
	fake_file(machine, "block/nvme7n1/queue/logical_block_size", "512");
	write_both_ways(state, 512);
	fake_file(machine, "block/nvme7n1/queue/logical_block_size", "4096");
}

/* With blocks larger than a page, the page cache reads and writes back whole blocks. */
static void test_block_of_both_ways(void **state)
{
	faults.fs_block = 65536;
	write_both_ways(state, 4096);
}

/* A write that truncates the file to its own end does not cut off bytes that another thread wrote behind it. */
static void test_growth(void **state)
{
	struct scene *scene = scene_of(state);
	uint8_t *aligned = aligned_alloc(4096, 65536);
	struct pair pair;
	struct stat st;

	memcpy(aligned, scene->data + 4096, 65536);
	begin_pair(&pair);
	tell(&pair.writers[0], scene->handle, scene->data, 100, 0);
	tell(&pair.writers[1], scene->handle, aligned, 65536, 4096);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(__real_ftruncate(scene->fd, 0), 0);
		write_both(&pair);
		assert_int_equal(fstat(scene->fd, &st), 0);
		assert_int_equal(st.st_size, 4096 + 65536);
	}
	end_pair(&pair);
	free(aligned);
}

static ssize_t longest_read(struct scene *scene, uint8_t *to, const off_t offset)
{
	ssize_t got, longest = 0;

	for (int i = 0; i < 40; i++) {
		got = cuFileRead(scene->handle, to, 8192, BYTES, offset);
		assert_in_range(got, 0, 8192);
		longest = got > longest ? got : longest;
	}
	return longest;
}

/* A reader at the end of the file never sees the zeros that are cut off afterwards. */
static void test_growth_beside_a_reader(void **state)
{
	struct scene *scene = scene_of(state);
	uint8_t *aligned = aligned_alloc(4096, 8192);
	struct pair pair;

	memcpy(aligned, scene->data, 8192);
	begin_pair(&pair);
	tell(&pair.writers[0], scene->handle, aligned, 5000, BYTES);
	tell(&pair.writers[1], scene->handle, aligned, 4096, 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(__real_ftruncate(scene->fd, BYTES), 0);
		pthread_barrier_wait(&pair.barrier);
		assert_in_range(longest_read(scene, scene->host, i % 2), 0, 5000);	/* straight, or by the stage */
		pthread_barrier_wait(&pair.barrier);
		assert_int_equal(pair.writers[0].wrote, 5000);
	}
	end_pair(&pair);
	free(aligned);
}

#define FAULT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_TEST(test_durable),
		FAULT_TEST(test_flush_fails),
		FAULT_TEST(test_lost_request),
		FAULT_TEST(test_file_system_fails), FAULT_TEST(test_failed_write_leaves_no_padding),
		FAULT_TEST(test_region_of_the_stage_is_removed), FAULT_TEST(test_region_of_the_stage_stays_away),
		FAULT_TEST(test_file_that_cannot_be_opened_once_more),
		FAULT_TEST(test_blocks_larger_than_the_stage),
		FAULT_TEST(test_bounced_meanwhile),
		FAULT_TEST(test_without_io_uring), FAULT_TEST(test_without_threads), FAULT_TEST(test_without_libdonard),
		FAULT_TEST(test_bad_address),
		FAULT_TEST(test_poll_mode),
		FAULT_TEST(test_foreign_memory),
		FAULT_TEST(test_two_handles),
		FAULT_TEST(test_page_of_both_ways), FAULT_TEST(test_block_of_both_ways),
		FAULT_TEST(test_growth),
		FAULT_TEST(test_growth_beside_a_reader),
	};

	return cmocka_run_group_tests_name("cufile_faults", tests, make_machine, remove_machine);
}
