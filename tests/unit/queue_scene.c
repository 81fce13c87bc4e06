// SPDX-License-Identifier: Apache-2.0
/* See queue_scene.h. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "queue_scene.h"

void write_file(const char *path, const uint8_t *data, size_t bytes)
{
	int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);

	assert_int_equal(write(fd, data, bytes), bytes);
	close(fd);
}

static void make_scene(struct scene *scene)
{
	struct stat st;
	char link[96];

	assert_int_equal(fake_setup((void **)&scene->fake), 0);
	assert_int_equal(stat(scene->fake->root, &st), 0);
	scene->ctx = scene->fake->ctx;
	fake_nvme(scene->fake, 7, "0000:01:00.0");
	fake_file(scene->fake, "block/nvme7n1/queue/max_sectors_kb", "128");
	fake_file(scene->fake, "block/nvme7n1/queue/write_cache", "write back");
	fake_file(scene->fake, "block/nvme7n1/queue/fua", "1");
	fake_file(scene->fake, "fs/ext4/nvme7n1/journal_task", "<none>");
	snprintf(link, sizeof(link), "dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
	fake_link(scene->fake, link, "block/nvme7n1");
	snprintf(scene->path, sizeof(scene->path), "%s/file", scene->fake->files);
	scene->data = malloc(BYTES);
	dnd_nonce(scene->data, BYTES);
	write_file(scene->path, scene->data, BYTES);
}

void open_queue(struct scene *scene, uint32_t depth, uint32_t flags)
{
	struct donard_queue_options options = { .size = sizeof(options), .depth = depth, .flags = flags };

	donard_queue_close(scene->queue);
	if (donard_queue_open(scene->ctx, &options, &scene->queue) == -EOPNOTSUPP)
		skip();		/* neither io_uring nor Linux AIO is allowed here */
	assert_non_null(scene->queue);
}

int queue_setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct donard_memory_info info = { .size = sizeof(info) };
	struct donard_file_info about = { .size = sizeof(about) };

	*state = scene;
	make_scene(scene);
	if (donard_file_open(scene->ctx, scene->path, DONARD_FILE_WRITE, &scene->file))
		return 0;	/* scene_of() says what comes of it */
	assert_int_equal(donard_file_info(scene->file, &about), 0);
	scene->align = about.align_bytes;
	assert_int_equal(donard_memory_dram(scene->ctx, BYTES, &scene->memory), 0);
	assert_int_equal(donard_memory_info(scene->memory, &info), 0);
	scene->bytes = info.address;
	return 0;
}

int queue_teardown(void **state)
{
	struct scene *scene = *state;
	void *fake = scene->fake;

	donard_queue_close(scene->queue);
	donard_file_close(scene->file);
	donard_memory_free(scene->memory);
	fake_teardown(&fake);
	free(scene->data);
	free(scene);
	return 0;
}

struct scene *scene_of(void **state, uint32_t depth, uint32_t flags)
{
	struct scene *scene = *state;

	needs_supported_file_system(scene->path);
	if (!scene->file)
		fail_msg("%s", donard_error(scene->ctx));
	open_queue(scene, depth, flags);
	return scene;
}

int reads(struct scene *scene, uint64_t from, uint64_t to, uint64_t bytes, uintptr_t user)
{
	return donard_queue_read(scene->queue, scene->file, from, scene->memory, to, bytes, (void *)user);
}

int writes(struct scene *scene, uint64_t to, uint64_t from, uint64_t bytes, uintptr_t user)
{
	return donard_queue_write(scene->queue, scene->file, to, scene->memory, from, bytes, (void *)user);
}

/*
 * The end of an earlier test's io_uring can interrupt a wait by Linux AIO, without a signal (io_ring_exit_work()): a wait then has
 * less, or nothing.
 */
int waits(struct scene *scene, unsigned int least)
{
	unsigned int count = 0;
	int rc;

	do {
		rc = donard_queue_wait(scene->queue, least > count ? least - count : 0, -1, scene->got + count, 64 - count);
		count += rc > 0 ? (unsigned int)rc : 0;
	} while (rc == -EINTR || (rc >= 0 && count < least && about(scene).in_flight));
	return rc < 0 ? rc : (int)count;
}

struct donard_queue_info about(struct scene *scene)
{
	struct donard_queue_info info = { .size = sizeof(info) };

	assert_int_equal(donard_queue_info(scene->queue, &info), 0);
	return info;
}

void assert_refused(struct scene *scene, int rc, int error, const char *word)
{
	assert_int_equal(rc, -error);
	assert_string_equal(donard_error_code(scene->ctx), word);
}
