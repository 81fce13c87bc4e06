// SPDX-License-Identifier: Apache-2.0
/* A run, in order: open the near side, connect, check the request against the offer, move, verify, say good-bye. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "place.h"
#include "rdma/run.h"
#include "rdma/work.h"

#define DEFAULT_BLOCK_BYTES	(64ULL << 10)
#define DEFAULT_LATENCY_BYTES	8ULL
#define DEFAULT_DEPTH		16
#define DEFAULT_REQUESTS	1000
#define PAYLOAD_MAX		2

/* ---- options ---- */

static void take_defaults(struct cli_rdma_options *options)
{
	bool timed = options->mode == CLI_RDMA_LATENCY;

	if (!options->block_bytes)
		options->block_bytes = timed ? DEFAULT_LATENCY_BYTES : DEFAULT_BLOCK_BYTES;
	if (!options->queue_depth || timed)
		options->queue_depth = timed ? 1 : DEFAULT_DEPTH;
	if (!options->iterations)
		options->iterations = options->mode == CLI_RDMA_TRANSFER ? 1 : DEFAULT_REQUESTS;
	if (!options->local)
		options->local = "dram";
}

static int stop_asked(void *user)
{
	const struct cli_rdma_work *work = user;
	const struct cli_rdma_options *options = &work->options;
	/* The progress of a check itself is not shown. */
	enum donard_phase phase = work->checking ? DONARD_PHASE_VERIFY : DONARD_PHASE_COPY;

	return options->progress_fn && options->progress_fn(options->progress_user, phase,
							    work->done_bytes + cli_rdma_under_way(work), work->expected_bytes);
}

/* ---- the near side ---- */

/* Only a transfer that reads is asked to put something there.  Test data and what is read to be measured come by the way. */
static bool spoils_near(const struct cli_rdma_work *work)
{
	return work->options.verify || (cli_rdma_reads(work) && work->options.mode != CLI_RDMA_TRANSFER);
}

static int check_near(struct cli_rdma_work *work)
{
	struct donard_memory_info info = { .size = sizeof(info) };
	int rc = donard_memory_info(work->near, &info);

	work->near_is_region = info.kind == DONARD_MEMORY_REGION;
	if (!rc && spoils_near(work) && info.persistent && !work->options.overwrite)
		rc = cli_rdma_fail(work->ctx, EOPNOTSUPP, "unsupported", "%s: its memory is persistent, and %s would overwrite it. Use "
				   "another --local, or give --allow-persistent if what it holds may be lost.", info.region,
				   work->options.verify ? "--verify" : "what is read to be measured");
	return rc;
}

static int open_near(struct cli_rdma_work *work)
{
	struct cli_place place;
	int rc = cli_place_of(work->ctx, work->options.local, 0, &place);

	if (!rc)
		rc = donard_memory_open(work->ctx, place.name, place.offset_bytes, work->result->length_bytes, &work->near);
	return rc ? rc : check_near(work);
}

static int attach_near(struct cli_rdma_work *work)
{
	struct donard_rdma_registration_info info = { .size = sizeof(info) };
	struct cli_rdma_result *result = work->result;
	int rc = work->near ? 0 : open_near(work);

	if (!rc)
		rc = donard_rdma_attach(work->client, work->near, work->options.direction, &info);
	if (rc)
		return rc;
	result->local_method = info.method;
	snprintf(result->local_reason, sizeof(result->local_reason), "%s", info.reason);
	return 0;
}

/* ---- the connection ---- */

/* If its size is known, opens the near side before it connects: a large one takes longer than the server waits. */
static int reach(struct cli_rdma_work *work)
{
	const struct cli_rdma_options *options = &work->options;
	struct donard_rdma_connect_options connect = {
		.size = sizeof(connect), .address = options->address, .port = options->port, .rights = options->direction,
		.depth = cli_rdma_depth(options->block_bytes, options->queue_depth), .timeout_ms = options->timeout_ms,
		.stop_fn = stop_asked, .user = work,
	};
	int rc = 0;

	work->result->length_bytes = options->length_bytes;
	if (options->length_bytes)
		rc = open_near(work);
	connect.memory = work->near;
	return rc ? rc : donard_rdma_connect(work->ctx, &connect, &work->client);
}

