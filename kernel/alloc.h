/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Which granules of a region are owned, and whose bytes lie in the free ones.
 *
 * Pure logic: no locks, no allocation and no kernel call, so that the unit
 * tests run the very same file in userspace.  The caller serialises the calls.
 */
#ifndef P2PMEM_ALLOC_H
#define P2PMEM_ALLOC_H

#include "bytes.h"
#include "runs.h"

/* How many runs p2pmem_alloc_take() looks at, one by one, for a place in phase. */
#define P2PMEM_ALLOC_TRIES	256

/**
 * struct p2pmem_alloc - ownership of a region
 * @runs: the granules that no open file owns
 * @bytes: whose bytes lie in each granule
 * @granules: how many granules the region has
 * @free: how many of them are not owned
 */
struct p2pmem_alloc {
	struct p2pmem_runs runs;
	struct p2pmem_bytes bytes;
	u64 granules;
	u64 free;
};

/*
 * Takes over three arrays that the caller owns and frees: @used of
 * p2pmem_runs_words() entries, @bytes of p2pmem_bytes_entries(), @nodes of
 * p2pmem_runs_nodes().  All granules are free, and their bytes are UNKNOWN.
 *
 * @unit is a power of two.  @granules and each count that the caller takes or gives
 * are multiples of it, so that each run begins and ends at a multiple of it.
 */
void p2pmem_alloc_init(struct p2pmem_alloc *a, u64 *used, u32 *bytes,
		       struct p2pmem_runs_node *nodes, u64 granules, u64 unit);

/*
 * Takes a run of at most @want free granules: the first place that has @want of
 * them, or the longest run if no place does.  Returns its length and stores where it
 * begins in @first; returns 0 if the region is full.  The record of whose bytes
 * they are stays until the caller removes it (p2pmem_bytes_forget()).
 *
 * If @want is at least @chunk (a power of two), a place that equals @phase modulo
 * @chunk is preferred.  It is found if one of the first P2PMEM_ALLOC_TRIES runs has
 * it, or if some run is longer than @want by @chunk.
 */
u64 p2pmem_alloc_take(struct p2pmem_alloc *a, u64 want, u64 chunk, u64 phase,
		      u64 *first);

/* Takes exactly [first, first + count); false if any of it is owned. */
bool p2pmem_alloc_take_at(struct p2pmem_alloc *a, u64 first, u64 count);

/* Gives a range back.  The bytes that its owner could see are remembered as @uid's. */
void p2pmem_alloc_give(struct p2pmem_alloc *a, u64 first, u64 count, u32 uid);

/* The first free granule at or after @from, or @a->granules. */
u64 p2pmem_alloc_next_free(const struct p2pmem_alloc *a, u64 from);

/* The first owned granule at or after @from, or @a->granules. */
u64 p2pmem_alloc_next_used(const struct p2pmem_alloc *a, u64 from);

#endif
