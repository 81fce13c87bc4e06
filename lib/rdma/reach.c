// SPDX-License-Identifier: Apache-2.0
/* See reach.h. */
#include <fcntl.h>
#include <poll.h>

#include "rdma/device.h"
#include "rdma/dial.h"
#include "rdma/reach.h"

#define TICK_MS		100
#define MAGIC_BYTES	4	/* with which each answer begins */
#define ROUND_MS	2000
#define REMOVAL_MS	500	/* how long a removed device's event may stay behind its failed requests */

/* ---- failures ---- */

int dnd_reach_nobody(struct dnd_reach *reach)
{
	return dnd_fail(reach->ctx, DND_E_REFUSED, "%s: nobody listens there. Start %s on that machine "
			"with %s and options.port of this address.", reach->peer, reach->server, reach->listen_option);
}

int dnd_reach_stranger(struct dnd_reach *reach, const void *bytes, size_t length)
{
	static const uint8_t zeros[MAGIC_BYTES];

	if (!bytes || length < MAGIC_BYTES || !memcmp(bytes, zeros, MAGIC_BYTES))
		return dnd_reach_nobody(reach);
	reach->unheard = false;
	return dnd_fail(reach->ctx, DND_E_PROTOCOL, "%s: what listens there is no %s, and refused this client. Check the port.",
			reach->peer, reach->server);
}

/*
 * Over iWARP, somebody accepted the TCP connection and then closed it.  The close may overtake
 * the peer's answer; siw then reports a refusal without a reason (siw_cm.c, SIW_CM_WORK_PEER_CLOSE).
 */
static int rejected(struct dnd_reach *reach, const struct rdma_conn_param *param)
{
	reach->unheard = reach->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	return reach->ops->refused(reach->user, param->private_data, param->private_data_len);
}

static int unreachable(struct dnd_reach *reach, const char *step, int error_number)
{
	return dnd_fail(reach->ctx, DND_E_PEER_SILENT, "%s: no answer to the %s (%s). Check that the "
			"machine is up, that the link is ('rdma link'), and that %s runs there.",
			reach->peer, step, strerror(error_number), reach->server);
}

static const char *step_before(enum rdma_cm_event_type wanted)
{
	return wanted == RDMA_CM_EVENT_ESTABLISHED ? "connection request" : "search for its address";
}

/* If the peer's address is loopback: the option that gives the server another address.  Else NULL. */
static const char *option_against_loopback(const struct dnd_reach *reach)
{
	return reach->loopback ? reach->listen_option : NULL;
}

static int no_route(struct dnd_reach *reach, int error_number)
{
	if (error_number == ETIMEDOUT || error_number == EHOSTUNREACH)
		return unreachable(reach, "search for its address", error_number);
	return dnd_no_device_at(reach->ctx, reach->peer, option_against_loopback(reach));
}

/*
 * What rdma_connect() itself fails with.  siw makes its TCP connection within the call, so that it may be what the network
 * or the peer says.  All else is of this machine: no thread for the call, or a queue pair that the device refuses.
 */
static int cannot_start(struct dnd_reach *reach, int error_number)
{
	switch (error_number) {
	case ECONNREFUSED:
	case ECONNRESET:
		return dnd_reach_nobody(reach);
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
	case ENETDOWN:
		return unreachable(reach, "connection request", error_number);
	}
	return dnd_fail_errno(reach->ctx, error_number, "%s: a connection cannot be begun here", reach->peer);
}

static int lost(struct dnd_reach *reach)
{
	return dnd_fail(reach->ctx, DND_E_PEER_LOST, "%s: the server closed the connection, or was "
			"killed.", reach->peer);
}

/* Over InfiniBand and RoCE, librdmacm readies the queue pair when the server has answered. */
static int refused_here(struct dnd_reach *reach, int error_number)
{
	return dnd_fail_errno(reach->ctx, error_number ? error_number : EIO, "%s: the server answered, and the RDMA device of this "
			      "end refuses the connection", reach->peer);
}

int dnd_reach_no_device(struct dnd_reach *reach)
{
	return dnd_fail(reach->ctx, DND_E_NO_RDMA, "%s: the RDMA device of this end was removed. Bring it back ('rdma link'), and "
			"do it again.", reach->peer);
}

#define FAILED_HERE	(-1)	/* the status of an event which librdmacm could not deal with; those of the kernel are errnos */

/*
 * Returns 1 if the event is the one that is waited for, 0 if it means nothing, or a failure.  @error_number is what librdmacm left
 * in errno.
 */
static int judge(struct dnd_reach *reach, const struct rdma_cm_event *event, int error_number,
		 enum rdma_cm_event_type wanted)
{
	const struct rdma_conn_param *param = &event->param.conn;
	int rc;

	if (event->event == wanted) {
		rc = wanted == RDMA_CM_EVENT_ESTABLISHED ?
		     reach->ops->accepted(reach->user, param->private_data, param->private_data_len) : 0;
		return rc ? rc : 1;
	}
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return no_route(reach, -event->status);
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		if (event->status == FAILED_HERE)
			return refused_here(reach, error_number);
		return unreachable(reach, step_before(wanted),
				   event->status < 0 ? -event->status : ETIMEDOUT);
	case RDMA_CM_EVENT_REJECTED:
		return rejected(reach, param);
	case RDMA_CM_EVENT_DISCONNECTED:
		return lost(reach);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return dnd_reach_no_device(reach);
	default:
		return 0;
	}
}

