/* SPDX-License-Identifier: Apache-2.0 */
/* Finds logs in other regions that name the same drive. */
#ifndef DND_CACHE_OTHERS_H
#define DND_CACHE_OTHERS_H

#include "cache/log.h"

/*
 * Returns 1 if @store holds a log with records for the drive @drive_id, for what lies on it (a partition, a file) or for
 * what it lies on, or such a log that cannot be read and so may have some; else 0.  Returns -errno, without a text, if
 * nobody can tell, because no superblock can be read or memory is short.  Writes nothing.
 *
 * Does not see that a device-mapper or md device lies on a drive: each has a name of its own, and the one that a log names may
 * be inactive now.
 */
int dnd_cache_claims_drive(struct donard_context *ctx, struct dnd_cache_store *store, const char *drive_id);

/*
 * Refuses a drive if another persistent region than @nvram holds records for it: when that log is served again,
 * they would overwrite newer bytes.  Skips regions that somebody else holds: a server that holds a region holds its drive,
 * too.  Skips regions that this user may not open: they may hold anything, and a server that refused each of them could not
 * run beside them.  Also skips regions that have no node here, are being removed, or are a pmem device.  Fails with a text if
 * any other region cannot be opened or read, since the cause may be temporary.
 */
int dnd_cache_check_others(struct donard_context *ctx, const char *nvram, const char *drive_id);

#endif /* DND_CACHE_OTHERS_H */
