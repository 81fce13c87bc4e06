// SPDX-License-Identifier: Apache-2.0
/* Copies between handles of memory and files work as those between names, and change nothing beside the range. */
#include <fcntl.h>
#include <unistd.h>

#include "copy_scene.h"
#include "donard/memory.h"
#include "drive/drive.h"
#include "says.h"

static struct donard_memory *claim(struct scene *scene, uint64_t offset, uint64_t bytes)
{
	struct donard_memory *memory;

	assert_int_equal(donard_memory_claim(scene->fake->ctx, "p2pmem0", offset, bytes, &memory), 0);
	return memory;
}

static struct donard_copy_end of_memory(struct donard_memory *memory)
{
	return (struct donard_copy_end){ .size = sizeof(struct donard_copy_end), .memory = memory };
}

static struct donard_copy_end of_file(struct donard_file *file)
{
	return (struct donard_copy_end){ .size = sizeof(struct donard_copy_end), .file = file };
}

static int between(struct scene *scene, struct donard_copy_end source, struct donard_copy_end destination)
{
	int rc = donard_copy_between(&source, &destination, &scene->options, &scene->result);

	if (rc)
		print_message("  %s\n", donard_error(scene->fake->ctx));
	return rc;
}

/* The CPU sees these bytes. */
static void assert_memory(struct donard_memory *memory, uint64_t at, const uint8_t *data, size_t bytes)
{
	uint8_t *seen = malloc(bytes);

	assert_int_equal(donard_memory_read(memory, at, seen, bytes), 0);
	assert_memory_equal(seen, data, bytes);
	free(seen);
}

/* Each size to memory and back, with strangers' bytes on both sides of the range. */
static void there_and_back(void **state)
{
	struct scene *scene = *state;
	static const size_t sizes[] = { 100, 4096, 65536 + 512, 300000 };
	const uint8_t *others = scene->data + 2 * REGION_BYTES;
	struct donard_memory *memory = claim(scene, 8192, 400000);
	struct donard_file *in, *out;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = sizes[i];

		write_file(scene->in, scene->data, size);
		write_file(scene->out, NULL, 0);
		in = open_file(scene, scene->in, 0);
		out = open_file(scene, scene->out, DONARD_FILE_WRITE);
		assert_int_equal(donard_memory_write(memory, 0, others, 400000), 0);
		scene->options.dst_offset_bytes = 4096;
		assert_int_equal(between(scene, of_file(in), of_memory(memory)), 0);
		assert_true(scene->result.verified);
		assert_int_equal(scene->result.bytes, size);
		assert_int_equal(scene->result.bounced_bytes, size % in->drive.align_bytes);
		assert_int_equal(scene->result.route, DONARD_ROUTE_SWITCH);
		assert_memory(memory, 0, others, 4096);
		assert_memory(memory, 4096, scene->data, size);
		assert_memory(memory, 4096 + size, others + 4096 + size, 400000 - 4096 - size);
		scene->options.dst_offset_bytes = 0;
		scene->options.src_offset_bytes = 4096;
		scene->options.length_bytes = size;
		assert_int_equal(between(scene, of_memory(memory), of_file(out)), 0);
		assert_file(scene->out, scene->data, size);
		scene->options.src_offset_bytes = scene->options.length_bytes = 0;
		donard_file_close(in);
		donard_file_close(out);
	}
	donard_memory_free(memory);
}

/* Once by names and once by handles: the same comes of it, and is said. */
static void assert_alike(struct scene *scene, struct donard_file *file, struct donard_memory *memory, int rc)
{
	struct donard_copy_result named;
	char code[32], text[1024];

	assert_int_equal(copy(scene, scene->in, "p2pmem0+64K"), rc);
	named = scene->result;
	snprintf(code, sizeof(code), "%s", donard_error_code(scene->fake->ctx));
	snprintf(text, sizeof(text), "%s", donard_error(scene->fake->ctx));
	assert_int_equal(between(scene, of_file(file), of_memory(memory)), rc);
	assert_string_equal(donard_error_code(scene->fake->ctx), code);
	assert_string_equal(donard_error(scene->fake->ctx), text);
	named.seconds = scene->result.seconds;
	assert_memory_equal(&named, &scene->result, sizeof(named));
}

