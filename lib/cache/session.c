// SPDX-License-Identifier: Apache-2.0
/* One client: its connection and window, its requests, and the messages to it. */
#include <stdio.h>
#include <stdlib.h>

#include "cache/server.h"

#define DEFAULT_DEPTH	64
#define FIRST_MS	DONARD_RDMA_FIRST_MESSAGE_MS

/* ---- admission ---- */

size_t dnd_cache_free_window(const struct dnd_cache_server *server)
{
	for (unsigned int i = 0; i < server->log.super.windows; i++)
		if (!server->sessions[i] && dnd_cache_window_empty(&server->log, i))
			return i;
	return SIZE_MAX;
}

static bool reads_back(const struct dnd_cache_session *session)
{
	return session->server->options.flags & DONARD_CACHE_READ_BACK ||
	       !dnd_device_copies_by_cpu(session->id->verbs);
}

static void fill_offer(const struct dnd_cache_session *session, struct dnd_wire_offer *offer)
{
	const struct dnd_cache_server *server = session->server;
	const struct donard_memory *memory = server->nvram.memory;

	*offer = (struct dnd_wire_offer){
		.flags = (server->persistent ? 0 : DND_WIRE_VOLATILE) |
			 (reads_back(session) ? DND_WIRE_READ_BACK : 0),
		.depth = session->depth,
		.nonce = session->nonce,
		.window_address = (uintptr_t)memory->window.data +
				  dnd_cache_window_at(&server->log, session->window),
		.window_bytes = server->log.super.window_bytes,
		.window_rkey = session->written.mr->rkey,
		.silence_ms = server->options.timeout_ms,
		.block_bytes = server->log.super.block_bytes,
		.request_bytes_max = server->request_bytes_max,
		.drive_bytes = server->log.super.drive_bytes,
		.identity = server->log.super.identity,
	};
	snprintf(offer->drive, sizeof(offer->drive), "%s", server->drive.disk);
	snprintf(offer->nvram, sizeof(offer->nvram), "%s", dnd_memory_name(memory));
}

static int accept_client(struct dnd_cache_session *session, uint8_t reads)
{
	struct rdma_conn_param param;
	uint8_t bytes[DND_WIRE_OFFER_BYTES];
	struct dnd_wire_offer offer;

	fill_offer(session, &offer);
	dnd_wire_offer_encode(&offer, bytes);
	dnd_link_params(session->id, false, reads_back(session) ? reads : 0, &param);
	param.private_data = bytes;
	param.private_data_len = sizeof(bytes);
	if (rdma_accept(session->id, &param))
		return dnd_fail_errno(session->server->ctx, errno, "%s: the connection cannot be "
				      "accepted", session->peer);
	return 0;
}

void dnd_cache_refuse(struct dnd_cache_server *server, struct rdma_cm_id *id, const char *why,
		      enum dnd_wire_status status)
{
	const struct dnd_wire_offer offer = { .status = status };
	uint8_t bytes[DND_WIRE_OFFER_BYTES];
	char peer[DND_PEER_BYTES];

	dnd_address_text(rdma_get_peer_addr(id), peer);
	dnd_cache_tell(server, DONARD_CACHE_CLIENT_REFUSED, peer, why, 0);
	dnd_wire_offer_encode(&offer, bytes);
	rdma_reject(id, bytes, sizeof(bytes));
	rdma_destroy_id(id);
}

static int make_requests(struct dnd_cache_session *session)
{
	dnd_cache_list_init(&session->unused);
	dnd_cache_list_init(&session->waiting);
	dnd_cache_list_init(&session->reads);
	dnd_cache_list_init(&session->flushes);
	dnd_cache_list_init(&session->answers);
	session->requests = calloc(session->depth, sizeof(*session->requests));
	if (!session->requests)
		return dnd_fail_memory(session->server->ctx);
	for (uint32_t i = 0; i < session->depth; i++) {
		session->requests[i].session = session;
		dnd_cache_list_add(&session->unused, &session->requests[i]);
	}
	return 0;
}

