// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
#include "alloc.h"

static u64 words_of(u64 bits)
{
	return (bits + 63) / 64;
}

static u64 count_trailing_zeros(u64 word)
{
	return (u64)__builtin_ctzll(word);
}

/* First bit in [from, end) that is set once XORed with @flip, or @end. */
static u64 next_bit(const u64 *bits, u64 from, u64 end, u64 flip)
{
	u64 index = from / 64;
	u64 word;

	if (from >= end)
		return end;
	word = (bits[index] ^ flip) & (~0ULL << (from % 64));
	while (!word) {
		if (++index >= words_of(end))
			return end;
		word = bits[index] ^ flip;
	}
	from = index * 64 + count_trailing_zeros(word);
	return from < end ? from : end;
}

/* The first owned granule in [from, end), or @end: small ranges cost little. */
static u64 next_used(const struct p2pmem_alloc *a, u64 from, u64 end)
{
	return next_bit(a->used, from, end, 0);
}

u64 p2pmem_alloc_next_used(const struct p2pmem_alloc *a, u64 from)
{
	return next_used(a, from, a->granules);
}

/* Words without a free granule are stepped over 64 at a time. */
u64 p2pmem_alloc_next_free(const struct p2pmem_alloc *a, u64 from)
{
	u64 words = words_of(a->granules);
	u64 end = (from / 64 + 1) * 64;

	if (end > a->granules)
		end = a->granules;
	from = next_bit(a->used, from, end, ~0ULL);
	if (from < end || end >= a->granules)
		return from < a->granules ? from : a->granules;
	from = 64 * next_bit(a->full, end / 64, words, ~0ULL);
	return next_bit(a->used, from, a->granules, ~0ULL);
}

static void mark_word(struct p2pmem_alloc *a, u64 index, u64 mask, bool used)
{
	u64 bit = 1ULL << (index % 64);

	if (used)
		a->used[index] |= mask;
	else
		a->used[index] &= ~mask;
	if (~a->used[index])
		a->full[index / 64] &= ~bit;
	else
		a->full[index / 64] |= bit;
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
		mark_word(a, g / 64, mask, used);
		g += bits;
	}
	if (used)
		a->free -= count;
	else
		a->free += count;
}

void p2pmem_alloc_init(struct p2pmem_alloc *a, u64 *used, u32 *bytes,
		       u64 granules)
{
	u64 i;

	a->used = used;
	a->full = used + words_of(granules);
	a->granules = granules;
	a->free = granules;
	a->hint = 0;
	for (i = 0; i < p2pmem_alloc_words(granules); i++)
		used[i] = 0;
	p2pmem_bytes_init(&a->bytes, bytes, granules);
}

/* A run that is looked for, and the best one found. */
struct search {
	u64 want;
	u64 chunk;
	u64 phase;
	u64 best;
	u64 best_len;
};

/*
 * Looks through [from, to), keeps the longest run, stops when it is long enough.
 * A run is followed no further than is wanted of it: the cost of one granule
 * must not depend on how much beside it is free.
 */
static void search(const struct p2pmem_alloc *a, u64 from, u64 to,
		   struct search *s)
{
	while (from < to && s->best_len < s->want) {
		u64 start = p2pmem_alloc_next_free(a, from);
		u64 at = start + ((s->phase - start) & (s->chunk - 1));
		u64 end, len;

		if (start >= to)
			return;
		end = a->granules;
		if (at < end && end - at > s->want)
			end = at + s->want;
		end = next_used(a, start, end);
		len = at < end ? end - at : 0;
		if (len > s->best_len) {
			s->best = at;
			s->best_len = len;
		}
		from = end;
	}
}

static void search_all(const struct p2pmem_alloc *a, struct search *s)
{
	search(a, a->hint, a->granules, s);
	search(a, 0, a->hint, s);
}

u64 p2pmem_alloc_take(struct p2pmem_alloc *a, u64 want, u64 chunk, u64 phase,
		      u64 *first)
{
	struct search s = { .want = want, .chunk = chunk, .phase = phase };

	if (want >= chunk)
		search_all(a, &s);
	if (s.best_len < want) {
		s.chunk = 1;
		s.best_len = 0;
		search_all(a, &s);
	}
	if (!s.best_len)
		return 0;
	mark(a, s.best, s.best_len, true);
	p2pmem_bytes_forget(&a->bytes, s.best, s.best_len);
	a->hint = s.best + s.best_len < a->granules ? s.best + s.best_len : 0;
	*first = s.best;
	return s.best_len;
}

bool p2pmem_alloc_take_at(struct p2pmem_alloc *a, u64 first, u64 count)
{
	if (first > a->granules || count > a->granules - first)
		return false;
	if (next_used(a, first, first + count) < first + count)
		return false;
	mark(a, first, count, true);
	return true;
}

void p2pmem_alloc_give(struct p2pmem_alloc *a, u64 first, u64 count, u32 uid)
{
	p2pmem_bytes_keep(&a->bytes, first, count, uid);
	mark(a, first, count, false);
	if (first < a->hint && a->hint == first + count)
		a->hint = first;
}
