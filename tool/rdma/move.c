// SPDX-License-Identifier: Apache-2.0
/* The loops: requests of a client, so many in flight. */
#include <time.h>

#include "rdma/work.h"

#define BACK_BLOCK_BYTES	65536ULL

/* A movement between memory here and a range of the offered memory. */
struct movement {
	struct cli_rdma_pass pass;
	struct donard_memory *memory;
	uint64_t offset;	/* where the range begins in the offered memory */
	uint64_t at;		/* where the next request goes, in the range */
	bool reads;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t moved_by(const struct donard_rdma_client *client)
{
	struct donard_rdma_client_info info = { .size = sizeof(info) };

	donard_rdma_client_info(client, &info);
	return info.bytes;
}

uint64_t cli_rdma_under_way(const struct cli_rdma_work *work)
{
	return work->counting ? moved_by(work->client) - work->bytes_before : 0;
}

/* ---- requests ---- */

static int request(struct donard_rdma_client *client, struct movement *movement)
{
	uint64_t at = movement->at, length = cli_rdma_least(movement->pass.block, movement->pass.length - at);

	movement->at = at + length == movement->pass.length ? 0 : at + length;
	if (movement->reads)
		return donard_rdma_read(client, movement->offset + at, movement->memory, at, length);
	return donard_rdma_write(client, movement->offset + at, movement->memory, at, length);
}

static int move(struct donard_rdma_client *client, struct movement *movement, uint64_t requests, uint64_t depth)
{
	uint64_t made = 0, done = 0;
	int rc = 0;

	while (done < requests) {
		for (; made < requests && made - done < depth && !rc; made++)
			rc = request(client, movement);
		if (!rc)
			rc = donard_rdma_wait(client, 1, 0);
		if (rc < 0)
			return rc;
		done += (uint64_t)rc;
		rc = 0;
	}
	return 0;
}

/* ---- what the caller asked for ---- */

static struct movement begin(struct cli_rdma_work *work)
{
	work->bytes_before = moved_by(work->client);
	work->counting = true;
	return (struct movement){
		.pass = cli_rdma_range(work),
		.memory = work->near,
		.offset = work->result->offset_bytes,
		.reads = cli_rdma_reads(work),
	};
}

/* Counts the bytes that completed, even if a later request failed. */
static void finish(struct cli_rdma_work *work, const struct movement *movement, uint64_t started_ns)
{
	struct cli_rdma_result *result = work->result;
	uint64_t ended_ns = now_ns(), bytes = cli_rdma_under_way(work);

	result->seconds += (double)(ended_ns - started_ns) / 1e9;
	result->requests += cli_rdma_requests(&movement->pass, bytes);
	result->bytes += bytes;
	work->done_bytes += bytes;
	work->counting = false;
}

int cli_rdma_move(struct cli_rdma_work *work, uint64_t requests)
{
	struct movement movement = begin(work);
	uint64_t started_ns = now_ns();
	int rc = move(work->client, &movement, requests, work->options.queue_depth);

	finish(work, &movement, started_ns);
	return rc;
}

int cli_rdma_time(struct cli_rdma_work *work, uint64_t requests, uint64_t *samples_ns)
{
	struct movement movement = begin(work);
	uint64_t started_ns = now_ns(), posted_ns;
	int rc = 0;

	for (uint64_t i = 0; i < requests && rc >= 0; i++) {
		posted_ns = now_ns();
		rc = request(work->client, &movement);
		if (!rc)
			rc = donard_rdma_wait(work->client, 1, DONARD_RDMA_SPIN);
		samples_ns[i] = now_ns() - posted_ns;
	}
	finish(work, &movement, started_ns);
	return rc < 0 ? rc : 0;
}

int cli_rdma_read_back(struct cli_rdma_work *work, uint64_t offset, uint64_t length)
{
	struct movement movement = {
		.pass = { .length = length, .block = cli_rdma_least(length, BACK_BLOCK_BYTES) },
		.memory = work->back,
		.offset = offset,
		.reads = true,
	};

	return move(work->client, &movement, cli_rdma_blocks(&movement.pass), work->options.queue_depth);
}
