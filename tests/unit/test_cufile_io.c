// SPDX-License-Identifier: Apache-2.0
/*
 * Reads and writes of libcufile, with all alignments and by several threads.  Needs ext4 or
 * xfs under /tmp, and io_uring.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "cufile_scene.h"
#include "cufile/gpu.h"

/* ---- reads and writes ---- */

static void read_part(struct scene *scene, uint8_t *buffer, off_t at, off_t offset, size_t bytes)
{
	uint8_t guard = 0x5a;

	memset(buffer, guard, BYTES);
	assert_int_equal(cuFileRead(scene->handle, buffer, bytes, at, offset), bytes);
	assert_memory_equal(buffer + offset, scene->data + at, bytes);
	if (offset)
		assert_int_equal(buffer[offset - 1], guard);
	assert_int_equal(buffer[offset + bytes], guard);
}

static void write_part(struct scene *scene, uint8_t *buffer, off_t at, off_t offset, size_t bytes)
{
	memset(buffer, 0xee, BYTES);
	dnd_nonce(buffer + offset, bytes);
	memcpy(scene->data + at, buffer + offset, bytes);
	assert_int_equal(cuFileWrite(scene->handle, buffer, bytes, at, offset), bytes);
	assert_file(scene, BYTES);
}

static const struct {
	off_t at, offset;
	size_t bytes;
} parts[] = {
	{ 0, 0, 65536 },		/* whole blocks */
	{ 4096, 8192, 1048576 },
	{ 1, 0, 4096 },			/* an unaligned begin in the file */
	{ 0, 1, 4096 },			/* in the buffer */
	{ 0, 0, 1 },
	{ 4095, 4095, 2 },		/* the same of both, over two blocks */
	{ 1000, 1000, 200000 },		/* then the middle is aligned */
	{ 1000, 3, 2500000 },		/* more than a stage, and never aligned */
	{ 8192, 0, 70001 },		/* an unaligned end */
	{ BYTES - 100, 0, 100 },	/* at the end of the file */
};

static void all_parts(struct scene *scene, uint8_t *buffer)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		read_part(scene, buffer, parts[i].at, parts[i].offset, parts[i].bytes);
		write_part(scene, buffer, parts[i].at, parts[i].offset, parts[i].bytes);
	}
}

static void test_host_memory(void **state)
{
	struct scene *scene = scene_of(state);

	all_parts(scene, scene->host);
	assert_int_equal(cuFileRead(scene->handle, scene->host, 0, 0, 0), 0);
	assert_int_equal(gpu.copies, 0);
}

static void test_registered_host_memory(void **state)
{
	struct scene *scene = scene_of(state);

	assert_int_equal(cuFileBufRegister(scene->host, BYTES, 0).code, 0);
	all_parts(scene, scene->host);
}

static void test_registered_memory(void **state)
{
	struct scene *scene = scene_of(state);

	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	all_parts(scene, scene->device);
	assert_int_equal(counted().compat_bytes, 0);
	assert_int_equal(gpu.settled, 0);	/* its synchronous calls are complete, and for others the program waits */
}

/* Aligned requests of a registered buffer are not staged; also of a pointer into it. */
static void test_goes_straight(void **state)
{
	struct scene *scene = scene_of(state);

	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	read_part(scene, scene->device, 65536, 65536, 1048576);
	assert_int_equal(cuFileRead(scene->handle, scene->device + 4096, 65536, 0, 4096), 65536);
	assert_memory_equal(scene->device + 8192, scene->data, 65536);
	assert_int_equal(gpu.copies, 0);
	assert_int_equal(counted().staged_bytes, 0);
	assert_int_equal(counted().read_bytes, 1048576 + 65536);
	assert_int_equal(counted().reads, 2);
	/* The same works once it is not registered any more. */
	assert_int_equal(cuFileBufDeregister(scene->device).code, 0);
	assert_int_equal(cuFileRead(scene->handle, scene->device + 4096, 65536, 0, 4096), 65536);
	assert_int_equal(counted().staged_bytes, 65536);
}

