// SPDX-License-Identifier: Apache-2.0
/* The calls of a client.  See client.h. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "rdma/client.h"
#include "rdma/device.h"

#define DEFAULT_DEPTH		16
#define MAX_DEPTH		4096
#define MAX_REQUEST_BYTES	(1ULL << 30)
#define FAREWELL_SECONDS	2	/* the good-bye waits behind data that are still being sent */
#define GONE_SECONDS		1	/* the kernel gives holders of unplugged memory 2 s (kernel/drain.c) */

/* ---- the end of a connection, and its failures afterwards ---- */

/* Notes what the connection ended with. */
static int over(struct donard_rdma_client *client, int rc)
{
	client->over = rc;
	client->reason = dnd_failure_keep(client->ctx);
	return rc;
}

/* If something failed, says why, and that the connection is over, unless only the caller wanted to stop. */
static int ended(struct donard_rdma_client *client, int rc)
{
	if (rc >= 0)
		return rc;
	rc = dnd_client_explain(client, rc);
	return rc == -ECANCELED ? rc : over(client, rc);
}

/* Once the good-bye was sent, the server may count no more of what this client does. */
static int may_do(struct donard_rdma_client *client, bool leaves)
{
	if (client->over)
		dnd_failure_put_back(client->ctx, &client->reason);
	else if (client->parted)
		return dnd_fail(client->ctx, DND_E_BAD_OPTION, "%s: the client has said good-bye. Connect again.",
				client->reach.peer);
	else if (client->said_bye && !leaves)
		return dnd_fail(client->ctx, DND_E_BAD_OPTION, "%s: the good-bye was stopped before the server answered. "
				"Say it again, or connect again.", client->reach.peer);
	return client->over;
}

static int usable(struct donard_rdma_client *client)
{
	return may_do(client, false);
}

/* The server counts this client from the take on. */
static int take_offer(struct donard_rdma_client *client)
{
	struct dnd_message take = { .type = DND_TAKE };
	int rc;

	if (client->taken)
		return 0;
	while ((rc = dnd_talk_send(&client->link, client->offer.nonce, &take)) == -EAGAIN) {
		rc = dnd_client_wait(client, false);
		if (rc)
			return rc;
	}
	client->taken = !rc;
	return rc;
}

/* ---- connecting ---- */

static int check_context(const struct donard_rdma_client *client, const struct donard_memory *memory)
{
	if (memory->ctx == client->ctx)
		return 0;
	return dnd_fail_member(client->ctx, DND_E_BAD_OPTION, DND_AT("memory"),
			       "%s: the memory is of another context than the client.",
			       dnd_memory_name(memory));
}

static struct dnd_fault refused(const struct donard_rdma_connect_options *options)
{
	if (!options->address)
		return DND_AT("options.address");
	if (!options->rights || options->rights & ~DND_RIGHTS)
		return DND_VALUE("options.rights", options->rights & ~DND_RIGHTS);
	return DND_AT("options.reserved");
}

static int take_options(struct donard_rdma_client *client, const struct donard_rdma_connect_options *asked)
{
	struct donard_rdma_connect_options *options = &client->options;
	int rc = DND_TAKE(client->ctx, options, asked, "donard_rdma_connect_options");

	if (rc)
		return rc;
	if (!options->address || !options->rights || options->rights & ~DND_RIGHTS || options->reserved || options->reserved2)
		return dnd_fail_member(client->ctx, DND_E_BAD_OPTION, refused(options),
				       "no address, no rights, unknown ones, or reserved members that are set.");
	rc = dnd_handle_check(DND_A_MEMORY, options->memory, "donard_rdma_connect");
	if (!rc && options->memory)
		rc = check_context(client, options->memory);
	if (rc)
		return rc;
	if (options->depth > MAX_DEPTH)
		return dnd_fail_member(client->ctx, DND_E_BAD_OPTION, DND_MOST("options.depth", options->depth, MAX_DEPTH),
				       "at most %u work requests can be under way, not %u.", MAX_DEPTH,
				       options->depth);
	if (!options->depth)
		options->depth = DEFAULT_DEPTH;
	if (!options->port)
		options->port = DONARD_RDMA_PORT;
	if (!options->timeout_ms)
		options->timeout_ms = DONARD_RDMA_TIMEOUT_MS;
	return 0;
}

