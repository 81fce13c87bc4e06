// SPDX-License-Identifier: Apache-2.0
/*
 * The server: listens, admits one client at a time, watches over the region.
 * It waits for the connection manager and for the client's messages; data
 * goes by without it.
 */
#include <endian.h>
#include <fcntl.h>
#include <poll.h>

#include "rdma/device.h"
#include "rdma/session.h"

#define LOOPBACK		"127.0.0.1"
#define BACKLOG			8
#define EVENTS_AT_ONCE		64	/* then the client that is served has its turn */
#define TICK_MS			100
#define ZERO_STEP_BYTES		(1U << 20)
#define DEFAULT_DRAM_BYTES	(64ULL << 20)
#define KNOWN_FLAGS		DONARD_RDMA_MAY_FILL

struct dnd_server {
	struct donard_context *ctx;
	struct donard_rdma_serve_options options;
	struct dnd_service service;
	struct dnd_session session;
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener;
	bool local_only;
	unsigned int served;
};

/* ---- what the caller hears ---- */

static struct donard_rdma_event new_event(const struct dnd_server *server,
					  enum donard_rdma_event_type type)
{
	const struct donard_memory *memory = server->service.memory;

	return (struct donard_rdma_event){
		.size = sizeof(struct donard_rdma_event),
		.type = type,
		.peer = "", .device = "", .reason = "", .text = "",
		.target = dnd_memory_name(memory),
		.memory = memory->window.data,
		.offset_bytes = dnd_memory_file_offset(memory),
		.length_bytes = memory->length,
		.rights = server->service.rights,
		.clients = server->served,
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

static double seconds_between(const struct timeval *from, const struct timeval *to)
{
	return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_usec - from->tv_usec) / 1e6;
}

static void add_usage(struct donard_rdma_event *event, const struct dnd_session *session)
{
	const struct rusage *before = &session->usage;
	struct rusage now;

	getrusage(RUSAGE_SELF, &now);
	event->seconds = dnd_now_seconds() - session->started;
	event->user_seconds = seconds_between(&before->ru_utime, &now.ru_utime);
	event->system_seconds = seconds_between(&before->ru_stime, &now.ru_stime);
	event->minor_faults = (uint64_t)(now.ru_minflt - before->ru_minflt);
	event->major_faults = (uint64_t)(now.ru_majflt - before->ru_majflt);
	event->filled_bytes = session->filled_bytes;
	event->checked_bytes = session->checked_bytes;
}

static void tell_session(struct dnd_server *server, enum donard_rdma_event_type type,
			 const char *text)
{
	struct donard_rdma_event event = new_event(server, type);
	const struct dnd_session *session = &server->session;

	event.peer = session->peer;
	event.device = session->device;
	event.text = text;
	name_registration(&event, &session->registration);
	if (type == DONARD_RDMA_CLIENT_LEFT || type == DONARD_RDMA_CLIENT_LOST)
		add_usage(&event, session);
	tell(server, &event);
}

/* Who connects has not come: the offer may not be what it wants, or it no donard. */
static void tell_came(struct dnd_server *server)
{
	struct dnd_session *session = &server->session;

	if (session->came || !session->took)
		return;
	session->came = true;
	tell_session(server, DONARD_RDMA_CLIENT_CAME, "");
}

static const char *why_refused(const struct dnd_session *session, const char *why_lost)
{
	if (!session->link.established)
		return "it knocked, and did not complete the connection";
	return session->said_bye ? "it did not want what is offered" : why_lost;
}

static void tell_end(struct dnd_server *server, const char *why_lost)
{
	const struct dnd_session *session = &server->session;

	tell_came(server);
	if (!session->came)
		tell_session(server, DONARD_RDMA_CLIENT_REFUSED, why_refused(session, why_lost));
	else if (session->said_bye)
		tell_session(server, DONARD_RDMA_CLIENT_LEFT, "");
	else
		tell_session(server, DONARD_RDMA_CLIENT_LOST, why_lost);
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

/* ---- the end of all, and of a client ---- */

static int must_end(void *user)
{
	struct dnd_server *server = user;

	if (dnd_target_gone(server->service.memory))
		return -ENODEV;
	if (server->options.stop_fn && server->options.stop_fn(server->options.user))
		return -ECANCELED;
	return 0;
}

static bool is_last(const struct dnd_server *server)
{
	return server->options.clients && server->served >= server->options.clients;
}

/*
 * The next client must not see what this one left.  One that took nothing may
 * have written as well: its queue pair takes requests before it is established.
 */
static int forget_bytes(struct dnd_server *server)
{
	const struct donard_memory *memory = server->service.memory;
	int rc = 0;

	if (!server->session.changed || dnd_region_persistent(&memory->region) || is_last(server))
		return 0;
	for (uint64_t at = 0; at < memory->length && !rc; at += ZERO_STEP_BYTES) {
		rc = dnd_memory_zero(memory->window.data + at,
				     dnd_min(memory->length - at, ZERO_STEP_BYTES));
		if (!rc)
			rc = must_end(server);
	}
	return rc;
}

/* The context's text says why, unless it said good-bye. */
static int client_ended(struct dnd_server *server)
{
	tell_end(server, donard_error(server->ctx));
	dnd_session_end(&server->session);
	if (server->session.came)
		server->served++;
	return forget_bytes(server);
}

/* ---- connection manager ---- */

/* What a connection request brings, which goes when the event is acknowledged. */
struct dnd_knock {
	int hello;		/* what dnd_hello_decode() said */
	bool would_read;
};

/* Transports disagree about which of the two is the other side's wish; clients are never read. */
static struct dnd_knock read_knock(const struct rdma_conn_param *param)
{
	return (struct dnd_knock){
		.hello = dnd_hello_decode(param->private_data, param->private_data_len),
		.would_read = param->initiator_depth || param->responder_resources,
	};
}

static int refuse(struct dnd_server *server, struct rdma_cm_id *id, enum dnd_rdma_status status,
		  const char *text)
{
	tell_refused(server, id, text);
	dnd_session_reject(id, status);
	return 0;
}

static int admit(struct dnd_server *server, struct rdma_cm_id *id)
{
	struct donard_rdma_event event;
	int rc = dnd_session_begin(&server->session, &server->service, id);

	if (!rc)
		return 0;
	event = new_event(server, DONARD_RDMA_CLIENT_REFUSED);
	event.peer = server->session.peer;
	event.device = server->session.device;
	event.text = donard_error(server->ctx);
	tell(server, &event);
	return 0;
}

/*
 * The connection manager takes a listener on loopback for one on every address.
 * But for iWARP the peer's address is what the peer says; data go to the GID.
 */
static bool is_elsewhere(const struct dnd_server *server, struct rdma_cm_id *id)
{
	return server->local_only && !(dnd_address_is_local(rdma_get_peer_addr(id)) &&
				       dnd_device_route_is_local(id));
}

static int connect_request(struct dnd_server *server, struct rdma_cm_id *id,
			   const struct dnd_knock *knock)
{
	/* It would reach what the last client left, which is to stay. */
	if (is_last(server))
		return refuse(server, id, DND_STATUS_BUSY, "the last client has been served");
	if (knock->hello == -EPROTONOSUPPORT)
		return refuse(server, id, DND_STATUS_VERSION, "it speaks another version");
	if (knock->hello)
		return refuse(server, id, DND_STATUS_VERSION, "it is no donard client");
	if (knock->would_read && !(server->service.rights & DONARD_RDMA_READ))
		return refuse(server, id, DND_STATUS_NO_READING, "it would read, and may only write");
	if (is_elsewhere(server, id))
		return refuse(server, id, DND_STATUS_LOCAL_ONLY, "it is on another machine, and "
			      "this server is bound to loopback (--bind)");
	if (server->session.id)
		return refuse(server, id, DND_STATUS_BUSY, "another client is being served");
	return admit(server, id);
}

/* After the event was acknowledged, since an id goes only then. */
static int on_event(struct dnd_server *server, enum rdma_cm_event_type type,
		    struct rdma_cm_id *id, const struct dnd_knock *knock)
{
	bool of_session = id == server->session.id;

	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return connect_request(server, id, knock);
	case RDMA_CM_EVENT_ESTABLISHED:
		if (of_session)
			server->session.link.established = true;
		return 0;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		if (id == server->listener)
			return dnd_fail(server->ctx, DND_E_NO_RDMA, "the RDMA device of the server's "
					"address was removed. Bring it back, and start again.");
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		break;
	default:
		return 0;
	}
	if (!of_session)
		return 0;
	/* A good-bye may have come before the disconnect and not been read yet. */
	dnd_session_serve(&server->session);
	dnd_session_lost(&server->session);
	return client_ended(server);
}

static int take_events(struct dnd_server *server)
{
	struct rdma_cm_event *event;
	int left = EVENTS_AT_ONCE, rc = 0;

	while (!rc && left-- && !rdma_get_cm_event(server->events, &event)) {
		enum rdma_cm_event_type type = event->event;
		struct rdma_cm_id *id = event->id;
		struct dnd_knock knock = { 0 };

		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			knock = read_knock(&event->param.conn);
		rdma_ack_cm_event(event);
		rc = on_event(server, type, id, &knock);
	}
	return rc;
}

/* ---- loop ---- */

static void wait(struct dnd_server *server)
{
	struct pollfd fds[] = {
		{ .fd = server->events->fd, .events = POLLIN },
		{ .fd = server->service.memory->region.fd, .events = POLLPRI },
		{ .fd = server->session.id ? server->session.link.channel->fd : -1,
		  .events = POLLIN },
	};

	poll(fds, sizeof(fds) / sizeof(*fds), TICK_MS);
}

static int serve_session(struct dnd_server *server)
{
	int rc;

	if (!server->session.id)
		return 0;
	rc = dnd_session_serve(&server->session);
	tell_came(server);
	if (!rc)
		return 0;
	/* The server's own end is told to the client in withdraw(). */
	if (must_end(server))
		return 0;
	return client_ended(server);
}

static void withdraw(struct dnd_server *server, int why)
{
	bool gone = why == -ENODEV && dnd_target_gone(server->service.memory);

	if (!server->session.id)
		return;
	dnd_session_withdraw(&server->session, gone ? DND_STATUS_REGION_GONE :
			     DND_STATUS_STOPPED);
	tell_end(server, gone ? "the region was taken away under it" : "the server ended under it");
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
	}
	withdraw(server, rc);
	return rc;
}

