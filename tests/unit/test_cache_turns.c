// SPDX-License-Identifier: Apache-2.0
/*
 * The order of requests of several clients, and of reads beside writes: which goes first, which waits, and how reads end
 * (commit.c, read.c).
 */
#include "cache_scene.h"

/* Begins two reads of bytes that are in the log. */
static void begin_reads(void)
{
	ask_write(0, 3);
	dnd_cache_group(&scene->server);
	ask_read(3);
	ask_read(3);
	forget_steps();
	dnd_cache_group(&scene->server);
	dnd_cache_reads_step(&scene->server);
	steps_are("SS");
	dnd_cache_reads_step(&scene->server);
	steps_are("SS");
}

/* One barrier for all, and none while none has come to its end. */
static void reads_after_their_barrier(void **state)
{
	(void)state;
	begin_reads();
	moved(0);
	moved(1);
	dnd_cache_group(&scene->server);
	dnd_cache_reads_step(&scene->server);
	steps_are("SSBKK");
	assert_int_equal(scene->server.active_reads, 0);
	dnd_cache_group(&scene->server);
	dnd_cache_reads_step(&scene->server);
	steps_are("SSBKK");
}

static void barrier_of_the_group_is_enough(void **state)
{
	(void)state;
	begin_reads();
	moved(0);
	ask_write(BLOCK, 9);
	dnd_cache_group(&scene->server);
	dnd_cache_reads_step(&scene->server);
	steps_are("SSaBKK");
}

static void no_read_after_a_reset(void **state)
{
	(void)state;
	begin_reads();
	moved(0);
	scene->barrier_fails = true;
	dnd_cache_group(&scene->server);
	dnd_cache_reads_step(&scene->server);
	/* SYNC reports a reset once. */
	scene->barrier_fails = false;
	moved(1);
	dnd_cache_reads_step(&scene->server);
	steps_are("SSB");
	assert_int_equal(scene->server.ends, -EIO);
	scene->server.draining = true;
	dnd_cache_destage_step(&scene->server);
	steps_are("SSB");
}

/* A want of memory is not reported as a failure of the drive. */
static void read_without_memory(void **state)
{
	(void)state;
	scene->read_rc = -ENOMEM;
	ask_read(3);
	dnd_cache_group(&scene->server);
	dnd_cache_reads_step(&scene->server);
	steps_are("");
	scene->read_rc = 0;
	dnd_cache_reads_step(&scene->server);
	steps_are("R");
	scene->expected = DND_WIRE_NO_MEMORY;
	complete(scene->read_io, -ENOMEM);
	dnd_cache_reads_step(&scene->server);
	steps_are("RK");
	assert_int_equal(scene->server.tally.counts.drive_errors, 0);
	assert_int_equal(scene->server.active_reads, 0);
}

static void read_that_the_drive_fails(void **state)
{
	(void)state;
	ask_read(3);
	dnd_cache_group(&scene->server);
	dnd_cache_reads_step(&scene->server);
	scene->expected = DND_WIRE_DRIVE_FAILED;
	complete(scene->read_io, -EIO);
	dnd_cache_reads_step(&scene->server);
	steps_are("RK");
	assert_int_equal(scene->server.tally.counts.drive_errors, 1);
}

/* A trim may take long: the others have their turn after a while, and each client's requests stay in order. */
static void trims_of_one_client(void **state)
{
	(void)state;
	scene->trim_ns = 60000000;
	for (int i = 0; i < 3; i++)
		ask_trim(&scene->session);
	ask_trim(&scene->other);
	dnd_cache_group(&scene->server);
	steps_are("aBKK");
	assert_true(scene->server.again);
	dnd_cache_group(&scene->server);
	steps_are("aBKKaBkK");
	assert_null(scene->session.waiting.first);
}

/* The client of the lower window replaces the other, whose write has reached the server and was not taken yet. */
static void former_connection_comes_first(void **state)
{
	struct dnd_cache_log *log = &scene->server.log;

	(void)state;
	ask_write_as(&scene->other, 0, 3);
	scene->session.admitted_ns = ++scene->clock_ns;
	ask_write(0, 3);
	dnd_cache_group(&scene->server);
	steps_are("aBk");
	assert_true(scene->server.again);
	dnd_cache_group(&scene->server);
	steps_are("aBkaBK");
	assert_int_equal(dnd_cache_record(log, dnd_cache_blocks_find(&log->blocks, 3))->data_at, dnd_cache_window_at(log, 0));
}

/* A client that still sends messages was not replaced, so the newer client need not wait for its requests. */
static void client_that_is_heard_holds_up_nobody(void **state)
{
	(void)state;
	ask_write_as(&scene->other, 0, 3);
	scene->session.admitted_ns = ++scene->clock_ns;
	scene->other.said_ns = scene->session.admitted_ns + 1000;
	ask_write(0, 5);
	dnd_cache_group(&scene->server);
	steps_are("aBKk");
	assert_false(scene->session.passed_by);
}