static void alike(void **state)
{
	struct scene *scene = *state;
	struct donard_memory *memory = claim(scene, 65536, 262144);
	struct donard_file *file;

	write_file(scene->in, scene->data, 262144);
	file = open_file(scene, scene->in, 0);
	assert_alike(scene, file, memory, 0);
	assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PROVEN);
	played_lost_reads = true;
	assert_alike(scene, file, memory, -EBADMSG);
	played_lost_reads = false;
	played_failed_reads = true;
	assert_alike(scene, file, memory, -EIO);
	played_failed_reads = false;
	played_route = P2PMEM_ROUTE_NONE;
	assert_alike(scene, file, memory, -EHOSTUNREACH);
	scene->options.flags |= DONARD_COPY_ALLOW_BOUNCE;
	assert_alike(scene, file, memory, 0);
	assert_int_equal(scene->result.bounced_bytes, 262144);
	donard_file_close(file);
	donard_memory_free(memory);
}

/* A file is as long as it is now; of one file both ends are, and share nothing. */
static void files(void **state)
{
	struct scene *scene = *state;
	struct donard_file *in, *out;

	write_file(scene->in, scene->data, 4096);
	in = open_file(scene, scene->in, DONARD_FILE_WRITE);
	out = open_file(scene, scene->out, DONARD_FILE_WRITE | DONARD_FILE_CREATE);
	write_file(scene->in, scene->data, 300001);
	assert_int_equal(between(scene, of_file(in), of_file(out)), 0);
	assert_string_equal(scene->result.via, "p2pmem0");
	assert_file(scene->out, scene->data, 300001);
	scene->options.dst_offset_bytes = 65536;	/* within the file as it is now; it had no bytes when it was opened */
	scene->options.length_bytes = 65536;
	assert_int_equal(between(scene, of_file(out), of_file(out)), 0);
	memcpy(scene->data + 65536, scene->data, 65536);
	assert_file(scene->out, scene->data, 300001);
	scene->options.dst_offset_bytes = 4096;
	assert_int_equal(between(scene, of_file(out), of_file(out)), -EINVAL);
	assert_string_equal(donard_error_code(scene->fake->ctx), "overlap");
	/* Without a length, and to the front of the same file: the source is kept. */
	scene->options.dst_offset_bytes = scene->options.length_bytes = 0;
	scene->options.src_offset_bytes = 262144;
	assert_int_equal(between(scene, of_file(out), of_file(out)), 0);
	memcpy(scene->data, scene->data + 262144, 300001 - 262144);
	assert_file(scene->out, scene->data, 300001);
	donard_file_close(in);
	donard_file_close(out);
}

static void by_cpu(void **state)
{
	struct scene *scene = *state;
	struct donard_memory *low = claim(scene, 0, 262144), *high = claim(scene, 131072, 262144);
	const struct donard_context *ctx = scene->fake->ctx;

	assert_int_equal(donard_memory_write(low, 0, scene->data, 131072), 0);
	scene->options.length_bytes = 131072;
	assert_int_equal(between(scene, of_memory(low), of_memory(high)), 0);
	assert_int_equal(scene->result.route, DONARD_ROUTE_CPU);
	assert_memory(high, 0, scene->data, 131072);
	/* The same bytes, by another memory. */
	scene->options.src_offset_bytes = 131072;
	assert_int_equal(between(scene, of_memory(low), of_memory(high)), -EINVAL);
	assert_says(donard_error(ctx), "share bytes");
	/* Shifted up within itself. */
	scene->options.dst_offset_bytes = 4096;
	assert_int_equal(between(scene, of_memory(low), of_memory(high)), -EINVAL);
	assert_says(donard_error(ctx), "VERIFY has nothing to compare with");
	scene->options.flags = 0;
	assert_int_equal(between(scene, of_memory(low), of_memory(high)), 0);
	assert_memory(high, 4096, scene->data, 131072);
	/* The kernel promises no order for memory in pieces. */
	played_piece_bytes = 65536;
	assert_int_equal(between(scene, of_memory(low), of_memory(high)), -EINVAL);
	assert_string_equal(donard_error_code(ctx), "overlap");
	donard_memory_free(high);
	donard_memory_free(low);
}

static void assert_refused(struct scene *scene, struct donard_copy_end source, struct donard_copy_end destination, int rc,
			   const char *code, const char *words)
{
	memset(&scene->result, 0xff, sizeof(scene->result));
	scene->result.size = sizeof(scene->result);
	assert_int_equal(between(scene, source, destination), rc);
	assert_string_equal(donard_error_code(scene->fake->ctx), code);
	assert_says(donard_error(scene->fake->ctx), words);
	assert_int_equal(scene->result.bytes, 0);
}

