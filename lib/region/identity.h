/* SPDX-License-Identifier: Apache-2.0 */
/* What identifies a PCI function after a change of its address: its serial number, and where it sits. */
#ifndef DND_REGION_IDENTITY_H
#define DND_REGION_IDENTITY_H

#include "base/base.h"

struct dnd_identity {
	char driver[64];
	char model[64];		/* that of an NVMe controller, or "" */
	char serial[64];
	char path[160];
	char slot[32];
};

/* Members that cannot be read are "". */
void dnd_identity_read(struct donard_context *ctx, const char *bdf,
		       struct dnd_identity *identity);
/*
 * Make the names of a memory of the function; @suffix says which memory ("cmb", "bar2").
 * They hold only characters that udev allows in a link.
 */
void dnd_identity_by_id(const struct dnd_identity *identity, const char *bdf, const char *suffix,
			char *text, size_t text_bytes);
void dnd_identity_by_path(const struct dnd_identity *identity, const char *suffix, char *text,
			  size_t text_bytes);

#endif /* DND_REGION_IDENTITY_H */
