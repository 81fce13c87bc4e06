/* SPDX-License-Identifier: GPL-2.0 */
/* Memory types by which the CPU maps a region: uc, wc, wb. */
#ifndef P2PMEM_MEMTYPE_H
#define P2PMEM_MEMTYPE_H

#include <linux/pgtable.h>
#include <linux/types.h>

void __iomem *p2pmem_memtype_anchor(phys_addr_t phys, u32 memtype);
bool p2pmem_memtype_can_be_chosen(void);
u32 p2pmem_memtype_of(const void *kaddr);
pgprot_t p2pmem_memtype_prot(pgprot_t prot, u32 memtype);
const char *p2pmem_memtype_name(u32 memtype);

#endif
