/* SPDX-License-Identifier: GPL-2.0 */
/* Whether a PCI function answers for its memory.  Both read its configuration, and never sleep. */
#ifndef P2PMEM_ANSWERS_H
#define P2PMEM_ANSWERS_H

#include <linux/types.h>

struct pci_dev;

/* It is there and decodes its memory. */
bool p2pmem_function_answers(struct pci_dev *pdev);
/* The same, and no recovery from an error is under way. */
bool p2pmem_function_works(struct pci_dev *pdev);

#endif
