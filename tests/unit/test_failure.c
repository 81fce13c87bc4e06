// SPDX-License-Identifier: Apache-2.0
/* A failure as data: its object, the argument at fault, and the numbers. */
#include "unit.h"
#include "base/base.h"
#include "donard/copy.h"
#include "donard/memory.h"
#include "fake_sysfs.h"

static struct donard_failure last(struct donard_context *ctx)
{
	struct donard_failure failure = { .size = sizeof(failure) };

	assert_int_equal(donard_failure_get(ctx, &failure), 0);
	assert_string_equal(failure.code, donard_error_code(ctx));
	assert_string_equal(failure.text, donard_error(ctx));
	return failure;
}

static void is_about(struct donard_context *ctx, const char *object)
{
	struct donard_failure failure = last(ctx);

	assert_string_equal(failure.object, object);
	assert_string_equal(failure.member, "");
	assert_int_equal(failure.known, 0);
	assert_int_equal(failure.value | failure.limit, 0);
}

static void is_at(struct donard_context *ctx, const char *member, uint32_t known, uint64_t value, uint64_t limit)
{
	struct donard_failure failure = last(ctx);

	assert_string_equal(failure.member, member);
	assert_int_equal(failure.known, known);
	assert_int_equal(failure.value, value);
	assert_int_equal(failure.limit, limit);
}

/* Every failure with an object would leave one behind for the next, which has none. */
static void objects(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;

	is_about(ctx, "");
	dnd_fail(ctx, DND_E_BUSY, "%s: in use by %s", "p2pmem0", "fio");
	is_about(ctx, "p2pmem0");
	dnd_fail(ctx, DND_E_BUSY, "the queue holds %u requests", 8U);
	is_about(ctx, "");
	dnd_fail_errno(ctx, EIO, "%s", "/dev/nvme0n1");
	is_about(ctx, "/dev/nvme0n1");
	dnd_fail(ctx, DND_E_UNSUPPORTED, "%s", "no sysfs");
	is_about(ctx, "");
	dnd_fail_access(ctx, EACCES, "Ask root", "%s: cannot be opened", "/dev/nvme0n1");
	is_about(ctx, "/dev/nvme0n1");
	dnd_fail_more(ctx, " %s was not flushed.", "p2pmem0");
	is_about(ctx, "/dev/nvme0n1");
	dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "gpu:%d: there is no such GPU", 3);
	is_about(ctx, "gpu:3");
	dnd_fail(ctx, DND_E_BAD_OPTION, "%#llx: %s", 0x7000ULL, "no memory of a GPU");
	is_about(ctx, "0x7000");
	dnd_fail(ctx, DND_E_NO_MEMORY, "dram: %llu bytes", 5ULL);
	is_about(ctx, "dram");
	dnd_fail(ctx, DND_E_OVERLAP, "%s and %s: they share bytes", "a", "b");
	is_about(ctx, "");
	dnd_fail_memory(ctx);
	is_about(ctx, "");
}

/* Names that others chose, and the failure's own strings as arguments. */
static void objects_are_printable(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	char path[PATH_MAX];

	dnd_fail(ctx, DND_E_BUSY, "%s: in use", "bad\xff\nname");
	is_about(ctx, "bad\\xff\\x0aname");
	dnd_fail(ctx, DND_E_BUSY, "%s: again: %s", last(ctx).object, last(ctx).text);
	is_about(ctx, "bad\\xff\\x0aname");
	assert_non_null(strstr(donard_error(ctx), "again: bad\\xff\\x0aname: in use"));
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	dnd_fail(ctx, DND_E_BUSY, "%s: in use", path);
	assert_non_null(strstr(last(ctx).object, "xxx...xxx"));
	assert_true(strlen(last(ctx).object) < DND_TEXT_BYTES);
}

/* A failure that is kept is whole; one that the program sets has code and text alone. */
static void objects_stay_with_their_failure(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct dnd_failure kept;

	dnd_fail_member(ctx, DND_E_PAST_END, DND_MOST("length", 9, 8), "%s: too long", "a");
	kept = dnd_failure_keep(ctx);
	dnd_fail(ctx, DND_E_BUSY, "%s: in use", "b");
	is_about(ctx, "b");
	dnd_failure_put_back(ctx, &kept);
	assert_string_equal(last(ctx).object, "a");
	is_at(ctx, "length", DONARD_FAILURE_VALUE | DONARD_FAILURE_MOST, 9, 8);
	donard_fail(ctx, EIO, "ok", "a: nothing is well");
	assert_string_equal(last(ctx).code, "system");
	donard_fail(ctx, EIO, NULL, "c: the program's own words");
	is_about(ctx, "");
	dnd_fail(ctx, DND_E_BUSY, "%s: in use", "b");
	donard_fail(ctx, EIO, NULL, last(ctx).object);
	is_about(ctx, "");
	assert_string_equal(donard_error(ctx), "b");
}

