/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that trims the drive.  A trim takes as long as the drive likes, and not all kernel versions have an
 * asynchronous call for it.
 */
#ifndef DND_CACHE_TRIMMER_H
#define DND_CACHE_TRIMMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "donard/donard.h"

struct dnd_cache_run;
struct dnd_trimmer;

/* @fd, of a regular file or of a block device, stays the caller's, open until dnd_trimmer_close(). */
int dnd_trimmer_open(struct donard_context *ctx, int fd, bool regular, struct dnd_trimmer **out);
/* Waits for the part of a trim that the drive has begun, and drops the rest.  @trimmer may be NULL. */
void dnd_trimmer_close(struct dnd_trimmer *trimmer);

/* Begins to trim @count runs of the drive, which stay the caller's.  All that was begun before is done. */
void dnd_trimmer_begin(struct dnd_trimmer *trimmer, const struct dnd_cache_run *runs, size_t count);
/* Are all done?  Once they are, *@ignored says how many the drive could not do, or failed. */
bool dnd_trimmer_done(struct dnd_trimmer *trimmer, uint64_t *ignored);
/* Readable once all are done, until dnd_trimmer_done() has returned true. */
int dnd_trimmer_descriptor(const struct dnd_trimmer *trimmer);

#endif /* DND_CACHE_TRIMMER_H */
