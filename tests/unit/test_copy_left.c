// SPDX-License-Identifier: Apache-2.0
/* What a failed or stopped copy leaves behind, and what its text says about that. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "copy/copy.h"
#include "copy_scene.h"
#include "says.h"

#define KIB 1024U

static const char *error_of(const struct scene *scene)
{
	return donard_error(scene->fake->ctx);
}

static void assert_silent(const struct scene *scene, const char *part)
{
	if (strstr(error_of(scene), part))
		fail_msg("'%s' is in: %s", part, error_of(scene));
}

static void assert_holds(const char *path, uint64_t at, const uint8_t *data, size_t bytes)
{
	uint8_t *seen = malloc(bytes);
	int fd = open(path, O_RDONLY);

	assert_int_equal(syscall(SYS_pread64, fd, seen, bytes, at), bytes);
	assert_memory_equal(seen, data, bytes);
	close(fd);
	free(seen);
}

static void fill_region(struct scene *scene, const uint8_t *data)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/p2pmem0", scene->fake->root);
	fd = open(path, O_WRONLY);
	assert_int_equal(syscall(SYS_pwrite64, fd, data, REGION_BYTES, 0L), REGION_BYTES);
	close(fd);
}

/* One request fails, whose memory cannot be read or written: the others do not know of that. */
static uint64_t hidden_at;

static int hide(void *user, const struct donard_interval *interval)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512];
	int rc = -1;

	(void)user, (void)interval;
	while (rc && fgets(line, sizeof(line), maps))
		if (strstr(line, "/p2pmem") && sscanf(line, "%lx-%lx", &start, &end) == 2 && end - start >= REGION_BYTES)
			rc = mprotect((void *)(start + hidden_at), 4096, PROT_NONE);
	fclose(maps);
	return rc ? -EIO : 0;
}

static void let_fail(struct scene *scene, uint64_t at)
{
	hidden_at = at;
	scene->options.flags = 0;
	scene->options.queue_depth = 16;
	scene->options.begin_fn = hide;
}

static void old_file(void **state)
{
	struct scene *scene = *state;
	char says[256];

	fill_region(scene, scene->data);
	write_file(scene->out, scene->data + REGION_BYTES, REGION_BYTES);
	let_fail(scene, 8192);
	assert_true(copy(scene, "p2pmem0", scene->out) < 0);
	assert_int_equal(scene->result.bytes, 0);
	assert_holds(scene->out, 64 * KIB, scene->data + 64 * KIB, REGION_BYTES - 64 * KIB);
	assert_int_equal(scene->result.overwritten_bytes, REGION_BYTES);
	snprintf(says, sizeof(says), "Up to 1048576 bytes of %s, from offset 0 on, may have been overwritten.", scene->out);
	assert_says(error_of(scene), says);
}

/* Behind the end that the file had there was nothing to overwrite, and there is still nothing. */
static void short_file(void **state)
{
	struct scene *scene = *state;

	fill_region(scene, scene->data);
	write_file(scene->out, scene->data + REGION_BYTES, 256 * KIB);
	let_fail(scene, 128 * KIB);
	assert_true(copy(scene, "p2pmem0", scene->out) < 0);
	assert_int_equal(scene->result.bytes, 128 * KIB);
	assert_int_equal(scene->result.overwritten_bytes, 128 * KIB);
	let_fail(scene, 256 * KIB);
	assert_true(copy(scene, "p2pmem0", scene->out) < 0);
	assert_int_equal(scene->result.bytes, 256 * KIB);
	assert_int_equal(scene->result.overwritten_bytes, 0);
	assert_silent(scene, "overwritten");
}

static void new_file(void **state)
{
	struct scene *scene = *state;

	fill_region(scene, scene->data);
	let_fail(scene, 8192);
	assert_true(copy(scene, "p2pmem0", scene->out) < 0);
	assert_int_equal(access(scene->out, F_OK), -1);
	assert_int_equal(scene->result.overwritten_bytes, 0);
	assert_silent(scene, "overwritten");
}

