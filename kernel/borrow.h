/* SPDX-License-Identifier: GPL-2.0 */
/* Regions that use struct pages which another driver made. */
#ifndef P2PMEM_BORROW_H
#define P2PMEM_BORROW_H

#include "p2pmem.h"

bool p2pmem_range_is_p2pdma(phys_addr_t phys, u64 bytes);
bool p2pmem_borrow(struct p2pmem_region *r, u64 first, u64 count);
void p2pmem_put_to_rest(struct p2pmem_region *r, u64 first, u64 count);
void p2pmem_put_all_to_rest(struct p2pmem_region *r);

#endif
