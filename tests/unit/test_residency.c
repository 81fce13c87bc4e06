// SPDX-License-Identifier: Apache-2.0
/* The page cache of a real file, as cachestat() or mincore() shows it. */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit.h"
#include "join/join.h"

#define BYTES	(5U << 20)
#define PAGE	4096U
#define BASE	(1U << 20)	/* valgrind reads the start of a mapping */

static char path[64];
static int fd;
static bool without_cachestat;

/* Kernels before 6.5 have no such call. */
long syscall(long number, ...)
{
	static long (*real)(long, ...);
	va_list args;
	void *a[6];

	if (number == 451 && without_cachestat) {
		errno = ENOSYS;
		return -1;
	}
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, void *);
	va_end(args);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int setup(void **state)
{
	static char block[BYTES];

	(void)state;
	snprintf(path, sizeof(path), "/var/tmp/donard-residency-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || write(fd, block, BYTES) != BYTES || fsync(fd))
		return -1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(fd);
	return unlink(path);
}

static void read_page(off_t offset)
{
	char byte;

	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);	/* nothing is read ahead */
	assert_int_equal(pread(fd, &byte, 1, offset), 1);
}

static void counts_pages(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		without_cachestat = i;
		dnd_residency_drop(fd, 0, BYTES);
		assert_int_equal(dnd_residency_pages(fd, BASE, BYTES - BASE), 0);
		read_page(BASE + PAGE);
		assert_int_equal(dnd_residency_pages(fd, BASE, BYTES - BASE), 1);
		assert_int_equal(dnd_residency_pages(fd, BASE + PAGE + 17, 1), 1);
		assert_int_equal(dnd_residency_pages(fd, BASE, PAGE), 0);
	}
}

/* Pages that left in one place do not hide pages that came in another. */
static void grows(void **state)
{
	struct dnd_residency before;

	(void)state;
	for (int i = 0; i < 2; i++) {
		without_cachestat = i;
		dnd_residency_drop(fd, 0, BYTES);
		read_page(0);
		read_page(PAGE);
		assert_int_equal(dnd_residency_take(fd, 0, BYTES, &before), 0);
		assert_int_equal(dnd_residency_grown(fd, &before), 0);
		dnd_residency_drop(fd, 0, PAGE);
		assert_int_equal(dnd_residency_grown(fd, &before), 0);
		read_page(BYTES - PAGE);
		assert_int_equal(dnd_residency_grown(fd, &before), PAGE);
		dnd_residency_free(&before);
	}
}

static void cannot_see(void **state)
{
	int ends[2];

	(void)state;
	without_cachestat = false;
	assert_true(dnd_residency_pages(-1, 0, PAGE) < 0);
	without_cachestat = true;
	assert_true(dnd_residency_pages(-1, 0, PAGE) < 0);
	assert_int_equal(pipe(ends), 0);
	assert_true(dnd_residency_pages(ends[0], 0, PAGE) < 0);
	close(ends[0]);
	close(ends[1]);
}

/* A file that is not direct for a moment, and is again when it is asked. */
bool __wrap_dnd_drive_is_direct(const struct dnd_drive *drive);
bool __wrap_dnd_drive_is_direct(const struct dnd_drive *drive)
{
	(void)drive;
	return false;
}

int __wrap_dnd_drive_ask_again(struct donard_context *ctx, struct dnd_drive *drive);
int __wrap_dnd_drive_ask_again(struct donard_context *ctx, struct dnd_drive *drive)
{
	(void)ctx;
	(void)drive;
	return 0;
}

/* A look that failed adds no bytes to what bounced. */
static void watched_in_vain(void **state)
{
	struct dnd_drive drive = { .fd = -1 };
	struct dnd_join join = { .drive = &drive };
	struct dnd_residency before;
	uint64_t cached_bytes = 4096;

	(void)state;
	assert_int_equal(dnd_residency_none(0, BYTES, &before), 0);
	assert_int_equal(dnd_join_watched(&join, &before, BYTES, &cached_bytes), 0);
	assert_int_equal(cached_bytes, 4096);
	assert_int_equal(join.cached, DND_CACHED_UNKNOWN);
	dnd_residency_free(&before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(grows, setup, teardown),
		cmocka_unit_test(cannot_see),
		cmocka_unit_test(watched_in_vain),
	};

	return cmocka_run_group_tests_name("residency", tests, NULL, NULL);
}
