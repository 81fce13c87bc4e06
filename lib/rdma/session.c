// SPDX-License-Identifier: Apache-2.0
/* See session.h. */
#include <poll.h>
#include <stdio.h>

#include "rdma/device.h"
#include "rdma/session.h"
#include "rdma/target.h"

#define ALIVE_SECONDS		1.0
#define LOOK_SECONDS		0.1
#define FAREWELL_SECONDS	2.0	/* as on the client's side; it may be slow, with much in flight */
#define GONE_SECONDS		1.0	/* the kernel gives holders of unplugged memory 2 s (kernel/drain.c) */
#define FAREWELL_NAP_MS		20
#define POLLS_AT_ONCE		4	/* then the rest of the server has its turn */

/* ---- admission ---- */

/* A device that does DMA may hold the last bytes back; a read through the same device pushes them out. */
static bool holds_back(const struct dnd_session *session)
{
	return session->service->read_back || !dnd_device_copies_by_cpu(session->id->verbs);
}

static void fill_offer(const struct dnd_session *session, struct dnd_offer *offer)
{
	const struct dnd_service *service = session->service;
	const struct donard_memory *memory = service->memory;

	*offer = (struct dnd_offer){
		.status = DND_STATUS_OK,
		.rights = service->rights,
		.rkey = session->registration.mr->rkey,
		.address = dnd_registration_address(memory, 0),
		.length = memory->length,
		.nonce = session->nonce,
		.silence_ms = service->timeout_ms,
		.services = service->services,
		.read_back = service->rights & DONARD_RDMA_READ && holds_back(session),
		.dmabuf = session->registration.dmabuf,
		.persistent = dnd_target_persistent(memory),
	};
	snprintf(offer->target, sizeof(offer->target), "%s", dnd_target_name(memory));
}

static int accept_client(struct dnd_session *session, uint8_t reads)
{
	struct rdma_conn_param param;
	uint8_t bytes[DND_OFFER_BYTES];
	struct dnd_offer offer;

	fill_offer(session, &offer);
	dnd_offer_encode(&offer, bytes);
	dnd_link_params(session->id, false, session->service->rights & DONARD_RDMA_READ ? reads : 0, &param);
	param.private_data = bytes;
	param.private_data_len = sizeof(bytes);
	if (rdma_accept(session->id, &param))
		return dnd_fail_errno(session->service->ctx, errno, "%s: the connection cannot be "
				      "accepted", session->peer);
	session->link.heard = dnd_now_seconds();	/* only now can it know of the offer; to register the memory may take long */
	return 0;
}

void dnd_session_reject(struct rdma_cm_id *id, enum dnd_rdma_status status)
{
	struct dnd_offer offer = { .status = status };
	uint8_t bytes[DND_OFFER_BYTES];

	dnd_offer_encode(&offer, bytes);
	rdma_reject(id, bytes, sizeof(bytes));
	rdma_destroy_id(id);
}

static int set_up(struct dnd_session *session)
{
	struct dnd_service *service = session->service;
	const struct dnd_link_size size = dnd_talk_size(0);
	int rc = dnd_link_open(service->ctx, &session->link, session->id, &size);

	if (rc)
		return rc;
	dnd_nonce(&session->nonce, sizeof(session->nonce));
	dnd_link_set_timeout(session->id, service->timeout_ms);
	rc = dnd_register(service->memory, 0, service->memory->length, session->link.pd,
			  service->rights, &session->registration);
	if (!rc && dnd_link_arm(&session->link))
		rc = dnd_fail_errno(service->ctx, EIO, "%s: no completion events", session->device);
	return rc;
}

static void tear_down(struct dnd_session *session)
{
	/* Destroy the queue pair first; then no request of the peer refers to the memory. */
	if (session->link.id && session->link.id->qp)
		rdma_destroy_qp(session->link.id);
	dnd_unregister(&session->registration);
	dnd_link_close(&session->link);
}

int dnd_session_begin(struct dnd_session *session, struct dnd_service *service,
		      struct rdma_cm_id *id, uint8_t reads)
{
	int rc;

