// SPDX-License-Identifier: Apache-2.0
/* Callers of an older or a newer release: their structures are shorter or longer than the library's. */
#include "unit.h"
#include "base/base.h"
#include "cache/client.h"
#include "fake_sysfs.h"
#include "queue/queue.h"
#include "rdma/client.h"
#include "says.h"

#define MARK	0xa5

/* The options with members that a newer release may have appended. */
struct newer_options {
	struct donard_copy_options known;
	uint64_t more;
};

struct newer_result {
	struct donard_copy_result known;
	uint8_t more[24];
};

static int copy(struct fake *fake, void *options, void *result)
{
	return donard_copy(fake->ctx, "/nowhere/a", "/nowhere/b", options, result);
}

static void longer_options(void **state)
{
	struct fake *fake = *state;
	struct newer_options options = { .known = { .size = sizeof(options), .flags = 1U << 30 } };
	struct donard_copy_result result = { .size = sizeof(result) };

	assert_int_equal(copy(fake, &options, &result), -EINVAL);	/* the flags were read */
	assert_non_null(strstr(donard_error(fake->ctx), "flags"));
	options.more = 1;
	assert_int_equal(copy(fake, &options, &result), -E2BIG);
	assert_string_equal(donard_error_code(fake->ctx), "too-new");
	assert_non_null(strstr(donard_error(fake->ctx), "donard_copy_options"));
}

/* Bytes behind the caller's structure are not read. */
static void shorter_options(void **state)
{
	struct fake *fake = *state;
	struct donard_copy_result result = { .size = sizeof(result) };
	struct donard_copy_options options;

	memset(&options, MARK, sizeof(options));
	options.size = offsetof(struct donard_copy_options, src_offset_bytes);
	options.length_bytes = 0;
	fake_folder(fake, "class/p2pmem");
	assert_int_equal(copy(fake, &options, &result), -ENOENT);
	options.size = sizeof(size_t) - 1;
	assert_int_equal(copy(fake, &options, &result), -EINVAL);
}

static void longer_result(void **state)
{
	static const uint8_t zeros[24];
	struct fake *fake = *state;
	struct newer_result result;

	memset(&result, MARK, sizeof(result));
	result.known.size = sizeof(result);
	assert_true(copy(fake, NULL, &result) < 0);
	assert_int_equal(result.known.size, sizeof(result));
	assert_int_equal(result.known.route, DONARD_ROUTE_NONE);
	assert_string_equal(result.known.bridge, "");
	assert_memory_equal(result.more, zeros, sizeof(zeros));
}

static void shorter_result(void **state)
{
	struct fake *fake = *state;
	uint8_t untouched[sizeof(struct donard_copy_result)];
	struct donard_copy_result result;
	size_t given = offsetof(struct donard_copy_result, seconds);

	memset(&result, MARK, sizeof(result));
	memset(untouched, MARK, sizeof(untouched));
	result.size = given;
	assert_true(copy(fake, NULL, &result) < 0);
	assert_int_equal(result.bytes, 0);
	assert_memory_equal((uint8_t *)&result + given, untouched, sizeof(result) - given);
	result.size = 0;
	assert_int_equal(copy(fake, NULL, &result), -EINVAL);
}

/* A failed call describes its own failure, not the one before it. */
static void assert_without_size(struct donard_context *ctx, int rc, const char *name)
{
	assert_int_equal(rc, -EINVAL);
	assert_string_equal(donard_error_code(ctx), "bad-option");
	assert_says(donard_error(ctx), name);
	donard_fail(ctx, EIO, "device", "another failure");
}

static void infos_without_size(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct donard_queue queue = { .ctx = ctx };
	struct donard_cache cache = { .ctx = ctx, .source.queue = &queue };
	struct donard_file file = { .ctx = ctx };
	struct donard_rdma_client client = { .ctx = ctx };
	struct donard_queue_info of_queue = { 0 };
	struct donard_cache_info of_cache = { 0 };
	struct donard_file_info of_file = { 0 };
	struct donard_rdma_client_info of_client = { 0 };

	assert_int_equal(dnd_queue_own(&queue), 0);
	assert_without_size(ctx, donard_queue_info(&queue, &of_queue), "donard_queue_info");
	assert_without_size(ctx, donard_cache_info(&cache, &of_cache), "donard_cache_info");
	assert_without_size(ctx, donard_file_info(&file, &of_file), "donard_file_info");
	assert_without_size(ctx, donard_rdma_client_info(&client, &of_client), "donard_rdma_client_info");
}