/* With TRACE the log has a line for each call: how many bytes took which way. */
static void test_says_which_way(void **state)
{
	struct scene *scene;
	void *handle;
	int fd;

	write_text(((struct scene *)*state)->json, "{ \"logging\": { \"level\": \"TRACE\" }, "
		   "\"properties\": { \"allow_compat_mode\": true } }");
	scene = scene_of(state);
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	read_part(scene, scene->device, 4096, 8192, 1048576);
	assert_says(scene, "d/file: read 1048576 of 1048576 bytes at 4096: 1048576 straight, 0 staged, 0 in compatibility mode");
	write_part(scene, scene->device, 4096, 8192, 8193);
	assert_says(scene, "d/file: wrote 8193 of 8193 bytes at 4096: 8192 straight, 1 staged, 0 in compatibility mode");
	/* Nothing of the call before is in the next one's line; a read ends with the file. */
	assert_int_equal(cuFileRead(scene->handle, scene->device, 8192, BYTES - 4096, 0), 4096);
	assert_says(scene, "d/file: read 4096 of 8192 bytes at 4190208: 4096 straight, 0 staged, 0 in compatibility mode");
	fd = memfd_create("tmpfs", 0);
	assert_int_equal(write(fd, scene->data, BYTES), BYTES);
	assert_int_equal(register_fd(fd, &handle).code, 0);
	assert_int_equal(cuFileRead(handle, scene->device, 8192, 0, 0), 8192);
	assert_says(scene, "read 8192 of 8192 bytes at 0: 0 straight, 0 staged, 8192 in compatibility mode");
	close(fd);
}

static void test_unregistered_memory(void **state)
{
	struct scene *scene = scene_of(state);

	all_parts(scene, scene->device);
	assert_int_equal(counted().compat_bytes, 0);
	assert_int_equal(counted().staged_bytes, counted().read_bytes + counted().written_bytes);
	assert_int_equal(gpu.pins, 1);	/* the stage, once */
	assert_int_equal(gpu.settled, counted().reads + counted().writes);
}

/* CUDA cuts small allocations from a chunk, and a page is pinned once: the stage shares none with the program's memory. */
static void test_stage_has_own_pages(void **state)
{
	struct scene *scene = *state;
	struct cuf_pointer stage;

	write_text(scene->json, "{ \"properties\": { \"per_buffer_cache_size_kb\": 68 } }");
	scene = scene_of(state);
	gpu.skew = 512;
	read_part(scene, scene->device, 1, 0, 8192);
	assert_int_equal(gpu.pinned % 65536, 0);
	assert_int_equal(cuf_gpu->look_up((void *)(uintptr_t)gpu.pinned, &stage), 0);
	assert_true(gpu.pinned + 2 * 65536 <= stage.start + stage.bytes);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	assert_ptr_equal(gpu.freed, (void *)(uintptr_t)stage.start);
}

/* A buffer is freed while it is registered: its pinned memory is lost, and its address may belong to another allocation. */
static void test_freed_while_registered(void **state)
{
	struct scene *scene = scene_of(state);
	uint8_t *inside = scene->device + 4096;

	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	read_part(scene, scene->device, 1, 0, 8192);
	gpu.resets++;
	assert_int_equal(cuFileRead(scene->handle, scene->device, 8192, 0, 0), -CUF_CUDA_POINTER_INVALID);
	assert_int_equal(cuFileWrite(scene->handle, scene->device, 8192, 0, 0), -CUF_CUDA_POINTER_INVALID);
	assert_int_equal(cuFileRead(scene->handle, inside, 8192, 0, 0), -CUF_CUDA_POINTER_INVALID);
	assert_int_equal(cuFileBufDeregister(scene->device).code, 0);
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	read_part(scene, scene->device, 1, 0, 8192);
}

/* A context that was reset took the stage with it; its addresses are others' by now. */
static void test_reset_gpu(void **state)
{
	struct scene *scene = scene_of(state);

	read_part(scene, scene->device, 1, 0, 8192);
	assert_int_equal(gpu.pins, 1);
	gpu.resets++;
	read_part(scene, scene->device, 1, 0, 8192);
	assert_int_equal(gpu.pins, 2);
	assert_int_equal(gpu.frees, 0);
	read_part(scene, scene->device, 1, 0, 8192);
	assert_int_equal(gpu.pins, 2);
	gpu.resets++;
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	assert_int_equal(gpu.frees, 0);
}

/* Two stages end with the context: the GPU's own, and the host's for compatibility mode. */
static void test_reset_gpu_with_two_stages(void **state)
{
	struct scene *scene = *state;

	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	scene = scene_of(state);
	gpu.pin_fails = -EOPNOTSUPP;
	read_part(scene, scene->device, 1, 0, 8192);
	assert_int_equal(counted().compat_bytes, 8192);
	gpu.pin_fails = 0;
	gpu.resets++;
	read_part(scene, scene->device, 1, 0, 8192);
	assert_int_equal(counted().compat_bytes, 8192);
	assert_int_equal(gpu.pins, 1);
}

