// SPDX-License-Identifier: Apache-2.0
/* The benchmark's methods that use cuFile, a buffer in DRAM, or fio; the GPU's memory is DRAM here. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "bench/bench_copy.h"
#include "bench/gpu.h"
#include "says.h"
#include "tool/errors.h"
#include "unit.h"

#define BLOCK	4096

const char *cli_name = "bench";

static uint8_t gpu_memory[BLOCK];
static char drive[] = "/var/tmp/donard-bench-XXXXXX";	/* a file, which is only opened */
static ssize_t moved;	/* what each call returns */
static int flushes, error_number;

/* ---- the GPU ---- */

int bench_gpu_alloc(struct bench_gpu *gpu, const char *name, uint64_t bytes)
{
	(void)name;
	*gpu = (struct bench_gpu){ .address = (uintptr_t)gpu_memory, .bytes = bytes };
	return 0;
}

void bench_gpu_free(struct bench_gpu *gpu)
{
	(void)gpu;
}

int bench_gpu_load(const struct bench_gpu *gpu, uint64_t offset, void *to, size_t bytes)
{
	memcpy(to, (uint8_t *)(uintptr_t)gpu->address + offset, bytes);
	return 0;
}

int bench_gpu_store(const struct bench_gpu *gpu, uint64_t offset, const void *from, size_t bytes)
{
	memcpy((uint8_t *)(uintptr_t)gpu->address + offset, from, bytes);
	return 0;
}

int bench_gpu_scramble(const struct bench_gpu *gpu, const struct bench_piece *piece)
{
	(void)gpu;
	(void)piece;
	return 0;
}

int bench_gpu_check(const struct bench_gpu *gpu, const struct bench_piece *piece, uint64_t place)
{
	(void)gpu;
	(void)piece;
	(void)place;
	return 0;
}

/* ---- the kernel's calls, and cuFile's ---- */

static ssize_t answer(void)
{
	errno = error_number;
	return moved;
}

ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t offset)
{
	(void)fd;
	(void)buffer;
	(void)bytes;
	(void)offset;
	return answer();
}

ssize_t __wrap_pwrite(int fd, const void *buffer, size_t bytes, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *buffer, size_t bytes, off_t offset)
{
	(void)fd;
	(void)buffer;
	(void)bytes;
	(void)offset;
	return answer();
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	(void)fd;
	flushes++;
	return 0;
}

static ssize_t cufile_move(void *handle, void *buffer, size_t bytes, off_t file_offset, off_t offset)
{
	(void)handle;
	(void)buffer;
	(void)bytes;
	(void)file_offset;
	(void)offset;
	return answer();
}

struct code {
	int code, cuda;
};

static struct code cufile_does(void)
{
	return (struct code){ 0 };
}

static struct code cufile_register(void **handle, void *descriptor)
{
	*handle = descriptor;
	return (struct code){ 0 };
}

static void cufile_forget(void *handle)
{
	(void)handle;
}

void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags)
{
	(void)name;
	(void)flags;
	return gpu_memory;
}

void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name)
{
	(void)library;
	if (!strcmp(name, "cuFileRead") || !strcmp(name, "cuFileWrite"))
		return cufile_move;
	if (!strcmp(name, "cuFileHandleRegister"))
		return cufile_register;
	return !strcmp(name, "cuFileHandleDeregister") ? (void *)cufile_forget : (void *)cufile_does;
}

/* ---- messages ---- */

/* Runs a method, and returns its exit code; @said: what it printed. */
static int run(int (*way)(const void *), bool to_region, char said[256])
{
	const struct bench_piece piece = {
		.drive = drive, .region = "gpu:0", .bytes = BLOCK, .block_bytes = BLOCK, .queue_depth = 1,
		.to_region = to_region,
	};
	int ends[2], out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), rc;
	ssize_t length;

	assert_return_code(pipe(ends), errno);
	dup2(ends[1], STDOUT_FILENO);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	rc = way(&piece);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	length = read(ends[0], said, 255);
	said[length > 0 ? length : 0] = '\0';
	close(ends[0]);
	return rc;
}

static void fails(int (*way)(const void *), bool to_region, const char *text)
{
	char said[256];

	assert_int_equal(run(way, to_region, said), EXIT_FAILED);
	assert_says(said, drive);
	assert_says(said, text);
}