static void ends_that_are_none(void **state)
{
	struct scene *scene = *state;
	struct donard_config config = { .size = sizeof(config), .sysfs_root = scene->fake->root, .dev_root = scene->fake->root };
	struct donard_copy_end none = of_file(NULL), both, unsized = { 0 };
	struct donard_memory *memory = claim(scene, 0, 65536), *dram, *other;
	struct donard_context *ctx;
	struct donard_file *file;

	write_file(scene->in, scene->data, 65536);
	file = open_file(scene, scene->in, 0);
	both = of_file(file);
	both.memory = memory;
	assert_refused(scene, none, of_memory(memory), -EINVAL, "bad-option", "the source of a copy is a memory or a file, and this "
		       "one is neither");
	assert_refused(scene, of_file(file), both, -EINVAL, "bad-option", "this one is both");
	assert_refused(scene, of_file(file), unsized, -EINVAL, "bad-option", "struct donard_copy_end has no size");
	assert_refused(scene, none, of_file(file), -EINVAL, "bad-option", "this one is neither");
	assert_int_equal(donard_memory_dram(scene->fake->ctx, 65536, &dram), 0);
	assert_refused(scene, of_file(file), of_memory(dram), -EOPNOTSUPP, "unsupported", "memory of dram: a copy is between devices");
	assert_refused(scene, of_memory(memory), of_file(file), -EROFS, "read-only", "DONARD_FILE_WRITE");
	assert_int_equal(donard_open(&ctx, &config), 0);
	assert_int_equal(donard_memory_claim(ctx, "p2pmem0", 0, 65536, &other), 0);
	assert_refused(scene, of_file(file), of_memory(other), -EINVAL, "bad-option", "another context than the source");
	donard_memory_free(other);
	donard_close(ctx);
	donard_memory_free(dram);
	donard_file_close(file);
	donard_memory_free(memory);
}

/*
 * The context of a handle has the failure, even if the end that is refused has the only handle.  There may be no handle at all.
 */
static void told_by_the_handle(void **state)
{
	struct scene *scene = *state;
	struct {
		struct donard_copy_end end;
		uint64_t later;
	} newer = { .later = 1 };
	struct donard_copy_end none = of_file(NULL), unsized = { 0 }, memory = of_memory(claim(scene, 0, 65536));

	assert_int_equal(donard_copy_between(&memory, &memory, NULL, &scene->result), -EINVAL);
	assert_string_equal(donard_error_code(scene->fake->ctx), "overlap");
	assert_int_equal(donard_copy_between(NULL, &memory, NULL, &scene->result), -EINVAL);
	assert_string_equal(donard_error(scene->fake->ctx), "a copy without a source. Name one.");
	newer.end = memory;
	newer.end.size = sizeof(newer);
	assert_int_equal(donard_copy_between(&newer.end, &none, NULL, &scene->result), -E2BIG);
	assert_string_equal(donard_error_code(scene->fake->ctx), "too-new");
	assert_int_equal(donard_copy_between(NULL, &none, NULL, &scene->result), -EINVAL);
	assert_int_equal(donard_copy_between(&unsized, NULL, NULL, NULL), -EINVAL);
	assert_string_equal(donard_error_code(scene->fake->ctx), "too-new");
	donard_memory_free(memory.memory);
}

static void ranges(void **state)
{
	struct scene *scene = *state;
	struct donard_memory *memory = claim(scene, 4096, 65536);
	struct donard_file *file;

	write_file(scene->in, scene->data, 131072);
	file = open_file(scene, scene->in, 0);
	assert_refused(scene, of_file(file), of_memory(memory), -ENOSPC, "no-space", "memory of p2pmem0: the copy would be truncated");
	scene->options.length_bytes = 4096;
	scene->options.dst_offset_bytes = 65536;
	assert_refused(scene, of_file(file), of_memory(memory), -ENXIO, "past-end", "memory of p2pmem0: offset 65536 is past the end");
	scene->options.dst_offset_bytes = 1;
	assert_refused(scene, of_file(file), of_memory(memory), -EINVAL, "alignment", "the address of its byte 1");
	scene->options.dst_offset_bytes = 0;
	scene->options.src_offset_bytes = 100;
	assert_refused(scene, of_file(file), of_memory(memory), -EINVAL, "alignment", "offset 100 is not a multiple");
	donard_file_close(file);
	donard_memory_free(memory);
}

