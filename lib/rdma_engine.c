// SPDX-License-Identifier: Apache-2.0
/*
 * The data path.  Requests are posted in chains, one call to the device for
 * each, and only the last of a chain reports its completion: four chains make
 * up the queue depth, so that the device always has three while one is renewed.
 */
#include "rdma_client.h"

#define CHAINS		4
#define MAX_CHAIN	64

uint64_t dnd_client_blocks(const struct dnd_client *client)
{
	const struct donard_rdma_result *result = client->result;

	return (result->length_bytes + result->block_bytes - 1) / result->block_bytes;
}

uint64_t dnd_client_bytes(const struct dnd_client *client, uint64_t requests)
{
	const struct donard_rdma_result *result = client->result;
	uint64_t blocks = result->block_bytes ? dnd_client_blocks(client) : 0;

	if (!blocks)
		return 0;
	return requests / blocks * result->length_bytes +
	       dnd_min(requests % blocks * result->block_bytes, result->length_bytes);
}

static void fill_request(const struct dnd_client *client, uint64_t number,
			 struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	const struct donard_rdma_result *result = client->result;
	uint64_t at = number % dnd_client_blocks(client) * result->block_bytes;

	sge->addr = (uintptr_t)client->local.data + at;
	sge->length = (uint32_t)dnd_min(result->block_bytes, result->length_bytes - at);
	sge->lkey = client->registration.mr->lkey;
	wr->wr_id = DND_WR_DATA | number;
	wr->sg_list = sge;
	wr->num_sge = 1;
	wr->opcode = client->options.direction == DONARD_RDMA_READ ? IBV_WR_RDMA_READ :
		     IBV_WR_RDMA_WRITE;
	wr->wr.rdma.remote_addr = client->offer.address + result->offset_bytes + at;
	wr->wr.rdma.rkey = client->offer.rkey;
}

/* A connection that is gone says so by its completions. */
static int post_failed(struct dnd_client *client, int error_number)
{
	int rc = dnd_client_wait(client, false);

	return rc ? rc : dnd_fail_errno(client->ctx, error_number, "%s: requests cannot be posted",
					client->peer);
}

/* @count requests by one call, of which the last is signalled. */
static int post_chain(struct dnd_client *client, uint32_t count)
{
	struct ibv_send_wr wrs[MAX_CHAIN] = { 0 }, *bad;
	struct ibv_sge sges[MAX_CHAIN];
	int rc;

	for (uint32_t i = 0; i < count; i++) {
		fill_request(client, client->posted + i, &wrs[i], &sges[i]);
		wrs[i].next = i + 1 < count ? &wrs[i + 1] : NULL;
	}
	wrs[count - 1].send_flags = IBV_SEND_SIGNALED;
	rc = ibv_post_send(client->link.id->qp, wrs, &bad);
	if (rc)
		return post_failed(client, rc);
	client->posted += count;
	return 0;
}

static uint32_t chain_length(const struct dnd_client *client)
{
	uint32_t length = client->result->queue_depth / CHAINS;

	return length < 1 ? 1 : length > MAX_CHAIN ? MAX_CHAIN : length;
}

/* Whole chains only, but for the last: few calls, few completions. */
static int post_what_fits(struct dnd_client *client)
{
	uint64_t chain = chain_length(client), room, left;
	int rc = 0;

	while (!rc) {
		room = client->result->queue_depth - (client->posted - client->completed);
		left = client->total - client->posted;
		if (!left || room < dnd_min(chain, left))
			break;
		rc = post_chain(client, (uint32_t)dnd_min(chain, left));
	}
	return rc;
}

static void begin(struct dnd_client *client, uint64_t total)
{
	client->total = total;
	client->posted = client->completed = 0;
	client->link.heard = dnd_now_seconds();
}

/* What completed counts, whatever came after it. */
static void finish(struct dnd_client *client, uint64_t started_ns)
{
	struct donard_rdma_result *result = client->result;
	uint64_t bytes = dnd_client_bytes(client, client->completed);

	result->seconds += (double)(dnd_now_ns() - started_ns) / 1e9;
	result->requests += client->completed;
	result->bytes += bytes;
	client->done_bytes += bytes;
	client->completed = 0;
}

int dnd_client_move(struct dnd_client *client, uint64_t total)
{
	uint64_t started_ns;
	int rc = 0;

	begin(client, total);
	started_ns = dnd_now_ns();
	while (client->completed < total && !rc) {
		rc = post_what_fits(client);
		if (!rc)
			rc = dnd_client_wait(client, false);
	}
	finish(client, started_ns);
	return rc;
}

int dnd_client_time(struct dnd_client *client, uint64_t total, uint64_t *samples_ns)
{
	uint64_t started_ns, posted_ns;
	int rc = 0;

	begin(client, total);
	started_ns = dnd_now_ns();
	for (uint64_t i = 0; i < total && !rc; i++) {
		posted_ns = dnd_now_ns();
		rc = post_chain(client, 1);
		while (client->completed <= i && !rc)
			rc = dnd_client_wait(client, true);
		samples_ns[i] = dnd_now_ns() - posted_ns;
	}
	finish(client, started_ns);
	return rc;
}
