// SPDX-License-Identifier: Apache-2.0
/*
 * The server: listens, admits one client at a time, watches the region.  It waits
 * for the connection manager and for the client's messages; data do not involve it.
 */
#include <endian.h>
#include <poll.h>

#include "rdma/device.h"
#include "rdma/head.h"
#include "rdma/listen.h"
#include "rdma/session.h"

#define EVENTS_AT_ONCE		64	/* in one round; then the present client has its turn */
#define TICK_MS			100
#define ZERO_STEP_BYTES		(1U << 20)
#define RESET_SECONDS		10	/* within which the device has to work again */
#define RESET_NAP_MS		20
#define KNOWN_FLAGS		DONARD_RDMA_READ_BACK

struct dnd_server {
	struct donard_context *ctx;
	struct donard_rdma_serve_options options;
	struct dnd_service service;
	struct dnd_session session;
	struct dnd_listener listener;
	bool stopped;			/* stop_fn has asked for the end, and need not do so again */
	bool no_device;			/* the device of the listener's address was removed */
	unsigned int served;
	uint64_t resets;		/* how many resets of the device are dealt with */
	uint64_t resets_before;		/* how many there were before the server started */
};

/* ---- events for the caller ---- */

/* The present client counts from CLIENT_CAME on, and those that ended are in server->served. */
static unsigned int clients_so_far(const struct dnd_server *server)
{
	return server->served + (server->session.id && server->session.came);
}

static struct donard_rdma_event new_event(const struct dnd_server *server,
					  enum donard_rdma_event_type type)
{
	const struct donard_memory *memory = server->service.memory;

	return (struct donard_rdma_event){
		.size = sizeof(struct donard_rdma_event),
		.type = type,
		.peer = "", .device = "", .reason = "", .text = "", .code = "",
		.target = dnd_target_name(memory),
		.memory = memory->window.data,
		.offset_bytes = dnd_memory_is_imported(memory) ? memory->dmabuf_offset : dnd_memory_file_offset(memory),
		.length_bytes = memory->length,
		.rights = server->service.rights,
		.clients = clients_so_far(server),
	};
}

static void tell(const struct dnd_server *server, const struct donard_rdma_event *event)
{
	if (server->options.event_fn)
		server->options.event_fn(server->options.user, event);
}

static void name_registration(struct donard_rdma_event *event,
			      const struct dnd_registration *registration)
{
	if (!registration->mr)
		return;
	event->method = dnd_method(registration->dmabuf);
	event->reason = registration->reason;
}

static void tell_session(struct dnd_server *server, enum donard_rdma_event_type type,
			 const char *text, const char *code)
{
	struct donard_rdma_event event = new_event(server, type);
	const struct dnd_session *session = &server->session;

	event.peer = session->peer;
	event.device = session->device;
	event.text = text;
	event.code = *text ? code : "";
	name_registration(&event, &session->registration);
	if (type == DONARD_RDMA_CLIENT_LEFT || type == DONARD_RDMA_CLIENT_LOST)
		event.seconds = dnd_now_seconds() - session->started;
	if (type == DONARD_RDMA_CLIENT_LOST)
		event.resets = dnd_session_resets(session);
	event.durable = type == DONARD_RDMA_CLIENT_LEFT && session->durable;
	tell(server, &event);
}

/* A client has come only when it took the offer: one that connects may not want it, or may be no donard client. */
static void tell_came(struct dnd_server *server)
{
	struct dnd_session *session = &server->session;
	struct dnd_failure before;

	if (session->came || !session->heard.took)
		return;
	session->came = true;
	/* A call of the program's may fail; the client may have ended by now, and the text that says why is still needed. */
	before = dnd_failure_keep(server->ctx);
	tell_session(server, DONARD_RDMA_CLIENT_CAME, "", "");
	dnd_failure_put_back(server->ctx, &before);
}

static const char *why_refused(const struct dnd_session *session, const char *why_lost)
{
	if (!session->link.established)
		return "it knocked, and did not complete the connection";
	return session->heard.said_bye ? "it did not want what is offered" : why_lost;
}

/* @code is the code of the failure @why_lost. */
static void tell_end(struct dnd_server *server, const char *why_lost, const char *code)
{
	const struct dnd_session *session = &server->session;
	enum donard_rdma_event_type word = dnd_heard_end(&session->heard);

	tell_came(server);
	if (word == DONARD_RDMA_CLIENT_REFUSED)
		tell_session(server, word, why_refused(session, why_lost), "");
	else if (word == DONARD_RDMA_CLIENT_LOST)
		tell_session(server, word, why_lost, code);
	else if (session->heard.bye_status == DND_STATUS_RESET)
		tell_session(server, word, "the device of its own memory was reset meanwhile",
			     dnd_error_word(DND_E_DEVICE));
	else
		tell_session(server, word, "", "");
}

