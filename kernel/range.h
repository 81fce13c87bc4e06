/* SPDX-License-Identifier: GPL-2.0 */
/* Ranges of an open file for users that take no page faults, such as dma-bufs. */
#ifndef P2PMEM_RANGE_H
#define P2PMEM_RANGE_H

#include "p2pmem.h"

int p2pmem_file_back_settled(struct p2pmem_file *f, u64 first, u64 count);
int p2pmem_file_prepare(struct p2pmem_file *f, u64 first, u64 count);
struct p2pmem_range *p2pmem_file_ranges(struct p2pmem_file *f, u64 first, u64 count,
					unsigned int *nr_ranges);

#endif