/* A file that a handle created counts as new for the first copy alone. */
static void over_what_a_handle_made(void **state)
{
	struct scene *scene = *state;
	struct donard_context *ctx = scene->fake->ctx;
	struct donard_copy_end from = { .size = sizeof(from) }, to = { .size = sizeof(to) };

	fill_region(scene, scene->data);
	to.file = open_file(scene, scene->out, DONARD_FILE_WRITE | DONARD_FILE_CREATE);
	assert_int_equal(donard_memory_claim(ctx, "p2pmem0", 0, REGION_BYTES, &from.memory), 0);
	assert_int_equal(donard_copy_between(&from, &to, &scene->options, &scene->result), 0);
	let_fail(scene, 8192);
	assert_true(donard_copy_between(&from, &to, &scene->options, &scene->result) < 0);
	assert_int_equal(scene->result.bytes, 0);
	assert_int_equal(scene->result.overwritten_bytes, REGION_BYTES);
	donard_file_close(to.file);
	donard_memory_free(from.memory);
}

static void into_region(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, REGION_BYTES);
	let_fail(scene, 8192);
	assert_true(copy(scene, scene->in, "p2pmem0") < 0);
	assert_int_equal(scene->result.bytes, 0);
	assert_int_equal(scene->result.overwritten_bytes, REGION_BYTES);
	assert_says(error_of(scene), "Up to 1048576 bytes of p2pmem0, from offset 0 on, may have been overwritten.");
}

/* A reset makes all of it worthless, which lies in the file nevertheless. */
static int play_reset(void *user, const struct donard_interval *interval)
{
	(void)user, (void)interval;
	played_resets = 1;
	return 0;
}

static void reset(void **state)
{
	struct scene *scene = *state;

	fill_region(scene, scene->data);
	write_file(scene->out, NULL, REGION_BYTES);
	scene->options.begin_fn = play_reset;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -EIO);
	assert_int_equal(scene->result.bytes, 0);
	assert_int_equal(scene->result.overwritten_bytes, REGION_BYTES);
	assert_says(error_of(scene), "from offset 0 on, may have been overwritten.");
}

/* A new file that has its name already is kept. */
static int reset_when_verifying(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)user, (void)done_bytes, (void)total_bytes;
	played_resets = phase == DONARD_PHASE_VERIFY;
	return 0;
}

static void reset_behind_a_new_file(void **state)
{
	struct scene *scene = *state;

	fill_region(scene, scene->data);
	scene->options.progress_fn = reset_when_verifying;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -EIO);
	assert_file(scene->out, scene->data, REGION_BYTES);
	assert_int_equal(scene->result.bytes, 0);
	assert_int_equal(scene->result.overwritten_bytes, REGION_BYTES);
	assert_says(error_of(scene), "from offset 0 on, may have been overwritten.");
}

static int stop_half(void *user, enum donard_phase phase, uint64_t done, uint64_t total)
{
	(void)user, (void)phase;
	return done >= total / 2;
}

static void stop_between(struct scene *scene, const char *src, const char *dst, uint64_t bytes)
{
	fill_region(scene, scene->data);
	scene->options.flags = 0;
	scene->options.length_bytes = bytes;
	scene->options.queue_depth = 1;
	scene->options.progress_fn = stop_half;
	assert_int_equal(copy(scene, src, dst), -ECANCELED);
}

