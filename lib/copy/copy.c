// SPDX-License-Identifier: Apache-2.0
/*
 * A copy, in order: take both sides, check them, choose the route, map memory,
 * set up the engine, prove the route, move, finish the tail, make it durable,
 * verify.  The proof is the first stage that writes to the destination, and it puts back
 * what was there.  Everything that may be refused comes before it.
 */
#include <stdio.h>

#include "copy/copy.h"

#define DEFAULT_BLOCK_BYTES	(1ULL << 20)
#define DEFAULT_QUEUE_DEPTH	16
#define CPU_BLOCK_BYTES		(1ULL << 20)	/* minutes of loads from a slow BAR would be one call, which only SIGKILL ends */
#define REQUESTS_MAX		256ULL	/* fit_requests() raises the queue depth up to here */
#define KNOWN_FLAGS	(DONARD_COPY_VERIFY | DONARD_COPY_ALLOW_BOUNCE | \
			 DONARD_COPY_ALLOW_UNLISTED | DONARD_COPY_FORCE_BOUNCE | \
			 DONARD_COPY_PASSTHROUGH | DONARD_COPY_KEEP_REST)

static int take_options(struct dnd_copy *copy, const struct donard_copy_options *options)
{
	int rc = options ? DND_TAKE(copy->ctx, &copy->options, options, "donard_copy_options") : 0;

	if (rc)
		return rc;
	if (copy->options.flags & ~KNOWN_FLAGS)
		return dnd_fail_member(copy->ctx, DND_E_BAD_OPTION, DND_VALUE("options.flags", copy->options.flags & ~KNOWN_FLAGS),
				       "unknown copy flags %#x.",
				       copy->options.flags & ~KNOWN_FLAGS);
	if (!copy->options.block_bytes)
		copy->options.block_bytes = DEFAULT_BLOCK_BYTES;
	if (!copy->options.queue_depth)
		copy->options.queue_depth = DEFAULT_QUEUE_DEPTH;
	return 0;
}

static const struct dnd_generic *generic_of(const struct dnd_side *side)
{
	return side->generic.fd >= 0 ? &side->generic : NULL;
}

/* The window that holds the requests' memory; NULL if that is DRAM. */
static const struct dnd_window *window_of(const struct dnd_copy *copy)
{
	return copy->bounced ? NULL : &dnd_copy_memory(copy)->window;
}

static struct dnd_place place_of(const struct dnd_side *side)
{
	return side->is_memory ? dnd_copy_place(side, 0) : (struct dnd_place){ 0 };
}

/*
 * Registering pins all memory once, page by page.  That pays for buffers, which the
 * lanes use again and again.  Memory that is read or written once is pinned faster
 * by each request.  Large folios are the exception: each takes a single step, or none
 * if the region registers its memory with the ring itself (ring/buffers.c).  Memory
 * that a GPU's driver may take back is not registered at all (queue/register.c).
 */
static bool pays_to_register(struct dnd_copy *copy)
{
	const struct dnd_region *region = dnd_copy_region(copy);

	return copy->buffers || (region->info.flags & P2PMEM_REGION_FOLIOS && !dnd_region_may_revoke(region));
}

/* An old file grows with each request behind its end, so its length covers no missing bytes if this program dies. */
static uint64_t ordered_from(const struct dnd_copy *copy)
{
	if (!dnd_copy_into_old_file(copy))
		return UINT64_MAX;
	return dnd_max(copy->dst.drive.size_bytes, copy->dst.offset) - copy->dst.offset;
}

static void plan_transfer(struct dnd_copy *copy)
{
	copy->transfer = (struct dnd_transfer){
		.plan = &copy->plan,
		.read_fd = copy->src.is_memory ? -1 : copy->src.drive.fd,
		.write_fd = copy->dst.is_memory ? -1 : copy->dst.drive.fd,
		.read_offset = copy->src.offset,
		.write_offset = copy->dst.offset,
		.read_generic = generic_of(&copy->src),
		.write_generic = generic_of(&copy->dst),
		.source = place_of(&copy->src),
		.target = place_of(&copy->dst),
		.buffers = copy->buffers,
		.region = copy->bounced ? NULL : dnd_memory_giver(dnd_copy_memory(copy)),
		.window = window_of(copy),
		.ordered_from = ordered_from(copy),
		.registers = pays_to_register(copy),
		.progress_fn = dnd_copy_progress,
		.progress_user = copy,
	};
}

