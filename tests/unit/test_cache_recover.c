// SPDX-License-Identifier: Apache-2.0
/* Logs that are refused, what refusals leave alone, and which records come back. */
#include "cache_nvram.h"
#include "says.h"

/* Opens what lies there; it must be refused with this, and be as it was. */
static void refused(struct nvram *nvram, int expected, const char *code, const char *text)
{
	uint8_t *before = malloc(NVRAM_BYTES);

	assert_non_null(before);
	memcpy(before, nvram->bytes, NVRAM_BYTES);
	dnd_cache_close(&nvram->log);
	assert_int_equal(dnd_cache_open(nvram->ctx, &nvram->store, &nvram->log), expected);
	assert_string_equal(donard_error_code(nvram->ctx), code);
	if (!strstr(donard_error(nvram->ctx), text))
		fail_msg("'%s' is not in '%s'", text, donard_error(nvram->ctx));
	assert_memory_equal(before, nvram->bytes, NVRAM_BYTES);
	free(before);
}

/* ---- what lies there ---- */

static void nothing_there(void **state)
{
	refused(*state, -ENODATA, "not-formatted", "this NVRAM holds no write cache's log. Format it (FORMAT).");
}

static void other_data_there(void **state)
{
	struct nvram *nvram = *state;
	struct dnd_cache_super super;
	enum dnd_cache_found found;

	memcpy(nvram->bytes + 1080, "\x53\xef", 2);	/* as ext4 has it */
	assert_int_equal(dnd_cache_look(nvram->ctx, &nvram->store, &super, &found), 0);
	assert_int_equal(found, DND_CACHE_FOUND_OTHER);
	refused(nvram, -ENODATA, "not-formatted", "but other data");
}

static void another_version(void **state)
{
	struct nvram *nvram = *state;
	uint32_t version = 7;

	open_new(nvram);
	for (unsigned int copy = 0; copy < DND_CACHE_COPIES; copy++)
		memcpy(nvram->bytes + DND_CACHE_SUPER_AT(copy) + offsetof(struct dnd_cache_super, version),
		       &version, sizeof(version));
	refused(nvram, -EPROTONOSUPPORT, "other-version", "is of version 7");
}

static void spoil(struct nvram *nvram, uint64_t at)
{
	nvram->bytes[at] ^= 0x40;
}

/* One bit of one copy's version: the other copy is whole. */
static void wrong_version_in_one_copy(void **state)
{
	struct nvram *nvram = *state;

	open_new(nvram);
	spoil(nvram, DND_CACHE_SUPER_AT(0) + offsetof(struct dnd_cache_super, version));
	reopen(nvram);
	spoil(nvram, DND_CACHE_SUPER_AT(1) + 40);
	refused(nvram, -EILSEQ, "damaged", "no copy of its superblock is whole");
}

static void one_superblock_is_enough(void **state)
{
	struct nvram *nvram = *state;

	open_new(nvram);
	spoil(nvram, DND_CACHE_SUPER_AT(0) + 40);
	dnd_cache_close(&nvram->log);
	assert_int_equal(dnd_cache_open(nvram->ctx, &nvram->store, &nvram->log), 0);
	spoil(nvram, DND_CACHE_SUPER_AT(1) + 40);
	refused(nvram, -EILSEQ, "damaged", "no copy of its superblock is whole");
}

/*
 * Power went between the last two writes of a format, and later a page is damaged: all records may be there, so another format
 * must not go through.  Each start writes the copy that is not whole anew.
 */
