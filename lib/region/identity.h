/* SPDX-License-Identifier: Apache-2.0 */
/* How a PCI function is known again: what it carries, and where it sits. */
#ifndef DND_REGION_IDENTITY_H
#define DND_REGION_IDENTITY_H

#include "base/base.h"

struct dnd_identity {
	char driver[64];
	char model[64];		/* of an NVMe controller, or "" */
	char serial[64];
	char path[160];
	char slot[32];
};

/* What cannot be read stays "". */
void dnd_identity_read(struct donard_context *ctx, const char *bdf,
		       struct dnd_identity *identity);
/*
 * The names of memory of the function: @suffix says which ("cmb", "bar2").  Only
 * characters that udev takes in a link.
 */
void dnd_identity_by_id(const struct dnd_identity *identity, const char *bdf, const char *suffix,
			char *text, size_t text_bytes);
void dnd_identity_by_path(const struct dnd_identity *identity, const char *suffix, char *text,
			  size_t text_bytes);

#endif /* DND_REGION_IDENTITY_H */
