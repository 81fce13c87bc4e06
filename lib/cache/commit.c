// SPDX-License-Identifier: Apache-2.0
/*
 * Takes the requests that came from all clients since the last round: APPEND of each, one
 * BARRIER for all, then the ACKs.  The bytes of a write arrive before its message (DATA): one
 * queue pair keeps the order, and if a device may hold bytes back, the client reads them back
 * before it sends the message.
 */
#include <stdlib.h>

#include "cache/server.h"

#define SUM_BYTES	(64U << 10)
#define TAKE_MS		100	/* for the requests of one round; a trim may take long (blocks.c) */
#define MS_NS		1000000ULL
#define RESERVE_PART	4	/* one place in so many is kept for clients that use less than their share of this reserve */

struct group {
	struct dnd_cache_server *server;
	struct dnd_cache_list members;	/* to be acknowledged after the barrier */
	bool mismatch;
	uint64_t until_ns;		/* takes no more requests then */
};

/* ---- writes ---- */

int dnd_cache_sum_bytes(struct dnd_cache_server *server, uint64_t at, uint64_t length, uint32_t *sum)
{
	uint8_t bytes[SUM_BYTES];
	int rc = 0;

	*sum = 0;
	for (uint64_t done = 0; done < length && !rc; done += sizeof(bytes)) {
		size_t part = dnd_min(sizeof(bytes), length - done);

		rc = server->nvram.store.read(&server->nvram.store, at + done, bytes, part);
		*sum = dnd_cache_checksum(*sum, bytes, part);
	}
	if (rc)
		dnd_cache_server_fail(server, dnd_cache_break(&server->log));
	return rc;
}

static bool range_is_sound(const struct dnd_cache_server *server, const struct dnd_wire_message *message)
{
	const struct dnd_cache_super *super = &server->log.super;

	return !(message->drive_offset % super->block_bytes) && !(message->length % super->block_bytes) &&
	       dnd_range_fits(message->drive_offset, message->length, super->drive_bytes);
}

static enum dnd_wire_status judge_write(struct group *group, const struct dnd_cache_request *request)
{
	struct dnd_cache_server *server = group->server;
	const struct dnd_wire_message *message = &request->message;
	uint64_t at = dnd_cache_window_at(&server->log, request->session->window) + message->address;
	uint32_t sum;

	if (!range_is_sound(server, message))
		return DND_WIRE_BAD_RANGE;
	if (dnd_cache_sum_bytes(server, at, message->length, &sum))
		return DND_WIRE_NVRAM_FAILED;
	if (sum == message->key)
		return DND_WIRE_OK;
	server->tally.counts.mismatches++;
	group->mismatch = true;
	return DND_WIRE_MISMATCH;
}

/* Counts the window as the client does, the bytes skipped at its end included. */
static void count_taken(struct dnd_cache_session *session, const struct dnd_cache_entry *entry, uint64_t head)
{
	if (entry->at != head)
		session->taken_bytes += session->server->log.super.window_bytes - head;
	session->taken_bytes += entry->length_bytes;
}

static void note_time(struct dnd_cache_server *server, uint64_t sequence)
{
	server->written_ns = dnd_now_ns();
	server->appended_ns[sequence % server->log.super.records] = server->written_ns;
}

/*
 * Fails for a write that no correct client sends; the failure ends the client's connection.  After bytes that are
 * not whole blocks, all later bytes in the window would lie where no drive can fetch them.
 */
static int check_write(struct dnd_cache_server *server, const struct dnd_cache_entry *entry)
{
	if (entry->length_bytes > server->request_bytes_max || entry->length_bytes % server->log.super.block_bytes)
		return dnd_fail(server->ctx, DND_E_PROTOCOL, "a client wrote %llu bytes in one request, which has to be whole "
				"blocks of %u bytes, and %u bytes at most", (unsigned long long)entry->length_bytes,
				server->log.super.block_bytes, server->request_bytes_max);
	return dnd_cache_check_turn(&server->log, entry);
}

/* ---- the places of records ---- */

static uint64_t free_places(const struct dnd_cache_log *log)
{
	return log->super.records - (log->next - log->tail);
}

/* A trim costs its client nothing but a record, so trims take nothing of the reserve: they would fill it in no time. */
static bool trim_has_place(const struct dnd_cache_log *log)
{
	return free_places(log) > log->super.records / RESERVE_PART;
}

/* No client can fill the log for the others: a client that has little in it finds a place even if the drive is slow. */
static bool write_has_place(const struct dnd_cache_log *log, unsigned int window)
{
	uint64_t share = log->super.records / RESERVE_PART / log->super.windows;

	return trim_has_place(log) || (free_places(log) && log->windows[window].records < share);
}

