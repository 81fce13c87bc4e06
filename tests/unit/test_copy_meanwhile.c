// SPDX-License-Identifier: Apache-2.0
/* Another program changes the destination file during a copy. */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "copy_scene.h"
#include "donard/file.h"
#include "donard/memory.h"
#include "drive/drive.h"
#include "says.h"

#define HALF	(REGION_BYTES / 2)

/* The change that is made once half of the bytes have been copied, or in another phase. */
static void (*played_act)(struct scene *scene);
static enum donard_phase played_phase;
static uint64_t played_done_bytes;

static int act(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	void (*now)(struct scene *scene) = played_act;

	(void)total_bytes;
	if (!now || phase != played_phase || done_bytes < played_done_bytes)
		return 0;
	played_act = NULL;
	now(user);
	return 0;
}

static bool played_indirect, played_filtered;

/* A file system that begins to do without direct I/O, as ext4 does for chattr +j without delayed allocation. */
long syscall(long number, ...)
{
	static long (*real)(long, ...);
	va_list args;
	void *a[6] = { 0 };
	long rc;

	if (number == 451 && played_filtered) {	/* cachestat() */
		errno = EPERM;
		return -1;
	}
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	va_start(args, number);
	/* This one alone has six; what others lack must not be fetched. */
	for (int i = 0; i < (number == SYS_io_uring_enter ? 6 : 5); i++)
		a[i] = va_arg(args, void *);
	va_end(args);
	rc = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_statx && !rc && played_indirect)
		((struct statx *)a[4])->stx_dio_mem_align = ((struct statx *)a[4])->stx_dio_offset_align = 0;
	return rc;
}

static int setup(void **state)
{
	struct scene *scene;
	char path[160];

	if (copy_setup(state))
		return -1;
	scene = *state;
	played_act = NULL;
	played_phase = DONARD_PHASE_COPY;
	played_done_bytes = HALF;
	played_indirect = played_filtered = false;
	fake_file(scene->fake, "block/nvme7n1/queue/write_cache", "write back");
	fake_file(scene->fake, "block/nvme7n1/queue/fua", "1");
	snprintf(path, sizeof(path), "%s/p2pmem0", scene->fake->root);
	write_file(path, scene->data, REGION_BYTES);
	write_file(scene->out, scene->data + REGION_BYTES, REGION_BYTES);
	scene->options.flags = 0;
	scene->options.queue_depth = 1;
	scene->options.length_bytes = REGION_BYTES;
	scene->options.progress_fn = act;
	scene->options.progress_user = scene;
	return 0;
}

#define MEANWHILE(name)	cmocka_unit_test_setup_teardown(name, setup, copy_teardown)

static int copy_while(struct scene *scene, void (*meanwhile)(struct scene *scene))
{
	int rc;

	played_act = meanwhile;
	rc = copy(scene, "p2pmem0", scene->out);
	assert_null(played_act);
	return rc;
}

static void is_cut(struct scene *scene)
{
	assert_int_equal(truncate(scene->out, 0), 0);
}

static void is_punched(struct scene *scene)
{
	int fd = open(scene->out, O_RDWR);

	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 65536, 4096), 0);
	close(fd);
}

static void is_zeroed(struct scene *scene)
{
	int fd = open(scene->out, O_RDWR);

	assert_int_equal(fallocate(fd, FALLOC_FL_ZERO_RANGE, 131072, 65536), 0);
	close(fd);
}

/* Later requests make the file as long as it has to be, across the gap. */
static void holes(void **state)
{
	static const struct {
		void (*act)(struct scene *scene);
		uint64_t kept_bytes;
	} trials[] = { { is_cut, 0 }, { is_punched, 65536 }, { is_zeroed, 131072 } };
	struct scene *scene = *state;
	char says[80];

	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
		write_file(scene->out, scene->data + REGION_BYTES, REGION_BYTES);
		assert_int_equal(copy_while(scene, trials[i].act), -EBUSY);
		snprintf(says, sizeof(says), "copied bytes are missing from offset %llu on", (unsigned long long)trials[i].kept_bytes);
		assert_says(donard_error(scene->fake->ctx), "another program cut it or punched a hole into it");
		assert_says(donard_error(scene->fake->ctx), says);
		assert_int_equal(scene->result.bytes, trials[i].kept_bytes);
		assert_false(scene->result.durable);
		assert_false(scene->result.verified);
	}
}

static void is_cut_short(struct scene *scene)
{
	assert_int_equal(truncate(scene->out, HALF + 100), 0);
}

/* All has been copied, and nothing makes the file grow again. */
static void cut_at_the_end(void **state)
{
	struct scene *scene = *state;

	played_phase = DONARD_PHASE_FLUSH;
	assert_int_equal(copy_while(scene, is_cut_short), -EBUSY);
	assert_says(donard_error(scene->fake->ctx), "another program cut it to 524388 bytes");
	assert_int_equal(scene->result.bytes, HALF + 100);
	assert_false(scene->result.durable);
}

