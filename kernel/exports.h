/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A range of a region that was exported as a dma-buf.  Only dmabuf*.c and mmap.c include this
 * header; mmap.c needs it to find the memory behind a mapping.  Other files use dmabuf.h and
 * importers.h.
 *
 *   export      owned by its dma-buf; release() frees it.  It holds the open file
 *               whose memory it is, and with it the extents, the region's struct and
 *               the module.
 *   attachment  owned by the attachment of the dma-buf; detach() frees it.
 *
 * The dma-buf's reservation lock protects the attachments and their counts of mappings.
 * The region's exports_lock protects what importers were told about resets.  While
 * importers are told, no lock is held but the reservation lock.
 */
#ifndef P2PMEM_EXPORTS_H
#define P2PMEM_EXPORTS_H

#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/list.h>

#include "importers.h"
#include "p2pmem.h"

/**
 * struct p2pmem_export - what a dma-buf stands for
 * @link: in region->exports
 * @region: the region of @file, whose struct @file keeps
 * @file: keeps the extents; mappings of the dma-buf map this file
 * @dmabuf: owns this struct, and frees it by release()
 * @file_first: where in @file the range begins, in granules
 * @bus_offset: add it to a physical address to get the bus address
 * @flags: P2PMEM_EXPORT_*
 * @writable: devices may write
 * @revocable: a GPU's driver may take the memory back
 * @revoked: refuses new mappings.  It is set without the reservation lock, and then @maps is read
 * @tell_work: tells the importers (dmabuf_tell.c); release() waits for it
 * @released: nobody has the dma-buf any more, so there is nobody to tell
 * @told: importers were told to let go for good
 * @left: what kind of importer still has a mapping after that
 * @noted: no mapping is left for good, and @last has the requests that were under way then
 * @last: their fences, of which those up to @nr_last have not been seen signaled
 * @nr_last: protected by exports_lock once @noted is set
 * @telling: importers are being told about a reset
 * @told_epoch: the value of region->import_epoch at the last reset that they were told about
 * @staying: how many mappings belonged to importers that could not let go then
 * @resets_seen: the count of resets of the region when DMA_BUF_IOCTL_SYNC last ended
 * @maps: DMA mappings that importers hold now; incremented before @revoked is read
 * @nr_ranges: entries of @ranges, at least 1
 * @ranges: where the memory lies for the CPU, in the order of the file; fixed while the
 *	export exists, and freed with it
 */
struct p2pmem_export {
	struct list_head link;
	struct p2pmem_region *region;
	struct file *file;
	struct dma_buf *dmabuf;
	u64 file_first;
	u64 bus_offset;
	u32 flags;
	bool writable;
	bool revocable;
	bool revoked;
	struct work_struct tell_work;
	bool released;
	bool told;
	enum p2pmem_importers left;
	bool noted;
	struct dma_fence **last;
	unsigned int nr_last;
	bool telling;
	u64 told_epoch;
	unsigned int staying;
	u64 resets_seen;
	atomic_t maps;
	unsigned int nr_ranges;
	struct p2pmem_range *ranges;
};

/**
 * struct p2pmem_attachment - one importing device
 * @bus_addresses: a switch routes the requests, so that the device needs bus addresses
 * @translated: an IOMMU translates the addresses
 * @epoch: the value of region->import_epoch when it attached; it can map in no other epoch
 * @maps: DMA mappings of this attachment
 * @who: the process that attached it
 */
struct p2pmem_attachment {
	u64 epoch;
	bool bus_addresses;
	bool translated;
	unsigned int maps;
	struct p2pmem_who who;
};

/* The open file whose memory a dma-buf is, given the dma-buf's own struct file. */
static inline struct p2pmem_file *p2pmem_dmabuf_file(const struct file *filp)
{
	const struct dma_buf *dmabuf = filp->private_data;
	const struct p2pmem_export *x = dmabuf->priv;

	return x->file->private_data;
}

/* dmabuf_tell.c */
void p2pmem_export_tell_init(struct p2pmem_export *x);
void p2pmem_export_tell_soon(struct p2pmem_export *x);
void p2pmem_export_tell_end(struct p2pmem_export *x);

/* dmabuf_epoch.c */
bool p2pmem_export_has_no_requests(const struct p2pmem_export *x);
bool p2pmem_export_is_unmapped(const struct p2pmem_export *x);
bool p2pmem_telling_begins(struct p2pmem_export *x, u64 *epoch);
void p2pmem_telling_ends(struct p2pmem_export *x, u64 epoch, unsigned int staying);
bool p2pmem_export_was_told(struct p2pmem_export *x, u64 epoch);

/* dmabuf_reset.c */
bool p2pmem_imports_may_begin(struct p2pmem_export *x, u64 epoch);

/* dmabuf_attach.c */
int p2pmem_dmabuf_attach(struct dma_buf *dmabuf,
			 struct dma_buf_attachment *attach);
void p2pmem_dmabuf_detach(struct dma_buf *dmabuf,
			  struct dma_buf_attachment *attach);
int p2pmem_dmabuf_pin(struct dma_buf_attachment *attach);
void p2pmem_dmabuf_unpin(struct dma_buf_attachment *attach);
struct sg_table *p2pmem_dmabuf_map(struct dma_buf_attachment *attach,
				   enum dma_data_direction dir);
void p2pmem_dmabuf_unmap(struct dma_buf_attachment *attach,
			 struct sg_table *table, enum dma_data_direction dir);

#endif
