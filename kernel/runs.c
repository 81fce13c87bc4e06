// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
#include "runs.h"

#define WORD_BITS	64ULL

static u64 free_at_head(u64 used)
{
	return used ? (u64)__builtin_ctzll(used) : WORD_BITS;
}

static u64 free_at_tail(u64 used)
{
	return used ? (u64)__builtin_clzll(used) : WORD_BITS;
}

static u64 longest_in_word(u64 used)
{
	u64 ends = ~used, length = 0;

	while (ends) {
		ends &= ends << 1;
		length++;
	}
	return length;
}

/* Where @want free bits begin in a word, or WORD_BITS. */
static u64 find_in_word(u64 used, u64 want)
{
	u64 begins = ~used;

	if (want > WORD_BITS)
		return WORD_BITS;
	while (want > 1) {
		u64 step = want / 2;

		begins &= begins >> step;
		want -= step;
	}
	return begins ? (u64)__builtin_ctzll(begins) : WORD_BITS;
}

static void note_leaf(struct p2pmem_runs *t, u64 word)
{
	u64 used = word < p2pmem_runs_words(t->granules) ? t->used[word] : ~0ULL;
	struct p2pmem_runs_node *n = &t->nodes[t->leaves + word];

	n->head = (u32)free_at_head(used);
	n->tail = (u32)free_at_tail(used);
	n->longest = (u32)longest_in_word(used);
	t->visits++;
}

/* @half: how many granules each of the two nodes below @at spans */
static void note_node(struct p2pmem_runs *t, u64 at, u64 half)
{
	const struct p2pmem_runs_node *left = &t->nodes[2 * at], *right = left + 1;
	struct p2pmem_runs_node *n = &t->nodes[at];

	n->head = left->head + (left->head == half ? right->head : 0);
	n->tail = right->tail + (right->tail == half ? left->tail : 0);
	n->longest = left->tail + right->head;
	if (n->longest < left->longest)
		n->longest = left->longest;
	if (n->longest < right->longest)
		n->longest = right->longest;
	t->visits++;
}

static void note_words(struct p2pmem_runs *t, u64 from, u64 to)
{
	u64 half = WORD_BITS, at;

	for (at = from; at <= to; at++)
		note_leaf(t, at);
	from += t->leaves;
	to += t->leaves;
	while (to > 1) {
		from /= 2;
		to /= 2;
		for (at = from; at <= to; at++)
			note_node(t, at, half);
		half *= 2;
	}
}

void p2pmem_runs_init(struct p2pmem_runs *t, u64 *used,
		      struct p2pmem_runs_node *nodes, u64 granules)
{
	u64 words = p2pmem_runs_words(granules), i;

	t->used = used;
	t->nodes = nodes;
	t->granules = granules;
	t->leaves = p2pmem_runs_nodes(granules) / 2;
	t->visits = 0;
	if (!granules)
		return;
	for (i = 0; i < words; i++)
		used[i] = 0;
	if (granules % WORD_BITS)
		used[words - 1] = ~0ULL << (granules % WORD_BITS);
	note_words(t, 0, t->leaves - 1);
}

void p2pmem_runs_note(struct p2pmem_runs *t, u64 first, u64 count)
{
	note_words(t, first / WORD_BITS, (first + count - 1) / WORD_BITS);
}

u64 p2pmem_runs_longest(const struct p2pmem_runs *t)
{
	return t->nodes[1].longest;
}

/* The first run of @want granules below node @at, which has one and spans @span granules. */
static u64 find_below(struct p2pmem_runs *t, u64 at, u64 span, u64 want)
{
	u64 word;

	while (at < t->leaves) {
		const struct p2pmem_runs_node *left = &t->nodes[2 * at];

		t->visits++;
		span /= 2;
		at *= 2;
		if (left->longest >= want)
			continue;
		at++;
		if (left->tail + left[1].head >= want)
			return (at * span - t->leaves * WORD_BITS) - left->tail;
	}
	word = at - t->leaves;
	return word * WORD_BITS + find_in_word(t->used[word], want);
}

/*
 * Goes from the word of @from to the right, from node to node, each as large as
 * possible.  carry is how many granules are free right before the node.
 */
u64 p2pmem_runs_find(struct p2pmem_runs *t, u64 from, u64 want)
{
	u64 word = from / WORD_BITS, at = t->leaves + word, span = WORD_BITS;
	u64 used, carry;

	if (from >= t->granules || t->nodes[1].longest < want)
		return t->granules;
	used = t->used[word] | ~(~0ULL << (from % WORD_BITS));
	if (find_in_word(used, want) < WORD_BITS)
		return word * WORD_BITS + find_in_word(used, want);
	carry = free_at_tail(used);
	for (;;) {
		const struct p2pmem_runs_node *n;

		for (; at % 2; at /= 2, span *= 2)
			if (at == 1)
				return t->granules;
		n = &t->nodes[++at];
		t->visits++;
		if (carry + n->head >= want)
			return (at * span - t->leaves * WORD_BITS) - carry;
		if (n->longest >= want)
			return find_below(t, at, span, want);
		carry = n->tail + (n->tail == span ? carry : 0);
	}
}
