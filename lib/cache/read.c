// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the newest bytes of each block from the log, or else from the drive.  The drive
 * puts them into the same memory, behind the log.  RDMA WRITEs send both to the client.
 *
 * Bytes that a read takes from the log stay there until they were sent: nothing is retired
 * meanwhile, and no read begins while records wait to be retired.
 *
 * A read is answered once its bytes have arrived and a barrier has shown that the device was not
 * reset meanwhile.  One barrier is enough for all that have arrived.
 */
#include <stdlib.h>

#include "cache/server.h"

#define FROM_LOG	UINT64_MAX

/* ---- where the bytes are ---- */

/*
 * Returns the first of @count blocks, with those that follow it contiguously: in the log, or in the place that the drive will
 * read them into.
 */
static struct dnd_cache_piece piece_of(const struct dnd_cache_server *server, const struct dnd_cache_read *read,
				       uint64_t first, uint64_t count)
{
	const struct dnd_cache_log *log = &server->log;
	uint32_t block = log->super.block_bytes;
	const struct dnd_cache_record *record;
	struct dnd_cache_extent extent;

	if (!dnd_cache_blocks_next(&log->blocks, first, count, &extent))
		extent.first = first + count;
	if (extent.first > first)
		return (struct dnd_cache_piece){
			.at = read->staging + first * block - read->request->message.drive_offset,
			.drive_offset = first * block, .length_bytes = (uint32_t)((extent.first - first) * block),
		};
	record = dnd_cache_record(log, extent.sequence);
	return (struct dnd_cache_piece){
		.at = record->data_at + first * block - record->drive_offset,
		.drive_offset = FROM_LOG, .length_bytes = (uint32_t)(extent.count * block),
	};
}

static bool continues(const struct dnd_cache_piece *last, const struct dnd_cache_piece *piece)
{
	return last->at + last->length_bytes == piece->at &&
	       (last->drive_offset == FROM_LOG) == (piece->drive_offset == FROM_LOG);
}

static void find_pieces(struct dnd_cache_server *server, struct dnd_cache_read *read)
{
	const struct dnd_wire_message *message = &read->request->message;
	uint32_t block = server->log.super.block_bytes;
	uint64_t first = message->drive_offset / block, count = message->length / block;

	read->count = 0;
	while (count) {
		struct dnd_cache_piece piece = piece_of(server, read, first, count);
		struct dnd_cache_piece *last = read->count ? &read->pieces[read->count - 1] : NULL;

		first += piece.length_bytes / block;
		count -= piece.length_bytes / block;
		if (last && continues(last, &piece))
			last->length_bytes += piece.length_bytes;
		else
			read->pieces[read->count++] = piece;
	}
}

/* ---- steps of one read ---- */

static void release(struct dnd_cache_server *server, struct dnd_cache_read *read)
{
	read->used = false;
	read->session = NULL;
	server->active_reads--;
}

static void answer(struct dnd_cache_server *server, struct dnd_cache_read *read)
{
	server->tally.counts.reads++;
	server->tally.counts.read_bytes += read->status ? 0 : read->request->message.length;
	dnd_cache_answer(read->request, read->status);
	read->request = NULL;
}

static void drive_failed(struct dnd_cache_server *server, struct dnd_cache_read *read, const char *text)
{
	if (read->status != DND_WIRE_DRIVE_FAILED)
		dnd_cache_tell(server, DONARD_CACHE_DRIVE_FAILED, "", text, 0);
	server->tally.counts.drive_errors++;
	read->status = DND_WIRE_DRIVE_FAILED;
}

/* If the drive delivers too few bytes, the memory still has those of another read, so nothing may be sent. */
static void drive_has_read(struct dnd_cache_server *server, struct dnd_cache_io *io,
			   const struct donard_completion *completion)
{
	struct dnd_cache_read *read = (struct dnd_cache_read *)io;

	read->drive_reads--;
	if (completion->result >= 0) {
		read->drive_bytes -= (uint64_t)completion->result;
		if (!read->status && !read->drive_reads && read->asked == read->count && read->drive_bytes)
			drive_failed(server, read, "the drive gave fewer bytes than it has: it is shorter than it was");
		return;
	}
	if (completion->result == -ENOMEM) {	/* the kernel lacks memory: the drive works */
		read->status = read->status ? read->status : DND_WIRE_NO_MEMORY;
		return;
	}
	drive_failed(server, read, completion->error);
	dnd_cache_check_gone(server, completion->error_code);
}

