// SPDX-License-Identifier: Apache-2.0
/* Requests through the page cache, and direct ones to the same pages. */
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engines.h"
#include "queue_scene.h"

/* A queue of a file whose blocks are smaller than a page. */
static struct scene *scene_of_small_blocks(void **state)
{
	struct scene *scene = scene_of(state, 8, DONARD_QUEUE_ALLOW_BOUNCE);
	struct donard_file_info info = { .size = sizeof(info) };

	donard_file_close(scene->file);
	fake_file(scene->fake, "block/nvme7n1/queue/logical_block_size", "512");
	assert_int_equal(donard_file_open(scene->ctx, scene->path, DONARD_FILE_WRITE, &scene->file), 0);
	assert_int_equal(donard_file_info(scene->file, &info), 0);
	if (info.align_bytes != 512)
		skip();		/* the drive below /tmp has larger ones */
	return scene;
}

/* Makes two requests, of the first pages of the file; returns how many were over before the second was made. */
static uint64_t over_before_second(struct scene *scene, bool plain_first)
{
	uint64_t before = about(scene).requests;

	memcpy(scene->bytes + 4096, scene->data + 512, 512);
	memcpy(scene->bytes, scene->data, 100);
	if (plain_first)
		assert_int_equal(writes(scene, 0, 0, 100, 1), 0);
	assert_int_equal(writes(scene, 512, 4096, 512, 2), 0);
	if (!plain_first)
		assert_int_equal(writes(scene, 0, 0, 100, 1), 0);
	before = about(scene).requests - before;
	assert_int_equal(about(scene).in_flight, 2);
	assert_int_equal(waits(scene, 2), 2);
	assert_int_equal(scene->got[0].result + scene->got[1].result, 612);
	return before;
}

/* The page cache would keep the old bytes of a block that is being written straight, and write the whole page. */
static void page_of_both_ways(void **state)
{
	struct scene *scene = scene_of_small_blocks(state);
	uint8_t seen[4096];
	int fd = open(scene->path, O_RDONLY);

	for (int i = 0; i < 40; i++) {
		dnd_nonce(scene->data, 1024);
		memcpy(scene->bytes + 8192, scene->data, 4096);
		assert_int_equal(writes(scene, 0, 8192, 1024, 0), 0);	/* leaves no page in the cache */
		assert_int_equal(waits(scene, 1), 1);
		dnd_nonce(scene->data, 100);
		dnd_nonce(scene->data + 512, 512);
		assert_int_equal(over_before_second(scene, i % 2), 1);
		assert_int_equal(donard_queue_flush(scene->queue, scene->file, NULL), 0);
		assert_int_equal(waits(scene, 1), 1);
		assert_int_equal(scene->got[0].result, 0);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		assert_int_equal(pread(fd, seen, sizeof(seen), 0), sizeof(seen));
		assert_memory_equal(seen, scene->data, sizeof(seen));
	}
	close(fd);
}

/* The descriptor becomes readable for the request that another one waited for. */
static void wait_is_told(void **state)
{
	struct scene *scene = scene_of_small_blocks(state);
	struct pollfd polled = { .fd = donard_queue_descriptor(scene->queue), .events = POLLIN };

	assert_int_equal(donard_queue_poll(scene->queue, scene->got, 8), 0);
	assert_int_equal(poll(&polled, 1, 0), 0);
	assert_int_equal(writes(scene, 512, 4096, 512, 2), 0);
	assert_int_equal(writes(scene, 0, 0, 100, 1), 0);
	assert_int_equal(poll(&polled, 1, 0), 1);
	assert_int_equal(donard_queue_poll(scene->queue, scene->got, 8), 1);
	assert_int_equal((uintptr_t)scene->got[0].user, 2);
	assert_int_equal(donard_queue_cancel(scene->queue, (void *)1), 1);	/* it was not submitted */
	assert_int_equal(waits(scene, 1), 1);
	assert_int_equal(scene->got[0].result, -ECANCELED);
}

/* Nobody waits for a request to another page, or of another file, nor where none is a direct write. */
static void pages_of_their_own(void **state)
{
	struct scene *scene = scene_of_small_blocks(state);
	struct donard_file *other;
	char path[160];

	snprintf(path, sizeof(path), "%s.other", scene->path);
	write_file(path, scene->data, BYTES);
	assert_int_equal(donard_file_open(scene->ctx, path, DONARD_FILE_WRITE, &other), 0);
	assert_int_equal(writes(scene, 8192, 8192, 512, 0), 0);
	assert_int_equal(writes(scene, 12288 + 512, 9216, 100, 0), 0);	/* behind the page of the former */
	assert_int_equal(writes(scene, 12288 + 700, 10240, 100, 0), 0);	/* both go through the page cache */
	assert_int_equal(reads(scene, 12288 + 1024, 16384, 512, 0), 0);	/* dirty pages are written back before */
	assert_int_equal(donard_queue_write(scene->queue, other, 12288, scene->memory, 20480, 512, NULL), 0);
	assert_int_equal(about(scene).requests, 0);
	assert_int_equal(waits(scene, 5), 5);
	donard_file_close(other);
}

/* The last page serves, because valgrind reads the start of a mapping. */
#define LAST	(BYTES - 4096)

static bool is_cached(const struct scene *scene)
{
	int fd = open(scene->path, O_RDONLY);
	uint8_t *map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	unsigned char resident = 0;

	assert_int_equal(mincore(map + LAST, 4096, &resident), 0);
	munmap(map, BYTES);
	close(fd);
	return resident & 1;
}

/* NVMe commands of another queue change the drive, and not the pages that the cache has of it. */
static void pages_beside_commands(void **state)
{
	struct scene *scene = scene_of(state, 8, DONARD_QUEUE_ALLOW_BOUNCE);

	assert_int_equal(fsync(scene->file->drive.fd), 0);
	assert_int_equal(reads(scene, LAST + 1, 0, 9, 0), 0);
	assert_int_equal(waits(scene, 1), 1);
	assert_true(is_cached(scene));
	scene->file->generic.fd = open("/dev/null", O_RDONLY);
	assert_int_equal(reads(scene, LAST + 1, 0, 9, 0), 0);
	assert_false(is_cached(scene));
	assert_int_equal(waits(scene, 1), 1);
	assert_memory_equal(scene->bytes, scene->data + LAST + 1, 9);
}

/* A command that is made meanwhile may find nothing to write back yet. */
static void dirty_when_it_ends(void **state)
{
	struct scene *scene = scene_of(state, 8, DONARD_QUEUE_ALLOW_BOUNCE);

	assert_int_equal(writes(scene, 1, 0, 9, 0), 0);
	assert_int_equal(donard_queue_submit(scene->queue), 0);
	scene->file->plain_written = false;
	assert_int_equal(waits(scene, 1), 1);
	assert_true(scene->file->plain_written);
	scene->file->plain_written = false;
	assert_int_equal(reads(scene, 1, 0, 9, 0), 0);
	assert_int_equal(waits(scene, 1), 1);
	assert_false(scene->file->plain_written);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, queue_setup, queue_teardown)
	const struct CMUnitTest tests[] = {
		test(page_of_both_ways),
		test(wait_is_told),
		test(pages_of_their_own),
		test(pages_beside_commands),
		test(dirty_when_it_ends),
	};

	return run_by_both_engines(tests);
}
