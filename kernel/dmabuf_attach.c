// SPDX-License-Identifier: GPL-2.0
/*
 * Importers of a dma-buf: which devices may attach, and which addresses they get.
 *
 * If a switch forwards a client's requests without the root complex, the client gets bus
 * addresses, as the P2PDMA core would give it, and the DMA API is not involved.  Every
 * other client gets what dma_map_resource() returns: the physical address through a host
 * bridge, or an IOVA behind an IOMMU.  The P2PDMA core's own helper
 * (dma_buf_phys_vec_to_sgt) is not used: it needs pcim_p2pdma_init() on a function that
 * another driver may own, does not handle an IOMMU below a switch, and exists in 7.x
 * only.
 */
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "exports.h"
#include "gate.h"
#include "importers.h"
#include "probe.h"
#include "route.h"
#include "trace.h"
#include "who.h"

/* sg_dma_len() has 32 bits. */
#define SG_BYTES	SZ_2G

static void say_refused(struct p2pmem_export *x, struct dma_buf_attachment *attach,
			const char *cause)
{
	char name[P2PMEM_SHOWN_BYTES];

	p2pmem_printable(name, current->comm);
	dev_warn_ratelimited(&x->region->dev, "dma-buf refused to %s for \"%s\" (pid %d): %s\n",
			     dev_name(attach->dev), name, task_tgid_nr(current), cause);
}

/*
 * Returns 0 or -EHOSTUNREACH.  The caller is in the region, and the importer's driver is
 * calling, so that driver stays bound.
 */
static int find_route(struct p2pmem_export *x, struct dma_buf_attachment *attach,
		      struct p2pmem_attachment *a)
{
	struct p2pmem_probe probe = { };

	p2pmem_predict(x->region, to_pci_dev(attach->dev), P2PMEM_PAGES_GENERIC,
		       true, &probe);
	p2pmem_count_route(x->region, to_pci_dev(attach->dev), &probe);
	a->bus_addresses = probe.route == P2PMEM_ROUTE_SWITCH;
	a->translated = probe.flags & P2PMEM_PROBE_TRANSLATED;
	if (probe.route != P2PMEM_ROUTE_NONE)
		return 0;
	if (probe.flags & P2PMEM_PROBE_UNLISTED_BRIDGE &&
	    x->flags & P2PMEM_EXPORT_ALLOW_UNLISTED)
		return 0;
	say_refused(x, attach, probe.reason);
	return -EHOSTUNREACH;
}

static int check_importer(struct p2pmem_export *x, struct dma_buf_attachment *attach)
{
	if (!attach->peer2peer) {
		say_refused(x, attach, "its driver asks for struct pages (no peer2peer attachment), and memory of a peer has none");
		return -EOPNOTSUPP;
	}
	if (!compat_dma_buf_revocable(attach) &&
	    !READ_ONCE(x->region->pinned_importers)) {
		say_refused(x, attach, "its driver pins what it maps and cannot be told to let go, so that a removal would wait for it; root allows that by a 1 in the region's pinned_importers (sysfs)");
		return -EOPNOTSUPP;
	}
	if (x->revocable && compat_dma_buf_may_stay(attach)) {
		say_refused(x, attach, "the GPU's driver may take this memory back at any time, and the importer may keep it (before Linux 7.1 each may): use a driver with persistent pins");
		return -EOPNOTSUPP;
	}
	if (!dev_is_pci(attach->dev)) {
		say_refused(x, attach, "it is no PCI function, so no route to it is known");
		return -EOPNOTSUPP;
	}
	return 0;
}

/*
 * Does not wait until a reset is over.  The importer may hold a lock that the reset
 * needs, such as the lock of a device that an error recovery has yet to call.
 */
static int attach_in_gate(struct p2pmem_export *x, struct dma_buf_attachment *attach,
			  struct p2pmem_attachment *a)
{
	struct p2pmem_region *r = x->region;
	int ret;

