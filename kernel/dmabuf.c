// SPDX-License-Identifier: GPL-2.0
/*
 * Ranges of a region as dma-bufs: the export, and the CPU's access.
 *
 * Like a mapping, an export is one more reference to the open file, so the memory gets no
 * new owner while the dma-buf lives.  A removal of the region has to revoke exports and
 * to wait for their importers: see docs/lifetime.md.
 */
#include <linux/dma-resv.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "dmabuf.h"
#include "exports.h"
#include "gate.h"
#include "lines.h"
#include "mmap.h"
#include "pins.h"
#include "range.h"
#include "who.h"

/*
 * A mapping of the dma-buf has the same faults and the same extents as a mapping of the
 * region's file, and is revoked with all others (publish()).  But its vm_file stays that
 * of the dma-buf: remap_file_pages() asks the file of a mapping for other parts of it,
 * and the region's file would give out everything that it owns.
 */
static int export_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct p2pmem_export *x = dmabuf->priv;

	if (READ_ONCE(x->revoked))
		return -ENODEV;
	vma->vm_pgoff += x->file_first;
	return p2pmem_mmap(x->file, vma);
}

/*
 * The CPU reads from the device: its memory is mapped uc or wc, or the device takes part in
 * cache coherence (wb, docs/uapi.md).  This only waits until the memory can be used again.
 */
static int export_begin_cpu_access(struct dma_buf *dmabuf,
				   enum dma_data_direction dir)
{
	struct p2pmem_export *x = dmabuf->priv;
	u64 resets;

	if (READ_ONCE(x->revoked))
		return -ENODEV;
	if (p2pmem_await_reset(x->region))
		return -EINTR;
	return p2pmem_await_counted(x->region, &resets);
}

/*
 * Was there a reset since the last call?  A reset that is under way is reported now, and
 * not again when it is over.  The caller is in the region, so the reset cannot end
 * meanwhile.  @resets is the count of resets.
 */
static bool tells_of_reset(struct p2pmem_export *x, u64 resets)
{
	u64 seen = READ_ONCE(x->resets_seen);

	if (READ_ONCE(x->region->resetting))
		resets++;
	WRITE_ONCE(x->resets_seen, resets);
	return resets != seen;
}

/*
 * A device that is gone or is being reset answers with ones, so this fails.  It also fails
 * once after a reset that it has not reported yet, as SYNC does for an open file.
 */
static int export_end_cpu_access(struct dma_buf *dmabuf,
				 enum dma_data_direction dir)
{
	struct p2pmem_export *x = dmabuf->priv;
	bool sound;
	u64 resets;
	int ret = 0;

	if (READ_ONCE(x->revoked) || !p2pmem_enter(x->region))
		return -ENODEV;
	if (dir != DMA_FROM_DEVICE)
		ret = p2pmem_flush(x->region);
	sound = p2pmem_is_sound(x->region, &resets);
	if (tells_of_reset(x, resets) || !sound)
		ret = -EIO;
	p2pmem_leave(x->region);
	return ret;
}

static void export_free(struct p2pmem_export *x)
{
	struct file *file = x->file;

	kvfree(x->ranges);
	kfree(x);
	fput(file);	/* may free the extents and the region's struct */
}

/*
 * No descriptor, attachment or mapping of the dma-buf is left.  Requests that importers
 * announced by fences may outlast their mappings.  So this waits for the fences, which
 * are certain to be signaled, and until then nobody else gets the memory.
 */
static void export_release(struct dma_buf *dmabuf)
{
	struct p2pmem_export *x = dmabuf->priv;
	struct p2pmem_region *r = x->region;

	dma_resv_wait_timeout(dmabuf->resv, DMA_RESV_USAGE_BOOKKEEP, false,
			      MAX_SCHEDULE_TIMEOUT);
	mutex_lock(&r->exports_lock);
	list_del(&x->link);
	mutex_unlock(&r->exports_lock);
	p2pmem_export_tell_end(x);
	export_free(x);
}

/* No vmap: the kernel must not use its memcpy() on device memory. */
static const struct dma_buf_ops export_ops = {
	.attach = p2pmem_dmabuf_attach,
	.detach = p2pmem_dmabuf_detach,
	.pin = p2pmem_dmabuf_pin,
	.unpin = p2pmem_dmabuf_unpin,
	.map_dma_buf = p2pmem_dmabuf_map,
	.unmap_dma_buf = p2pmem_dmabuf_unmap,
	.mmap = export_mmap,
	.begin_cpu_access = export_begin_cpu_access,
	.end_cpu_access = export_end_cpu_access,
	.release = export_release,
};

