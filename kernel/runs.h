/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Runs of free granules, to be found by their length.
 *
 * A tree over the words of a bitmap: each node knows the longest run below it,
 * and how much is free at either of its ends.  Finding a run and noting a change
 * cost as many steps as the tree is high, however the free granules lie.
 *
 * Pure logic: no locks, no allocation and no kernel call, so that the unit
 * tests run the very same file in userspace.  The caller serialises.
 */
#ifndef P2PMEM_RUNS_H
#define P2PMEM_RUNS_H

#include "bytes.h"

/* What is free below a node, in granules: less than 2^32, which are 16 TiB. */
struct p2pmem_runs_node {
	u32 head;
	u32 tail;
	u32 longest;
};

/**
 * struct p2pmem_runs - the tree
 * @used: bit per granule, set while it is not free; those past the end are set
 * @nodes: node 1 is the root, 2n and 2n+1 lie below node n, the leaves last
 * @granules: how many there are
 * @leaves: how many words the tree has room for, a power of two
 * @visits: nodes that were looked at or written, for who counts the cost
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

/* Takes over two arrays that the caller owns and frees; all granules are free. */
void p2pmem_runs_init(struct p2pmem_runs *t, u64 *used,
		      struct p2pmem_runs_node *nodes, u64 granules);

/* The bits of @used in [first, first + count) have changed; @count is not 0. */
void p2pmem_runs_note(struct p2pmem_runs *t, u64 first, u64 count);

/* The first place at or after @from where @want granules are free, or @granules. */
u64 p2pmem_runs_find(struct p2pmem_runs *t, u64 from, u64 want);

/* How long the longest run is. */
u64 p2pmem_runs_longest(const struct p2pmem_runs *t);

#endif