static void last_step_of_a_format_missing(void **state)
{
	struct nvram *nvram = *state;
	uint8_t *copies[DND_CACHE_COPIES];

	for (unsigned int copy = 0; copy < DND_CACHE_COPIES; copy++) {
		copies[0] = nvram->bytes + DND_CACHE_SUPER_AT(copy);
		copies[1] = nvram->bytes + DND_CACHE_SUPER_AT(1 - copy);
		open_new(nvram);
		memcpy(copies[0], DND_CACHE_UNFINISHED, strlen(DND_CACHE_UNFINISHED));
		copies[1][40] ^= 0x40;
		refused(nvram, -EILSEQ, "damaged", "no copy of its superblock is whole");
		copies[1][40] ^= 0x40;
		reopen(nvram);
		assert_int_equal(dnd_cache_begin(&nvram->log), 0);
		assert_memory_equal(copies[0], copies[1], sizeof(struct dnd_cache_super));
		copies[1][40] ^= 0x40;
		reopen(nvram);
		dnd_cache_close(&nvram->log);
	}
}

static void truncated(void **state)
{
	struct nvram *nvram = *state;

	open_new(nvram);
	nvram->store.length_bytes = NVRAM_BYTES / 2;
	refused(nvram, -EILSEQ, "damaged", "the log has 524288 bytes and the NVRAM 262144");
	nvram->store.length_bytes = DND_CACHE_PAGE_BYTES;
	refused(nvram, -ENODATA, "not-formatted", "this NVRAM holds no write cache's log");
}

static void both_tails_damaged(void **state)
{
	struct nvram *nvram = *state;

	open_new(nvram);
	spoil(nvram, DND_CACHE_TAIL_AT(0) + 8);
	spoil(nvram, DND_CACHE_TAIL_AT(1) + 8);
	refused(nvram, -EILSEQ, "damaged", "no copy of its tail is whole");
}

/* ---- records ---- */

static void acknowledged_record_damaged(void **state)
{
	struct nvram *nvram = *state;

	three_groups(nvram);
	spoil(nvram, dnd_cache_record_at(&nvram->log.super, 2) + 30);
	refused(nvram, -EILSEQ, "damaged", "record 2 is not there, though it and those up to 2 were");
}

static void acknowledged_data_damaged(void **state)
{
	struct nvram *nvram = *state;

	three_groups(nvram);
	spoil(nvram, dnd_cache_record(&nvram->log, 1)->data_at + BLOCK + 7);
	refused(nvram, -EILSEQ, "damaged", "record 1 (8192 bytes at 0 of the drive, window 0)");
	if (strstr(donard_error(nvram->ctx), "ormat"))
		fail_msg("what is whole shall not be formatted: %s", donard_error(nvram->ctx));
}

static void voids_say(const struct nvram *nvram, const char *expected)
{
	char text[DND_TEXT_BYTES];

	dnd_cache_say_voids(&nvram->log, text, sizeof(text));
	if (!strstr(text, expected))
		fail_msg("expected '%s' in '%s'", expected, text);
}

/*
 * A client that overwrote bytes that it had sent loses these bytes alone.  In the last group this cannot be told from a power
 * cut.
 */
static void bytes_of_the_last_group_damaged(void **state)
{
	struct nvram *nvram = *state;

	open_new(nvram);
	assert_int_equal(put(nvram, 100, 1), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	assert_int_equal(put(nvram, 100, 2), 0);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(put_at(nvram, 1, i * BLOCK, 200 + i, 1), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	spoil(nvram, dnd_cache_record(&nvram->log, 2)->data_at + 5);
	reopen(nvram);
	assert_int_equal(nvram->log.next, 8);
	assert_int_equal(nvram->log.voids, 1);
	assert_int_equal(dnd_cache_next_void(&nvram->log, nvram->log.tail), 2);
	assert_int_equal(dnd_cache_next_void(&nvram->log, 3), nvram->log.next);
	voids_say(nvram, "1 of them were passed over: as far as the log tells, a power cut");
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 100), 1);	/* as it was before */
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 101), 0);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 200 + i), 3 + i);
	assert_int_equal(nvram->log.windows[0].used_bytes, 3 * BLOCK);
}

