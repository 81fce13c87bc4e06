// SPDX-License-Identifier: Apache-2.0
/* The handshake with the server: its answers, and the failures that they mean. */
#include "rdma/client.h"

static int refused(struct dnd_client *client, enum dnd_rdma_status status)
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
				"for writing only. Start the server with options.rights read or both.", peer);
	case DND_STATUS_LOCAL_ONLY:
		return dnd_fail(client->ctx, DND_E_REFUSED, "%s: the server admits only clients on "
				"its own machine. Start it with options.bind and this address.", peer);
	case DND_STATUS_STOPPED:
		return dnd_fail(client->ctx, DND_E_REFUSED, "%s: the server was told to end before it "
				"admitted this client. Try again when it runs.", peer);
	default:
		return dnd_fail(client->ctx, DND_E_REFUSED, "%s: the server could not register its "
				"memory for this client. Its own output says why.", peer);
	}
}

static int on_refused(void *user, const void *bytes, size_t length)
{
	struct dnd_client *client = user;
	struct dnd_offer offer;
	int rc = dnd_offer_decode(&offer, bytes, length);

	if (rc == -EPROTONOSUPPORT)
		offer.status = DND_STATUS_VERSION;
	else if (rc || offer.status == DND_STATUS_OK)
		return dnd_reach_nobody(&client->reach);
	client->reach.unheard = false;
	return refused(client, offer.status);
}

static int on_accepted(void *user, const void *bytes, size_t length)
{
	struct dnd_client *client = user;
	int rc = dnd_offer_decode(&client->offer, bytes, length);

	if (rc || client->offer.status != DND_STATUS_OK)
		return dnd_fail(client->ctx, DND_E_PROTOCOL, "%s: what answers there is not a donard_rdma_serve() "
				"of this version.", client->reach.peer);
	client->link.established = true;
	client->link.heard = dnd_now_seconds();
	return 0;
}

static int stop_asked(void *user)
{
	struct dnd_client *client = user;
	const struct donard_rdma_options *options = &client->options;

	if (options->progress_fn && options->progress_fn(options->progress_user, DONARD_PHASE_COPY,
							 client->done_bytes, client->expected_bytes))
		return dnd_fail(client->ctx, DND_E_CANCELED, "stopped");
	return 0;
}

static const struct dnd_reach_ops ops = {
	.accepted = on_accepted, .refused = on_refused, .give_up = stop_asked,
};

int dnd_client_find(struct dnd_client *client)
{
	struct dnd_link_size size;
	int rc;

	client->reach = (struct dnd_reach){
		.ctx = client->ctx, .ops = &ops, .user = client, .server = "donard_rdma_serve()",
		.listen_option = "options.bind", .timeout_ms = client->options.timeout_ms,
	};
	rc = dnd_reach_find(&client->reach, client->options.address, client->options.port);
	client->slots = dnd_pass_slots(client->options.block_bytes, client->options.queue_depth);
	size = dnd_talk_size(client->slots);
	if (!rc)
		rc = dnd_link_open(client->ctx, &client->link, client->reach.id, &size);
	if (!rc)
		dnd_link_set_timeout(client->reach.id, client->options.timeout_ms);
	return rc;
}

int dnd_client_connect(struct dnd_client *client)
{
	const struct dnd_hello hello = { .reads_optional = !dnd_client_reads(client) };
	struct rdma_conn_param param;
	uint8_t bytes[DND_HELLO_BYTES];

	dnd_hello_encode(&hello, bytes);
	dnd_link_params(client->reach.id, client->carries_reads, false, &param);
	param.private_data = bytes;
	param.private_data_len = sizeof(bytes);
	return dnd_reach_connect(&client->reach, &param);
}
