/* SPDX-License-Identifier: Apache-2.0 */
/* Finds logs in other regions that name the same drive. */
#ifndef DND_CACHE_OTHERS_H
#define DND_CACHE_OTHERS_H

#include "cache/log.h"

/*
 * Returns 1 if @store holds a log with records for the drive @drive_id, for something on it (a partition, a file), or for
 * what it lies on.  Returns 1 also if such a log cannot be opened, and so may have some; else 0.  Returns -errno, without a
 * text, if nobody can tell, because the store cannot be read or a resource is lacking.  Writes nothing.
 *
 * Does not see that a device-mapper or md device lies on a drive: each such device has a name of its own, and may be inactive
 * now.
 */
int dnd_cache_claims_drive(struct donard_context *ctx, struct dnd_cache_store *store, const char *drive_id);

/*
 * Refuses a drive if a persistent region other than @nvram holds records for it: if that log were served again, they would
 * overwrite newer bytes.  Skips a region that somebody else holds, because a server that holds a region holds its drive, too.
 * Skips a region that this user may not open: it may hold anything, and if it counted, no server could run beside it.  Skips a
 * region that has no node here, is being removed, or is a pmem device.  Fails with a text if any other region cannot be opened
 * or read, since that error may be transient.
 */
int dnd_cache_check_others(struct donard_context *ctx, const char *nvram, const char *drive_id);

#endif /* DND_CACHE_OTHERS_H */
