// SPDX-License-Identifier: Apache-2.0
/* Assembles the list of clients, by one scanner for each kind of device. */
#include <stdlib.h>

#include "region/client_scan.h"

DND_PUBLIC int donard_client_list(struct donard_context *ctx, struct donard_client_list **out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_client_list *list = calloc(1, sizeof(*list));
	unsigned int unread = dnd_sysfs_unread(ctx);
	int rc;

	if (!list)
		return dnd_fail_memory(ctx);
	rc = dnd_scan_nvme(ctx, list);
	if (!rc)
		rc = dnd_scan_rdma(ctx, list);
	if (!rc)
		rc = dnd_scan_gpu(ctx, list);
	if (rc == -ENOMEM)
		dnd_fail_memory(ctx);
	rc = dnd_sysfs_check(ctx, unread, rc);
	if (rc) {
		donard_client_list_free(list);
		return rc;
	}
	dnd_handle_made(DND_A_CLIENT_LIST, list, ctx);
	*out = list;
	return (int)list->count;
}