/* Once it was passed over it stays so, whatever is acknowledged later and whatever its bytes become. */
static void void_record_stays_void(void **state)
{
	struct nvram *nvram = *state;
	struct dnd_cache_plan plan;
	uint64_t data_at;

	bytes_of_the_last_group_damaged(state);
	data_at = dnd_cache_record(&nvram->log, 2)->data_at;
	assert_int_equal(dnd_cache_begin(&nvram->log), 0);
	assert_int_equal(put_at(nvram, 1, 5 * BLOCK, 300, 1), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	assert_int_equal(put_at(nvram, 1, 6 * BLOCK, 301, 1), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	spoil(nvram, data_at + 5);	/* right again */
	reopen(nvram);
	assert_int_equal(nvram->log.next, 10);
	assert_int_equal(nvram->log.voids, 1);
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 101), 0);
	assert_int_equal(dnd_cache_begin(&nvram->log), 0);
	assert_int_equal(dnd_cache_plan(&nvram->log, UINT64_MAX, 1 << 20, false, &plan), 0);
	assert_int_equal(plan.write_bytes, 8 * BLOCK);
	assert_int_equal(plan.writes[0].drive_offset, 100 * BLOCK);
	assert_int_equal(plan.writes[0].length_bytes, BLOCK);
	assert_int_equal(dnd_cache_retire(&nvram->log, plan.upto), 0);
	dnd_cache_plan_free(&plan);
	assert_true(dnd_cache_window_empty(&nvram->log, 0));
	assert_int_equal(nvram->log.voids, 0);
}

/* Damaged records that are known to be acknowledged are given up only if the caller says so, and no others with them. */
static void damaged_records_given_up(void **state)
{
	struct nvram *nvram = *state;

	three_groups(nvram);
	spoil(nvram, dnd_cache_record(&nvram->log, 1)->data_at + 7);
	spoil(nvram, dnd_cache_record(&nvram->log, 2)->data_at + 7);
	refused(nvram, -EILSEQ, "damaged", "2 acknowledged records");
	assert_int_equal(dnd_cache_open_giving_up(nvram->ctx, &nvram->store, &nvram->log), 0);
	assert_int_equal(nvram->log.voids, 2);
	voids_say(nvram, "2 of them were passed over: 2 were acknowledged, and given up");
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 0), 0);
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 10), 0);
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 20), 3);
	assert_int_equal(dnd_cache_begin(&nvram->log), 0);
	reopen(nvram);		/* said once */
	voids_say(nvram, "or a former start gave them up");
	assert_int_equal(nvram->log.next, 4);
	spoil(nvram, dnd_cache_record_at(&nvram->log.super, 2) + 30);
	dnd_cache_close(&nvram->log);
	assert_int_equal(dnd_cache_open_giving_up(nvram->ctx, &nvram->store, &nvram->log), -EILSEQ);
}

/* The write before was acknowledged, and is not on the drive either: the newer one, lost now, had replaced it. */
static void given_up_blocks_may_be_older_than_the_write_before(void **state)
{
	struct nvram *nvram = *state;
	struct dnd_cache_plan plan;
	static const uint64_t blocks[] = { 7, 8, 7, 9 };

	open_new(nvram);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(put(nvram, blocks[i], 1), 0);
		assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	}
	assert_int_equal(dnd_cache_plan(&nvram->log, 1, 1 << 20, false, &plan), 0);
	assert_int_equal(plan.write_count, 0);
	assert_int_equal(dnd_cache_retire(&nvram->log, plan.upto), 0);
	dnd_cache_plan_free(&plan);
	spoil(nvram, dnd_cache_record(&nvram->log, 3)->data_at);
	refused(nvram, -EILSEQ, "damaged", "which may be older than the write before");
	assert_int_equal(dnd_cache_open_giving_up(nvram->ctx, &nvram->store, &nvram->log), 0);
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 7), 0);
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 8), 2);
}

/*
 * Only the tail's older copy is left, and the record that it names is overwritten: the log is refused, and not opened without
 * it.
 */