static int check_rights(struct donard_rdma_client *client)
{
	const unsigned int missing = client->options.rights & ~client->offer.rights;

	if (!missing)
		return 0;
	return dnd_fail(client->ctx, DND_E_NOT_OFFERED, "%s: %s is offered for %s only. Start "
			"the server so that it offers %s, too (options.rights).", client->reach.peer,
			client->offer.target, missing & DONARD_RDMA_READ ? "writing" : "reading",
			missing & DONARD_RDMA_READ ? "reading" : "writing");
}

static int open_back(struct donard_rdma_client *client)
{
	if (!client->offer.read_back)
		return 0;
	client->back_mr = ibv_reg_mr(client->link.pd, &client->back, sizeof(client->back),
				     dnd_access(dnd_device_sink_rights(client->reach.id->verbs)));
	if (client->back_mr)
		return 0;
	return dnd_fail_errno(client->ctx, errno, "%s: a buffer for what is read back cannot be registered. See 'ulimit -l'",
			      ibv_get_device_name(client->reach.id->verbs->device));
}

static int open_client(struct donard_rdma_client *client, const struct donard_rdma_connect_options *options)
{
	int rc = take_options(client, options);

	if (!rc && dnd_flow_open(&client->flow, client->options.depth))
		rc = dnd_fail_memory(client->ctx);
	if (!rc)
		rc = dnd_client_connect(client);
	if (!rc)
		rc = check_rights(client);
	if (!rc)
		rc = open_back(client);
	if (!rc)
		client->transport = dnd_device_transport(client->reach.id->verbs, client->reach.id->port_num);
	client->looked = client->link.heard = dnd_now_seconds();
	return rc;
}

DND_PUBLIC int donard_rdma_connect(struct donard_context *ctx, const struct donard_rdma_connect_options *options,
				   struct donard_rdma_client **client_out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_rdma_client *client = calloc(1, sizeof(*client));
	int rc;

	if (!client)
		return dnd_fail_memory(ctx);
	client->ctx = ctx;
	rc = open_client(client, options);
	if (rc) {
		donard_rdma_close(client);
		return rc;
	}
	client->options.address = NULL;
	dnd_handle_made(DND_A_RDMA_CLIENT, client, ctx);
	*client_out = client;
	return 0;
}

/* Does the server still wait for this client?  One that withdrew its memory has ended the session itself. */
static bool is_awaited(const struct donard_rdma_client *client)
{
	return client->link.established && !client->link.lost && !client->reach.over && !client->parted &&
	       client->withdrawn == DND_STATUS_OK;
}

/* Does not wait long for the server's answer. */
static void leave_early(struct donard_rdma_client *client)
{
	struct dnd_message bye = {
		.type = DND_BYE, .status = client->local_resets ? DND_STATUS_RESET : DND_STATUS_STOPPED,
	};

	client->answer.type = 0;
	if (is_awaited(client) && !dnd_talk_send(&client->link, client->offer.nonce, &bye))
		dnd_client_linger(client, client->over == -ENODEV ? GONE_SECONDS : FAREWELL_SECONDS);
}

DND_PUBLIC void donard_rdma_close(struct donard_rdma_client *client)
{
	DND_LETS_GO(RDMA_CLIENT, client);
	if (!client)
		return;
	leave_early(client);
	dnd_client_disconnect(client);
	dnd_flow_close(&client->flow);
	dnd_handle_free(client, sizeof(*client));
}

/* Reads of a connection that cannot carry them are not offered, whatever the memory's rights are. */
static unsigned int rights_of(const struct donard_rdma_client *client)
{
	return client->offer.rights & (client->carries_reads ? DND_RIGHTS : DONARD_RDMA_WRITE);
}

