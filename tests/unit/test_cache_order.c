// SPDX-License-Identifier: Apache-2.0
/* The order of the server's steps between NVRAM and drive: commit.c and destage.c, as tests/model/log.pml has it. */
#include "cache_scene.h"

static void acknowledged_after_the_barrier(void **state)
{
	(void)state;
	ask_write(0, 3);
	ask_write(BLOCK, 9);
	ask((struct dnd_wire_message){ .type = DND_WIRE_TRIM, .length = BLOCK });
	dnd_cache_group(&scene->server);
	steps_are("aBKKK");
}

static void nothing_without_the_barrier(void **state)
{
	(void)state;
	scene->barrier_fails = true;
	ask_write(0, 3);
	ask((struct dnd_wire_message){ .type = DND_WIRE_FLUSH });
	dnd_cache_group(&scene->server);
	dnd_cache_group(&scene->server);
	steps_are("aB");
	assert_true(scene->server.ends);
}

/* A reset loses the bytes, so their checksum differs, but that is not reported as a fault of the network. */
static void no_mismatch_after_a_reset(void **state)
{
	(void)state;
	scene->barrier_fails = true;
	ask_write(0, 3);
	scene->requests[0].message.key ^= 1;
	dnd_cache_group(&scene->server);
	steps_are("B");
	assert_int_equal(scene->server.ends, -EIO);
}

static void mismatch_after_a_barrier(void **state)
{
	(void)state;
	ask_write(0, 3);
	scene->requests[0].message.key ^= 1;
	scene->expected = DND_WIRE_MISMATCH;
	dnd_cache_group(&scene->server);
	steps_are("BK");
	forget_steps();
	dnd_cache_group(&scene->server);
	steps_are("");
}

static void tail_after_the_flush(void **state)
{
	struct dnd_cache_log *log = &scene->server.log;

	(void)state;
	drain_two();
	written(BLOCK);
	steps_are("WW");
	written(BLOCK);
	steps_are("WWF");
	assert_int_equal(log->tail, 1);
	flushed(0);
	steps_are("WWFBtB");
	assert_int_equal(log->tail, 3);
	assert_true(dnd_cache_window_empty(log, 0));
}

/* The drive has bytes of this value where it is read back. */
static void reads_back(uint8_t value)
{
	memset(scene->read_into, value, BLOCK);
	scene->server.sound = false;
	complete(scene->read_io, BLOCK);
}

/* Block 3 has bytes of 4. */
static void read_back_before_the_first_tail(void **state)
{
	(void)state;
	scene->server.destage.readback.excluded = 0;
	drain_two();
	written(BLOCK);
	written(BLOCK);
	flushed(0);
	steps_are("WWFR");
	assert_int_equal(*scene->read_into, (uint8_t)~4);
	dnd_cache_destage_step(&scene->server);
	steps_are("WWFR");
	reads_back(4);
	steps_are("WWFRBtB");
	assert_int_equal(scene->server.log.tail, 3);
}

/* The drive has other bytes, and its client is there: that may have been at fault, and loses its window first. */
static void client_is_cut_off_first(void)
{
	scene->server.destage.readback.excluded = 0;
	drain_two();
	written(BLOCK);
	written(BLOCK);
	flushed(0);
	reads_back(0xff);
	steps_are("WWFRB");
	assert_int_equal(scene->session.ends, -EPROTO);
	assert_int_equal(scene->other.ends, 0);
	scene->sessions[0] = NULL;
	dnd_cache_destage_step(&scene->server);
	steps_are("WWFRBR");
	reads_back(0xff);
	steps_are("WWFRBRBWW");
	assert_false(dnd_cache_drive_fails(&scene->server));
	written(BLOCK);
	written(BLOCK);
	flushed(0);
	steps_are("WWFRBRBWWFR");
	forget_steps();
}

/* It had put the acknowledged bytes back before they were compared. */
static void client_that_puts_its_bytes_back_is_cut_off(void **state)
{
	(void)state;
	client_is_cut_off_first();
	reads_back(4);
	steps_are("BtB");
	assert_int_equal(scene->server.log.tail, 3);
	assert_int_equal(scene->server.tally.counts.drive_errors, 0);
}

