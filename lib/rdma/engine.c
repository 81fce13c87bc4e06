// SPDX-License-Identifier: Apache-2.0
/*
 * The data path.  Work requests are posted in chains, each by one call to the device,
 * and only the last one of a chain reports its completion.  The queue depth is four
 * chains, so that the device always has three while one is renewed.
 */
#include "rdma/client.h"

#define CHAINS			4
#define MAX_CHAIN		64
#define MIN_WINDOW_BYTES	DND_PIECE_BYTES
#define WINDOWS_PER_PING	4
#define BACK_BLOCK_BYTES	65536ULL

/* ---- how much may be in flight ---- */

/*
 * The server's CPU does not see the data, so only messages tell it that a client is
 * alive.  A message waits behind all that was posted before it, on either transport and
 * in either direction, because a queue pair is served in order.  Acknowledgements cannot
 * replace messages: that of iWARP comes from TCP on this machine, and that of RoCE from
 * the peer's device, which answers even if the program hangs.  So no more is posted than
 * can be moved, at the rate so far, in a part of the time between two pings.  A fast
 * fabric needs far less than that to be busy.
 */
static uint64_t window_bytes(const struct dnd_client *client)
{
	double seconds = (double)(dnd_now_ns() - client->job.started_ns) / 1e9;
	double part_seconds = dnd_client_ping_seconds(client) / WINDOWS_PER_PING;

	if (seconds <= 0)
		return MIN_WINDOW_BYTES;
	return dnd_max((uint64_t)((double)client->job.pass.completed / seconds * part_seconds),
		       MIN_WINDOW_BYTES);
}

/* Reads the clock only if much is in flight. */
static bool has_room(const struct dnd_client *client, uint32_t count)
{
	const struct dnd_pass *pass = &client->job.pass;
	uint64_t pieces = dnd_pass_pieces(pass, pass->posted) - dnd_pass_pieces(pass, pass->completed);
	uint64_t bytes = pass->posted - pass->completed + count * dnd_min(pass->block, DND_PIECE_BYTES);

	if (pieces + count > client->slots)
		return false;
	return bytes <= MIN_WINDOW_BYTES || bytes <= window_bytes(client);
}

/* How many work requests a chain has: a quarter of those that may be in flight, but not more bytes than a piece. */
static uint32_t chain_length(const struct dnd_client *client)
{
	uint64_t most = dnd_min(MAX_CHAIN, DND_PIECE_BYTES / dnd_min(client->job.pass.block,
								     DND_PIECE_BYTES));
	uint64_t length = dnd_min(client->slots / CHAINS, most);

	return (uint32_t)dnd_max(length, 1);
}

/* Length of the next chain; only the last may be short, for few calls and completions.  0: nothing left, or no room. */
static uint32_t next_chain(const struct dnd_client *client)
{
	const struct dnd_pass *pass = &client->job.pass;
	uint64_t left = dnd_pass_pieces(pass, pass->total) - dnd_pass_pieces(pass, pass->posted);
	uint32_t count = (uint32_t)dnd_min(chain_length(client), left);

	return count && has_room(client, count) ? count : 0;
}

/* ---- posting ---- */

/* The number of a work request is its end in the pass, which this returns. */
static uint64_t fill_request(const struct dnd_client *client, uint64_t position,
			     struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	const struct dnd_job *job = &client->job;
	struct dnd_pass_piece piece = dnd_pass_piece(&job->pass, position);

	sge->addr = (uintptr_t)job->near->memory->window.data + piece.at;
	sge->length = piece.length;
	sge->lkey = job->near->registration.mr->lkey;
	wr->wr_id = DND_WR_DATA | (position + piece.length);
	wr->sg_list = sge;
	wr->num_sge = 1;
	wr->opcode = job->reads ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	wr->wr.rdma.remote_addr = client->offer.address + job->offset + piece.at;
	wr->wr.rdma.rkey = client->offer.rkey;
	return position + piece.length;
}

