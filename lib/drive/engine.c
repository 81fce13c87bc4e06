// SPDX-License-Identifier: Apache-2.0
/* See ring.h.  One ring and one thread. */
#include <liburing.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drive/ring.h"

#define FAULT_REACH_BYTES	(2ULL << 20)	/* what one fault of a region maps (kernel/mmap.c) */

struct lane {
	struct dnd_request request;
	uint8_t *memory;
	uint64_t moved_bytes;	/* of the current step: short transfers go on */
	enum dnd_step step;
	bool fixed;		/* the command in flight names a registered buffer */
};

struct engine {
	struct dnd_transfer *transfer;
	struct io_uring ring;
	struct lane *lanes;
	uint32_t *idle;		/* stack of lane numbers */
	uint32_t idle_count;
	uint64_t next_request;
	uint64_t done_bytes;
	struct dnd_buffers buffers;
	uintptr_t mapped_end;	/* of what fault_in() has seen to */
	bool pinned;		/* by a registration, even if it is not used */
	bool passes_through;	/* a side is reached by NVMe commands */
	int error;		/* the first; no new request starts after it */
};

static const struct dnd_generic *generic_of(const struct dnd_transfer *transfer,
					    const struct lane *lane)
{
	return lane->step == DND_STEP_READ ? transfer->read_generic : transfer->write_generic;
}

static void prepare_command(const struct engine *engine, struct io_uring_sqe *sqe,
			    struct lane *lane)
{
	const struct dnd_transfer *transfer = engine->transfer;
	int index = dnd_buffers_index(&engine->buffers, lane->memory);
	bool reads = lane->step == DND_STEP_READ;
	struct dnd_command command = {
		.generic = generic_of(transfer, lane),
		.reads = reads,
		.memory = dnd_buffers_address(&engine->buffers, lane->memory),
		.length_bytes = (uint32_t)lane->request.length_bytes,
		.offset_bytes = lane->request.offset_bytes +
				(reads ? transfer->read_offset : transfer->write_offset),
		.fixed_index = index,
	};

	lane->fixed = index >= 0;
	dnd_nvme_prepare(sqe, &command);
}

static void prepare(const struct engine *engine, struct io_uring_sqe *sqe, const struct lane *lane)
{
	const struct dnd_transfer *transfer = engine->transfer;
	bool reads = lane->step == DND_STEP_READ;
	uint64_t at = lane->request.offset_bytes + lane->moved_bytes;
	uint64_t offset = at + (reads ? transfer->read_offset : transfer->write_offset);
	unsigned int bytes = (unsigned int)(lane->request.length_bytes - lane->moved_bytes);
	uint8_t *memory = dnd_buffers_address(&engine->buffers, lane->memory) + lane->moved_bytes;
	int fd = reads ? transfer->read_fd : transfer->write_fd;
	int index = dnd_buffers_index(&engine->buffers, lane->memory);

	if (index < 0) {
		if (reads)
			io_uring_prep_read(sqe, fd, memory, bytes, offset);
		else
			io_uring_prep_write(sqe, fd, memory, bytes, offset);
		return;
	}
	if (reads)
		io_uring_prep_read_fixed(sqe, fd, memory, bytes, offset, index);
	else
		io_uring_prep_write_fixed(sqe, fd, memory, bytes, offset, index);
}

/* The ring has an entry a lane, and a lane has one request at a time. */
static void submit(struct engine *engine, struct lane *lane)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&engine->ring);

	if (engine->passes_through && generic_of(engine->transfer, lane))
		prepare_command(engine, sqe, lane);
	else
		prepare(engine, sqe, lane);
	io_uring_sqe_set_data(sqe, lane);
}

static void fail(struct engine *engine, const struct lane *lane, int error)
{
	struct dnd_transfer *transfer = engine->transfer;

	if (lane && lane->request.offset_bytes < transfer->gapless_bytes)
		transfer->gapless_bytes = lane->request.offset_bytes;
	if (engine->error)
		return;
	engine->error = error;
	transfer->failed_step = lane ? lane->step : DND_STEP_SETUP;
	transfer->failed_offset = lane ? lane->request.offset_bytes : 0;
}