/* -EAGAIN: the request and all behind it have to wait.  Any other failure ends the client. */
static int append_write(struct group *group, struct dnd_cache_request *request)
{
	struct dnd_cache_server *server = group->server;
	struct dnd_cache_session *session = request->session;
	const struct dnd_wire_message *message = &request->message;
	const struct dnd_cache_entry entry = {
		.type = DND_CACHE_WRITE, .window = session->window, .at = message->address,
		.drive_offset = message->drive_offset, .length_bytes = message->length,
		.checksum = message->key,
	};
	uint64_t head = server->log.windows[session->window].head, sequence;
	int rc = check_write(server, &entry);

	if (rc)
		return rc;
	if (!write_has_place(&server->log, session->window))
		return -EAGAIN;
	request->status = judge_write(group, request);
	if (request->status == DND_WIRE_OK)
		rc = dnd_cache_append(&server->log, &entry, &sequence);
	else
		dnd_cache_skip(&server->log, &entry);
	if (rc)
		return rc;
	count_taken(session, &entry, head);
	if (request->status == DND_WIRE_OK)
		note_time(server, sequence);
	return 0;
}

static int append_trim(struct group *group, struct dnd_cache_request *request)
{
	const struct dnd_cache_entry entry = {
		.type = DND_CACHE_TRIM, .drive_offset = request->message.drive_offset,
		.length_bytes = request->message.length,
	};
	struct dnd_cache_server *server = group->server;
	uint64_t sequence;
	int rc;

	request->status = DND_WIRE_BAD_RANGE;
	if (!range_is_sound(server, &request->message))
		return 0;
	if (!trim_has_place(&server->log))
		return -EAGAIN;
	rc = dnd_cache_append(&server->log, &entry, &sequence);
	if (rc)
		return rc;
	request->status = DND_WIRE_OK;
	note_time(server, sequence);
	return 0;
}

/* ---- all waiting requests ---- */

/* If the NVRAM is persistent, this group's barrier makes all earlier writes durable; else the drive has to. */
static void take_flush(struct group *group, struct dnd_cache_request *request)
{
	struct dnd_cache_server *server = group->server;

	if (server->persistent && !(request->message.flags & DND_WIRE_TO_DRIVE)) {
		dnd_cache_list_add(&group->members, request);
		return;
	}
	request->sequence = server->log.next - 1;
	dnd_cache_list_add(&request->session->flushes, request);
}

/* Takes the first waiting request of a client.  -EAGAIN: it has to wait longer. */
static int take_request(struct group *group, struct dnd_cache_request *request)
{
	struct dnd_cache_session *session = request->session;
	int rc = 0;

	switch (request->message.type) {
	case DND_WIRE_WRITE:
		rc = append_write(group, request);
		break;
	case DND_WIRE_TRIM:
		rc = append_trim(group, request);
		break;
	case DND_WIRE_BYE:
		rc = session->unanswered > 1 ? -EAGAIN : 0;
		break;
	default:
		break;
	}
	if (rc)
		return rc;
	dnd_cache_list_take(&session->waiting);
	if (request->message.type == DND_WIRE_READ)
		dnd_cache_list_add(&session->reads, request);
	else if (request->message.type == DND_WIRE_FLUSH)
		take_flush(group, request);
	else
		dnd_cache_list_add(&group->members, request);
	return 0;
}

/*
 * The first request waits until the drive has made room.  Reads need no room, and requests have no order, so reads overtake it.
 * All other requests stay behind it.
 */
static void let_reads_pass(struct dnd_cache_session *session)
{
	struct dnd_cache_list waiting = session->waiting;
	struct dnd_cache_request *request;

	dnd_cache_list_init(&session->waiting);
	while ((request = dnd_cache_list_take(&waiting)))
		dnd_cache_list_add(request->message.type == DND_WIRE_READ ? &session->reads : &session->waiting, request);
}

static void starve(struct dnd_cache_session *session)
{
	if (session->waiting.first->message.type == DND_WIRE_BYE)
		return;
	session->server->starved = true;
	let_reads_pass(session);
}

static bool time_is_over(const struct group *group)
{
	return dnd_now_ns() >= group->until_ns;
}

static void take_session(struct group *group, struct dnd_cache_session *session)
{
	struct dnd_cache_server *server = group->server;
	int rc = 0;

	while (!rc && !session->ends && session->waiting.first && !time_is_over(group))
		rc = take_request(group, session->waiting.first);
	if (!rc)
		return;
	if (rc != -EAGAIN && server->log.broken)
		dnd_cache_server_fail(server, rc);
	else if (rc != -EAGAIN)
		dnd_cache_session_fail(session, -EPROTO, donard_error(server->ctx));
	else
		starve(session);
}