	if (READ_ONCE(x->revoked) || !p2pmem_enter(r))
		return -ENODEV;
	p2pmem_revalidate(r);
	a->epoch = atomic64_read(&r->import_epoch);
	ret = p2pmem_imports_may_begin(x, a->epoch) ? find_route(x, attach, a) : -EAGAIN;
	p2pmem_leave(r);
	if (ret == -EAGAIN)
		say_refused(x, attach, "the device is being reset, or importers are still told of that: try again");
	return ret;
}

int p2pmem_dmabuf_attach(struct dma_buf *dmabuf,
			 struct dma_buf_attachment *attach)
{
	struct p2pmem_export *x = dmabuf->priv;
	struct p2pmem_attachment *a;
	int ret;

	ret = check_importer(x, attach);
	if (ret)
		return ret;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	p2pmem_who_is_current(&a->who);
	ret = attach_in_gate(x, attach, a);
	if (ret)
		kfree(a);
	else
		attach->priv = a;
	return ret;
}

void p2pmem_dmabuf_detach(struct dma_buf *dmabuf,
			  struct dma_buf_attachment *attach)
{
	kfree(attach->priv);
}

/*
 * Returns -EIO once the device was reset.  It must not be -EAGAIN: mlx5 repeats the
 * access for as long as it gets that.
 */
static int may_map(struct dma_buf_attachment *attach)
{
	const struct p2pmem_attachment *a = attach->priv;
	struct p2pmem_export *x = attach->dmabuf->priv;

	if (READ_ONCE(x->revoked))
		return -ENODEV;
	if (!p2pmem_imports_are_outdated(x->region, a->epoch))
		return 0;
	say_refused(x, attach, "the device was reset since it attached: register or import the dma-buf once more");
	return -EIO;
}

/*
 * The memory never moves, so there is nothing to do for a pin.  A removal waits for
 * mappings, pinned or not.
 */
int p2pmem_dmabuf_pin(struct dma_buf_attachment *attach)
{
	return may_map(attach);
}

void p2pmem_dmabuf_unpin(struct dma_buf_attachment *attach)
{
}

static struct sg_table *table_alloc(struct p2pmem_export *x)
{
	struct sg_table *table = kzalloc(sizeof(*table), GFP_KERNEL);
	unsigned int i, entries = 0;

	if (!table)
		return NULL;
	for (i = 0; i < x->nr_ranges; i++)
		entries += DIV_ROUND_UP_ULL(x->ranges[i].bytes, SG_BYTES);
	if (sg_alloc_table(table, entries, GFP_KERNEL)) {
		kfree(table);
		return NULL;
	}
	table->nents = 0;	/* counts the entries that have an address */
	return table;
}

static void table_free(struct sg_table *table, unsigned int entries)
{
	table->orig_nents = entries;
	sg_free_table(table);
	kfree(table);
}

/*
 * Does the address that the DMA API gave lead the importer to @phys?  On some buses the
 * CPU's address of the BAR does not.
 */
static bool leads_to(struct p2pmem_export *x, struct dma_buf_attachment *attach,
		     dma_addr_t dma, phys_addr_t phys)
{
	return p2pmem_route_by_address(to_pci_dev(attach->dev), P2PMEM_ROUTE_BRIDGE, dma,
				       phys + x->bus_offset, phys) == P2PMEM_ROUTE_BRIDGE;
}

static int map_piece(struct p2pmem_export *x, struct dma_buf_attachment *attach,
		     phys_addr_t phys, unsigned int bytes,
		     enum dma_data_direction dir, dma_addr_t *dma)
{
	struct p2pmem_attachment *a = attach->priv;

	*dma = a->bus_addresses ? phys + x->bus_offset : phys;
	/* dma_map_resource() would WARN. */
	if (!a->translated && !p2pmem_mask_reaches(attach->dev, *dma + bytes - 1)) {
		say_refused(x, attach, "its DMA mask, or its bus, does not reach the BAR: let an IOMMU translate, or have the BAR placed below 4 GiB");
		return -ERANGE;
	}
	if (a->bus_addresses)
		return 0;
	*dma = dma_map_resource(attach->dev, phys, bytes, dir, 0);
	if (dma_mapping_error(attach->dev, *dma)) {
		say_refused(x, attach, "the kernel maps no device memory for it (swiotlb=force, or no IOMMU address is free)");
		return -ENOMEM;
	}
	if (leads_to(x, attach, *dma, phys))
		return 0;
	dma_unmap_resource(attach->dev, *dma, bytes, dir, 0);
	say_refused(x, attach, "the kernel gives it the CPU's address of the BAR, which is another one on its bus: let an IOMMU translate");
	return -EHOSTUNREACH;
}

