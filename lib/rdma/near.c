// SPDX-License-Identifier: Apache-2.0
/* Checks on the near side: whether its device was reset, and whether the data that were read into it are durable. */
#include <stdio.h>

#include "rdma/client.h"
#include "rdma/device.h"

static int was_reset(struct dnd_client *client)
{
	const struct donard_memory *memory = client->local.memory;
	uint64_t resets = dnd_target_resets(memory) - memory->region.info.resets;

	/* A reset that is under way is not counted yet, hence at least 1. */
	client->result->local_resets = dnd_max(resets, 1);
	return dnd_target_reset_text(client->ctx, memory);
}

int dnd_client_near_failed(struct dnd_client *client, int rc)
{
	if (rc == -EIO)
		return was_reset(client);
	return rc;
}

int dnd_client_check_near(struct dnd_client *client)
{
	const struct donard_memory *memory = client->local.memory;

	if (dnd_target_resets(memory) == memory->region.info.resets)
		return 0;
	return was_reset(client);
}

/* ---- durable ---- */

/* Why the bytes are not durable in the server's memory; NULL if they are. */
static const char *why_not_there(const struct dnd_client *client)
{
	if (!client->offer.persistent)
		return "is volatile";
	if (client->answer.durable)
		return NULL;
	return "keeps its bytes without power, but the server's NIC may hold the last ones back, and no client may read them "
	       "out of it";
}

static const char *why_not_here(const struct dnd_client *client)
{
	if (!dnd_target_persistent(client->local.memory))
		return "is volatile";
	if (dnd_device_copies_by_cpu(client->reach.id->verbs))
		return NULL;
	return "keeps its bytes without power, but the NIC may hold the last ones back";
}

void dnd_client_judge_durable(struct dnd_client *client)
{
	struct donard_rdma_result *result = client->result;
	bool here = dnd_client_reads(client);
	const char *why_not = here ? why_not_here(client) : why_not_there(client);

	result->durable = !why_not;
	if (why_not)
		snprintf(result->durable_reason, sizeof(result->durable_reason), "%s %s",
			 here ? dnd_memory_name(client->local.memory) : client->offer.target, why_not);
}