DND_PUBLIC int donard_rdma_client_info(const struct donard_rdma_client *client, struct donard_rdma_client_info *info)
{
	DND_USES(RDMA_CLIENT, client);
	const struct dnd_flow *flow = &client->flow;
	const struct rdma_cm_id *id = client->reach.id;
	struct donard_rdma_client_info found = {
		.length_bytes = client->offer.length,
		.bytes = flow->bytes_done,
		.remote_resets = client->remote_resets,
		.local_resets = client->local_resets,
		.rights = rights_of(client),
		.services = client->offer.services,
		.in_flight = (uint32_t)(flow->added - flow->finished),
		.silence_ms = client->offer.silence_ms,
		.transport = client->transport,
		.remote_method = dnd_method(client->offer.dmabuf),
		.persistent = client->offer.persistent,
		.connected = !client->over && !client->parted,
	};
	int rc = dnd_struct_check(client->ctx, info, "donard_rdma_client_info");

	if (rc)
		return rc;
	snprintf(found.peer, sizeof(found.peer), "%s", client->reach.peer);
	snprintf(found.device, sizeof(found.device), "%s", ibv_get_device_name(id->verbs->device));
	snprintf(found.target, sizeof(found.target), "%s", client->offer.target);
	dnd_struct_give(info, &found, sizeof(found));
	return 0;
}

/* ---- memory ---- */

static void describe(const struct dnd_near *near, struct donard_rdma_registration_info *info)
{
	const struct donard_rdma_registration_info found = {
		.mr = near->registration.mr,
		.address = (void *)(uintptr_t)dnd_registration_address(near->memory, 0),
		.length_bytes = near->memory->length,
		.method = dnd_method(near->registration.dmabuf),
		.reason = near->registration.reason,
	};

	dnd_struct_give(info, &found, sizeof(found));
}

/* Its registration is replaced by one that requests may write.  Those that use the first one have to end before. */
static bool is_replaced(struct donard_rdma_client *client, const struct donard_memory *memory, unsigned int directions)
{
	const struct dnd_near *near = dnd_near_find(client, memory);

	return near && directions & DONARD_RDMA_READ && !near->target;
}

DND_PUBLIC int donard_rdma_attach(struct donard_rdma_client *client, struct donard_memory *memory, unsigned int directions,
				  struct donard_rdma_registration_info *info)
{
	DND_USES(RDMA_CLIENT, client);
	DND_USES(MEMORY, memory);
	int rc = usable(client);

	if (!rc)
		rc = check_context(client, memory);
	if (!rc && info)
		rc = dnd_struct_check(client->ctx, info, "donard_rdma_registration_info");
	if (!rc && (!directions || directions & ~DND_RIGHTS))
		rc = dnd_fail_member(client->ctx, DND_E_BAD_OPTION, DND_VALUE("directions", directions & ~DND_RIGHTS),
				     "no direction, or unknown ones: %#x.", directions);
	if (!rc && is_replaced(client, memory, directions))
		rc = ended(client, dnd_client_finish(client, client->flow.added, false));
	if (!rc)
		rc = dnd_near_attach(client, memory, directions & DONARD_RDMA_READ);
	if (!rc && info)
		describe(client->near, info);
	return rc;
}

DND_PUBLIC int donard_rdma_detach(struct donard_rdma_client *client, struct donard_memory *memory)
{
	DND_USES(RDMA_CLIENT, client);
	DND_USES(MEMORY, memory);
	struct dnd_near *near = dnd_near_find(client, memory);

	if (!near)
		return 0;
	if (!client->over && !dnd_flow_is_idle(&client->flow))
		return dnd_fail(client->ctx, DND_E_BUSY, "%s: requests are in flight. Wait for them first.",
				dnd_memory_name(memory));
	/* After a failure, the device may still be working on requests: the queue pair ends them. */
	if (client->over && client->link.id->qp)
		rdma_destroy_qp(client->link.id);
	client->link.lost = client->link.lost || client->over;
	dnd_near_detach(client, near);
	return 0;
}

/* ---- requests ---- */

static int check_offered(struct donard_rdma_client *client, uint64_t offset, uint64_t length)
{
	if (dnd_range_fits(offset, length, client->offer.length))
		return 0;
	return dnd_fail_member(client->ctx, DND_E_PAST_END, dnd_past_end(offset, length, client->offer.length),
			       "%s: %llu bytes from offset %llu go past what is offered: %llu bytes "
			       "of %s.", client->reach.peer, (unsigned long long)length, (unsigned long long)offset,
			       (unsigned long long)client->offer.length, client->offer.target);
}

