/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs devices and their ports, and what to do when there is none. */
#ifndef DONARD_RDMA_DEVICE_H
#define DONARD_RDMA_DEVICE_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "base/base.h"
#include "donard/rdma.h"

/* Fail with a text that lists the devices there are, or the addresses that they have. */
int dnd_no_device(struct donard_context *ctx, const char *name);
int dnd_no_device_at(struct donard_context *ctx, const char *address, bool loopback);
/* The failure that the connection manager cannot be used for @address. */
int dnd_no_manager(struct donard_context *ctx, const char *address, bool loopback, int error_number);
int dnd_device_check_port(struct donard_context *ctx, struct ibv_context *verbs, uint8_t port);
/* What is sent on this connection stays on its device; iWARP, which has no GIDs, counts as local. */
bool dnd_device_route_is_local(struct rdma_cm_id *id);
/* A soft device (rxe, siw): the CPU copies what it writes, so that nothing stays behind in a device. */
bool dnd_device_copies_by_cpu(struct ibv_context *verbs);
enum donard_rdma_transport dnd_device_transport(struct ibv_context *verbs, uint8_t port);

#endif /* DONARD_RDMA_DEVICE_H */
