// SPDX-License-Identifier: Apache-2.0
/* See client.h. */
#include <stdio.h>
#include <stdlib.h>

#include "rdma/client.h"
#include "rdma/device.h"

#define DEFAULT_BLOCK_BYTES	(64ULL << 10)
#define DEFAULT_LATENCY_BYTES	8ULL
#define DEFAULT_DEPTH		16
#define DEFAULT_REQUESTS	1000
#define MAX_DEPTH		4096
#define MAX_BLOCK_BYTES		(1ULL << 30)	/* one request carries less than 2^31 bytes */
#define FAREWELL_SECONDS	2	/* the good-bye waits behind data that are still being sent */
#define HEAR_TRIES		3
/* The most that is mapped and pinned here if only the server names the length. */
#define DEFAULT_MAX_BYTES	(1ULL << 30)
#define KNOWN_FLAGS		DONARD_RDMA_VERIFY

/* ---- options ---- */

static void take_defaults(struct donard_rdma_options *options)
{
	bool timed = options->mode == DONARD_RDMA_LATENCY;

	if (!options->port)
		options->port = DONARD_RDMA_PORT;
	if (!options->block_bytes)
		options->block_bytes = timed ? DEFAULT_LATENCY_BYTES : DEFAULT_BLOCK_BYTES;
	if (!options->queue_depth || timed)
		options->queue_depth = timed ? 1 : DEFAULT_DEPTH;
	if (!options->iterations)
		options->iterations = options->mode == DONARD_RDMA_TRANSFER ? 1 : DEFAULT_REQUESTS;
	if (!options->timeout_ms)
		options->timeout_ms = DONARD_RDMA_TIMEOUT_MS;
	if (!options->local)
		options->local = "dram";
}

static int take_options(struct dnd_client *client, const struct donard_rdma_options *options)
{
	int rc = DND_TAKE(client->ctx, &client->options, options, "donard_rdma_options");

	if (rc)
		return rc;
	take_defaults(&client->options);
	options = &client->options;
	if (!options->address || options->flags & ~KNOWN_FLAGS ||
	    options->reserved || options->reserved2 ||
	    options->mode > DONARD_RDMA_LATENCY ||
	    (options->direction != DONARD_RDMA_READ && options->direction != DONARD_RDMA_WRITE))
		return dnd_fail(client->ctx, DND_E_BAD_OPTION, "no address, no direction, unknown "
				"flags, or reserved members that are set.");
	if (options->queue_depth > MAX_DEPTH || options->block_bytes > MAX_BLOCK_BYTES)
		return dnd_fail(client->ctx, DND_E_BAD_OPTION, "at most %u requests of at most %llu "
				"bytes can be in flight.", MAX_DEPTH,
				(unsigned long long)MAX_BLOCK_BYTES);
	return 0;
}

/* ---- the request, compared with the offer ---- */

static uint64_t wanted_length(const struct dnd_client *client)
{
	const struct donard_rdma_options *options = &client->options;
	uint64_t rest = client->offer.length - dnd_min(options->offset_bytes, client->offer.length);

	if (options->length_bytes)
		return options->length_bytes;
	if (options->mode == DONARD_RDMA_TRANSFER)
		return rest;
	return dnd_min(rest, options->block_bytes * options->queue_depth);
}

static int check_rights(struct dnd_client *client)
{
	bool read = dnd_client_reads(client);

	if (!(client->offer.rights & client->options.direction))
		return dnd_fail(client->ctx, DND_E_NOT_OFFERED, "%s: %s is offered for %s only. Start "
				"the server with options.rights %s or both.", client->reach.peer,
				client->offer.target, read ? "writing" : "reading",
				read ? "read" : "write");
	if (read && dnd_client_verifies(client) && !client->offer.may_fill)
		return dnd_fail(client->ctx, DND_E_NOT_OFFERED, "%s: %s is offered for reading only, and "
				"VERIFY needs the server to fill it with test data. Start the "
				"server with MAY_FILL or options.rights both, or leave out VERIFY.", client->reach.peer,
				client->offer.target);
	return 0;
}