static void no_tail_without_delivery(void **state)
{
	(void)state;
	client_is_cut_off_first();
	reads_back(0xff);
	steps_are("B");
	assert_non_null(strstr(scene->server.destage.why, "has other bytes than it was given"));
	assert_int_equal(scene->server.log.tail, 1);
	pause_ends();
	written(BLOCK);
	written(BLOCK);
	flushed(0);
	complete(scene->read_io, -EIO);
	steps_are("BWWFR");
	pause_ends();
	written(BLOCK);
	written(BLOCK);
	flushed(0);
	reads_back(4);
	steps_are("BWWFRBWWFRBtB");
	assert_false(dnd_cache_drive_fails(&scene->server));
}

/* Block 3 again; its client writes other bytes over it meanwhile, which is not the drive's fault, and holds up nobody. */
static void client_that_changes_its_bytes_is_cut_off(void **state)
{
	struct scene *now = scene;

	(void)state;
	now->server.destage.readback.excluded = 0;
	drain_two();
	written(BLOCK);
	written(BLOCK);
	now->nvram[dnd_cache_window_at(&now->server.log, 0) + BLOCK - 1] ^= 1;
	flushed(0);
	reads_back(4);
	assert_int_equal(now->session.ends, -EPROTO);
	assert_int_equal(now->other.ends, 0);
	assert_false(dnd_cache_drive_fails(&now->server));
	steps_are("WWFRBR");
	reads_back(10);
	steps_are("WWFRBRBtB");
	assert_int_equal(now->server.log.tail, 3);
}

/* A client is not blamed for the bytes that a reset left in place of its own. */
static void client_is_not_blamed_for_a_reset(void **state)
{
	(void)state;
	scene->server.destage.readback.excluded = 0;
	drain_two();
	written(BLOCK);
	written(BLOCK);
	flushed(0);
	scene->nvram[dnd_cache_window_at(&scene->server.log, 0)] ^= 1;
	scene->barrier_fails = true;
	reads_back(4);
	steps_are("WWFRB");
	assert_int_equal(scene->server.ends, -EIO);
	assert_int_equal(scene->session.ends, 0);
}

static void drain_one(uint64_t at, uint64_t block)
{
	scene->asked = 0;
	ask_write(at, block);
	dnd_cache_group(&scene->server);
	forget_steps();
	scene->server.draining = true;
	dnd_cache_destage_step(&scene->server);
	written(BLOCK);
	flushed(0);
}

/* Zeros do not tell whether zeros came instead, nor does 0xff of itself. */
static void read_back_until_all_is_excluded(void **state)
{
	(void)state;
	scene->server.destage.readback.excluded = 0;
	drain_one(0, 255);
	steps_are("WFR");
	reads_back(0);
	steps_are("WFRBtB");
	drain_one(BLOCK, 255);
	steps_are("WFBtB");
	drain_one(2 * BLOCK, 254);
	steps_are("WFR");
	reads_back(0xff);
	steps_are("WFRBtB");
	drain_one(3 * BLOCK, 3);
	steps_are("WFBtB");
}

/* The drive may have got bytes that the reset made: the records stay, and the tail is not even written. */
static void no_tail_after_a_reset(void **state)
{
	uint8_t tails[DND_CACHE_RECORDS_AT];

	(void)state;
	drain_two();
	written(BLOCK);
	written(BLOCK);
	memcpy(tails, scene->nvram, sizeof(tails));
	scene->barrier_fails = true;
	flushed(0);
	steps_are("WWFB");
	assert_int_equal(scene->server.ends, -EIO);
	assert_memory_equal(tails, scene->nvram, sizeof(tails));
	assert_int_equal(scene->server.log.tail, 1);
}

static void nothing_is_free_without_the_tail(void **state)
{
	(void)state;
	drain_two();
	scene->barriers_pass = 1;
	scene->barrier_fails = true;
	written(BLOCK);
	written(BLOCK);
	flushed(0);
	steps_are("WWFBtB");
	assert_true(scene->server.ends);
	assert_false(dnd_cache_window_empty(&scene->server.log, 0));
}

/* All is written again, because a drive that failed a flush may have lost what it had taken. */
static void all_again_after_an_error(void **state)
{
	(void)state;
	drain_two();
	written(-EIO);
	written(BLOCK);
	steps_are("WW");
	pause_ends();
	steps_are("WWWW");
	written(BLOCK);
	written(BLOCK);
	flushed(-EIO);
	steps_are("WWWWF");
	pause_ends();
	written(BLOCK);
	written(BLOCK);
	flushed(0);
	steps_are("WWWWFBWWFBtB");
}

