// SPDX-License-Identifier: Apache-2.0
/* Whole copies: which bytes move, by which way, and what they leave in files and regions. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "copy_scene.h"
#include "donard/file.h"
#include "memory/memory.h"

static void assert_file_length(const char *path, off_t bytes)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, bytes);
}

static void there_and_back(void **state)
{
	struct scene *scene = *state;
	size_t sizes[] = { 100, 4096, 65536, 300000, 1000001 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		write_file(scene->in, scene->data, sizes[i]);
		unlink(scene->out);
		scene->options.length_bytes = 0;
		assert_int_equal(copy(scene, scene->in, "p2pmem0+8192"), 0);
		assert_true(scene->result.verified);
		assert_int_equal(scene->result.bytes, sizes[i]);
		assert_int_equal(scene->result.bounced_bytes, 0);
		assert_int_equal(scene->result.route, DONARD_ROUTE_SWITCH);
		assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PROVEN);
		scene->options.length_bytes = sizes[i];
		assert_int_equal(copy(scene, "p2pmem0+8192", scene->out), 0);
		assert_file(scene->out, scene->data, sizes[i]);
	}
}

/* A drive that takes 32 KiB a command gets twice as many requests, and as many bytes at once. */
static void long_blocks_become_commands(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 300000);
	scene->options.block_bytes = 65536;
	scene->options.queue_depth = 2;
	fake_file(scene->fake, "block/nvme7n1/queue/max_sectors_kb", "32");
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	assert_true(scene->result.verified);
	assert_int_equal(scene->result.block_bytes, 32768);
	assert_int_equal(scene->result.queue_depth, 4);
	fake_file(scene->fake, "block/nvme7n1/queue/max_sectors_kb", "2048");
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	assert_int_equal(scene->result.block_bytes, 65536);
	assert_int_equal(scene->result.queue_depth, 2);
}

static void staged(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 3 * REGION_BYTES + 77);
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_string_equal(scene->result.via, "p2pmem0");
	assert_file(scene->out, scene->data, 3 * REGION_BYTES + 77);
	played_available = 16384;	/* windows are reused */
	unlink(scene->out);
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_file(scene->out, scene->data, 3 * REGION_BYTES + 77);
}

/* Two copies that begin at the same moment: the second one does with what the first one has left. */
static void staged_with_what_is_left(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 3 * REGION_BYTES);
	played_taking = true;
	played_left = 16384;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_true(scene->result.queue_depth * scene->result.block_bytes < played_left);
	assert_file(scene->out, scene->data, 3 * REGION_BYTES);
	played_available = REGION_BYTES;
	played_left = 0;
	assert_int_equal(copy(scene, scene->in, scene->out), -ENOSPC);
	played_available = REGION_BYTES;
	scene->options.flags |= DONARD_COPY_ALLOW_BOUNCE;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_int_equal(scene->result.route, DONARD_ROUTE_BOUNCED);
	played_available = REGION_BYTES;
	scene->options.via = "p2pmem0";
	assert_int_equal(copy(scene, scene->in, scene->out), -ENOSPC);
}

/* Into the middle of a longer file: what lies behind stays. */
static void patches(void **state)
{
	struct scene *scene = *state;
	uint8_t *expected = scene->data + 2 * REGION_BYTES;
	/* Staging overwrites the played region, so the region goes first. */
	const char *sources[] = { "p2pmem0", scene->in };

	write_file(scene->in, scene->data, 100001);
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	scene->options.length_bytes = 100001;
	scene->options.dst_offset_bytes = 8192;
	for (int i = 0; i < 2; i++) {
		write_file(scene->out, expected, 500000);
		assert_int_equal(copy(scene, sources[i], scene->out), 0);
		memcpy(expected + 8192, scene->data, 100001);
		assert_file(scene->out, expected, 500000);
	}
}

