// SPDX-License-Identifier: Apache-2.0
/*
 * Test data at both ends.  The source side writes the pattern, with a seed that is based
 * on the server's nonce; the side that received the data compares.  If a client that wrote
 * may also read, it reads the data back into other memory and compares them there, so that
 * its verdict does not depend on the server's.
 */
#include "rdma/client.h"
#include "rdma/pattern.h"

#define PUSH_BYTES	8ULL
#define BACK_BYTES	(1ULL << 20)	/* read back at a time; small, since it counts as locked memory */

/* If the source is a region, its own bytes are sent, unless the caller asks for verification. */
static bool uses_test_data(const struct dnd_client *client)
{
	return !dnd_client_reads(client) &&
	       (dnd_client_verifies(client) || !dnd_memory_is_region(client->local.memory));
}

static uint64_t seed_of(const struct dnd_client *client, uint32_t pass)
{
	return client->offer.nonce + pass;
}

/* ---- before a pass ---- */

static int ask_server(struct dnd_client *client, enum dnd_rdma_type type, uint64_t seed,
		      uint64_t bytes)
{
	struct dnd_message request = {
		.type = type,
		.offset = client->result->offset_bytes,
		.length = bytes,
		.seed = seed,
	};

	return dnd_client_ask(client, &request);
}

static int fill_there(struct dnd_client *client, uint64_t seed, uint64_t bytes)
{
	int rc = ask_server(client, DND_FILL, seed, bytes);

	if (!rc && client->answer.status != DND_STATUS_OK)
		rc = dnd_fail(client->ctx, DND_E_NOT_OFFERED, "%s: the server does not fill %s with "
			      "test data. Start it with MAY_FILL.", client->reach.peer,
			      client->offer.target);
	return rc;
}

int dnd_client_prepare(struct dnd_client *client, uint32_t pass, uint64_t bytes)
{
	const struct dnd_place place = dnd_memory_place(client->local.memory, 0);
	uint64_t seed = seed_of(client, pass);

	if (uses_test_data(client))
		return dnd_client_near_failed(client, dnd_pattern_fill(&place, seed, client->result->offset_bytes, bytes,
								       dnd_client_keep_up, client));
	if (dnd_client_reads(client) && dnd_client_verifies(client))
		return fill_there(client, seed, bytes);
	return 0;
}

/* ---- after a pass ---- */

static int mismatch(struct dnd_client *client, const char *who, uint64_t where)
{
	return dnd_fail(client->ctx, DND_E_MISMATCH, "%s: the data differ: first at byte %llu of %s, as "
			"%s saw it.", client->reach.peer, (unsigned long long)where,
			client->offer.target, who);
}

static int compare_there(struct dnd_client *client, uint64_t seed, uint64_t bytes)
{
	int rc = dnd_client_push(client);

	if (!rc)
		rc = ask_server(client, DND_VERIFY, seed, bytes);
	if (rc)
		return rc;
	if (client->answer.status != DND_STATUS_OK)
		return mismatch(client, "the server", client->answer.where);
	client->result->verified_by |= DONARD_RDMA_BY_SERVER;
	return 0;
}

/* @side holds bytes of the offered memory from @offset on. */
static int compare_here(struct dnd_client *client, const struct dnd_near *side, uint64_t seed,
			uint64_t offset, uint64_t bytes)
{
	const struct dnd_place place = dnd_memory_place(side->memory, 0);
	uint64_t where = 0;
	int rc = dnd_pattern_check(&place, seed, offset, bytes, &where, dnd_client_keep_up, client);

	rc = dnd_client_near_failed(client, rc);
	if (rc == 1)
		return mismatch(client, "this client", offset + where);
	if (!rc)
		client->result->verified_by |= DONARD_RDMA_BY_CLIENT;
	return rc;
}

static bool may_read_back(const struct dnd_client *client)
{
	return dnd_client_verifies(client) && !dnd_client_reads(client) &&
	       client->offer.rights & DONARD_RDMA_READ;
}

static bool pushes(const struct dnd_client *client)
{
	return !dnd_client_reads(client) && client->offer.read_back;
}

static uint64_t back_bytes(const struct dnd_client *client)
{
	return dnd_min(client->result->length_bytes, may_read_back(client) ? BACK_BYTES : PUSH_BYTES);
}

int dnd_client_open_back(struct dnd_client *client)
{
	struct dnd_near *back = &client->back;
	int rc;

	if (!may_read_back(client) && !pushes(client))
		return 0;
	rc = dnd_target_open(client->ctx, "dram", back_bytes(client), 0, &back->memory);
	if (!rc)
		rc = dnd_register(back->memory, 0, back->memory->length, client->link.pd,
				  DONARD_RDMA_LOCAL_WRITE, &back->registration);
	return rc;
}

/* One device serves the requests of a connection in order, so this read comes behind all writes. */
int dnd_client_push(struct dnd_client *client)
{
	const struct donard_rdma_result *result = client->result;
	uint64_t bytes = dnd_min(result->length_bytes, PUSH_BYTES);

	if (!pushes(client))
		return 0;
	return dnd_client_read_back(client, result->offset_bytes + result->length_bytes - bytes, bytes);
}

/* Bytes that an earlier part left in the memory belong to other positions, and so compare unequal. */
static int compare_back(struct dnd_client *client, uint64_t seed, uint64_t bytes)
{
	uint64_t offset, part;
	int rc = 0;

	for (uint64_t at = 0; at < bytes && !rc; at += part) {
		part = dnd_min(client->back.memory->length, bytes - at);
		offset = client->result->offset_bytes + at;
		rc = dnd_client_read_back(client, offset, part);
		if (!rc)
			rc = compare_here(client, &client->back, seed, offset, part);
	}
	return rc;
}

static int compare(struct dnd_client *client, uint64_t seed, uint64_t bytes)
{
	int rc;

	if (dnd_client_reads(client)) {
		rc = dnd_client_settle_near(client);
		return rc ? rc : compare_here(client, &client->local, seed, client->result->offset_bytes, bytes);
	}
	rc = compare_there(client, seed, bytes);
	if (!rc && may_read_back(client))
		rc = compare_back(client, seed, bytes);
	return rc;
}

int dnd_client_verify(struct dnd_client *client, uint32_t pass, uint64_t bytes)
{
	int rc;

	if (!dnd_client_verifies(client))
		return 0;
	rc = compare(client, seed_of(client, pass), bytes);
	if (!rc)
		client->result->verified_bytes += bytes;
	return rc;
}
