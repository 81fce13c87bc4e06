// SPDX-License-Identifier: Apache-2.0
/*
 * The order of the server's steps between clients, NVRAM and drive: commit.c, read.c and destage.c, with
 * clients, a drive's queue and an NVRAM that write down what they are asked for.
 *
 *	a	APPEND, or a mark in a record
 *	t	TAIL
 *	B	barrier
 *	K	ACK, of the second client: k
 *	S	bytes of a read are sent
 *	D	the drive is told to trim
 *	W	the drive is told to write
 *	R	and to read
 *	F	and to flush
 */
#include <errno.h>

#include "unit.h"
#include "cache/server.h"
#include "cache/trimmer.h"
#include "drive/drive.h"
#include "join/join.h"

#define BLOCK		4096U
#define NVRAM_BYTES	(24U << 20)	/* for more trims than a plan takes */
#define PLAN_RECORDS	4096U		/* so many */
#define REQUESTS	8U

struct scene {
	struct dnd_cache_server server;
	struct dnd_cache_session session, other, *sessions[2];
	struct dnd_cache_request requests[REQUESTS];
	unsigned int asked;
	uint8_t nvram[NVRAM_BYTES];
	char steps[64];
	bool barrier_fails, drive_lost, not_flushed, trim_lasts;
	unsigned int barriers_pass;	/* before the first that fails */
	int read_rc;			/* of the queue */
	struct dnd_cache_io *read_io;	/* of the last read */
	enum dnd_wire_status expected;	/* of each answer */
	uint64_t clock_ns, trim_ns;	/* trim_ns: how long each takes */
	struct ibv_context verbs;
	struct ibv_qp qp;
	struct ibv_mr mr;
	struct rdma_cm_id id;
	struct donard_file file;
	struct donard_memory memory;
};

static struct scene *scene;

static void note(char step)
{
	size_t count = strlen(scene->steps);

	assert_true(count + 1 < sizeof(scene->steps));
	scene->steps[count] = step;
}

static void steps_are(const char *expected)
{
	assert_string_equal(scene->steps, expected);
}

/* ---- the NVRAM ---- */

static int nvram_read(struct dnd_cache_store *store, uint64_t at, void *to, size_t length)
{
	(void)store;
	memcpy(to, scene->nvram + at, length);
	return 0;
}

static int nvram_write(struct dnd_cache_store *store, uint64_t at, const void *from, size_t length)
{
	(void)store;
	note(at < DND_CACHE_RECORDS_AT ? 't' : 'a');
	memcpy(scene->nvram + at, from, length);
	return 0;
}

static int nvram_barrier(struct dnd_cache_store *store)
{
	(void)store;
	note('B');
	if (!scene->barrier_fails)
		return 0;
	return scene->barriers_pass && scene->barriers_pass-- ? 0 : -EIO;
}

/* ---- the client ---- */

void __wrap_dnd_cache_answer(struct dnd_cache_request *request, enum dnd_wire_status status);
void __wrap_dnd_cache_answer(struct dnd_cache_request *request, enum dnd_wire_status status)
{
	assert_int_equal(status, scene->expected);
	note(request->session == &scene->other ? 'k' : 'K');
}

void __wrap_dnd_cache_session_send(struct dnd_cache_session *session);
void __wrap_dnd_cache_session_send(struct dnd_cache_session *session)
{
	(void)session;
}

static void ask_as(struct dnd_cache_session *session, struct dnd_wire_message message)
{
	struct dnd_cache_request *request = &scene->requests[scene->asked++];

	assert_true(scene->asked <= REQUESTS);
	*request = (struct dnd_cache_request){ .message = message, .session = session, .received_ns = scene->clock_ns };
	dnd_cache_list_add(&session->waiting, request);
}

static void ask(struct dnd_wire_message message)
{
	ask_as(&scene->session, message);
}

static void ask_trim(struct dnd_cache_session *session)
{
	ask_as(session, (struct dnd_wire_message){ .type = DND_WIRE_TRIM, .length = BLOCK });
}

