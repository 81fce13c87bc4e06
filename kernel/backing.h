/* SPDX-License-Identifier: GPL-2.0 */
/* The struct pages of a region, of whatever page type, and access to its bytes. */
#ifndef P2PMEM_BACKING_H
#define P2PMEM_BACKING_H

#include "p2pmem.h"

const char *p2pmem_page_type_name(u32 type);
int p2pmem_backing_open(struct p2pmem_region *r, u32 type);
void p2pmem_backing_close(struct p2pmem_region *r);
void p2pmem_zero_granule(struct p2pmem_region *r, u64 granule);
u64 p2pmem_stores_arrive(struct p2pmem_region *r, u64 granule);
bool p2pmem_zeros_arrive(struct p2pmem_region *r, u64 granule);

#endif
