/* SPDX-License-Identifier: GPL-2.0 */
/* A region that serves as a pmem device. */
#ifndef P2PMEM_PMEM_H
#define P2PMEM_PMEM_H

#include "p2pmem.h"

int p2pmem_pmem_vet(struct p2pmem_region *r, struct p2pmem_region_add *req);
int p2pmem_pmem_open(struct p2pmem_region *r, struct p2pmem_backing *b);
bool p2pmem_pmem_leave(struct p2pmem_region *r);
void p2pmem_pmem_close(struct p2pmem_region *r, struct p2pmem_backing *b);
void p2pmem_forget_lenders(struct pci_dev *pdev);
void p2pmem_pmem_silence(struct p2pmem_region *r);
u64 p2pmem_pmem_referred(struct p2pmem_region *r);
struct dev_pagemap *p2pmem_pmem_pages_get(struct p2pmem_region *r);
bool p2pmem_pmem_in_use(struct p2pmem_region *r);
size_t p2pmem_pmem_text(struct p2pmem_region *r, char *buf, size_t bytes);

#endif