static void test_at_the_end(void **state)
{
	struct scene *scene = scene_of(state);

	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	assert_int_equal(cuFileRead(scene->handle, scene->device, 8192, BYTES - 4096, 0), 4096);
	assert_int_equal(cuFileRead(scene->handle, scene->device, 8192, BYTES, 0), 0);
	assert_int_equal(cuFileRead(scene->handle, scene->device, 100, BYTES + 5, 0), 0);
	assert_int_equal(cuFileRead(scene->handle, scene->device, 0, 0, 0), 0);
	assert_int_equal(ftruncate(scene->fd, 10001), 0);
	assert_int_equal(cuFileRead(scene->handle, scene->device, 65536, 0, 0), 10001);
	assert_memory_equal(scene->device, scene->data, 10001);
	assert_int_equal(cuFileRead(scene->handle, scene->device, 65536, 10000, 7), 1);
	assert_int_equal(scene->device[7], scene->data[10000]);
}

static off_t size_of(const struct scene *scene)
{
	struct stat st;

	assert_int_equal(fstat(scene->fd, &st), 0);
	return st.st_size;
}

/* A file grows by the bytes that are written, and not by whole blocks. */
static void test_grows(void **state)
{
	struct scene *scene = scene_of(state);

	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	assert_int_equal(ftruncate(scene->fd, 0), 0);
	memcpy(scene->device, scene->data, BYTES);
	assert_int_equal(cuFileWrite(scene->handle, scene->device, 5000, 0, 0), 5000);
	assert_int_equal(size_of(scene), 5000);
	assert_int_equal(cuFileWrite(scene->handle, scene->device, 100, 5000, 5000), 100);
	assert_int_equal(size_of(scene), 5100);
	assert_int_equal(cuFileWrite(scene->handle, scene->device, 10, 20, 20), 10);
	assert_int_equal(size_of(scene), 5100);
	assert_int_equal(cuFileWrite(scene->handle, scene->device, 65536 + 3, 4096, 4096), 65536 + 3);
	assert_file(scene, 4096 + 65536 + 3);
}

static void test_bad_requests(void **state)
{
	struct scene *scene = scene_of(state);

	assert_int_equal(cuFileBufRegister(scene->device, BYTES / 2, 0).code, 0);
	assert_int_equal(cuFileRead(scene->handle, scene->device, BYTES, 0, 0), -CUF_INVALID_MAPPING_RANGE);
	assert_int_equal(cuFileRead(scene->handle, scene->device, 4096, 0, BYTES / 2), -CUF_INVALID_MAPPING_RANGE);
	assert_int_equal(cuFileRead(scene->handle, scene->device + BYTES / 2, BYTES, 0, 0), -CUF_CUDA_POINTER_RANGE_ERROR);
	assert_int_equal(cuFileRead(scene->handle, NULL, 4096, 0, 0), -CUF_INVALID_VALUE);
	assert_int_equal(cuFileRead(scene->handle, scene->device, 4096, -1, 0), -CUF_INVALID_VALUE);
	assert_int_equal(cuFileRead(scene->handle, scene->device, 4096, 0, -1), -CUF_INVALID_VALUE);
	assert_int_equal(cuFileRead(NULL, scene->device, 4096, 0, 0), -CUF_HANDLE_NOT_REGISTERED);
	assert_int_equal(counted().failures, 7);
	assert_int_equal(counted().read_bytes, 0);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	assert_int_equal(cuFileRead(scene->handle, scene->device, 4096, 0, 0), -CUF_DRIVER_NOT_INITIALIZED);
}

/* A transfer that needs compatibility mode is refused unless that is allowed; then it is counted. */
static void test_no_silent_fallback(void **state)
{
	struct scene *scene = *state;
	int fd = memfd_create("tmpfs", 0);
	void *handle = NULL;

	assert_int_equal(write(fd, scene->data, BYTES), BYTES);
	assert_int_equal(register_fd(fd, &handle).code, CUF_IO_NOT_SUPPORTED);
	assert_null(handle);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	assert_int_equal(register_fd(fd, &handle).code, 0);
	assert_int_equal(cuFileRead(handle, scene->device, 2500000, 1000, 3), 2500000);
	assert_memory_equal(scene->device + 3, scene->data + 1000, 2500000);
	assert_int_equal(cuFileWrite(handle, scene->host, 100, BYTES, 0), 100);
	assert_int_equal(counted().compat_bytes, 2500100);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	close(fd);
}