/* The client may write only its window.  No peer has rights to the registration from which bytes are sent. */
static int register_memory(struct dnd_cache_session *session)
{
	struct dnd_cache_server *server = session->server;
	struct donard_memory *memory = server->nvram.memory;
	unsigned int rights = DONARD_RDMA_WRITE | (reads_back(session) ? DONARD_RDMA_READ : 0);
	int rc = dnd_register(memory, dnd_cache_window_at(&server->log, session->window),
			      server->log.super.window_bytes, session->link.pd, rights,
			      &session->written);

	return rc ? rc : dnd_register(memory, 0, memory->length, session->link.pd, 0, &session->sent);
}

static int set_up(struct dnd_cache_session *session)
{
	struct dnd_cache_server *server = session->server;
	const struct dnd_link_size size = {
		.data_requests = DND_CACHE_READ_WRITES,
		.message_bytes = DND_WIRE_MESSAGE_BYTES,
		.recvs = session->depth + DND_WIRE_SPARE,
		.sends = session->depth + DND_WIRE_SPARE,
	};
	int rc = make_requests(session);

	if (!rc)
		rc = dnd_link_open(server->ctx, &session->link, session->id, &size);
	if (rc)
		return rc;
	dnd_nonce(&session->nonce, sizeof(session->nonce));
	dnd_link_set_timeout(session->id, server->options.timeout_ms);
	rc = register_memory(session);
	if (!rc && dnd_link_arm(&session->link))
		rc = dnd_fail_errno(server->ctx, EIO, "%s: no completion events", session->peer);
	return rc;
}

/* Destroys the queue pair first; then no request of the peer refers to the memory. */
static void tear_down(struct dnd_cache_session *session)
{
	if (session->link.id && session->link.id->qp)
		rdma_destroy_qp(session->link.id);
	dnd_unregister(&session->written);
	dnd_unregister(&session->sent);
	dnd_link_close(&session->link);
	free(session->requests);
}

static int begin(struct dnd_cache_session *session, uint8_t reads)
{
	int rc = set_up(session);

	return rc ? rc : accept_client(session, reads);
}

void dnd_cache_admit(struct dnd_cache_server *server, struct rdma_cm_id *id, uint32_t depth, uint8_t reads)
{
	struct dnd_cache_session *session;
	size_t window = dnd_cache_free_window(server);
	int rc;

	if (window == SIZE_MAX) {
		dnd_cache_refuse(server, id, "every window has a client, or records of one that left", DND_WIRE_BUSY);
		return;
	}
	session = calloc(1, sizeof(*session));
	if (!session) {
		dnd_cache_refuse(server, id, "no memory", DND_WIRE_NO_MEMORY);
		return;
	}
	session->server = server;
	session->id = id;
	session->window = (unsigned int)window;
	session->admitted_ns = dnd_now_ns();
	session->depth = (uint32_t)dnd_min(depth ? depth : DEFAULT_DEPTH, DND_WIRE_DEPTH_MAX);
	dnd_address_text(rdma_get_peer_addr(id), session->peer);
	dnd_cache_window_reset(&server->log, session->window);
	rc = begin(session, reads);
	if (rc) {
		tear_down(session);
		free(session);
		dnd_cache_refuse(server, id, donard_error(server->ctx),
				 rc == -ENOMEM ? DND_WIRE_NO_MEMORY : DND_WIRE_CANNOT_OFFER);
		return;
	}
	server->sessions[window] = session;
}

/* ---- messages that come ---- */

void dnd_cache_session_fail(struct dnd_cache_session *session, int error_number, const char *why)
{
	if (session->ends)
		return;
	session->ends = error_number;
	snprintf(session->why, sizeof(session->why), "%s", why);
}

static int queue_request(struct dnd_cache_session *session, const struct dnd_wire_message *message)
{
	struct dnd_cache_request *request = dnd_cache_list_take(&session->unused);

	/* It sent more requests than the offer allows, or one after its good-bye. */
	if (!request || session->said_bye)
		return -EPROTO;
	request->message = *message;
	request->received_ns = dnd_now_ns();
	session->unanswered++;
	session->said_bye = message->type == DND_WIRE_BYE;
	dnd_cache_list_add(&session->waiting, request);
	return 0;
}

static void tell_came(struct dnd_cache_session *session)
{
	if (session->came)
		return;
	session->came = true;
	session->server->tally.counts.clients_ever++;
	dnd_cache_tell(session->server, DONARD_CACHE_CLIENT_CAME, session->peer, "", 0);
}

