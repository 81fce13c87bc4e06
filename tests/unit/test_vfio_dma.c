// SPDX-License-Identifier: Apache-2.0
/*
 * The memory that a client lends to a device of the lab: the device reaches exactly that memory, with the rights that were
 * lent.
 */
#include "vfio_client.h"
#include "tests/rig/devices/dma.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <unistd.h>

#define PAGE 4096

struct scene {
	struct dma dma;
	int fd;
	unsigned int descriptors;
};

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->descriptors = open_descriptors();
	scene->fd = memory_file(16 * PAGE);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	dma_unmap_all(&scene->dma);
	assert_null(scene->dma.memories);
	close(scene->fd);
	assert_int_equal(open_descriptors(), scene->descriptors);
	free(scene);
	return 0;
}

static int lend(struct scene *scene, uint64_t offset, uint64_t address, uint64_t len_bytes)
{
	return dma_map(&scene->dma, scene->fd, offset, address, len_bytes, true, true);
}

/* At once or in pieces; 0, or why the first piece that does not work does not. */
static int store(struct scene *scene, uint64_t address, const void *from, size_t len_bytes)
{
	struct dma_piece piece;

	for (size_t done = 0; done < len_bytes; done += piece.len_bytes) {
		int rc = -ENOENT;

		if (dma_piece(&scene->dma, address + done, len_bytes - done, &piece))
			rc = dma_write(&piece, (const uint8_t *)from + done);
		if (rc)
			return rc;
	}
	return 0;
}

static uint8_t byte_of_file(struct scene *scene, off_t offset)
{
	uint8_t byte = 0;

	assert_int_equal(pread(scene->fd, &byte, 1, offset), 1);
	return byte;
}

static void bytes_land_where_they_were_lent(void **state)
{
	struct scene *scene = *state;
	struct dma_piece piece;
	uint8_t seen[4];

	assert_int_equal(lend(scene, 2 * PAGE, 0x100000, 4 * PAGE), 0);
	assert_int_equal(store(scene, 0x100000 + PAGE - 2, "abcd", 4), 0);
	assert_int_equal(byte_of_file(scene, 3 * PAGE - 2), 'a');
	assert_int_equal(byte_of_file(scene, 3 * PAGE + 1), 'd');
	assert_true(dma_piece(&scene->dma, 0x100000 + PAGE - 2, 4, &piece));
	assert_int_equal(dma_read(&piece, seen), 0);
	assert_memory_equal(seen, "abcd", 4);
	assert_string_equal(piece.range->memory->name, "ram");
}

static void nothing_else_is_reached(void **state)
{
	struct scene *scene = *state;
	struct dma_piece piece;

	assert_int_equal(lend(scene, 0, 0x100000, PAGE), 0);
	assert_int_equal(store(scene, 0x100000 - 1, "x", 1), -ENOENT);
	assert_int_equal(store(scene, 0x100000 + PAGE, "x", 1), -ENOENT);
	assert_int_equal(store(scene, UINT64_MAX, "x", 1), -ENOENT);
	assert_false(dma_piece(&scene->dma, 0x100000 - 6, 8, &piece));
	assert_int_equal(piece.len_bytes, 6);
	assert_true(dma_piece(&scene->dma, 0x100000 + PAGE - 3, 8, &piece));
	assert_int_equal(piece.len_bytes, 3);
	assert_false(dma_piece(&scene->dma, 0x100000 + PAGE, 8, &piece));
	assert_int_equal(piece.len_bytes, 8);
}

/* Two ranges side by side, of different parts of the file. */
static void accesses_go_on_in_the_next_range(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(lend(scene, 8 * PAGE, 0x100000, PAGE), 0);
	assert_int_equal(lend(scene, 0, 0x100000 + PAGE, PAGE), 0);
	assert_int_equal(store(scene, 0x100000 + PAGE - 2, "abcd", 4), 0);
	assert_int_equal(byte_of_file(scene, 9 * PAGE - 1), 'b');
	assert_int_equal(byte_of_file(scene, 0), 'c');
	/* One file, mapped once. */
	assert_null(scene->dma.memories->next);
}

static void what_is_no_range_is_refused(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(lend(scene, 0, 0, 0), -EINVAL);
	assert_int_equal(lend(scene, 0, -(uint64_t)PAGE, 2 * PAGE), -EINVAL);
	assert_int_equal(lend(scene, 0, 0x100001, PAGE), -EINVAL);
	assert_int_equal(lend(scene, 0, 0x100000, PAGE + 1), -EINVAL);
	assert_int_equal(lend(scene, 1, 0x100000, PAGE), -EINVAL);
	assert_int_equal(lend(scene, -(uint64_t)PAGE, 0x100000, 2 * PAGE), -EINVAL);
	assert_int_equal(lend(scene, -(uint64_t)PAGE, 0x100000, PAGE), -EINVAL);
	assert_int_equal(dma_map(&scene->dma, scene->fd, 0, 0x100000, PAGE, false, false), -EINVAL);
	assert_int_equal(scene->dma.count, 0);
	/* The last page there is. */
	assert_int_equal(lend(scene, 0, -(uint64_t)PAGE, PAGE), 0);
	assert_int_equal(store(scene, UINT64_MAX, "z", 1), 0);
	assert_int_equal(byte_of_file(scene, PAGE - 1), 'z');
}

