// SPDX-License-Identifier: Apache-2.0
/*
 * NVMe controllers.  A namespace is a block device below its controller, or,
 * with native multipath, below the subsystem; then the controller holds only
 * the path "nvme0c0n1" of the head "nvme0n1".
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "region/client_scan.h"

/* "nvme0n1" -> 1; "nvme0c1n2" -> 2, and *is_path is true; else 0 */
static int namespace_number(const char *entry, bool *is_path)
{
	unsigned int controller, path, number;
	int used = 0;

	*is_path = false;
	if (sscanf(entry, "nvme%un%u%n", &controller, &number, &used) == 2 && !entry[used])
		return (int)number;
	*is_path = true;
	if (sscanf(entry, "nvme%uc%un%u%n", &controller, &path, &number, &used) == 3 &&
	    !entry[used])
		return (int)number;
	return 0;
}

static int add_entry(struct donard_context *ctx, const char *entry, void *data)
{
	unsigned int subsystem, number;
	bool is_path;
	char head[64];

	(void)ctx;
	number = (unsigned int)namespace_number(entry, &is_path);
	if (!number)
		return 0;
	snprintf(head, sizeof(head), "%s", entry);
	if (is_path && sscanf(entry, "nvme%u", &subsystem) == 1)
		snprintf(head, sizeof(head), "nvme%un%u", subsystem, number);
	return dnd_client_list_add_namespace(data, head);
}

static int add_controller(struct donard_context *ctx, const char *entry, void *data)
{
	char transport[16], bdf[64], folder[PATH_MAX];
	struct dnd_dma_client *client;

	dnd_sysfs_read(ctx, transport, sizeof(transport), "class/nvme/%s/transport", entry);
	if (strcmp(transport, "pcie"))
		return 0;
	dnd_sysfs_read(ctx, bdf, sizeof(bdf), "class/nvme/%s/address", entry);
	if (!dnd_is_bdf(bdf))	/* the drive has gone meanwhile */
		return 0;
	client = dnd_client_list_add(data, DONARD_CLIENT_NVME, entry, bdf);
	if (!client)
		return -ENOMEM;
	dnd_sysfs_read(ctx, client->model, sizeof(client->model), "class/nvme/%s/model", entry);
	dnd_sysfs_read(ctx, client->serial, sizeof(client->serial), "class/nvme/%s/serial",
		       entry);
	snprintf(folder, sizeof(folder), "class/nvme/%s", entry);
	return dnd_for_each_entry(ctx, folder, add_entry, client);
}

int dnd_scan_nvme(struct donard_context *ctx, struct donard_client_list *list)
{
	return dnd_for_each_entry(ctx, "class/nvme", add_controller, list);
}
