/* SPDX-License-Identifier: Apache-2.0 */
/* How far to empty the log once it is fuller than its high mark. */
#ifndef DND_CACHE_MARKS_H
#define DND_CACHE_MARKS_H

#include "cache/log.h"

/*
 * How many records from the tail on, and @most at most, have to go until no more than @percent of the places
 * and of each window are in use.  No more than these, because data that stay longer may be overwritten, and
 * then never go to the drive.
 */
uint64_t dnd_cache_records_above(const struct dnd_cache_log *log, unsigned int percent, uint64_t most);

#endif /* DND_CACHE_MARKS_H */
