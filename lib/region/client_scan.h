/* SPDX-License-Identifier: Apache-2.0 */
/* One scanner for each kind of client.  They return 0, -ENOMEM, or another -errno with the context's text set. */
#ifndef DND_CLIENT_SCAN_H
#define DND_CLIENT_SCAN_H

#include "region/client_list.h"

int dnd_scan_nvme(struct donard_context *ctx, struct donard_client_list *list);
int dnd_scan_rdma(struct donard_context *ctx, struct donard_client_list *list);
int dnd_scan_gpu(struct donard_context *ctx, struct donard_client_list *list);

#endif /* DND_CLIENT_SCAN_H */