static void tell_reset(const struct dnd_server *server)
{
	struct donard_rdma_event event = new_event(server, DONARD_RDMA_RESET);

	event.resets = server->resets - server->resets_before;
	event.text = donard_error(server->ctx);
	event.code = donard_error_code(server->ctx);
	tell(server, &event);
}

static void tell_refused(struct dnd_server *server, struct rdma_cm_id *id, const char *text)
{
	struct donard_rdma_event event = new_event(server, DONARD_RDMA_CLIENT_REFUSED);
	char peer[DND_PEER_BYTES];

	dnd_address_text(rdma_get_peer_addr(id), peer);
	event.peer = peer;
	event.device = ibv_get_device_name(id->verbs->device);
	event.text = text;
	tell(server, &event);
}

/* ---- when the server has to end ---- */

static int must_end(struct dnd_server *server)
{
	if (dnd_target_gone(server->service.memory))
		return -ENODEV;
	if (!server->stopped && server->options.stop_fn)
		server->stopped = server->options.stop_fn(server->options.user);
	return server->stopped ? -ECANCELED : 0;
}

static bool is_last(const struct dnd_server *server)
{
	return server->options.clients && server->served >= server->options.clients;
}

static int meanwhile(void *user);

/* ---- a device that is reset ---- */

static int settle(struct dnd_server *server)
{
	return dnd_target_settle(server->service.memory, meanwhile, server);
}

/* Any other failure of a barrier has no text yet, and ends the server. */
static int settle_or_tell(struct dnd_server *server)
{
	int rc = settle(server);

	if (rc && rc != -EIO && rc != -ECANCELED)
		dnd_memory_access_failed(server->service.memory, -rc);
	return rc;
}

/*
 * The first barrier after a reset reports it, and barriers during a reset fail.  The time limit starts after the first
 * barrier, which waits as long as the memory needs to get ready.
 */
static int until_it_works(struct dnd_server *server)
{
	int rc = settle(server);
	double deadline = dnd_now_seconds() + RESET_SECONDS;

	while (rc == -EIO && !meanwhile(server) && dnd_now_seconds() < deadline) {
		poll(NULL, 0, RESET_NAP_MS);
		rc = settle(server);
	}
	return rc == -EIO ? rc : 0;	/* if the region is gone, must_end() reports that */
}

/* Waits until the device works again, and reports the reset.  Calls of the program's may fail meanwhile. */
static int heed_reset(struct dnd_server *server)
{
	struct dnd_failure reset;
	int rc, end;

	dnd_target_reset_text(server->service.memory);
	reset = dnd_failure_keep(server->ctx);
	rc = until_it_works(server);
	server->resets = dnd_target_resets(server->service.memory);
	dnd_failure_put_back(server->ctx, &reset);
	tell_reset(server);
	end = must_end(server);
	dnd_failure_put_back(server->ctx, &reset);
	if (end)
		return end;
	return rc ? dnd_target_reset_text(server->service.memory) : 0;
}

/* ---- the end of a client ---- */

static int zero(struct dnd_server *server)
{
	struct donard_memory *memory = server->service.memory;
	int rc = 0;

	for (uint64_t at = 0; at < memory->length && !rc; at += ZERO_STEP_BYTES) {
		rc = donard_memory_zero(memory, at, dnd_min(memory->length - at, ZERO_STEP_BYTES));
		if (!rc)
			rc = must_end(server);
	}
	return rc;
}

/* Memory that nobody here can write has one client (check_memory()). */
static int cannot_forget(struct dnd_server *server)
{
	return dnd_fail(server->ctx, DND_E_UNSUPPORTED, "%s: a client that did not take the offer could have written to it, and the "
			"CPU does not reach it to make it zero for another client. Serve it again.",
			dnd_target_name(server->service.memory));
}

/*
 * The next client must not see the bytes of this one.  Even a client that did not take the offer may
 * have written, because its queue pair accepts requests before it is established.  If the barrier
 * reports a reset, the zeros may be lost, and are written again.
 */
