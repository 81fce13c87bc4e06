// SPDX-License-Identifier: Apache-2.0
/* Waits for the server: completions, answers, signs of life. */
#include <poll.h>

#include "rdma/client.h"

#define IDLE_POLLS	200	/* before sleeping: a few microseconds on hardware */
#define SPIN_POLLS	4096	/* between two looks at the clock */
#define LOOK_SECONDS	0.1	/* or as often as a ping is due */
#define PINGS_PER_TIMEOUT 4

/* ---- completions and messages ---- */

static void take_withdrawal(struct donard_rdma_client *client, const struct dnd_message *message)
{
	client->withdrawn = message->status;
	if (message->status != DND_STATUS_REGION_GONE && message->status != DND_STATUS_RESET)
		client->withdrawn = DND_STATUS_STOPPED;
	/* A reset that is under way is not counted yet, hence at least 1. */
	if (message->status == DND_STATUS_RESET)
		client->remote_resets = dnd_max(message->resets, 1);
}

static int on_message(void *user, const uint8_t *bytes, size_t length)
{
	struct donard_rdma_client *client = user;
	struct dnd_message message;
	int rc = dnd_talk_take(client->offer.nonce, bytes, length, &message);

	if (rc)
		return rc;
	switch (message.type) {
	case DND_ALIVE:
		return 0;
	case DND_DONE:
		client->answer = message;
		client->answered = message.sequence;
		return 0;
	case DND_WITHDRAWN:
		take_withdrawal(client, &message);
		return -ECONNRESET;
	default:
		return -EPROTO;
	}
}

/* Only the last request of a chain is signalled; its number covers all requests before it. */
static int on_data(void *user, uint64_t number)
{
	struct donard_rdma_client *client = user;

	dnd_flow_done(&client->flow, number);
	return 0;
}

/* ---- failures ---- */

static int withdrawn(struct donard_rdma_client *client)
{
	if (client->withdrawn == DND_STATUS_REGION_GONE)
		return dnd_fail(client->ctx, DND_E_WITHDRAWN, "%s: the region %s was taken away on the "
				"server. Add it again there, and start the server again.",
				client->reach.peer, client->offer.target);
	if (client->withdrawn == DND_STATUS_RESET)
		return dnd_fail(client->ctx, DND_E_DEVICE, "%s: the device of %s was reset on the server meanwhile: "
				"what was read or written may be lost. Do it again.", client->reach.peer,
				client->offer.target);
	return dnd_fail(client->ctx, DND_E_WITHDRAWN, "%s: the server was told to end.",
			client->reach.peer);
}

static int silent(struct donard_rdma_client *client)
{
	return dnd_fail(client->ctx, DND_E_PEER_SILENT, "%s: nothing came back for %u ms: the server, "
			"or the link to it, is down. If it is only slow, use a longer options.timeout_ms%s.", client->reach.peer,
			client->options.timeout_ms, client->options.depth > 1 ? " or a smaller options.depth" : "");
}

/* Polls again, because the reason may lie behind the first error. */
static void collect_reason(struct donard_rdma_client *client)
{
	const struct dnd_link_handler handler = {
		.on_message = on_message, .on_data = on_data, .user = client,
	};

	for (int i = 0; i < DND_TALK_RECVS && client->withdrawn == DND_STATUS_OK; i++)
		if (!dnd_link_poll(&client->link, &handler))
			return;
}

int dnd_client_explain(struct donard_rdma_client *client, int rc)
{
	switch (rc) {
	case -EPROTO:
	case -EPROTONOSUPPORT:
		return dnd_fail(client->ctx, DND_E_PROTOCOL, "%s: the server sent something that this client does "
				"not understand. Use the same version of donard on both sides.",
				client->reach.peer);
	case -ENODEV:
		return dnd_near_gone_text(client);
	case -ETIMEDOUT:
		return silent(client);
	case -ECANCELED:
		return dnd_fail(client->ctx, DND_E_CANCELED, "stopped");
	case -ECONNRESET:
		collect_reason(client);
		if (client->withdrawn != DND_STATUS_OK)
			return withdrawn(client);
		if (dnd_reach_lost_device(&client->reach, dnd_link_blames_peer(&client->link)))
			return dnd_reach_no_device(&client->reach);
		return dnd_fail(client->ctx, DND_E_PEER_LOST, "%s: %s.", client->reach.peer,
				dnd_link_status_text(&client->link));
	}
	return rc;
}

/* ---- signs of life ---- */

