// SPDX-License-Identifier: Apache-2.0
/* A PMR's place, the time that it may take to be ready, and its barrier, by its capabilities. */
#include "unit.h"
#include "../../kernel/pmr.h"

#define MIB	(1ULL << 20)

static __u32 cap_of_bar(unsigned int bar)
{
	return (~0U & ~(7U << 5)) | bar << 5;
}

static void bars(void **state)
{
	(void)state;
	for (unsigned int bar = 0; bar < 8; bar++) {
		enum p2pmem_pmr_fit want = bar < 2 ? P2PMEM_PMR_IN_REGISTERS :
					   bar > 5 ? P2PMEM_PMR_NOWHERE : P2PMEM_PMR_FITS;
		__u64 bytes = 0;

		assert_int_equal(p2pmem_pmr_bar(cap_of_bar(bar)), bar);
		assert_int_equal(p2pmem_pmr_check(bar, false, 64 * MIB, 0, 0, &bytes), want);
		assert_int_equal(bytes, want ? 0 : 64 * MIB);
	}
}

/* A request for the registers' BAR is refused as that, whatever else is wrong with it. */
static void registers_are_no_memory(void **state)
{
	static const __u64 offsets[] = { 0, 2 * MIB, UINT64_MAX };
	__u64 bytes = 7;

	(void)state;
	for (unsigned int bar = 0; bar < 2; bar++)
		for (size_t i = 0; i < 3; i++)
			for (size_t j = 0; j < 3; j++)
				assert_int_equal(p2pmem_pmr_check(bar, false, MIB, offsets[i], offsets[j], &bytes),
						 P2PMEM_PMR_IN_REGISTERS);
	assert_int_equal(bytes, 7);
}

static void parts(void **state)
{
	__u64 bytes = 0;

	(void)state;
	assert_int_equal(p2pmem_pmr_check(4, false, 64 * MIB, 2 * MIB, 0, &bytes), P2PMEM_PMR_FITS);
	assert_int_equal(bytes, 62 * MIB);
	assert_int_equal(p2pmem_pmr_check(4, false, 64 * MIB, 2 * MIB, 62 * MIB, &bytes), P2PMEM_PMR_FITS);
	assert_int_equal(bytes, 62 * MIB);
	assert_int_equal(p2pmem_pmr_check(4, false, 64 * MIB, 2 * MIB, 62 * MIB + 1, &bytes), P2PMEM_PMR_TOO_SHORT);
	assert_int_equal(p2pmem_pmr_check(4, false, 64 * MIB, 62 * MIB, UINT64_MAX, &bytes), P2PMEM_PMR_TOO_SHORT);
	assert_int_equal(p2pmem_pmr_check(4, false, 64 * MIB, 64 * MIB, 0, &bytes), P2PMEM_PMR_NOWHERE);
	assert_int_equal(p2pmem_pmr_check(4, false, 64 * MIB, UINT64_MAX, 1, &bytes), P2PMEM_PMR_NOWHERE);
	assert_int_equal(p2pmem_pmr_check(4, false, 0, 0, 0, &bytes), P2PMEM_PMR_NOWHERE);
	assert_int_equal(p2pmem_pmr_check(4, true, 64 * MIB, 0, UINT64_MAX, &bytes), P2PMEM_PMR_IN_REGISTERS);
	assert_int_equal(bytes, 62 * MIB);
}

static void times(void **state)
{
	(void)state;
	assert_int_equal(p2pmem_pmr_timeout_ms(0), 500);
	assert_int_equal(p2pmem_pmr_timeout_ms(1 << 16), 500);
	assert_int_equal(p2pmem_pmr_timeout_ms(0xff << 16), 127500);
	assert_int_equal(p2pmem_pmr_timeout_ms(1 << 8), 60000);
	assert_int_equal(p2pmem_pmr_timeout_ms(0xff << 16 | 1 << 8), 255 * 60000);
	/* Its neighbours in the register say nothing about it. */
	assert_int_equal(p2pmem_pmr_timeout_ms(0xff00fcff), 500);
}

/* Bits 13:10 name the barrier; the upper two of them are reserved, and no other bit matters. */
static void barriers(void **state)
{
	static const enum p2pmem_pmr_barrier want[] = {
		P2PMEM_PMR_NO_BARRIER, P2PMEM_PMR_READ_MEMORY, P2PMEM_PMR_READ_STATUS, P2PMEM_PMR_READ_STATUS,
	};

	(void)state;
	for (unsigned int bits = 0; bits < 16; bits++) {
		assert_int_equal(p2pmem_pmr_barrier(bits << 10), want[bits & 3]);
		assert_int_equal(p2pmem_pmr_barrier(0xffffc3ff | bits << 10), want[bits & 3]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bars), cmocka_unit_test(registers_are_no_memory), cmocka_unit_test(parts),
		cmocka_unit_test(times), cmocka_unit_test(barriers),
	};

	return cmocka_run_group_tests_name("pmr", tests, NULL, NULL);
}