static void contexts(void **state)
{
	struct { struct donard_config known; uint64_t more; } config = {
		.known = { .size = sizeof(config) },
	};
	struct donard_context *ctx;

	(void)state;
	assert_int_equal(donard_open(&ctx, &config.known), 0);
	donard_close(ctx);
	config.more = 1;
	assert_int_equal(donard_open(&ctx, &config.known), -E2BIG);
	config.known.size = 0;
	assert_int_equal(donard_open(&ctx, &config.known), -EINVAL);
}

/* A failure of a function that the library called, or of a library on top of it. */
static void failures_of_others(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	char text[3000];

	assert_int_equal(donard_fail(ctx, -EBUSY, "mounted", "scales: in use\n"), -EBUSY);
	assert_string_equal(donard_error_code(ctx), "mounted");
	assert_string_equal(donard_error(ctx), "scales: in use\\x0a");
	assert_int_equal(donard_fail(ctx, EACCES, NULL, donard_error(ctx)), -EACCES);
	assert_string_equal(donard_error_code(ctx), "permission");
	assert_string_equal(donard_error(ctx), "scales: in use\\x0a");
	assert_int_equal(donard_fail(ctx, EDOM, "no word of the library's", ""), -EDOM);
	assert_string_equal(donard_error_code(ctx), "system");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	donard_fail(ctx, EIO, NULL, text);
	assert_true(strlen(donard_error(ctx)) < sizeof(text) - 1);
	assert_string_equal(donard_sysfs_root(ctx), ((struct fake *)*state)->root);
}

static void words(void **state)
{
	(void)state;
	for (int i = DONARD_KIND_PCI_BAR; i <= DONARD_KIND_GPU_NVIDIA; i++)
		assert_int_equal(donard_region_kind_of(donard_region_kind_text(i)), i);
	for (int i = DONARD_PAGES_GENERIC; i <= DONARD_PAGES_P2PDMA; i++)
		assert_int_equal(donard_page_type_of(donard_page_type_text(i)), i);
	for (int i = DONARD_MEMTYPE_UC; i <= DONARD_MEMTYPE_WB; i++)
		assert_int_equal(donard_memtype_of(donard_memtype_text(i)), i);
	for (int i = DONARD_ROUTE_NONE; i <= DONARD_ROUTE_DRAM; i++)
		assert_string_not_equal(donard_route_text(i), "unknown");
	assert_int_equal(donard_region_kind_of(NULL), DONARD_KIND_UNKNOWN);
	assert_int_equal(donard_page_type_of("unknown"), DONARD_PAGES_DEFAULT);
	assert_string_equal(donard_rdma_method_text(DONARD_RDMA_UNREGISTERED), "");
	assert_string_equal(donard_rdma_method_text(DONARD_RDMA_MAPPED), "mapping");
	assert_string_equal(donard_rdma_method_text(DONARD_RDMA_DMABUF), "dma-buf");
	assert_string_equal(donard_rdma_method_text(-1), "unknown");
	assert_string_equal(donard_rdma_transport_text(DONARD_RDMA_UNCONNECTED), "");
	for (int i = DONARD_RDMA_INFINIBAND; i <= DONARD_RDMA_IWARP; i++)
		assert_string_not_equal(donard_rdma_transport_text(i), "unknown");
	assert_string_equal(donard_rdma_transport_text(DONARD_RDMA_IWARP + 1), "unknown");
	assert_string_equal(donard_route_text(99), "unknown");
	assert_string_equal(donard_route_text(-1), "unknown");
	assert_string_equal(donard_region_state_text(DONARD_STATE_DRAINING), "draining");
	assert_string_equal(donard_client_type_text(DONARD_CLIENT_GPU), "gpu");
	assert_string_equal(donard_evidence_text(DONARD_EVIDENCE_PROVEN), "proven");
	assert_string_equal(donard_bounce_evidence_text(DONARD_BOUNCE_AT_MOST), "at-most");
	assert_string_equal(donard_bounce_evidence_text(DONARD_BOUNCE_CHANGED), "changed");
	assert_string_equal(donard_bounce_evidence_text(DONARD_BOUNCE_UNKNOWN), "unknown");
	assert_string_equal(donard_bounce_evidence_text(99), "unknown");
	for (int i = DONARD_BOUNCE_STATED; i <= DONARD_BOUNCE_AT_MOST; i++)
		assert_string_not_equal(donard_bounce_evidence_text(i), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(longer_options, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(shorter_options, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(longer_result, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(shorter_result, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(infos_without_size, fake_setup, fake_teardown),
		cmocka_unit_test(contexts),
		cmocka_unit_test_setup_teardown(failures_of_others, fake_setup, fake_teardown),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
