/* SPDX-License-Identifier: GPL-2.0 */
/* Why a call failed: the text that goes back to its caller. */
#ifndef P2PMEM_REASON_H
#define P2PMEM_REASON_H

#include <linux/compiler_attributes.h>

struct pci_dev;

/* @reason has P2PMEM_REASON_BYTES. */
__printf(2, 3)
void p2pmem_reason(char *reason, const char *fmt, ...);

/* What root does so that the PCI core sets a function up again: a part of a sentence. */
const char *p2pmem_made_anew(struct pci_dev *pdev);

#endif