static int forget_bytes(struct dnd_server *server)
{
	struct donard_memory *memory = server->service.memory;
	int rc;

	if (!server->session.changed || dnd_region_persistent(&memory->region) || is_last(server))
		return 0;
	if (dnd_memory_check_mapped(memory))
		return cannot_forget(server);
	for (;;) {
		rc = zero(server);
		if (!rc)
			rc = settle_or_tell(server);
		if (rc != -EIO)
			return rc;
		rc = heed_reset(server);
		if (rc)
			return rc;
	}
}

/* The context's text says why the client ended, unless it said good-bye. */
static int client_ended(struct dnd_server *server)
{
	tell_end(server, donard_error(server->ctx), donard_error_code(server->ctx));
	dnd_session_end(&server->session);
	if (server->session.came)
		server->served++;
	return forget_bytes(server);
}

/* Cuts off the present client, because its data may be lost.  The next one finds memory that works. */
static int was_reset(struct dnd_server *server)
{
	int rc;

	if (server->session.id)
		dnd_session_withdraw(&server->session, DND_STATUS_RESET);
	rc = heed_reset(server);
	return !rc && server->session.id ? client_ended(server) : rc;
}

/* Deals with a reset that the kernel has noticed since the last look. */
static int look_for_reset(struct dnd_server *server)
{
	return dnd_target_resets(server->service.memory) == server->resets ? 0 : was_reset(server);
}

/* ---- connection manager ---- */

static int refuse(struct dnd_server *server, struct rdma_cm_id *id, enum dnd_rdma_status status,
		  const char *text)
{
	tell_refused(server, id, text);
	dnd_session_reject(id, status);
	return 0;
}

/*
 * A client must not be cut off for a reset that happened before it came, so a barrier first finds resets that the kernel has not
 * noticed.  A barrier that was abandoned for an earlier client may have consumed the -EIO; hence the look at the count.
 */
static int admit(struct dnd_server *server, const struct dnd_happening *knock)
{
	struct donard_rdma_event event;
	int rc = settle_or_tell(server);

	if (rc == -EIO || (!rc && dnd_target_resets(server->service.memory) != server->resets))
		rc = was_reset(server);
	if (rc) {
		dnd_session_reject(knock->id, rc == -ECANCELED ? DND_STATUS_STOPPED : DND_STATUS_CANNOT_OFFER);
		return rc;
	}
	rc = dnd_session_begin(&server->session, &server->service, knock->id, knock->reads);
	if (!rc)
		return 0;
	event = new_event(server, DONARD_RDMA_CLIENT_REFUSED);
	event.peer = server->session.peer;
	event.device = server->session.device;
	event.text = donard_error(server->ctx);
	tell(server, &event);
	return 0;
}

/* If the client only tried whether it may read, this is no refusal for the caller: it connects again without reads. */
static int refuse_reading(struct dnd_server *server, struct rdma_cm_id *id, const struct dnd_hello *hello)
{
	if (!hello->reads_optional)
		return refuse(server, id, DND_STATUS_NO_READING, "it asks to read, but the server only lets clients write");
	dnd_session_reject(id, DND_STATUS_NO_READING);
	return 0;
}

static int connect_request(struct dnd_server *server, const struct dnd_happening *knock)
{
	struct dnd_hello hello;
	int rc = dnd_hello_decode(&hello, knock->said, knock->said_bytes);

	/* The bytes of the last client are to stay, and another one could reach them. */
	if (is_last(server))
		return refuse(server, knock->id, DND_STATUS_BUSY, "the last client has been served");
	if (rc == -EPROTONOSUPPORT)
		return refuse(server, knock->id, DND_STATUS_VERSION, "it speaks another version");
	if (rc)
		return refuse(server, knock->id, DND_STATUS_VERSION, "it is no client of donard_rdma_serve()");
	if (knock->reads && !(server->service.rights & DONARD_RDMA_READ))
		return refuse_reading(server, knock->id, &hello);
	if (dnd_listener_excludes(&server->listener, knock->id))
		return refuse(server, knock->id, DND_STATUS_LOCAL_ONLY, "it is on another machine, and "
			      "this server is bound to loopback (options.bind)");
	if (server->session.id)
		return refuse(server, knock->id, DND_STATUS_BUSY, "another client is being served");
	return admit(server, knock);
}

static int disconnected(struct dnd_server *server)
{
	/* A good-bye may have come before the disconnect and not been read yet. */
	int rc = dnd_session_serve(&server->session);

	if (rc == -EIO)
		return was_reset(server);
	if (rc && rc != -ESHUTDOWN)
		server->session.heard.cut_off = true;	/* the server has failed the good-bye, and the text says why */
	else
		dnd_session_lost(&server->session);
	return client_ended(server);
}