/*
 * An unknown root complex may drop requests of peers, and other traffic with them.  That
 * concerns the whole machine, so it takes CAP_SYS_RAWIO.
 */
static bool may_try_bridges(u32 flags)
{
	return !(flags & P2PMEM_EXPORT_ALLOW_UNLISTED) || capable(CAP_SYS_RAWIO);
}

static int check_request(struct p2pmem_file *f,
			 const struct p2pmem_export_dmabuf *req)
{
	u32 mode = req->fd_flags & O_ACCMODE;

	if (req->flags & ~P2PMEM_EXPORT_ALLOW_UNLISTED || req->reserved0)
		return -EINVAL;
	if (req->fd_flags & ~(O_ACCMODE | O_CLOEXEC) ||
	    (mode != O_RDONLY && mode != O_RDWR))
		return -EINVAL;
	if (!req->length || !PAGE_ALIGNED(req->file_offset | req->length))
		return -EINVAL;
	if (req->length > LLONG_MAX ||
	    req->file_offset > LLONG_MAX - req->length)
		return -EINVAL;
	if (!(f->filp->f_mode & FMODE_READ) ||
	    (mode == O_RDWR && !(f->filp->f_mode & FMODE_WRITE)))
		return -EACCES;
	return may_try_bridges(req->flags) ? 0 : -EPERM;
}

/*
 * The memory may be in many pieces, so it is looked up before the region is entered for
 * the export.
 */
static struct p2pmem_export *export_new(struct p2pmem_file *f,
					const struct p2pmem_export_dmabuf *req)
{
	struct p2pmem_export *x = kzalloc(sizeof(*x), GFP_KERNEL_ACCOUNT);
	struct p2pmem_range *ranges;

	if (!x)
		return ERR_PTR(-ENOMEM);
	p2pmem_export_tell_init(x);
	x->region = f->region;
	x->file_first = req->file_offset >> PAGE_SHIFT;
	x->flags = req->flags;
	x->writable = (req->fd_flags & O_ACCMODE) == O_RDWR;
	ranges = p2pmem_file_ranges(f, x->file_first, req->length >> PAGE_SHIFT, &x->nr_ranges);
	if (IS_ERR(ranges)) {
		kfree(x);
		return ERR_CAST(ranges);
	}
	x->ranges = ranges;
	x->file = get_file(f->filp);
	return x;
}

/*
 * Makes the dma-buf and puts the export on the list.  On failure @x still belongs to the
 * caller.
 */
static struct dma_buf *publish(struct p2pmem_export *x,
			       const struct p2pmem_export_dmabuf *req)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct p2pmem_region *r = x->region;
	struct dma_buf *dmabuf;

	lockdep_assert_held(&r->exports_lock);
	lockdep_assert_held(&r->gate);
	x->bus_offset = p2pmem_bus_address(r) - r->backing.phys;
	info.ops = &export_ops;
	info.exp_name = dev_name(&r->dev);	/* the open file keeps it */
	info.size = req->length;
	info.flags = req->fd_flags & O_ACCMODE;
	info.priv = x;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf))
		return dmabuf;
	/* Nobody can attach yet: the dma-buf has no descriptor. */
	x->revocable = p2pmem_file_lend(x->file->private_data, x->file_first,
					req->length >> PAGE_SHIFT);
	x->dmabuf = dmabuf;
	x->told_epoch = atomic64_read(&r->import_epoch);
	x->resets_seen = atomic64_read(&r->resets);
	dmabuf->file->f_mapping = r->export_inode->i_mapping;	/* where mappings are revoked */
	list_add_tail(&x->link, &r->exports);
	return dmabuf;
}

/*
 * Stays in the region until the export is on the list, so that a removal finds it there.
 * If a GPU's driver took memory back since @taken_back was read, this returns -ENXIO.
 */
static struct dma_buf *publish_in_gate(struct p2pmem_file *f, struct p2pmem_export *x,
				       const struct p2pmem_export_dmabuf *req, u64 taken_back)
{
	struct p2pmem_region *r = f->region;
	struct dma_buf *dmabuf = ERR_PTR(-ENODEV);
	unsigned int noio;

	mutex_lock(&r->exports_lock);
	if (p2pmem_enter(r)) {
		noio = memalloc_noio_save();	/* the dma-buf; gate.c says why */
		dmabuf = f->taken_back == taken_back ? publish(x, req) : ERR_PTR(-ENXIO);
		memalloc_noio_restore(noio);
		p2pmem_leave(r);
	}
	mutex_unlock(&r->exports_lock);
	return dmabuf;
}

