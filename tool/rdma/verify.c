// SPDX-License-Identifier: Apache-2.0
/*
 * Test data at both ends.  The source side writes the pattern; the side that received the data compares.  If a client that
 * wrote may also read, it reads the data back into other memory and compares them there, so that its verdict does not depend on
 * the server's.
 */
#include <errno.h>

#include "rdma/pattern.h"
#include "rdma/service.h"
#include "rdma/work.h"

#define BACK_BYTES	(1ULL << 20)	/* read back at a time; small, since it counts as locked memory */

/* If the source is a region, its own bytes are sent, unless the caller asks for verification. */
static bool uses_test_data(const struct cli_rdma_work *work)
{
	return !cli_rdma_reads(work) && (work->options.verify || !work->near_is_region);
}

static struct cli_rdma_pattern pattern_of(const struct cli_rdma_work *work, uint32_t pass, uint64_t position)
{
	return (struct cli_rdma_pattern){ .seed = work->seed + pass, .position = position };
}

static int keep_up(void *user)
{
	int rc = donard_rdma_wait(user, 0, 0);

	return rc < 0 ? rc : 0;
}

/* After an access by the CPU: the client has to know of a reset, and tells the server. */
static int near_failed(struct cli_rdma_work *work, int rc)
{
	int found;

	if (rc != -EIO)
		return rc;
	found = donard_rdma_sync(work->client, work->near, NULL);
	if (found)
		return found;
	work->result->local_resets = 1;
	return rc;
}

static int ask(struct cli_rdma_work *work, enum cli_rdma_service service, uint32_t pass, uint64_t bytes,
	       struct donard_rdma_answer *answer)
{
	const struct donard_rdma_question question = {
		.size = sizeof(question), .service = service, .offset_bytes = work->result->offset_bytes,
		.length_bytes = bytes, .value = pattern_of(work, pass, 0).seed,
	};

	return donard_rdma_ask(work->client, &question, answer);
}

static bool answers(const struct cli_rdma_work *work, enum cli_rdma_service service)
{
	return work->result->server.services & 1U << service;
}

/* ---- before ---- */

int cli_rdma_check_verify(const struct cli_rdma_work *work)
{
	const struct donard_rdma_client_info *server = &work->result->server;

	if (!work->options.verify)
		return 0;
	if (cli_rdma_reads(work) && !answers(work, CLI_RDMA_FILL))
		return cli_rdma_fail(work->ctx, EACCES, "not-offered", "%s: its server does not fill %s with test data, which "
				     "verification needs. Start 'donard-cli rdma serve' there, with --fill if clients may only read "
				     "or the memory is persistent.", server->peer, server->target);
	if (!cli_rdma_reads(work) && !answers(work, CLI_RDMA_COMPARE))
		return cli_rdma_fail(work->ctx, EACCES, "not-offered", "%s: its server compares no test data, which verification "
				     "needs. Start 'donard-cli rdma serve' there, with --compare if clients may only write.",
				     server->peer);
	return 0;
}

static bool may_read_back(const struct cli_rdma_work *work)
{
	return work->options.verify && !cli_rdma_reads(work) && work->result->server.rights & DONARD_RDMA_READ;
}

int cli_rdma_open_back(struct cli_rdma_work *work)
{
	int rc;

	if (!may_read_back(work))
		return 0;
	rc = donard_memory_dram(work->ctx, cli_rdma_least(work->result->length_bytes, BACK_BYTES), &work->back);
	return rc ? rc : donard_rdma_attach(work->client, work->back, DONARD_RDMA_READ, NULL);
}

int cli_rdma_prepare(struct cli_rdma_work *work, uint32_t pass, uint64_t bytes)
{
	struct donard_rdma_answer answer = { .size = sizeof(answer) };

	if (uses_test_data(work))
		return near_failed(work, cli_rdma_pattern_fill(work->near, 0, pattern_of(work, pass, work->result->offset_bytes),
							       bytes, keep_up, work->client));
	if (cli_rdma_reads(work) && work->options.verify)
		return ask(work, CLI_RDMA_FILL, pass, bytes, &answer);
	return 0;
}

/* ---- after ---- */

static int mismatch(const struct cli_rdma_work *work, const char *who, uint64_t where)
{
	const struct donard_rdma_client_info *server = &work->result->server;

	return cli_rdma_fail(work->ctx, EBADMSG, "mismatch", "%s: the data differ: first at byte %llu of %s, as %s saw it.",
			     server->peer, (unsigned long long)where, server->target, who);
}

static int compare_there(struct cli_rdma_work *work, uint32_t pass, uint64_t bytes)
{
	struct donard_rdma_answer answer = { .size = sizeof(answer) };
	int rc = ask(work, CLI_RDMA_COMPARE, pass, bytes, &answer);

	if (rc)
		return rc;
	if (answer.verdict)
		return mismatch(work, "the server", answer.value);
	work->result->verified_by |= CLI_RDMA_BY_SERVER;
	return 0;
}

/* @memory holds bytes of the offered memory from @offset on. */
static int compare_here(struct cli_rdma_work *work, struct donard_memory *memory, uint32_t pass, uint64_t offset,
			uint64_t bytes)
{
	uint64_t where = 0;
	int rc = cli_rdma_pattern_check(memory, 0, pattern_of(work, pass, offset), bytes, &where, keep_up, work->client);

	if (rc == 1)
		return mismatch(work, "this client", offset + where);
	if (!rc)
		work->result->verified_by |= CLI_RDMA_BY_CLIENT;
	return rc;
}

/* Bytes that an earlier part left in the memory belong to other positions, and so compare unequal. */
static int compare_back(struct cli_rdma_work *work, uint32_t pass, uint64_t bytes)
{
	uint64_t offset, part;
	int rc = 0;

	for (uint64_t at = 0; at < bytes && !rc; at += part) {
		part = cli_rdma_least(BACK_BYTES, bytes - at);
		offset = work->result->offset_bytes + at;
		rc = cli_rdma_read_back(work, offset, part);
		if (!rc)
			rc = compare_here(work, work->back, pass, offset, part);
	}
	return rc;
}

static int compare(struct cli_rdma_work *work, uint32_t pass, uint64_t bytes)
{
	int rc;

	if (cli_rdma_reads(work)) {
		rc = donard_rdma_sync(work->client, work->near, NULL);
		return rc ? rc : near_failed(work, compare_here(work, work->near, pass, work->result->offset_bytes, bytes));
	}
	rc = compare_there(work, pass, bytes);
	if (!rc && work->back)
		rc = compare_back(work, pass, bytes);
	return rc;
}

int cli_rdma_verify(struct cli_rdma_work *work, uint32_t pass, uint64_t bytes)
{
	int rc;

	if (!work->options.verify)
		return 0;
	work->checking = true;
	rc = compare(work, pass, bytes);
	work->checking = false;
	if (!rc)
		work->result->verified_bytes += bytes;
	return rc;
}
