/* SPDX-License-Identifier: GPL-2.0 */
/* Generic pagemaps for parts of a BAR, made when they are needed. */
#ifndef P2PMEM_WINDOW_H
#define P2PMEM_WINDOW_H

#include "p2pmem.h"

int p2pmem_windows_open(struct p2pmem_region *r);
int p2pmem_windows_need(struct p2pmem_region *r, u64 first, u64 count);
void p2pmem_windows_close(struct p2pmem_region *r);
void p2pmem_windows_free(struct p2pmem_region *r);

#endif