/* Handles whose object has changed since they were made. */
static void later(void **state)
{
	static const struct dnd_bounce stale = { "a cause of then", "A remedy" };
	struct scene *scene = *state;
	struct donard_memory *memory = claim(scene, 0, 65536);
	struct donard_file *in, *out;

	write_file(scene->in, scene->data, 4096 + 123);
	in = open_file(scene, scene->in, 0);
	out = open_file(scene, scene->out, DONARD_FILE_WRITE | DONARD_FILE_CREATE);
	played_reset = true;
	assert_refused(scene, of_file(in), of_memory(memory), -EIO, "device", "p2pmem0: the device was reset meanwhile");
	assert_int_equal(between(scene, of_file(in), of_memory(memory)), 0);	/* the reset is reported once */
	dnd_handle_get(&out->handle);
	assert_refused(scene, of_file(in), of_file(out), -EBUSY, "busy", "it has requests in a queue");
	dnd_handle_put(&out->handle);
	out->drive.shared = true;
	assert_refused(scene, of_file(in), of_file(out), -EINVAL, "alignment", "cannot be opened again to write that without O_DIRECT");
	out->drive.shared = false;
	assert_int_equal(between(scene, of_file(in), of_file(out)), 0);
	assert_file(scene->out, scene->data, 4096 + 123);
	in->drive.bounce = &stale;	/* the file system is asked anew */
	assert_int_equal(between(scene, of_file(in), of_memory(memory)), 0);
	in->drive.blockdev.multipath = true;
	snprintf(in->drive.blockdev.controllers[0], DONARD_BDF_BYTES, "0000:09:00.0");
	assert_refused(scene, of_file(in), of_memory(memory), -EHOSTUNREACH, "unreachable", "the devices below nvme7n1 have changed since it was "
		       "opened");
	played_gone = "p2pmem0";
	assert_refused(scene, of_file(in), of_memory(memory), -ENODEV, "region-gone", "p2pmem0: the region went away");
	assert_refused(scene, of_memory(memory), of_file(out), -ENODEV, "region-gone", "p2pmem0: the region went away");
	assert_file(scene->out, scene->data, 4096 + 123);
	donard_file_close(in);
	donard_file_close(out);
	donard_memory_free(memory);
}

/* A call of the kernel reports a reset during it, but neither of two calls reports one between them. */
static void reset_between_calls(void **state)
{
	struct scene *scene = *state;
	struct donard_memory *memory = claim(scene, 0, 262144);
	uint8_t *seen = malloc(65536);

	played_accesses_before_reset = 1;
	assert_int_equal(donard_memory_zero(memory, 0, 262144), -EIO);
	assert_string_equal(donard_error_code(scene->fake->ctx), "device");
	assert_int_equal(donard_memory_zero(memory, 0, 262144), 0);
	played_access_bytes = 8192;
	played_accesses_before_reset = 3;
	assert_int_equal(donard_memory_write(memory, 4096, scene->data, 65536), -EIO);
	assert_int_equal(donard_memory_write(memory, 4096, scene->data, 65536), 0);
	played_accesses_before_reset = 3;
	assert_int_equal(donard_memory_read(memory, 4096, seen, 65536), -EIO);
	played_accesses_before_reset = 1;	/* before the bytes that count */
	assert_int_equal(donard_memory_read(memory, 4096, seen, 65536), 0);
	assert_memory_equal(seen, scene->data, 65536);
	free(seen);
	donard_memory_free(memory);
}

/* The kernel tells an open file once.  Here, as one that three memories adopted, the file is everybody's. */
static void reset_of_shared_memory(void **state)
{
	struct scene *scene = *state;
	struct donard_memory *memory, *other, *third;
	struct donard_file *out;

	played_region_flags = P2PMEM_REGION_PERSISTENT;
	memory = claim(scene, 0, 65536);
	other = claim(scene, 0, 65536);
	third = claim(scene, 0, 65536);
	out = open_file(scene, scene->out, DONARD_FILE_WRITE | DONARD_FILE_CREATE);
	played_reset = true;
	played_resets = 1;
	assert_int_equal(donard_memory_sync(memory, 0), -EIO);
	assert_int_equal(donard_memory_sync(other, DONARD_SYNC_DURABLE), -EIO);
	assert_string_equal(donard_error_code(scene->fake->ctx), "device");
	assert_refused(scene, of_memory(third), of_file(out), -EIO, "device", "p2pmem0: the device was reset meanwhile");
	assert_int_equal(donard_memory_sync(memory, 0), 0);
	assert_int_equal(donard_memory_sync(other, DONARD_SYNC_DURABLE), 0);
	assert_int_equal(between(scene, of_memory(third), of_file(out)), 0);
	/* The count showed the reset first, and the barrier reports it afterwards: it is one reset. */
	played_resets = 2;
	assert_int_equal(donard_memory_sync(memory, 0), -EIO);
	played_reset = true;
	assert_int_equal(donard_memory_sync(memory, 0), 0);
	assert_int_equal(donard_memory_sync(other, 0), -EIO);
	donard_file_close(out);
	donard_memory_free(third);
	donard_memory_free(other);
	donard_memory_free(memory);
}