/* Holes elsewhere, reserved blocks and copied zeros are no missing bytes. */
static void no_holes(void **state)
{
	struct scene *scene = *state;
	int fd;

	memset(scene->data, 0, REGION_BYTES);
	write_file(scene->in, scene->data, REGION_BYTES - 77);
	scene->options.length_bytes = 0;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	write_file(scene->out, NULL, 3 * REGION_BYTES);
	fd = open(scene->out, O_RDWR);
	assert_int_equal(fallocate(fd, 0, 0, 2 * REGION_BYTES), 0);
	close(fd);
	scene->options.dst_offset_bytes = REGION_BYTES;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	scene->options.dst_offset_bytes = 0;
	write_file(scene->out, NULL, 0);
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	unlink(scene->out);
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_true(scene->result.durable);
}

/* More extents than one answer of the kernel has. */
static void many_extents(void **state)
{
	struct scene *scene = *state;
	int fd;

	write_file(scene->out, NULL, REGION_BYTES);
	fd = open(scene->out, O_RDWR);
	for (off_t at = REGION_BYTES - 8192; at >= 0; at -= 8192)
		assert_int_equal(syscall(SYS_pwrite64, fd, scene->data, 4096, at) + fsync(fd), 4096);
	close(fd);
	assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);
	assert_file(scene->out, scene->data, REGION_BYTES);
}

static void is_removed(struct scene *scene)
{
	assert_int_equal(unlink(scene->out), 0);
}

static void is_replaced(struct scene *scene)
{
	char other[160];

	snprintf(other, sizeof(other), "%s-other", scene->out);
	write_file(other, (const uint8_t *)"other", 5);
	assert_int_equal(rename(other, scene->out), 0);
}

static void is_renamed(struct scene *scene)
{
	char other[160];

	snprintf(other, sizeof(other), "%s-other", scene->out);
	assert_int_equal(rename(scene->out, other), 0);
}

static void assert_nowhere(struct scene *scene, const char *says)
{
	assert_says(donard_error(scene->fake->ctx), says);
	assert_false(scene->result.durable);
	assert_true(scene->result.durable_reason[0]);
}

/* The name does not lead to the copied file any more, at whichever moment it was changed. */
static void names(void **state)
{
	static const enum donard_phase phases[] = { DONARD_PHASE_COPY, DONARD_PHASE_FLUSH, DONARD_PHASE_VERIFY };
	struct scene *scene = *state;
	char other[160];

	snprintf(other, sizeof(other), "%s-other", scene->out);
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		played_phase = phases[i];
		scene->options.flags = phases[i] == DONARD_PHASE_VERIFY ? DONARD_COPY_VERIFY : 0;
		write_file(scene->out, scene->data + REGION_BYTES, REGION_BYTES);
		assert_int_equal(copy_while(scene, is_removed), -EBUSY);
		assert_nowhere(scene, "another program removed it during the copy. All was copied, into a file that has no name any more, and is gone.");
		assert_null(strstr(donard_error(scene->fake->ctx), "overwritten"));
		assert_int_equal(scene->result.bytes, 0);
		write_file(scene->out, scene->data + REGION_BYTES, REGION_BYTES);
		assert_int_equal(copy_while(scene, is_replaced), -EBUSY);
		assert_nowhere(scene, "another program replaced it during the copy. All was copied, into a file that has no name any more, and is gone.");
		assert_file(scene->out, (const uint8_t *)"other", 5);
		write_file(scene->out, scene->data + REGION_BYTES, REGION_BYTES);
		assert_int_equal(copy_while(scene, is_renamed), -EBUSY);
		assert_nowhere(scene, "another program removed it during the copy. All was copied, into a file that has another name now.");
		assert_int_equal(scene->result.bytes, REGION_BYTES);
		assert_file(other, scene->data, REGION_BYTES);
	}
}

/* A new file gets its name once it is complete, so another program may rename it even before it is verified. */
static void new_file_is_taken(void **state)
{
	struct scene *scene = *state;
	char other[160];

	snprintf(other, sizeof(other), "%s-other", scene->out);
	unlink(scene->out);
	played_phase = DONARD_PHASE_VERIFY;
	scene->options.flags = DONARD_COPY_VERIFY;
	assert_int_equal(copy_while(scene, is_renamed), 0);
	assert_true(scene->result.verified);
	assert_file(other, scene->data, REGION_BYTES);
	assert_int_equal(copy_while(scene, is_removed), 0);
	assert_false(scene->result.durable);
}

