/* SPDX-License-Identifier: Apache-2.0 */
/* Logs in other regions that name the same drive. */
#ifndef DND_CACHE_OTHERS_H
#define DND_CACHE_OTHERS_H

#include "cache/log.h"

/*
 * Whether a log lies in @store that has records for the drive @drive_id, or may have: 1, or 0.  A log that
 * is damaged may have any.  Writes nothing.
 */
int dnd_cache_claims_drive(struct donard_context *ctx, struct dnd_cache_store *store, const char *drive_id);

/*
 * Refuses a drive that records in another persistent region than @nvram belong to: once that log is served
 * again they would go over newer bytes.  Regions that somebody else holds or that may not be opened are passed
 * by: a server that has one has its drive, too.
 */
int dnd_cache_check_others(struct donard_context *ctx, const char *nvram, const char *drive_id);

#endif /* DND_CACHE_OTHERS_H */