static int check_request(struct donard_rdma_client *client, unsigned int direction, uint64_t length)
{
	if (!(rights_of(client) & direction))
		return dnd_fail(client->ctx, DND_E_NOT_OFFERED, "%s: %s is not offered for %s.", client->reach.peer,
				client->offer.target, direction == DONARD_RDMA_READ ? "reading" : "writing");
	if (!length || length > MAX_REQUEST_BYTES)
		return dnd_fail_member(client->ctx, DND_E_BAD_OPTION,
				       length ? DND_MOST("length", length, MAX_REQUEST_BYTES) : DND_LEAST("length", 0, 1),
				       "a request moves at least 1 byte and at most %llu.", MAX_REQUEST_BYTES);
	if (dnd_flow_is_full(&client->flow))
		return dnd_fail(client->ctx, DND_E_QUEUE_FULL, "%s: %u requests are in flight. Wait for some first.",
				client->reach.peer, client->flow.slots);
	return 0;
}

/* The memory, registered for this direction; NULL with a text. */
static struct dnd_near *near_of(struct donard_rdma_client *client, struct donard_memory *memory, bool target, int *rc)
{
	struct dnd_near *near = client->near;

	*rc = 0;
	if (!near || near->memory != memory)
		near = dnd_near_find(client, memory);
	if (near && (near->target || !target))
		return near;
	*rc = donard_rdma_attach(client, memory, target ? DONARD_RDMA_READ : DONARD_RDMA_WRITE, NULL);
	return *rc ? NULL : client->near;
}

static int add(struct donard_rdma_client *client, uint64_t offset, struct donard_memory *memory, uint64_t memory_offset,
	       uint64_t length, bool reads)
{
	int rc = check_context(client, memory);
	const struct dnd_near *near;

	if (!rc)
		rc = check_offered(client, offset, length);
	if (!rc)
		rc = dnd_memory_check_range(memory, memory_offset, length);
	near = rc ? NULL : near_of(client, memory, reads, &rc);
	if (rc)
		return rc;
	rc = take_offer(client);
	if (rc)
		return ended(client, rc);
	if (dnd_flow_is_idle(&client->flow))
		client->pace_ns = 0;
	dnd_flow_add(&client->flow, &(struct dnd_flow_request){
		.local = dnd_registration_address(memory, memory_offset),
		.remote = client->offer.address + offset,
		.length = length,
		.lkey = near->registration.mr->lkey,
		.reads = reads,
	});
	if (!reads) {
		client->written_end = offset + length;
		client->holds_back = client->offer.read_back;
	}
	return ended(client, dnd_client_post(client, false));
}

DND_PUBLIC int donard_rdma_write(struct donard_rdma_client *client, uint64_t offset_bytes, struct donard_memory *memory,
				 uint64_t memory_offset_bytes, uint64_t length_bytes)
{
	DND_USES(RDMA_CLIENT, client);
	DND_USES(MEMORY, memory);
	int rc = usable(client);

	if (!rc)
		rc = check_request(client, DONARD_RDMA_WRITE, length_bytes);
	return rc ? rc : add(client, offset_bytes, memory, memory_offset_bytes, length_bytes, false);
}

DND_PUBLIC int donard_rdma_read(struct donard_rdma_client *client, uint64_t offset_bytes, struct donard_memory *memory,
				uint64_t memory_offset_bytes, uint64_t length_bytes)
{
	DND_USES(RDMA_CLIENT, client);
	DND_USES(MEMORY, memory);
	int rc = usable(client);

	if (!rc)
		rc = check_request(client, DONARD_RDMA_READ, length_bytes);
	return rc ? rc : add(client, offset_bytes, memory, memory_offset_bytes, length_bytes, true);
}

/* How many requests, from the beginning, have to complete for so many more of the caller's. */
static uint64_t wanted(struct donard_rdma_client *client, unsigned int requests)
{
	uint64_t target;

	dnd_client_count_own(client);
	if (!requests)
		return 0;
	target = client->told + requests;
	if (client->own && target >= client->own)
		target++;
	return dnd_min(target, client->flow.added);
}