/* Neither registered nor read straight, and the log says why; where it is allowed, the CPU reads it, which is no failure. */
static void test_managed_memory(void **state)
{
	struct scene *scene = scene_of(state);

	gpu.managed = true;
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, CUF_CUDA_MEMORY_TYPE_INVALID);
	assert_says(scene, "is managed memory, which moves between host and GPU, and cannot be registered");
	assert_int_equal(cuFileRead(scene->handle, scene->device, 8192, 0, 0), -CUF_CUDA_MEMORY_TYPE_INVALID);
	assert_says(scene, "cannot be read or written straight");
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	assert_int_equal(register_fd(scene->fd, &scene->handle).code, 0);
	read_part(scene, scene->device, 4096, 0, 8192);
	assert_int_equal(counted().compat_bytes, 8192);
}

/*
 * The library's errors for memory that cannot be pinned: because of its driver or kind, from a pool, or by several cuMemMap().
 */
static const int unpinned[] = { -EINVAL, -ENXIO, -EOPNOTSUPP };

static void test_unpinned(void **state)
{
	struct scene *scene = scene_of(state);

	for (size_t i = 0; i < sizeof(unpinned) / sizeof(unpinned[0]); i++) {
		gpu.pin_fails = unpinned[i];
		assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, CUF_DEVICE_NOT_SUPPORTED);
	}
	assert_true(cuFileRead(scene->handle, scene->device, 4096, 0, 0) < 0);
	assert_int_equal(counted().compat_bytes, 0);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	assert_int_equal(register_fd(scene->fd, &scene->handle).code, 0);
	read_part(scene, scene->device, 0, 0, 65536);
	assert_int_equal(counted().compat_bytes, 65536);
	/* A transient failure is reported in this mode, too. */
	gpu.pin_fails = -EIO;
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, CUF_NVFS_DRIVER_ERROR);
	for (size_t i = 0; i < sizeof(unpinned) / sizeof(unpinned[0]); i++) {
		if (i)
			assert_int_equal(cuFileBufDeregister(scene->device).code, 0);
		gpu.pin_fails = unpinned[i];
		assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	}
	read_part(scene, scene->device, 0, 0, 65536);
	assert_int_equal(counted().compat_bytes, 2 * 65536);
	assert_int_equal(cuFileRead(scene->handle, scene->host, 65536, 0, 0), 65536);
	assert_int_equal(counted().compat_bytes, 2 * 65536);
}

/* A second buffer in the same page of the GPU cannot be pinned: this is no failure, and no byte goes through DRAM. */
static void test_busy_page(void **state)
{
	struct scene *scene = *state;

	write_text(scene->json, "{}");
	scene = scene_of(state);
	gpu.pin_fails = -EBUSY;
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	assert_says(scene, "are staged until they are registered anew");	/* at the default level */
	gpu.pin_fails = 0;
	read_part(scene, scene->device, 0, 0, 65536);
	assert_int_equal(counted().staged_bytes, 65536);
	assert_int_equal(counted().compat_bytes, 0);
	assert_int_equal(cuFileBufDeregister(scene->device).code, 0);
}

/* A transient failure is reported even if compatibility mode is allowed. */
static void test_stage_cannot_be_pinned_now(void **state)
{
	static const struct { int failure, code; } failures[] = {
		{ -EMFILE, CUF_GETNEWFD_FAILED }, { -ENFILE, CUF_GETNEWFD_FAILED }, { -EBUSY, CUF_INTERNAL_ERROR },
		{ -EINTR, CUF_INTERNAL_ERROR }, { -ENOMEM, CUF_INTERNAL_ERROR },
	};
	struct scene *scene = *state;

	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	scene = scene_of(state);
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		gpu.pin_fails = failures[i].failure;
		assert_int_equal(cuFileRead(scene->handle, scene->device, 4096, 0, 0), -failures[i].code);
	}
	assert_int_equal(counted().compat_bytes, 0);
	gpu.pin_fails = 0;
	read_part(scene, scene->device, 0, 0, 4096);
	assert_int_equal(counted().staged_bytes, 4096);
}