/* ---- start ---- */

/* By a device that is known already, so that a refusal comes now. */
static int try_registration(struct dnd_server *server, struct dnd_registration *registration)
{
	struct ibv_pd *pd;
	int rc;

	memset(registration, 0, sizeof(*registration));
	if (!server->listener->verbs)
		return 0;
	rc = dnd_device_check_port(server->ctx, server->listener->verbs,
				   server->listener->port_num);
	if (rc)
		return rc;
	pd = ibv_alloc_pd(server->listener->verbs);
	if (!pd)
		return dnd_fail_errno(server->ctx, errno, "a protection domain cannot be made");
	rc = dnd_register(server->service.memory, 0, server->service.memory->length, pd,
			  server->service.rights, registration);
	dnd_unregister(registration);
	ibv_dealloc_pd(pd);
	return rc;
}

static int listening(struct dnd_server *server)
{
	struct donard_rdma_event event = new_event(server, DONARD_RDMA_LISTENING);
	struct dnd_registration registration;
	char address[DND_PEER_BYTES];
	int rc = try_registration(server, &registration);

	if (rc)
		return rc;
	if (rdma_listen(server->listener, BACKLOG))
		return dnd_fail_errno(server->ctx, errno, "listening failed");
	dnd_address_text(rdma_get_local_addr(server->listener), address);
	event.peer = address;
	event.port = be16toh(rdma_get_src_port(server->listener));
	if (server->listener->verbs) {
		event.device = ibv_get_device_name(server->listener->verbs->device);
		event.method = dnd_method(registration.dmabuf);
		event.reason = registration.reason;
	}
	tell(server, &event);
	return 0;
}

