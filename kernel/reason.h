/* SPDX-License-Identifier: GPL-2.0 */
/* Why a call failed: the text that goes back to its caller. */
#ifndef P2PMEM_REASON_H
#define P2PMEM_REASON_H

#include <linux/compiler_attributes.h>

struct pci_dev;

/* @reason has P2PMEM_REASON_BYTES. */
__printf(2, 3)
void p2pmem_reason(char *reason, const char *fmt, ...);

/* Returns a part of a sentence that tells root how to have the PCI core set a function up again. */
const char *p2pmem_made_anew(struct pci_dev *pdev);

#endif
