// SPDX-License-Identifier: Apache-2.0
/* GPUs, named by libpci's database. */
#include "region/client_scan.h"
#include "region/gpu_facts.h"
#include "region/pci_names.h"

struct gpu_scan {
	struct donard_client_list *list;
	struct pci_access *names;
};

static int add_if_gpu(struct donard_context *ctx, const char *bdf, void *data)
{
	struct gpu_scan *scan = data;
	struct dnd_dma_client *client;

	if (!dnd_is_gpu(ctx, bdf))
		return 0;
	client = dnd_client_list_add(scan->list, DONARD_CLIENT_GPU, bdf, bdf);
	if (!client)
		return -ENOMEM;
	dnd_pci_name(ctx, scan->names, bdf, client->model, sizeof(client->model));
	return 0;
}

int dnd_scan_gpu(struct donard_context *ctx, struct donard_client_list *list)
{
	struct gpu_scan scan = { .list = list, .names = dnd_pci_names_open() };
	int rc;

	if (!scan.names)
		return -ENOMEM;
	rc = dnd_for_each_entry(ctx, "bus/pci/devices", add_if_gpu, &scan);
	dnd_pci_names_close(scan.names);
	return rc;
}
