// SPDX-License-Identifier: Apache-2.0
/* The way to the server: address, route, queue pair, handshake. */
#include <fcntl.h>
#include <poll.h>

#include "rdma/client.h"
#include "rdma/device.h"
#include "rdma/dial.h"

#define TICK_MS		100
#define ROUND_MS	2000

/* ---- what went wrong ---- */

static int refused(struct dnd_client *client, const struct dnd_offer *offer)
{
	switch (offer->status) {
	case DND_STATUS_BUSY:
		return dnd_fail(client->ctx, DND_E_BUSY, "%s: the server is serving another client. "
				"Try again when that has ended.", client->peer);
	case DND_STATUS_VERSION:
		return dnd_fail(client->ctx, DND_E_PROTOCOL, "%s: the server did not understand this "
				"client. Use the same version of donard on both sides.",
				client->peer);
	case DND_STATUS_NO_READING:
		client->reading_refused = true;
		return dnd_fail(client->ctx, DND_E_NOT_OFFERED, "%s: the server's memory is offered "
				"for writing only. Start the server with --access read or both.",
				client->peer);
	case DND_STATUS_LOCAL_ONLY:
		return dnd_fail(client->ctx, DND_E_REFUSED, "%s: the server admits only clients on "
				"its own machine. Start it with --bind and this address.",
				client->peer);
	default:
		return dnd_fail(client->ctx, DND_E_REFUSED, "%s: the server could not register its "
				"memory for this client. Its own output says why.", client->peer);
	}
}

static int nobody(struct dnd_client *client)
{
	return dnd_fail(client->ctx, DND_E_REFUSED, "%s: nobody listens there. Start 'donard-cli rdma "
			"serve' on that machine with --bind and --port of this address.",
			client->peer);
}

static int rejected(struct dnd_client *client, const struct rdma_conn_param *param)
{
	struct dnd_offer offer;
	int rc = dnd_offer_decode(&offer, param->private_data, param->private_data_len);

	if (!rc && offer.status != DND_STATUS_OK)
		return refused(client, &offer);
	if (rc == -EPROTONOSUPPORT)
		return refused(client, &(struct dnd_offer){ .status = DND_STATUS_VERSION });
	/*
	 * Over iWARP somebody took the TCP connection.  Closing it may overtake what was said last:
	 * siw then makes a refusal without words of it (siw_cm.c, SIW_CM_WORK_PEER_CLOSE).
	 */
	client->unheard = client->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	return nobody(client);
}

static int unreachable(struct dnd_client *client, const char *step, int error_number)
{
	return dnd_fail(client->ctx, DND_E_PEER_SILENT, "%s: no answer to the %s (%s). Check that the "
			"machine is up, that the link is ('rdma link'), and that 'donard-cli rdma "
			"serve' runs there.", client->peer, step, strerror(error_number));
}

static const char *step_before(enum rdma_cm_event_type wanted)
{
	return wanted == RDMA_CM_EVENT_ESTABLISHED ? "connection request" : "search for its address";
}

static int no_route(struct dnd_client *client, int error_number)
{
	if (error_number == ETIMEDOUT || error_number == EHOSTUNREACH)
		return unreachable(client, "search for its address", error_number);
	return dnd_no_device_at(client->ctx, client->peer, client->loopback);
}

/* siw makes its TCP connection within the call. */
static int cannot_start(struct dnd_client *client, int error_number)
{
	if (error_number == ECONNREFUSED || error_number == ECONNRESET)
		return nobody(client);
	return unreachable(client, "connection request", error_number);
}

static int lost(struct dnd_client *client)
{
	return dnd_fail(client->ctx, DND_E_PEER_LOST, "%s: the server closed the connection, or was "
			"killed.", client->peer);
}

static int take_offer(struct dnd_client *client, const struct rdma_conn_param *param)
{
	int rc = dnd_offer_decode(&client->offer, param->private_data, param->private_data_len);

	if (rc || client->offer.status != DND_STATUS_OK)
		return dnd_fail(client->ctx, DND_E_PROTOCOL, "%s: what answers there is no 'donard-cli "
				"rdma serve' of this version.", client->peer);
	client->link.nonce = client->offer.nonce;
	client->link.established = true;
	client->link.heard = dnd_now_seconds();
	return 0;
}

/* 1 when the event is the one waited for, 0 for one without meaning. */
static int judge(struct dnd_client *client, const struct rdma_cm_event *event,
		 enum rdma_cm_event_type wanted)
{
	int rc;

	if (event->event == wanted) {
		rc = wanted == RDMA_CM_EVENT_ESTABLISHED ?
		     take_offer(client, &event->param.conn) : 0;
		return rc ? rc : 1;
	}
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return no_route(client, -event->status);
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return unreachable(client, step_before(wanted),
				   event->status < 0 ? -event->status : ETIMEDOUT);
	case RDMA_CM_EVENT_REJECTED:
		return rejected(client, &event->param.conn);
	case RDMA_CM_EVENT_DISCONNECTED:
		return lost(client);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return dnd_fail(client->ctx, DND_E_NO_RDMA, "the RDMA device was removed.");
	default:
		return 0;
	}
}