static void newer_tail_damaged(void **state)
{
	struct nvram *nvram = *state;
	unsigned int newer;

	open_new(nvram);
	for (uint64_t i = 0; i < 2 * nvram->log.super.records; i++) {
		assert_int_equal(put(nvram, i % 100, 1), 0);
		assert_int_equal(dnd_cache_commit(&nvram->log), 0);
		if (nvram->log.next - nvram->log.tail > nvram->log.super.records / 3)
			assert_int_equal(dnd_cache_retire(&nvram->log, nvram->log.next - 1), 0);
	}
	newer = (nvram->log.tail_copy + 1) % DND_CACHE_COPIES;
	spoil(nvram, DND_CACHE_TAIL_AT(newer) + 8);
	spoil(nvram, dnd_cache_record_at(&nvram->log.super, nvram->log.tail - 1));
	refused(nvram, -EILSEQ, "damaged", "were acknowledged");
}

/* The records behind a tail show that the tail existed: without that, the last group would be missing unnoticed. */
static void newest_epoch_damaged(void **state)
{
	struct nvram *nvram = *state;
	unsigned int newest;

	three_groups(nvram);
	reopen(nvram);
	newest = nvram->log.tail_copy;
	assert_int_equal(dnd_cache_begin(&nvram->log), 0);
	assert_int_equal(put(nvram, 40, 1), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	spoil(nvram, DND_CACHE_TAIL_AT(newest) + 8);
	refused(nvram, -EILSEQ, "damaged", "record 4 was written behind a newer tail than any that is whole");
}

/* Nothing is written over what a killed server left before that is durable, nor is a new epoch. */
static void first_of_all_a_barrier(void **state)
{
	struct nvram *nvram = *state;

	bytes_of_the_last_group_damaged(state);		/* something is to be marked, too */
	nvram->writes = nvram->barriers = 0;
	nvram->writes_of_first_barrier = 99;
	assert_int_equal(dnd_cache_begin(&nvram->log), 0);
	assert_int_equal(nvram->writes_of_first_barrier, 0);
	assert_int_equal(nvram->barriers, 2);
}

/* Writes a forged record 4 of the present epoch, with valid checksums. */
static void forge(struct nvram *nvram, uint64_t data_at, uint64_t blocks)
{
	struct dnd_cache_record record = *dnd_cache_record(&nvram->log, 3);

	record.sequence = 4;
	record.data_at = data_at;
	record.length_bytes = blocks * BLOCK;
	record.data_checksum = dnd_cache_checksum(0, nvram->bytes + data_at, record.length_bytes);
	record.checksum = dnd_cache_record_checksum(&record);
	memcpy(nvram->bytes + dnd_cache_record_at(&nvram->log.super, 4), &record, sizeof(record));
}

static void bytes_over_others(void **state)
{
	struct nvram *nvram = *state;
	uint64_t end;

	three_groups(nvram);
	end = dnd_cache_record(&nvram->log, 3)->data_at + 2 * BLOCK;
	forge(nvram, end, 3);
	reopen(nvram);
	assert_int_equal(nvram->log.next, 5);
	forge(nvram, dnd_cache_record(&nvram->log, 2)->data_at, 1);
	refused(nvram, -EILSEQ, "damaged", "the bytes of record 4 lie over those of an older one");
}

static void record_of_no_bytes(void **state)
{
	struct nvram *nvram = *state;

	three_groups(nvram);
	forge(nvram, dnd_cache_record(&nvram->log, 3)->data_at + 2 * BLOCK, 0);
	reopen(nvram);
	assert_int_equal(nvram->log.next, 4);
}

static void unacknowledged_record_torn(void **state)
{
	struct nvram *nvram = *state;

	three_groups(nvram);
	assert_int_equal(put(nvram, 40, 2), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	spoil(nvram, dnd_cache_record_at(&nvram->log.super, 4) + 30);
	dnd_cache_close(&nvram->log);
	assert_int_equal(dnd_cache_open(nvram->ctx, &nvram->store, &nvram->log), 0);
	assert_int_equal(nvram->log.next, 4);
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 20), 3);
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 40), 0);
}

static void records_of_a_former_log(void **state)
{
	struct nvram *nvram = *state;

	three_groups(nvram);
	dnd_cache_close(&nvram->log);
	open_new(nvram);
	assert_int_equal(nvram->log.next, 1);
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 0), 0);
}

