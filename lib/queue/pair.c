// SPDX-License-Identifier: Apache-2.0
/*
 * Decides by which way requests go between a file and a memory.  It does so at the first
 * request of each direction, and proves the way as a copy does (join/prove.c).  It does
 * not remember a refusal: the next request asks again.
 */
#include <stdlib.h>

#include "queue/queue.h"

#define ASK_EVERY_SECONDS	1.0
#define TRY_EVERY_SECONDS	1.0

static struct dnd_join join_of(const struct donard_queue *queue, const struct dnd_queue_request *request)
{
	const struct donard_memory *memory = request->memory;
	struct dnd_join join = {
		.ctx = queue->ctx,
		.region = memory && dnd_memory_is_region(memory) ? &memory->region : NULL,
		.drive = &request->file->drive,
		.generic = request->generic,
		.align = request->file->drive.align_bytes,
	};

	if (queue->options.flags & DONARD_QUEUE_ALLOW_BOUNCE)
		join.leave |= DND_JOIN_BOUNCE;
	if (queue->options.flags & DONARD_QUEUE_ALLOW_UNLISTED)
		join.leave |= DND_JOIN_UNLISTED;
	return join;
}

static struct dnd_proof proof_of(const struct dnd_queue_request *request)
{
	return (struct dnd_proof){
		.offset = request->file_offset,
		.blocks = request->length / request->file->drive.align_bytes,
	};
}

/* Proves in the request's own memory, and then puts back what that held. */
static int prove_read(struct dnd_join *join, const struct dnd_queue_request *request, bool *proven)
{
	const struct dnd_proof proof = proof_of(request);
	const struct dnd_place place = dnd_memory_place(request->memory, request->memory_offset);
	uint8_t *kept = malloc(join->align);
	int rc, back;

	if (!kept)
		return dnd_fail_memory(join->ctx);
	rc = dnd_place_load(&place, kept, join->align);
	if (!rc) {
		rc = dnd_join_prove_read(join, &proof, &place, proven);
		back = dnd_place_store(&place, kept, join->align);
		if (!rc && back)
			rc = dnd_place_failed(join->ctx, &place, join->region, -back);
	} else {
		rc = dnd_place_failed(join->ctx, &place, join->region, -rc);
	}
	free(kept);
	return rc;
}

/*
 * Proves the route by a write of the request's first block, before the request.  Proves nothing if the region has no spare
 * blocks.
 */
static int prove_write(struct dnd_join *join, const struct dnd_queue_request *request, bool *proven)
{
	const struct dnd_proof proof = proof_of(request);
	const struct dnd_place from = dnd_memory_place(request->memory, request->memory_offset);
	struct dnd_spare spare = { .memory = NULL };
	int rc;

	rc = dnd_spare_take(join->ctx, &spare, join->region->name, join->align);
	if (rc) {
		*proven = false;
		return rc < 0 ? rc : 0;
	}
	rc = dnd_join_prove_write(join, &proof, &from, &spare.place, proven);
	dnd_spare_give(&spare);
	return rc;
}

static int prove(struct donard_queue *queue, struct dnd_join *join,
		 const struct dnd_queue_request *request, bool *proven)
{
	queue->info.proofs++;
	return request->kind == DND_IO_READ ? prove_read(join, request, proven) :
					      prove_write(join, request, proven);
}

/* Checks file, route and commands, then moves a block, in the order of donard_copy(). */
static int judge(struct donard_queue *queue, struct dnd_join *join,
		 const struct dnd_queue_request *request, bool *proven)
{
	int rc = dnd_join_check_file(join);

	if (rc || join->bounced)
		return rc;
	rc = dnd_join_probe(join);
	if (!rc)
		rc = dnd_join_decide(join);
	if (!rc)
		rc = dnd_join_check_commands(join);
	if (!rc && !join->bounced)
		rc = prove(queue, join, request, proven);
	if (dnd_join_bounce_helps(join, rc) && join->leave & DND_JOIN_BOUNCE) {
		join->bounced = true;
		return 0;
	}
	return rc;
}

/*
 * The route stays unproven: the CPU, which would compare a block, may have no mapping, and the exporter does not say where the
 * memory lies.
 */