static void bounced(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 300001);
	played_route = P2PMEM_ROUTE_NONE;
	played_flags = P2PMEM_PROBE_UNLISTED_BRIDGE;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EHOSTUNREACH);
	assert_non_null(strstr(donard_error(scene->fake->ctx), "0000:02:00.0"));
	assert_int_equal(copy(scene, scene->in, scene->out), -EHOSTUNREACH);
	assert_int_equal(access(scene->out, F_OK), -1);
	played_flags = P2PMEM_PROBE_BEYOND_MASK;	/* no other slot helps */
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EHOSTUNREACH);
	assert_non_null(strstr(donard_error(scene->fake->ctx), "Let an IOMMU translate"));
	assert_null(strstr(donard_error(scene->fake->ctx), "PCIe switch"));
	played_flags = P2PMEM_PROBE_UNLISTED_BRIDGE;
	scene->options.flags |= DONARD_COPY_ALLOW_BOUNCE;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	assert_int_equal(scene->result.bounced_bytes, 300001);
	assert_int_equal(scene->result.route, DONARD_ROUTE_BOUNCED);
	scene->options.length_bytes = 300001;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);
	assert_file(scene->out, scene->data, 300001);
	scene->options.length_bytes = 0;
	unlink(scene->out);
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_int_equal(scene->result.bounced_bytes, 300001);
	assert_file(scene->out, scene->data, 300001);
}

static void two_ways_to_bounce(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 4096);
	scene->options.flags |= DONARD_COPY_ALLOW_BOUNCE | DONARD_COPY_FORCE_BOUNCE;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EINVAL);
	assert_string_equal(donard_error_code(scene->fake->ctx), "bad-option");
	assert_non_null(strstr(donard_error(scene->fake->ctx), "FORCE_BOUNCE and ALLOW_BOUNCE exclude each other"));
}

/* Nothing is changed, unless the caller allows the bounce: then it is counted. */
static void silent_fallback(void **state)
{
	struct scene *scene = *state;
	const uint8_t *old = scene->data + REGION_BYTES;

	write_file(scene->in, scene->data, 300001);
	write_file(scene->out, old, 300001);
	played_fallback = true;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EOPNOTSUPP);
	assert_string_equal(donard_error_code(scene->fake->ctx), "bounces");
	assert_int_equal(scene->result.bounced_evidence, DONARD_BOUNCE_UNKNOWN);
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -EOPNOTSUPP);
	assert_file(scene->out, old, 300001);
	assert_int_equal(copy(scene, scene->in, scene->out), -EOPNOTSUPP);
	assert_file(scene->out, old, 300001);
	scene->options.flags |= DONARD_COPY_ALLOW_BOUNCE;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	assert_int_equal(scene->result.route, DONARD_ROUTE_BOUNCED);
	assert_int_equal(scene->result.bounced_evidence, DONARD_BOUNCE_CERTAIN);
	assert_int_equal(scene->result.bounced_bytes, 300001);
}

/* Somebody else reads the file, too: when the route is proven, */
static void reader_during_the_proof(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 300001);
	played_readers = 2;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	assert_int_equal(scene->result.bounced_evidence, DONARD_BOUNCE_WATCHED);
	assert_int_equal(scene->result.bounced_bytes, 0);
}

static int read_the_file(void *user, enum donard_phase phase, uint64_t done_bytes,
			 uint64_t total_bytes)
{
	int fd = open(user, O_RDONLY);

	(void)phase, (void)done_bytes, (void)total_bytes;
	read_through_cache(fd);
	close(fd);
	return 0;
}

/* or later: then nobody knows, and the result says so. */
static void reader_during_the_copy(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 300001);
	scene->options.progress_fn = read_the_file;
	scene->options.progress_user = scene->in;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	assert_int_equal(scene->result.route, DONARD_ROUTE_SWITCH);
	assert_int_equal(scene->result.bounced_evidence, DONARD_BOUNCE_AT_MOST);
	assert_in_range(scene->result.bounced_bytes, 65536, 300001);
}

