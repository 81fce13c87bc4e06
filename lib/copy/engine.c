// SPDX-License-Identifier: Apache-2.0
/* See engine.h.  One ring and one thread. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "copy/engine.h"

#define FAULT_REACH_BYTES	(2ULL << 20)	/* what one fault of a region maps (kernel/mmap.c) */

struct lane {
	struct dnd_io io;	/* first, so that the ring's pointer is the lane's */
	struct dnd_request request;
	uint32_t number;
	enum dnd_step step;
	bool started;		/* its request has not come back yet */
};

struct dnd_engine {
	struct dnd_transfer *transfer;
	struct dnd_ring ring;
	struct lane *lanes;
	uint32_t *idle;		/* stack of lane numbers */
	uint32_t idle_count;
	uint64_t next_request;
	uint64_t alone_from;	/* this request and those behind it are in flight alone */
	uint64_t done_bytes;
	struct dnd_buffers buffers;
	uintptr_t mapped_end;	/* fault_in() has mapped up to here */
	int error;		/* the first error; no new request starts after it */
};

static void submit(struct dnd_engine *engine, struct lane *lane)
{
	const struct dnd_transfer *transfer = engine->transfer;
	bool reads = lane->step == DND_STEP_READ;

	lane->io.kind = reads ? DND_IO_READ : DND_IO_WRITE;
	lane->io.fd = reads ? transfer->read_fd : transfer->write_fd;
	lane->io.generic = reads ? transfer->read_generic : transfer->write_generic;
	lane->io.offset_bytes = lane->request.offset_bytes +
				(reads ? transfer->read_offset : transfer->write_offset);
	lane->started = true;
	dnd_io_start(&engine->ring, &lane->io);
}

/* Records that the request may have changed its part of the destination, even if it fails. */
static void touch(struct dnd_engine *engine, const struct lane *lane)
{
	struct dnd_transfer *transfer = engine->transfer;

	transfer->touched_bytes = dnd_max(transfer->touched_bytes,
					  lane->request.offset_bytes + lane->request.length_bytes);
}

static void fail(struct dnd_engine *engine, const struct lane *lane, int error)
{
	struct dnd_transfer *transfer = engine->transfer;

	if (lane && lane->request.offset_bytes < transfer->gapless_bytes)
		transfer->gapless_bytes = lane->request.offset_bytes;
	if (engine->error)
		return;
	engine->error = error;
	transfer->failed_step = lane ? lane->step : DND_STEP_RING;
	transfer->failed_offset = lane ? lane->request.offset_bytes : 0;
}

static void finish(struct dnd_engine *engine, struct lane *lane)
{
	engine->idle[engine->idle_count++] = lane->number;
}

static bool cpu_step(struct dnd_engine *engine, struct lane *lane, int rc)
{
	if (rc) {
		lane->step = DND_STEP_CPU;
		fail(engine, lane, rc);
		finish(engine, lane);
	}
	return !rc;
}

static bool take_from_source(struct dnd_engine *engine, struct lane *lane)
{
	struct dnd_place place = dnd_place_behind(&engine->transfer->source, lane->request.offset_bytes);

	return cpu_step(engine, lane, dnd_place_load(&place, lane->io.memory, lane->request.length_bytes));
}

static bool put_into_target(struct dnd_engine *engine, struct lane *lane)
{
	struct dnd_place place = dnd_place_behind(&engine->transfer->target, lane->request.offset_bytes);

	touch(engine, lane);
	return cpu_step(engine, lane, dnd_place_store(&place, lane->io.memory, lane->request.length_bytes));
}

static uint8_t *own_memory(const struct dnd_transfer *transfer)
{
	return transfer->target.address ? transfer->target.address : transfer->source.address;
}

/*
 * Maps the memory that a request is about to use, with as few faults as possible: one fault of a region maps
 * FAULT_REACH_BYTES.  If the request itself met an unmapped page, the kernel would look up every page from there to the
 * request's end one by one (mm/gup.c: the slow path takes over all that the fast path has left).  This is only a hint:
 * if it fails, the request reports the error.
 */
