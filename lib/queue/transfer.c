// SPDX-License-Identifier: Apache-2.0
/*
 * The transfer of a request: parts that are in flight together, each one command of the
 * drive.  This file cuts the request, not the kernel.  io_uring may not sleep when it
 * submits, so the kernel refuses a request that it has to split (block/blk-merge.c,
 * bio_submit_split(), REQ_NOWAIT), and a worker thread of io_uring would try again.
 */
#include <stdlib.h>

#include "queue/queue.h"

#define PARTS_AT_A_TIME	64
#define PARTS_MAX	65536	/* of all requests together; a single request may have more */

static int more_parts(struct donard_queue *queue)
{
	struct dnd_part **chunks = realloc(queue->chunks, (queue->chunk_count + 1) * sizeof(*chunks));
	struct dnd_part *parts;

	if (!chunks)
		return -ENOMEM;
	queue->chunks = chunks;
	parts = calloc(PARTS_AT_A_TIME, sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	queue->chunks[queue->chunk_count++] = parts;
	for (size_t i = 0; i < PARTS_AT_A_TIME; i++) {
		parts[i].next = queue->idle_parts;
		queue->idle_parts = &parts[i];
	}
	queue->idle_part_count += PARTS_AT_A_TIME;
	return 0;
}

static void recycle_part(struct donard_queue *queue, struct dnd_part *part)
{
	if (part->next)
		part->next->previous = part->previous;
	if (part->previous)
		part->previous->next = part->next;
	else
		part->request->first_part = part->next;
	part->next = queue->idle_parts;
	queue->idle_parts = part;
	queue->idle_part_count++;
}

static struct dnd_part *take_part(struct donard_queue *queue)
{
	struct dnd_part *part = queue->idle_parts;

	queue->idle_parts = part->next;
	queue->idle_part_count--;
	return part;
}

static uint64_t part_bytes(const struct dnd_queue_request *request)
{
	const struct dnd_drive *drive = &request->file->drive;
	uint64_t limit = request->generic ? request->generic->limit_bytes : drive->blockdev.request_bytes;

	if (dnd_queue_request_is_plain(request) || limit < drive->align_bytes)
		return request->length;
	return dnd_round_down(limit, drive->align_bytes);
}

static void add_part(struct donard_queue *queue, struct dnd_queue_request *request, uint64_t at, const struct dnd_io *io)
{
	struct dnd_part *part = take_part(queue);

	part->request = request;
	part->previous = NULL;
	part->next = request->first_part;
	if (part->next)
		part->next->previous = part;
	request->first_part = part;
	part->at = at;
	part->io = *io;
	request->parts++;
	dnd_io_start(&queue->ring, &part->io);
}

static void start_part(struct donard_queue *queue, struct dnd_queue_request *request, uint64_t at,
		       uint64_t bytes)
{
	uint8_t *memory = request->dram;
	struct dnd_io io;

	if (request->attached)
		memory = (uint8_t *)(uintptr_t)(request->memory->dmabuf_offset + request->memory_offset);
	else if (!memory && request->memory)
		memory = request->memory->window.data + request->memory_offset;
	io = (struct dnd_io){
		.kind = request->kind,
		.fd = request->fd,
		.generic = request->generic,
		.offset_bytes = request->file_offset + at,
		.memory = memory + at,
		.length_bytes = bytes,
		.align_bytes = dnd_queue_request_is_plain(request) ? 1 : request->file->drive.align_bytes,
		.buffers = request->registration ? &request->registration->buffers : NULL,
		.attached = request->attached,
		.gives_way = at > 0,
	};
	add_part(queue, request, at, &io);
}

int dnd_queue_transfer_reserve(struct donard_queue *queue, const struct dnd_queue_request *request)
{
	uint64_t parts = request->length / dnd_max(part_bytes(request), 1) + 1;
	uint64_t busy = queue->chunk_count * PARTS_AT_A_TIME - queue->idle_part_count;

	if (busy && busy + parts > PARTS_MAX)
		return dnd_fail(queue->ctx, DND_E_QUEUE_FULL, "the requests in flight take %llu commands, and this one "
				"takes %llu more: too many. Take completions first.", (unsigned long long)busy,
				(unsigned long long)parts);
	while (queue->idle_part_count < parts)
		if (more_parts(queue))
			return dnd_fail_memory(queue->ctx);
	return 0;
}

void dnd_queue_transfer_start(struct donard_queue *queue, struct dnd_queue_request *request)
{
	uint64_t step = dnd_max(part_bytes(request), 1);
	uint64_t at = 0;

	request->ended_at = UINT64_MAX;
	request->error = 0;
	request->dram_answer = DND_DRAM_ASK_LATER;
	do {
		start_part(queue, request, at, dnd_min(step, request->length - at));
		at += step;
	} while (at < request->length);
}

void dnd_queue_transfer_cancel(struct donard_queue *queue, struct dnd_queue_request *request)
{
	request->ends = true;
	for (struct dnd_part *part = request->first_part; part; part = part->next)
		dnd_io_cancel(&queue->ring, &part->io);
}

/* ---- the end of a request ---- */

struct dnd_told *dnd_told_make(const struct donard_context *ctx, struct donard_completion *completion)
{
	struct dnd_told *told = malloc(sizeof(*told));

	completion->error_code = donard_error_code(ctx);
	completion->error = "";
	if (!told)
		return NULL;
	told->failure = dnd_failure_keep(ctx);
	told->data = dnd_failure_data(&told->failure);
	completion->error = told->failure.text;
	completion->failure = &told->data;
	return told;
}

void dnd_queue_count(struct donard_queue *queue, const struct donard_completion *completion)
{
	struct donard_queue_info *info = &queue->info;

	info->requests++;
	if (completion->result <= 0)
		return;
	info->bytes += (uint64_t)completion->result;
	if (completion->flags & DONARD_COMPLETION_BOUNCED)
		info->bounced_bytes += (uint64_t)completion->result;
	if (completion->flags & DONARD_COMPLETION_REGISTERED)
		info->registered_requests++;
}

void dnd_queue_request_end(struct donard_queue *queue, struct dnd_queue_request *request, int64_t result)
{
	request->completion.result = result;
	request->completion.error_code = request->completion.error = "";
	if (result < 0)
		request->told = dnd_told_make(queue->ctx, &request->completion);
	if (request->registration && !--request->registration->users && request->registration->leaving)
		queue->looked_seconds = 0;	/* its last request has ended: drop the registration soon */
	dnd_queue_count(queue, &request->completion);
	queue->working--;
	queue->plain_working -= dnd_queue_request_is_plain(request);
	queue->done_count++;
	dnd_list_add(&queue->done, request);
}

void dnd_queue_request_recycle(struct donard_queue *queue, struct dnd_queue_request *request)
{
	free(request->told);
	free(request->dram);
	free(request->asks);
	if (request->file)
		dnd_file_put(request->file);
	dnd_memory_put(request->memory);
	memset(request, 0, sizeof(*request));
	request->next = queue->idle;
	queue->idle = request;
}

void dnd_queue_forget_told(struct donard_queue *queue)
{
	struct dnd_told *told;

	while ((told = queue->told)) {
		queue->told = told->next;
		free(told);
	}
}

/* ---- completions of parts ---- */

/* The errno that tells that the memory of the request was taken back, or 0. */
static int taken_back(const struct dnd_queue_request *request)
{
	return request->error == -EFAULT && request->memory ?
	       dnd_memory_taken_back(request->memory, request->memory_offset, request->length) : 0;
}

static int failure_of(struct donard_queue *queue, struct dnd_queue_request *request)
{
	struct dnd_join join;
	int taken;

	if (request->error == -ECANCELED)
		return dnd_fail(queue->ctx, DND_E_CANCELED, "%s: canceled%s", request->file->path,
				request->kind == DND_IO_WRITE && request->moved ? ", but some of the bytes have been written" : "");
	taken = taken_back(request);
	if (taken)
		return dnd_memory_access_failed(request->memory, taken);
	if (request->kind == DND_IO_FLUSH && request->error == -ENOMEM) {	/* perhaps it never began */
		dnd_fail_memory(queue->ctx);
		dnd_fail_more(queue->ctx, " %s was not flushed. Flush it again.", request->file->path);
		return -ENOMEM;
	}
	if (request->kind == DND_IO_FLUSH)
		return dnd_drive_flush_failed(queue->ctx, &request->file->drive, (int)-request->error);
	join = dnd_pair_join_of(queue, request);
	join.dram = request->dram_answer;
	return dnd_join_failed(&join, request->kind != DND_IO_READ, request->file_offset + request->ended_at,
			       (int)-request->error, request->nvme_status);
}

/* Reads the failed block into DRAM, as one more part: the drive may take long to fail it, and nobody must wait here. */
static bool ask_drive(struct donard_queue *queue, struct dnd_queue_request *request)
{
	const struct dnd_drive *drive = &request->file->drive;
	void *block;

	if (posix_memalign(&block, dnd_max((uint64_t)sysconf(_SC_PAGESIZE), drive->align_bytes), drive->align_bytes))
		return false;
	request->asks = block;
	add_part(queue, request, request->ended_at, &(struct dnd_io){
		.kind = DND_IO_READ,
		.fd = drive->fd,
		.offset_bytes = request->file_offset + request->ended_at,
		.memory = block,
		.length_bytes = drive->align_bytes,
		.align_bytes = drive->align_bytes,
	});
	dnd_ring_hand_over_soon(&queue->ring);
	return true;
}

/* The request's own failure, or -EINPROGRESS while the drive is asked. */
static int explain(struct donard_queue *queue, struct dnd_queue_request *request)
{
	int rc = failure_of(queue, request);

	if (rc != -EINPROGRESS || request->dram_answer != DND_DRAM_ASK_LATER ||
	    (!request->ends && ask_drive(queue, request)))
		return rc;
	request->dram_answer = DND_DRAM_GETS;	/* assumed, because nobody asks the drive */
	return failure_of(queue, request);
}

/* A failure goes into the completion, and does not replace the context's last failure. */
static void transfer_done(struct donard_queue *queue, struct dnd_queue_request *request)
{
	uint64_t moved = dnd_min(request->length, request->ended_at);
	struct dnd_failure before;
	int64_t result;

	if (!request->error && !request->dram) {
		dnd_queue_request_end(queue, request, (int64_t)moved);
		return;
	}
	/* This is set when the write ends, not before: a command in the meantime writes back the pages that are dirty then. */
	if (request->kind == DND_IO_WRITE && dnd_queue_request_is_plain(request))
		request->file->plain_written = true;
	before = dnd_failure_keep(queue->ctx);
	result = request->error ? explain(queue, request) : dnd_queue_bounce_deliver(request, moved);
	if (!request->asks)
		dnd_queue_request_end(queue, request, result);
	dnd_failure_put_back(queue->ctx, &before);
}

/* A read that was canceled or dropped tells nothing, so DRAM is assumed to get the block. */
static void take_answer(const struct dnd_part *part, int64_t result)
{
	struct dnd_queue_request *request = part->request;

	free(request->asks);
	request->asks = NULL;
	request->dram_answer = result >= 0 || result == -ECANCELED || part->io.dropped ? DND_DRAM_GETS : DND_DRAM_FAILS;
}

/* The first gap ends the request's result; bytes behind it do not count. */
static void part_done(struct donard_queue *queue, struct dnd_part *part, int64_t result)
{
	struct dnd_queue_request *request = part->request;
	uint64_t end = part->at + (result > 0 ? (uint64_t)result : 0);

	if (result > 0 || part->io.moved_bytes)
		request->moved = true;
	if (request->asks) {
		take_answer(part, result);
	} else if ((result < 0 || (uint64_t)result < part->io.length_bytes) && end < request->ended_at) {
		request->ended_at = end;
		request->error = result < 0 ? result : 0;
		request->nvme_status = part->io.nvme_status;
	}
	if (part->io.fixed)
		request->completion.flags |= DONARD_COMPLETION_REGISTERED;
	recycle_part(queue, part);
	if (!--request->parts)
		transfer_done(queue, request);
}

void dnd_queue_reap(struct donard_queue *queue)
{
	struct dnd_queue_request **ended = queue->done.last;
	struct dnd_io *io;
	int64_t result;

	while ((io = dnd_io_next(&queue->ring, &result)))
		part_done(queue, (struct dnd_part *)io, result);
	dnd_queue_vouch(queue, *ended);
}

/* The failure of the ring itself, which belongs to no request. */
int dnd_queue_ring_failed(struct donard_queue *queue, int rc)
{
	if (rc == -ENOMEM)	/* the kernel took no request, and may take the next */
		return dnd_fail_memory(queue->ctx);
	return dnd_fail(queue->ctx, DND_E_SYSTEM, "the queue's %s failed (%s). Close the queue, and open "
			"another one.", queue->ring.aio ? "Linux AIO" : "io_uring", strerror(-rc));
}

int dnd_queue_drain(struct donard_queue *queue, const struct dnd_queue_registration *registration)
{
	int rc = 0;

	dnd_queue_reap(queue);
	while (!rc && (registration ? registration->users : queue->working)) {
		rc = dnd_ring_enter(&queue->ring, 1);
		dnd_queue_reap(queue);
	}
	dnd_queue_tell(queue);
	return rc ? dnd_queue_ring_failed(queue, rc) : 0;
}