/* All of a source is all of the file afterwards; of a part the rest stays, and the result says how much. */
static void length_of_the_file(void **state)
{
	struct scene *scene = *state;
	uint8_t *old = scene->data + REGION_BYTES;

	write_file(scene->in, scene->data, 65536);
	write_file(scene->out, old, 500000);
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_file(scene->out, scene->data, 65536);
	assert_int_equal(scene->result.kept_bytes, 0);
	assert_int_equal(scene->result.bounced_bytes, 0);
	write_file(scene->out, old, 500000);
	scene->options.length_bytes = 65536;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	memcpy(old, scene->data, 65536);
	assert_file(scene->out, old, 500000);
	assert_int_equal(scene->result.kept_bytes, 500000 - 65536);
	scene->options.length_bytes = 0;
	scene->options.dst_offset_bytes = 65536;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	memcpy(old + 65536, scene->data, 65536);
	assert_file(scene->out, old, 500000);
	assert_int_equal(scene->result.kept_bytes, 500000 - 131072);
	scene->options.dst_offset_bytes = 0;
	scene->options.flags |= DONARD_COPY_KEEP_REST;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_file(scene->out, old, 500000);
	assert_int_equal(scene->result.kept_bytes, 500000 - 65536);
	scene->options.flags &= ~DONARD_COPY_KEEP_REST;
	write_file(scene->in, NULL, 0);
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_file(scene->out, NULL, 0);
}

/* No failure makes the file shorter. */
static void length_after_a_failure(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 65536);
	write_file(scene->out, scene->data + REGION_BYTES, 500000);
	played_lost_writes = true;
	assert_int_equal(copy(scene, scene->in, scene->out), -EBADMSG);
	assert_file_length(scene->out, 500000);
}

/* A new file that gets no name is gone, so the result counts no bytes. */
static int take_the_name(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)done_bytes, (void)total_bytes;
	if (phase == DONARD_PHASE_FLUSH)
		write_file(user, (const uint8_t *)"mine", 4);
	return 0;
}

static int move_the_folder(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	char folder[128], away[160];

	(void)done_bytes, (void)total_bytes;
	snprintf(folder, sizeof(folder), "%s", (const char *)user);
	*strrchr(folder, '/') = '\0';
	snprintf(away, sizeof(away), "%s-away", folder);
	if (phase == DONARD_PHASE_FLUSH)
		assert_int_equal(rename(folder, away), 0);
	return 0;
}

static void no_name_in_the_end(void **state)
{
	struct scene *scene = *state;
	char away[160];

	write_file(scene->in, scene->data, 65536 + 123);
	scene->options.progress_user = scene->out;
	scene->options.progress_fn = take_the_name;
	assert_int_equal(copy(scene, scene->in, scene->out), -EBUSY);
	assert_int_equal(scene->result.bytes, 0);
	assert_int_equal(scene->result.bounced_bytes, 0);
	assert_file(scene->out, (const uint8_t *)"mine", 4);
	unlink(scene->out);
	scene->options.progress_fn = move_the_folder;
	assert_int_equal(copy(scene, scene->in, scene->out), -EBUSY);
	assert_int_equal(scene->result.bytes, 0);
	assert_non_null(strstr(donard_error(scene->fake->ctx), "its folder was moved or removed"));
	/* Back, so that it is removed with the rest. */
	snprintf(away, sizeof(away), "%s-away", scene->fake->files);
	assert_int_equal(rename(away, scene->fake->files), 0);
}

static int never_called(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)user, (void)phase, (void)done_bytes, (void)total_bytes;
	fail_msg("it began");
	return 0;
}

/* No smaller length would do where there is nothing. */
static void longer_than_the_source(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 65536);
	scene->options.length_bytes = 131072;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -ENXIO);
	assert_non_null(strstr(donard_error(scene->fake->ctx), "65536 are there from offset 0. Use a smaller options.length_bytes."));
	write_file(scene->in, NULL, 0);
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -ENXIO);
	assert_non_null(strstr(donard_error(scene->fake->ctx), "it is empty. Leave options.length_bytes out"));
}

