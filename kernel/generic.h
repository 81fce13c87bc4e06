/* SPDX-License-Identifier: GPL-2.0 */
/* Pagemaps of type MEMORY_DEVICE_GENERIC that p2pmem makes. */
#ifndef P2PMEM_GENERIC_H
#define P2PMEM_GENERIC_H

#include "p2pmem.h"

bool p2pmem_range_has_pagemap(phys_addr_t phys, u64 bytes);
int p2pmem_half_made(int err);
int p2pmem_open_generic(struct p2pmem_region *r, struct p2pmem_backing *b);
void p2pmem_close_generic(struct p2pmem_backing *b);

#endif