static int check_offer(struct dnd_client *client)
{
	struct donard_rdma_result *result = client->result;
	int rc = check_rights(client);

	if (rc)
		return rc;
	result->offset_bytes = client->options.offset_bytes;
	result->length_bytes = wanted_length(client);
	if (!dnd_range_fits(result->offset_bytes, result->length_bytes, client->offer.length))
		return dnd_fail(client->ctx, DND_E_PAST_END, "%s: %llu bytes from offset %llu go past "
				"what is offered: %llu bytes of %s. Use a smaller options.length_bytes or "
				"options.offset_bytes.", client->reach.peer,
				(unsigned long long)result->length_bytes,
				(unsigned long long)result->offset_bytes,
				(unsigned long long)client->offer.length, client->offer.target);
	if (!client->options.length_bytes && result->length_bytes > DEFAULT_MAX_BYTES)
		return dnd_fail(client->ctx, DND_E_BAD_OPTION, "%s: %llu bytes of %s are offered: too "
				"many to move by default. Give the amount with options.length_bytes.",
				client->reach.peer, (unsigned long long)result->length_bytes,
				client->offer.target);
	result->block_bytes = dnd_min(client->options.block_bytes, result->length_bytes);
	return 0;
}

/* ---- the near side ---- */

static int check_local(struct dnd_client *client)
{
	if (!dnd_client_reads(client) && dnd_client_verifies(client) && dnd_region_persistent(&client->local.memory->region))
		return dnd_fail(client->ctx, DND_E_UNSUPPORTED, "%s: VERIFY would overwrite this "
				"persistent region with test data. Leave out VERIFY, or use another "
				"options.local.", dnd_memory_name(client->local.memory));
	return 0;
}

static int open_local(struct dnd_client *client)
{
	struct donard_rdma_result *result = client->result;
	struct dnd_near *local = &client->local;
	int rc = dnd_target_open(client->ctx, client->options.local, result->length_bytes, 0,
				 &local->memory);

	if (!rc)
		rc = check_local(client);
	if (!rc)
		rc = dnd_register(local->memory, 0, local->memory->length, client->link.pd,
				  dnd_client_reads(client) ? DONARD_RDMA_LOCAL_WRITE : 0,
				  &local->registration);
	if (rc)
		return rc;
	result->local_method = dnd_method(local->registration.dmabuf);
	snprintf(result->local_reason, sizeof(result->local_reason), "%s",
		 local->registration.reason);
	return 0;
}

static void describe(struct dnd_client *client)
{
	struct donard_rdma_result *result = client->result;

	result->queue_depth = client->options.queue_depth;
	result->iterations = client->options.iterations;
	result->remote_persistent = client->offer.persistent;
	result->remote_method = dnd_method(client->offer.dmabuf);
	result->transport = dnd_device_transport(client->reach.id->verbs, client->reach.id->port_num);
	snprintf(result->device, sizeof(result->device), "%s",
		 ibv_get_device_name(client->reach.id->verbs->device));
	snprintf(result->remote_target, sizeof(result->remote_target), "%s", client->offer.target);
}

/* ---- the interval ---- */

/*
 * Called before the first request; later calls do nothing.  The payload is the near side, if
 * that is DRAM, and the memory for reading back.  The caller has to name the far side itself.
 */
static int begin_interval(struct dnd_client *client)
{
	const struct donard_memory *memories[DND_PAYLOAD_MAX] = { client->local.memory, client->back.memory };
	int rc;

	if (client->interval.begun)
		return 0;
	client->interval.begin_fn = client->options.begin_fn;
	client->interval.end_fn = client->options.end_fn;
	client->interval.user = client->options.interval_user;
	for (size_t i = 0; i < DND_PAYLOAD_MAX; i++)
		if (memories[i] && !dnd_memory_is_region(memories[i]))
			dnd_interval_add(&client->interval, memories[i]->window.data, memories[i]->length);
	rc = dnd_interval_begin(client->ctx, &client->interval);
	client->refused = rc != 0;
	return rc;
}