DND_PUBLIC int donard_rdma_wait(struct donard_rdma_client *client, unsigned int requests, unsigned int flags)
{
	DND_USES(RDMA_CLIENT, client);
	struct dnd_flow *flow = &client->flow;
	uint64_t completed, target;
	int rc = usable(client);

	if (!rc && flags & ~DONARD_RDMA_SPIN)
		rc = dnd_fail_member(client->ctx, DND_E_BAD_OPTION, DND_VALUE("flags", flags & ~DONARD_RDMA_SPIN),
				     "unknown flags %#x.", flags & ~DONARD_RDMA_SPIN);
	if (rc)
		return rc;
	target = wanted(client, requests);
	rc = dnd_client_post(client, true);
	if (!rc && target > flow->finished)
		rc = dnd_client_finish(client, target, flags & DONARD_RDMA_SPIN);
	else if (!rc)
		rc = dnd_client_keep_up(client);
	rc = ended(client, rc);
	if (rc)
		return rc;
	dnd_client_count_own(client);
	completed = dnd_min(flow->finished - client->told, INT_MAX);
	client->told += completed;
	return (int)completed;
}

/* ---- questions ---- */

DND_PUBLIC int donard_rdma_ask(struct donard_rdma_client *client, const struct donard_rdma_question *question,
			       struct donard_rdma_answer *answer)
{
	DND_USES(RDMA_CLIENT, client);
	struct donard_rdma_question asked;
	struct donard_rdma_answer found = { 0 };
	struct dnd_message message = { .type = DND_ASK };
	int rc = usable(client);

	if (!rc)
		rc = DND_TAKE(client->ctx, &asked, question, "donard_rdma_question");
	if (!rc)
		rc = dnd_struct_check(client->ctx, answer, "donard_rdma_answer");
	if (!rc && asked.reserved)
		rc = dnd_fail_member(client->ctx, DND_E_BAD_OPTION, DND_AT("reserved"), "reserved members are set.");
	if (!rc && (asked.service >= DONARD_RDMA_SERVICES_MAX || !(client->offer.services & 1U << asked.service)))
		rc = dnd_fail(client->ctx, DND_E_NOT_OFFERED, "%s: the server's program has no service %u.", client->reach.peer,
			      asked.service);
	if (!rc && !asked.length_bytes)
		rc = dnd_fail_member(client->ctx, DND_E_BAD_OPTION, DND_LEAST("length", 0, 1),
				     "%s: a question is about at least 1 byte of what is offered.", client->reach.peer);
	if (!rc)
		rc = check_offered(client, asked.offset_bytes, asked.length_bytes);
	if (rc)
		return rc;
	message.word = asked.service;
	message.offset = asked.offset_bytes;
	message.length = asked.length_bytes;
	message.value = asked.value;
	rc = take_offer(client);
	if (!rc)
		rc = dnd_client_push(client);
	if (!rc)
		rc = dnd_client_ask(client, &message);
	if (rc)
		return ended(client, rc);
	found.verdict = client->answer.word;
	found.value = client->answer.value;
	dnd_struct_give(answer, &found, sizeof(found));
	return 0;
}

/* ---- durable, and the end ---- */

/* Why the bytes are not durable in the server's memory; NULL if they are. */
static const char *why_not_there(const struct donard_rdma_client *client)
{
	if (!client->offer.persistent)
		return "is volatile";
	if (!(client->offer.rights & DONARD_RDMA_WRITE))
		return "keeps its bytes without power, but this client may not write any there";
	if (client->answer.durable)
		return NULL;
	return "keeps its bytes without power, but the server's NIC may hold the last ones back, and no client may read them "
	       "out of it";
}

static const char *why_not_here(const struct donard_rdma_client *client, const struct donard_memory *memory)
{
	if (!dnd_target_persistent(memory))
		return "is volatile";
	if (dnd_device_copies_by_cpu(client->reach.id->verbs))
		return NULL;
	return "keeps its bytes without power, but the NIC may hold the last ones back";
}