/* Over soft iWARP, bytes that it reads are on their way as soon as TCP has them, whether or not it is still there. */
static void client_that_only_reads_may_be_gone(void **state)
{
	(void)state;
	ask_write_as(&scene->other, 0, 3);
	scene->session.admitted_ns = ++scene->clock_ns;
	scene->other.link.heard = (double)(scene->session.admitted_ns + 1000) / 1e9;
	ask_write(0, 3);
	dnd_cache_group(&scene->server);
	steps_are("aBk");
	assert_true(scene->session.passed_by);
}

/* A good-bye changes nothing, and what a client that ends had asked for is not taken any more. */
static void former_connection_that_ends_holds_up_nobody(void **state)
{
	(void)state;
	scene->other.unanswered = 2;
	ask_as(&scene->other, (struct dnd_wire_message){ .type = DND_WIRE_BYE });
	scene->session.admitted_ns = ++scene->clock_ns;
	ask_write(0, 3);
	dnd_cache_group(&scene->server);
	steps_are("aBK");
	dnd_cache_list_take(&scene->other.waiting);
	ask_write_as(&scene->other, 0, 3);
	scene->session.admitted_ns = ++scene->clock_ns;
	scene->other.ends = -ETIMEDOUT;
	ask_write(BLOCK, 3);
	dnd_cache_group(&scene->server);
	steps_are("aBKaBK");
}

/* Until there is no place for another: it waits then. */
static void fill_with_trims(struct dnd_cache_session *session)
{
	while (!session->waiting.first) {
		scene->asked = 0;
		ask_trim(session);
		dnd_cache_group(&scene->server);
		forget_steps();
	}
	assert_true(scene->server.starved);
}

/* The trims wait for the drive, and a write of the other client does not. */
static void trims_leave_places_for_writes(void **state)
{
	(void)state;
	fill_with_trims(&scene->other);
	ask_write(0, 3);
	dnd_cache_group(&scene->server);
	steps_are("aBK");
}

/* Small writes of one client, whose window has room for many, leave places in the log for the others. */
static void small_writes_leave_places_for_others(void **state)
{
	uint64_t share = scene->server.log.super.records / 4 / 2;

	(void)state;
	scene->server.log.windows[1].records = share;
	fill_with_trims(&scene->session);
	scene->asked = 1;
	ask_write_as(&scene->other, 0, 3);
	dnd_cache_group(&scene->server);
	steps_are("");
	scene->server.log.windows[1].records = share - 1;
	dnd_cache_group(&scene->server);
	steps_are("aBk");
}

/* Bytes in the log can be read however long the drive takes to make room. */
static void reads_pass_a_request_that_waits(void **state)
{
	(void)state;
	ask_write(0, 3);
	dnd_cache_group(&scene->server);
	fill_with_trims(&scene->session);
	scene->asked = 1;
	ask_read(3);
	ask((struct dnd_wire_message){ .type = DND_WIRE_FLUSH });
	dnd_cache_group(&scene->server);
	dnd_cache_reads_step(&scene->server);
	steps_are("S");
	moved(0);
	dnd_cache_group(&scene->server);
	dnd_cache_reads_step(&scene->server);
	steps_are("SBK");
	assert_int_equal(scene->session.waiting.first->message.type, DND_WIRE_TRIM);
	assert_int_equal(scene->session.waiting.first->next->message.type, DND_WIRE_FLUSH);
}

/* A request without a free place changes nothing, and no place is taken twice. */
static void a_full_log_takes_nothing(void **state)
{
	struct dnd_cache_log *log = &scene->server.log;
	uint64_t tail = log->tail;

	(void)state;
	log->tail = log->next - log->super.records;
	ask_write(0, 3);
	dnd_cache_group(&scene->server);
	steps_are("");
	assert_true(scene->server.starved);
	log->tail = tail;
	dnd_cache_group(&scene->server);
	steps_are("aBK");
}

static void reads_hold_back_the_tail(void **state)
{
	(void)state;
	drain_two();
	scene->server.active_reads = 1;
	written(BLOCK);
	written(BLOCK);
	flushed(0);
	steps_are("WWF");
	scene->server.active_reads = 0;
	dnd_cache_destage_step(&scene->server);
	steps_are("WWFBtB");
}