/* If the caller's begin_fn failed, the failure has its text already. */
static int end_interval(struct dnd_client *client, int rc)
{
	return dnd_interval_end(client->ctx, &client->interval, client->refused ? rc : dnd_client_explain(client, rc));
}

/* ---- modes ---- */

static int transfer(struct dnd_client *client)
{
	const struct dnd_pass range = dnd_client_pass(client);
	uint64_t length = range.length;
	int rc = 0;

	client->expected_bytes = length * client->options.iterations;
	for (uint32_t pass = 0; pass < client->options.iterations && !rc; pass++) {
		rc = dnd_client_prepare(client, pass, length);
		if (!rc)
			rc = begin_interval(client);
		if (!rc)
			rc = dnd_client_move(client, dnd_pass_blocks(&range));
		if (!rc)
			rc = dnd_client_verify(client, pass, length);
	}
	return rc;
}

/* Times the requests one by one if @samples_ns is not NULL; else has many in flight. */
static int measure_round(struct dnd_client *client, uint32_t pass, uint64_t requests,
			 uint64_t *samples_ns)
{
	const struct dnd_pass range = dnd_client_pass(client);
	uint64_t touched = dnd_min(dnd_pass_bytes(&range, requests), range.length);
	int rc = dnd_client_prepare(client, pass, touched);

	if (!rc)
		rc = begin_interval(client);
	if (!rc)
		rc = samples_ns ? dnd_client_time(client, requests, samples_ns) :
		     dnd_client_move(client, requests);
	return rc ? rc : dnd_client_verify(client, pass, touched);
}

/* With VERIFY, does one round at a time, each with other data, so that no later round can hide a wrong byte. */
static int measure_rounds(struct dnd_client *client, uint64_t *samples_ns)
{
	const struct dnd_pass range = dnd_client_pass(client);
	uint64_t requests = client->options.iterations, done, part = requests;
	uint32_t pass = 0;
	int rc = 0;

	client->expected_bytes = dnd_pass_bytes(&range, requests);
	if (dnd_client_verifies(client))
		part = dnd_pass_blocks(&range);
	for (done = 0; done < requests && !rc; done += part)
		rc = measure_round(client, pass++, dnd_min(part, requests - done),
				   samples_ns ? samples_ns + done : NULL);
	return rc;
}

static int time_requests(struct dnd_client *client)
{
	uint64_t *samples_ns = calloc(client->options.iterations, sizeof(*samples_ns));
	int rc;

	if (!samples_ns)
		return dnd_fail_memory(client->ctx);
	rc = measure_rounds(client, samples_ns);
	dnd_latency_summarise(samples_ns, client->result->requests, &client->result->latency);
	free(samples_ns);
	return rc;
}

/* ---- the end ---- */

/*
 * The answer comes after all that was sent before.  Only then it is known that writes have
 * arrived, because iWARP completes them when TCP has taken them.
 */
static int say_bye(struct dnd_client *client)
{
	struct dnd_message bye = { .type = DND_BYE };
	int rc = dnd_client_push(client);

	return rc ? rc : dnd_client_ask(client, &bye);
}

/*
 * After a failure on this side, tells the server as well, and does not wait long for its
 * answer.  A server that withdrew its memory has ended the session itself.
 */
static void leave_early(struct dnd_client *client)
{
	struct dnd_message bye = {
		.type = DND_BYE, .status = client->result->local_resets ? DND_STATUS_RESET : DND_STATUS_STOPPED,
	};

	client->answer.type = 0;
	if (!client->link.lost && !client->parted && client->withdrawn == DND_STATUS_OK &&
	    !dnd_talk_send(&client->link, client->offer.nonce, &bye))
		dnd_client_linger(client, FAREWELL_SECONDS);
}