static void fault_in(struct dnd_engine *engine, const struct lane *lane)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)lane->io.memory, end = at + lane->request.length_bytes;

	at = dnd_max(at, engine->mapped_end);
	for (; at < end; at = dnd_round_down(at, FAULT_REACH_BYTES) + FAULT_REACH_BYTES)
		madvise((void *)dnd_round_down(at, page), page, MADV_POPULATE_READ);
	engine->mapped_end = at;
}

static void start_request(struct dnd_engine *engine)
{
	struct dnd_transfer *transfer = engine->transfer;
	uint32_t number = engine->idle[--engine->idle_count];
	struct lane *lane = &engine->lanes[number];

	lane->request = dnd_plan_request(transfer->plan, engine->next_request++);
	lane->io.length_bytes = lane->request.length_bytes;
	lane->io.memory = transfer->buffers ? transfer->buffers + number * transfer->plan->block_bytes :
					   own_memory(transfer) + lane->request.offset_bytes;
	if (!transfer->registers)
		fault_in(engine, lane);
	if (transfer->source.address && transfer->buffers && !take_from_source(engine, lane))
		return;
	lane->step = transfer->read_fd >= 0 ? DND_STEP_READ : DND_STEP_WRITE;
	submit(engine, lane);
}

static void step_done(struct dnd_engine *engine, struct lane *lane)
{
	struct dnd_transfer *transfer = engine->transfer;

	if (lane->step == DND_STEP_READ && transfer->target.address && transfer->buffers &&
	    !put_into_target(engine, lane))
		return;
	if (lane->step == DND_STEP_READ && transfer->write_fd >= 0) {
		lane->step = DND_STEP_WRITE;
		submit(engine, lane);
		return;
	}
	engine->done_bytes += lane->request.length_bytes;
	finish(engine, lane);
}

/* A request that the kernel never saw has written nothing. */
static bool has_written(const struct dnd_engine *engine, const struct lane *lane)
{
	const struct dnd_transfer *transfer = engine->transfer;

	if (lane->io.dropped && !lane->io.moved_bytes)
		return false;
	return lane->step == DND_STEP_WRITE || (transfer->target.address && !transfer->buffers);
}

static void complete(struct dnd_engine *engine, struct lane *lane, int64_t result)
{
	lane->started = false;
	if (has_written(engine, lane))
		touch(engine, lane);
	if (lane->io.nvme_status && !engine->error)
		engine->transfer->nvme_status = lane->io.nvme_status;
	if (result == (int64_t)lane->request.length_bytes) {
		step_done(engine, lane);
		return;
	}
	fail(engine, lane, result < 0 ? (int)result : -DND_CUT_SHORT);
	finish(engine, lane);
}

static void report_progress(struct dnd_engine *engine)
{
	struct dnd_transfer *transfer = engine->transfer;

	if (engine->error || !transfer->progress_fn)
		return;
	if (transfer->progress_fn(transfer->progress_user, DONARD_PHASE_COPY, engine->done_bytes,
				  transfer->plan->length_bytes))
		engine->error = -ECANCELED;
}

static void reap(struct dnd_engine *engine)
{
	struct dnd_io *io;
	int64_t result;

	while ((io = dnd_io_next(&engine->ring, &result))) {
		complete(engine, (struct lane *)io, result);
		engine->ring.stops = engine->error;
	}
	report_progress(engine);
	engine->ring.stops = engine->error;
}

/* Takes back the requests that the kernel has not taken, as for lack of memory: they would keep a failed copy from ending. */
static void take_back(struct dnd_engine *engine)
{
	for (uint32_t i = 0; i < engine->transfer->plan->lanes; i++)
		if (engine->lanes[i].started)
			dnd_io_take_back(&engine->ring, &engine->lanes[i].io);
}

static uint64_t first_alone(const struct dnd_transfer *transfer)
{
	const struct dnd_plan *plan = transfer->plan;

	return transfer->ordered_from < plan->full_bytes ? transfer->ordered_from / plan->block_bytes : plan->requests;
}

