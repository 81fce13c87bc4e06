// SPDX-License-Identifier: Apache-2.0
/* Which writes the log accepts from clients, where their bytes lie, and what the plans write to the drive. */
#include "cache_nvram.h"

/* ---- what clients may ask ---- */

static void only_in_turn(void **state)
{
	struct nvram *nvram = *state;
	uint64_t size;

	open_new(nvram);
	size = nvram->log.super.window_bytes;
	assert_int_equal(put_at(nvram, 0, 0, 0, 4), 0);
	assert_int_equal(put_at(nvram, 0, 0, 0, 4), -EPROTO);		/* bytes that the log holds */
	assert_int_equal(put_at(nvram, 0, 8 * BLOCK, 0, 4), -EPROTO);	/* a gap */
	assert_int_equal(put_at(nvram, 0, 4 * BLOCK, 0, size / BLOCK), -EPROTO);
	assert_int_equal(put_at(nvram, 1, 0, 0, 4), 0);
	assert_int_equal(dnd_cache_window_room(&nvram->log, 0), size - 4 * BLOCK);
}

static void not_the_drive(void **state)
{
	struct nvram *nvram = *state;

	open_new(nvram);
	assert_int_equal(put(nvram, DRIVE_BYTES / BLOCK, 1), -ENXIO);
	assert_int_equal(put(nvram, 0, 0), -EINVAL);
	assert_int_equal(put(nvram, UINT64_MAX / BLOCK, 1), -ENXIO);
	assert_int_equal(nvram->log.next, 1);
}