static void unmap_table(struct dma_buf_attachment *attach, struct sg_table *table,
			enum dma_data_direction dir)
{
	struct p2pmem_attachment *a = attach->priv;
	struct scatterlist *sg;
	int i;

	if (a->bus_addresses)
		return;
	for_each_sgtable_dma_sg(table, sg, i)
		dma_unmap_resource(attach->dev, sg_dma_address(sg),
				   sg_dma_len(sg), dir, 0);
}

/* On failure table->nents tells how many entries are mapped. */
static int map_table(struct p2pmem_export *x, struct dma_buf_attachment *attach,
		     struct sg_table *table, enum dma_data_direction dir)
{
	struct scatterlist *sg = table->sgl;
	unsigned int i;

	for (i = 0; i < x->nr_ranges; i++) {
		phys_addr_t at = x->ranges[i].phys;
		phys_addr_t end = at + x->ranges[i].bytes;

		while (at < end) {
			unsigned int bytes = min_t(u64, end - at, SG_BYTES);
			dma_addr_t dma;
			int ret;

			ret = map_piece(x, attach, at, bytes, dir, &dma);
			if (ret)
				return ret;
			sg_set_page(sg, NULL, 0, 0);
			sg_dma_address(sg) = dma;
			sg_dma_len(sg) = bytes;
			table->nents++;
			sg = sg_next(sg);
			at += bytes;
		}
	}
	return 0;
}

static struct sg_table *map_new(struct p2pmem_export *x, struct dma_buf_attachment *attach,
				enum dma_data_direction dir)
{
	struct sg_table *table = table_alloc(x);
	unsigned int entries;
	int ret;

	if (!table)
		return ERR_PTR(-ENOMEM);
	entries = table->orig_nents;
	ret = map_table(x, attach, table, dir);
	if (ret) {
		unmap_table(attach, table, dir);
		table_free(table, entries);
		return ERR_PTR(ret);
	}
	table->orig_nents = 0;	/* importers look at it: there is no list for the CPU */
	return table;
}

/* The table has addresses for the device and nothing for the CPU. */
struct sg_table *p2pmem_dmabuf_map(struct dma_buf_attachment *attach,
				   enum dma_data_direction dir)
{
	struct p2pmem_export *x = attach->dmabuf->priv;
	struct p2pmem_attachment *a = attach->priv;
	struct sg_table *table;
	int ret;

	if (!x->writable && dir != DMA_TO_DEVICE) {
		say_refused(x, attach, "it wants to write, and the dma-buf was exported O_RDONLY: export it O_RDWR");
		return ERR_PTR(-EACCES);
	}
	atomic_inc(&x->maps);
	/*
	 * Pairs with revoke() and p2pmem_imports_outdate(): either this sees the mark, or
	 * they see the count.
	 */
	smp_mb();
	ret = may_map(attach);
	table = ret ? ERR_PTR(ret) : map_new(x, attach, dir);
	if (IS_ERR(table)) {
		atomic_dec(&x->maps);
		return table;
	}
	a->maps++;
	p2pmem_imports_watch(x->region);
	p2pmem_count(x->region, pins, 1);
	trace_p2pmem_pin(x->region->id, P2PMEM_PINNER_DMABUF, attach->dmabuf->size);
	return table;
}

void p2pmem_dmabuf_unmap(struct dma_buf_attachment *attach,
			 struct sg_table *table, enum dma_data_direction dir)
{
	struct p2pmem_export *x = attach->dmabuf->priv;
	struct p2pmem_attachment *a = attach->priv;

	trace_p2pmem_unpin(x->region->id, P2PMEM_PINNER_DMABUF, attach->dmabuf->size);
	unmap_table(attach, table, dir);
	table_free(table, table->nents);
	a->maps--;
	atomic_dec(&x->maps);
}
