/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the page cache holds of a file or block device.  Looking changes nothing.
 * The kernel answers only a user that may write the file or owns it.
 */
#ifndef DND_RESIDENCY_H
#define DND_RESIDENCY_H

#include "base/base.h"

/* How many pages of a range were in the page cache at one moment, counted piece by piece. */
struct dnd_residency {
	uint64_t start, bytes, piece_bytes;	/* whole pages */
	size_t pieces;
	uint32_t *pages;	/* of each piece; NULL: not looked at */
};

/* How many pages of the range are cached; -errno if that cannot be seen. */
int64_t dnd_residency_pages(int fd, uint64_t start, uint64_t bytes);
/* Writes back and drops the range; pages that are in use stay. */
void dnd_residency_drop(int fd, uint64_t start, uint64_t bytes);
/* As if nothing of the range were cached: for a range that is to be written directly, which leaves none of its pages. */
int dnd_residency_none(uint64_t start, uint64_t bytes, struct dnd_residency *before);
int dnd_residency_take(int fd, uint64_t start, uint64_t bytes, struct dnd_residency *before);
/* Bytes that came into the cache since.  Pages that left it in other pieces do not offset them. */
int64_t dnd_residency_grown(int fd, const struct dnd_residency *before);
void dnd_residency_free(struct dnd_residency *before);

#endif /* DND_RESIDENCY_H */