/* The window's end is skipped where a write does not fit before it, and comes back with it. */
static void around_the_end(void **state)
{
	struct nvram *nvram = *state;
	uint64_t size;

	open_new(nvram);
	size = nvram->log.super.window_bytes;
	assert_int_equal(put(nvram, 0, size / BLOCK - 3), 0);
	assert_int_equal(put_at(nvram, 0, 0, 100, 4), -EPROTO);	/* no room yet at its start */
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	assert_int_equal(put(nvram, 200, 1), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	assert_int_equal(dnd_cache_retire(&nvram->log, 1), 0);
	assert_int_equal(nvram->log.windows[0].used_bytes, BLOCK);
	assert_int_equal(put_at(nvram, 0, 0, 100, 4), 0);
	assert_int_equal(nvram->log.windows[0].used_bytes, (1 + 2 + 4) * BLOCK);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	assert_int_equal(dnd_cache_retire(&nvram->log, 2), 0);
	assert_int_equal(nvram->log.windows[0].used_bytes, (2 + 4) * BLOCK);
	assert_int_equal(dnd_cache_retire(&nvram->log, 3), 0);
	assert_true(dnd_cache_window_empty(&nvram->log, 0));
	assert_int_equal(dnd_cache_window_room(&nvram->log, 0), size);
}

/* The next client of a window begins at the window's start, and its writes are found after a restart. */
static void window_for_another_client(void **state)
{
	struct nvram *nvram = *state;

	open_new(nvram);
	assert_int_equal(put(nvram, 0, 5), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	assert_int_equal(dnd_cache_retire(&nvram->log, 1), 0);
	assert_int_equal(put_at(nvram, 0, 0, 40, 2), -EPROTO);
	dnd_cache_window_reset(&nvram->log, 0);
	assert_int_equal(put_at(nvram, 0, 0, 40, 2), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	dnd_cache_close(&nvram->log);
	assert_int_equal(dnd_cache_open(nvram->ctx, &nvram->store, &nvram->log), 0);
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 41), 2);
	assert_int_equal(nvram->log.windows[0].used_bytes, 2 * BLOCK);
	assert_int_equal(nvram->log.windows[0].head, 2 * BLOCK);
}

/* The bytes of a refused write lie between two records: recovery counts them as the server did. */
static void refused_bytes_between(void **state)
{
	struct nvram *nvram = *state;
	struct dnd_cache_entry refused_entry = { .type = DND_CACHE_WRITE, .length_bytes = 4 * BLOCK, .at = BLOCK };
	uint64_t used;

	open_new(nvram);
	assert_int_equal(put(nvram, 0, 1), 0);
	dnd_cache_skip(&nvram->log, &refused_entry);
	assert_int_equal(put(nvram, 10, 1), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	used = nvram->log.windows[0].used_bytes;
	assert_int_equal(used, 6 * BLOCK);
	reopen(nvram);
	assert_int_equal(nvram->log.windows[0].used_bytes, used);
	assert_int_equal(dnd_cache_window_room(&nvram->log, 0), nvram->log.super.window_bytes - used);
}

/* Bytes that are skipped at the window's end count as used: else the last write would overwrite the first, at the start. */
static void skipped_end_counts(void **state)
{
	struct nvram *nvram = *state;
	uint64_t blocks;

	open_new(nvram);
	blocks = nvram->log.super.window_bytes / BLOCK;
	assert_int_equal(put(nvram, 0, 6), 0);
	assert_int_equal(put(nvram, 100, blocks - 6 - 3), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	assert_int_equal(put_at(nvram, 0, 0, 0, 4), -EPROTO);
	assert_int_equal(dnd_cache_retire(&nvram->log, 1), 0);
	assert_int_equal(put_at(nvram, 0, 0, 300, 8), -EPROTO);
	assert_int_equal(put_at(nvram, 0, 0, 300, 6), 0);
}

/* A plan names each block's own bytes within a record; a trim forgets blocks and goes to the drive. */
static void plan_of_a_part_and_a_trim(void **state)
{
	const struct dnd_cache_entry trim = {
		.type = DND_CACHE_TRIM, .drive_offset = 12 * BLOCK, .length_bytes = BLOCK,
	};
	struct nvram *nvram = *state;
	struct dnd_cache_plan plan;
	uint64_t data_at, sequence;

	open_new(nvram);
	assert_int_equal(put(nvram, 8, 6), 0);
	data_at = dnd_cache_record(&nvram->log, 1)->data_at;
	assert_int_equal(put(nvram, 8, 2), 0);
	assert_int_equal(dnd_cache_append(&nvram->log, &trim, &sequence), 0);
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 12), 0);
	assert_int_equal(dnd_cache_plan(&nvram->log, 100, 1 << 20, false, &plan), 0);
	assert_int_equal(plan.trim_count, 1);
	assert_int_equal(plan.trims[0].drive_offset, 12 * BLOCK);
	assert_int_equal(plan.trims[0].length_bytes, BLOCK);
	assert_int_equal(plan.write_count, 3);
	assert_int_equal(plan.writes[1].drive_offset, 10 * BLOCK);
	assert_int_equal(plan.writes[1].data_at, data_at + 2 * BLOCK);
	assert_int_equal(plan.writes[1].length_bytes, 2 * BLOCK);
	assert_int_equal(plan.writes[2].drive_offset, 13 * BLOCK);
	assert_int_equal(plan.writes[2].data_at, data_at + 5 * BLOCK);
	dnd_cache_plan_free(&plan);
}

static void one_barrier_for_a_group(void **state)
{
	struct nvram *nvram = *state;
	unsigned int before, writes;

	open_new(nvram);
	before = nvram->barriers;
	writes = nvram->writes;
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(put(nvram, i, 1), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	assert_int_equal(nvram->barriers - before, 1);
	assert_int_equal(nvram->writes - writes, 1);
}

static void full_of_records(void **state)
{
	struct nvram *nvram = *state;
	uint64_t sequence;
	const struct dnd_cache_entry trim = { .type = DND_CACHE_TRIM, .length_bytes = BLOCK };

	open_new(nvram);
	while (nvram->log.next - nvram->log.tail < nvram->log.super.records)
		assert_int_equal(dnd_cache_append(&nvram->log, &trim, &sequence), 0);
	assert_int_equal(dnd_cache_append(&nvram->log, &trim, &sequence), -EAGAIN);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	dnd_cache_close(&nvram->log);
	assert_int_equal(dnd_cache_open(nvram->ctx, &nvram->store, &nvram->log), 0);
	assert_int_equal(nvram->log.next - nvram->log.tail, nvram->log.super.records);
}

/* ---- plans ---- */

static void overwritten_bytes_are_left_out(void **state)
{
	struct nvram *nvram = *state;
	struct dnd_cache_plan plan;

	open_new(nvram);
	assert_int_equal(put(nvram, 8, 4), 0);	/* 8 9 10 11 */
	assert_int_equal(put(nvram, 9, 1), 0);
	assert_int_equal(put(nvram, 12, 2), 0);
	assert_int_equal(put(nvram, 14, 2), 0);	/* behind it on the drive and in the NVRAM */
	assert_int_equal(put(nvram, 0, 1), 0);
	assert_int_equal(dnd_cache_plan(&nvram->log, 100, 1 << 20, false, &plan), 0);
	assert_int_equal(plan.upto, 5);
	assert_int_equal(plan.coalesced_bytes, BLOCK);
	assert_int_equal(plan.write_bytes, 9 * BLOCK);
	assert_int_equal(plan.write_count, 5);
	assert_int_equal(plan.writes[0].drive_offset, 0);
	assert_int_equal(plan.writes[1].length_bytes, BLOCK);
	assert_int_equal(plan.writes[4].drive_offset, 12 * BLOCK);
	assert_int_equal(plan.writes[4].length_bytes, 4 * BLOCK);
	dnd_cache_plan_free(&plan);
}

static void plan_of_an_empty_log(void **state)
{
	struct nvram *nvram = *state;
	struct dnd_cache_plan plan;

	open_new(nvram);
	assert_int_equal(dnd_cache_plan(&nvram->log, 100, 1 << 20, false, &plan), 0);
	assert_int_equal(plan.upto, nvram->log.tail - 1);
	assert_int_equal(plan.write_count + plan.trim_count, 0);
	dnd_cache_plan_free(&plan);
}

static void plan_of_everything(void **state)
{
	struct nvram *nvram = *state;
	struct dnd_cache_plan plan;

	three_groups(nvram);
	assert_int_equal(dnd_cache_retire(&nvram->log, 1), 0);
	assert_int_equal(dnd_cache_plan(&nvram->log, UINT64_MAX, 1 << 20, false, &plan), 0);
	assert_int_equal(plan.upto, 3);
	dnd_cache_plan_free(&plan);
	assert_int_equal(dnd_cache_plan(&nvram->log, 0, 1 << 20, false, &plan), 0);
	assert_int_equal(plan.upto, nvram->log.tail - 1);
	dnd_cache_plan_free(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NVRAM_TEST(only_in_turn), NVRAM_TEST(not_the_drive), NVRAM_TEST(around_the_end),
		NVRAM_TEST(window_for_another_client), NVRAM_TEST(refused_bytes_between),
		NVRAM_TEST(skipped_end_counts), NVRAM_TEST(plan_of_a_part_and_a_trim),
		NVRAM_TEST(one_barrier_for_a_group), NVRAM_TEST(full_of_records),
		NVRAM_TEST(overwritten_bytes_are_left_out), NVRAM_TEST(plan_of_an_empty_log),
		NVRAM_TEST(plan_of_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