/* Notes what an event says of the present client or of the listener; take_events() acts on it. */
static void note(struct dnd_server *server, const struct dnd_happening *happening)
{
	bool of_session = happening->id == server->session.id;

	if (happening->turn == DND_TURN_NO_DEVICE)
		server->no_device = true;
	else if (of_session && happening->turn == DND_TURN_ESTABLISHED)
		server->session.link.established = true;
	else if (of_session && happening->turn == DND_TURN_ENDED)
		server->session.over = true;
}

static int take_turn(struct dnd_server *server, const struct dnd_happening *happening)
{
	if (happening->turn == DND_TURN_KNOCK)
		return connect_request(server, happening);
	note(server, happening);
	return 0;
}

static int act(struct dnd_server *server)
{
	if (server->session.id && server->session.over)
		return disconnected(server);
	return server->no_device ? dnd_listener_no_device(server->ctx) : 0;
}

static int take_events(struct dnd_server *server)
{
	struct dnd_happening happening;
	int left = EVENTS_AT_ONCE, rc = act(server);

	while (!rc && left-- && dnd_listener_next(&server->listener, &happening)) {
		rc = take_turn(server, &happening);
		if (!rc)
			rc = act(server);
	}
	return rc;
}

/*
 * Called while the server waits for its memory, or its program works for the present client, for seconds or minutes: others hear
 * that it is busy.  Without a client, or with one that has gone or was cut off, it will soon admit another, and they wait, too.
 */
static int meanwhile(void *user)
{
	struct dnd_server *server = user;
	struct dnd_happening happening;
	int left = EVENTS_AT_ONCE;

	while (server->session.id && !server->session.over && !server->session.heard.cut_off && left-- &&
	       dnd_listener_next(&server->listener, &happening))
		take_turn(server, &happening);
	return must_end(server);
}

/* ---- loop ---- */

static void wait(struct dnd_server *server)
{
	struct pollfd fds[] = {
		{ .fd = server->listener.events->fd, .events = POLLIN },
		{ .fd = server->service.memory->region.fd, .events = POLLPRI },
		{ .fd = server->session.id ? server->session.link.channel->fd : -1,
		  .events = POLLIN },
	};

	/* Does not sleep if an event was read and noted already: its descriptor is not readable any more. */
	poll(fds, sizeof(fds) / sizeof(*fds), server->no_device || (server->session.id && server->session.over) ? 0 : TICK_MS);
}

static int serve_session(struct dnd_server *server)
{
	struct dnd_failure why;
	int rc;

	if (!server->session.id)
		return 0;
	rc = dnd_session_serve(&server->session);
	tell_came(server);
	if (!rc)
		return 0;
	why = dnd_failure_keep(server->ctx);
	/* If the server has to end, withdraw() tells the client. */
	if (must_end(server))
		return 0;
	dnd_failure_put_back(server->ctx, &why);
	if (rc == -EIO)
		return was_reset(server);
	/* One that said good-bye has left, unless the server failed it: then it has no answer, and the text says why. */
	if (rc != -ESHUTDOWN)
		server->session.heard.cut_off = true;
	return client_ended(server);
}

static void withdraw(struct dnd_server *server, int why)
{
	bool gone = why == -ENODEV && dnd_target_gone(server->service.memory);
	struct dnd_failure kept;

	if (!server->session.id)
		return;
	kept = dnd_failure_keep(server->ctx);	/* why the server ends */
	dnd_session_withdraw(&server->session, gone ? DND_STATUS_REGION_GONE :
			     DND_STATUS_STOPPED);
	if (gone)
		tell_end(server, "the region was taken away under it", dnd_error_word(DND_E_REGION_GONE));
	else if (why == -EIO)	/* was_reset() failed, and left its text */
		tell_end(server, donard_error(server->ctx), donard_error_code(server->ctx));
	else
		tell_end(server, "the server ended under it", dnd_error_word(DND_E_WITHDRAWN));
	dnd_failure_put_back(server->ctx, &kept);
}

static int run(struct dnd_server *server)
{
	int rc = 0;

	while (!rc && !is_last(server)) {
		wait(server);
		rc = take_events(server);
		if (!rc)
			rc = serve_session(server);
		if (!rc)
			rc = must_end(server);
		if (!rc)
			rc = look_for_reset(server);
	}
	withdraw(server, rc);
	return rc;
}

/* ---- start ---- */

/* If the device is known already, so that a refusal comes now. */
static int try_device(struct dnd_server *server, struct dnd_registration *tried)
{
	const struct dnd_listener *listener = &server->listener;
	int rc = listener->id->verbs ? dnd_device_check_port(server->ctx, listener->id->verbs, listener->id->port_num) : 0;

	return rc ? rc : dnd_listener_try(listener, server->service.memory, server->service.rights, tried);
}

