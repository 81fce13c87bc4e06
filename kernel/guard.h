/* SPDX-License-Identifier: GPL-2.0 */
/* Resets and unbinding of functions that another driver runs and that have regions. */
#ifndef P2PMEM_GUARD_H
#define P2PMEM_GUARD_H

#include <linux/pci.h>

struct p2pmem_guarded;

int p2pmem_guard(struct pci_dev *pdev);
u64 p2pmem_guard_resets(struct pci_dev *pdev);
const struct p2pmem_guarded *p2pmem_guard_of(struct pci_dev *pdev);
bool p2pmem_guard_saw_reset(const struct p2pmem_guarded *g, u64 resets);
bool p2pmem_is_guarded(struct pci_dev *pdev);
void p2pmem_guard_unbound(struct pci_dev *pdev);
void p2pmem_guards_exit(void);

#endif
