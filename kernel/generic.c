// SPDX-License-Identifier: GPL-2.0
/*
 * A MEMORY_DEVICE_GENERIC pagemap of our own: of a whole region (backing.c), or of a window
 * of one (window.c).
 */
#include <linux/io.h>
#include <linux/memremap.h>

#include "generic.h"
#include "memtype.h"
#include "p2pmem.h"

bool p2pmem_range_has_pagemap(phys_addr_t phys, u64 bytes)
{
	phys_addr_t at[] = { phys, phys + bytes - 1 };
	int i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		struct dev_pagemap *other = compat_get_dev_pagemap(PHYS_PFN(at[i]));

		if (other) {
			put_dev_pagemap(other);
			return true;
		}
	}
	return false;
}

/*
 * If memremap_pages() runs out of memory, it leaves parts of its work behind
 * (mm/memory_hotplug.c, __add_pages()).  Until the next boot it then returns -EEXIST for
 * that range, although nobody has pages there.
 */
int p2pmem_half_made(int err)
{
	return err == -EEXIST ? -EUCLEAN : err;
}

int p2pmem_open_generic(struct p2pmem_region *r, struct p2pmem_backing *b)
{
	u32 memtype = r->want_memtype;
	int ret;

	if (!IS_ALIGNED(b->phys | b->bytes, P2PMEM_PAGEMAP_ALIGN))
		return -EINVAL;
	if (p2pmem_range_has_pagemap(b->phys, b->bytes))
		return -EEXIST;
	b->anchor = p2pmem_memtype_anchor(b->phys, memtype);
	if (!b->anchor)
		return -EBUSY;

	memset(&b->pgmap, 0, sizeof(b->pgmap));
	b->pgmap.type = MEMORY_DEVICE_GENERIC;
	b->pgmap.range.start = b->phys;
	b->pgmap.range.end = b->phys + b->bytes - 1;
	b->pgmap.nr_range = 1;
	b->pgmap.vmemmap_shift = r->folio_order;
	b->kaddr = memremap_pages(&b->pgmap, dev_to_node(&r->pdev->dev));
	if (IS_ERR(b->kaddr)) {
		ret = p2pmem_half_made(PTR_ERR(b->kaddr));
		goto err_unmap_anchor;
	}
	b->memtype = p2pmem_memtype_of(b->kaddr);
	if (b->memtype != memtype) {
		dev_err(&r->pdev->dev, "BAR%u: memory type %s was asked for, but the range is mapped as %s already\n",
			r->bar, p2pmem_memtype_name(memtype),
			p2pmem_memtype_name(b->memtype));
		ret = -EBUSY;
		goto err_unmap_pages;
	}
	return 0;

err_unmap_pages:
	memunmap_pages(&b->pgmap);
err_unmap_anchor:
	iounmap(b->anchor);
	b->anchor = NULL;
	return ret;
}

void p2pmem_close_generic(struct p2pmem_backing *b)
{
	memunmap_pages(&b->pgmap);
	iounmap(b->anchor);
	b->anchor = NULL;
}