/* GPU memory that is not registered goes by the stage; whatever keeps the stage from being pinned, the request still works. */
static void test_unregistered_and_unpinned(void **state)
{
	static const int failures[] = { -EACCES, -EINVAL, -EIO, -ENODEV, -ENOSPC, -ENXIO, -EOPNOTSUPP };
	struct scene *scene = scene_of(state);
	size_t count = sizeof(failures) / sizeof(failures[0]);

	for (size_t i = 0; i < count; i++) {
		gpu.pin_fails = failures[i];
		assert_int_equal(cuFileRead(scene->handle, scene->device, 4096, 0, 0), -CUF_GPU_MEMORY_PINNING_FAILED);
	}
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	assert_int_equal(register_fd(scene->fd, &scene->handle).code, 0);
	for (size_t i = 0; i < count; i++) {
		gpu.pin_fails = failures[i];
		read_part(scene, scene->device, 4096, 0, 8192);
		write_part(scene, scene->device, 4096, 0, 8192);
		assert_int_equal(counted().compat_bytes, (i + 1) * 2 * 8192);
	}
}

/* Nothing is left for a stage where a program has filled its GPU: no failure of CUDA's, but no way but the allowed one. */
static void test_gpu_is_full(void **state)
{
	struct scene *scene = scene_of(state);

	gpu.used = GPU_BYTES;
	assert_int_equal(cuFileRead(scene->handle, scene->device, 8192, 0, 0), -CUF_GPU_MEMORY_PINNING_FAILED);
	assert_says(scene, "no GPU memory for staging: the GPU's memory is in use, and 1048576 bytes");
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true } }");
	assert_int_equal(register_fd(scene->fd, &scene->handle).code, 0);
	read_part(scene, scene->device, 4096, 0, 8192);
	write_part(scene, scene->device, 4096, 0, 8192);
	assert_int_equal(counted().compat_bytes, 2 * 8192);
}

/* Pages are locked once for many requests, and once more after a reset, which ends the lock and the stream. */
static void test_compat_locks_its_pages(void **state)
{
	struct scene *scene = *state;

	gpu.resets = 1;		/* what an earlier test locked is no more */
	write_text(scene->json, "{ \"properties\": { \"force_compat_mode\": true } }");
	scene_of(state);
	for (unsigned int i = 0; i < 3; i++) {
		read_part(scene, scene->device, 1, 0, 3 << 20);
		write_part(scene, scene->device, 4096, 0, 8192);
	}
	assert_int_equal(gpu.locks, 1);
	assert_int_equal(gpu.ordered_streams, 1);
	gpu.resets++;
	read_part(scene, scene->device, 1, 0, 8192);
	assert_int_equal(gpu.locks, 2);
	assert_int_equal(gpu.ordered_streams, 2);
	assert_int_equal(gpu.streams, 0);
	/* They stay locked, and are used again: CUDA's call that unlocks pages waits for streams that may wait for us. */
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	scene_of(state);
	read_part(scene, scene->device, 1, 0, 8192);
	assert_int_equal(gpu.locks, 2);
	assert_int_equal(gpu.ordered_streams, 2);
}

static void test_compat_without_locked_pages(void **state)
{
	struct scene *scene = *state;

	write_text(scene->json, "{ \"properties\": { \"force_compat_mode\": true } }");
	gpu.resets = 1;
	gpu.lock_fails = 2;	/* CUDA_ERROR_OUT_OF_MEMORY */
	scene_of(state);
	read_part(scene, scene->device, 1, 0, 3 << 20);
	write_part(scene, scene->device, 4096, 0, 8192);
	gpu.resets++;
	read_part(scene, scene->device, 1, 0, 8192);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	assert_int_equal(gpu.locks, 0);
}

/* A buffer past the limit is staged on the GPU, as if it were not registered. */
static void test_over_the_limit(void **state)
{
	struct scene *scene = *state;

	write_text(scene->json, "{ \"properties\": { \"max_device_pinned_mem_size_kb\": 64 } }");
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, CUF_INVALID_MAPPING_SIZE);
	assert_int_equal(cuFileDriverClose_v2().code, 0);
	write_text(scene->json, "{ \"properties\": { \"allow_compat_mode\": true, "
		   "\"max_device_pinned_mem_size_kb\": 64 } }");
	scene_of(state);
	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	read_part(scene, scene->device, 0, 0, 65536);
	assert_int_equal(counted().compat_bytes, 0);
	assert_int_equal(counted().staged_bytes, 65536);
}