/* Bytes that a reset lost do not count, and do not keep a new file, even if the copy was also stopped. */
static void stopped_after_reset(void **state)
{
	struct scene *scene = *state;

	scene->options.begin_fn = play_reset;
	stop_between(scene, "p2pmem0", scene->out, REGION_BYTES);
	assert_int_equal(scene->result.bytes, 0);
	assert_int_equal(access(scene->out, F_OK), -1);
	assert_string_equal(error_of(scene), "stopped. A device was reset meanwhile, so that no bytes count as copied.");
	played_resets = 0;
	write_file(scene->in, scene->data, REGION_BYTES);
	stop_between(scene, scene->in, "p2pmem0", REGION_BYTES);
	assert_int_equal(scene->result.bytes, 0);
	assert_true(scene->result.overwritten_bytes >= REGION_BYTES / 2);
}

static void region_apart(void **state)
{
	struct scene *scene = *state;

	stop_between(scene, "p2pmem0", "p2pmem0+512K", 512 * KIB);
	assert_int_equal(scene->result.bytes, 256 * KIB);
	assert_int_equal(scene->result.overwritten_bytes, 0);
	assert_string_equal(error_of(scene), "stopped");
}

static void region_upwards(void **state)
{
	struct scene *scene = *state;

	stop_between(scene, "p2pmem0", "p2pmem0+64K", 512 * KIB);
	assert_int_equal(scene->result.bytes, 0);
	assert_int_equal(scene->result.overwritten_bytes, 256 * KIB);
	assert_says(error_of(scene), "stopped. Up to 262144 bytes of p2pmem0, from offset 327680 on, may have been overwritten. "
		    "The source was changed as well");
	/* Its last bytes are not the source's. */
	stop_between(scene, "p2pmem0", "p2pmem0+384K", 512 * KIB);
	assert_int_equal(scene->result.overwritten_bytes, 256 * KIB);
	assert_silent(scene, "source was changed");
}

static void region_downwards(void **state)
{
	struct scene *scene = *state;

	stop_between(scene, "p2pmem0+64K", "p2pmem0", 512 * KIB);
	assert_int_equal(scene->result.bytes, 256 * KIB);
	assert_int_equal(scene->result.overwritten_bytes, 0);
	assert_says(error_of(scene), "stopped. The source was changed as well");
	stop_between(scene, "p2pmem0+384K", "p2pmem0", 512 * KIB);
	assert_string_equal(error_of(scene), "stopped");
}

/* The kernel moves a block in one call, which nothing but SIGKILL ends: none lasts long, whatever the caller asks for. */
static int stop_at_once(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)phase, (void)total_bytes;
	*(uint64_t *)user = done_bytes;
	return 1;
}

static void large_blocks(void **state)
{
	struct scene *scene = *state;
	uint64_t done_bytes = 0;
	char path[128];

	played_region_bytes = 2 * REGION_BYTES;
	snprintf(path, sizeof(path), "%s/p2pmem0", scene->fake->root);
	write_file(path, scene->data, 2 * REGION_BYTES);
	scene->options.flags = 0;
	scene->options.block_bytes = 1 << 30;
	scene->options.length_bytes = REGION_BYTES + 4096;
	scene->options.progress_fn = stop_at_once;
	scene->options.progress_user = &done_bytes;
	assert_int_equal(copy(scene, "p2pmem0", "p2pmem0+64K"), -ECANCELED);
	assert_int_equal(done_bytes, REGION_BYTES);
	assert_int_equal(scene->result.block_bytes, REGION_BYTES);
	assert_int_equal(scene->result.overwritten_bytes, REGION_BYTES);
	write_file(path, scene->data, 2 * REGION_BYTES);
	scene->options.progress_fn = NULL;
	assert_int_equal(copy(scene, "p2pmem0", "p2pmem0+64K"), 0);
	memmove(scene->data + 65536, scene->data, REGION_BYTES + 4096);
	assert_file(path, scene->data, 2 * REGION_BYTES);
}

static int stop_behind_the_requests(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)user, (void)total_bytes;
	return phase == DONARD_PHASE_COPY && done_bytes == 65536;
}

static int stop_when_verified(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)user;
	return phase == DONARD_PHASE_VERIFY && done_bytes == total_bytes;
}