	memset(session, 0, sizeof(*session));
	session->service = service;
	session->id = id;
	session->started = dnd_now_seconds();
	session->changed = service->rights & DONARD_RDMA_WRITE;
	session->resets = dnd_target_resets(service->memory);
	dnd_address_text(rdma_get_peer_addr(id), session->peer);
	snprintf(session->device, sizeof(session->device), "%s",
		 ibv_get_device_name(id->verbs->device));
	rc = set_up(session);
	if (!rc)
		rc = accept_client(session, reads);
	if (rc) {
		tear_down(session);
		dnd_session_reject(id, DND_STATUS_CANNOT_OFFER);
		session->id = NULL;
	}
	return rc;
}

/* ---- requests ---- */

static int send_alive(struct dnd_session *session)
{
	struct dnd_message alive = { .type = DND_ALIVE };
	int rc = dnd_talk_send(&session->link, session->nonce, &alive);

	session->alive_sent = dnd_now_seconds();
	return rc == -EAGAIN ? 0 : rc;
}

static int on_message(void *user, const uint8_t *bytes, size_t length)
{
	struct dnd_session *session = user;
	struct dnd_message message;
	int rc = dnd_talk_take(session->nonce, bytes, length, &message);

	if (!rc)
		rc = dnd_hear(&session->heard, &message);
	return rc == DND_HEARD_PING ? send_alive(session) : rc;
}

static int on_data(void *user, uint64_t number)
{
	(void)user;
	(void)number;
	return 0;	/* a server posts no data requests */
}

static int take_completions(struct dnd_session *session)
{
	const struct dnd_link_handler handler = {
		.on_message = on_message, .on_data = on_data, .user = session,
	};
	int left = POLLS_AT_ONCE, rc;

	do {
		rc = dnd_link_poll(&session->link, &handler);
	} while (rc > 0 && --left);
	return rc < 0 ? rc : 0;
}

/*
 * Called between the steps of long work: answers pings, sends alive, and checks whether the server must end.  Nobody waits for
 * the answer of a client that the connection manager calls gone; over RoCE and InfiniBand its queue pair does not tell.
 */
static int while_working(void *user)
{
	struct dnd_session *session = user;
	double now = dnd_now_seconds();
	int rc = take_completions(session);

	if (rc || now - session->looked < LOOK_SECONDS)
		return rc;
	session->looked = now;
	rc = session->service->meanwhile_fn(session->service->user);
	if (!rc && session->over)
		rc = -ECONNRESET;
	if (!rc && now - session->alive_sent > ALIVE_SECONDS)
		rc = send_alive(session);
	return rc;
}

/* A barrier abandoned for an earlier client may have consumed the -EIO of a reset; the count shows it all the same. */
static int settle(struct dnd_session *session)
{
	int rc = dnd_target_settle(session->service->memory, while_working, session);

	return !rc && dnd_session_resets(session) ? -EIO : rc;
}

struct donard_rdma_asker {
	struct dnd_session *session;
};

DND_PUBLIC int donard_rdma_keep_up(const struct donard_rdma_asked *asked)
{
	struct dnd_session *session = asked->asker->session;

	session->kept_up = while_working(session);
	return session->kept_up;
}

/* Asks the device itself; the text of what the program reported stays. */
static bool barrier_finds_reset(struct dnd_session *session)
{
	struct dnd_failure before = dnd_failure_keep(session->service->ctx);
	bool found = settle(session) == -EIO;

	dnd_failure_put_back(session->service->ctx, &before);
	return found;
}

/*
 * Here, -EIO, -ENODEV and -ECANCELED mean a reset, a removal and the server's end.  A program may return them for reasons of
 * its own: then they end its client, as any other failure of it does.
 */
static int program_failed(struct dnd_session *session, int rc)
{
	const struct dnd_service *service = session->service;
	bool reset = rc == -EIO && (dnd_session_resets(session) || barrier_finds_reset(session));

	if (rc == session->kept_up || reset || (rc == -ENODEV && dnd_target_gone(service->memory)))
		return rc;
	session->told = true;
	if (rc > 0)
		dnd_fail(service->ctx, DND_E_SYSTEM, "%s: the server's program did not answer, but returned %d.", session->peer, rc);
	return rc == -EIO || rc == -ENODEV || rc == -ECANCELED || rc == -EAGAIN || rc > 0 ? -ECONNABORTED : rc;
}

