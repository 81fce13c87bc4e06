/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The sizes to try, largest first, when a P2PDMA pool is asked for one contiguous piece: a
 * pool does not say how long its longest free piece is.
 *
 * Pure logic, as alloc.h.
 */
#ifndef P2PMEM_POOL_H
#define P2PMEM_POOL_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#include <linux/types.h>
#endif

/**
 * p2pmem_pool_step() - the difference between one size and the next
 * @pool_bytes: the size of the whole pool, whole pages
 * @page_bytes: the size of a page
 *
 * Return: about a thousandth of the pool, in whole pages.
 */
static inline __u64 p2pmem_pool_step(__u64 pool_bytes, __u64 page_bytes)
{
	__u64 pages = pool_bytes / 1024 / page_bytes;

	return pages ? pages * page_bytes : page_bytes;
}

/* The size to ask for after @bytes; 0 if there is none. */
static inline __u64 p2pmem_pool_smaller(__u64 bytes, __u64 step)
{
	return bytes > step ? bytes - step : 0;
}

#endif
