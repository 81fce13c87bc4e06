// SPDX-License-Identifier: Apache-2.0
/* RDMA devices of PCI functions; soft ones (rxe, siw) have no DMA. */
#include <stdio.h>

#include "region/client_scan.h"

static int add_device(struct donard_context *ctx, const char *entry, void *data)
{
	struct dnd_dma_client *client;
	char bdf[DONARD_BDF_BYTES];

	if (dnd_sysfs_function(ctx, bdf, "class/infiniband/%s/device", entry))
		return 0;
	client = dnd_client_list_add(data, DONARD_CLIENT_RDMA, entry, bdf);
	if (!client)
		return -ENOMEM;
	dnd_sysfs_read(ctx, client->model, sizeof(client->model), "class/infiniband/%s/hca_type",
		       entry);
	dnd_sysfs_read(ctx, client->serial, sizeof(client->serial),
		       "class/infiniband/%s/node_guid", entry);
	return 0;
}

int dnd_scan_rdma(struct donard_context *ctx, struct donard_client_list *list)
{
	return dnd_for_each_entry(ctx, "class/infiniband", add_device, list);
}
