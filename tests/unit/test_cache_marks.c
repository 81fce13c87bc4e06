// SPDX-License-Identifier: Apache-2.0
/* How many records go to the drive between the marks. */
#include "unit.h"
#include "cache/marks.h"

#define BLOCK		4096U
#define WINDOW_BLOCKS	100U
#define WINDOWS		2U
#define RECORDS		1000U

struct world {
	struct dnd_cache_record records[RECORDS];
	struct dnd_cache_window windows[WINDOWS];
	struct dnd_cache_log log;
};

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->log.super = (struct dnd_cache_super){
		.records = RECORDS, .data_at = BLOCK, .window_bytes = WINDOW_BLOCKS * BLOCK, .windows = WINDOWS,
		.block_bytes = BLOCK,
	};
	world->log.records = world->records;
	world->log.windows = world->windows;
	world->log.tail = world->log.next = 990;	/* so that they go round the end */
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void add(struct world *world, enum dnd_cache_record_type type, unsigned int window, uint64_t blocks)
{
	struct dnd_cache_log *log = &world->log;
	struct dnd_cache_window *taken = &world->windows[window];
	struct dnd_cache_record record = { .type = type, .sequence = log->next, .length_bytes = blocks * BLOCK };

	if (type == DND_CACHE_WRITE) {
		record.data_at = log->super.data_at + window * log->super.window_bytes + taken->head;
		taken->head = (taken->head + record.length_bytes) % log->super.window_bytes;
		taken->used_bytes += record.length_bytes;
	}
	*dnd_cache_record(log, log->next++) = record;
}

static void above(struct world *world, unsigned int percent, uint64_t expected)
{
	assert_int_equal(dnd_cache_records_above(&world->log, percent, RECORDS), expected);
}

static void empty(void **state)
{
	above(*state, 0, 0);
	above(*state, 100, 0);
}

static void places(void **state)
{
	for (unsigned int i = 0; i < 500; i++)
		add(*state, DND_CACHE_TRIM, 0, 1);
	above(*state, 50, 0);
	above(*state, 30, 200);
	above(*state, 0, 500);
}

static void one_window(void **state)
{
	for (unsigned int i = 0; i < 80; i++)
		add(*state, DND_CACHE_WRITE, 1, 1);
	above(*state, 80, 0);
	above(*state, 79, 1);
	above(*state, 30, 50);
	above(*state, 0, 80);
}

/* The records of the other window that lie between go as well; those behind stay. */
static void two_windows(void **state)
{
	for (unsigned int i = 0; i < 40; i++) {
		add(*state, DND_CACHE_WRITE, 0, 2);
		add(*state, DND_CACHE_WRITE, 1, 1);
	}
	above(*state, 80, 0);
	above(*state, 60, 19);
	above(*state, 40, 39);
}

/* The windows are full to the last byte, so that the head is where the oldest record begins. */
static void full(void **state)
{
	for (unsigned int i = 0; i < 50; i++)
		add(*state, DND_CACHE_WRITE, 0, 2);
	above(*state, 100, 0);
	above(*state, 98, 1);
	above(*state, 50, 25);
}

static void no_more_than_asked_for(void **state)
{
	struct world *world = *state;

	for (unsigned int i = 0; i < 100; i++)
		add(world, DND_CACHE_WRITE, 0, 1);
	assert_int_equal(dnd_cache_records_above(&world->log, 0, 7), 7);
}

/* One plan does not reach them, and the next ones are to get there soon. */
static void window_behind_others_records(void **state)
{
	struct world *world = *state;

	for (unsigned int i = 0; i < 20; i++)
		add(world, DND_CACHE_TRIM, 0, 1);
	add(world, DND_CACHE_WRITE, 0, 20);
	for (unsigned int i = 0; i < 80; i++)
		add(world, DND_CACHE_WRITE, 1, 1);
	assert_int_equal(dnd_cache_records_above(&world->log, 30, 7), 7);
	above(world, 30, 71);
	above(world, 80, 0);
}

/* One window's oldest records are above the mark, and all its others lie behind those of another client. */
static void rest_of_a_window_behind_others_records(void **state)
{
	struct world *world = *state;

	add(world, DND_CACHE_WRITE, 1, 1);
	for (unsigned int i = 0; i < 20; i++)
		add(world, DND_CACHE_WRITE, 0, 1);
	for (unsigned int i = 0; i < 79; i++)
		add(world, DND_CACHE_WRITE, 1, 1);
	assert_int_equal(dnd_cache_records_above(&world->log, 30, 7), 7);
	above(world, 30, 70);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(empty), TEST(places), TEST(one_window), TEST(two_windows), TEST(full), TEST(no_more_than_asked_for),
		TEST(window_behind_others_records), TEST(rest_of_a_window_behind_others_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