static uint64_t wanted_length(const struct cli_rdma_work *work)
{
	const struct cli_rdma_options *options = &work->options;
	uint64_t offered = work->result->server.length_bytes, rest = offered - cli_rdma_least(options->offset_bytes, offered);

	if (options->length_bytes)
		return options->length_bytes;
	if (options->mode == CLI_RDMA_TRANSFER)
		return rest;
	return cli_rdma_least(rest, cli_rdma_round_bytes(options->block_bytes, options->one_block ? 1 : options->queue_depth));
}

static int check_range(struct cli_rdma_work *work)
{
	struct cli_rdma_result *result = work->result;
	const struct donard_rdma_client_info *server = &result->server;
	unsigned long long length, offset = work->options.offset_bytes, offered = server->length_bytes;

	result->offset_bytes = offset;
	result->length_bytes = length = wanted_length(work);
	if (!length || offset > offered || length > offered - offset)
		return cli_rdma_fail(work->ctx, ENXIO, "past-end", "%s: %llu bytes from offset %llu go past what is offered: %llu "
				     "bytes of %s. Use a smaller --size or --offset.", server->peer, length, offset, offered,
				     server->target);
	if (!work->options.length_bytes && length > CLI_RDMA_DEFAULT_MAX)
		return cli_rdma_fail(work->ctx, ENXIO, "past-end", "%s: %llu bytes of %s are to be moved, and by default %llu at most. "
				     "Give the amount with --size.", server->peer, length, server->target, CLI_RDMA_DEFAULT_MAX);
	result->block_bytes = cli_rdma_least(work->options.block_bytes, length);
	return 0;
}

/* ---- the interval ---- */

static void add_payload(struct donard_interval *interval, struct donard_payload *payload, const struct donard_memory *memory)
{
	struct donard_memory_info info = { .size = sizeof(info) };

	if (!memory || donard_memory_info(memory, &info) || info.kind == DONARD_MEMORY_REGION)
		return;
	payload[interval->payload_count++] = (struct donard_payload){ info.address, info.length_bytes };
}

struct interval {
	struct donard_payload payload[PAYLOAD_MAX];
	struct donard_interval told;
	bool begun;
};

/* Called before the first request; later calls do nothing. */
static int begin_interval(struct cli_rdma_work *work, struct interval *interval)
{
	int rc;

	if (interval->begun || !work->options.begin_fn)
		return 0;
	interval->told = (struct donard_interval){ .size = sizeof(interval->told), .ctx = work->ctx, .payload = interval->payload };
	add_payload(&interval->told, interval->payload, work->near);
	add_payload(&interval->told, interval->payload, work->back);
	rc = work->options.begin_fn(work->options.interval_user, &interval->told);
	interval->begun = !rc;
	return rc;
}

/* If the work failed, the caller hears of that: end_fn has another context for a failure of its own. */
static int end_interval(struct cli_rdma_work *work, struct interval *interval, int rc)
{
	struct donard_context *aside = NULL;
	int ended;

	if (!interval->begun)
		return rc;
	if (rc && !donard_open(&aside, NULL))
		interval->told.ctx = aside;
	ended = work->options.end_fn(work->options.interval_user, &interval->told, rc);
	donard_close(aside);
	return rc ? rc : ended;
}

/* ---- modes ---- */

/* Times the requests one by one if @samples_ns is not NULL; else has many in flight. */
static int round_of(struct cli_rdma_work *work, struct interval *interval, uint32_t pass, uint64_t requests,
		    uint64_t *samples_ns)
{
	const struct cli_rdma_pass range = cli_rdma_range(work);
	uint64_t touched = cli_rdma_least(cli_rdma_bytes(&range, requests), range.length);
	int rc = cli_rdma_prepare(work, pass, touched);

	if (!rc)
		rc = begin_interval(work, interval);
	if (!rc)
		rc = samples_ns ? cli_rdma_time(work, requests, samples_ns) : cli_rdma_move(work, requests);
	return rc ? rc : cli_rdma_verify(work, pass, touched);
}

