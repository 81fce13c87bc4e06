// SPDX-License-Identifier: Apache-2.0
/* The table of blocks, and the checksum. */
#include "unit.h"
#include "cache/log.h"

#define NUMBERS	256U

static void blocks_against_a_plain_list(void **state)
{
	uint64_t plain[NUMBERS] = { 0 };
	struct dnd_cache_blocks blocks;
	size_t used = 0;

	(void)state;
	srandom(3);
	assert_int_equal(dnd_cache_blocks_init(&blocks, NUMBERS), 0);
	for (uint64_t sequence = 100; sequence < 200000; sequence++) {
		uint64_t number = (uint64_t)random() % NUMBERS, count = (uint64_t)random() % 8;

		switch (random() % 5) {
		case 0:
		case 1:
			dnd_cache_blocks_set(&blocks, number << 30, sequence);
			plain[number] = sequence;
			break;
		case 2:
			dnd_cache_blocks_drop(&blocks, number << 30, sequence - 100);
			if (plain[number] + 100 <= sequence)
				plain[number] = 0;
			break;
		case 3:
			/* Of numbers so far apart each range has one: by the places, not by the numbers. */
			dnd_cache_blocks_drop_range(&blocks, number << 30, count << 30);
			for (uint64_t i = number; i < number + count && i < NUMBERS; i++)
				plain[i] = 0;
			break;
		case 4:
			dnd_cache_blocks_drop_range(&blocks, number << 30, count);
			if (count)
				plain[number] = 0;
			break;
		}
		number = (uint64_t)random() % NUMBERS;
		assert_int_equal(dnd_cache_blocks_find(&blocks, number << 30), plain[number]);
	}
	for (uint64_t number = 0; number < NUMBERS; number++)
		used += plain[number] > 0;
	assert_int_equal(blocks.used, used);
	dnd_cache_blocks_free(&blocks);
}

/* RFC 3720, B.4. */
static void checksum_of_the_standard(void **state)
{
	uint8_t bytes[32] = { 0 };

	(void)state;
	assert_int_equal(dnd_cache_checksum(0, bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(dnd_cache_checksum(0, bytes, sizeof(bytes)), 0x62a8ab43);
	assert_int_equal(dnd_cache_checksum(dnd_cache_checksum(0, bytes, 5), bytes + 5, 27), 0x62a8ab43);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_against_a_plain_list), cmocka_unit_test(checksum_of_the_standard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