/*
 * If the memory is getting ready after a reset, the barrier waits for that; accesses of the program's would not.  A range
 * that may have changed is zeroed for the next client, as one that this client wrote is.
 */
static int ask_program(struct dnd_session *session, const struct dnd_message *request, struct dnd_message *answer)
{
	const struct dnd_service *service = session->service;
	struct donard_rdma_asker asker = { .session = session };
	const struct donard_rdma_asked asked = {
		.size = sizeof(asked), .asker = &asker, .memory = service->memory, .peer = session->peer,
		.service = request->word, .offset_bytes = request->offset, .length_bytes = request->length,
		.value = request->value,
	};
	struct donard_rdma_answer found = { .size = sizeof(found) };
	int rc = settle(session);

	if (!rc) {
		session->kept_up = 0;
		session->told = false;
		rc = service->answer_fn(service->answer_user, &asked, &found);
		session->changed = session->changed || found.changed;
		if (rc)
			rc = program_failed(session, rc);
	}
	answer->word = found.verdict;
	answer->value = found.value;
	return rc;
}

/* Only a client that completed its work has read back the bytes that a device might hold. */
static bool is_durable(const struct dnd_session *session, const struct dnd_message *bye)
{
	const struct dnd_service *service = session->service;

	return bye->status == DND_STATUS_OK && service->rights & DONARD_RDMA_WRITE &&
	       dnd_target_persistent(service->memory) &&
	       (service->rights & DONARD_RDMA_READ || !holds_back(session));
}

/* For a sync, and for a bye. */
static int make_durable(struct dnd_session *session, const struct dnd_message *request, struct dnd_message *answer)
{
	int rc = settle(session);

	answer->durable = !rc && is_durable(session, request);
	if (request->type == DND_BYE)
		session->durable = answer->durable;
	return rc;
}

static bool is_sound(const struct dnd_session *session, const struct dnd_message *request)
{
	const struct dnd_service *service = session->service;

	return request->type != DND_ASK ||
	       (dnd_range_fits(request->offset, request->length, service->memory->length) &&
		request->word < DONARD_RDMA_SERVICES_MAX && service->services & 1U << request->word);
}

static int work(struct dnd_session *session)
{
	const struct dnd_message *request = &session->heard.request;
	struct dnd_message answer = { .type = DND_DONE, .sequence = request->sequence };
	int rc;

	if (!is_sound(session, request))
		return -EPROTO;
	if (request->type == DND_ASK)
		rc = ask_program(session, request, &answer);
	else
		rc = make_durable(session, request, &answer);
	if (!rc)
		session->answer = answer;
	return rc;
}

/* Answers to pings may occupy all slots; the completion of one wakes the server, which then calls this again. */
static int answer_request(struct dnd_session *session)
{
	int rc = session->answer.type ? 0 : work(session);

	/* The request still waits; the withdrawal will tell the client what became of the memory or the server. */
	if (rc == -EIO || rc == -ENODEV || rc == -ECANCELED)
		return rc;
	if (!rc)
		rc = dnd_talk_send(&session->link, session->nonce, &session->answer);
	if (rc == -EAGAIN)
		return 0;
	session->heard.request.type = session->answer.type = 0;
	return rc;
}

/* ---- the course of a session ---- */

/* A client that has just connected may first have to register a large near side, so it may be silent for longer. */
static unsigned int silence_ms(const struct dnd_session *session)
{
	const unsigned int timeout_ms = session->service->timeout_ms;

	if (session->link.established && !session->heard.any)
		return (unsigned int)dnd_max(timeout_ms, DONARD_RDMA_FIRST_MESSAGE_MS);
	return timeout_ms;
}

static bool is_silent(const struct dnd_session *session)
{
	return (dnd_now_seconds() - session->link.heard) * 1000 > silence_ms(session);
}

static int silent(struct dnd_session *session)
{
	return dnd_fail(session->service->ctx, DND_E_PEER_SILENT, "%s was silent for %u ms: it, or "
			"the link, is down. Its connection was ended (options.timeout_ms).", session->peer,
			silence_ms(session));
}

