/* SPDX-License-Identifier: Apache-2.0 */
/* Routes: the kernel's prediction and what the policy makes of it. */
#ifndef DONARD_ROUTE_H
#define DONARD_ROUTE_H

#include "region/region.h"

enum dnd_verdict {
	DND_ROUTE_GO,
	DND_ROUTE_UNLISTED,	/* only if the caller wants to try */
	DND_ROUTE_REFUSED,
};

int dnd_route_probe(struct donard_context *ctx, const struct dnd_region *region,
		    const char *client_bdf, struct donard_route *route);
enum dnd_verdict dnd_route_verdict(const struct donard_route *route);
/* 0 refused .. 4 best */
int dnd_route_rank(const struct donard_route *route);

#endif /* DONARD_ROUTE_H */
