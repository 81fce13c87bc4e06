// SPDX-License-Identifier: GPL-2.0
/*
 * The CPU memory type of a region.
 *
 * memremap_pages() asks x86's PAT code for write-back and takes what it gets:
 * UC- where the MTRRs say so, WB for a BAR that the firmware left out of them.
 * A type that is already reserved wins (arch/x86/mm/pat/memtype.c), so an ioremap()
 * of one page of the range beforehand decides the type.  p2pmem then reads the
 * resulting type from the kernel's page table, and uses it for user mappings as well.
 *
 * Without PAT no type is reserved: memremap_pages() maps write-back whatever type was
 * asked for, and only the firmware's MTRRs can make it another one.
 */
#include <linux/io.h>
#include <linux/pgtable.h>
#include <asm/memtype.h>
#include <asm/pgtable_types.h>

#include "memtype.h"
#include "p2pmem.h"

/* Can the kernel's own mapping of the pages have a type other than wb? */
bool p2pmem_memtype_can_be_chosen(void)
{
	return pat_enabled();
}

void __iomem *p2pmem_memtype_anchor(phys_addr_t phys, u32 memtype)
{
	switch (memtype) {
	case P2PMEM_MEMTYPE_UC:
		return ioremap(phys, PAGE_SIZE);
	case P2PMEM_MEMTYPE_WC:
		return ioremap_wc(phys, PAGE_SIZE);
	default:
		return ioremap_cache(phys, PAGE_SIZE);
	}
}

pgprot_t p2pmem_memtype_prot(pgprot_t prot, u32 memtype)
{
	switch (memtype) {
	case P2PMEM_MEMTYPE_UC:
		return pgprot_noncached(prot);
	case P2PMEM_MEMTYPE_WC:
		return pgprot_writecombine(prot);
	default:
		return prot;
	}
}

static bool same_cache_bits(pgprot_t a, pgprot_t b)
{
	return (pgprot_val(a) & _PAGE_CACHE_MASK) ==
	       (pgprot_val(b) & _PAGE_CACHE_MASK);
}

u32 p2pmem_memtype_of(const void *kaddr)
{
	unsigned int level;
	pte_t *pte = lookup_address((unsigned long)kaddr, &level);
	pgprot_t prot;

	if (!pte)
		return P2PMEM_MEMTYPE_DEFAULT;
	prot = __pgprot(pte_val(*pte));
	if (level != PG_LEVEL_4K)
		prot = pgprot_large_2_4k(prot);
	if (same_cache_bits(prot, PAGE_KERNEL))
		return P2PMEM_MEMTYPE_WB;
	/* UC comes first: without PAT it has the same bits as WC, and writes are not combined. */
	if (same_cache_bits(prot, pgprot_noncached(PAGE_KERNEL)))
		return P2PMEM_MEMTYPE_UC;
	if (same_cache_bits(prot, pgprot_writecombine(PAGE_KERNEL)))
		return P2PMEM_MEMTYPE_WC;
	return P2PMEM_MEMTYPE_UC;
}

const char *p2pmem_memtype_name(u32 memtype)
{
	switch (memtype) {
	case P2PMEM_MEMTYPE_UC:
		return "uc";
	case P2PMEM_MEMTYPE_WC:
		return "wc";
	case P2PMEM_MEMTYPE_WB:
		return "wb";
	default:
		return "unknown";
	}
}