/*
 * Does an older client have a request waiting that may change something, and has it sent no message since this client came?
 * Then this client may be the successor of that one.  That the older client took the bytes that it reads is no sign of life:
 * over soft iWARP, this machine's TCP took them.
 */
static bool may_replace_another(const struct dnd_cache_server *server, const struct dnd_cache_session *session)
{
	for (unsigned int i = 0; i < server->log.super.windows; i++) {
		const struct dnd_cache_session *other = server->sessions[i];
		const struct dnd_cache_request *first = other && !other->ends ? other->waiting.first : NULL;

		if (first && first->message.type != DND_WIRE_BYE && first->received_ns < session->admitted_ns &&
		    other->said_ns < session->admitted_ns)
			return true;
	}
	return false;
}

/*
 * Can a client that was passed by have its turn now, because the requests that it waited for have been taken?  Otherwise it
 * has its turn once the drive has made room for them.
 */
static bool any_may_go_on(const struct dnd_cache_server *server)
{
	for (unsigned int i = 0; i < server->log.super.windows; i++)
		if (server->sessions[i] && server->sessions[i]->passed_by && !may_replace_another(server, server->sessions[i]))
			return true;
	return false;
}

/*
 * If the time is over after one client, the next round begins with the client behind it.  A client that may replace another
 * waits until all requests of that other one have been taken.
 */
static void take_in_turns(struct group *group)
{
	struct dnd_cache_server *server = group->server;
	unsigned int windows = server->log.super.windows, first = server->group_turn;

	for (unsigned int i = 0; i < windows; i++) {
		unsigned int window = (first + i) % windows;
		struct dnd_cache_session *session = server->sessions[window];

		if (session)
			session->passed_by = may_replace_another(server, session);
		if (session && !session->passed_by)
			take_session(group, session);
		if (!time_is_over(group))
			continue;
		server->group_turn = (window + 1) % windows;
		server->again = true;
		return;
	}
	server->again = server->again || any_may_go_on(server);
}

static void count_answer(struct dnd_cache_server *server, const struct dnd_cache_request *request)
{
	struct donard_cache_status *counts = &server->tally.counts;

	switch (request->message.type) {
	case DND_WIRE_WRITE:
		counts->writes++;
		counts->written_bytes += request->message.length;
		dnd_tally_time(&server->tally, dnd_now_ns() - request->received_ns);
		break;
	case DND_WIRE_TRIM:
		counts->trims++;
		break;
	case DND_WIRE_FLUSH:
		counts->flushes++;
		break;
	default:
		break;
	}
}

static void acknowledge(struct group *group)
{
	struct dnd_cache_request *request;

	while ((request = dnd_cache_list_take(&group->members))) {
		count_answer(group->server, request);
		dnd_cache_answer(request, request->status);
		dnd_cache_session_send(request->session);
	}
}

/* Answers flushes that have to reach the drive (all do if the NVRAM is volatile) once the tail has passed their records. */
static void answer_flushes(struct dnd_cache_server *server, struct dnd_cache_session *session)
{
	while (session->flushes.first && session->flushes.first->sequence < server->log.tail) {
		struct dnd_cache_request *request = dnd_cache_list_take(&session->flushes);

		count_answer(server, request);
		dnd_cache_answer(request, DND_WIRE_OK);
	}
}

bool dnd_cache_nvram_sound(struct dnd_cache_server *server)
{
	int rc = server->sound ? 0 : dnd_cache_ask(&server->log);

	if (rc)
		dnd_cache_server_fail(server, rc);
	server->sound = !rc;
	return server->sound;
}

void dnd_cache_group(struct dnd_cache_server *server)
{
	struct group group = { .server = server, .until_ns = dnd_now_ns() + TAKE_MS * MS_NS };
	bool records;
	int rc;

	dnd_cache_list_init(&group.members);
	server->starved = server->sound = false;
	take_in_turns(&group);
	for (unsigned int i = 0; i < server->log.super.windows; i++)
		if (server->sessions[i])
			answer_flushes(server, server->sessions[i]);
	records = server->log.durable != server->log.next - 1;
	if (!group.members.first && !records)
		return;
	server->tally.counts.groups++;
	rc = dnd_cache_commit(&server->log);	/* BARRIER */
	if (rc) {
		dnd_cache_server_fail(server, rc);
		return;
	}
	server->sound = records;
	/* A reset of the NVRAM also causes a mismatch.  Without an append there was no barrier that would have reported it. */
	if (group.mismatch && !dnd_cache_nvram_sound(server))
		return;
	acknowledge(&group);			/* ACK */
}