/* Refused before hours of copying, for which the kernel would give no name in the end. */
static void name_of_no_file(void **state)
{
	const unsigned int flags[] = { 0, DONARD_FILE_WRITE, DONARD_FILE_WRITE | DONARD_FILE_CREATE };
	struct scene *scene = *state;
	struct donard_file *file;

	write_file(scene->in, scene->data, 65536);
	strcat(scene->out, "/");
	scene->options.progress_fn = never_called;
	assert_int_equal(copy(scene, scene->in, scene->out), -EINVAL);
	assert_string_equal(donard_error_code(scene->fake->ctx), "bad-name");
	assert_non_null(strstr(donard_error(scene->fake->ctx), "it ends with a slash, and there is no such folder"));
	assert_int_equal(donard_file_open(scene->fake->ctx, scene->out, DONARD_FILE_WRITE | DONARD_FILE_CREATE, &file), -EINVAL);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		assert_int_equal(donard_file_open(scene->fake->ctx, "", flags[i], &file), -EINVAL);
		assert_string_equal(donard_error_code(scene->fake->ctx), "bad-name");
		assert_string_equal(donard_error(scene->fake->ctx), "(empty): this names neither a drive nor a file. Name one "
				    "by its path, such as /dev/nvme0n1.");
	}
}

/* The file system completes a block that the end of the file cuts, in DRAM: it counts. */
static void partial_last_block(void **state)
{
	struct scene *scene = *state;
	size_t sizes[] = { 65536 + 123, 65536 + 4096, 7 }, bounced_bytes[] = { 123, 0, 7 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		write_file(scene->in, scene->data, sizes[i]);
		unlink(scene->out);
		assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
		assert_int_equal(scene->result.bounced_bytes, 0);
		scene->options.length_bytes = sizes[i];
		assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);
		assert_int_equal(scene->result.bounced_bytes, bounced_bytes[i]);
		scene->options.length_bytes = 0;
	}
}

/* DRAM is no region: this needs no module. */
static void forced_bounce_without_module(void **state)
{
	struct scene *scene = *state;
	char here[128], away[128];

	snprintf(here, sizeof(here), "%s/class/p2pmem", scene->fake->root);
	snprintf(away, sizeof(away), "%s/class/unloaded", scene->fake->root);
	assert_int_equal(rename(here, away), 0);
	write_file(scene->in, scene->data, 300001);
	assert_int_equal(copy(scene, scene->in, scene->out), -EOPNOTSUPP);
	scene->options.flags |= DONARD_COPY_FORCE_BOUNCE;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_int_equal(scene->result.route, DONARD_ROUTE_BOUNCED);
	assert_int_equal(scene->result.bounced_bytes, 300001);
	assert_file(scene->out, scene->data, 300001);
	scene->options.via = "p2pmem0";
	assert_int_equal(copy(scene, scene->in, scene->out), -EINVAL);
	assert_string_equal(donard_error_code(scene->fake->ctx), "bad-option");
}

/* Between two memories the CPU moves the bytes, and there is no baseline. */
static void no_forced_bounce_between_regions(void **state)
{
	struct scene *scene = *state;

	scene->options.flags |= DONARD_COPY_FORCE_BOUNCE;
	scene->options.length_bytes = 65536;
	scene->options.dst_offset_bytes = 65536;
	assert_int_equal(copy(scene, "p2pmem0", "p2pmem0"), -EINVAL);
	assert_string_equal(donard_error_code(scene->fake->ctx), "bad-option");
	assert_non_null(strstr(donard_error(scene->fake->ctx), "FORCE_BOUNCE is for copies of drives"));
}

static void nothing(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 0);
	scene->options.flags = DONARD_COPY_VERIFY;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	assert_int_equal(scene->result.bytes, 0);
	assert_int_equal(scene->result.route, DONARD_ROUTE_NONE);
	assert_true(scene->result.verified);
	scene->options.flags = 0;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	assert_false(scene->result.verified);
}

static void by_cpu(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 200000);
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	scene->options.length_bytes = 200000;
	assert_int_equal(copy(scene, "p2pmem0", "p2pmem0+500000"), 0);
	assert_int_equal(scene->result.route, DONARD_ROUTE_CPU);
	scene->options.flags = 0;
	assert_int_equal(copy(scene, "p2pmem0+500000", "p2pmem0+450000"), 0);
	assert_int_equal(copy(scene, "p2pmem0+450000", "p2pmem0+454656"), 0);
	scene->options.length_bytes = 200000;
	assert_int_equal(copy(scene, "p2pmem0+454656", scene->out), 0);
	assert_file(scene->out, scene->data, 200000);
}

