/* SPDX-License-Identifier: GPL-2.0 */
/* Changing the page type of a region. */
#ifndef P2PMEM_PAGE_TYPE_H
#define P2PMEM_PAGE_TYPE_H

#include "p2pmem.h"

/*
 * Did a change of page type fail, and the return to the old type as well?  Another change
 * may succeed.  Nobody has such a region open.
 */
bool p2pmem_lost_its_pages(struct p2pmem_region *r);
int p2pmem_region_set_page_type(struct p2pmem_region *r, u32 type);

#endif