/* With verification, does one round at a time, each with other data, so that no later round can hide a wrong byte. */
static int rounds(struct cli_rdma_work *work, struct interval *interval, uint64_t *samples_ns)
{
	const struct cli_rdma_pass range = cli_rdma_range(work);
	uint64_t requests = work->options.iterations, part = requests;
	uint32_t pass = 0;
	int rc = 0;

	if (work->options.mode == CLI_RDMA_TRANSFER)
		requests *= cli_rdma_blocks(&range);
	if (work->options.verify || work->options.mode == CLI_RDMA_TRANSFER)
		part = cli_rdma_blocks(&range);
	work->expected_bytes = cli_rdma_bytes(&range, requests);
	for (uint64_t done = 0; done < requests && !rc; done += part)
		rc = round_of(work, interval, pass++, cli_rdma_least(part, requests - done),
			      samples_ns ? samples_ns + done : NULL);
	return rc;
}

static int time_requests(struct cli_rdma_work *work, struct interval *interval)
{
	uint64_t *samples_ns = calloc(work->options.iterations, sizeof(*samples_ns));
	int rc;

	if (!samples_ns)
		return cli_rdma_fail(work->ctx, ENOMEM, "no-memory", "out of memory");
	rc = rounds(work, interval, samples_ns);
	cli_rdma_latency_summarise(samples_ns, work->result->requests, &work->result->latency);
	free(samples_ns);
	return rc;
}

/* ---- the course of a run ---- */

/* The near side's barrier also finds a reset of its device. */
static int take_leave(struct cli_rdma_work *work)
{
	struct donard_rdma_durability there = { .size = sizeof(there) }, *here = &work->result->durability;
	int rc;

	here->size = sizeof(*here);
	rc = donard_rdma_sync(work->client, work->near, here);
	if (!rc)
		rc = donard_rdma_leave(work->client, &there);
	if (rc || !cli_rdma_reads(work))
		*here = there;
	return rc;
}

static int work_on(struct cli_rdma_work *work)
{
	struct interval interval = { 0 };
	int rc = work->options.mode == CLI_RDMA_LATENCY ? time_requests(work, &interval) : rounds(work, &interval, NULL);

	if (!rc)
		rc = take_leave(work);
	return end_interval(work, &interval, rc);
}

static int run(struct cli_rdma_work *work)
{
	struct cli_rdma_result *result = work->result;
	int rc = reach(work);

	if (rc)
		return rc;
	donard_rdma_client_info(work->client, &result->server);
	result->queue_depth = work->options.queue_depth;
	result->iterations = work->options.iterations;
	rc = cli_rdma_check_verify(work);
	if (!rc)
		rc = check_range(work);
	if (!rc)
		rc = attach_near(work);
	if (!rc)
		rc = cli_rdma_open_back(work);
	return rc ? rc : work_on(work);
}

/* After a reset, nobody knows which of the moved bytes are good, so none count. */
static void take_resets(struct cli_rdma_work *work)
{
	struct cli_rdma_result *result = work->result;

	if (work->client)
		donard_rdma_client_info(work->client, &result->server);
	if (result->server.local_resets)
		result->local_resets = result->server.local_resets;
	if (!result->server.remote_resets && !result->local_resets)
		return;
	result->bytes = result->requests = result->verified_bytes = 0;
	result->verified_by = 0;
}

int cli_rdma_run(struct donard_context *ctx, const struct cli_rdma_options *options, struct cli_rdma_result *result)
{
	struct cli_rdma_work work = { .ctx = ctx, .options = *options, .result = result };
	int rc;

	memset(result, 0, sizeof(*result));
	result->server.size = sizeof(result->server);
	if (getrandom(&work.seed, sizeof(work.seed), 0) != sizeof(work.seed))
		return cli_rdma_fail(ctx, EIO, "system", "no random number can be had for test data");
	if (options->block_bytes > CLI_RDMA_BLOCK_MAX)
		return cli_rdma_fail(ctx, EINVAL, "bad-option", "--block-size: a request moves at most %llu bytes.", CLI_RDMA_BLOCK_MAX);
	take_defaults(&work.options);
	rc = run(&work);
	take_resets(&work);
	donard_rdma_close(work.client);
	donard_memory_free(work.back);
	donard_memory_free(work.near);
	return rc;
}
