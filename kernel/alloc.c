// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
#include "alloc.h"

static u64 count_trailing_zeros(u64 word)
{
	return (u64)__builtin_ctzll(word);
}

/* The first bit in [from, end) that is set after an XOR with @flip, or @end. */
static u64 next_bit(const u64 *bits, u64 from, u64 end, u64 flip)
{
	u64 index = from / 64;
	u64 word;

	if (from >= end)
		return end;
	word = (bits[index] ^ flip) & (~0ULL << (from % 64));
	while (!word) {
		if (++index >= p2pmem_runs_words(end))
			return end;
		word = bits[index] ^ flip;
	}
	from = index * 64 + count_trailing_zeros(word);
	return from < end ? from : end;
}

u64 p2pmem_alloc_next_used(const struct p2pmem_alloc *a, u64 from)
{
	return next_bit(a->runs.used, from, a->granules, 0);
}

u64 p2pmem_alloc_next_free(const struct p2pmem_alloc *a, u64 from)
{
	return next_bit(a->runs.used, from, a->granules, ~0ULL);
}

static void mark(struct p2pmem_alloc *a, u64 first, u64 count, bool used)
{
	u64 g = first, end = first + count;

	while (g < end) {
		u64 bits = 64 - g % 64;
		u64 mask;

		if (bits > end - g)
			bits = end - g;
		mask = (bits == 64 ? ~0ULL : (1ULL << bits) - 1) << (g % 64);
		if (used)
			a->runs.used[g / 64] |= mask;
		else
			a->runs.used[g / 64] &= ~mask;
		g += bits;
	}
	p2pmem_runs_note(&a->runs, first, count);
	if (used)
		a->free -= count;
	else
		a->free += count;
}

void p2pmem_alloc_init(struct p2pmem_alloc *a, u64 *used, u32 *bytes,
		       struct p2pmem_runs_node *nodes, u64 granules, u64 unit)
{
	a->granules = granules;
	a->free = granules;
	p2pmem_runs_init(&a->runs, used, nodes, granules);
	p2pmem_bytes_init(&a->bytes, bytes, granules, unit);
}

/* The next place at or after @at that agrees with @phase modulo @chunk. */
static u64 in_phase(u64 at, u64 chunk, u64 phase)
{
	return at + ((phase - at) & (chunk - 1));
}

/*
 * Returns where @want free granules begin in phase, or @a->granules.  There may be many
 * runs without such a place.  So after P2PMEM_ALLOC_TRIES runs it only looks for a run
 * that is long enough to contain one wherever the run begins.
 */
static u64 find_in_phase(struct p2pmem_alloc *a, u64 want, u64 chunk, u64 phase)
{
	u64 at = in_phase(0, chunk, phase), found;
	int tries;

	for (tries = 0; tries < P2PMEM_ALLOC_TRIES; tries++) {
		found = p2pmem_runs_find(&a->runs, at, want);
		if (found == at || found == a->granules)
			return found;
		at = in_phase(found, chunk, phase);
	}
	found = p2pmem_runs_find(&a->runs, at, want + chunk - 1);
	return found == a->granules ? found : in_phase(found, chunk, phase);
}

static u64 find(struct p2pmem_alloc *a, u64 want, u64 chunk, u64 phase)
{
	u64 found = a->granules;

	if (want >= chunk)
		found = find_in_phase(a, want, chunk, phase);
	if (found == a->granules)
		found = p2pmem_runs_find(&a->runs, 0, want);
	return found;
}

u64 p2pmem_alloc_take(struct p2pmem_alloc *a, u64 want, u64 chunk, u64 phase,
		      u64 *first)
{
	u64 longest = p2pmem_runs_longest(&a->runs);

	if (!longest || !want)
		return 0;
	if (want > longest) {
		want = longest;
		chunk = 1;
	}
	*first = find(a, want, chunk, phase);
	mark(a, *first, want, true);
	return want;
}

bool p2pmem_alloc_take_at(struct p2pmem_alloc *a, u64 first, u64 count)
{
	if (first > a->granules || count > a->granules - first)
		return false;
	if (!count)
		return true;
	if (p2pmem_runs_find(&a->runs, first, count) != first)
		return false;
	mark(a, first, count, true);
	return true;
}

void p2pmem_alloc_give(struct p2pmem_alloc *a, u64 first, u64 count, u32 uid)
{
	p2pmem_bytes_keep(&a->bytes, first, count, uid);
	mark(a, first, count, false);
}
