/* SPDX-License-Identifier: Apache-2.0 */
/* What a server counts, and how long its acknowledgements took. */
#ifndef DND_CACHE_TALLY_H
#define DND_CACHE_TALLY_H

#include "donard/cache.h"

#define DND_TALLY_PARTS		16	/* of each power of two: percentiles are that exact */
#define DND_TALLY_PLACES	(60 * DND_TALLY_PARTS)

struct dnd_tally {
	struct donard_cache_status counts;	/* of it what only counts up */
	uint64_t places[DND_TALLY_PLACES];
	uint64_t timed, longest_ns;
};

void dnd_tally_time(struct dnd_tally *tally, uint64_t ns);
void dnd_tally_latency(const struct dnd_tally *tally, struct donard_cache_latency *latency);

#endif /* DND_CACHE_TALLY_H */
