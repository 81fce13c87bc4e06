// SPDX-License-Identifier: Apache-2.0
/* Requests that end before they begin: by a cancel, or by the end of the queue. */
#include <fcntl.h>
#include <unistd.h>

#include "engines.h"
#include "queue_scene.h"
#include "says.h"

static void submits_nothing(struct scene *scene)
{
	(void)scene;
}

static void submits(struct scene *scene)
{
	assert_int_equal(donard_queue_submit(scene->queue), 0);
}

/* Cancels every second request; each request completes once, whatever its state was. */
static void cancels_half(struct scene *scene, void (*before)(struct scene *scene))
{
	int found, got, canceled = 0;

	for (uintptr_t i = 0; i < 16; i++)
		assert_int_equal(reads(scene, 0, i * 65536, 65536, i % 2), 0);
	before(scene);
	found = donard_queue_cancel(scene->queue, (void *)1);
	assert_in_range(found, 0, 8);
	got = waits(scene, 16);
	assert_int_equal(got, 16);
	for (int i = 0; i < got; i++) {
		if (scene->got[i].result == 65536)
			continue;
		assert_int_equal(scene->got[i].result, -ECANCELED);
		assert_string_equal(scene->got[i].error_code, "canceled");
		assert_int_equal((uintptr_t)scene->got[i].user, 1);
		canceled++;
	}
	assert_in_range(canceled, before == submits ? 0 : 8, found);
	assert_int_equal(donard_queue_cancel(scene->queue, (void *)1), 0);
}

static void cancels(void **state)
{
	struct scene *scene = scene_of(state, 16, 0);

	cancels_half(scene, submits_nothing);
	cancels_half(scene, submits);
}

/* If pages of the file are cached, io_uring gives a write to a thread, where a cancel finds it. */
static void uncache(struct scene *scene)
{
	assert_int_equal(fsync(scene->file->drive.fd), 0);
	assert_int_equal(posix_fadvise(scene->file->drive.fd, 0, 0, POSIX_FADV_DONTNEED), 0);
}

static struct scene *uncached(void **state, uint32_t depth)
{
	struct scene *scene = scene_of(state, depth, 0);

	uncache(scene);
	return scene;
}

static void assert_file_is_as_it_was(struct scene *scene)
{
	uint8_t *seen = malloc(BYTES);
	int fd = open(scene->path, O_RDONLY);

	assert_int_equal(pread(fd, seen, BYTES, 0), BYTES);
	assert_memory_equal(seen, scene->data, BYTES);
	close(fd);
	free(seen);
}

static void assert_all_canceled(struct scene *scene, int count)
{
	assert_int_equal(waits(scene, (unsigned int)count), count);
	for (int i = 0; i < count; i++)
		assert_int_equal(scene->got[i].result, -ECANCELED);
}

/* A request that was never submitted never reaches the drive. */
static void cancels_what_was_not_submitted(void **state)
{
	struct scene *scene = scene_of(state, 16, 0);

	for (uintptr_t i = 0; i < 8; i++)
		assert_int_equal(writes(scene, i * 131072, i * 131072, 131072, 1), 0);
	assert_int_equal(donard_queue_cancel(scene->queue, (void *)1), 8);
	assert_all_canceled(scene, 8);
	for (uintptr_t i = 0; i < 8; i++)
		assert_int_equal(writes(scene, i * 131072, i * 131072, 131072, 1), 0);
	donard_queue_close(scene->queue);
	scene->queue = NULL;
	assert_file_is_as_it_was(scene);
}

/* The same holds while another request ends, whether or not that was submitted. */
static void cancels_one_after_another(void **state)
{
	struct scene *scene = uncached(state, 16);

	assert_int_equal(reads(scene, 0, 0, 65536, 8), 0);
	assert_int_equal(donard_queue_submit(scene->queue), 0);
	memset(scene->bytes + 65536, 0x5a, BYTES - 65536);
	for (uintptr_t i = 0; i < 8; i++)
		assert_int_equal(writes(scene, i * 65536, 65536, 65536, i), 0);
	assert_in_range(donard_queue_cancel(scene->queue, (void *)8), 0, 1);
	for (uintptr_t i = 0; i < 8; i++)
		assert_int_equal(donard_queue_cancel(scene->queue, (void *)i), 1);
	assert_int_equal(waits(scene, 9), 9);
	for (int i = 0; i < 9; i++)
		if ((uintptr_t)scene->got[i].user != 8)
			assert_int_equal(scene->got[i].result, -ECANCELED);
	assert_file_is_as_it_was(scene);
}