int dnd_session_lost(struct dnd_session *session)
{
	const struct dnd_service *service = session->service;
	struct donard_context *ctx = service->ctx;
	bool stays = service->rights & DONARD_RDMA_WRITE && dnd_target_persistent(service->memory);

	if (session->heard.said_bye)
		return -ESHUTDOWN;
	if (session->link.status != IBV_WC_SUCCESS && session->link.status != IBV_WC_WR_FLUSH_ERR)
		return dnd_fail(ctx, DND_E_PEER_LOST, "%s: %s.", session->peer,
				dnd_link_status_text(&session->link));
	return dnd_fail(ctx, DND_E_PEER_LOST, "%s left without saying good-bye: its program, its RDMA device or "
			"its machine ended.%s", session->peer, stays ? " What it wrote stays." : "");
}

static int explain(struct dnd_session *session, int rc)
{
	struct donard_context *ctx = session->service->ctx;

	if (session->told)
		return rc;
	switch (rc) {
	case -EPROTO:
	case -EPROTONOSUPPORT:
		return dnd_fail(ctx, DND_E_PROTOCOL, "%s sent something that this server does not understand, "
				"and was cut off. Use the same version of donard on both sides.",
				session->peer);
	case -ENODEV:
		return dnd_target_gone_text(ctx, session->service->memory);
	case -EIO:
		return dnd_target_reset_text(session->service->memory);
	case -ECONNRESET:
		return dnd_session_lost(session);
	case -ECANCELED:
		dnd_fail(ctx, DND_E_WITHDRAWN, "the server ended under it");
		return rc;
	}
	return dnd_memory_access_failed(session->service->memory, -rc);
}

uint64_t dnd_session_resets(const struct dnd_session *session)
{
	return dnd_target_resets(session->service->memory) - session->resets;
}

int dnd_session_serve(struct dnd_session *session)
{
	int rc;

	dnd_link_disarm(&session->link);
	dnd_link_arm(&session->link);
	rc = take_completions(session);
	if (!rc && session->heard.request.type)
		rc = answer_request(session);
	/* The program may have worked for long without keeping up: what the client said meanwhile is unread. */
	if (!rc && is_silent(session))
		rc = take_completions(session);
	if (rc)
		return explain(session, rc);
	if (is_silent(session))
		return session->heard.said_bye ? -ESHUTDOWN : silent(session);
	return 0;
}

/* ---- the end ---- */

/*
 * iWARP completes a message when TCP has taken it, behind all data that the client reads, and the end of the connection
 * discards what was not sent yet.  So with iWARP, this waits until the client has heard and closes the connection.
 */
static bool is_on_its_way(const struct dnd_session *session)
{
	return dnd_link_sends_under_way(&session->link) ||
	       session->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

void dnd_session_withdraw(struct dnd_session *session, enum dnd_rdma_status status)
{
	struct dnd_message message = {
		.type = DND_WITHDRAWN, .status = status, .resets = (uint32_t)dnd_session_resets(session),
	};
	double deadline = dnd_now_seconds() + (status == DND_STATUS_REGION_GONE ? GONE_SECONDS : FAREWELL_SECONDS);
	struct pollfd pollfd = { .fd = session->link.channel->fd, .events = POLLIN };
	bool cut_off_now = dnd_heard_cut_off(&session->heard);
	int rc = cut_off_now ? -EAGAIN : 0;	/* 0: only the answer to a good-bye is under way */

	if (session->link.lost || (session->heard.cut_off && !cut_off_now))
		return;
	do {
		/* Answers to pings may occupy all slots. */
		if (rc == -EAGAIN)
			rc = dnd_talk_send(&session->link, session->nonce, &message);
		if (rc != -EAGAIN && (rc || !is_on_its_way(session)))
			return;
		dnd_link_disarm(&session->link);
		dnd_link_arm(&session->link);
		if (take_completions(session))
			return;
		poll(&pollfd, 1, FAREWELL_NAP_MS);
	} while (dnd_now_seconds() < deadline);
}

void dnd_session_end(struct dnd_session *session)
{
	if (!session->id)
		return;
	rdma_disconnect(session->id);
	tear_down(session);
	rdma_destroy_id(session->id);
	session->id = NULL;
}
