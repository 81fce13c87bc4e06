// SPDX-License-Identifier: Apache-2.0
/* Reaches a server and opens a connection: its answers, and the failures that they mean. */
#include "rdma/client.h"

#define HEAR_TRIES	3

static int refused(struct donard_rdma_client *client, enum dnd_rdma_status status)
{
	const char *peer = client->reach.peer;

	switch (status) {
	case DND_STATUS_BUSY:
		return dnd_fail(client->ctx, DND_E_BUSY, "%s: the server is serving another client. "
				"Try again when that has ended.", peer);
	case DND_STATUS_VERSION:
		return dnd_fail(client->ctx, DND_E_PROTOCOL, "%s: the server did not understand this "
				"client. Use the same version of donard on both sides.", peer);
	case DND_STATUS_NO_READING:
		client->reading_refused = true;
		return dnd_fail(client->ctx, DND_E_NOT_OFFERED, "%s: the server's memory is offered "
				"for writing only. Start the server so that it offers reading, too (options.rights).", peer);
	case DND_STATUS_LOCAL_ONLY:
		return dnd_fail(client->ctx, DND_E_REFUSED, "%s: the server admits only clients on "
				"its own machine. Start it with options.bind and this address.", peer);
	case DND_STATUS_STOPPED:
		return dnd_fail(client->ctx, DND_E_REFUSED, "%s: the server was told to end before it "
				"admitted this client. Try again when it runs.", peer);
	default:
		return dnd_fail(client->ctx, DND_E_REFUSED, "%s: the server could not register its "
				"memory for this client. Whoever runs the server was told why.", peer);
	}
}

static int on_refused(void *user, const void *bytes, size_t length)
{
	struct donard_rdma_client *client = user;
	struct dnd_offer offer;
	int rc = dnd_offer_decode(&offer, bytes, length);

	if (rc == -EPROTONOSUPPORT)
		offer.status = DND_STATUS_VERSION;
	else if (rc || offer.status == DND_STATUS_OK)
		return dnd_reach_stranger(&client->reach, bytes, length);
	client->reach.unheard = false;
	return refused(client, offer.status);
}

static int on_accepted(void *user, const void *bytes, size_t length)
{
	struct donard_rdma_client *client = user;
	int rc = dnd_offer_decode(&client->offer, bytes, length);

	if (rc || client->offer.status != DND_STATUS_OK)
		return dnd_fail(client->ctx, DND_E_PROTOCOL, "%s: what answers there is not a donard_rdma_serve() "
				"of this version.", client->reach.peer);
	client->link.established = true;
	client->link.heard = dnd_now_seconds();
	return 0;
}

/*
 * Ends the wait if the memory's region goes away: the memory is registered already, so the removal would wait for the server's
 * answer.
 */
static int stop_asked(void *user)
{
	struct donard_rdma_client *client = user;
	const struct donard_rdma_connect_options *options = &client->options;

	if (dnd_target_gone(options->memory))
		return dnd_target_gone_text(client->ctx, options->memory);
	if (options->stop_fn && options->stop_fn(options->user))
		return dnd_fail(client->ctx, DND_E_CANCELED, "stopped");
	return 0;
}

static const struct dnd_reach_ops ops = {
	.accepted = on_accepted, .refused = on_refused, .give_up = stop_asked,
};

/* ---- the steps ---- */

/* Finds the route to the server, and thereby the device; sends nothing to the server yet. */
static int find(struct donard_rdma_client *client)
{
	const struct donard_rdma_connect_options *options = &client->options;
	struct dnd_link_size size = dnd_talk_size(options->depth);
	int rc;

	size.remedy = "Use a smaller options.depth";
	client->reach = (struct dnd_reach){
		.ctx = client->ctx, .ops = &ops, .user = client, .server = "donard_rdma_serve()",
		.listen_option = "options.bind", .timeout_ms = options->timeout_ms,
	};
	rc = dnd_reach_find(&client->reach, options->address, options->port);
	if (!rc)
		rc = dnd_link_open(client->ctx, &client->link, client->reach.id, &size);
	if (!rc)
		dnd_link_set_timeout(client->reach.id, options->timeout_ms);
	return rc;
}

static bool must_read(const struct donard_rdma_client *client)
{
	return client->options.rights & DONARD_RDMA_READ;
}

static int shake_hands(struct donard_rdma_client *client)
{
	const struct dnd_hello hello = { .reads_optional = !must_read(client) };
	struct rdma_conn_param param;
	uint8_t bytes[DND_HELLO_BYTES];

	dnd_hello_encode(&hello, bytes);
	dnd_link_params(client->reach.id, client->carries_reads, 0, &param);
	param.private_data = bytes;
	param.private_data_len = sizeof(bytes);
	return dnd_reach_connect(&client->reach, &param);
}

/* Registers memory that is known already before it connects: that of a large one takes longer than the server waits. */
static int reach(struct donard_rdma_client *client)
{
	const struct donard_rdma_connect_options *options = &client->options;
	int rc = find(client);

	if (!rc && options->memory)
		rc = dnd_near_attach(client, options->memory, must_read(client));
	return rc ? rc : shake_hands(client);
}

/* Tries again if the reason of a refusal may have been lost on the way. */
static int reach_and_hear(struct donard_rdma_client *client)
{
	int rc, tries = HEAR_TRIES;

	for (;;) {
		rc = reach(client);
		if (!client->reach.unheard || !--tries)
			return rc;
		dnd_client_disconnect(client);
	}
}

/*
 * Only the server's answer says whether the client may, and must, read back what it wrote.  So the first attempt allows
 * reads.  A server whose memory may only be written refuses that, and the client connects again without them.
 */
int dnd_client_connect(struct donard_rdma_client *client)
{
	int rc;

	client->carries_reads = true;
	rc = reach_and_hear(client);
	if (!client->reading_refused || must_read(client))
		return rc;
	dnd_client_disconnect(client);
	client->carries_reads = false;
	return reach_and_hear(client);
}

void dnd_client_disconnect(struct donard_rdma_client *client)
{
	if (client->reach.id && client->link.established)
		rdma_disconnect(client->reach.id);
	/* Destroy the queue pair first; then no request refers to the memory. */
	if (client->link.id && client->link.id->qp)
		rdma_destroy_qp(client->link.id);
	while (client->near)
		dnd_near_detach(client, client->near);
	if (client->back_mr)
		ibv_dereg_mr(client->back_mr);
	client->back_mr = NULL;
	dnd_link_close(&client->link);
	dnd_reach_close(&client->reach);
}
