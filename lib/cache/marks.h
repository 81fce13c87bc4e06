/* SPDX-License-Identifier: Apache-2.0 */
/* How far to empty the log once it is fuller than its high mark. */
#ifndef DND_CACHE_MARKS_H
#define DND_CACHE_MARKS_H

#include "cache/log.h"

/*
 * How many of the oldest records, at most @most, must be destaged until no more than @percent of the places and of
 * each window are in use.  It is never more than that, because data that stay may be overwritten in the log, and then
 * need not go to the drive.
 */
uint64_t dnd_cache_records_above(const struct dnd_cache_log *log, unsigned int percent, uint64_t most);

#endif /* DND_CACHE_MARKS_H */