static void close_side(struct dnd_near *side)
{
	dnd_unregister(&side->registration);
	donard_memory_free(side->memory);
	side->memory = NULL;
}

static void clean_up(struct dnd_client *client)
{
	if (client->reach.id && client->link.established)
		rdma_disconnect(client->reach.id);
	/* Destroy the queue pair first; then no request refers to the memory. */
	if (client->link.id && client->link.id->qp)
		rdma_destroy_qp(client->link.id);
	close_side(&client->back);
	close_side(&client->local);
	dnd_link_close(&client->link);
	dnd_reach_close(&client->reach);
}

static int run_mode(struct dnd_client *client)
{
	if (client->options.mode == DONARD_RDMA_TRANSFER)
		return transfer(client);
	if (client->options.mode == DONARD_RDMA_LATENCY)
		return time_requests(client);
	return measure_rounds(client, NULL);
}

/* The server counts this client from the take on, so it is sent only when the offer fits and the near side is ready. */
static int work(struct dnd_client *client)
{
	struct dnd_message take = { .type = DND_TAKE };
	int rc = dnd_talk_send(&client->link, client->offer.nonce, &take);

	if (!rc)
		rc = run_mode(client);
	if (!rc)
		rc = dnd_client_settle_near(client);
	if (!rc)
		rc = say_bye(client);
	client->parted = !rc;
	if (!rc)
		dnd_client_judge_durable(client);
	return end_interval(client, rc);
}

/* After a reset, nobody knows which of the moved bytes are good, so none count. */
static void disown_bytes(struct dnd_client *client)
{
	struct donard_rdma_result *result = client->result;

	if (!result->remote_resets && !result->local_resets)
		return;
	result->bytes = result->requests = result->verified_bytes = 0;
	result->verified_by = 0;
}

/* If its size is known, opens the near side before it connects: a large one takes longer than the server waits. */
static int reach(struct dnd_client *client)
{
	int rc = dnd_client_find(client);

	client->result->length_bytes = client->options.length_bytes;
	if (!rc && client->options.length_bytes)
		rc = open_local(client);
	return rc ? rc : dnd_client_connect(client);
}

/* Tries again if the reason of a refusal may have been lost on the way. */
static int reach_and_hear(struct dnd_client *client)
{
	int rc, tries = HEAR_TRIES;

	for (;;) {
		rc = reach(client);
		if (!client->reach.unheard || !--tries)
			return rc;
		clean_up(client);
	}
}

/*
 * Only the server's answer says whether the client may, and must, read back what it wrote.  So the first attempt allows
 * reads.  A server whose memory may only be written refuses that, and the client connects again without them.
 */
static int find_and_connect(struct dnd_client *client)
{
	int rc;

	client->carries_reads = true;
	rc = reach_and_hear(client);
	if (!client->reading_refused || dnd_client_reads(client))
		return rc;
	clean_up(client);
	client->carries_reads = false;
	return reach_and_hear(client);
}

static int run(struct dnd_client *client)
{
	int rc = find_and_connect(client);

	if (rc)
		return rc;
	rc = check_offer(client);
	describe(client);
	if (!rc && !client->options.length_bytes)
		rc = open_local(client);
	if (!rc)
		rc = dnd_client_open_back(client);
	client->link.heard = dnd_now_seconds();
	if (!rc)
		rc = work(client);
	if (rc)
		leave_early(client);
	disown_bytes(client);
	return rc;
}

DND_PUBLIC int donard_rdma_run(struct donard_context *ctx,
			       const struct donard_rdma_options *options,
			       struct donard_rdma_result *result)
{
	struct donard_rdma_result found = { .size = sizeof(found) };
	struct dnd_client client = { .ctx = ctx, .result = &found };
	int rc = dnd_struct_check(ctx, result, "donard_rdma_result");

	if (rc)
		return rc;
	rc = take_options(&client, options);
	if (!rc) {
		rc = run(&client);
		clean_up(&client);
	}
	dnd_struct_give(result, &found, sizeof(found));
	return rc;
}