/* Do both descriptors lead to one open file?  Then they have one position. */
static bool of_one_file(const struct donard_memory *a, const struct donard_memory *b)
{
	assert_int_equal(lseek(a->region.fd, 1234, SEEK_SET), 1234);
	assert_int_equal(lseek(b->region.fd, 0, SEEK_SET), 0);
	return !lseek(a->region.fd, 0, SEEK_CUR);
}

/* Both claim their 4096 bytes, and each writes its own. */
static void assert_own_two(struct scene *scene, uint64_t a_at, uint64_t b_at, bool in_one_file)
{
	const uint64_t at[] = { a_at, b_at };
	struct donard_memory *memories[2];
	char path[128];
	uint8_t seen;
	int fd;

	snprintf(path, sizeof(path), "%s/p2pmem0", scene->fake->root);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(dnd_memory_open(scene->fake->ctx, "p2pmem0", &memories[i]), 0);
	assert_int_equal(dnd_memory_own_two(memories[0], a_at, memories[1], b_at, 4096), 0);
	assert_int_equal(of_one_file(memories[0], memories[1]), in_one_file);
	fd = open(path, O_RDONLY);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(donard_memory_zero(memories[i], 4096, 1), -ENXIO);
		assert_int_equal(donard_memory_write(memories[i], 0, &scene->data[i], 1), 0);
		assert_int_equal(pread(fd, &seen, 1, (off_t)at[i]), 1);
		assert_int_equal(seen, scene->data[i]);
		assert_int_equal(memories[i]->window.data[0], seen);
		donard_memory_free(memories[i]);
	}
	close(fd);
}

/* A granule has one owner, and so has a folio: two ranges that share one are claimed at once, whichever is named first. */
static void two_in_one_region(void **state)
{
	struct scene *scene = *state;

	assert_own_two(scene, 0, 8192, false);
	assert_own_two(scene, 8192, 4096, false);
	assert_own_two(scene, 100, 4196, true);
	assert_own_two(scene, 20000, 16000, true);
	assert_own_two(scene, 65536, 65536 + 1000, true);
	played_folio_bytes = 65536;
	assert_own_two(scene, 0, 8192, true);
	assert_own_two(scene, 8192, 65536, false);
	played_folio_bytes = 0;
}

static void assert_member(struct scene *scene, const char *member)
{
	struct donard_failure failure = { .size = sizeof(failure) };

	assert_int_equal(donard_failure_get(scene->fake->ctx, &failure), 0);
	assert_string_equal(failure.member, member);
}

static void refusals(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 2 * REGION_BYTES);
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -ENOSPC);
	scene->options.dst_offset_bytes = 1 << 20;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -ENXIO);
	assert_member(scene, "options.dst_offset_bytes");
	scene->options.dst_offset_bytes = 100;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -ENOSPC);
	scene->options.length_bytes = 4096;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EINVAL);
	scene->options.dst_offset_bytes = 0;
	assert_int_equal(copy(scene, scene->in, scene->in), -EINVAL);
	assert_string_equal(donard_error_code(scene->fake->ctx), "overlap");
	assert_int_equal(copy(scene, "p2pmem0", "p2pmem0"), -EINVAL);
	scene->options.src_offset_bytes = 5 * REGION_BYTES;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -ENXIO);
	assert_member(scene, "options.src_offset_bytes");
	scene->options.src_offset_bytes = UINT64_MAX - 4095;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -ENXIO);
	scene->options.src_offset_bytes = 0;
	scene->options.block_bytes = 5000;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EINVAL);
	assert_string_equal(donard_error_code(scene->fake->ctx), "bad-option");
	scene->options.block_bytes = 512;	/* of blocks that are 4096 here */
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EINVAL);
	assert_string_equal(donard_error_code(scene->fake->ctx), "alignment");
}

