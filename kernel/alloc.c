// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
#include "alloc.h"

static u64 count_trailing_zeros(u64 word)
{
	return (u64)__builtin_ctzll(word);
}

/* First granule >= from whose bit, XORed with @flip, is set. */
static u64 next_bit(const struct p2pmem_alloc *a, u64 from, u64 flip)
{
	u64 words = p2pmem_alloc_words(a->granules);
	u64 index = from / 64;
	u64 word;

	if (from >= a->granules)
		return a->granules;
	word = (a->used[index] ^ flip) & (~0ULL << (from % 64));
	while (!word) {
		if (++index >= words)
			return a->granules;
		word = a->used[index] ^ flip;
	}
	from = index * 64 + count_trailing_zeros(word);
	return from < a->granules ? from : a->granules;
}

u64 p2pmem_alloc_next_used(const struct p2pmem_alloc *a, u64 from)
{
	return next_bit(a, from, 0);
}

u64 p2pmem_alloc_next_free(const struct p2pmem_alloc *a, u64 from)
{
	return next_bit(a, from, ~0ULL);
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
			a->used[g / 64] |= mask;
		else
			a->used[g / 64] &= ~mask;
		g += bits;
	}
	if (used)
		a->free -= count;
	else
		a->free += count;
}

static void set_bytes(struct p2pmem_alloc *a, u64 first, u64 count, u32 value)
{
	u64 g;

	for (g = first; g < first + count; g++)
		a->bytes_of[g] = value;
}

void p2pmem_alloc_init(struct p2pmem_alloc *a, u64 *used, u32 *bytes_of,
		       u64 granules)
{
	u64 i;

	a->used = used;
	a->bytes_of = bytes_of;
	a->granules = granules;
	a->free = granules;
	a->hint = 0;
	for (i = 0; i < p2pmem_alloc_words(granules); i++)
		used[i] = 0;
	set_bytes(a, 0, granules, P2PMEM_BYTES_UNKNOWN);
}

/* A run that is looked for, and the best one found. */
struct search {
	u64 want;
	u64 chunk;
	u64 phase;
	u64 best;
	u64 best_len;
};

/* Looks through [from, to), keeps the longest run, stops when it is long enough. */
static void search(const struct p2pmem_alloc *a, u64 from, u64 to,
		   struct search *s)
{
	while (from < to && s->best_len < s->want) {
		u64 start = p2pmem_alloc_next_free(a, from);
		u64 end, len;

		if (start >= to)
			return;
		end = p2pmem_alloc_next_used(a, start);
		start += (s->phase - start) & (s->chunk - 1);
		len = start < end ? end - start : 0;
		if (len > s->want)
			len = s->want;
		if (len > s->best_len) {
			s->best = start;
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
	set_bytes(a, s.best, s.best_len, P2PMEM_BYTES_UNKNOWN);
	a->hint = s.best + s.best_len < a->granules ? s.best + s.best_len : 0;
	*first = s.best;
	return s.best_len;
}

bool p2pmem_alloc_take_at(struct p2pmem_alloc *a, u64 first, u64 count)
{
	if (first > a->granules || count > a->granules - first)
		return false;
	if (p2pmem_alloc_next_used(a, first) < first + count)
		return false;
	mark(a, first, count, true);
	return true;
}

void p2pmem_alloc_admit(struct p2pmem_alloc *a, u64 first, u64 count, u32 uid,
			bool trusted)
{
	u64 g;

	for (g = first; g < first + count; g++)
		a->bytes_of[g] = trusted || a->bytes_of[g] == uid ?
				 P2PMEM_BYTES_CLEAN : P2PMEM_BYTES_UNKNOWN;
}

void p2pmem_alloc_give(struct p2pmem_alloc *a, u64 first, u64 count, u32 uid)
{
	u64 g;

	/* A uid that collides with a marker is not remembered. */
	if (uid == P2PMEM_BYTES_CLEAN)
		uid = P2PMEM_BYTES_UNKNOWN;
	for (g = first; g < first + count; g++)
		if (a->bytes_of[g] == P2PMEM_BYTES_CLEAN)
			a->bytes_of[g] = uid;
	mark(a, first, count, false);
	if (first < a->hint && a->hint == first + count)
		a->hint = first;
}
