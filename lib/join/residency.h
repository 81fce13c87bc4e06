/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the page cache holds of a file or block device.  Looking changes
 * nothing, and needs the right to write the file or to own it: to others the
 * kernel does not say.
 */
#ifndef DND_RESIDENCY_H
#define DND_RESIDENCY_H

#include "base/base.h"

/* Whose pages were in the page cache at one moment, counted piece by piece. */
struct dnd_residency {
	uint64_t start, bytes, piece_bytes;	/* whole pages */
	size_t pieces;
	uint32_t *pages;	/* of each piece; NULL: not looked at */
};

/* How many pages of the range are there; -errno where that cannot be seen. */
int64_t dnd_residency_pages(int fd, uint64_t start, uint64_t bytes);
/* Has the range written back and dropped; pages that are in use stay. */
void dnd_residency_drop(int fd, uint64_t start, uint64_t bytes);
int dnd_residency_take(int fd, uint64_t start, uint64_t bytes, struct dnd_residency *before);
/* Bytes that came since; pages that went elsewhere in the range do not offset them. */
int64_t dnd_residency_grown(int fd, const struct dnd_residency *before);
void dnd_residency_free(struct dnd_residency *before);

#endif /* DND_RESIDENCY_H */
