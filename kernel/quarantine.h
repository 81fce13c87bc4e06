/* SPDX-License-Identifier: GPL-2.0 */
/* Keeps the address range of a device that is gone while somebody still holds its memory. */
#ifndef P2PMEM_QUARANTINE_H
#define P2PMEM_QUARANTINE_H

#include "p2pmem.h"

void p2pmem_quarantine_enter(struct p2pmem_region *r);
void p2pmem_quarantine_leave(struct p2pmem_region *r);
void p2pmem_quarantine_fence(struct p2pmem_region *r, struct pci_dev *pdev);

#endif