/* A record that comes meanwhile stays in front of the tail, even if it is for the same block. */
static void newer_records_stay(void **state)
{
	struct dnd_cache_log *log = &scene->server.log;

	(void)state;
	drain_two();
	ask_write(2 * BLOCK, 3);
	dnd_cache_group(&scene->server);
	written(BLOCK);
	written(BLOCK);
	scene->server.draining = false;
	flushed(0);
	steps_are("WWaBKFBtB");
	assert_int_equal(log->tail, 3);
	assert_int_equal(dnd_cache_blocks_find(&log->blocks, 3), 3);
	assert_int_equal(dnd_cache_blocks_find(&log->blocks, 9), 0);
}

/* Nothing of memory that a reset emptied goes to the drive: trims, and each batch of writes, come after a barrier. */
static void begin_destage_after_a_reset(void)
{
	dnd_cache_group(&scene->server);
	dnd_cache_group(&scene->server);
	forget_steps();
	scene->barrier_fails = true;
	scene->server.draining = true;
	dnd_cache_destage_step(&scene->server);
	steps_are("B");
	assert_int_equal(scene->server.ends, -EIO);
	scene->barrier_fails = false;
	dnd_cache_destage_step(&scene->server);
	steps_are("B");
	assert_int_equal(scene->server.log.next - scene->server.log.tail, 1);
}

static void nothing_destaged_after_a_reset(void **state)
{
	(void)state;
	ask_write(0, 3);
	begin_destage_after_a_reset();
}

static void nothing_trimmed_after_a_reset(void **state)
{
	(void)state;
	ask_trim(&scene->session);
	begin_destage_after_a_reset();
}

/* The flush succeeds, since the kernel sends none: all is kept, and done again. */
static void unflushed_drive_keeps_the_log(void **state)
{
	(void)state;
	drain_two();
	scene->not_flushed = true;
	written(BLOCK);
	written(BLOCK);
	steps_are("WW");
	assert_non_null(strstr(scene->server.destage.why, "nobody flushes it"));
	assert_true(dnd_cache_drive_fails(&scene->server));
	pause_ends();
	steps_are("WW");
	scene->not_flushed = false;
	pause_ends();
	written(BLOCK);
	written(BLOCK);
	scene->not_flushed = true;
	flushed(0);
	steps_are("WWWWF");
	scene->not_flushed = false;
	pause_ends();
	written(BLOCK);
	written(BLOCK);
	flushed(0);
	steps_are("WWWWFBWWFBtB");
	assert_false(dnd_cache_drive_fails(&scene->server));
}

static void flush_to_the_drive_is_answered_last(void **state)
{
	(void)state;
	drain_two();
	ask((struct dnd_wire_message){ .type = DND_WIRE_FLUSH, .flags = DND_WIRE_TO_DRIVE });
	dnd_cache_group(&scene->server);
	written(BLOCK);
	written(BLOCK);
	dnd_cache_group(&scene->server);
	steps_are("WWF");
	flushed(0);
	dnd_cache_group(&scene->server);
	steps_are("WWFBtBK");
}

/* Bytes for which a flush waits are not left out for newer ones that the plan does not reach. */
static void flush_waits_for_no_older_bytes(void **state)
{
	const struct dnd_cache_plan *plan = &scene->server.destage.plan;

	(void)state;
	ask_write(0, 3);
	ask((struct dnd_wire_message){ .type = DND_WIRE_FLUSH, .flags = DND_WIRE_TO_DRIVE });
	for (unsigned int i = 0; i < PLAN_RECORDS; i++) {
		scene->asked = 2;
		ask_trim(&scene->session);
		dnd_cache_group(&scene->server);
		forget_steps();
	}
	scene->asked = 2;
	ask_write(BLOCK, 3);
	dnd_cache_group(&scene->server);
	dnd_cache_destage_step(&scene->server);
	assert_true(plan->upto < scene->server.log.next - 1);
	assert_int_equal(plan->write_count, 1);
	assert_int_equal(plan->writes[0].data_at, dnd_cache_window_at(&scene->server.log, 0));
}

