// SPDX-License-Identifier: Apache-2.0
/*
 * The data path.  Work requests are posted in chains, each by one call to the device,
 * and only the last one of a chain reports its completion.  What may be under way is four
 * chains, so that the device always has three while one is renewed.
 */
#include "rdma/client.h"

#define CHAINS			4
#define MAX_CHAIN		64
#define MIN_WINDOW_BYTES	DND_PIECE_BYTES
#define WINDOWS_PER_PING	4

/* ---- how much may be in flight ---- */

/*
 * The server's CPU does not see the data, so only messages tell it that a client is
 * alive.  A message waits behind all that was posted before it, on either transport and
 * in either direction, because a queue pair is served in order.  Acknowledgements cannot
 * replace messages: that of iWARP comes from TCP on this machine, and that of RoCE from
 * the peer's device, which answers even if the program hangs.  So no more is posted than
 * can be moved, at the rate so far, in a part of the time between two pings.  A fast
 * fabric needs far less than that to be busy.  The rate is taken from the first look on,
 * until nothing is in flight any more.
 */
static uint64_t window_bytes(struct donard_rdma_client *client)
{
	double part_seconds = dnd_client_ping_seconds(client) / WINDOWS_PER_PING;
	uint64_t now_ns = dnd_now_ns();
	double seconds;

	if (!client->pace_ns) {
		client->pace_ns = now_ns;
		client->pace_bytes = client->flow.bytes_done;
	}
	seconds = (double)(now_ns - client->pace_ns) / 1e9;
	if (seconds <= 0)
		return MIN_WINDOW_BYTES;
	return dnd_max((uint64_t)((double)(client->flow.bytes_done - client->pace_bytes) / seconds * part_seconds),
		       MIN_WINDOW_BYTES);
}

/* Reads the clock only if much is in flight. */
static bool has_room(struct donard_rdma_client *client, uint64_t count, uint64_t bytes)
{
	const struct dnd_flow *flow = &client->flow;

	if (flow->pieces_posted - flow->pieces_done + count > flow->slots)
		return false;
	bytes += flow->bytes_posted - flow->bytes_done;
	return bytes <= MIN_WINDOW_BYTES || bytes <= window_bytes(client);
}

/* ---- posting ---- */

static uint64_t chain_max(const struct donard_rdma_client *client)
{
	return dnd_max(dnd_min(client->flow.slots / CHAINS, MAX_CHAIN), 1);
}

static void fill_request(const struct dnd_flow_piece *piece, uint32_t rkey, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	sge->addr = piece->local;
	sge->length = piece->length;
	sge->lkey = piece->lkey;
	wr->wr_id = DND_WR_DATA | piece->number;
	wr->sg_list = sge;
	wr->num_sge = 1;
	wr->opcode = piece->reads ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	wr->send_flags = 0;
	wr->wr.rdma.remote_addr = piece->remote;
	wr->wr.rdma.rkey = rkey;
}

/* If the connection is gone, its completions say so.  The requests are lost in any case, even if the caller wants to stop. */
static int post_failed(struct donard_rdma_client *client, int error_number)
{
	int rc = dnd_client_wait(client, false);

	if (rc < 0 && rc != -ECANCELED)
		return rc;
	return dnd_fail_errno(client->ctx, error_number, "%s: requests cannot be posted", client->reach.peer);
}

/* Posts at most @count work requests of at most a piece's bytes together by one call; only the last one is signalled. */
static int post_chain(struct donard_rdma_client *client, uint64_t count)
{
	struct ibv_send_wr wrs[MAX_CHAIN], *bad;
	struct ibv_sge sges[MAX_CHAIN];
	struct dnd_flow *flow = &client->flow;
	uint64_t bytes = 0;
	uint32_t i = 0;
	int rc;

	do {
		const struct dnd_flow_piece piece = dnd_flow_next(flow);

		fill_request(&piece, client->offer.rkey, &wrs[i], &sges[i]);
		wrs[i].next = &wrs[i + 1];
		bytes += piece.length;
	} while (++i < count && bytes + dnd_flow_next_length(flow) <= DND_PIECE_BYTES);
	wrs[i - 1].next = NULL;
	wrs[i - 1].send_flags = IBV_SEND_SIGNALED;
	rc = ibv_post_send(client->link.id->qp, wrs, &bad);
	return rc ? post_failed(client, rc) : 0;
}

int dnd_client_post(struct donard_rdma_client *client, bool all)
{
	const struct dnd_flow *flow = &client->flow;
	uint64_t most = chain_max(client), count, bytes;
	int rc = 0;

	while (!rc && flow->pieces_added > flow->pieces_posted) {
		count = flow->pieces_added - flow->pieces_posted;
		bytes = flow->bytes_added - flow->bytes_posted;
		if (!all && count < most && bytes < DND_PIECE_BYTES)
			break;
		count = dnd_min(count, most);
		if (!has_room(client, count, dnd_min(bytes, DND_PIECE_BYTES)))
			break;
		rc = post_chain(client, count);
	}
	return rc;
}

int dnd_client_finish(struct donard_rdma_client *client, uint64_t requests, bool spin)
{
	int rc = 0;

	while (client->flow.finished < requests && rc >= 0) {
		rc = dnd_client_post(client, true);
		if (!rc)
			rc = dnd_client_wait(client, spin);
	}
	return rc < 0 ? rc : 0;
}

/* ---- reading back ---- */

void dnd_client_count_own(struct donard_rdma_client *client)
{
	if (!client->own || client->flow.finished < client->own)
		return;
	client->told++;
	client->own = 0;
}

int dnd_client_push(struct donard_rdma_client *client)
{
	uint64_t bytes = dnd_min(client->written_end, sizeof(client->back));
	const struct dnd_flow_request request = {
		.local = (uintptr_t)&client->back, .length = bytes, .reads = true,
		.remote = client->offer.address + client->written_end - bytes,
		.lkey = client->back_mr ? client->back_mr->lkey : 0,
	};
	int rc = dnd_client_finish(client, client->flow.added, false);

	if (rc || !client->holds_back)
		return rc;
	dnd_client_count_own(client);	/* of an earlier call that the caller stopped */
	dnd_flow_add(&client->flow, &request);
	client->own = client->flow.added;
	rc = dnd_client_finish(client, client->flow.added, false);
	client->holds_back = rc != 0;
	return rc;
}
