/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs devices and their ports, and the failures when there is none. */
#ifndef DONARD_RDMA_DEVICE_H
#define DONARD_RDMA_DEVICE_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "base/base.h"
#include "donard/rdma.h"

/* Each fails with a text that lists the present devices, or their addresses. */
int dnd_no_device(struct donard_context *ctx, const char *name);
/* @listen_option: the option by which a server gets its address, if @address is a client's and loopback; else NULL */
int dnd_no_device_at(struct donard_context *ctx, const char *address, const char *listen_option);
/* Fails because the connection manager cannot be used for @address; @listen_option as above. */
int dnd_no_manager(struct donard_context *ctx, const char *address, const char *listen_option, int error_number);
int dnd_device_check_port(struct donard_context *ctx, struct ibv_context *verbs, uint8_t port);
/* Does this connection lead back to its own device?  iWARP has no GIDs, and counts as local. */
bool dnd_device_route_is_local(struct rdma_cm_id *id);
/* Is this a soft device (rxe, siw)?  There the CPU copies the data, so that no device holds bytes back. */
bool dnd_device_copies_by_cpu(struct ibv_context *verbs);
/*
 * The rights with which memory must be registered so that this device can READ into it.  Over iWARP the peer answers a READ
 * by a write to that memory, so the peer needs the right to write (RFC 5040, 5.1; drivers/infiniband/core/rw.c of the kernel
 * does the same).
 */
unsigned int dnd_device_sink_rights(const struct ibv_context *verbs);
enum donard_rdma_transport dnd_device_transport(struct ibv_context *verbs, uint8_t port);

#endif /* DONARD_RDMA_DEVICE_H */
