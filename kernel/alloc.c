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

/*
 * Looks through [from, to) for a run of @want; keeps the longest in
 * *best / *best_len and stops at the first that is long enough.
 */
static void search(const struct p2pmem_alloc *a, u64 from, u64 to, u64 want,
		   u64 *best, u64 *best_len)
{
	while (from < to && *best_len < want) {
		u64 start = p2pmem_alloc_next_free(a, from);
		u64 end, len;

		if (start >= to)
			return;
		end = p2pmem_alloc_next_used(a, start);
		len = end - start;
		if (len > want)
			len = want;
		if (len > *best_len) {
			*best = start;
			*best_len = len;
		}
		from = end;
	}
}

u64 p2pmem_alloc_take(struct p2pmem_alloc *a, u64 want, u64 *first)
{
	u64 len = 0;

	search(a, a->hint, a->granules, want, first, &len);
	search(a, 0, a->hint, want, first, &len);
	if (!len)
		return 0;
	mark(a, *first, len, true);
	set_bytes(a, *first, len, P2PMEM_BYTES_UNKNOWN);
	a->hint = *first + len < a->granules ? *first + len : 0;
	return len;
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
