/* SPDX-License-Identifier: GPL-2.0 */
/* Folios of 1 GiB that one page-table entry maps, where COMPAT_HAS_PUDS. */
#ifndef P2PMEM_GIB_H
#define P2PMEM_GIB_H

#include <linux/mm.h>

#include "p2pmem.h"

int p2pmem_gib_watch(struct p2pmem_file *f, struct vm_area_struct *vma);
void p2pmem_gib_open(struct vm_area_struct *vma);
void p2pmem_gib_close(struct vm_area_struct *vma);
bool p2pmem_gib_fits(struct vm_fault *vmf);
vm_fault_t p2pmem_gib_insert(struct p2pmem_file *f, struct vm_fault *vmf,
			     const struct p2pmem_span *span);
int p2pmem_gib_may_split(struct vm_area_struct *vma, unsigned long addr);
int p2pmem_gib_mprotect(struct vm_area_struct *vma, unsigned long start,
			unsigned long end, unsigned long flags);
unsigned long p2pmem_gib_area(struct file *filp, unsigned long addr, unsigned long len,
			      unsigned long pgoff, unsigned long flags);

#endif