static void ask_read(uint64_t block)
{
	ask((struct dnd_wire_message){ .type = DND_WIRE_READ, .drive_offset = block * BLOCK, .length = BLOCK });
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	(void)bad;
	assert_ptr_equal(qp, &scene->qp);
	assert_int_equal(request->opcode, IBV_WR_RDMA_WRITE);
	note('S');
	return 0;
}

/* The bytes of the read at this place have arrived. */
static void moved(uint64_t number)
{
	scene->session.work_requests--;
	scene->server.read_sent(&scene->server, number);
}

uint64_t __wrap_dnd_now_ns(void);
uint64_t __wrap_dnd_now_ns(void)
{
	return scene->clock_ns;
}

void __real_dnd_cache_blocks_drop_range(struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count);
void __wrap_dnd_cache_blocks_drop_range(struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count);
void __wrap_dnd_cache_blocks_drop_range(struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count)
{
	scene->clock_ns += scene->trim_ns;
	__real_dnd_cache_blocks_drop_range(blocks, first, count);
}

static void ask_write_as(struct dnd_cache_session *session, uint64_t at, uint64_t block)
{
	uint8_t *bytes = scene->nvram + dnd_cache_window_at(&scene->server.log, session->window) + at;

	memset(bytes, (int)block + 1, BLOCK);
	ask_as(session, (struct dnd_wire_message){ .type = DND_WIRE_WRITE, .address = at, .drive_offset = block * BLOCK,
						   .length = BLOCK, .key = dnd_cache_checksum(0, bytes, BLOCK) });
}

static void ask_write(uint64_t at, uint64_t block)
{
	ask_write_as(&scene->session, at, block);
}

/* ---- the drive ---- */

int __wrap_donard_queue_write(struct donard_queue *queue, struct donard_file *file, uint64_t file_offset,
			      struct donard_memory *memory, uint64_t memory_offset, uint64_t length, void *user);
int __wrap_donard_queue_write(struct donard_queue *queue, struct donard_file *file, uint64_t file_offset,
			      struct donard_memory *memory, uint64_t memory_offset, uint64_t length, void *user)
{
	(void)queue, (void)file, (void)file_offset, (void)memory, (void)memory_offset, (void)length, (void)user;
	note('W');
	return 0;
}

int __wrap_donard_queue_read(struct donard_queue *queue, struct donard_file *file, uint64_t file_offset,
			     struct donard_memory *memory, uint64_t memory_offset, uint64_t length, void *user);
int __wrap_donard_queue_read(struct donard_queue *queue, struct donard_file *file, uint64_t file_offset,
			     struct donard_memory *memory, uint64_t memory_offset, uint64_t length, void *user)
{
	(void)queue, (void)file, (void)file_offset, (void)memory, (void)memory_offset, (void)length;
	scene->read_io = user;
	if (!scene->read_rc)
		note('R');
	return scene->read_rc;
}

int __wrap_donard_queue_flush(struct donard_queue *queue, struct donard_file *file, void *user);
int __wrap_donard_queue_flush(struct donard_queue *queue, struct donard_file *file, void *user)
{
	(void)queue, (void)file, (void)user;
	note('F');
	return 0;
}

int __wrap_dnd_drive_lost(struct donard_context *ctx, const struct dnd_drive *drive);
int __wrap_dnd_drive_lost(struct donard_context *ctx, const struct dnd_drive *drive)
{
	assert_ptr_equal(drive, &scene->file.drive);
	return scene->drive_lost ? dnd_fail(ctx, DND_E_DRIVE_GONE, "it went away") : 0;
}

bool __wrap_dnd_drive_is_durable(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_doubt *doubt);
bool __wrap_dnd_drive_is_durable(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_doubt *doubt)
{
	(void)ctx;
	assert_ptr_equal(drive, &scene->file.drive);
	snprintf(doubt->text, sizeof(doubt->text), "%s", scene->not_flushed ? "nobody flushes it" : "");
	doubt->certain = scene->not_flushed;
	return !scene->not_flushed;
}

