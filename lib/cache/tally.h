/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of a server, and a histogram of the times that its acknowledgements took. */
#ifndef DND_CACHE_TALLY_H
#define DND_CACHE_TALLY_H

#include "donard/cache.h"

#define DND_TALLY_PARTS		16	/* places for each power of two: the resolution of percentiles */
#define DND_TALLY_PLACES	(60 * DND_TALLY_PARTS)

struct dnd_tally {
	struct donard_cache_status counts;	/* only its counters are used */
	uint64_t places[DND_TALLY_PLACES];
	uint64_t timed, longest_ns;
};

void dnd_tally_time(struct dnd_tally *tally, uint64_t ns);
void dnd_tally_latency(const struct dnd_tally *tally, struct donard_cache_latency *latency);

#endif /* DND_CACHE_TALLY_H */
