/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Runs of free granules, found by their length.
 *
 * A tree over the words of a bitmap.  Each node knows the longest run below it, and how
 * many granules are free at either end.  To find a run or to note a change takes as many
 * steps as the tree is high, wherever the free granules lie.
 *
 * Pure logic: no locks, no allocation and no kernel call, so that the unit
 * tests run the very same file in userspace.  The caller serialises the calls.
 */
#ifndef P2PMEM_RUNS_H
#define P2PMEM_RUNS_H

#include "bytes.h"

/* What is free below a node, in granules.  A region has fewer than 2^32 of them, which are 16 TiB. */
struct p2pmem_runs_node {
	u32 head;
	u32 tail;
	u32 longest;
};

/**
 * struct p2pmem_runs - the tree
 * @used: a bit per granule, set while the granule is not free; bits past the end are set
 * @nodes: node 1 is the root, and 2n and 2n+1 are below node n; the leaves come last
 * @granules: how many granules the region has
 * @leaves: how many words the tree has room for, a power of two
 * @visits: how many nodes were read or written, so that a test can count the cost
 */
struct p2pmem_runs {
	u64 *used;
	struct p2pmem_runs_node *nodes;
	u64 granules;
	u64 leaves;
	u64 visits;
};

static inline u64 p2pmem_runs_words(u64 granules)
{
	return (granules + 63) / 64;
}

/* Entries of the array that p2pmem_runs_init() takes over. */
static inline u64 p2pmem_runs_nodes(u64 granules)
{
	u64 leaves = 1;

	while (leaves < p2pmem_runs_words(granules))
		leaves *= 2;
	return 2 * leaves;
}

/* Uses two arrays that the caller owns and frees.  All granules are free. */
void p2pmem_runs_init(struct p2pmem_runs *t, u64 *used,
		      struct p2pmem_runs_node *nodes, u64 granules);

/* Call it after the bits of @used in [first, first + count) have changed; @count is not 0. */
void p2pmem_runs_note(struct p2pmem_runs *t, u64 first, u64 count);

/* The first place at or after @from where @want granules are free, or @t->granules. */
u64 p2pmem_runs_find(struct p2pmem_runs *t, u64 from, u64 want);

/* The length of the longest run. */
u64 p2pmem_runs_longest(const struct p2pmem_runs *t);

#endif
