// SPDX-License-Identifier: Apache-2.0
/* The sizes that a piece of a P2PDMA pool is asked for in: whole pages, whatever the pool's size. */
#include "unit.h"
#include "../../kernel/pool.h"

#define PAGE	4096ULL

/* The largest first, and down to less than a step. */
static void tries_are_fit(__u64 pool_bytes)
{
	__u64 step = p2pmem_pool_step(pool_bytes, PAGE), bytes = pool_bytes, next, tries = 0;

	assert_true(step >= PAGE && step % PAGE == 0);
	assert_true(step == PAGE || step <= pool_bytes / 1024);
	for (; bytes; bytes = next) {
		next = p2pmem_pool_smaller(bytes, step);
		assert_int_equal(bytes % PAGE, 0);
		assert_true(next < bytes && bytes - next <= step);
		tries++;
	}
	assert_true(tries <= 2048);
}

static void sizes(void **state)
{
	(void)state;
	for (__u64 pages = 1; pages <= 16384; pages++)
		tries_are_fit(pages * PAGE);
	tries_are_fit(7ULL << 20);
	for (__u64 units = 1; units < 1ULL << 20; units = units * 3 + 1)
		for (unsigned int unit = 0; unit <= 6; unit++)
			tries_are_fit(units << (12 + 4 * unit));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sizes) };

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