static bool import_by_drive(struct donard_queue *queue, const struct dnd_queue_request *request, struct dnd_pair *pair)
{
	pair->attaches = dnd_queue_attach(queue, request);
	pair->reads = pair->writes = pair->attaches;	/* no more, where it was and is refused now */
	pair->bounced = pair->read_proven = pair->write_proven = false;
	pair->route.route = DONARD_ROUTE_NONE;
	return pair->attaches;
}

/* For DRAM, or a dma-buf of another exporter, which may have no pages that a drive reaches. */
static int decide_without_region(struct donard_queue *queue, const struct dnd_queue_request *request,
				 struct dnd_pair *pair)
{
	int rc;

	if (import_by_drive(queue, request, pair))
		return 0;
	rc = dnd_memory_check_mapped(request->memory);
	if (rc)		/* nothing could bounce it */
		return rc;
	rc = dnd_memory_check_direct(request->memory, request->memory_offset, request->length);
	if (rc && !dnd_queue_may_bounce(queue))
		return rc;
	pair->bounced = rc;
	pair->route.route = rc ? DONARD_ROUTE_BOUNCED : DONARD_ROUTE_DRAM;
	pair->reads = pair->writes = true;
	pair->read_proven = pair->write_proven = true;
	return 0;
}

static int decide(struct donard_queue *queue, const struct dnd_queue_request *request,
		  struct dnd_pair *pair)
{
	struct dnd_join join = join_of(queue, request);
	bool proven = true;
	int rc;

	join.legs = pair->legs;
	if (!join.region)
		return decide_without_region(queue, request, pair);
	rc = judge(queue, &join, request, &proven);
	if (rc)
		return rc;
	pair->route = join.route;
	memcpy(pair->client, join.client, sizeof(pair->client));
	pair->leg = join.leg;
	pair->legs = join.legs;
	pair->bounced = join.bounced;
	if (request->kind == DND_IO_READ || pair->bounced) {
		pair->reads = true;
		pair->read_proven = proven;
	}
	if (request->kind == DND_IO_WRITE || pair->bounced) {
		pair->writes = true;
		pair->write_proven = proven;
	}
	return 0;
}

static bool is_of(const struct dnd_pair *pair, const struct dnd_queue_request *request)
{
	return pair->file == request->file->handle.identity &&
	       pair->memory == request->memory->handle.identity;
}

static struct dnd_pair *look_up(const struct donard_queue *queue, const struct dnd_queue_request *request)
{
	for (size_t i = 0; i < queue->pair_count; i++)
		if (is_of(&queue->pairs[i], request))
			return (struct dnd_pair *)&queue->pairs[i];
	return NULL;
}

/* Adds a pair; if there is no room, it replaces the oldest. */
static struct dnd_pair *add(struct donard_queue *queue, const struct dnd_queue_request *request)
{
	struct dnd_pair *pair = &queue->pairs[queue->next_pair++];

	queue->pair_count = dnd_max(queue->pair_count, queue->next_pair);
	queue->next_pair %= DND_PAIRS_MAX;
	*pair = (struct dnd_pair){
		.file = request->file->handle.identity,
		.memory = request->memory->handle.identity,
		.asked_seconds = -ASK_EVERY_SECONDS,	/* the file was opened some time ago */
	};
	return pair;
}

struct dnd_join dnd_pair_join_of(const struct donard_queue *queue,
				 const struct dnd_queue_request *request)
{
	const struct dnd_pair *pair = request->memory ? look_up(queue, request) : NULL;
	struct dnd_join join = join_of(queue, request);

	join.bounced = request->dram;
	if (!pair)
		return join;
	join.proven = request->kind == DND_IO_READ ? pair->read_proven : pair->write_proven;
	join.route = pair->route;
	memcpy(join.client, pair->client, sizeof(join.client));
	join.leg = pair->leg;
	return join;
}