static void finish(struct engine *engine, struct lane *lane)
{
	engine->idle[engine->idle_count++] = (uint32_t)(lane - engine->lanes);
}

static bool cpu_step(struct engine *engine, struct lane *lane, void *to, const void *from)
{
	int rc = dnd_memory_copy(to, from, lane->request.length_bytes);

	if (rc) {
		lane->step = DND_STEP_CPU;
		fail(engine, lane, rc);
		finish(engine, lane);
	}
	return !rc;
}

static uint8_t *own_place(const struct dnd_transfer *transfer, uint64_t offset)
{
	return (transfer->target ? transfer->target : transfer->source) + offset;
}

/*
 * Maps what a request is about to use, a fault for all that one fault maps. Left to the request, the kernel looks up
 * by itself each page from the one that faulted to the request's end (mm/gup.c: the slow path takes over all that
 * the fast one has left). A hint: what goes wrong here the request says.
 */
static void fault_in(struct engine *engine, const struct lane *lane)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)lane->memory, end = at + lane->request.length_bytes;

	at = dnd_max(at, engine->mapped_end);
	for (; at < end; at = dnd_round_down(at, FAULT_REACH_BYTES) + FAULT_REACH_BYTES)
		madvise((void *)dnd_round_down(at, page), page, MADV_POPULATE_READ);
	engine->mapped_end = at;
}

static void start_request(struct engine *engine)
{
	struct dnd_transfer *transfer = engine->transfer;
	uint32_t number = engine->idle[--engine->idle_count];
	struct lane *lane = &engine->lanes[number];
	uint64_t offset;

	lane->request = dnd_plan_request(transfer->plan, engine->next_request++);
	offset = lane->request.offset_bytes;
	lane->moved_bytes = 0;
	lane->memory = transfer->buffers ? transfer->buffers + number * transfer->plan->block_bytes :
					   own_place(transfer, offset);
	if (!transfer->registers)
		fault_in(engine, lane);
	if (transfer->source && transfer->buffers &&
	    !cpu_step(engine, lane, lane->memory, transfer->source + offset))
		return;
	lane->step = transfer->read_fd >= 0 ? DND_STEP_READ : DND_STEP_WRITE;
	submit(engine, lane);
}

static void step_done(struct engine *engine, struct lane *lane)
{
	struct dnd_transfer *transfer = engine->transfer;

	if (lane->step == DND_STEP_READ && transfer->target && transfer->buffers &&
	    !cpu_step(engine, lane, transfer->target + lane->request.offset_bytes, lane->memory))
		return;
	if (lane->step == DND_STEP_READ && transfer->write_fd >= 0) {
		lane->step = DND_STEP_WRITE;
		lane->moved_bytes = 0;
		submit(engine, lane);
		return;
	}
	engine->done_bytes += lane->request.length_bytes;
	finish(engine, lane);
}

static void complete(struct engine *engine, struct lane *lane, int result)
{
	uint32_t align = engine->transfer->plan->align_bytes;

	if (result == -EAGAIN || result == -EINTR) {
		submit(engine, lane);
		return;
	}
	if (result >= 0)
		lane->moved_bytes += (uint64_t)result;
	if (result > 0 && lane->moved_bytes >= lane->request.length_bytes) {
		step_done(engine, lane);
	} else if (result > 0 && !(lane->moved_bytes % align)) {
		submit(engine, lane);
	} else {
		fail(engine, lane, result < 0 ? result : -EIO);
		finish(engine, lane);
	}
}

/*
 * Linux 6.12 counts, for a command, the pages to the end of the whole
 * registered buffer, and refuses too many with -EINVAL before the drive hears
 * of it: then without it.
 */
static void command_done(struct engine *engine, struct lane *lane, int result)
{
	struct dnd_transfer *transfer = engine->transfer;
	uint32_t status = 0;

	if (result == -EINVAL && lane->fixed) {
		engine->buffers.base = NULL;
		transfer->fixed_buffers = false;
		submit(engine, lane);
		return;
	}
	result = dnd_nvme_result(result, (uint32_t)lane->request.length_bytes, &status);
	if (status && !engine->error)
		transfer->nvme_status = status;
	complete(engine, lane, result);
}

