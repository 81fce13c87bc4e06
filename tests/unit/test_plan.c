// SPDX-License-Identifier: Apache-2.0
#include "unit.h"
#include "copy/engine.h"

/* Every byte of the full part exactly once, in order, aligned. */
static void check_cover(const struct dnd_plan *plan)
{
	uint64_t expected = 0;

	for (uint64_t i = 0; i < plan->requests; i++) {
		struct dnd_request request = dnd_plan_request(plan, i);

		assert_int_equal(request.offset_bytes, expected);
		assert_true(request.length_bytes > 0);
		assert_true(request.length_bytes <= plan->block_bytes);
		assert_int_equal(request.length_bytes % plan->align_bytes, 0);
		expected += request.length_bytes;
	}
	assert_int_equal(expected, plan->full_bytes);
	assert_int_equal(plan->full_bytes + plan->tail_bytes, plan->length_bytes);
	assert_true(plan->tail_bytes < plan->align_bytes);
}

static void random_plans(void **state)
{
	struct dnd_plan plan;

	(void)state;
	srandom(7);
	for (int round = 0; round < 20000; round++) {
		uint32_t align = 512U << (random() % 4);
		uint64_t block = align * (1 + (uint64_t)random() % 64);
		uint32_t lanes = 1 + (uint32_t)random() % 64;
		uint64_t length = (uint64_t)random() % (4 << 20);
		uint64_t window = random() % 2 ? align + (uint64_t)random() % (1 << 20) : 0;

		assert_int_equal(dnd_plan_make(&plan, length, align, block, lanes, window), 0);
		assert_true(plan.lanes >= 1 && plan.lanes <= lanes);
		if (window)
			assert_true(plan.lanes * plan.block_bytes <= window);
		check_cover(&plan);
	}
}

static void small_window(void **state)
{
	struct dnd_plan plan;

	(void)state;
	assert_int_equal(dnd_plan_make(&plan, 10 << 20, 4096, 1 << 20, 16, 4095), -ENOSPC);
	assert_int_equal(dnd_plan_make(&plan, 10 << 20, 4096, 1 << 20, 16, 10000), 0);
	assert_int_equal(plan.block_bytes, 8192);
	assert_int_equal(plan.lanes, 1);
}

static void no_block_beyond_the_length(void **state)
{
	struct dnd_plan plan;

	(void)state;
	assert_int_equal(dnd_plan_block(1 << 30, 1 << 20, 512), 1 << 20);
	assert_int_equal(dnd_plan_block(1 << 30, (1 << 20) + 1, 512), (1 << 20) + 512);
	assert_int_equal(dnd_plan_block(4096, 1 << 20, 512), 4096);
	assert_int_equal(dnd_plan_block(1 << 20, 0, 4096), 4096);
	assert_int_equal(dnd_plan_make(&plan, 1 << 20, 512, 1 << 30, 16, 0), 0);
	assert_int_equal(plan.block_bytes, 1 << 20);
	assert_int_equal(plan.lanes, 1);
	check_cover(&plan);
}

static void refusals(void **state)
{
	struct dnd_plan plan;

	(void)state;
	assert_int_equal(dnd_plan_make(&plan, 1, 0, 512, 1, 0), -EINVAL);
	assert_int_equal(dnd_plan_make(&plan, 1, 513, 513, 1, 0), -EINVAL);
	assert_int_equal(dnd_plan_make(&plan, 1, 512, 0, 1, 0), -EINVAL);
	assert_int_equal(dnd_plan_make(&plan, 1, 512, 700, 1, 0), -EINVAL);
	assert_int_equal(dnd_plan_make(&plan, 1, 512, 512, 0, 0), -EINVAL);
}

static void only_a_tail(void **state)
{
	struct dnd_plan plan;

	(void)state;
	assert_int_equal(dnd_plan_make(&plan, 100, 512, 1 << 20, 16, 0), 0);
	assert_int_equal(plan.requests, 0);
	assert_int_equal(plan.tail_bytes, 100);
	assert_int_equal(plan.block_bytes, 512);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_plans), cmocka_unit_test(small_window),
		cmocka_unit_test(no_block_beyond_the_length),
		cmocka_unit_test(refusals), cmocka_unit_test(only_a_tail),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