/*
 * Whichever byte is damaged, all that was acknowledged before the last group is there, or the log is refused.  Damage to
 * the last group alone looks like a power cut before its barrier (recover.c).
 */
static void any_byte_damaged(void **state)
{
	struct nvram *nvram = *state;
	uint8_t *before = malloc(NVRAM_BYTES);
	uint64_t in_use;
	unsigned int refusals = 0;

	assert_non_null(before);
	three_groups(nvram);
	in_use = nvram->log.super.data_at + 3 * 2 * BLOCK;
	memcpy(before, nvram->bytes, NVRAM_BYTES);
	srandom(5);
	for (unsigned int i = 0; i < 4000; i++) {
		uint64_t at = (uint64_t)random() % in_use;
		int rc;

		/* Most of it is free; half of the tries are for the structures. */
		if (i % 2)
			at = at % 512 + (uint64_t[]){ 0, DND_CACHE_TAIL_AT(0), DND_CACHE_TAIL_AT(1),
						      DND_CACHE_RECORDS_AT }[i / 2 % 4];
		nvram->bytes[at] ^= (uint8_t)(1 + random() % 255);
		dnd_cache_close(&nvram->log);
		rc = dnd_cache_open(nvram->ctx, &nvram->store, &nvram->log);
		if (rc && rc != -EILSEQ && rc != -EPROTONOSUPPORT)
			fail_msg("a wrong byte at %llu: %d", (unsigned long long)at, rc);
		if (!rc && nvram->log.next < 3)
			fail_msg("a wrong byte at %llu: record 2 is missing", (unsigned long long)at);
		refusals += rc < 0;
		nvram->bytes[at] = before[at];
		assert_memory_equal(before, nvram->bytes, NVRAM_BYTES);
	}
	assert_true(refusals > 100);
	free(before);
}

/*
 * A record that a cut tore comes back in no later life, though the bytes that it names lie in
 * their place again: another block's write may have the same.
 */
static void torn_record_stays_away(void **state)
{
	struct nvram *nvram = *state;
	struct dnd_cache_record torn;
	uint8_t *data;

	open_new(nvram);
	data = nvram->bytes + nvram->log.super.data_at;
	assert_int_equal(put(nvram, 7, 1), 0);
	torn = *dnd_cache_record(&nvram->log, 1);
	data[9] ^= 1;
	/* The next start finds nothing of the record: all of it is lost except for its place. */
	memset(nvram->bytes + dnd_cache_record_at(&nvram->log.super, 1), 0, sizeof(torn));
	reopen(nvram);
	assert_int_equal(nvram->log.next, 1);
	assert_int_equal(dnd_cache_begin(&nvram->log), 0);
	assert_int_equal(put(nvram, 99, 1), 0);
	memset(data, 7 + 1, BLOCK);
	memcpy(nvram->bytes + dnd_cache_record_at(&nvram->log.super, 1), &torn, sizeof(torn));
	reopen(nvram);
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 7), 0);
	assert_int_equal(nvram->log.next, 1);
}

/* The same where records of the life before lie before it: they count, it does not. */
static void records_of_two_lives(void **state)
{
	struct nvram *nvram = *state;
	struct dnd_cache_record torn;
	uint64_t at;

	three_groups(nvram);
	assert_int_equal(put(nvram, 40, 1), 0);
	at = dnd_cache_record_at(&nvram->log.super, 4);
	torn = *dnd_cache_record(&nvram->log, 4);
	memset(nvram->bytes + at, 0, sizeof(torn));
	reopen(nvram);
	assert_int_equal(dnd_cache_begin(&nvram->log), 0);
	assert_int_equal(dnd_cache_retire(&nvram->log, 1), 0);	/* the tail keeps where the epoch began */
	assert_int_equal(put(nvram, 50, 1), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	reopen(nvram);
	assert_int_equal(nvram->log.next, 5);
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 20), 3);
	assert_int_equal(dnd_cache_blocks_find(&nvram->log.blocks, 50), 4);
	memcpy(nvram->bytes + at, &torn, sizeof(torn));
	memset(nvram->bytes + torn.data_at, 40 + 1, BLOCK);
	reopen(nvram);
	assert_int_equal(nvram->log.next, 4);
}

