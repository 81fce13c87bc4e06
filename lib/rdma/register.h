/* SPDX-License-Identifier: Apache-2.0 */
/* Registers our memory as memory regions of verbs: as a dma-buf, or else by its mapping. */
#ifndef DONARD_RDMA_REGISTER_H
#define DONARD_RDMA_REGISTER_H

#include <infiniband/verbs.h>

#include "rdma/target.h"

struct dnd_registration {
	struct ibv_mr *mr;
	bool dmabuf;
	char reason[DONARD_REASON_BYTES];	/* why it is not registered the other way */
};

/* The access flags of verbs for DONARD_RDMA_* rights, and no others. */
int dnd_access(unsigned int rights);
/* @rights: DONARD_RDMA_*.  The memory must outlive the registration. */
int dnd_register(const struct donard_memory *memory, uint64_t offset, uint64_t length,
		 struct ibv_pd *pd, unsigned int rights, struct dnd_registration *registration);
/* The value by which requests name a byte: its address, or its offset in the dma-buf if the CPU has no mapping. */
uint64_t dnd_registration_address(const struct donard_memory *memory, uint64_t offset);
void dnd_unregister(struct dnd_registration *registration);

static inline enum donard_rdma_method dnd_method(bool dmabuf)
{
	return dmabuf ? DONARD_RDMA_DMABUF : DONARD_RDMA_MAPPED;
}

#endif /* DONARD_RDMA_REGISTER_H */
