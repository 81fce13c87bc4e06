/* SPDX-License-Identifier: GPL-2.0 */
/* Resets, errors and suspend of the functions that the driver p2pmem drives. */
#ifndef P2PMEM_RESETS_H
#define P2PMEM_RESETS_H

#include <linux/pci.h>

int p2pmem_resets_watch(struct pci_dev *pdev);
void p2pmem_resets_leave(struct pci_dev *pdev);
void p2pmem_resets_free(struct pci_dev *pdev);
bool p2pmem_resets_over(struct pci_dev *pdev);

extern const struct pci_error_handlers p2pmem_resets_handlers;
extern const struct dev_pm_ops p2pmem_resets_pm;

#endif
