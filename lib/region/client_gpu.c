// SPDX-License-Identifier: Apache-2.0
/* GPUs: PCI functions of class 03 (display), named by libpci's database. */
#include <pci/pci.h>
#include <stdio.h>

#include "region/client_scan.h"

struct gpu_scan {
	struct donard_client_list *list;
	struct pci_access *names;
};

static void name_gpu(struct donard_context *ctx, struct gpu_scan *scan,
		     struct dnd_client *client)
{
	uint64_t vendor = 0, device = 0;

	dnd_sysfs_read_u64(ctx, &vendor, "bus/pci/devices/%s/vendor", client->bdf);
	dnd_sysfs_read_u64(ctx, &device, "bus/pci/devices/%s/device", client->bdf);
	pci_lookup_name(scan->names, client->model, sizeof(client->model),
			PCI_LOOKUP_VENDOR | PCI_LOOKUP_DEVICE, (int)vendor, (int)device);
}

static int add_if_gpu(struct donard_context *ctx, const char *bdf, void *data)
{
	struct gpu_scan *scan = data;
	struct dnd_client *client;
	uint64_t class = 0;

	dnd_sysfs_read_u64(ctx, &class, "bus/pci/devices/%s/class", bdf);
	if (class >> 16 != 0x03)
		return 0;
	client = dnd_client_add(scan->list, DONARD_CLIENT_GPU, bdf, bdf);
	if (!client)
		return -ENOMEM;
	name_gpu(ctx, scan, client);
	return 0;
}

int dnd_scan_gpu(struct donard_context *ctx, struct donard_client_list *list)
{
	struct gpu_scan scan = { .list = list, .names = pci_alloc() };
	int rc;

	if (!scan.names)
		return -ENOMEM;
	/* Only the name database is used: no pci_init(), which may exit(). */
	rc = dnd_for_each_entry(ctx, "bus/pci/devices", add_if_gpu, &scan);
	pci_cleanup(scan.names);
	return rc;
}