static void what_reaches_past_the_file_is_refused(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(lend(scene, 0, 0x100000, 17 * PAGE), -EINVAL);
	assert_int_equal(lend(scene, 16 * PAGE, 0x100000, PAGE), -EINVAL);
	assert_int_equal(lend(scene, 15 * PAGE, 0x100000, 1ull << 60), -EINVAL);
	assert_int_equal(lend(scene, 15 * PAGE, 0x100000, PAGE), 0);
}

static void only_files_are_memory(void **state)
{
	struct scene *scene = *state;
	int pipes[2], dir = open("/", O_RDONLY | O_DIRECTORY), empty = memory_file(0);

	assert_return_code(pipe(pipes), errno);
	assert_int_equal(dma_map(&scene->dma, pipes[0], 0, 0, PAGE, true, true), -EINVAL);
	assert_int_equal(dma_map(&scene->dma, dir, 0, 0, PAGE, true, true), -EINVAL);
	assert_int_equal(dma_map(&scene->dma, empty, 0, 0, PAGE, true, true), -EINVAL);
	assert_int_equal(dma_map(&scene->dma, 9999, 0, 0, PAGE, true, true), -EBADF);
	assert_int_equal(scene->dma.count, 0);
	for (int i = 0; i < 2; i++)
		close(pipes[i]);
	close(dir);
	close(empty);
}

static void ranges_do_not_overlap(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(lend(scene, 0, 0x100000, 4 * PAGE), 0);
	assert_int_equal(lend(scene, 0, 0x100000, 4 * PAGE), -EEXIST);
	assert_int_equal(lend(scene, 0, 0x100000 + 3 * PAGE, PAGE), -EEXIST);
	assert_int_equal(lend(scene, 0, 0x100000 - PAGE, 2 * PAGE), -EEXIST);
	assert_int_equal(lend(scene, 0, 0x100000 - PAGE, 8 * PAGE), -EEXIST);
	assert_int_equal(lend(scene, 0, 0x100000 - PAGE, PAGE), 0);
	assert_int_equal(lend(scene, 0, 0x100000 + 4 * PAGE, PAGE), 0);
	assert_int_equal(scene->dma.count, 3);
}

static void whole_ranges_are_taken_back(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 8; i++)
		assert_int_equal(lend(scene, 0, 0x100000 + 2 * i * PAGE, PAGE), 0);
	assert_int_equal(dma_unmap(&scene->dma, 0x100000, 0), -EINVAL);
	assert_int_equal(dma_unmap(&scene->dma, UINT64_MAX, 2), -EINVAL);
	assert_int_equal(dma_unmap(&scene->dma, 0x100000 + PAGE, PAGE), 0);
	assert_int_equal(dma_unmap(&scene->dma, 0x100000 + PAGE / 2, 8 * PAGE), -EINVAL);
	assert_int_equal(scene->dma.count, 8);
	assert_int_equal(dma_unmap(&scene->dma, 0x100000 + PAGE, 4 * PAGE), 0);
	assert_int_equal(scene->dma.count, 6);
	assert_int_equal(store(scene, 0x100000 + 2 * PAGE, "x", 1), -ENOENT);
	assert_int_equal(store(scene, 0x100000 + 6 * PAGE, "x", 1), 0);
	assert_int_equal(dma_unmap(&scene->dma, 0, UINT64_MAX), 0);
	assert_int_equal(scene->dma.count, 0);
	assert_null(scene->dma.memories);
}

static void rights_are_kept(void **state)
{
	struct scene *scene = *state;
	struct dma_piece piece;
	char byte;

	assert_int_equal(dma_map(&scene->dma, scene->fd, 0, 0, PAGE, true, false), 0);
	assert_int_equal(dma_map(&scene->dma, scene->fd, 0, PAGE, PAGE, false, true), 0);
	assert_int_equal(store(scene, 0, "x", 1), -EACCES);
	assert_int_equal(store(scene, PAGE, "x", 1), 0);
	assert_true(dma_piece(&scene->dma, PAGE, 1, &piece));
	assert_int_equal(dma_read(&piece, &byte), -EACCES);
}

static void a_file_for_reading_is_lent_for_reading(void **state)
{
	struct scene *scene = *state;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", scene->fd);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(dma_map(&scene->dma, fd, 0, 0, PAGE, true, true), -EACCES);
	assert_int_equal(dma_map(&scene->dma, fd, 0, 0, PAGE, true, false), 0);
	close(fd);
}

static void memory_without_a_file_is_not_reached(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(dma_map(&scene->dma, -1, 0, 0x100000, PAGE, true, true), 0);
	assert_int_equal(store(scene, 0x100000, "x", 1), -ENXIO);
}