static void assert_not_delivered(struct scene *scene, const char *src, const char *dst)
{
	assert_int_equal(copy(scene, src, dst), -EBADMSG);
	assert_null(strstr(donard_error(scene->fake->ctx), "was overwritten"));
}

static void lost_reads(void **state)
{
	struct scene *scene = *state;
	uint8_t *old = scene->data + REGION_BYTES;

	write_file(scene->in, scene->data, 300001);
	write_file(scene->out, old, 300001);
	played_lost_reads = true;
	assert_not_delivered(scene, scene->in, "p2pmem0");
	assert_not_delivered(scene, scene->in, scene->out);
	scene->options.length_bytes = 300001;
	assert_not_delivered(scene, "p2pmem0", scene->out);
	assert_file(scene->out, old, 300001);
	memset(scene->data, 0, 300001);
	write_file(scene->in, scene->data, 300001);
	assert_not_delivered(scene, scene->in, "p2pmem0");
	scene->options.flags |= DONARD_COPY_ALLOW_BOUNCE;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_int_equal(scene->result.route, DONARD_ROUTE_BOUNCED);
	assert_file(scene->out, scene->data, 300001);
}

/* One path of several that does not get there, whichever turn it has. */
static void some_lost_reads(void **state)
{
	static const uint32_t turns[] = { 1, 1 << 1, 0x55555555, 0xaaaaaaaa };
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 300001);
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		played_lost_turns = turns[i];
		assert_not_delivered(scene, scene->in, "p2pmem0");
	}
}

/* A lost write is detected even if the old content equals the new, and the old content is restored. */
static void lost_writes(void **state)
{
	struct scene *scene = *state;
	uint8_t *old = scene->data + REGION_BYTES;

	write_file(scene->in, scene->data, 65536);
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	scene->options.length_bytes = 65536;
	played_lost_writes = true;
	write_file(scene->out, old, 65536);
	assert_not_delivered(scene, "p2pmem0", scene->out);
	assert_file(scene->out, old, 65536);
	write_file(scene->out, scene->data, 65536);
	assert_not_delivered(scene, "p2pmem0", scene->out);
	assert_file(scene->out, scene->data, 65536);
	unlink(scene->out);
	assert_not_delivered(scene, "p2pmem0", scene->out);
	assert_int_equal(access(scene->out, F_OK), -1);
	memset(scene->data, 0, 65536);
	write_file(scene->in, scene->data, 65536);
	write_file(scene->out, old, 65536);
	played_failed_dram_writes = true;
	assert_int_equal(copy(scene, scene->in, scene->out), -EBADMSG);
	assert_non_null(strstr(donard_error(scene->fake->ctx), "was overwritten (offset 0), and could not be put back"));
	played_failed_dram_writes = false;
	played_lost_writes = false;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PROVEN);
	assert_file(scene->out, scene->data, 65536);
}

/* Nothing but --verify, and the last bytes of a file, moves data between a drive and DRAM. */
static void no_dram(void **state)
{
	struct scene *scene = *state;

	scene->options.flags = 0;
	write_file(scene->in, scene->data, 100001);
	write_file(scene->out, scene->data + REGION_BYTES, 500000);
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PROVEN);
	scene->options.length_bytes = 98304;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);
	assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PROVEN);
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PROVEN);
	assert_int_equal(scene->result.bounced_bytes, 0);
	assert_int_equal(dram_transfers, 0);
	/* Another program may write beside them, in the middle of a file as well. */
	scene->options.length_bytes = 100001;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	assert_int_equal(scene->result.bounced_bytes, 100001 - 98304);
	assert_int_equal(dram_transfers, 1);
}

static void persistent(void **state)
{
	struct scene *scene = *state;
	uint8_t *kept = scene->data + REGION_BYTES;
	char region[128];

	played_region_flags = P2PMEM_REGION_PERSISTENT;
	snprintf(region, sizeof(region), "%s/p2pmem0", scene->fake->root);
	write_file(region, kept, REGION_BYTES);
	write_file(scene->in, scene->data, 65536);
	played_lost_reads = true;
	assert_not_delivered(scene, scene->in, "p2pmem0");
	assert_file(region, kept, REGION_BYTES);
	played_lost_reads = false;
	scene->options.length_bytes = 65536;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PROVEN);
	assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);
	assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PREDICTED);
	assert_file(scene->out, scene->data, 65536);
}

