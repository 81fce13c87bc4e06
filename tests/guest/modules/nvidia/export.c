// SPDX-License-Identifier: GPL-2.0
/*
 * dma-bufs as NVIDIA's driver makes them: no struct page behind any entry, only
 * addresses, and nobody is ever told to let go.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "compat.h"
#include "lab.h"

struct lab_export {
	struct lab_allocation *a;
	u64 offset;
	u64 bytes;
};

static void unmap_entries(struct device *dev, struct sg_table *table, int count)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(table->sgl, sg, count, i)
		dma_unmap_resource(dev, sg_dma_address(sg), sg_dma_len(sg),
				   DMA_BIDIRECTIONAL, 0);
	sg_free_table(table);
	kfree(table);
}

static int count_pieces(const struct lab_export *x)
{
	u64 first = x->offset / LAB_PAGE, last = (x->offset + x->bytes - 1) / LAB_PAGE;

	return last - first + 1;
}

static struct sg_table *map_export(struct dma_buf_attachment *attach,
				   enum dma_data_direction direction)
{
	struct lab_export *x = attach->dmabuf->priv;
	u64 offset = x->offset, end = x->offset + x->bytes;
	struct scatterlist *sg;
	struct sg_table *table;
	int i;

	if (attach->importer_ops && !attach->peer2peer)
		return ERR_PTR(-EOPNOTSUPP);
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return ERR_PTR(-ENOMEM);
	if (sg_alloc_table(table, count_pieces(x), GFP_KERNEL)) {
		kfree(table);
		return ERR_PTR(-ENOMEM);
	}
	mutex_lock(&lab.lock);	/* as NVIDIA's does, below the reservation lock */
	for_each_sg(table->sgl, sg, table->orig_nents, i) {
		u64 piece = min_t(u64, end - offset, LAB_PAGE - offset % LAB_PAGE);
		phys_addr_t phys = lab.phys + lab_bar_offset(x->a, offset);

		sg_set_page(sg, NULL, piece, 0);
		sg_dma_address(sg) = dma_map_resource(attach->dev, phys, piece,
						      DMA_BIDIRECTIONAL, 0);
		sg_dma_len(sg) = piece;
		if (dma_mapping_error(attach->dev, sg_dma_address(sg))) {
			mutex_unlock(&lab.lock);
			unmap_entries(attach->dev, table, i);
			return ERR_PTR(-EIO);
		}
		offset += piece;
	}
	mutex_unlock(&lab.lock);
	return table;
}

static void unmap_export(struct dma_buf_attachment *attach, struct sg_table *table,
			 enum dma_data_direction direction)
{
	unmap_entries(attach->dev, table, table->nents);
}

static int mmap_export(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	return -ENOTSUPP;	/* 524, as NVIDIA's driver has it */
}

static void drop_export(struct lab_export *x)
{
	mutex_lock(&lab.lock);
	lab_allocation_put(x->a);
	lab_user_ends();
	mutex_unlock(&lab.lock);
	kfree(x);
}

static void release_export(struct dma_buf *dmabuf)
{
	drop_export(dmabuf->priv);
}

static const struct dma_buf_ops export_ops = {
	.map_dma_buf = map_export,
	.unmap_dma_buf = unmap_export,
	.mmap = mmap_export,
	.release = release_export,
};

/* The lock is not held; the caller has a reference. */
int lab_export(struct lab_allocation *a, u64 offset, u64 bytes)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct lab_export *x = kzalloc(sizeof(*x), GFP_KERNEL);
	struct dma_buf *dmabuf;
	int fd;

	if (!x)
		return -ENOMEM;
	x->a = a;
	x->offset = offset;
	x->bytes = bytes;
	mutex_lock(&lab.lock);
	kref_get(&a->refs);
	lab_user_begins();
	mutex_unlock(&lab.lock);
	info.ops = &export_ops;
	info.size = bytes;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = x;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		drop_export(x);
		return PTR_ERR(dmabuf);
	}
	fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (fd < 0)
		dma_buf_put(dmabuf);
	return fd;
}

MODULE_IMPORT_NS(COMPAT_NS_DMA_BUF);