void __wrap_dnd_trimmer_begin(struct dnd_trimmer *trimmer, const struct dnd_cache_run *runs, size_t count);
void __wrap_dnd_trimmer_begin(struct dnd_trimmer *trimmer, const struct dnd_cache_run *runs, size_t count)
{
	(void)trimmer;
	assert_ptr_equal(runs, scene->server.destage.plan.trims);
	assert_int_equal(count, scene->server.destage.plan.trim_count);
	note('D');
}

bool __wrap_dnd_trimmer_done(struct dnd_trimmer *trimmer, uint64_t *ignored);
bool __wrap_dnd_trimmer_done(struct dnd_trimmer *trimmer, uint64_t *ignored)
{
	(void)trimmer;
	*ignored = 0;
	return !scene->trim_lasts;
}

static void complete(struct dnd_cache_io *io, int64_t result)
{
	const struct donard_completion completion = {
		.result = result, .error = "the drive failed", .error_code = "device",
	};

	io->done(&scene->server, io, &completion);
	dnd_cache_destage_step(&scene->server);
}

static void written(int64_t result)
{
	complete(&scene->server.destage.write_io, result);
}

/* The drive has all by then, and a round later the server looks at the NVRAM anew. */
static void flushed(int64_t result)
{
	scene->server.sound = false;
	complete(&scene->server.destage.flush_io, result);
}

/* The pause after an error is over. */
static void pause_ends(void)
{
	assert_int_equal(scene->server.destage.state, DND_DESTAGE_PAUSED);
	scene->clock_ns = scene->server.destage.until_ns;
	dnd_cache_destage_step(&scene->server);
}

/* ---- the scene ---- */

static void set_up_session(struct dnd_cache_session *session, unsigned int window)
{
	session->server = &scene->server;
	session->window = window;
	session->unanswered = 1;
	session->link.id = &scene->id;
	session->sent.mr = &scene->mr;
	dnd_cache_list_init(&session->waiting);
	dnd_cache_list_init(&session->reads);
	dnd_cache_list_init(&session->flushes);
	scene->sessions[window] = session;
	scene->server.sessions = scene->sessions;
}

static void set_up_sessions(void)
{
	scene->verbs.ops.post_send = post_send;
	scene->qp.context = &scene->verbs;
	scene->id.qp = &scene->qp;
	set_up_session(&scene->session, 0);
	set_up_session(&scene->other, 1);
}

static int set_up(void **state)
{
	static const struct dnd_cache_geometry geometry = {
		.length_bytes = NVRAM_BYTES, .windows = 2, .block_bytes = BLOCK, .drive_bytes = 1 << 20, .drive_id = "eui.1",
	};
	struct dnd_cache_server *server;

	(void)state;
	scene = calloc(1, sizeof(*scene));
	assert_non_null(scene);
	server = &scene->server;
	server->nvram.store = (struct dnd_cache_store){
		.length_bytes = NVRAM_BYTES, .read = nvram_read, .write = nvram_write, .barrier = nvram_barrier,
	};
	server->persistent = true;
	server->file = &scene->file;
	server->nvram.memory = &scene->memory;
	server->request_bytes_max = BLOCK;
	/* Nothing goes to the drive unless a test drains, or a flush waits. */
	server->options.flags = DONARD_CACHE_NO_CLEANER;
	server->options.high_percent = server->options.low_percent = 100;
	server->drive.kind = DONARD_FILE_KIND_REGULAR;
	server->drive.request_bytes = 1 << 20;
	assert_int_equal(donard_open(&server->ctx, NULL), 0);
	assert_int_equal(dnd_cache_format(server->ctx, &server->nvram.store, &geometry), 0);
	assert_int_equal(dnd_cache_open(server->ctx, &server->nvram.store, &server->log), 0);
	assert_int_equal(dnd_cache_begin(&server->log), 0);
	server->appended_ns = calloc(server->log.super.records, sizeof(*server->appended_ns));
	assert_non_null(server->appended_ns);
	set_up_sessions();
	assert_int_equal(dnd_cache_reads_open(server), 0);
	memset(scene->steps, 0, sizeof(scene->steps));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dnd_cache_destage_close(&scene->server);
	dnd_cache_reads_close(&scene->server);
	dnd_cache_close(&scene->server.log);
	free(scene->server.appended_ns);
	donard_close(scene->server.ctx);
	free(scene);
	return 0;
}