/* ---- threads ---- */

struct worker {
	struct scene *scene;
	unsigned int number;
	int failed;
};

static void *work(void *data)
{
	struct worker *worker = data;
	struct scene *scene = worker->scene;
	off_t at = (off_t)worker->number * (BYTES / 4);

	for (int i = 0; i < 20 && !worker->failed; i++) {
		off_t skip = i % 2 ? 100 : 0;
		size_t bytes = BYTES / 4 - 200;

		memset(scene->device + at, 0, BYTES / 4);
		worker->failed = cuFileRead(scene->handle, scene->device, bytes, at + skip, at + skip) != (ssize_t)bytes ||
				 memcmp(scene->device + at + skip, scene->data + at + skip, bytes) ||
				 cuFileWrite(scene->handle, scene->device, bytes, at + skip, at + skip) != (ssize_t)bytes;
	}
	return NULL;
}

/* Four threads use a quarter each of one file and one buffer, so that they meet within blocks. */
static void test_threads(void **state)
{
	struct scene *scene = scene_of(state);
	struct worker workers[4];
	pthread_t threads[4];

	assert_int_equal(cuFileBufRegister(scene->device, BYTES, 0).code, 0);
	for (unsigned int i = 0; i < 4; i++) {
		workers[i] = (struct worker){ .scene = scene, .number = i };
		pthread_create(&threads[i], NULL, work, &workers[i]);
	}
	for (unsigned int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_false(workers[i].failed);
	}
	assert_file(scene, BYTES);
}

static void *open_and_close(void *data)
{
	struct worker *worker = data;
	void *handle;
	int fd;

	for (int i = 0; i < 30 && !worker->failed; i++) {
		fd = open(worker->scene->path, O_RDONLY | O_DIRECT);
		worker->failed = register_fd(fd, &handle).code ||
				 cuFileRead(handle, worker->scene->host, 4096, 0, 0) != 4096;
		cuFileHandleDeregister(handle);
		close(fd);
	}
	return NULL;
}

/* Handles come and go while other threads read. */
static void test_threads_with_own_files(void **state)
{
	struct scene *scene = scene_of(state);
	struct worker workers[4];
	pthread_t threads[4];

	for (unsigned int i = 0; i < 4; i++) {
		workers[i] = (struct worker){ .scene = scene, .number = i };
		pthread_create(&threads[i], NULL, i % 2 ? open_and_close : work, &workers[i]);
	}
	for (unsigned int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_false(workers[i].failed);
	}
}

/* A child reads the parent's file by its own engine. */
static void test_fork(void **state)
{
	struct scene *scene = scene_of(state);
	int status = 0;
	pid_t child;

	read_part(scene, scene->host, 0, 0, 4096);
	child = fork();
	if (!child)
		_exit(cuFileRead(scene->handle, scene->host, 4096, 8192, 0) != 4096 ||
		      memcmp(scene->host, scene->data + 8192, 4096));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	read_part(scene, scene->host, 0, 0, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(test_host_memory),
		SCENE_TEST(test_registered_host_memory),
		SCENE_TEST(test_registered_memory),
		SCENE_TEST(test_goes_straight),
		SCENE_TEST(test_says_which_way),
		SCENE_TEST(test_unregistered_memory),
		SCENE_TEST(test_stage_has_own_pages),
		SCENE_TEST(test_reset_gpu),
		SCENE_TEST(test_reset_gpu_with_two_stages),
		SCENE_TEST(test_freed_while_registered),
		SCENE_TEST(test_at_the_end),
		SCENE_TEST(test_grows),
		SCENE_TEST(test_bad_requests),
		SCENE_TEST(test_no_silent_fallback),
		SCENE_TEST(test_managed_memory),
		SCENE_TEST(test_unpinned),
		SCENE_TEST(test_busy_page),
		SCENE_TEST(test_stage_cannot_be_pinned_now),
		SCENE_TEST(test_unregistered_and_unpinned),
		SCENE_TEST(test_gpu_is_full),
		SCENE_TEST(test_compat_locks_its_pages),
		SCENE_TEST(test_compat_without_locked_pages),
		SCENE_TEST(test_over_the_limit),
		SCENE_TEST(test_threads),
		SCENE_TEST(test_threads_with_own_files),
		SCENE_TEST(test_fork),
	};

	return cmocka_run_group_tests_name("cufile_io", tests, make_machine, remove_machine);
}