double dnd_client_ping_seconds(const struct donard_rdma_client *client)
{
	return dnd_min(client->options.timeout_ms, client->offer.silence_ms) / 1000.0 /
	       PINGS_PER_TIMEOUT;
}

static int ping(struct donard_rdma_client *client, double now)
{
	struct dnd_message message = { .type = DND_PING };
	int rc;

	if (now - client->pinged < dnd_client_ping_seconds(client))
		return 0;
	rc = dnd_talk_send(&client->link, client->offer.nonce, &message);
	client->pinged = now;
	if (client->asked <= client->link.heard)
		client->asked = now;
	return rc == -EAGAIN ? 0 : rc;
}

/*
 * The time limit counts from the first ping that was not answered yet, because a caller that was busy elsewhere sent none.
 * Messages that came meanwhile have been handled before.
 */
static bool is_silent(const struct donard_rdma_client *client, double now)
{
	return client->asked > client->link.heard && (now - client->asked) * 1000 > client->options.timeout_ms;
}

static double look_seconds(const struct donard_rdma_client *client)
{
	const double ping_seconds = dnd_client_ping_seconds(client);

	return ping_seconds < LOOK_SECONDS ? ping_seconds : LOOK_SECONDS;
}

/* Sends pings, checks deadlines, and asks whether the caller wants to stop.  To be called often. */
static int tick(struct donard_rdma_client *client)
{
	const struct donard_rdma_connect_options *options = &client->options;
	double now = dnd_now_seconds();
	int rc;

	if (now - client->looked < look_seconds(client))
		return 0;
	client->looked = now;
	rc = dnd_reach_take_events(&client->reach);
	if (!rc && is_silent(client, now))
		rc = -ETIMEDOUT;
	if (!rc)
		rc = dnd_near_check(client);
	if (!rc && options->stop_fn && options->stop_fn(options->user))
		rc = -ECANCELED;
	return rc ? rc : ping(client, now);
}

/* ---- waiting ---- */

static int take_completions(struct donard_rdma_client *client)
{
	const struct dnd_link_handler handler = {
		.on_message = on_message, .on_data = on_data, .user = client,
	};

	return dnd_link_poll(&client->link, &handler);
}

int dnd_client_keep_up(void *user)
{
	struct donard_rdma_client *client = user;
	int rc = take_completions(client);

	return rc < 0 ? rc : tick(client);
}

static int poll_for_a_while(struct donard_rdma_client *client, unsigned int polls)
{
	int rc = 0;

	while (polls-- && !rc)
		rc = take_completions(client);
	return rc;
}

/* Takes completions after it has armed the channel, so that it misses none that came shortly before. */
static int sleep_until_something(struct donard_rdma_client *client)
{
	struct pollfd fds[2] = {
		{ .fd = client->link.channel->fd, .events = POLLIN },
		{ .fd = client->reach.events->fd, .events = POLLIN },
	};
	int rc;

	dnd_link_disarm(&client->link);
	dnd_link_arm(&client->link);
	rc = take_completions(client);
	if (!rc)
		poll(fds, 2, (int)(look_seconds(client) * 500));
	return rc;
}

int dnd_client_wait(struct donard_rdma_client *client, bool spin)
{
	int rc = poll_for_a_while(client, spin ? SPIN_POLLS : IDLE_POLLS);

	if (!rc && !spin)
		rc = sleep_until_something(client);
	if (rc >= 0)
		rc = tick(client);
	return rc;
}

void dnd_client_linger(struct donard_rdma_client *client, double seconds)
{
	double deadline = dnd_now_seconds() + seconds;

	while (!client->answer.type && dnd_now_seconds() < deadline)
		if (sleep_until_something(client) < 0 || dnd_reach_take_events(&client->reach))
			return;
}

static int until_answered(struct donard_rdma_client *client)
{
	int rc = 0;

	while (!rc && client->answered != client->sequence)
		rc = dnd_client_wait(client, false);
	return rc;
}

int dnd_client_ask(struct donard_rdma_client *client, struct dnd_message *request)
{
	int rc;

	/* The server takes one request at a time, and may still serve one that the caller did not wait for. */
	rc = until_answered(client);
	if (rc)
		return rc;
	client->answer.type = 0;
	request->sequence = client->sequence + 1;
	/* Slots become free when sends complete. */
	while ((rc = dnd_talk_send(&client->link, client->offer.nonce, request)) == -EAGAIN) {
		rc = dnd_client_wait(client, false);
		if (rc)
			return rc;
	}
	if (rc)
		return rc;
	client->sequence++;
	client->said_bye = request->type == DND_BYE;
	return until_answered(client);
}
