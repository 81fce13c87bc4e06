// SPDX-License-Identifier: Apache-2.0
#include "cache_scene.h"

struct scene *scene;

static void note(char step)
{
	size_t count = strlen(scene->steps);

	assert_true(count + 1 < sizeof(scene->steps));
	scene->steps[count] = step;
}

void steps_are(const char *expected)
{
	assert_string_equal(scene->steps, expected);
}

void forget_steps(void)
{
	memset(scene->steps, 0, sizeof(scene->steps));
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
	if (at < NVRAM_BYTES)
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

void ask_as(struct dnd_cache_session *session, struct dnd_wire_message message)
{
	struct dnd_cache_request *request = &scene->requests[scene->asked++];

	assert_true(scene->asked <= REQUESTS);
	*request = (struct dnd_cache_request){ .message = message, .session = session, .received_ns = scene->clock_ns };
	dnd_cache_list_add(&session->waiting, request);
}

void ask(struct dnd_wire_message message)
{
	ask_as(&scene->session, message);
}

void ask_trim(struct dnd_cache_session *session)
{
	ask_as(session, (struct dnd_wire_message){ .type = DND_WIRE_TRIM, .length = BLOCK });
}

void ask_read(uint64_t block)
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

void moved(uint64_t number)
{
	scene->session.work_requests--;
	scene->server.read_sent(&scene->server, number);
}

/* The memory of a plan. */
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes)
{
	return scene && scene->no_memory ? NULL : __real_realloc(memory, bytes);
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

void ask_write_as(struct dnd_cache_session *session, uint64_t at, uint64_t block)
{
	uint8_t *bytes = scene->nvram + dnd_cache_window_at(&scene->server.log, session->window) + at;

	memset(bytes, (int)block + 1, BLOCK);
	ask_as(session, (struct dnd_wire_message){ .type = DND_WIRE_WRITE, .address = at, .drive_offset = block * BLOCK,
						   .length = BLOCK, .key = dnd_cache_checksum(0, bytes, BLOCK) });
}

void ask_write(uint64_t at, uint64_t block)
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
	(void)queue, (void)file, (void)file_offset, (void)memory, (void)length;
	scene->read_io = user;
	scene->read_into = scene->nvram + memory_offset;
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

bool __wrap_dnd_drive_is_durable_now(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_doubt *doubt);
bool __wrap_dnd_drive_is_durable_now(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_doubt *doubt)
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

void complete(struct dnd_cache_io *io, int64_t result)
{
	const struct donard_completion completion = {
		.result = result, .error = "the drive failed", .error_code = "device",
	};

	io->done(&scene->server, io, &completion);
	dnd_cache_destage_step(&scene->server);
}

void written(int64_t result)
{
	complete(&scene->server.destage.write_io, result);
}

void flushed(int64_t result)
{
	scene->server.sound = false;
	complete(&scene->server.destage.flush_io, result);
}

void pause_ends(void)
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

int scene_set_up(void **state)
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
	server->destage.readback.excluded = 3;		/* nothing is read back, unless a test says so */
	assert_int_equal(donard_open(&server->ctx, NULL), 0);
	assert_int_equal(dnd_cache_format(server->ctx, &server->nvram.store, &geometry), 0);
	assert_int_equal(dnd_cache_open(server->ctx, &server->nvram.store, &server->log), 0);
	assert_int_equal(dnd_cache_begin(&server->log), 0);
	server->appended_ns = calloc(server->log.super.records, sizeof(*server->appended_ns));
	assert_non_null(server->appended_ns);
	set_up_sessions();
	assert_int_equal(dnd_cache_reads_open(server), 0);
	forget_steps();
	return 0;
}

int scene_tear_down(void **state)
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

void drain_two(void)
{
	ask_write(0, 3);
	ask_write(BLOCK, 9);
	dnd_cache_group(&scene->server);
	forget_steps();
	scene->server.draining = true;
	dnd_cache_destage_step(&scene->server);
	steps_are("WW");
}
