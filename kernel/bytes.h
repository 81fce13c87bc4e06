/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Whose bytes lie in each granule of a region.
 *
 * Pure logic: no locks, no allocation and no kernel call, so that the unit
 * tests run the very same file in userspace.  Granules that are free are their
 * caller's to serialise, owned ones their owner's.
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
 * What is known of a granule's bytes: the numeric uid of the user who last
 * owned it, or one of these.
 */
#define P2PMEM_BYTES_UNKNOWN	((u32)-1) /* must be zeroed before anyone looks */
#define P2PMEM_BYTES_CLEAN	((u32)-2) /* fit for the present owner to see */

/* Granules of which one entry may tell all: large ranges cost little. */
#define P2PMEM_BYTES_BLOCK	512

/**
 * struct p2pmem_bytes - whose bytes they are
 * @of_block: per block the same for all its granules, or that they differ
 * @of_granule: per granule, see above; of no meaning while the block's says all;
 *	NULL where whole blocks change together
 * @granules: how many there are
 *
 * A block's entry says all only while the whole block is free, or one owner
 * took the whole of it: so nobody writes an entry of another's.
 */
struct p2pmem_bytes {
	u32 *of_block;
	u32 *of_granule;
	u64 granules;
};

/*
 * Whoever owns, shows or gives back some granules does so with @unit of them, and
 * these are whole blocks: no granule needs an entry of its own.
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

/* Takes over an array, from @of_block on, that the caller owns and frees; all unknown. */
void p2pmem_bytes_init(struct p2pmem_bytes *b, u32 *entries, u64 granules, u64 unit);

u32 p2pmem_bytes_of(const struct p2pmem_bytes *b, u64 granule);

/* The first granule in [from, end) whose bytes are UNKNOWN, or @end. */
u64 p2pmem_bytes_next_unknown(const struct p2pmem_bytes *b, u64 from, u64 end);

/* Free granules are taken: nothing is known of them any more. */
void p2pmem_bytes_forget(struct p2pmem_bytes *b, u64 first, u64 count);

/*
 * Decides what the new owner of a range may see: granules last owned by @uid
 * (all of them if @trusted) become CLEAN, the others UNKNOWN.  UNKNOWN itself
 * for @uid: somebody who owned nothing.
 */
void p2pmem_bytes_admit(struct p2pmem_bytes *b, u64 first, u64 count, u32 uid,
			bool trusted);

/* Owned granules are fit to be seen now, be it that they were zeroed. */
void p2pmem_bytes_show(struct p2pmem_bytes *b, u64 first, u64 count);

/* Granules become free: what their owner saw is remembered as @uid's. */
void p2pmem_bytes_keep(struct p2pmem_bytes *b, u64 first, u64 count, u32 uid);

#endif
