/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Whose bytes lie in each granule of a region.
 *
 * Pure logic: no locks, no allocation and no kernel call, so that the unit
 * tests run the very same file in userspace.  The caller serialises the calls for
 * free granules; the owner serialises those for the granules that it owns.
 */
#ifndef P2PMEM_BYTES_H
#define P2PMEM_BYTES_H

#ifdef __KERNEL__
#include <linux/stddef.h>
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef uint64_t u64;
typedef uint32_t u32;
#endif

/*
 * What is known about the bytes of a granule: the uid of the user who last owned it,
 * or one of these.
 */
#define P2PMEM_BYTES_UNKNOWN	((u32)-1) /* must be zeroed before anyone sees them */
#define P2PMEM_BYTES_CLEAN	((u32)-2) /* the present owner may see them */

/* One entry can stand for this many granules, so that large ranges cost little. */
#define P2PMEM_BYTES_BLOCK	512

/**
 * struct p2pmem_bytes - whose bytes they are
 * @of_block: for each block, what is true of all its granules, or that they differ
 * @of_granule: for each granule, if the entry of its block says that they differ; NULL if
 *	whole blocks always change together
 * @granules: how many granules the region has
 *
 * A block's entry stands for all its granules only while the whole block is free or
 * belongs to one owner.  Hence no owner writes an entry that belongs to another.
 */
struct p2pmem_bytes {
	u32 *of_block;
	u32 *of_granule;
	u64 granules;
};

/*
 * Granules are taken, shown and given back in multiples of @unit.  If that is a multiple
 * of a block, no granule needs an entry of its own.
 */
static inline bool p2pmem_bytes_in_blocks(u64 unit)
{
	return unit % P2PMEM_BYTES_BLOCK == 0;
}

static inline u64 p2pmem_bytes_blocks(u64 granules)
{
	return (granules + P2PMEM_BYTES_BLOCK - 1) / P2PMEM_BYTES_BLOCK;
}

/* Entries of the array that p2pmem_bytes_init() splits into the two. */
static inline u64 p2pmem_bytes_entries(u64 granules, u64 unit)
{
	return p2pmem_bytes_blocks(granules) +
	       (p2pmem_bytes_in_blocks(unit) ? 0 : granules);
}

/* Uses the array @entries, which the caller owns and frees.  All bytes are UNKNOWN. */
void p2pmem_bytes_init(struct p2pmem_bytes *b, u32 *entries, u64 granules, u64 unit);

u32 p2pmem_bytes_of(const struct p2pmem_bytes *b, u64 granule);

/* The first granule in [from, end) whose bytes are UNKNOWN, or @end. */
u64 p2pmem_bytes_next_unknown(const struct p2pmem_bytes *b, u64 from, u64 end);

/* Free granules were taken: their bytes become UNKNOWN. */
void p2pmem_bytes_forget(struct p2pmem_bytes *b, u64 first, u64 count);

/*
 * Decides what the new owner of a range may see: granules that @uid owned last
 * become CLEAN, or all of them if @trusted; the others become UNKNOWN.  A @uid of
 * P2PMEM_BYTES_UNKNOWN stands for somebody who owned nothing.
 */
void p2pmem_bytes_admit(struct p2pmem_bytes *b, u64 first, u64 count, u32 uid,
			bool trusted);

/* The owner may see these granules now, for instance because they were zeroed. */
void p2pmem_bytes_show(struct p2pmem_bytes *b, u64 first, u64 count);

/* Granules become free.  The bytes that their owner could see are remembered as @uid's. */
void p2pmem_bytes_keep(struct p2pmem_bytes *b, u64 first, u64 count, u32 uid);

#endif