/* Does everything that the kernel may refuse, before the proof writes to the destination. */
static int open_engine(struct dnd_copy *copy)
{
	int rc;

	if (copy->src.is_memory && copy->dst.is_memory)
		return 0;
	plan_transfer(copy);
	rc = dnd_engine_open(&copy->transfer, &copy->engine);
	if (rc)
		return dnd_fail_uring(copy->ctx, -rc, copy->transfer.read_generic || copy->transfer.write_generic);
	return dnd_copy_passthrough_begin(copy);
}

static void close_engine(struct dnd_copy *copy)
{
	dnd_engine_close(copy->engine);
	copy->engine = NULL;
}

static int run_engine(struct dnd_copy *copy)
{
	const struct dnd_transfer *transfer = &copy->transfer;
	int rc = dnd_engine_run(copy->engine);

	dnd_copy_passthrough_end(copy);
	copy->nvme_status = transfer->nvme_status;
	copy->result->bytes = transfer->gapless_bytes;
	copy->touched_end = dnd_max(copy->touched_end, transfer->touched_bytes);	/* a proof may have left some */
	copy->result->fixed_buffers = transfer->fixed_buffers;
	copy->result->aio = transfer->aio;
	/* The engine has the region's memory registered; a removal would wait for it through all that follows. */
	close_engine(copy);
	if (rc)
		return dnd_copy_failed(copy, transfer->failed_step, transfer->failed_offset, -rc);
	rc = dnd_copy_tail(copy);
	if (!rc)
		copy->result->bytes = copy->length;
	return rc;
}

static int move_bytes(struct dnd_copy *copy)
{
	bool cpu = copy->src.is_memory && copy->dst.is_memory;
	int rc = cpu ? dnd_copy_cpu(copy) : run_engine(copy);

	if (copy->bounced)
		copy->result->bounced_bytes = copy->result->bytes;
	return rc;
}

/* Goes through DRAM after all.  That is other memory, so it needs another ring. */
static int fall_back(struct dnd_copy *copy)
{
	int rc;

	close_engine(copy);
	rc = dnd_copy_map_bounce(copy);
	return rc ? rc : open_engine(copy);
}

/*
 * The blocks of a new file are reserved before the proof, which asks where they lie.  Blocks behind the end of an old
 * file are reserved after the proof, because the proof ends by restoring the file's length, which frees them.
 */
static int reserve(struct dnd_copy *copy, bool unnamed)
{
	if (copy->dst.is_memory || copy->dst.drive.unnamed != unnamed)
		return 0;
	return dnd_drive_prepare(copy->ctx, &copy->dst.drive, copy->dst.offset + copy->length);
}

/* Checks what concerns the destination itself and not the way to it, so that a bounce would not help. */
static int check_destination(struct dnd_copy *copy)
{
	int rc = copy->dst.is_memory ? 0 :
		 dnd_drive_check_limit(copy->ctx, &copy->dst.drive, copy->dst.offset + copy->length);

	return rc ? rc : reserve(copy, true);
}

/* Nobody named the region that was to carry the data, and others have taken its memory since it was chosen. */
static bool lacks_staging(const struct dnd_copy *copy, int rc)
{
	return rc == -ENOSPC && copy->staging && !copy->staging->window.data && !copy->options.via;
}

static bool bounce_helps(const struct dnd_copy *copy, int rc)
{
	return dnd_join_bounce_helps(&copy->src.join, rc) || dnd_join_bounce_helps(&copy->dst.join, rc) ||
	       lacks_staging(copy, rc);
}

/* If the proof fails, the copy bounces if the caller allows that. */
static int map_and_prove(struct dnd_copy *copy)
{
	int rc = dnd_copy_map(copy);

	if (!rc)
		rc = open_engine(copy);
	if (!rc)
		rc = dnd_copy_prove(copy);
	if (bounce_helps(copy, rc) && !copy->bounced && dnd_copy_flag(copy, DONARD_COPY_ALLOW_BOUNCE))
		rc = fall_back(copy);
	return rc ? rc : reserve(copy, false);
}