/* Others wait for the tail.  A client whose reads hold it back is ended after as long as it may be silent. */
static void slow_reader_is_ended(void **state)
{
	(void)state;
	scene->server.options.timeout_ms = 1000;
	drain_two();
	scene->server.active_reads = 1;
	scene->other.work_requests = 1;
	written(BLOCK);
	written(BLOCK);
	flushed(0);
	scene->clock_ns += 1000000000;
	dnd_cache_destage_step(&scene->server);
	assert_int_equal(scene->other.ends, 0);
	scene->clock_ns += 1;
	dnd_cache_destage_step(&scene->server);
	assert_int_equal(scene->other.ends, -ETIMEDOUT);
	assert_int_equal(scene->session.ends, 0);
	steps_are("WWF");
}

/* The drive was slow to answer the client's read: that is not the client's fault. */
static void slow_drive_is_not_the_readers_fault(void **state)
{
	(void)state;
	scene->server.options.timeout_ms = 1000;
	drain_two();
	scene->server.active_reads = 1;
	written(BLOCK);
	written(BLOCK);
	flushed(0);
	scene->clock_ns += 5000000000;
	scene->other.sending_ns = scene->clock_ns;
	scene->other.work_requests = 1;
	dnd_cache_destage_step(&scene->server);
	assert_int_equal(scene->other.ends, 0);
	scene->clock_ns += 1000000001;
	dnd_cache_destage_step(&scene->server);
	assert_int_equal(scene->other.ends, -ETIMEDOUT);
}

/* The drive takes its time, and meanwhile only the writes of that plan wait. */
static void others_go_on_while_the_drive_trims(void **state)
{
	(void)state;
	scene->trim_lasts = true;
	ask_trim(&scene->session);
	ask_write(0, 3);
	dnd_cache_group(&scene->server);
	scene->server.draining = true;
	dnd_cache_destage_step(&scene->server);
	steps_are("aBKKD");
	ask_as(&scene->other, (struct dnd_wire_message){ .type = DND_WIRE_TRIM, .drive_offset = BLOCK, .length = BLOCK });
	dnd_cache_group(&scene->server);
	dnd_cache_destage_step(&scene->server);
	steps_are("aBKKDaBk");
	scene->trim_lasts = false;
	dnd_cache_destage_step(&scene->server);
	steps_are("aBKKDaBkW");
}

static void other_writes(uint64_t at, uint64_t block)
{
	ask_write_as(&scene->other, at, block);
	dnd_cache_group(&scene->server);
	forget_steps();
	dnd_cache_destage_step(&scene->server);
	steps_are("");
}

/* Nobody was refused yet, and the next client would be.  While each window has its client, nothing goes to the drive for it. */
static void left_windows_are_emptied_for_the_next_client(void **state)
{
	(void)state;
	other_writes(0, 3);
	scene->sessions[1] = NULL;
	dnd_cache_destage_step(&scene->server);
	steps_are("W");
	written(BLOCK);
	flushed(0);
	steps_are("WFBtB");
	assert_int_equal(dnd_cache_free_window(&scene->server), 1);
}

/* The window that is left waits until another client takes the free one. */
static void left_window_stays_beside_a_free_one(void **state)
{
	(void)state;
	scene->sessions[0] = NULL;
	other_writes(0, 3);
	scene->sessions[1] = NULL;
	dnd_cache_destage_step(&scene->server);
	steps_are("");
	scene->sessions[0] = &scene->session;
	dnd_cache_destage_step(&scene->server);
	steps_are("W");
}

/* Once begun, it goes on although a window was emptied meanwhile: else the next client would find the last one again. */
static void all_left_windows_are_emptied(void **state)
{
	(void)state;
	ask_write(0, 3);
	other_writes(0, 5);
	scene->sessions[0] = scene->sessions[1] = NULL;
	scene->server.log.windows[0].used_bytes = 0;
	scene->server.no_window_free = true;
	dnd_cache_destage_step(&scene->server);
	steps_are("WW");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_after_their_barrier), TEST(barrier_of_the_group_is_enough), TEST(no_read_after_a_reset),
		TEST(read_without_memory), TEST(read_that_the_drive_fails), TEST(trims_of_one_client),
		TEST(former_connection_comes_first), TEST(client_that_is_heard_holds_up_nobody),
		TEST(client_that_only_reads_may_be_gone),
		TEST(former_connection_that_ends_holds_up_nobody),
		TEST(trims_leave_places_for_writes), TEST(small_writes_leave_places_for_others),
		TEST(reads_pass_a_request_that_waits), TEST(a_full_log_takes_nothing),
		TEST(reads_hold_back_the_tail), TEST(slow_reader_is_ended),
		TEST(slow_drive_is_not_the_readers_fault), TEST(others_go_on_while_the_drive_trims),
		TEST(left_windows_are_emptied_for_the_next_client), TEST(left_window_stays_beside_a_free_one),
		TEST(all_left_windows_are_emptied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