static int bind_failed(struct dnd_server *server, const char *host, int error_number)
{
	switch (error_number) {
	case ENODEV:
	case EADDRNOTAVAIL:
	case ENETDOWN:
	case ENETUNREACH:
		return dnd_no_device_at(server->ctx, host, server->local_only);
	case EADDRINUSE:
		return dnd_fail(server->ctx, DND_E_BUSY, "%s: port %u is in use. Choose another one "
				"by --port, or end what uses it.", host, server->options.port);
	}
	return dnd_fail_errno(server->ctx, error_number, "%s: cannot be bound", host);
}

static int start_listening(struct dnd_server *server)
{
	const char *host = server->options.bind ? server->options.bind : LOOPBACK;
	struct sockaddr_storage address;
	int rc = dnd_address_resolve(server->ctx, host, server->options.port, &address);

	if (rc)
		return rc;
	server->local_only = dnd_address_is_loopback((struct sockaddr *)&address);
	server->events = rdma_create_event_channel();
	if (!server->events)
		return errno == ENODEV || errno == ENOENT ?
		       dnd_no_device_at(server->ctx, host, server->local_only) :
		       dnd_fail_errno(server->ctx, errno, "the RDMA connection manager cannot be "
				      "used (modprobe rdma_ucm)");
	if (rdma_create_id(server->events, &server->listener, NULL, RDMA_PS_TCP))
		return dnd_fail_errno(server->ctx, errno, "the RDMA connection manager cannot be "
				      "used (modprobe rdma_ucm)");
	if (rdma_bind_addr(server->listener, (struct sockaddr *)&address))
		return bind_failed(server, host, errno);
	fcntl(server->events->fd, F_SETFL, fcntl(server->events->fd, F_GETFL) | O_NONBLOCK);
	return listening(server);
}