static int listening(struct dnd_server *server)
{
	struct donard_rdma_event event = new_event(server, DONARD_RDMA_LISTENING);
	struct dnd_registration registration;
	char address[DND_PEER_BYTES];
	int rc = try_device(server, &registration);

	if (rc)
		return rc;
	rc = dnd_listen(server->ctx, &server->listener);
	if (rc)
		return rc;
	dnd_address_text(rdma_get_local_addr(server->listener.id), address);
	event.peer = address;
	event.port = be16toh(rdma_get_src_port(server->listener.id));
	if (server->listener.id->verbs) {
		event.device = ibv_get_device_name(server->listener.id->verbs->device);
		event.method = dnd_method(registration.dmabuf);
		event.reason = registration.reason;
	}
	tell(server, &event);
	return 0;
}

/* Clients may write it, and the server can make it zero between them. */
static int check_memory(const struct dnd_server *server)
{
	const struct donard_memory *memory = server->service.memory;
	int rc = 0;

	if (server->service.rights & DONARD_RDMA_WRITE)
		rc = dnd_memory_check_writable(memory);
	if (!rc && server->service.rights & DONARD_RDMA_WRITE && server->options.clients != 1 && !dnd_target_persistent(memory))
		rc = dnd_memory_check_mapped(memory);
	return rc;
}

static struct dnd_fault refused(const struct donard_rdma_serve_options *options)
{
	if (options->flags & ~KNOWN_FLAGS)
		return DND_VALUE("options.flags", options->flags & ~KNOWN_FLAGS);
	if (options->rights & ~DND_RIGHTS)
		return DND_VALUE("options.rights", options->rights & ~DND_RIGHTS);
	return DND_AT("options.reserved");
}

static void fill_service(struct dnd_server *server)
{
	const struct donard_rdma_serve_options *options = &server->options;

	server->service.ctx = server->ctx;
	server->service.rights = options->rights;
	server->service.timeout_ms = options->timeout_ms;
	server->service.services = options->services;
	server->service.answer_fn = options->answer_fn;
	server->service.answer_user = options->user;
	server->service.read_back = options->flags & DONARD_RDMA_READ_BACK;
	server->service.meanwhile_fn = meanwhile;
	server->service.user = server;
}

static int take_options(struct dnd_server *server, const struct donard_rdma_serve_options *options)
{
	struct donard_rdma_serve_options *taken = &server->options;

	int rc = DND_TAKE(server->ctx, taken, options, "donard_rdma_serve_options");

	if (rc)
		return rc;
	if (taken->flags & ~KNOWN_FLAGS || taken->rights & ~DND_RIGHTS || taken->reserved)
		return dnd_fail_member(server->ctx, DND_E_BAD_OPTION, refused(taken),
				       "unknown flags or rights, or reserved members that are set.");
	if (taken->services && !taken->answer_fn)
		return dnd_fail_member(server->ctx, DND_E_BAD_OPTION, DND_AT("options.answer_fn"),
				       "options.services needs options.answer_fn.");
	if (!taken->rights)
		taken->rights = DND_RIGHTS;
	if (!taken->timeout_ms)
		taken->timeout_ms = DONARD_RDMA_TIMEOUT_MS;
	rc = dnd_check_silence(server->ctx, taken->timeout_ms);
	if (rc)
		return rc;
	fill_service(server);
	return check_memory(server);
}

/* When this returns, nothing here uses the memory any more. */
static void clean_up(struct dnd_server *server)
{
	dnd_session_end(&server->session);
	dnd_listener_close(&server->listener);
}

DND_PUBLIC int donard_rdma_serve(struct donard_memory *memory, const struct donard_rdma_serve_options *options)
{
	DND_USES(MEMORY, memory);
	struct dnd_server server = { .ctx = memory->ctx, .service.memory = memory };
	int rc = take_options(&server, options);

	if (rc)
		return rc;
	server.resets = server.resets_before = dnd_target_resets(memory);
	rc = dnd_listener_open(server.ctx, &server.listener, server.options.bind, server.options.port);
	if (!rc)
		rc = listening(&server);
	if (!rc)
		rc = run(&server);
	if (rc == -ENODEV && dnd_target_gone(memory))
		dnd_target_gone_text(server.ctx, memory);
	clean_up(&server);
	return rc == -ECANCELED ? 0 : rc;
}
