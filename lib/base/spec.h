/* SPDX-License-Identifier: Apache-2.0 */
/* What SRC and DST may look like on a command line; pure text. */
#ifndef DONARD_SPEC_H
#define DONARD_SPEC_H

#include "base/base.h"

struct dnd_spec {
	bool is_region;
	char region[P2PMEM_NAME_BYTES];
	uint64_t offset_bytes;	/* the "+64M" of a region; else 0 */
	const char *path;	/* borrowed from the argument */
};

int dnd_spec_parse(struct donard_context *ctx, const char *text, struct dnd_spec *spec);
/* "p2pmem0" of "p2pmem0" or "/dev/p2pmem0", where a whole region is meant. */
int dnd_region_name(struct donard_context *ctx, const char *text, char name[P2PMEM_NAME_BYTES]);

#endif /* DONARD_SPEC_H */