static void test_errors(void **state)
{
	(void)state;
	moved = -1;
	error_number = ENOSPC;
	fails(bench_gpu_memcpy, false, ": -28 (No space left on device)");
	fails(bench_cufile, false, ": -28 (No space left on device)");
	error_number = EIO;
	fails(bench_gpu_memcpy, true, ": -5 (Input/output error)");
	fails(bench_cufile_compat, true, ": -5 (Input/output error)");
	moved = -5011;
	fails(bench_cufile, true, ": -5011 (cuFile's code)");
}

static void test_short(void **state)
{
	(void)state;
	moved = BLOCK / 2;
	fails(bench_gpu_memcpy, false, ": -5 (Input/output error)");
	fails(bench_cufile, true, ": -5 (Input/output error)");
}

/* The queue's requests, beside which these are timed, end with none. */
static void test_no_flush(void **state)
{
	char said[256];

	(void)state;
	moved = BLOCK;
	assert_int_equal(run(bench_gpu_memcpy, false, said), EXIT_DONE);
	assert_says(said, "\"seconds\"");
	assert_int_equal(run(bench_cufile, false, said), EXIT_DONE);
	assert_says(said, "\"seconds\"");
	assert_int_equal(flushes, 0);
}

/* ---- fio ---- */

/* The other functions that methods.c refers to. */
int bench_queue(const void *piece)
{
	return !piece;
}

int bench_queue_registered(const void *piece)
{
	return !piece;
}

int cli_find_program(const char *name, char *path, size_t path_bytes)
{
	return snprintf(path, path_bytes, "/%s", name) < 0;
}

static double fio_says(int milliseconds)
{
	char report[256];

	snprintf(report, sizeof(report), "fio: a warning\n{ \"jobs\": [ { \"read\": { \"io_bytes\": 0, \"runtime\": 0 }, "
		 "\"write\": { \"io_bytes\": 16777216, \"runtime\": %d } } ] }", milliseconds);
	return bench_find_method("fio")->seconds(report);
}

/* Its clock has whole milliseconds: of three, one may be wrong. */
static void test_coarse_clock(void **state)
{
	(void)state;
	assert_true(fio_says(3) < 0);
	assert_true(fio_says(137) > 0.1369 && fio_says(137) < 0.1371);
}

static bool has_argument(const struct bench_command *command, const char *argument)
{
	for (size_t i = 0; i < command->argument_count; i++)
		if (!strcmp(command->argv[i], argument))
			return true;
	return false;
}

/* fio must write its buffers as they are, as donard does: its CPU stores nothing into them before a request. */
static void test_no_scramble(void **state)
{
	static const char *const names[] = { "fio", "fio-fixed", "fio-passthrough" };
	const struct bench_piece piece = {
		.drive = "/dev/nvme0n1", .region = "p2pmem0", .bytes = BLOCK, .block_bytes = BLOCK, .queue_depth = 1,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct bench_command command = { 0 };

		assert_int_equal(bench_find_method(names[i])->prepare(&piece, -1, &command), 1);
		assert_true(has_argument(&command, "--rw=write"));
		assert_true(has_argument(&command, "--scramble_buffers=0"));
	}
}

/* Each fio maps the region from its first byte, and a persistent byte is one process's. */
static void test_one_place(void **state)
{
	(void)state;
	for (const struct bench_method *method = bench_methods; method->name; method++) {
		bool is_fio = !strncmp(method->name, "fio", 3);

		assert_null(bench_why_not(method, 1, true));
		assert_null(bench_why_not(method, 2, false));
		assert_true(is_fio == !!bench_why_not(method, 2, true));
	}
	assert_says(bench_why_not(bench_find_method("fio"), 2, true), "with more than one thread");
}

static int make_drive(void **state)
{
	int fd = mkstemp(drive);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_drive(void **state)
{
	(void)state;
	return unlink(drive);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_no_flush),
		cmocka_unit_test(test_coarse_clock),
		cmocka_unit_test(test_no_scramble),
		cmocka_unit_test(test_one_place),
	};

	return cmocka_run_group_tests_name("bench_gpu", tests, make_drive, remove_drive);
}
