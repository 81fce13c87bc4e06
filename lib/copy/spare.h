/* SPDX-License-Identifier: Apache-2.0 */
/* Two spare blocks of a region that are held for a moment; see spare.c. */
#ifndef DONARD_COPY_SPARE_H
#define DONARD_COPY_SPARE_H

#include "region/region.h"

struct dnd_spare {
	uint8_t *blocks;		/* two, or NULL: none now; the caller may set its own for good */
	struct dnd_region region;	/* an open file of its own; fd -1: none are held */
	struct dnd_window window;
	uint8_t *kept;			/* what was in them */
};

#define DND_NO_SPARE	((struct dnd_spare){ .region = { .fd = -1 } })

uint64_t dnd_spare_bytes(uint32_t align);
/* Of the region of that name, unless there are blocks already. -errno without a text. */
int dnd_spare_take(struct donard_context *ctx, struct dnd_spare *spare, const char *region,
		   uint32_t align);
/* What was taken; the caller's own blocks stay. */
void dnd_spare_give(struct dnd_spare *spare);

#endif /* DONARD_COPY_SPARE_H */