static struct dma_buf *export_range(struct p2pmem_file *f,
				    const struct p2pmem_export_dmabuf *req)
{
	u64 taken_back = READ_ONCE(f->taken_back);
	struct p2pmem_export *x = export_new(f, req);
	struct dma_buf *dmabuf;

	if (IS_ERR(x))
		return ERR_CAST(x);
	dmabuf = publish_in_gate(f, x, req, taken_back);
	if (IS_ERR(dmabuf))
		export_free(x);
	return dmabuf;
}

/*
 * Returns a descriptor, which owns the dma-buf.  The descriptor is reserved first, because
 * an export changes what the file may pin later (p2pmem_file_lend()), and so must not fail.
 */
long p2pmem_dmabuf_export(struct p2pmem_file *f,
			  const struct p2pmem_export_dmabuf *req)
{
	struct dma_buf *dmabuf;
	long ret;
	int fd;

	ret = check_request(f, req);
	if (ret)
		return ret;
	ret = p2pmem_file_prepare(f, req->file_offset >> PAGE_SHIFT,
				  req->length >> PAGE_SHIFT);
	if (ret)
		return ret;
	fd = get_unused_fd_flags(req->fd_flags & O_CLOEXEC);
	if (fd < 0)
		return fd;
	dmabuf = export_range(f, req);
	if (IS_ERR(dmabuf)) {
		put_unused_fd(fd);
		return PTR_ERR(dmabuf);
	}
	fd_install(fd, dmabuf->file);
	return fd;
}

/* Exported memory stays where it is for as long as the dma-buf lives. */
static long locate(const struct p2pmem_export *x, struct p2pmem_locate_dmabuf *l)
{
	u64 skip = l->offset;
	unsigned int i;

	for (i = 0; i < x->nr_ranges; i++) {
		const struct p2pmem_range *range = &x->ranges[i];

		if (skip < range->bytes) {
			l->region_offset = range->phys - x->region->backing.phys + skip;
			l->length = range->bytes - skip;
			return 0;
		}
		skip -= range->bytes;
	}
	return -ENXIO;
}

/*
 * Compares the structs and not the names, because an export may outlive its region, and a
 * new region may get the same name.  dma_buf_put() may drop the last reference, since the
 * descriptor can be closed meanwhile.
 */
long p2pmem_dmabuf_locate(struct p2pmem_file *f, struct p2pmem_locate_dmabuf *l)
{
	struct dma_buf *dmabuf;
	long ret = -EINVAL;

	if (l->flags || l->reserved0 || !PAGE_ALIGNED(l->offset))
		return -EINVAL;
	dmabuf = dma_buf_get(l->dmabuf_fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	if (dmabuf->ops == &export_ops) {
		const struct p2pmem_export *x = dmabuf->priv;

		if (!p2pmem_enter(f->region)) {
			ret = -ENODEV;
		} else {
			if (x->region == f->region)
				ret = READ_ONCE(x->revoked) ? -ENODEV : locate(x, l);
			p2pmem_leave(f->region);
		}
	}
	dma_buf_put(dmabuf);
	return ret;
}

#define LOCK_TRIES	20

/*
 * Tries for the reservation lock.  The caller holds exports_lock, so it cannot wait for
 * as long as importers may keep that lock.  @tries is what is left for all exports.
 */
static bool lock_briefly(struct p2pmem_export *x, int *tries)
{
	lockdep_assert_held(&x->region->exports_lock);
	while (!dma_resv_trylock(x->dmabuf->resv)) {
		if (*tries <= 0)
			return false;
		(*tries)--;
		schedule_timeout_idle(1);
	}
	return true;
}

/*
 * Adds a line for each attachment: the fields of a holder, and the importing device.
 * While the reservation lock of a dma-buf is busy, its importers are left out.
 */
void p2pmem_importers_lines(struct p2pmem_region *r, struct p2pmem_lines *lines)
{
	struct dma_buf_attachment *attach;
	struct p2pmem_export *x;
	int tries = LOCK_TRIES;

	mutex_lock(&r->exports_lock);
	list_for_each_entry(x, &r->exports, link) {
		if (!lock_briefly(x, &tries))
			continue;
		list_for_each_entry(attach, &x->dmabuf->attachments, node) {
			struct p2pmem_attachment *a = attach->priv;
			size_t pages = a->maps ? x->dmabuf->size >> PAGE_SHIFT : 0;
			struct p2pmem_shown who;

			p2pmem_who_show(&a->who, lines->reader, &who);
			p2pmem_lines_add(lines, "%d %s %zu %zu %s\n", who.pid, who.name,
					 x->dmabuf->size, pages, dev_name(attach->dev));
		}
		dma_resv_unlock(x->dmabuf->resv);
	}
	mutex_unlock(&r->exports_lock);
}

MODULE_IMPORT_NS(COMPAT_NS_DMA_BUF);