static void ask_drive(struct dnd_cache_server *server, struct dnd_cache_read *read)
{
	for (; read->asked < read->count && !read->status; read->asked++) {
		const struct dnd_cache_piece *piece = &read->pieces[read->asked];
		int rc;

		if (piece->drive_offset == FROM_LOG)
			continue;
		rc = donard_queue_read(server->queue, server->file, piece->drive_offset, server->nvram.memory,
				       piece->at, piece->length_bytes, &read->io);
		if (rc == -EAGAIN || rc == -ENOMEM)
			return;				/* the next round tries again */
		if (rc) {
			drive_failed(server, read, donard_error(server->ctx));
			dnd_cache_check_gone(server, donard_error_code(server->ctx));
			return;
		}
		server->tally.counts.drive_reads++;
		read->drive_reads++;
		read->drive_bytes += piece->length_bytes;
	}
}

/*
 * Each piece is signalled.  Soft iWARP sends the data of an unsignalled request directly from the memory that it names,
 * perhaps after the request counts as complete (siw_qp_tx.c, siw_check_sgl_tx()); by then that memory may hold other bytes.
 */
static int post_piece(struct dnd_cache_server *server, struct dnd_cache_read *read)
{
	const struct dnd_cache_piece *piece = &read->pieces[read->posted];
	struct dnd_cache_session *session = read->session;
	struct ibv_sge sge = {
		.addr = (uintptr_t)server->nvram.memory->window.data + piece->at,
		.length = piece->length_bytes,
		.lkey = session->sent.mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = DND_WR_DATA | (uint64_t)(read - server->reads),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {
			.remote_addr = read->request->message.address + read->sent_bytes,
			.rkey = read->request->message.key,
		},
	}, *bad;

	return ibv_post_send(session->link.id->qp, &wr, &bad);
}

static void send_pieces(struct dnd_cache_server *server, struct dnd_cache_read *read)
{
	while (read->posted < read->count && read->session->work_requests < DND_CACHE_READ_WRITES) {
		if (post_piece(server, read)) {
			dnd_cache_session_fail(read->session, -ECONNRESET, "requests cannot be posted");
			return;
		}
		if (!read->session->work_requests) {
			read->session->moved = dnd_now_seconds();
			read->session->sending_ns = dnd_now_ns();
		}
		read->sent_bytes += read->pieces[read->posted++].length_bytes;
		read->session->work_requests++;
		read->work_requests++;
	}
}

static void step(struct dnd_cache_server *server, struct dnd_cache_read *read)
{
	if (read->session && read->request)
		ask_drive(server, read);
	if (read->drive_reads)
		return;
	if (read->session && read->request && read->status)
		answer(server, read);
	else if (read->session && read->request && read->asked == read->count && !read->session->ends)
		send_pieces(server, read);
	if (!read->work_requests && (!read->session || !read->request))
		release(server, read);
}

/* Does the client have all its bytes, but no answer yet? */
static bool arrived(const struct dnd_cache_read *read)
{
	return read->used && read->session && read->request && !read->session->ends && !read->status && !read->drive_reads &&
	       read->asked == read->count && read->posted == read->count && !read->work_requests;
}

/* ---- all reads ---- */

static void answer_arrived(struct dnd_cache_server *server)
{
	for (unsigned int i = 0; i < DND_CACHE_READS; i++) {
		struct dnd_cache_read *read = &server->reads[i];

		if (!arrived(read))
			continue;
		if (!dnd_cache_nvram_sound(server))
			return;
		answer(server, read);
		release(server, read);
	}
}

static bool refused(struct dnd_cache_server *server, struct dnd_cache_request *request)
{
	const struct dnd_cache_super *super = &server->log.super;
	const struct dnd_wire_message *message = &request->message;

	if (message->length <= server->request_bytes_max && !(message->drive_offset % super->block_bytes) &&
	    !(message->length % super->block_bytes) &&
	    dnd_range_fits(message->drive_offset, message->length, super->drive_bytes))
		return false;
	dnd_cache_answer(request, DND_WIRE_BAD_RANGE);
	return true;
}

