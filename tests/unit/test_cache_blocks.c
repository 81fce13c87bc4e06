// SPDX-License-Identifier: Apache-2.0
/* The tree of blocks, and the checksum. */
#include "unit.h"
#include "cache/log.h"

#define NUMBERS	256U
#define RECORDS	64U

struct record {
	uint64_t first, count;
	bool is_write;
};

/* Blocks far apart from each other, as those of a large drive are. */
static uint64_t number_of(uint64_t block)
{
	return block << 30;
}

static void add(struct dnd_cache_blocks *blocks, struct record *record, uint64_t sequence, uint64_t plain[NUMBERS])
{
	record->count = 1 + (uint64_t)random() % (random() % 4 ? 8 : NUMBERS);
	record->first = (uint64_t)random() % (NUMBERS - record->count + 1);
	record->is_write = random() % 4;
	if (record->is_write)
		dnd_cache_blocks_set(blocks, number_of(record->first), number_of(record->count), sequence);
	else
		dnd_cache_blocks_drop_range(blocks, number_of(record->first), number_of(record->count));
	for (uint64_t i = 0; i < record->count; i++)
		plain[record->first + i] = record->is_write ? sequence : 0;
}

static void retire(struct dnd_cache_blocks *blocks, const struct record *record, uint64_t sequence, uint64_t plain[NUMBERS])
{
	if (record->is_write)
		dnd_cache_blocks_drop(blocks, number_of(record->first), number_of(record->count), sequence);
	for (uint64_t i = 0; i < record->count && record->is_write; i++)
		if (plain[record->first + i] <= sequence)
			plain[record->first + i] = 0;
}

/* Each block once, in order, by the extents of any range. */
static void extents_are(const struct dnd_cache_blocks *blocks, const uint64_t plain[NUMBERS])
{
	uint64_t at = (uint64_t)random() % NUMBERS, end = at + (uint64_t)random() % (NUMBERS - at + 1);
	struct dnd_cache_extent extent;

	while (at < end && dnd_cache_blocks_next(blocks, number_of(at), number_of(end - at), &extent)) {
		for (; number_of(at) < extent.first; at++)
			assert_int_equal(plain[at], 0);
		assert_int_equal(extent.first, number_of(at));
		assert_true(extent.count);
		for (; number_of(at) < extent.first + extent.count; at++)
			assert_int_equal(plain[at], extent.sequence);
		assert_true(at <= end);
	}
	for (; at < end; at++)
		assert_int_equal(plain[at], 0);
}

/* Does what the log does: holds as many records as there is room for, and drops the oldest first. */
static void blocks_against_a_plain_list(void **state)
{
	uint64_t plain[NUMBERS] = { 0 }, next = 1, oldest = 1;
	struct record records[RECORDS];
	struct dnd_cache_blocks blocks;
	struct dnd_cache_extent extent;

	(void)state;
	srandom(3);
	assert_int_equal(dnd_cache_blocks_init(&blocks, RECORDS), 0);
	while (next < 100000) {
		if (next - oldest < RECORDS && random() % 8) {
			add(&blocks, &records[next % RECORDS], next, plain);
			next++;
		} else if (oldest < next) {
			retire(&blocks, &records[oldest % RECORDS], oldest, plain);
			oldest++;
		}
		extents_are(&blocks, plain);
	}
	assert_true(blocks.touched <= 2 * RECORDS + 1);
	for (; oldest < next; oldest++)
		retire(&blocks, &records[oldest % RECORDS], oldest, plain);
	assert_false(dnd_cache_blocks_next(&blocks, 0, UINT64_MAX, &extent));
	dnd_cache_blocks_free(&blocks);
}

/* Each record but the first divides the oldest one. */
static void the_most_extents(void **state)
{
	struct dnd_cache_blocks blocks;

	(void)state;
	assert_int_equal(dnd_cache_blocks_init(&blocks, RECORDS), 0);
	dnd_cache_blocks_set(&blocks, 0, 2 * RECORDS, 1);
	for (uint64_t sequence = 2; sequence <= RECORDS; sequence++)
		dnd_cache_blocks_set(&blocks, 2 * sequence - 3, 1, sequence);
	assert_int_equal(blocks.touched, 2 * RECORDS - 1);
	for (uint64_t number = 0; number < 2 * RECORDS; number++)
		assert_int_equal(dnd_cache_blocks_find(&blocks, number),
				 number % 2 && number < 2 * RECORDS - 1 ? (number + 3) / 2 : 1);
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
		cmocka_unit_test(blocks_against_a_plain_list), cmocka_unit_test(the_most_extents),
		cmocka_unit_test(checksum_of_the_standard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