/* The descriptor is the client's own affair once it was sent. */
static void a_closed_descriptor_does_not_matter(void **state)
{
	struct scene *scene = *state;
	int fd = dup(scene->fd);

	assert_int_equal(dma_map(&scene->dma, fd, 0, 0x100000, PAGE, true, true), 0);
	close(fd);
	assert_int_equal(store(scene, 0x100000, "y", 1), 0);
	assert_int_equal(byte_of_file(scene, 0), 'y');
}

static void a_file_cut_short_is_an_error(void **state)
{
	struct scene *scene = *state;
	struct dma_piece piece;
	uint64_t value = 0;

	/* cmocka installs a handler of its own in each test. */
	assert_int_equal(dma_catch_truncation(), 0);
	assert_int_equal(lend(scene, 0, 0x100000, 16 * PAGE), 0);
	assert_return_code(ftruncate(scene->fd, PAGE), errno);
	assert_int_equal(store(scene, 0x100000 + PAGE, &value, 8), -EFAULT);
	assert_true(dma_piece(&scene->dma, 0x100000 + 15 * PAGE, 8, &piece));
	assert_int_equal(dma_read(&piece, &value), -EFAULT);
	assert_int_equal(store(scene, 0x100000, &value, 8), 0);
	/* And again. */
	assert_int_equal(store(scene, 0x100000 + PAGE, &value, 8), -EFAULT);
}

static void there_is_a_limit(void **state)
{
	struct scene *scene = *state;

	for (uint64_t i = 0; i < 65535; i++)
		assert_int_equal(lend(scene, 0, i * PAGE, PAGE), 0);
	assert_int_equal(lend(scene, 0, 70000ull * PAGE, PAGE), -ENOSPC);
	assert_int_equal(dma_unmap(&scene->dma, 65534ull * PAGE, PAGE), 0);
	assert_int_equal(lend(scene, 0, 70000ull * PAGE, PAGE), 0);
}

/* --- by messages --- */

static void nothing(void *device) { (void)device; }

static void by_messages(void **state)
{
	static const struct pci_identity identity = { .vectors = 1 };
	static const struct device_ops ops = { .attached = nothing, .detached = nothing, .reset = nothing };
	struct scene *scene = *state;
	struct server server;
	struct client client;
	struct vfu_dma_unmap all = { .argsz = sizeof(all), .flags = VFIO_DMA_UNMAP_FLAG_ALL };
	struct vfu_dma_map map = { .argsz = sizeof(map), .flags = 8, .bytes = PAGE };
	int fds[2] = { scene->fd, scene->fd };

	server_init(&server, "server", &identity, &ops, NULL);
	client_connect(&client, &server);
	client_greet(&client);
	assert_int_equal(client_map(&client, scene->fd, 0, 0x1000, PAGE), 0);
	assert_int_equal(client_map(&client, scene->fd, 0, 0x1000, PAGE), EEXIST);
	assert_int_equal(client_map(&client, scene->fd, 16 * PAGE, 0x2000, PAGE), EINVAL);
	assert_int_equal(client_map(&client, -1, 0, 0x2000, PAGE), 0);
	assert_int_equal(client_call_fds(&client, VFU_DMA_MAP, &map, sizeof(map), fds, 1), EINVAL);
	map.flags = VFIO_DMA_MAP_FLAG_READ;
	assert_int_equal(client_call_fds(&client, VFU_DMA_MAP, &map, sizeof(map), fds, 2), EINVAL);
	assert_int_equal(client_unmap(&client, 0x1000, PAGE), 0);
	assert_memory_equal(client_payload(&client), (&(struct vfu_dma_unmap){ 24, 0, 0x1000, PAGE }), 24);
	assert_int_equal(client_unmap(&client, 0x2000, 8), EINVAL);
	assert_int_equal(server.dma.count, 1);
	assert_int_equal(client_call(&client, VFU_DMA_UNMAP, &all, sizeof(all)), 0);
	assert_int_equal(server.dma.count, 0);
	all.flags = VFIO_DMA_UNMAP_FLAG_GET_DIRTY_BITMAP;
	assert_int_equal(client_call(&client, VFU_DMA_UNMAP, &all, sizeof(all)), EINVAL);
	client_disconnect(&client);
	server_close(&server);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bytes_land_where_they_were_lent), TEST(nothing_else_is_reached),
		TEST(accesses_go_on_in_the_next_range), TEST(what_is_no_range_is_refused),
		TEST(what_reaches_past_the_file_is_refused), TEST(only_files_are_memory), TEST(ranges_do_not_overlap),
		TEST(whole_ranges_are_taken_back), TEST(rights_are_kept), TEST(a_file_for_reading_is_lent_for_reading),
		TEST(memory_without_a_file_is_not_reached), TEST(a_closed_descriptor_does_not_matter),
		TEST(a_file_cut_short_is_an_error), TEST(there_is_a_limit), TEST(by_messages),
	};

	return cmocka_run_group_tests_name("vfio-user memory", tests, NULL, NULL);
}
