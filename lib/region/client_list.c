// SPDX-License-Identifier: Apache-2.0
/* The list of clients. */
#include <stdio.h>
#include <stdlib.h>

#include "region/client_list.h"

struct dnd_dma_client *dnd_client_list_add(struct donard_client_list *list, enum donard_client_type type,
					   const char *name, const char *bdf)
{
	struct dnd_dma_client **clients, *client = calloc(1, sizeof(*client));

	clients = realloc(list->clients, (list->count + 1) * sizeof(*clients));
	if (clients)
		list->clients = clients;
	if (!clients || !client) {
		free(client);
		return NULL;
	}
	clients[list->count++] = client;
	snprintf(client->name, sizeof(client->name), "%s", name);
	snprintf(client->bdf, sizeof(client->bdf), "%s", bdf);
	client->info.name = client->name;
	client->info.type = type;
	client->info.size = sizeof(client->info);
	client->info.bdf = client->bdf;
	client->info.model = client->model;
	client->info.serial = client->serial;
	return client;
}

int dnd_client_list_add_namespace(struct dnd_dma_client *client, const char *name)
{
	size_t count = client->info.namespace_count;
	char **names;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(client->namespaces[i], name))
			return 0;
	names = realloc(client->namespaces, (count + 1) * sizeof(*names));
	if (!names)
		return -ENOMEM;
	client->namespaces = names;
	client->info.namespaces = (const char *const *)names;
	names[count] = strdup(name);
	if (!names[count])
		return -ENOMEM;
	client->info.namespace_count++;
	return 0;
}

DND_PUBLIC size_t donard_client_count(const struct donard_client_list *list)
{
	DND_DEMANDS(CLIENT_LIST, list);
	return list ? list->count : 0;
}

DND_PUBLIC const struct donard_client_info *
donard_client_get(const struct donard_client_list *list, size_t index)
{
	DND_DEMANDS(CLIENT_LIST, list);
	return list && index < list->count ? &list->clients[index]->info : NULL;
}

static void free_client(struct dnd_dma_client *client)
{
	for (size_t i = 0; i < client->info.namespace_count; i++)
		free(client->namespaces[i]);
	free(client->namespaces);
	free(client);
}

DND_PUBLIC void donard_client_list_free(struct donard_client_list *list)
{
	DND_LETS_GO(CLIENT_LIST, list);
	if (!list)
		return;
	for (size_t i = 0; i < list->count; i++)
		free_client(list->clients[i]);
	free(list->clients);
	dnd_handle_free(list, sizeof(*list));
}