/* Two blocks are acknowledged, and on their way to the drive. */
static void drain_two(void)
{
	ask_write(0, 3);
	ask_write(BLOCK, 9);
	dnd_cache_group(&scene->server);
	memset(scene->steps, 0, sizeof(scene->steps));
	scene->server.draining = true;
	dnd_cache_destage_step(&scene->server);
	steps_are("WW");
}

/* ---- tests ---- */

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

/* A reset loses the bytes, and so their sum differs: nobody is told that the network did it. */
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
	memset(scene->steps, 0, sizeof(scene->steps));
	dnd_cache_group(&scene->server);
	steps_are("");
}

/* Two reads of what is in the log are under way. */
static void begin_reads(void)
{
	ask_write(0, 3);
	dnd_cache_group(&scene->server);
	ask_read(3);
	ask_read(3);
	memset(scene->steps, 0, sizeof(scene->steps));
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

/* The drive is well: nobody is told that it failed. */
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
		memset(scene->steps, 0, sizeof(scene->steps));
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

/* As one window has room for so many blocks. */
static void small_writes_leave_places_for_others(void **state)
{
	uint64_t records = scene->server.log.super.records;

	(void)state;
	scene->server.log.windows[1].records = records;		/* more than its share */
	fill_with_trims(&scene->session);
	scene->asked = 1;
	ask_write_as(&scene->other, 0, 3);
	dnd_cache_group(&scene->server);
	steps_are("");
	scene->server.log.windows[1].records = records / 8;
	dnd_cache_group(&scene->server);
	steps_are("aBk");
}

/* What is in the log can be read, however long the drive takes to make room. */
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

/* What is tried without a place changes nothing; and no place is taken twice. */
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

/* A drive that failed a flush may have lost what it had taken. */
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

/* What comes meanwhile is not behind the tail, though it may be of the same block. */
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
	memset(scene->steps, 0, sizeof(scene->steps));
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
		memset(scene->steps, 0, sizeof(scene->steps));
	}
	scene->asked = 2;
	ask_write(BLOCK, 3);
	dnd_cache_group(&scene->server);
	dnd_cache_destage_step(&scene->server);
	assert_true(plan->upto < scene->server.log.next - 1);
	assert_int_equal(plan->write_count, 1);
	assert_int_equal(plan->writes[0].data_at, dnd_cache_window_at(&scene->server.log, 0));
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

/* Whatever the code of the error is: nothing is tried again, and the records stay. */
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

#define TEST(name)	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(acknowledged_after_the_barrier), TEST(nothing_without_the_barrier), TEST(tail_after_the_flush),
		TEST(no_tail_after_a_reset), TEST(slow_reader_is_ended), TEST(nothing_is_free_without_the_tail), TEST(all_again_after_an_error),
		TEST(gone_drive_ends_it),
		TEST(no_mismatch_after_a_reset), TEST(mismatch_after_a_barrier), TEST(reads_after_their_barrier),
		TEST(barrier_of_the_group_is_enough), TEST(no_read_after_a_reset), TEST(trims_of_one_client),
		TEST(nothing_destaged_after_a_reset), TEST(nothing_trimmed_after_a_reset), TEST(unflushed_drive_keeps_the_log),
		TEST(trims_leave_places_for_writes), TEST(small_writes_leave_places_for_others), TEST(a_full_log_takes_nothing),
		TEST(reads_pass_a_request_that_waits), TEST(read_without_memory), TEST(read_that_the_drive_fails),
		TEST(newer_records_stay), TEST(former_connection_comes_first), TEST(former_connection_that_ends_holds_up_nobody),
		TEST(reads_hold_back_the_tail), TEST(flush_to_the_drive_is_answered_last), TEST(flush_waits_for_no_older_bytes),
		TEST(trims_before_writes),
		TEST(others_go_on_while_the_drive_trims),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
