/* SPDX-License-Identifier: GPL-2.0 */
/* Starting the removal of regions, and waiting for its end. */
#ifndef P2PMEM_REMOVAL_H
#define P2PMEM_REMOVAL_H

#include "p2pmem.h"

void p2pmem_remove_start(struct p2pmem_region *r);
int p2pmem_remove_wait(struct p2pmem_region *r, bool interruptible);
void p2pmem_remove_regions_of(struct pci_dev *pdev);
void p2pmem_remove_regions_soon(struct pci_dev *pdev, long grace);

#endif