static struct dnd_cache_read *free_read(struct dnd_cache_server *server)
{
	for (unsigned int i = 0; i < DND_CACHE_READS; i++)
		if (!server->reads[i].used)
			return &server->reads[i];
	return NULL;
}

static void begin(struct dnd_cache_server *server, struct dnd_cache_read *read,
		  struct dnd_cache_request *request)
{
	read->used = true;
	read->status = DND_WIRE_OK;
	read->session = request->session;
	read->request = request;
	read->asked = read->posted = read->drive_reads = read->work_requests = 0;
	read->sent_bytes = read->drive_bytes = 0;
	server->active_reads++;
	find_pieces(server, read);
}

static bool has_read(const struct dnd_cache_server *server, const struct dnd_cache_session *session)
{
	for (unsigned int i = 0; i < DND_CACHE_READS; i++)
		if (server->reads[i].used && server->reads[i].session == session)
			return true;
	return false;
}

/* No client may have all places: one that does not take its bytes would hold them until it is cut off. */
static bool may_begin(const struct dnd_cache_server *server, const struct dnd_cache_session *session)
{
	if (session->ends || !session->reads.first)
		return false;
	return server->active_reads < DND_CACHE_READS - DND_CACHE_READS_SPARE || !has_read(server, session);
}

static void begin_next(struct dnd_cache_server *server, struct dnd_cache_session *session, struct dnd_cache_read *read)
{
	struct dnd_cache_request *request = dnd_cache_list_take(&session->reads);

	if (!refused(server, request))
		begin(server, read, request);
}

/* Begins one read of each client in turn. */
static void begin_in_turns(struct dnd_cache_server *server)
{
	unsigned int windows = server->log.super.windows, passed_by = 0;
	struct dnd_cache_read *read;

	while (passed_by < windows && server->destage.state != DND_DESTAGE_RETIRING && (read = free_read(server))) {
		struct dnd_cache_session *session = server->sessions[server->reads_turn];

		server->reads_turn = (server->reads_turn + 1) % windows;
		if (session && may_begin(server, session)) {
			begin_next(server, session, read);
			passed_by = 0;
		} else {
			passed_by++;
		}
	}
}

static void step_all(struct dnd_cache_server *server)
{
	for (unsigned int i = 0; i < DND_CACHE_READS; i++)
		if (server->reads[i].used)
			step(server, &server->reads[i]);
}

void dnd_cache_reads_step(struct dnd_cache_server *server)
{
	answer_arrived(server);
	if (server->ends)
		return;
	step_all(server);
	begin_in_turns(server);
	step_all(server);
}

static void sent(struct dnd_cache_server *server, uint64_t number)
{
	server->reads[number].work_requests--;
}

/* The drive may still deliver bytes for this client's reads, so their places stay taken until then. */
static void forget(struct dnd_cache_server *server, struct dnd_cache_session *session)
{
	for (unsigned int i = 0; i < DND_CACHE_READS; i++) {
		struct dnd_cache_read *read = &server->reads[i];

		if (!read->used || read->session != session)
			continue;
		read->session = NULL;
		read->request = NULL;
		read->work_requests = 0;
		step(server, read);
	}
}

int dnd_cache_reads_open(struct dnd_cache_server *server)
{
	uint64_t pieces = server->request_bytes_max / server->log.super.block_bytes;

	server->read_sent = sent;
	server->forget_reads = forget;
	for (unsigned int i = 0; i < DND_CACHE_READS; i++) {
		struct dnd_cache_read *read = &server->reads[i];

		read->io.done = drive_has_read;
		read->staging = server->log.super.length_bytes + i * (uint64_t)server->request_bytes_max;
		read->pieces = calloc(pieces, sizeof(*read->pieces));
		if (!read->pieces)
			return dnd_fail_memory(server->ctx);
	}
	return 0;
}

void dnd_cache_reads_close(struct dnd_cache_server *server)
{
	for (unsigned int i = 0; i < DND_CACHE_READS; i++)
		free(server->reads[i].pieces);
}