static void name_leg(const struct dnd_copy *copy, const struct dnd_side *side, size_t index,
		     struct donard_leg *leg)
{
	const struct dnd_join_legs *legs = &side->join.legs;
	uint32_t proven = side == &copy->dst ? legs->written : legs->read;
	bool has_paths = dnd_blockdev_has_paths(dnd_blockdev_leg(&side->drive.blockdev, index));
	const char *name, *under;

	dnd_blockdev_leg_names(&side->drive.blockdev, index, &name, &under);
	snprintf(leg->name, sizeof(leg->name), "%s", name);
	snprintf(leg->under, sizeof(leg->under), "%s", under);
	leg->route = copy->bounced ? DONARD_ROUTE_BOUNCED : legs->routes[index];
	leg->route_evidence = copy->bounced || (proven & 1U << index && !has_paths) ? DONARD_EVIDENCE_PROVEN :
										    DONARD_EVIDENCE_PREDICTED;
}

static void name_legs(struct dnd_copy *copy, const struct dnd_side *side)
{
	struct donard_copy_result *result = copy->result;

	if (side->is_memory || !side->drive.blockdev.stack)
		return;
	for (size_t i = 0; i < dnd_blockdev_leg_count(&side->drive.blockdev); i++)
		name_leg(copy, side, i, &result->legs[result->leg_count++]);
}

static void name_route(struct dnd_copy *copy)
{
	struct donard_copy_result *result = copy->result;

	if (copy->bounced)
		result->route = DONARD_ROUTE_BOUNCED;
	else
		result->route = copy->worst ? copy->worst->route.route : DONARD_ROUTE_CPU;
	if (copy->bounced || result->route == DONARD_ROUTE_CPU)
		result->route_evidence = DONARD_EVIDENCE_PROVEN;	/* the CPU moves the bytes itself */
	if (dnd_copy_staged(copy) && !copy->bounced)
		snprintf(result->via, sizeof(result->via), "%s", copy->via.name);
	if (copy->worst)
		snprintf(result->bridge, sizeof(result->bridge), "%s", copy->worst->route.bridge);
	name_legs(copy, &copy->src);
	name_legs(copy, &copy->dst);
}

static int move_timed(struct dnd_copy *copy)
{
	double start = dnd_now_seconds();
	int rc = dnd_copy_check_resets(copy, move_bytes(copy));

	copy->has_moved = !rc && dnd_copy_regions_answer(copy);
	if (!rc)
		rc = dnd_copy_settle(copy);
	copy->has_settled = !rc;
	copy->result->seconds = dnd_now_seconds() - start;
	return rc;
}

/* Moves the bytes between the caller's begin and end functions, if it set any. */
static int move_interval(struct dnd_copy *copy)
{
	struct dnd_interval interval = {
		.begin_fn = copy->options.begin_fn, .end_fn = copy->options.end_fn, .user = copy->options.interval_user,
	};
	int rc;

	if (copy->dram)
		dnd_interval_add(&interval, copy->buffers, copy->plan.block_bytes * copy->plan.lanes);
	rc = dnd_interval_begin(copy->ctx, &interval);
	return rc ? rc : dnd_interval_end(copy->ctx, &interval, move_timed(copy));
}

static int move_and_settle(struct dnd_copy *copy)
{
	int rc = check_destination(copy);

	if (!rc)
		rc = map_and_prove(copy);
	if (!rc) {
		name_route(copy);
		dnd_copy_watch_begin(copy);
		rc = move_interval(copy);
	}
	if (rc)
		dnd_copy_settle_failed(copy);
	return rc;
}

/* A copy of no bytes counts as verified, because nothing can differ. */
static int copy_nothing(struct dnd_copy *copy)
{
	copy->result->verified = dnd_copy_flag(copy, DONARD_COPY_VERIFY);
	copy->result->bounced_evidence = DONARD_BOUNCE_CERTAIN;
	return dnd_copy_settle_nothing(copy);
}

static uint64_t request_limit(const struct dnd_copy *copy, const struct dnd_side *side)
{
	uint64_t limit = side->generic.fd >= 0 ? side->generic.limit_bytes :
						 side->drive.blockdev.request_bytes;

	if (side->is_memory || limit < copy->align)
		return copy->options.block_bytes;
	return dnd_round_down(limit, copy->align);
}