static void tell_durable(struct donard_rdma_durability *durability, const char *name, const char *why_not)
{
	struct donard_rdma_durability found = { .durable = !why_not };

	if (!durability)
		return;
	if (why_not)
		snprintf(found.reason, sizeof(found.reason), "%s %s", name, why_not);
	dnd_struct_give(durability, &found, sizeof(found));
}

/*
 * The answer comes after all that was sent before.  Only then it is known that writes have
 * arrived, because iWARP completes them when TCP has taken them.
 */
static int settle_there(struct donard_rdma_client *client, enum dnd_rdma_type type)
{
	struct dnd_message message = { .type = type };
	int rc = dnd_client_push(client);

	if (!rc)
		rc = dnd_client_ask(client, &message);
	/* Bytes that came from memory whose device was reset are not what the caller wrote. */
	return rc ? rc : dnd_near_check(client);
}

struct settling {
	struct donard_rdma_client *client;
	int failed;		/* -errno of the connection, or 0 */
};

static int keep_up(void *user)
{
	struct settling *settling = user;

	settling->failed = dnd_client_keep_up(settling->client);
	return settling->failed;
}

/* The connection may fail meanwhile, with the reset of another memory, too.  Any other failure is the memory's. */
static int run_barrier(struct donard_rdma_client *client, const struct dnd_near *near)
{
	struct settling settling = { .client = client };
	int rc = dnd_target_settle(near->memory, keep_up, &settling);

	if (!rc || settling.failed || rc == -ENODEV)
		return ended(client, rc);
	if (rc == -EIO)
		rc = dnd_near_was_reset(client, near);
	else if (rc == -EFAULT)	/* the exporter's, since there is no buffer of the program */
		rc = dnd_fail_errno(client->ctx, EFAULT, "%s: its exporter's barrier failed", dnd_memory_name(near->memory));
	else
		rc = dnd_memory_access_failed(near->memory, -rc);
	return over(client, rc);
}

static int settle_here(struct donard_rdma_client *client, const struct donard_memory *memory)
{
	const struct dnd_near *near = dnd_near_find(client, memory);
	int rc;

	if (!near)
		return dnd_fail_member(client->ctx, DND_E_BAD_OPTION, DND_AT("memory"),
				       "%s: the memory is not attached to this client.",
				       dnd_memory_name(memory));
	rc = dnd_client_finish(client, client->flow.added, false);
	if (rc)
		return ended(client, rc);
	rc = run_barrier(client, near);
	/* The kernel reports a reset once to each open file, so another barrier may have heard of it. */
	return rc ? rc : ended(client, dnd_near_check(client));
}

static int check_durability(struct donard_rdma_client *client, const struct donard_rdma_durability *durability, bool leaves)
{
	int rc = may_do(client, leaves);

	return !rc && durability ? dnd_struct_check(client->ctx, durability, "donard_rdma_durability") : rc;
}

DND_PUBLIC int donard_rdma_sync(struct donard_rdma_client *client, struct donard_memory *memory,
				struct donard_rdma_durability *durability)
{
	DND_USES(RDMA_CLIENT, client);
	DND_USES(MEMORY, memory);
	int rc = check_durability(client, durability, false);

	if (rc)
		return rc;
	if (memory) {
		rc = settle_here(client, memory);
		if (!rc)
			tell_durable(durability, dnd_memory_name(memory), why_not_here(client, memory));
		return rc;
	}
	rc = take_offer(client);
	if (!rc)
		rc = settle_there(client, DND_SYNC);
	if (!rc)
		tell_durable(durability, client->offer.target, why_not_there(client));
	return ended(client, rc);
}

DND_PUBLIC int donard_rdma_leave(struct donard_rdma_client *client, struct donard_rdma_durability *durability)
{
	DND_USES(RDMA_CLIENT, client);
	int rc = check_durability(client, durability, true);

	if (rc)
		return rc;
	rc = settle_there(client, DND_BYE);
	if (!rc)
		tell_durable(durability, client->offer.target, why_not_there(client));
	client->parted = !rc;
	return ended(client, rc);
}