static void is_linked(struct scene *scene)
{
	char other[160];

	snprintf(other, sizeof(other), "%s-other", scene->out);
	assert_int_equal(link(scene->out, other), 0);
}

/* A link in the way and one name more are no harm, and neither is a file that never had a name. */
static void other_names(void **state)
{
	struct scene *scene = *state;
	char link[160], self[64];
	int fd;

	assert_int_equal(copy_while(scene, is_linked), 0);
	assert_true(scene->result.durable);
	snprintf(link, sizeof(link), "%s-link", scene->out);
	assert_int_equal(symlink(scene->out, link), 0);
	assert_int_equal(copy(scene, "p2pmem0", link), 0);
	assert_true(scene->result.durable);
	fd = open(scene->fake->files, O_TMPFILE | O_RDWR, 0600);
	assert_true(fd >= 0);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	assert_int_equal(copy(scene, "p2pmem0", self), 0);
	assert_false(scene->result.durable);
	assert_says(scene->result.durable_reason, "it has no name");
	close(fd);
}

/* The program has the file itself, whatever becomes of its name; and the position of its descriptor is its own. */
static void by_handle(void **state)
{
	struct scene *scene = *state;
	struct donard_copy_end src = { .size = sizeof(src) }, dst = { .size = sizeof(dst) };
	struct donard_memory *memory;
	struct donard_file *file;
	int fd, rc;

	assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);	/* or skipped */
	fd = open(scene->out, O_RDWR | O_DIRECT);
	assert_int_equal(lseek(fd, 12345, SEEK_SET), 12345);
	assert_int_equal(donard_file_adopt(scene->fake->ctx, fd, &file), 0);
	assert_int_equal(donard_memory_claim(scene->fake->ctx, "p2pmem0", 0, REGION_BYTES, &memory), 0);
	src.memory = memory;
	dst.file = file;
	scene->options.flags = DONARD_COPY_VERIFY;
	played_act = is_removed;
	rc = donard_copy_between(&src, &dst, &scene->options, &scene->result);
	assert_int_equal(rc, 0);
	assert_null(played_act);
	assert_int_equal(scene->result.bytes, REGION_BYTES);
	assert_true(scene->result.verified);
	assert_false(scene->result.durable);
	assert_says(scene->result.durable_reason, "it has no name");
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 12345);
	donard_file_close(file);
	donard_memory_free(memory);
	close(fd);
}

/* So is that of a descriptor that donard has opened, and shows. */
static void position_of_the_handle(void **state)
{
	struct scene *scene = *state;
	struct donard_file_info info = { .size = sizeof(info) };
	struct donard_copy_end src = { .size = sizeof(src) }, dst = { .size = sizeof(dst) };

	src.file = open_file(scene, scene->out, 0);
	assert_int_equal(donard_file_info(src.file, &info), 0);
	assert_int_equal(donard_memory_claim(scene->fake->ctx, "p2pmem0", 0, REGION_BYTES, &dst.memory), 0);
	assert_int_equal(lseek(info.fd, 12345, SEEK_SET), 12345);
	assert_int_equal(donard_copy_between(&src, &dst, &scene->options, &scene->result), 0);
	assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PROVEN);
	assert_int_equal(lseek(info.fd, 0, SEEK_CUR), 12345);
	donard_memory_free(dst.memory);
	donard_file_close(src.file);
}

static int played_end_rc;

static int loses_flushes(void *user, const struct donard_interval *interval, int rc)
{
	struct scene *scene = user;

	(void)interval;
	(void)rc;
	fake_file(scene->fake, "block/nvme7n1/queue/write_cache", "write through");
	return played_end_rc;
}

/*
 * Reading the drive's properties takes as long as copying many blocks, so it is not in the interval that the caller measures.
 */
static void judged_after_interval(void **state)
{
	struct scene *scene = *state;

	scene->options.end_fn = loses_flushes;
	scene->options.interval_user = scene;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);
	assert_false(scene->result.durable);
	assert_says(scene->result.durable_reason, "nvme7n1 has a volatile write cache, and is not flushed");
	/* A result is valid after a failure, too. */
	memset(&scene->result, 0, sizeof(scene->result));
	scene->result.size = sizeof(scene->result);
	played_end_rc = -EIO;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -EIO);
	played_end_rc = 0;
	assert_int_equal(scene->result.bytes, REGION_BYTES);
	assert_says(scene->result.durable_reason, "nvme7n1 has a volatile write cache, and is not flushed");
}

static bool played_want;

enum dnd_change __real_dnd_drive_look_and_judge(struct donard_context *ctx, const struct dnd_drive *drive,
						struct dnd_doubt *doubt, int *rc);
enum dnd_change __wrap_dnd_drive_look_and_judge(struct donard_context *ctx, const struct dnd_drive *drive,
						struct dnd_doubt *doubt, int *rc);