static int take_options(struct dnd_server *server, const struct donard_rdma_serve_options *options)
{
	struct donard_rdma_serve_options *taken = &server->options;

	int rc = DND_TAKE(server->ctx, taken, options, "donard_rdma_serve_options");

	if (rc)
		return rc;
	if (taken->flags & ~KNOWN_FLAGS || taken->rights & ~DND_RIGHTS || taken->reserved ||
	    taken->reserved2)
		return dnd_fail(server->ctx, DND_E_BAD_OPTION, "unknown flags or rights, or "
				"reserved members that are set.");
	if (!taken->rights)
		taken->rights = DND_RIGHTS;
	if (!taken->timeout_ms)
		taken->timeout_ms = DONARD_RDMA_TIMEOUT_MS;
	server->service.ctx = server->ctx;
	server->service.rights = taken->rights;
	server->service.timeout_ms = taken->timeout_ms;
	server->service.may_fill = taken->rights & DONARD_RDMA_WRITE ||
				   taken->flags & DONARD_RDMA_MAY_FILL;
	server->service.must_end_fn = must_end;
	server->service.user = server;
	return 0;
}

/* In this order: the region is free, for its removal, when this returns. */
static void clean_up(struct dnd_server *server)
{
	dnd_session_end(&server->session);
	if (server->listener)
		rdma_destroy_id(server->listener);
	if (server->events)
		rdma_destroy_event_channel(server->events);
	donard_memory_free(server->service.memory);
}

DND_PUBLIC int donard_rdma_serve(struct donard_context *ctx, const char *target,
				 const struct donard_rdma_serve_options *options)
{
	struct dnd_server server = { .ctx = ctx };
	int rc;

	rc = take_options(&server, options);
	if (!rc)
		rc = dnd_target_open(ctx, target, server.options.length_bytes, DEFAULT_DRAM_BYTES,
				     &server.service.memory);
	if (!rc)
		rc = start_listening(&server);
	if (!rc)
		rc = run(&server);
	if (rc == -ENODEV && dnd_target_gone(server.service.memory))
		dnd_target_gone_text(ctx, server.service.memory);
	clean_up(&server);
	return rc == -ECANCELED ? 0 : rc;
}