static void ranges(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	const uint32_t most = DONARD_FAILURE_VALUE | DONARD_FAILURE_MOST, multiple = DONARD_FAILURE_VALUE | DONARD_FAILURE_MULTIPLE;
	struct donard_memory *memory;

	assert_int_equal(donard_memory_dram(ctx, 0, &memory), -EINVAL);
	is_at(ctx, "length", DONARD_FAILURE_VALUE | DONARD_FAILURE_LEAST, 0, 1);
	assert_int_equal(donard_memory_dram(ctx, 4096, &memory), 0);
	assert_int_equal(donard_memory_zero(memory, 4000, 100), -ENXIO);
	is_at(ctx, "length", most, 100, 96);
	assert_string_equal(last(ctx).object, "dram");
	assert_int_equal(donard_memory_zero(memory, UINT64_MAX, 2), -ENXIO);
	is_at(ctx, "offset", most, UINT64_MAX, 4095);
	assert_int_equal(donard_memory_sync(memory, 6), -EINVAL);
	is_at(ctx, "flags", DONARD_FAILURE_VALUE, 6, 0);
	donard_memory_free(memory);
	dnd_fail_member(ctx, DND_E_ALIGNMENT, dnd_unaligned(512, 100, 512), "unaligned");
	is_at(ctx, "length", multiple, 100, 512);
	dnd_fail_member(ctx, DND_E_ALIGNMENT, dnd_unaligned(5, 100, 512), "unaligned");
	is_at(ctx, "offset", multiple, 5, 512);
}

static void options(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct donard_copy_result result = { .size = sizeof(result) };
	struct donard_copy_options options = { .size = sizeof(options), .block_bytes = 2ULL << 30 };

	assert_int_equal(donard_copy(ctx, "/nowhere/a", "/nowhere/b", &options, &result), -EINVAL);
	is_at(ctx, "options.block_bytes", DONARD_FAILURE_VALUE | DONARD_FAILURE_MOST, 2ULL << 30, 1ULL << 30);
	options.block_bytes = 700;
	assert_int_equal(donard_copy(ctx, "/nowhere/a", "/nowhere/b", &options, &result), -EINVAL);
	is_at(ctx, "options.block_bytes", DONARD_FAILURE_VALUE | DONARD_FAILURE_MULTIPLE, 700, 512);
	assert_string_equal(last(ctx).object, "");
	options.block_bytes = 4096;
	options.flags = DONARD_COPY_FORCE_BOUNCE | DONARD_COPY_ALLOW_BOUNCE;
	assert_int_equal(donard_copy(ctx, "/nowhere/a", "/nowhere/b", &options, &result), -EINVAL);
	is_at(ctx, "FORCE_BOUNCE", 0, 0, 0);
}

/* Callers of an older and a newer release. Asking is no call that fails. */
static void sizes(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct { struct donard_failure known; uint64_t more; } newer = { .known = { .size = sizeof(newer) }, .more = 1 };
	struct donard_failure failure = { .size = offsetof(struct donard_failure, member), .member = "untouched" };

	dnd_fail_member(ctx, DND_E_PAST_END, DND_MOST("length", 9, 8), "%s: too long", "a");
	assert_int_equal(donard_failure_get(ctx, &newer.known), 0);
	assert_int_equal(newer.known.limit, 8);
	assert_int_equal(newer.more, 0);
	assert_int_equal(donard_failure_get(ctx, &failure), 0);
	assert_string_equal(failure.object, "a");
	assert_string_equal(failure.member, "untouched");
	failure.size = 0;
	assert_int_equal(donard_failure_get(ctx, &failure), -EINVAL);
	assert_string_equal(donard_error(ctx), "a: too long");
	assert_string_equal(last(NULL).text, "no context");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(objects, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(objects_are_printable, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(objects_stay_with_their_failure, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(ranges, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(options, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(sizes, fake_setup, fake_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