/* If the connection is gone, its completions say so. */
static int post_failed(struct dnd_client *client, int error_number)
{
	int rc = dnd_client_wait(client, false);

	return rc ? rc : dnd_fail_errno(client->ctx, error_number, "%s: requests cannot be posted",
					client->reach.peer);
}

/* Posts @count work requests by one call; only the last one is signalled. */
static int post_chain(struct dnd_client *client, uint32_t count)
{
	struct ibv_send_wr wrs[MAX_CHAIN] = { 0 }, *bad;
	struct ibv_sge sges[MAX_CHAIN];
	uint64_t position = client->job.pass.posted;
	int rc;

	for (uint32_t i = 0; i < count; i++) {
		position = fill_request(client, position, &wrs[i], &sges[i]);
		wrs[i].next = i + 1 < count ? &wrs[i + 1] : NULL;
	}
	wrs[count - 1].send_flags = IBV_SEND_SIGNALED;
	rc = ibv_post_send(client->link.id->qp, wrs, &bad);
	if (rc)
		return post_failed(client, rc);
	client->job.pass.posted = position;
	return 0;
}

static int post_what_fits(struct dnd_client *client)
{
	uint32_t count;
	int rc = 0;

	while (!rc && (count = next_chain(client)))
		rc = post_chain(client, count);
	return rc;
}

/* ---- passes ---- */

static void begin(struct dnd_client *client, const struct dnd_job *job)
{
	client->job = *job;
	client->job.started_ns = dnd_now_ns();
	client->link.heard = dnd_now_seconds();
}

/* Moves data until @total bytes of the pass have completed. */
static int move_until(struct dnd_client *client, uint64_t total, bool spin)
{
	struct dnd_pass *pass = &client->job.pass;
	int rc = 0;

	pass->total = total;
	while (pass->completed < total && !rc) {
		rc = post_what_fits(client);
		if (!rc)
			rc = dnd_client_wait(client, spin);
	}
	return rc;
}

static struct dnd_job asked_for(const struct dnd_client *client)
{
	return (struct dnd_job){
		.pass = dnd_client_pass(client),
		.near = &client->local,
		.offset = client->result->offset_bytes,
		.reads = dnd_client_reads(client),
		.counts = true,
	};
}

/* Counts the bytes that completed, even if a later request failed. */
static void finish(struct dnd_client *client)
{
	struct donard_rdma_result *result = client->result;
	const struct dnd_pass *pass = &client->job.pass;

	result->seconds += (double)(dnd_now_ns() - client->job.started_ns) / 1e9;
	result->requests += dnd_pass_requests(pass, pass->completed);
	result->bytes += pass->completed;
	client->done_bytes += pass->completed;
	client->job.counts = false;
}

int dnd_client_move(struct dnd_client *client, uint64_t requests)
{
	const struct dnd_job job = asked_for(client);
	int rc;

	begin(client, &job);
	rc = move_until(client, dnd_pass_bytes(&job.pass, requests), false);
	finish(client);
	return rc;
}

int dnd_client_time(struct dnd_client *client, uint64_t requests, uint64_t *samples_ns)
{
	const struct dnd_job job = asked_for(client);
	uint64_t posted_ns;
	int rc = 0;

	begin(client, &job);
	for (uint64_t i = 0; i < requests && !rc; i++) {
		posted_ns = dnd_now_ns();
		rc = move_until(client, dnd_pass_bytes(&job.pass, i + 1), true);
		samples_ns[i] = dnd_now_ns() - posted_ns;
	}
	finish(client);
	return rc;
}

int dnd_client_read_back(struct dnd_client *client, uint64_t offset, uint64_t length)
{
	const struct dnd_job job = {
		.pass = { .length = length, .block = dnd_min(length, BACK_BLOCK_BYTES) },
		.near = &client->back,
		.offset = offset,
		.reads = true,
	};

	begin(client, &job);
	return move_until(client, length, false);
}