static bool may_start(const struct dnd_engine *engine)
{
	const struct dnd_plan *plan = engine->transfer->plan;

	return !engine->error && engine->idle_count && engine->next_request < plan->requests &&
	       (engine->next_request < engine->alone_from || engine->idle_count == plan->lanes);
}

static void loop(struct dnd_engine *engine)
{
	uint32_t lanes = engine->transfer->plan->lanes;
	int rc;

	do {
		while (may_start(engine))
			start_request(engine);
		if (engine->idle_count == lanes)
			continue;
		rc = dnd_ring_enter(&engine->ring, 1);
		if (rc)
			fail(engine, NULL, rc);
		reap(engine);
		if (engine->error)
			take_back(engine);
	} while (engine->idle_count < lanes || may_start(engine));
}

/* The memory that the requests read or write: the lanes' buffers, or the requests' own places. */
static struct dnd_holding holding_of(const struct dnd_transfer *transfer)
{
	const struct dnd_plan *plan = transfer->plan;
	struct dnd_holding holding = {
		.base = own_memory(transfer),
		.bytes = plan->full_bytes,
		.unit_bytes = plan->block_bytes,
		.align_bytes = plan->align_bytes,
		.region = transfer->region,
		.window = transfer->window,
	};

	if (transfer->buffers) {
		holding.base = transfer->buffers;
		holding.bytes = plan->block_bytes * plan->lanes;
	}
	return holding;
}

static int open_ring(struct dnd_engine *engine)
{
	const struct dnd_transfer *transfer = engine->transfer;
	const struct dnd_holding holding = holding_of(transfer);
	bool commands = transfer->read_generic || transfer->write_generic;
	unsigned int slots = transfer->registers ?
			     dnd_buffers_slots(holding.bytes, holding.unit_bytes) : 0;
	int rc = dnd_ring_open(&engine->ring, transfer->plan->lanes, slots, commands);

	if (!rc && slots)
		rc = dnd_buffers_register(&engine->buffers, &engine->ring, &holding);
	return rc;
}

static int make_lanes(struct dnd_engine *engine)
{
	uint32_t lanes = engine->transfer->plan->lanes;

	engine->lanes = calloc(lanes, sizeof(*engine->lanes));
	engine->idle = calloc(lanes, sizeof(*engine->idle));
	if (!engine->lanes || !engine->idle)
		return -ENOMEM;
	while (engine->idle_count < lanes) {
		engine->lanes[engine->idle_count].io.align_bytes = engine->transfer->plan->align_bytes;
		engine->lanes[engine->idle_count].io.buffers = &engine->buffers;
		engine->lanes[engine->idle_count].number = engine->idle_count;
		engine->idle[engine->idle_count] = engine->idle_count;
		engine->idle_count++;
	}
	return 0;
}

int dnd_engine_open(struct dnd_transfer *transfer, struct dnd_engine **engine_out)
{
	struct dnd_engine *engine;
	int rc;

	*engine_out = NULL;
	if (!transfer->plan->requests)
		return 0;
	engine = calloc(1, sizeof(*engine));
	if (!engine)
		return -ENOMEM;
	engine->transfer = transfer;
	rc = open_ring(engine);
	if (!rc)
		rc = make_lanes(engine);
	if (rc) {
		dnd_engine_close(engine);
		return rc;
	}
	*engine_out = engine;
	return 0;
}

void dnd_engine_close(struct dnd_engine *engine)
{
	if (!engine)
		return;
	dnd_ring_close(&engine->ring);
	free(engine->lanes);
	free(engine->idle);
	free(engine);
}

int dnd_engine_run(struct dnd_engine *engine)
{
	struct dnd_transfer *transfer;

	if (!engine)
		return 0;
	transfer = engine->transfer;
	transfer->gapless_bytes = transfer->plan->full_bytes;
	transfer->touched_bytes = 0;
	engine->alone_from = first_alone(transfer);
	loop(engine);
	transfer->gapless_bytes = dnd_min(transfer->gapless_bytes,
					  engine->next_request * transfer->plan->block_bytes);
	transfer->fixed_buffers = engine->buffers.base;
	transfer->aio = engine->ring.aio;
	return engine->error;
}