static int on_message(void *user, const uint8_t *bytes, size_t length)
{
	struct dnd_cache_session *session = user;
	struct dnd_wire_message message;
	int rc = dnd_wire_decode(&message, session->nonce, bytes, length);

	if (rc || session->withdrawn)
		return rc;
	session->said_ns = dnd_now_ns();
	tell_came(session);
	switch (message.type) {
	case DND_WIRE_PING:
		session->alive_due = true;
		return 0;
	case DND_WIRE_GOT:
		if (!session->released_under_way)
			return -EPROTO;
		session->released_under_way = false;
		return 0;
	case DND_WIRE_WRITE:
	case DND_WIRE_READ:
	case DND_WIRE_TRIM:
	case DND_WIRE_FLUSH:
	case DND_WIRE_BYE:
		return queue_request(session, &message);
	default:
		return -EPROTO;
	}
}

static int on_data(void *user, uint64_t number)
{
	struct dnd_cache_session *session = user;

	session->work_requests--;
	session->moved = dnd_now_seconds();
	session->server->read_sent(session->server, number);
	return 0;
}

void dnd_cache_session_lost(struct dnd_cache_session *session)
{
	const enum ibv_wc_status status = session->link.status;

	if (session->said_bye)
		dnd_cache_session_fail(session, -ESHUTDOWN, "");
	else if (status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR)
		dnd_cache_session_fail(session, -ECONNRESET, dnd_link_status_text(&session->link));
	else
		dnd_cache_session_fail(session, -ECONNRESET, "it left without saying good-bye: its program, its RDMA device "
				       "or its machine ended. What it was told is durable is kept");
}

static void check_silence(struct dnd_cache_session *session)
{
	unsigned int limit_ms = session->server->options.timeout_ms;
	double now = dnd_now_seconds();
	char text[DND_TEXT_BYTES];

	/* While a read is being sent, no record of any client can be retired, so a client must not block it. */
	if (session->work_requests && (now - session->moved) * 1000 > limit_ms) {
		snprintf(text, sizeof(text), "it took nothing of what it reads for %u ms: it, or the link, is down "
			 "(options.timeout_ms)", limit_ms);
		dnd_cache_session_fail(session, -ETIMEDOUT, text);
		return;
	}
	if (!session->came)
		limit_ms = (unsigned int)dnd_max(limit_ms, FIRST_MS);
	if ((now - session->link.heard) * 1000 <= limit_ms)
		return;
	snprintf(text, sizeof(text), "it was silent for %u ms: it, or the link, is down (options.timeout_ms)",
		 limit_ms);
	dnd_cache_session_fail(session, -ETIMEDOUT, text);
}

static int poll_link(struct dnd_cache_session *session)
{
	const struct dnd_link_handler handler = {
		.on_message = on_message, .on_data = on_data, .user = session,
	};
	const struct dnd_link_size *size = &session->link.size;
	uint32_t left = size->recvs + size->sends + size->data_requests;	/* later ones wake the server again */
	int rc;

	do {
		rc = dnd_link_poll(&session->link, &handler);
		left -= rc > 0 ? (uint32_t)dnd_min((uint64_t)rc, left) : 0;
	} while (rc > 0 && left);
	return rc < 0 ? rc : 0;
}

void dnd_cache_session_take(struct dnd_cache_session *session)
{
	int rc;

	if (session->ends)
		return;
	dnd_link_disarm(&session->link);
	dnd_link_arm(&session->link);
	rc = poll_link(session);
	if (rc == -ECONNRESET)
		dnd_cache_session_lost(session);
	else if (rc)
		dnd_cache_session_fail(session, rc, "it sent what this server does not understand, and was cut off. "
				       "Use the same version of donard on both sides");
	else
		check_silence(session);
}

/* ---- messages that are sent ---- */

void dnd_cache_answer(struct dnd_cache_request *request, enum dnd_wire_status status)
{
	request->status = status;
	dnd_cache_list_add(&request->session->answers, request);
}

static int send_message(struct dnd_cache_session *session, struct dnd_wire_message message)
{
	uint8_t bytes[DND_WIRE_MESSAGE_BYTES];

	message.nonce = session->nonce;
	dnd_wire_encode(&message, bytes);
	return dnd_link_send(&session->link, bytes, 0);
}