/* Root may have the CPU compute checksums of all data at any time, and may stop that again. */
static void checksums_once_it_is_open(void **state)
{
	struct scene *scene = *state;
	struct donard_memory *memory = claim(scene, 0, 65536);
	struct donard_file *in;

	write_file(scene->in, scene->data, 65536);
	fake_file(scene->fake, "block/nvme7n1/integrity/format", "T10-DIF-TYPE1-CRC");
	fake_file(scene->fake, "block/nvme7n1/integrity/read_verify", "0");
	fake_file(scene->fake, "block/nvme7n1/integrity/write_generate", "0");
	in = open_file(scene, scene->in, 0);
	assert_int_equal(between(scene, of_file(in), of_memory(memory)), 0);
	fake_file(scene->fake, "block/nvme7n1/integrity/read_verify", "1");
	assert_refused(scene, of_file(in), of_memory(memory), -EOPNOTSUPP, "bounces", "protection information");
	fake_file(scene->fake, "block/nvme7n1/integrity/read_verify", "0");
	assert_int_equal(between(scene, of_file(in), of_memory(memory)), 0);
	assert_int_equal(scene->result.bounced_bytes, 0);
	donard_file_close(in);
	donard_memory_free(memory);
}

struct closing {
	struct donard_file *file;
	struct donard_memory *memory;
};

static int close_both(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	struct closing *closing = user;

	(void)phase, (void)done_bytes, (void)total_bytes;
	donard_file_close(closing->file);
	donard_memory_free(closing->memory);
	*closing = (struct closing){ 0 };
	return 0;
}

static void closed_meanwhile(void **state)
{
	struct scene *scene = *state;
	struct closing closing;

	write_file(scene->in, scene->data, 300001);
	closing = (struct closing){ open_file(scene, scene->in, 0), claim(scene, 0, 300001) };
	scene->options.progress_fn = close_both;
	scene->options.progress_user = &closing;
	assert_int_equal(between(scene, of_file(closing.file), of_memory(closing.memory)), 0);
	assert_true(scene->result.verified);
	assert_null(closing.file);
}

/* No region, file or address space is that large; mmap() would report the latter as ENOMEM. */
static void more_than_any_region_has(void **state)
{
	const uint64_t lengths[] = { REGION_BYTES + 1, 1ULL << 48, 1ULL << 62, UINT64_MAX };
	struct scene *scene = *state;
	struct donard_failure failure = { .size = sizeof(failure) };
	struct donard_memory *memory;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		assert_int_equal(donard_memory_alloc(scene->fake->ctx, "p2pmem0", lengths[i], &memory), -ENOSPC);
		assert_int_equal(donard_failure_get(scene->fake->ctx, &failure), 0);
		assert_string_equal(failure.member, "length");
		assert_int_equal(failure.limit, REGION_BYTES);
	}
	/* No memory is allocated from a persistent region. */
	played_region_flags = P2PMEM_REGION_PERSISTENT;
	assert_int_equal(donard_memory_alloc(scene->fake->ctx, "p2pmem0", UINT64_MAX, &memory), -EOPNOTSUPP);
}

/* The place of memory is unknown while its region is being removed. */
static void place_of_leaving_memory(void **state)
{
	struct scene *scene = *state;
	struct donard_memory_info info = { .size = sizeof(info) };
	struct donard_memory *memory;

	assert_int_equal(donard_memory_claim(scene->fake->ctx, "p2pmem0", 65536, 65536, &memory), 0);
	assert_int_equal(donard_memory_info(memory, &info), 0);
	assert_int_equal(info.region_offset_bytes, 65536);
	assert_int_equal(info.contiguous_bytes, 65536);
	played_gone = "p2pmem0";
	assert_int_equal(donard_memory_info(memory, &info), 0);
	assert_int_equal(info.region_offset_bytes, 0);
	assert_int_equal(info.contiguous_bytes, 0);
	assert_int_equal(info.length_bytes, 65536);
	donard_memory_free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(there_and_back), CASE(alike), CASE(files), CASE(by_cpu), CASE(ends_that_are_none), CASE(told_by_the_handle), CASE(ranges), CASE(later),
		CASE(reset_between_calls), CASE(reset_of_shared_memory), CASE(checksums_once_it_is_open), CASE(closed_meanwhile),
		CASE(more_than_any_region_has), CASE(place_of_leaving_memory),
	};

	return cmocka_run_group_tests_name("copy_between", tests, NULL, NULL);
}
