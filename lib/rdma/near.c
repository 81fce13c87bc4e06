// SPDX-License-Identifier: Apache-2.0
/* The caller's memory: its registrations, and whether a device of it was reset or its region is going away. */
#include <stdlib.h>

#include "rdma/client.h"
#include "rdma/device.h"

static int register_near(struct donard_rdma_client *client, struct dnd_near *near, bool target)
{
	unsigned int rights = target ? dnd_device_sink_rights(client->reach.id->verbs) : 0;

	return dnd_register(near->memory, 0, near->memory->length, client->link.pd, rights, &near->registration);
}

static int add(struct donard_rdma_client *client, struct donard_memory *memory, bool target)
{
	struct dnd_near *near = calloc(1, sizeof(*near));
	int rc;

	if (!near)
		return dnd_fail_memory(client->ctx);
	near->memory = memory;
	near->target = target;
	near->resets = dnd_target_resets(memory);
	rc = register_near(client, near, target);
	if (rc) {
		free(near);
		return rc;
	}
	near->next = client->near;
	client->near = near;
	return 0;
}

/* No request may use the first registration while it is replaced: the caller has waited for them. */
static int make_target(struct donard_rdma_client *client, struct dnd_near *near)
{
	struct dnd_registration source = near->registration;
	int rc = register_near(client, near, true);

	if (rc) {
		near->registration = source;
		return rc;
	}
	dnd_unregister(&source);
	near->target = true;
	return 0;
}

int dnd_near_attach(struct donard_rdma_client *client, struct donard_memory *memory, bool target)
{
	struct dnd_near *near = dnd_near_find(client, memory);
	int rc = target ? dnd_memory_check_writable(memory) : 0;

	if (rc)
		return rc;
	if (!near)
		return add(client, memory, target);
	return target && !near->target ? make_target(client, near) : 0;
}

struct dnd_near *dnd_near_find(struct donard_rdma_client *client, const struct donard_memory *memory)
{
	struct dnd_near **link = &client->near, *near;

	for (near = *link; near && near->memory != memory; near = *link)
		link = &near->next;
	if (near && near != client->near) {
		*link = near->next;
		near->next = client->near;
		client->near = near;
	}
	return near;
}

void dnd_near_detach(struct donard_rdma_client *client, struct dnd_near *near)
{
	struct dnd_near **link = &client->near;

	while (*link != near)
		link = &(*link)->next;
	*link = near->next;
	dnd_unregister(&near->registration);
	free(near);
}

/* ---- resets and removal ---- */

int dnd_near_was_reset(struct donard_rdma_client *client, const struct dnd_near *near)
{
	/* A reset that is under way is not counted yet, hence at least 1. */
	client->local_resets = dnd_max(dnd_target_resets(near->memory) - near->resets, 1);
	return dnd_target_reset_text(near->memory);
}

int dnd_near_check(struct donard_rdma_client *client)
{
	for (const struct dnd_near *near = client->near; near; near = near->next) {
		if (dnd_target_gone(near->memory))
			return -ENODEV;
		if (dnd_target_resets(near->memory) != near->resets)
			return dnd_near_was_reset(client, near);
	}
	return 0;
}

int dnd_near_gone_text(struct donard_rdma_client *client)
{
	const struct dnd_near *near = client->near;

	if (!near)
		return dnd_fail(client->ctx, DND_E_REGION_GONE, "%s: memory of this client is gone.", client->reach.peer);
	while (near && !dnd_target_gone(near->memory))
		near = near->next;
	/* Another exporter's memory does not show that it is gone: the call that failed used the first one. */
	return dnd_target_gone_text(client->ctx, (near ? near : client->near)->memory);
}