/*
 * Makes no request longer than a command of the drive, and keeps as many bytes in
 * flight as the caller asked for.  The kernel splits a longer request, but not one
 * of io_uring, which may not sleep: the kernel refuses it, and a worker thread of
 * io_uring tries again (block/blk-merge.c, bio_submit_split(), REQ_NOWAIT).
 */
static void fit_requests(struct dnd_copy *copy)
{
	struct donard_copy_options *options = &copy->options;
	uint64_t block, pieces;

	if (copy->src.is_memory && copy->dst.is_memory)
		options->block_bytes = dnd_min(options->block_bytes, CPU_BLOCK_BYTES);
	block = dnd_min(request_limit(copy, &copy->src), request_limit(copy, &copy->dst));
	if (block >= options->block_bytes)
		return;
	pieces = (options->block_bytes + block - 1) / block;
	if (options->queue_depth < REQUESTS_MAX)
		options->queue_depth = (uint32_t)dnd_min(options->queue_depth * pieces, REQUESTS_MAX);
	options->block_bytes = block;
}

int dnd_copy_begin(struct dnd_copy *copy, struct donard_context *ctx, const struct donard_copy_options *options,
		   struct donard_copy_result *result)
{
	int rc = dnd_struct_check(ctx, result, "donard_copy_result");

	*copy = (struct dnd_copy){
		.ctx = ctx,
		.result = &copy->found,
		.found = { .size = sizeof(copy->found) },
		.given = rc ? NULL : result,
		.src = { .drive = { .fd = -1 }, .generic = { .fd = -1 }, .region = { .fd = -1 } },
		.dst = { .drive = { .fd = -1 }, .generic = { .fd = -1 }, .region = { .fd = -1 } },
		.via = { .fd = -1 },
	};
	if (!rc)
		rc = take_options(copy, options);
	copy->src.offset = copy->options.src_offset_bytes;
	copy->dst.offset = copy->options.dst_offset_bytes;
	return rc;
}

static int allocate(struct dnd_copy *copy)
{
	int rc = dnd_copy_gpu_alloc(copy, &copy->src);

	return rc ? rc : dnd_copy_gpu_alloc(copy, &copy->dst);
}

/* Completes the result if everything was moved and flushed, even if the caller's end function failed. */
static int end_watch(struct dnd_copy *copy, int rc)
{
	struct dnd_failure first = dnd_failure_keep(copy->ctx);
	int late = copy->has_settled ? dnd_copy_watch_end(copy) : 0;

	if (!rc)
		return late;
	dnd_failure_put_back(copy->ctx, &first);
	return rc;
}

int dnd_copy_run(struct dnd_copy *copy)
{
	int rc = dnd_copy_check(copy);

	if (!rc && !copy->length)
		return copy_nothing(copy);
	if (!rc)
		rc = dnd_copy_passthrough_open(copy);
	if (!rc)
		fit_requests(copy);
	if (!rc)
		rc = dnd_copy_check_adopted(copy);
	if (!rc)
		rc = allocate(copy);
	if (!rc)
		rc = dnd_copy_choose_route(copy);
	if (!rc)
		rc = dnd_copy_passthrough_check(copy);
	if (!rc)
		rc = move_and_settle(copy);
	rc = end_watch(copy, rc);
	if (!rc && dnd_copy_flag(copy, DONARD_COPY_VERIFY))
		rc = dnd_copy_verify(copy);
	if (!rc)
		rc = dnd_copy_check_name(copy);
	return dnd_copy_check_resets(copy, rc);
}

/*
 * Nothing is in flight any more, and the engine, which has memory registered, goes first.  The handles go last, because all
 * before them use their descriptors: the destination's before the source's, as they were opened the other way round.
 */
static void clean_up(struct dnd_copy *copy)
{
	dnd_copy_watch_free(copy);
	close_engine(copy);
	dnd_copy_unmap(copy);
	dnd_generic_close(&copy->dst.generic);
	dnd_generic_close(&copy->src.generic);
	dnd_memory_put(copy->dst.memory);
	dnd_file_put(copy->dst.file);
	dnd_memory_put(copy->src.memory);
	dnd_file_put(copy->src.file);
}

int dnd_copy_end(struct dnd_copy *copy, int rc)
{
	if (rc && copy->given)
		dnd_copy_tell_left(copy);
	clean_up(copy);
	if (copy->given)
		dnd_struct_give(copy->given, copy->result, sizeof(copy->found));
	return rc;
}