/* Its zeros come from the kernel: they prove nothing. */
static void hole(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, NULL, 65536);
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PREDICTED);
}

/* The bytes at the end of the region, which serve as spare blocks, keep their content. */
static void spare_blocks(void **state)
{
	struct scene *scene = *state;
	uint8_t *region = scene->data + REGION_BYTES;
	char path[128];

	snprintf(path, sizeof(path), "%s/p2pmem0", scene->fake->root);
	write_file(path, region, REGION_BYTES);
	scene->options.length_bytes = 100001;
	write_file(scene->out, scene->data, 500000);
	assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);
	assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PROVEN);
	memcpy(scene->data, region, 100001);
	assert_file(scene->out, scene->data, 500000);
	assert_file(path, region, REGION_BYTES);
}

/* Somebody who holds as little as spare blocks is waited for, others not. */
static void claim_waits_for_spare(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 65536);
	played_busy_claims = 50;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	fake_file(scene->fake, "class/p2pmem/p2pmem0/holders", "12 fio 4194304 0");
	played_busy_claims = 1000;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EBUSY);
	assert_string_equal(donard_error_code(scene->fake->ctx), "busy");
	assert_in_range(played_busy_claims, 900, 999);
}

static void do_nothing(int signal_number)
{
	(void)signal_number;
}

/* Memory that was given back a moment ago may come 20 ms later, and a profiler's timer must not shorten the wait. */
static void claim_waits_between_signals(void **state)
{
	static const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never;
	struct sigaction action = { .sa_handler = do_nothing, .sa_flags = SA_RESTART }, before;
	struct scene *scene = *state;
	double begin;

	write_file(scene->in, scene->data, 65536);
	fake_file(scene->fake, "class/p2pmem/p2pmem0/holders", "12 fio 4194304 0");
	played_busy_claims = 1000;
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	begin = dnd_now_seconds();
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EBUSY);
	assert_true(dnd_now_seconds() - begin >= 0.05);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
}

static void assert_read_fails(struct scene *scene, const char *state, const char *code)
{
	fake_file(scene->fake, "class/nvme/nvme7/state", state);
	assert_true(copy(scene, scene->in, "p2pmem0") < 0);
	assert_string_equal(donard_error_code(scene->fake->ctx), code);
}

/* A drive that went away is not blamed on the route. */
static void drive_gone(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 65536);
	played_failed_reads = true;
	assert_read_fails(scene, "live", "device");
	assert_read_fails(scene, "resetting", "device");
	assert_read_fails(scene, "deleting (no IO)", "drive-gone");
	assert_non_null(strstr(donard_error(scene->fake->ctx), "0000:01:00.0"));
	assert_read_fails(scene, "dead", "drive-gone");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(there_and_back), CASE(long_blocks_become_commands), CASE(staged), CASE(staged_with_what_is_left), CASE(patches), CASE(bounced), CASE(nothing),
		CASE(two_ways_to_bounce),
		CASE(forced_bounce_without_module), CASE(no_forced_bounce_between_regions), CASE(by_cpu), CASE(two_in_one_region),
		CASE(refusals), CASE(lost_reads), CASE(some_lost_reads), CASE(lost_writes), CASE(no_dram),
		CASE(persistent), CASE(hole), CASE(spare_blocks), CASE(claim_waits_for_spare), CASE(claim_waits_between_signals),
		CASE(drive_gone), CASE(silent_fallback), CASE(reader_during_the_proof),
		CASE(reader_during_the_copy), CASE(length_of_the_file), CASE(length_after_a_failure),
		CASE(partial_last_block), CASE(no_name_in_the_end),
		CASE(longer_than_the_source), CASE(name_of_no_file),
	};

	return cmocka_run_group_tests_name("copy", tests, NULL, NULL);
}
