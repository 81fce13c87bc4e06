/* SPDX-License-Identifier: GPL-2.0 */
/* Extents of closed files, until nobody refers to their pages. */
#ifndef P2PMEM_REAP_H
#define P2PMEM_REAP_H

#include <linux/workqueue.h>

#include "p2pmem.h"

void p2pmem_extent_give(struct p2pmem_region *r, struct p2pmem_extent *e);
bool p2pmem_range_idle(struct p2pmem_region *r, u64 first, u64 count);
void p2pmem_extents_release(struct p2pmem_file *f);
void p2pmem_reap_soon(struct p2pmem_region *r);
void p2pmem_reap_fn(struct work_struct *work);
bool p2pmem_settling(struct p2pmem_region *r);
bool p2pmem_settle(struct p2pmem_region *r, unsigned long asked);
int p2pmem_settled(struct p2pmem_region *r, int refusal);

#endif