/* ---- waiting for one event ---- */

static bool stop_asked(struct dnd_client *client)
{
	return client->options.progress_fn &&
	       client->options.progress_fn(client->options.progress_user, DONARD_PHASE_COPY,
					   client->done_bytes, client->expected_bytes);
}

static void begin_step(struct dnd_client *client)
{
	client->deadline = dnd_now_seconds() + client->options.timeout_ms / 1000.0;
}

/* 0 to go on waiting; else why not. */
static int given_up(struct dnd_client *client, enum rdma_cm_event_type wanted)
{
	if (stop_asked(client))
		return dnd_fail(client->ctx, DND_E_CANCELED, "stopped");
	if (dnd_now_seconds() > client->deadline)
		return unreachable(client, step_before(wanted), ETIMEDOUT);
	return 0;
}

static int request_given_up(void *user)
{
	return given_up(user, RDMA_CM_EVENT_ESTABLISHED);
}

static int wait_for(struct dnd_client *client, enum rdma_cm_event_type wanted)
{
	struct pollfd pollfd = { .fd = client->events->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	int rc = 0;

	while (!rc) {
		poll(&pollfd, 1, TICK_MS);
		if (!rdma_get_cm_event(client->events, &event)) {
			rc = judge(client, event, wanted);
			rdma_ack_cm_event(event);
		} else {
			rc = given_up(client, wanted);
		}
	}
	return rc < 0 ? rc : 0;
}

int dnd_client_take_events(struct dnd_client *client)
{
	struct rdma_cm_event *event;
	int rc = 0;

	while (!rc && !rdma_get_cm_event(client->events, &event)) {
		if (event->event == RDMA_CM_EVENT_DISCONNECTED ||
		    event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			rc = -ECONNRESET;
		rdma_ack_cm_event(event);
	}
	return rc;
}

/* ---- the steps ---- */

static int open_manager(struct dnd_client *client)
{
	client->events = rdma_create_event_channel();
	if (!client->events)
		return errno == ENODEV || errno == ENOENT ?
		       dnd_no_device_at(client->ctx, client->peer, client->loopback) :
		       dnd_fail_errno(client->ctx, errno, "the RDMA connection manager cannot be "
				      "used (modprobe rdma_ucm)");
	fcntl(client->events->fd, F_SETFL, fcntl(client->events->fd, F_GETFL) | O_NONBLOCK);
	if (rdma_create_id(client->events, &client->id, NULL, RDMA_PS_TCP))
		return dnd_fail_errno(client->ctx, errno, "the RDMA connection manager cannot be used "
				      "(modprobe rdma_ucm)");
	return 0;
}

static int resolve_address(struct dnd_client *client, struct sockaddr_storage *address,
			   int timeout_ms)
{
	begin_step(client);
	if (rdma_resolve_addr(client->id, NULL, (struct sockaddr *)address, timeout_ms))
		return no_route(client, errno);
	return wait_for(client, RDMA_CM_EVENT_ADDR_RESOLVED);
}

/* The kernel asks the network only when a search begins: several short ones, not a long one. */
static int resolve(struct dnd_client *client, struct sockaddr_storage *address)
{
	int left_ms = (int)client->options.timeout_ms, round_ms, rc;

	do {
		round_ms = left_ms < ROUND_MS ? left_ms : ROUND_MS;
		rc = resolve_address(client, address, round_ms);
		left_ms -= round_ms;
	} while (rc == -ETIMEDOUT && left_ms > 0);
	if (rc)
		return rc;
	begin_step(client);
	if (rdma_resolve_route(client->id, (int)client->options.timeout_ms))
		return no_route(client, errno);
	return wait_for(client, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

int dnd_client_connect(struct dnd_client *client)
{
	struct rdma_conn_param param;
	uint8_t hello[DND_HELLO_BYTES];
	int rc, error_number;

	dnd_hello_encode(hello);
	dnd_link_params(client->id, client->carries_reads, false, &param);
	param.private_data = hello;
	param.private_data_len = sizeof(hello);
	begin_step(client);
	rc = dnd_dial(client->id, &param, request_given_up, client, &error_number);
	if (rc)
		return rc;
	if (error_number)
		return cannot_start(client, error_number);
	return wait_for(client, RDMA_CM_EVENT_ESTABLISHED);
}

int dnd_client_find(struct dnd_client *client)
{
	struct sockaddr_storage address;
	int rc = dnd_address_resolve(client->ctx, client->options.address, client->options.port,
				     &address);

	if (rc)
		return rc;
	dnd_address_text((struct sockaddr *)&address, client->peer);
	client->loopback = dnd_address_is_loopback((struct sockaddr *)&address);
	rc = open_manager(client);
	if (!rc)
		rc = resolve(client, &address);
	client->slots = dnd_pass_slots(client->options.block_bytes, client->options.queue_depth);
	if (!rc)
		rc = dnd_link_open(client->ctx, &client->link, client->id, client->slots);
	if (!rc)
		dnd_link_set_timeout(client->id, client->options.timeout_ms);
	return rc;
}