/* The proofs hold only for the devices that the drive consisted of when it was opened. */
static int check_unchanged(struct donard_queue *queue, const struct dnd_queue_request *request, struct dnd_pair *pair)
{
	const struct dnd_drive *drive = &request->file->drive;
	struct dnd_join join = join_of(queue, request);
	int rc = dnd_join_check_unchanged(&join);

	if (rc)
		return rc;
	if (join.bounced) {
		pair->bounced = true;
		pair->reads = pair->writes = true;
		pair->read_proven = pair->write_proven = true;
	}
	/* A leg that replaced another has had no proof. */
	if (dnd_blockdev_legs_in_use(&drive->blockdev) & ~pair->legs.read)
		pair->read_proven = pair->bounced;
	return 0;
}

/* Can such a drive change in a way that the queue can find out? */
static bool may_change(const struct dnd_drive *drive)
{
	return drive->is_file || drive->blockdev.stack || drive->blockdev.multipath || drive->blockdev.has_checksums;
}

/* Asks now and then whether the file goes through DRAM by now, and if so has its pair judged again. */
static int ask_again(struct donard_queue *queue, const struct dnd_queue_request *request,
		     struct dnd_pair *pair)
{
	struct dnd_drive *drive = &request->file->drive;
	int rc = 0;

	if (!may_change(drive) || pair->bounced || pair->attaches || pair->route.route == DONARD_ROUTE_DRAM)
		return 0;
	if (queue->looked_seconds - pair->asked_seconds >= ASK_EVERY_SECONDS) {
		rc = check_unchanged(queue, request, pair);
		if (!rc)
			rc = dnd_drive_ask_again(queue->ctx, drive);
		if (rc)		/* the next request asks again */
			return rc;
		pair->asked_seconds = queue->looked_seconds;
	}
	if (drive->bounce && !pair->bounced)
		pair->reads = pair->writes = false;
	return 0;
}

void dnd_pairs_judge_again(struct donard_queue *queue, const struct donard_file *file)
{
	for (size_t i = 0; i < queue->pair_count; i++)
		if (queue->pairs[i].file == file->handle.identity)
			queue->pairs[i].asked_seconds = -ASK_EVERY_SECONDS;
}

/*
 * Does this write go to a leg for the first time?  Also notes if it may go to an unknown leg, as a write into a hole of
 * a file may.  A drive has no legs.
 */
static bool meets_new_leg(const struct dnd_queue_request *request, struct dnd_pair *pair)
{
	const struct dnd_drive *drive = &request->file->drive;
	uint32_t untried, legs;
	bool all = true;

	if (!drive->blockdev.stack || pair->bounced || pair->route.route == DONARD_ROUTE_DRAM)
		return false;
	/* Once all legs have been tried, spare the system call that locates the bytes. */
	untried = dnd_blockdev_legs_in_use(&drive->blockdev) & ~pair->legs.tried;
	if (!untried)
		return false;
	legs = dnd_join_legs_of(drive, request->file_offset, request->length, &all);
	if (!all) {
		pair->legs.unknown = true;
		pair->write_proven = false;
	}
	return legs & untried;
}

/* Is the way decided?  A way that was only predicted is tried again now and then, because other blocks may prove it. */
static bool is_settled(const struct donard_queue *queue, const struct dnd_queue_request *request,
		       struct dnd_pair *pair)
{
	bool reads = request->kind == DND_IO_READ;

	if (!(reads ? pair->reads : pair->writes) || (!reads && meets_new_leg(request, pair)))
		return false;
	if (pair->attaches && !dnd_queue_attached(queue, request))	/* the program unregistered the memory */
		return false;
	return (reads ? pair->read_proven : pair->write_proven) ||
	       queue->looked_seconds - pair->tried_seconds < TRY_EVERY_SECONDS;
}

int dnd_pair_find(struct donard_queue *queue, const struct dnd_queue_request *request,
		  struct dnd_pair **found)
{
	struct dnd_pair *pair = queue->latest;
	int rc;

	if (!pair || !is_of(pair, request))
		pair = look_up(queue, request);
	if (!pair)
		pair = add(queue, request);
	queue->latest = *found = pair;
	rc = ask_again(queue, request, pair);
	if (rc)
		return rc;
	if (is_settled(queue, request, pair))
		return 0;
	pair->tried_seconds = dnd_now_seconds();
	rc = decide(queue, request, pair);
	if (rc)		/* a way that was predicted before turned out to be refused */
		*(request->kind == DND_IO_READ ? &pair->reads : &pair->writes) = false;
	return rc;
}