/* Each plan costs a flush of the drive: those of records that only lie before them are not to be small. */
static void full_window_behind_others_records(void **state)
{
	struct dnd_cache_server *server = &scene->server;
	uint8_t *window = scene->nvram + dnd_cache_window_at(&server->log, 0);
	const uint32_t bytes = 64 * BLOCK;

	(void)state;
	server->request_bytes_max = bytes;
	for (unsigned int i = 0; i < PLAN_RECORDS + 10; i++) {
		scene->asked = 0;
		ask_trim(&scene->other);
		dnd_cache_group(server);
		forget_steps();
	}
	for (uint64_t at = 0; at + bytes <= server->log.super.window_bytes; at += bytes) {
		scene->asked = 0;
		ask((struct dnd_wire_message){ .type = DND_WIRE_WRITE, .address = at, .length = bytes,
					       .key = dnd_cache_checksum(0, window + at, bytes) });
		dnd_cache_group(server);
		forget_steps();
	}
	server->options.high_percent = 60;
	server->options.low_percent = 30;
	dnd_cache_destage_step(server);
	assert_true(dnd_cache_fill_percent(server) > 90);
	assert_int_equal(server->destage.plan.upto, server->log.tail + PLAN_RECORDS - 1);
}

static void trims_before_writes(void **state)
{
	(void)state;
	ask((struct dnd_wire_message){ .type = DND_WIRE_TRIM, .drive_offset = 3 * BLOCK, .length = BLOCK });
	ask_write(0, 3);
	dnd_cache_group(&scene->server);
	scene->server.draining = true;
	dnd_cache_destage_step(&scene->server);
	steps_are("aBKKDW");
	written(BLOCK);
	flushed(0);
	steps_are("aBKKDWFBtB");
}

/* Whatever the error code is, nothing is tried again, and the records stay. */
static void gone_drive_ends_it(void **state)
{
	(void)state;
	drain_two();
	scene->drive_lost = true;
	written(-EIO);
	assert_int_equal(scene->server.ends, -ENODEV);
	assert_true(scene->server.drive_gone);
	assert_string_equal(donard_error_code(scene->server.ctx), "drive-gone");
	assert_int_equal(scene->server.log.next - scene->server.log.tail, 2);
	written(BLOCK);
	steps_are("WW");
}

struct told {
	unsigned int drive_failed, drive_works;
};

static void note_drive(void *user, const struct donard_cache_event *event)
{
	struct told *told = user;

	told->drive_failed += event->type == DONARD_CACHE_DRIVE_FAILED;
	told->drive_works += event->type == DONARD_CACHE_DRIVE_WORKS;
}

/* It fails no more once nobody wants the plan for which there was no memory: nothing would be tried again. */
static void no_memory_for_a_plan(void **state)
{
	struct told told = { 0 };

	(void)state;
	scene->server.options.event_fn = note_drive;
	scene->server.options.user = &told;
	ask_write(0, 3);
	dnd_cache_group(&scene->server);
	forget_steps();
	scene->server.draining = scene->no_memory = true;
	dnd_cache_destage_step(&scene->server);
	pause_ends();
	assert_int_equal(scene->server.destage.state, DND_DESTAGE_PAUSED);
	assert_int_equal(scene->server.destage.pause_ms, 200);
	assert_true(dnd_cache_drive_fails(&scene->server));
	scene->server.draining = scene->no_memory = false;
	pause_ends();
	assert_int_equal(scene->server.destage.state, DND_DESTAGE_IDLE);
	assert_false(dnd_cache_drive_fails(&scene->server));
	assert_int_equal(told.drive_failed, 1);
	assert_int_equal(told.drive_works, 1);
	steps_are("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(acknowledged_after_the_barrier), TEST(nothing_without_the_barrier),
		TEST(no_mismatch_after_a_reset), TEST(mismatch_after_a_barrier), TEST(tail_after_the_flush),
		TEST(read_back_before_the_first_tail), TEST(no_tail_without_delivery), TEST(read_back_until_all_is_excluded),
		TEST(client_that_puts_its_bytes_back_is_cut_off),
		TEST(client_that_changes_its_bytes_is_cut_off), TEST(client_is_not_blamed_for_a_reset),
		TEST(no_tail_after_a_reset), TEST(nothing_is_free_without_the_tail), TEST(all_again_after_an_error),
		TEST(newer_records_stay), TEST(nothing_destaged_after_a_reset), TEST(nothing_trimmed_after_a_reset),
		TEST(unflushed_drive_keeps_the_log), TEST(flush_to_the_drive_is_answered_last),
		TEST(flush_waits_for_no_older_bytes), TEST(full_window_behind_others_records),
		TEST(trims_before_writes), TEST(gone_drive_ends_it), TEST(no_memory_for_a_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