/* ---- waiting for one event ---- */

static void begin_step(struct dnd_reach *reach)
{
	reach->deadline = dnd_now_seconds() + reach->timeout_ms / 1000.0;
}

/* Returns 0 to continue waiting; else the failure. */
static int given_up(struct dnd_reach *reach, enum rdma_cm_event_type wanted)
{
	int rc = reach->ops->give_up ? reach->ops->give_up(reach->user) : 0;

	if (!rc && dnd_now_seconds() > reach->deadline)
		rc = unreachable(reach, step_before(wanted), ETIMEDOUT);
	return rc;
}

static int request_given_up(void *user)
{
	return given_up(user, RDMA_CM_EVENT_ESTABLISHED);
}

static int wait_for(struct dnd_reach *reach, enum rdma_cm_event_type wanted)
{
	struct pollfd pollfd = { .fd = reach->events->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	int rc = 0;

	while (!rc) {
		poll(&pollfd, 1, TICK_MS);
		errno = 0;
		if (!rdma_get_cm_event(reach->events, &event)) {
			rc = judge(reach, event, errno, wanted);
			rdma_ack_cm_event(event);
		} else {
			rc = given_up(reach, wanted);
		}
	}
	return rc < 0 ? rc : 0;
}

int dnd_reach_take_events(struct dnd_reach *reach)
{
	struct rdma_cm_event *event;
	int rc = 0;

	while (!rc && !rdma_get_cm_event(reach->events, &event)) {
		reach->device_gone |= event->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
		reach->over |= event->event == RDMA_CM_EVENT_DISCONNECTED || reach->device_gone;
		if (reach->over)
			rc = -ECONNRESET;
		rdma_ack_cm_event(event);
	}
	return rc;
}

/* A removal may stand behind another event. */
static void take_all_events(struct dnd_reach *reach)
{
	while (!reach->device_gone && dnd_reach_take_events(reach))
		;
}

bool dnd_reach_lost_device(struct dnd_reach *reach, bool peer_failed)
{
	struct pollfd pollfd = { .fd = reach->events->fd, .events = POLLIN };
	double deadline = dnd_now_seconds() + REMOVAL_MS / 1000.0;
	int left_ms = peer_failed ? 0 : REMOVAL_MS;

	take_all_events(reach);
	while (!reach->over && left_ms > 0) {
		poll(&pollfd, 1, left_ms);
		take_all_events(reach);
		left_ms = (int)((deadline - dnd_now_seconds()) * 1000);
	}
	return reach->device_gone;
}

/* ---- the steps ---- */

static int open_manager(struct dnd_reach *reach)
{
	reach->events = rdma_create_event_channel();
	if (!reach->events || rdma_create_id(reach->events, &reach->id, NULL, RDMA_PS_TCP))
		return dnd_no_manager(reach->ctx, reach->peer, option_against_loopback(reach), errno);
	fcntl(reach->events->fd, F_SETFL, fcntl(reach->events->fd, F_GETFL) | O_NONBLOCK);
	return 0;
}

static int resolve_address(struct dnd_reach *reach, struct sockaddr_storage *address,
			   int timeout_ms)
{
	begin_step(reach);
	if (rdma_resolve_addr(reach->id, NULL, (struct sockaddr *)address, timeout_ms))
		return no_route(reach, errno);
	return wait_for(reach, RDMA_CM_EVENT_ADDR_RESOLVED);
}

/* The kernel asks the network only when a search begins, so this makes several short searches instead of a long one. */
static int resolve(struct dnd_reach *reach, struct sockaddr_storage *address)
{
	int left_ms = (int)reach->timeout_ms, round_ms, rc;

	do {
		round_ms = left_ms < ROUND_MS ? left_ms : ROUND_MS;
		rc = resolve_address(reach, address, round_ms);
		left_ms -= round_ms;
	} while (rc == -ETIMEDOUT && left_ms > 0);
	if (rc)
		return rc;
	begin_step(reach);
	if (rdma_resolve_route(reach->id, (int)reach->timeout_ms))
		return no_route(reach, errno);
	return wait_for(reach, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

int dnd_reach_find(struct dnd_reach *reach, const char *address, uint16_t port)
{
	struct sockaddr_storage found;
	int rc = dnd_address_resolve(reach->ctx, address, port, &found);

	if (rc)
		return rc;
	dnd_address_text((struct sockaddr *)&found, reach->peer);
	reach->loopback = dnd_address_is_loopback((struct sockaddr *)&found);
	rc = open_manager(reach);
	return rc ? rc : resolve(reach, &found);
}

int dnd_reach_connect(struct dnd_reach *reach, struct rdma_conn_param *param)
{
	int rc, error_number;

	begin_step(reach);
	rc = dnd_dial(reach->id, param, request_given_up, reach, &error_number);
	if (rc)
		return rc;
	if (error_number)
		return cannot_start(reach, error_number);
	return wait_for(reach, RDMA_CM_EVENT_ESTABLISHED);
}

void dnd_reach_close(struct dnd_reach *reach)
{
	if (reach->id)
		rdma_destroy_id(reach->id);
	if (reach->events)
		rdma_destroy_event_channel(reach->events);
	reach->id = NULL;
	reach->events = NULL;
}