/* No command of a request with more commands than the queue has room for begins before the request is submitted. */
static void long_requests_wait_to_be_submitted(void **state)
{
	struct scene *scene = uncached(state, 2);

	assert_int_equal(writes(scene, 0, 0, BYTES, 0), 0);
	assert_int_equal(donard_queue_poll(scene->queue, scene->got, 2), 0);
	assert_int_equal(donard_queue_cancel(scene->queue, (void *)0), 1);
	assert_all_canceled(scene, 1);
	assert_file_is_as_it_was(scene);
	uncache(scene);
	assert_int_equal(writes(scene, 0, 0, BYTES, 0), 0);
	donard_queue_close(scene->queue);
	scene->queue = NULL;
	assert_file_is_as_it_was(scene);
}

/* A long request can be canceled before it is submitted, while another long one waits. */
static void one_of_two_long_requests(void **state)
{
	struct scene *scene = uncached(state, 2);

	for (uintptr_t i = 0; i < 2; i++)
		assert_int_equal(writes(scene, i * BYTES, 0, BYTES, i), 0);
	assert_int_equal(donard_queue_cancel(scene->queue, (void *)0), 1);
	assert_int_equal(waits(scene, 2), 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(scene->got[i].result, scene->got[i].user ? (int)BYTES : -ECANCELED);
	assert_file_is_as_it_was(scene);
}

/* Two of eight commands have ended, so the text of the canceled write must say that the file was changed. */
static void says_that_part_was_written(void **state)
{
	struct scene *scene = uncached(state, 2);
	struct io_uring *uring = &scene->queue->ring.uring;
	struct io_uring_cqe *cqe;

	memset(scene->bytes, 0x5a, BYTES);
	assert_int_equal(writes(scene, 0, 0, BYTES, 7), 0);
	assert_int_equal(io_uring_submit(uring), 2);
	assert_int_equal(io_uring_wait_cqe_nr(uring, &cqe, 2), 0);
	assert_int_equal(donard_queue_cancel(scene->queue, (void *)7), 1);
	assert_all_canceled(scene, 1);
	assert_says(scene->got[0].error, "canceled, but some of the bytes have been written");
	memset(scene->data, 0x5a, BYTES / 4);
	assert_file_is_as_it_was(scene);	/* but for these */
}

/* A request that sleeps in the kernel ends, and one that was prepared meanwhile stays where it is. */
static void cancel_submits_nothing(void **state)
{
	uint8_t bytes[2] = { 0 };
	struct dnd_io ios[2], *io;
	struct dnd_ring ring = { 0 };
	int pipe_fds[2], done = 0;
	int64_t result;

	(void)state;
	assert_int_equal(pipe(pipe_fds), 0);
	for (int i = 0; i < 2; i++)
		ios[i] = (struct dnd_io){ .kind = DND_IO_READ, .fd = pipe_fds[0], .memory = &bytes[i], .length_bytes = 1,
					  .align_bytes = 1 };
	assert_int_equal(dnd_ring_open(&ring, 4, 0, false), 0);
	dnd_io_start(&ring, &ios[0]);
	assert_int_equal(dnd_ring_enter(&ring, 0), 0);
	dnd_io_start(&ring, &ios[1]);
	dnd_io_cancel(&ring, &ios[0]);
	assert_int_equal(io_uring_sq_ready(&ring.uring), 1);
	assert_true(dnd_io_take_back(&ring, &ios[1]));
	while (done < 2) {
		assert_int_equal(dnd_ring_enter(&ring, 1), 0);
		while ((io = dnd_io_next(&ring, &result))) {
			assert_int_equal(result, -ECANCELED);
			done++;
		}
	}
	dnd_ring_close(&ring);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, queue_setup, queue_teardown)
	const struct CMUnitTest tests[] = {
		test(cancels),
		test(cancels_what_was_not_submitted),
		test(cancels_one_after_another),
		test(long_requests_wait_to_be_submitted),
		test(one_of_two_long_requests),
	};
	const struct CMUnitTest by_io_uring[] = {	/* Linux AIO has no pipes, and hands over in another way */
		cmocka_unit_test(cancel_submits_nothing),
		test(says_that_part_was_written),
	};
	int failed = run_by_io_uring(by_io_uring);

	return failed + run_by_both_engines(tests);
}