static void report_progress(struct engine *engine)
{
	struct dnd_transfer *transfer = engine->transfer;

	if (engine->error || !transfer->progress_fn)
		return;
	if (transfer->progress_fn(transfer->progress_user, DONARD_PHASE_COPY, engine->done_bytes,
				  transfer->plan->length_bytes))
		engine->error = -ECANCELED;
}

static void reap(struct engine *engine)
{
	struct io_uring_cqe *cqe;

	while (!io_uring_peek_cqe(&engine->ring, &cqe)) {
		struct lane *lane = io_uring_cqe_get_data(cqe);
		int result = cqe->res;

		io_uring_cqe_seen(&engine->ring, cqe);
		if (engine->passes_through && generic_of(engine->transfer, lane))
			command_done(engine, lane, result);
		else
			complete(engine, lane, result);
	}
	report_progress(engine);
}

static bool may_start(const struct engine *engine)
{
	return !engine->error && engine->idle_count &&
	       engine->next_request < engine->transfer->plan->requests;
}

static void loop(struct engine *engine)
{
	uint32_t lanes = engine->transfer->plan->lanes;
	int rc;

	do {
		while (may_start(engine))
			start_request(engine);
		if (engine->idle_count == lanes)
			continue;
		rc = io_uring_submit_and_wait(&engine->ring, 1);
		if (rc < 0 && rc != -EINTR && rc != -EAGAIN && rc != -EBUSY)
			fail(engine, NULL, rc);
		reap(engine);
	} while (engine->idle_count < lanes || may_start(engine));
}

/* Completions are handled in the wait only; old kernels lack the flags. */
static int open_ring(struct io_uring *ring, uint32_t lanes, unsigned int flags)
{
	int rc = -EINVAL;

#if defined(IORING_SETUP_COOP_TASKRUN) && defined(IORING_SETUP_SINGLE_ISSUER)
	rc = io_uring_queue_init(lanes, ring, flags |
				 IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SINGLE_ISSUER);
#endif
	return rc == -EINVAL ? io_uring_queue_init(lanes, ring, flags) : rc;
}

static int engine_init(struct engine *engine, struct dnd_transfer *transfer)
{
	uint32_t lanes = transfer->plan->lanes;
	int rc;

	engine->transfer = transfer;
	engine->passes_through = transfer->read_generic || transfer->write_generic;
	rc = open_ring(&engine->ring, lanes, engine->passes_through ? DND_NVME_RING_FLAGS : 0);
	if (rc)
		return rc;
	engine->lanes = calloc(lanes, sizeof(*engine->lanes));
	engine->idle = calloc(lanes, sizeof(*engine->idle));
	if (!engine->lanes || !engine->idle)
		return -ENOMEM;
	while (engine->idle_count < lanes) {
		engine->idle[engine->idle_count] = engine->idle_count;
		engine->idle_count++;
	}
	if (transfer->registers)
		rc = dnd_buffers_register(&engine->buffers, &engine->ring, transfer);
	engine->pinned = transfer->fixed_buffers = engine->buffers.base;
	return rc;
}

/*
 * Exiting the ring also gives back the pins of the fixed buffers, but some time
 * after; of a ring for commands it was seen to be too late for the next copy.
 */
static void engine_exit(struct engine *engine)
{
	if (engine->pinned && engine->passes_through)
		io_uring_unregister_buffers(&engine->ring);
	if (engine->ring.ring_fd > 0)
		io_uring_queue_exit(&engine->ring);
	free(engine->lanes);
	free(engine->idle);
}

int dnd_uring_run(struct dnd_transfer *transfer)
{
	struct engine engine = { 0 };
	int rc;

	transfer->gapless_bytes = 0;
	if (!transfer->plan->requests)
		return 0;
	rc = engine_init(&engine, transfer);
	if (rc) {
		transfer->failed_step = DND_STEP_SETUP;
	} else {
		transfer->gapless_bytes = transfer->plan->full_bytes;
		loop(&engine);
		transfer->gapless_bytes = dnd_min(transfer->gapless_bytes, engine.next_request *
						  transfer->plan->block_bytes);
		rc = engine.error;
	}
	engine_exit(&engine);
	return rc;
}
