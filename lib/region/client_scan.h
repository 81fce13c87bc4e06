/* SPDX-License-Identifier: Apache-2.0 */
/* One scanner a kind of client; they return 0 or -errno with the context's text set. */
#ifndef DND_CLIENT_SCAN_H
#define DND_CLIENT_SCAN_H

#include "region/client_list.h"

int dnd_scan_nvme(struct donard_context *ctx, struct donard_client_list *list);
int dnd_scan_rdma(struct donard_context *ctx, struct donard_client_list *list);
int dnd_scan_gpu(struct donard_context *ctx, struct donard_client_list *list);

#endif /* DND_CLIENT_SCAN_H */
