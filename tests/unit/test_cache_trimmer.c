// SPDX-License-Identifier: Apache-2.0
/* The thread that trims a cache's drive, on a file, and on one that takes its time. */
#include <fcntl.h>
#include <linux/falloc.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "cache/log.h"
#include "cache/trimmer.h"

#define BLOCK	4096U
#define BLOCKS	8U

static struct {
	sem_t answers;		/* a test takes it, and the drive does not answer */
	int calls;
	int fail_errno;
} drive;

static struct donard_context *ctx;
static struct dnd_trimmer *trimmer;
static int fd;

int __real_fallocate(int file, int mode, off_t offset, off_t length);
int __wrap_fallocate(int file, int mode, off_t offset, off_t length);
int __wrap_fallocate(int file, int mode, off_t offset, off_t length)
{
	sem_wait(&drive.answers);
	sem_post(&drive.answers);
	__atomic_add_fetch(&drive.calls, 1, __ATOMIC_RELAXED);
	errno = drive.fail_errno;
	return drive.fail_errno ? -1 : __real_fallocate(file, mode, offset, length);
}

static int set_up(void **state)
{
	uint8_t bytes[BLOCKS * BLOCK];

	(void)state;
	sem_init(&drive.answers, 0, 1);
	drive.calls = 0;
	drive.fail_errno = 0;
	fd = memfd_create("drive", MFD_CLOEXEC);
	assert_true(fd >= 0);
	memset(bytes, 0x5a, sizeof(bytes));
	assert_int_equal(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_int_equal(donard_open(&ctx, NULL), 0);
	assert_int_equal(dnd_trimmer_open(ctx, fd, true, &trimmer), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dnd_trimmer_close(trimmer);
	donard_close(ctx);
	close(fd);
	return 0;
}

/* Returns how many were ignored. */
static uint64_t wait_for_it(void)
{
	struct pollfd told = { .fd = dnd_trimmer_descriptor(trimmer), .events = POLLIN };
	uint64_t ignored;

	assert_int_equal(poll(&told, 1, -1), 1);
	assert_true(dnd_trimmer_done(trimmer, &ignored));
	assert_int_equal(poll(&told, 1, 0), 0);
	return ignored;
}

static void blocks_are(const char *expected)
{
	uint8_t bytes[BLOCKS * BLOCK];

	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	for (unsigned int i = 0; i < BLOCKS; i++)
		assert_int_equal(bytes[i * BLOCK], expected[i] == '-' ? 0 : 0x5a);
}

static const struct dnd_cache_run runs[] = {
	{ .drive_offset = BLOCK, .length_bytes = 2 * BLOCK }, { .drive_offset = 5 * BLOCK, .length_bytes = BLOCK },
};

static void trims(void **state)
{
	(void)state;
	dnd_trimmer_begin(trimmer, runs, 2);
	assert_int_equal(wait_for_it(), 0);
	blocks_are("*--**-**");
	dnd_trimmer_begin(trimmer, &(struct dnd_cache_run){ .length_bytes = BLOCK }, 1);
	assert_int_equal(wait_for_it(), 0);
	blocks_are("---**-**");
}

/* A drive that has more bytes than one call takes. */
static void in_parts(void **state)
{
	const struct dnd_cache_run whole = { .drive_offset = BLOCK, .length_bytes = 1ULL << 30 };

	(void)state;
	dnd_trimmer_begin(trimmer, &whole, 1);
	assert_int_equal(wait_for_it(), 0);
	assert_int_equal(drive.calls, 4);
	blocks_are("*-------");
}

static void counts_what_is_ignored(void **state)
{
	(void)state;
	drive.fail_errno = EOPNOTSUPP;
	dnd_trimmer_begin(trimmer, runs, 2);
	assert_int_equal(wait_for_it(), 2);
	blocks_are("********");
}

static void does_not_hold_up_its_owner(void **state)
{
	uint64_t ignored;

	(void)state;
	sem_wait(&drive.answers);
	dnd_trimmer_begin(trimmer, runs, 2);
	assert_false(dnd_trimmer_done(trimmer, &ignored));
	sem_post(&drive.answers);
	assert_int_equal(wait_for_it(), 0);
}

static void *answer_soon(void *user)
{
	(void)user;
	usleep(20000);
	sem_post(&drive.answers);
	return NULL;
}

/* A stop waits for the trim that the drive has begun, so that the runs may be freed afterwards. */
static void ends_in_the_middle(void **state)
{
	pthread_t thread;

	(void)state;
	sem_wait(&drive.answers);
	dnd_trimmer_begin(trimmer, runs, 2);
	assert_int_equal(pthread_create(&thread, NULL, answer_soon, NULL), 0);
	dnd_trimmer_close(trimmer);
	trimmer = NULL;
	pthread_join(thread, NULL);
	assert_true(drive.calls <= 1);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(trims), TEST(in_parts), TEST(counts_what_is_ignored), TEST(does_not_hold_up_its_owner),
		TEST(ends_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