enum dnd_change __wrap_dnd_drive_look_and_judge(struct donard_context *ctx, const struct dnd_drive *drive,
						struct dnd_doubt *doubt, int *rc)
{
	if (!played_want)
		return __real_dnd_drive_look_and_judge(ctx, drive, doubt, rc);
	*rc = dnd_fail_errno(ctx, EMFILE, "block/md0: cannot be opened");
	return DND_CHANGED;
}

/* A check that fails for want of descriptors or memory shows no change. */
static void cannot_look(void **state)
{
	struct scene *scene = *state;

	played_want = true;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);
	played_want = false;
	assert_int_equal(scene->result.bounced_evidence, DONARD_BOUNCE_STATED);
	assert_int_equal(scene->result.bounced_bytes, 0);
	assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);
	assert_int_equal(scene->result.bounced_evidence, DONARD_BOUNCE_WATCHED);
}

/* The proof empties the cache around its block, so this lies further on. */
#define READ_FROM	(4L * REGION_BYTES)

static void is_read(struct scene *scene)
{
	int fd = open(scene->out, O_RDONLY);

	for (off_t at = READ_FROM; at < READ_FROM + HALF; at += 4096)
		assert_int_equal(syscall(SYS_pread64, fd, scene->data + REGION_BYTES, 4096, at), 4096);
	close(fd);
}

/* A direct write leaves none of its range in the page cache, whether there were pages before or not. */
static void cached_before(void **state)
{
	struct scene *scene = *state;

	write_file(scene->out, NULL, 8L * REGION_BYTES);
	scene->options.dst_offset_bytes = READ_FROM - HALF;
	is_read(scene);
	assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);
	assert_int_equal(scene->result.bounced_evidence, DONARD_BOUNCE_WATCHED);
	assert_int_equal(scene->result.bounced_bytes, 0);
	is_read(scene);
	played_done_bytes = REGION_BYTES;
	assert_int_equal(copy_while(scene, is_read), 0);
	assert_int_equal(scene->result.bounced_evidence, DONARD_BOUNCE_AT_MOST);
	assert_in_range(scene->result.bounced_bytes, HALF, REGION_BYTES);
}

static void bounces_from_now_on(struct scene *scene)
{
	(void)scene;
	played_indirect = true;
}

/* Nobody knows since when it was so: all counts, and the copy fails only if the caller did not allow that. */
static void journalled_meanwhile(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(copy_while(scene, bounces_from_now_on), -EOPNOTSUPP);
	assert_string_equal(donard_error_code(scene->fake->ctx), "bounces");
	assert_says(donard_error(scene->fake->ctx), "bytes of it went through DRAM during the copy: its file system does no direct I/O on "
		    "this file. All was copied.");
	assert_int_equal(scene->result.bytes, REGION_BYTES);
	assert_int_equal(scene->result.bounced_bytes, REGION_BYTES);
	assert_int_equal(scene->result.bounced_evidence, DONARD_BOUNCE_AT_MOST);
	played_indirect = false;
	scene->options.flags = DONARD_COPY_ALLOW_BOUNCE | DONARD_COPY_VERIFY;
	assert_int_equal(copy_while(scene, bounces_from_now_on), 0);
	assert_int_equal(scene->result.route, DONARD_ROUTE_SWITCH);
	assert_int_equal(scene->result.bounced_bytes, REGION_BYTES);
	assert_int_equal(scene->result.bounced_evidence, DONARD_BOUNCE_AT_MOST);
	assert_true(scene->result.verified);
	assert_file(scene->out, scene->data, REGION_BYTES);
}

/* Pages that a bounce left in the page cache are not the drive's content. */
static void nobody_tells_what_is_cached(void **state)
{
	struct scene *scene = *state;

	played_indirect = true;
	scene->options.flags = DONARD_COPY_ALLOW_BOUNCE | DONARD_COPY_VERIFY;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);
	assert_true(scene->result.verified);
	played_filtered = true;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -EPERM);
	assert_says(donard_error(scene->fake->ctx), "nobody tells whether pages of it stay in the page cache");
	assert_false(scene->result.verified);
	assert_int_equal(scene->result.bytes, REGION_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MEANWHILE(holes), MEANWHILE(cut_at_the_end), MEANWHILE(no_holes), MEANWHILE(many_extents), MEANWHILE(names),
		MEANWHILE(new_file_is_taken), MEANWHILE(other_names), MEANWHILE(by_handle), MEANWHILE(position_of_the_handle),
		MEANWHILE(judged_after_interval), MEANWHILE(cannot_look), MEANWHILE(cached_before), MEANWHILE(journalled_meanwhile),
		MEANWHILE(nobody_tells_what_is_cached),
	};

	return cmocka_run_group_tests_name("copy_meanwhile", tests, NULL, NULL);
}