/* Bytes that have been moved are kept, and a copy that has nothing left to do cannot be stopped. */
static void stopped_at_the_end(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 65536 + 123);
	scene->options.progress_fn = stop_behind_the_requests;
	assert_int_equal(copy(scene, scene->in, scene->out), -ECANCELED);
	assert_int_equal(scene->result.bytes, 65536);
	assert_file(scene->out, scene->data, 65536);
	write_file(scene->in, scene->data, 65536);
	assert_int_equal(copy(scene, scene->in, scene->out), -ECANCELED);
	assert_int_equal(scene->result.bytes, 65536);
	assert_false(scene->result.verified);
	scene->options.flags = 0;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	scene->options.flags = DONARD_COPY_VERIFY;
	scene->options.progress_fn = stop_when_verified;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_true(scene->result.verified);
	assert_file(scene->out, scene->data, 65536);
}

static bool played_told_of_flush;

/* The region of a copy is removed when all bytes are moved; later the copy is stopped. */
static int remove_and_stop(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)user;
	played_told_of_flush |= phase == DONARD_PHASE_FLUSH;
	if (phase == DONARD_PHASE_COPY && done_bytes == total_bytes) {
		played_gone = "p2pmem0";
		usleep(110000);		/* until the copy looks at its regions again */
	}
	return phase == DONARD_PHASE_VERIFY;
}

static void stopped_without_its_region(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 2 * REGION_BYTES);
	scene->options.progress_fn = remove_and_stop;
	played_told_of_flush = false;
	assert_int_equal(copy(scene, scene->in, scene->out), -ECANCELED);
	assert_string_equal(error_of(scene), "stopped");
	assert_true(played_told_of_flush);
	assert_int_equal(scene->result.bytes, 2 * REGION_BYTES);
}

/* A tail of so many bytes behind 1 MiB, in blocks of 4096: from one drive to another, by a file in place of each. */
static int copy_tail(struct scene *scene, const char *out, uint32_t tail_bytes)
{
	struct dnd_copy copy = {
		.ctx = scene->fake->ctx,
		.result = &scene->result,
		.length = REGION_BYTES + tail_bytes,
		.align = 4096,
		.plan = { .full_bytes = REGION_BYTES, .tail_bytes = tail_bytes },
		.src = { .label = scene->in, .drive = { .fd = open(scene->in, O_RDONLY), .align_bytes = 4096 } },
		.dst = { .label = out, .drive = { .fd = open(out, O_RDWR), .align_bytes = 512 } },
	};
	void *memory = NULL;
	int rc;

	assert_int_equal(posix_memalign(&memory, 4096, dnd_spare_bytes(4096)), 0);
	copy.spare.place.address = memory;
	rc = dnd_copy_tail(&copy);
	assert_int_equal(copy.touched_end, rc ? 0 : copy.length);
	close(copy.dst.drive.fd);
	close(copy.src.drive.fd);
	free(memory);
	return rc;
}

/* The destination, whose blocks are smaller, ends within the source's last block: nothing is written behind it. */
static void last_block_of_a_smaller_drive(void **state)
{
	struct scene *scene = *state;
	struct stat st;

	write_file(scene->in, scene->data, REGION_BYTES + 4096);
	for (uint32_t drive = 512; drive <= 4096; drive += 512) {
		write_file(scene->out, scene->data + 2 * REGION_BYTES, REGION_BYTES + drive);
		assert_int_equal(copy_tail(scene, scene->out, 500), 0);
		assert_int_equal(stat(scene->out, &st), 0);
		assert_int_equal(st.st_size, REGION_BYTES + drive);
		assert_holds(scene->out, REGION_BYTES, scene->data + REGION_BYTES, 500);
		assert_holds(scene->out, REGION_BYTES + 500, scene->data + 3 * REGION_BYTES + 500, drive - 500);
	}
}

static uint64_t played_resets_at_removal;

