/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that RDMA reads and writes: a range of a region, or plain memory. */
#ifndef DONARD_RDMA_TARGET_H
#define DONARD_RDMA_TARGET_H

#include "rdma/protocol.h"
#include "region/region.h"

struct dnd_target {
	char name[DND_TARGET_BYTES];	/* "p2pmem0", "dram" */
	struct dnd_region region;	/* fd is -1 for plain memory */
	struct dnd_window window;
	uint8_t *data;
	uint64_t offset;		/* in the region */
	uint64_t length;
};

/* @length 0: to the end of a region; @dram_length of plain memory. */
int dnd_target_open(struct donard_context *ctx, const char *text, uint64_t length,
		    uint64_t dram_length, struct dnd_target *target);
void dnd_target_close(struct dnd_target *target);

static inline bool dnd_target_is_region(const struct dnd_target *target)
{
	return target->region.fd >= 0;
}

static inline bool dnd_target_persistent(const struct dnd_target *target)
{
	return dnd_target_is_region(target) && dnd_region_persistent(&target->region);
}

/* Somebody removes the region, or its device went. */
bool dnd_target_gone(const struct dnd_target *target);
int dnd_target_gone_text(struct donard_context *ctx, const struct dnd_target *target);

#endif /* DONARD_RDMA_TARGET_H */
