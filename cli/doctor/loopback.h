/* SPDX-License-Identifier: Apache-2.0 */
/* An RDMA NIC that sends to itself: two queue pairs of one device, connected to each other. Nobody else can connect to them. */
#ifndef DONARD_DOCTOR_LOOPBACK_H
#define DONARD_DOCTOR_LOOPBACK_H

#include <stdbool.h>

#include <infiniband/verbs.h>

#include "donard/rdma.h"

/* Memory that the NIC may read and write; all zero means none. */
struct loopback_place {
	struct donard_rdma_registration *registration;
	uint64_t address;
	uint32_t local_key, remote_key;
};

/* All zero means that it is closed. */
struct loopback {
	struct donard_context *ctx;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_port_attr port;
	uint8_t port_number, gid_index;
	union ibv_gid gid;
	size_t bytes;			/* of a transfer */
	struct donard_memory *dram;	/* of twice as many bytes, registered as @near */
	struct loopback_place near;
	uint8_t *moved;			/* its first half: the bytes to send, or those that came */
	bool posted;			/* the device took the last request */
};

/* Each returns 0, or -errno with the context's failure. */

/* Opens the device at its active port, and moves @bytes from DRAM to DRAM: a failure then has nothing to do with a region. */
int loopback_open(struct loopback *loopback, struct donard_context *ctx, const char *device, size_t bytes);
/* Call it after all places were deregistered. */
void loopback_close(struct loopback *loopback);
/* @memory has as many bytes as a transfer. Fails as donard_rdma_register() does. */
int loopback_register(struct loopback *loopback, struct donard_memory *memory, struct loopback_place *place);
void loopback_deregister(struct loopback_place *place);
/* An RDMA WRITE of the bytes in loopback->moved; an RDMA READ into it.  The NIC is idle when they return. */
int loopback_write(struct loopback *loopback, const struct loopback_place *to);
int loopback_read(struct loopback *loopback, const struct loopback_place *from);

#endif /* DONARD_DOCTOR_LOOPBACK_H */
