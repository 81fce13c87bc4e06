// SPDX-License-Identifier: Apache-2.0
/* A histogram whose places get wider for longer times, with equally many for each power of two. */
#include "base/base.h"
#include "cache/tally.h"

static size_t place_of(uint64_t ns)
{
	unsigned int power;

	if (ns < DND_TALLY_PARTS)
		return ns;
	power = 63 - (unsigned int)__builtin_clzll(ns);
	return (power - 3) * DND_TALLY_PARTS + (ns >> (power - 4)) % DND_TALLY_PARTS;
}

/* The longest time that falls into a place. */
static uint64_t last_of(size_t place)
{
	size_t power = place / DND_TALLY_PARTS + 3;

	if (place < DND_TALLY_PARTS)
		return place;
	return ((DND_TALLY_PARTS + place % DND_TALLY_PARTS + 1) << (power - 4)) - 1;
}

void dnd_tally_time(struct dnd_tally *tally, uint64_t ns)
{
	size_t place = place_of(ns);

	tally->places[place < DND_TALLY_PLACES ? place : DND_TALLY_PLACES - 1]++;
	tally->timed++;
	tally->longest_ns = dnd_max(tally->longest_ns, ns);
}

/* The time that @of_thousand out of a thousand requests did not exceed. */
static uint64_t percentile(const struct dnd_tally *tally, unsigned int of_thousand)
{
	uint64_t wanted = (tally->timed * of_thousand + 999) / 1000, seen = 0;

	for (size_t place = 0; place < DND_TALLY_PLACES; place++) {
		seen += tally->places[place];
		if (seen && seen >= wanted)
			return dnd_min(last_of(place), tally->longest_ns);
	}
	return tally->longest_ns;
}

void dnd_tally_latency(const struct dnd_tally *tally, struct donard_cache_latency *latency)
{
	*latency = (struct donard_cache_latency){
		.count = tally->timed,
		.p50_ns = percentile(tally, 500),
		.p90_ns = percentile(tally, 900),
		.p99_ns = percentile(tally, 990),
		.p999_ns = percentile(tally, 999),
		.max_ns = tally->longest_ns,
	};
}