static int remove_when_flushing(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)user, (void)done_bytes, (void)total_bytes;
	if (phase == DONARD_PHASE_FLUSH && !played_removed) {
		played_removed = true;
		played_resets += played_resets_at_removal;
	}
	return 0;
}

/* Bytes that were read from the region before its removal count; bytes that were written to it are not durable. */
static void removed_afterwards(void **state)
{
	struct scene *scene = *state;

	fill_region(scene, scene->data);
	write_file(scene->out, scene->data + REGION_BYTES, REGION_BYTES);
	scene->options.flags = 0;
	scene->options.progress_fn = remove_when_flushing;
	scene->options.length_bytes = REGION_BYTES;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);
	assert_true(played_removed);
	assert_int_equal(scene->result.bytes, REGION_BYTES);
	assert_null(strstr(scene->result.durable_reason, "went away"));
	played_removed = false;
	played_reset = true;	/* one had begun when the last byte moved, and is not counted yet */
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -ENODEV);
	assert_int_equal(scene->result.bytes, 0);
	assert_false(scene->result.durable);
	assert_string_equal(scene->result.durable_reason, "a region went away during the copy");
	played_reset = played_removed = false;
	played_resets_at_removal = 1;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -EIO);
	assert_int_equal(scene->result.bytes, 0);
	played_resets_at_removal = 0;
	played_resets = 0;
	played_removed = false;
	assert_int_equal(copy(scene, scene->out, "p2pmem0"), -ENODEV);
	assert_int_equal(scene->result.bytes, REGION_BYTES);
	assert_int_equal(scene->result.overwritten_bytes, 0);
	assert_false(scene->result.durable);
	assert_string_equal(scene->result.durable_reason, "p2pmem0 went away");
	assert_says(error_of(scene), "p2pmem0: the region went away");
}

static bool played_failed_flush;

/* The region goes while the drive fails to flush what came out of it. */
int fsync(int fd)
{
	if (!played_failed_flush)
		return (int)syscall(SYS_fsync, fd);
	played_removed = true;
	errno = EIO;
	return -1;
}

static int fail_to_read_again(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)user, (void)done_bytes, (void)total_bytes;
	if (phase == DONARD_PHASE_FLUSH)
		played_removed = played_failed_reads = true;
	return 0;
}

/* A failure of the drive itself is not attributed to a region that was removed or reset meanwhile. */
static void drive_fails_without_its_region(void **state)
{
	struct scene *scene = *state;

	fill_region(scene, scene->data);
	write_file(scene->out, NULL, REGION_BYTES);
	scene->options.length_bytes = REGION_BYTES;
	played_failed_flush = true;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -EIO);
	played_failed_flush = played_removed = false;
	assert_says(error_of(scene), "cannot be flushed");
	scene->options.progress_fn = fail_to_read_again;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -EIO);
	assert_says(error_of(scene), "reading it again failed");
	scene->options.progress_fn = remove_when_flushing;
	played_failed_reads = played_removed = false;
	played_resets_at_removal = 1;
	played_failed_flush = true;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -EIO);
	played_failed_flush = false;
	played_resets_at_removal = 0;
	assert_says(error_of(scene), "cannot be flushed");
	assert_says(error_of(scene), "A device was reset meanwhile, so that no bytes count as copied.");
	assert_int_equal(scene->result.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(old_file), CASE(short_file), CASE(new_file), CASE(over_what_a_handle_made), CASE(into_region), CASE(reset),
		CASE(reset_behind_a_new_file), CASE(stopped_after_reset), CASE(region_apart), CASE(region_upwards), CASE(region_downwards),
		CASE(large_blocks), CASE(stopped_at_the_end), CASE(stopped_without_its_region),
		CASE(last_block_of_a_smaller_drive), CASE(removed_afterwards), CASE(drive_fails_without_its_region),
	};

	return cmocka_run_group_tests_name("copy, left behind", tests, NULL, NULL);
}