static void retire_takes_what_is_durable(void **state)
{
	struct nvram *nvram = *state;
	unsigned int writes;

	open_new(nvram);
	assert_int_equal(put(nvram, 7, 1), 0);
	assert_int_equal(dnd_cache_retire(&nvram->log, 1), -EINVAL);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	assert_int_equal(dnd_cache_retire(&nvram->log, 1), 0);
	writes = nvram->writes;
	assert_int_equal(dnd_cache_retire(&nvram->log, 1), 0);	/* an empty plan */
	assert_int_equal(nvram->writes, writes);
	assert_int_equal(nvram->log.tail, 2);
}

static void what_no_log_can_hold(void **state)
{
	struct nvram *nvram = *state;
	const struct dnd_cache_geometry none = { .length_bytes = NVRAM_BYTES, .block_bytes = BLOCK, .drive_id = "" };
	struct dnd_cache_geometry odd = nvram_geometry;
	struct dnd_cache_entry entry = { .type = DND_CACHE_WRITE, .length_bytes = BLOCK, .window = 2 };
	uint64_t sequence;

	assert_int_equal(dnd_cache_format(nvram->ctx, &nvram->store, &none), -EINVAL);
	odd.block_bytes = 520;
	assert_int_equal(dnd_cache_format(nvram->ctx, &nvram->store, &odd), -EINVAL);
	/* Its windows would hold fewer than four of the least requests, and no server could serve it. */
	odd = (struct dnd_cache_geometry){ .length_bytes = 62 << 20, .windows = 256, .block_bytes = 64 << 10,
					   .drive_bytes = 1 << 30, .drive_id = "" };
	assert_int_equal(dnd_cache_format(nvram->ctx, &nvram->store, &odd), -ENOSPC);
	assert_says(donard_error(nvram->ctx), "each needs 256 KiB");
	assert_int_equal(nvram->writes, 0);
	open_new(nvram);
	assert_int_equal(dnd_cache_append(&nvram->log, &entry, &sequence), -EINVAL);
	entry = (struct dnd_cache_entry){ .type = 9, .length_bytes = BLOCK };
	assert_int_equal(dnd_cache_append(&nvram->log, &entry, &sequence), -EINVAL);
	assert_int_equal(nvram->log.next, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NVRAM_TEST(nothing_there), NVRAM_TEST(other_data_there),
		NVRAM_TEST(another_version), NVRAM_TEST(wrong_version_in_one_copy),
		NVRAM_TEST(one_superblock_is_enough), NVRAM_TEST(last_step_of_a_format_missing), NVRAM_TEST(truncated),
		NVRAM_TEST(both_tails_damaged), NVRAM_TEST(any_byte_damaged),
		NVRAM_TEST(acknowledged_record_damaged), NVRAM_TEST(acknowledged_data_damaged),
		NVRAM_TEST(bytes_of_the_last_group_damaged), NVRAM_TEST(void_record_stays_void),
		NVRAM_TEST(damaged_records_given_up), NVRAM_TEST(given_up_blocks_may_be_older_than_the_write_before),
		NVRAM_TEST(newer_tail_damaged), NVRAM_TEST(newest_epoch_damaged), NVRAM_TEST(first_of_all_a_barrier),
		NVRAM_TEST(bytes_over_others), NVRAM_TEST(record_of_no_bytes),
		NVRAM_TEST(unacknowledged_record_torn), NVRAM_TEST(records_of_a_former_log),
		NVRAM_TEST(torn_record_stays_away), NVRAM_TEST(records_of_two_lives),
		NVRAM_TEST(retire_takes_what_is_durable), NVRAM_TEST(what_no_log_can_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
