// SPDX-License-Identifier: Apache-2.0
/* See listen.h. */
#include <fcntl.h>

#include "rdma/address.h"
#include "rdma/device.h"
#include "rdma/listen.h"

#define LOOPBACK	"127.0.0.1"
/*
 * How many connection requests may wait until the server takes them.  Beyond that the kernel (ucma.c) does
 * not queue them: iWARP rejects the client without private data, which reads as "nobody listens there",
 * although the server is merely busy; InfiniBand and RoCE say nothing, and the client asks again seconds later.
 * This is what the kernel allows at most (net.rdma_ucm.max_backlog, unless an administrator changed it).
 */
#define BACKLOG		1024

/* A listener at all addresses, or at loopback, conflicts with each other one, and that is EADDRNOTAVAIL (cma_check_port()). */
static bool another_port_can_be_bound(const struct sockaddr_storage *address)
{
	struct sockaddr_storage changed = *address;
	struct rdma_cm_id *id;
	bool can;

	dnd_address_set_port(&changed, 0);
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return false;
	can = !rdma_bind_addr(id, (struct sockaddr *)&changed);
	rdma_destroy_id(id);
	return can;
}

static int port_in_use(struct donard_context *ctx, const struct dnd_listener *listener)
{
	return dnd_fail(ctx, DND_E_BUSY, "%s: port %u is in use. Choose another one "
			"by options.port, or end what uses it.", listener->host, listener->port);
}

static int bind_failed(struct donard_context *ctx, const struct dnd_listener *listener,
		       const struct sockaddr_storage *address, int error_number)
{
	switch (error_number) {
	case EADDRNOTAVAIL:
		if (another_port_can_be_bound(address))
			return port_in_use(ctx, listener);
		return dnd_no_device_at(ctx, listener->host, NULL);
	case ENODEV:
	case ENETDOWN:
	case ENETUNREACH:
		return dnd_no_device_at(ctx, listener->host, NULL);
	case EADDRINUSE:
		return port_in_use(ctx, listener);
	}
	return dnd_fail_access(ctx, error_number, "Only CAP_NET_BIND_SERVICE allows ports below 1024: choose another one by "
			       "options.port", "%s: port %u cannot be bound", listener->host, listener->port);
}

int dnd_listener_open(struct donard_context *ctx, struct dnd_listener *listener, const char *host,
		      uint16_t port)
{
	struct sockaddr_storage address;
	int rc;

	*listener = (struct dnd_listener){ .host = host ? host : LOOPBACK, .port = port };
	rc = dnd_address_resolve(ctx, listener->host, port, &address);
	if (rc)
		return rc;
	listener->local_only = dnd_address_is_loopback((struct sockaddr *)&address);
	listener->events = rdma_create_event_channel();
	if (!listener->events || rdma_create_id(listener->events, &listener->id, NULL, RDMA_PS_TCP))
		return dnd_no_manager(ctx, listener->host, NULL, errno);
	if (rdma_bind_addr(listener->id, (struct sockaddr *)&address))
		return bind_failed(ctx, listener, &address, errno);
	fcntl(listener->events->fd, F_SETFL, fcntl(listener->events->fd, F_GETFL) | O_NONBLOCK);
	return 0;
}

int dnd_listener_try(const struct dnd_listener *listener, const struct donard_memory *memory, unsigned int rights,
		     struct dnd_registration *tried)
{
	struct ibv_context *verbs = listener->id->verbs;
	struct ibv_pd *pd;
	int rc;

	memset(tried, 0, sizeof(*tried));
	if (!verbs)
		return 0;
	pd = ibv_alloc_pd(verbs);
	if (!pd)
		return dnd_fail_errno(memory->ctx, errno, "%s: a protection domain cannot be made",
				      ibv_get_device_name(verbs->device));
	rc = dnd_register(memory, 0, memory->length, pd, rights, tried);
	dnd_unregister(tried);
	ibv_dealloc_pd(pd);
	return rc;
}

int dnd_listen(struct donard_context *ctx, struct dnd_listener *listener)
{
	if (!rdma_listen(listener->id, BACKLOG))
		return 0;
	/* siw shares its ports with TCP, and finds a program there only now. */
	if (errno == EADDRINUSE)
		return port_in_use(ctx, listener);
	return dnd_fail_errno(ctx, errno, "%s: port %u cannot be listened at", listener->host, listener->port);
}

void dnd_listener_close(struct dnd_listener *listener)
{
	if (listener->id)
		rdma_destroy_id(listener->id);
	if (listener->events)
		rdma_destroy_event_channel(listener->events);
	memset(listener, 0, sizeof(*listener));
}

/*
 * The connection manager treats a listener on loopback as one on every address.  Except with
 * iWARP, the peer's address is only what the peer claims, and data go to the GID; so both are
 * checked.
 */
bool dnd_listener_excludes(const struct dnd_listener *listener, struct rdma_cm_id *id)
{
	return listener->local_only && !(dnd_address_is_local(rdma_get_peer_addr(id)) &&
					 dnd_device_route_is_local(id));
}

/* ---- events ---- */

static enum dnd_turn turn_of(const struct dnd_listener *listener, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return DND_TURN_KNOCK;
	case RDMA_CM_EVENT_ESTABLISHED:
		return DND_TURN_ESTABLISHED;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return event->id == listener->id ? DND_TURN_NO_DEVICE : DND_TURN_ENDED;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		return DND_TURN_ENDED;
	default:
		return DND_TURN_NONE;
	}
}

/* Transports disagree about which of the two is the client's wish.  Clients are never read, so it is the larger one. */
static void take_knock(struct dnd_happening *happening, const struct rdma_conn_param *param)
{
	happening->reads = (uint8_t)dnd_max(param->initiator_depth, param->responder_resources);
	if (!param->private_data)
		return;
	happening->said_bytes = dnd_min(param->private_data_len, sizeof(happening->said));
	memcpy(happening->said, param->private_data, happening->said_bytes);
}

bool dnd_listener_next(struct dnd_listener *listener, struct dnd_happening *happening)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(listener->events, &event))
		return false;
	*happening = (struct dnd_happening){ .turn = turn_of(listener, event), .id = event->id };
	if (happening->turn == DND_TURN_KNOCK)
		take_knock(happening, &event->param.conn);
	rdma_ack_cm_event(event);
	return true;
}

int dnd_listener_no_device(struct donard_context *ctx)
{
	return dnd_fail(ctx, DND_E_NO_RDMA, "the RDMA device of the server's address was removed. "
			"Bring it back, and start again.");
}