static int send_done(struct dnd_cache_session *session, const struct dnd_cache_request *request)
{
	return send_message(session, (struct dnd_wire_message){
		.type = DND_WIRE_DONE,
		.id = request->message.id,
		.status = request->status,
		.flags = session->server->persistent ? 0 : DND_WIRE_VOLATILE,
		.released = dnd_cache_released(session),
	});
}

static int send_answers(struct dnd_cache_session *session)
{
	struct dnd_cache_request *request;
	int rc = 0;

	while (!rc && (request = session->answers.first)) {
		rc = send_done(session, request);
		if (rc)
			break;
		session->told_bytes = dnd_cache_released(session);
		session->unanswered--;
		dnd_cache_list_add(&session->unused, dnd_cache_list_take(&session->answers));
	}
	return rc;
}

/* Answers also say how much is released.  A separate message is sent only if no answer is due, or if much was released. */
static bool released_is_due(const struct dnd_cache_session *session)
{
	uint64_t news = dnd_cache_released(session) - session->told_bytes;

	return news && !(session->unanswered && news < session->server->log.super.window_bytes / 4);
}

static int send_released(struct dnd_cache_session *session)
{
	bool failing = dnd_cache_drive_fails(session->server);
	uint64_t released = dnd_cache_released(session);
	int rc;

	if (!session->came || session->released_under_way ||
	    (failing == session->told_failing && !released_is_due(session)))
		return 0;
	rc = send_message(session, (struct dnd_wire_message){
		.type = DND_WIRE_RELEASED, .released = released, .status = failing ? DND_WIRE_DRIVE_FAILED : DND_WIRE_OK,
	});
	if (rc)
		return rc;
	session->released_under_way = true;
	session->told_bytes = released;
	session->told_failing = failing;
	return 0;
}

static int send_alive(struct dnd_cache_session *session)
{
	int rc;

	if (!session->alive_due)
		return 0;
	rc = send_message(session, (struct dnd_wire_message){ .type = DND_WIRE_ALIVE });
	session->alive_due = rc;
	return rc;
}

void dnd_cache_session_send(struct dnd_cache_session *session)
{
	int rc = session->ends ? -ECONNRESET : send_answers(session);

	if (!rc)
		rc = send_released(session);
	if (!rc)
		rc = send_alive(session);
	if (rc && rc != -EAGAIN)
		dnd_cache_session_lost(session);
}

/* ---- the end ---- */

/*
 * With iWARP, only the end of the connection shows that the message has arrived: the client closes it at once
 * (lib/rdma/session.c).
 */
static bool is_on_its_way(const struct dnd_cache_session *session)
{
	return dnd_link_sends_under_way(&session->link) ||
	       session->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* Returns -EAGAIN if answers occupy all slots. */
static int tell_withdrawn(struct dnd_cache_session *session, enum dnd_wire_status status)
{
	int rc = session->told_withdrawn ? 0 :
		 send_message(session, (struct dnd_wire_message){ .type = DND_WIRE_WITHDRAWN, .status = status });

	session->told_withdrawn = !rc;
	return rc;
}

bool dnd_cache_session_withdraw(struct dnd_cache_session *session, enum dnd_wire_status status)
{
	int rc;

	session->withdrawn = true;
	if (session->ends || session->farewell_over)
		return false;
	rc = tell_withdrawn(session, status);
	if (rc == -EAGAIN || (!rc && is_on_its_way(session))) {
		dnd_link_disarm(&session->link);
		dnd_link_arm(&session->link);
		session->farewell_over = poll_link(session);
	} else {
		session->farewell_over = true;
	}
	return !session->farewell_over;
}

static void tell_end(const struct dnd_cache_session *session)
{
	enum donard_cache_event_type type = session->said_bye ? DONARD_CACHE_CLIENT_LEFT : DONARD_CACHE_CLIENT_LOST;

	if (!session->came)
		type = DONARD_CACHE_CLIENT_REFUSED;
	dnd_cache_tell(session->server, type, session->peer, session->why, 0);
}

void dnd_cache_session_end(struct dnd_cache_session *session)
{
	struct dnd_cache_server *server = session->server;

	tell_end(session);
	rdma_disconnect(session->id);
	rdma_destroy_qp(session->link.id);
	server->forget_reads(server, session);
	tear_down(session);
	rdma_destroy_id(session->id);
	server->sessions[session->window] = NULL;
	server->again = true;		/* the next client may need this very window */
	free(session);
}
