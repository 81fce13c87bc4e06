// SPDX-License-Identifier: GPL-2.0
/* /dev/p2pmemN: open, close and the ioctls. */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "access.h"
#include "buffer.h"
#include "bytes.h"
#include "chardev.h"
#include "dmabuf.h"
#include "extent.h"
#include "files.h"
#include "folio.h"
#include "gate.h"
#include "gib.h"
#include "ioctl.h"
#include "mmap.h"
#include "p2pmem.h"
#include "pins.h"
#include "probe.h"
#include "reap.h"
#include "registry.h"
#include "take.h"
#include "who.h"

/*
 * The user for whom the bytes of the memory are kept.  A uid says who that is only in the
 * initial user namespace.  In others it stands for as many parties as there are
 * containers that map it, so nothing is kept for files opened there.  Nor is it for files
 * that may see the bytes of all users (admit() in take.c): a program of the same uid
 * without the capability would get those bytes next.
 */
static u32 current_owner(void)
{
	if (current_user_ns() != &init_user_ns ||
	    ns_capable_noaudit(&init_user_ns, CAP_SYS_RAWIO))
		return P2PMEM_BYTES_UNKNOWN;
	return from_kuid(&init_user_ns, current_fsuid());
}

/*
 * In persistent memory no other place can stand in for a busy one.  So a program that
 * follows another one waits here for the pins of that program, and not in mmap().
 */
static void await_places(struct p2pmem_region *r, const struct file *filp)
{
	unsigned long asked = jiffies;

	if (!r->persistent || filp->f_flags & O_NONBLOCK)
		return;
	while (p2pmem_settle(r, asked))
		;
}

static int p2pmem_open(struct inode *inode, struct file *filp)
{
	struct p2pmem_region *r = container_of(inode->i_cdev,
					       struct p2pmem_region, cdev);
	struct p2pmem_file *f;

	if (!p2pmem_region_is_published(r))
		return -ENODEV;
	await_places(r, filp);
	if (r->provider->pinned)
		p2pmem_pins_put_mine(r);
	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	f->region = r;
	f->filp = filp;
	f->extents = RB_ROOT;
	f->owner = current_owner();
	p2pmem_who_is_current(&f->who);
	mutex_init(&f->back_lock);
	mutex_init(&f->lock);

	if (!p2pmem_enter(r)) {
		kfree(f);
		return -ENODEV;
	}
	f->resets_seen = p2pmem_revalidate(r);
	p2pmem_files_join(f);
	p2pmem_leave(r);
	get_device(&r->dev);
	filp->private_data = f;
	filp->f_mapping = r->inode->i_mapping;
	if (r->provider->ready && p2pmem_await_counted(r, &f->resets_seen))
		f->resets_seen = U64_MAX;
	return 0;
}

/* No descriptor and no mapping of the file is left; pins may be. */
static int p2pmem_release(struct inode *inode, struct file *filp)
{
	struct p2pmem_file *f = filp->private_data;
	struct p2pmem_region *r = f->region;

	p2pmem_extents_release(f);
	p2pmem_pins_put_mine(r);
	p2pmem_files_leave(f);
	wake_up_all(&r->wait);
	put_device(&r->dev);
	return 0;
}

/* Lets a program find the size of a region as it finds that of a disk. */
static loff_t p2pmem_llseek(struct file *filp, loff_t offset, int whence)
{
	struct p2pmem_file *f = filp->private_data;

	return fixed_size_llseek(filp, offset, whence, f->region->backing.bytes);
}

static long ioc_info(void *object, void *arg)
{
	struct p2pmem_region *r = ((struct p2pmem_file *)object)->region;
	struct p2pmem_info *info = arg;

	if (!p2pmem_enter(r))
		return -ENODEV;
	memset(info, 0, sizeof(*info));
	info->resets = p2pmem_revalidate(r);
	info->flags = r->persistent ? P2PMEM_REGION_PERSISTENT : 0;
	if (COMPAT_HAS_FOLIOS && p2pmem_unit(r) <= P2PMEM_CHUNK && !p2pmem_is_pmem(r) &&
	    (r->folio_order || p2pmem_has_shapes(r)))
		info->flags |= P2PMEM_REGION_FOLIOS;
	if (READ_ONCE(r->revocable))
		info->flags |= P2PMEM_REGION_REVOCABLE;
	info->region_bytes = r->backing.bytes;
	info->available_bytes = p2pmem_available_bytes(r);
	info->bus_address = p2pmem_bus_address(r);
	info->granule_bytes = PAGE_SIZE;
	info->folio_bytes = p2pmem_unit(r) << PAGE_SHIFT;
	info->kind = r->provider->kind;
	info->page_type = r->backing.type;
	info->memtype = r->backing.memtype;
	info->state = r->state;
	info->pci_domain = pci_domain_nr(r->pdev->bus);
	info->pci_bus = r->pdev->bus->number;
	info->pci_devfn = r->pdev->devfn;
	info->bar = r->bar;
	strscpy(info->name, dev_name(&r->dev), sizeof(info->name));
	p2pmem_leave(r);
	if (r->provider->ready)
		p2pmem_await_counted(r, &info->resets);
	return 0;
}

static u32 status_of(struct p2pmem_region *r)
{
	return READ_ONCE(r->finished) ? P2PMEM_STATE_GONE : READ_ONCE(r->state);
}

/* Takes no lock, and so works while the region is drained. */
static long ioc_status(void *object, void *arg)
{
	struct p2pmem_region *r = ((struct p2pmem_file *)object)->region;
	struct p2pmem_status *status = arg;

	status->state = status_of(r);
	status->resets = atomic64_read(&r->resets);
	return 0;
}

/*
 * Tells programs that hold memory of the region when to let go of it.  read() and write()
 * never wait for bytes to come, and a ring calls them only once this has said so.
 */
static __poll_t p2pmem_poll(struct file *filp, struct poll_table_struct *table)
{
	const __poll_t ready = EPOLLIN | EPOLLRDNORM | EPOLLOUT | EPOLLWRNORM;
	struct p2pmem_file *f = filp->private_data;

	poll_wait(filp, &f->region->wait, table);
	switch (status_of(f->region)) {
	case P2PMEM_STATE_READY:
		return ready;
	case P2PMEM_STATE_DRAINING:
		return ready | EPOLLPRI;
	case P2PMEM_STATE_QUARANTINED:
		return ready | EPOLLPRI | EPOLLERR;
	default:
		return ready | EPOLLPRI | EPOLLERR | EPOLLHUP;
	}
}

static long ioc_claim(void *object, void *arg)
{
	struct p2pmem_file *f = object;
	struct p2pmem_region *r = f->region;
	struct p2pmem_claim *c = arg;
	unsigned long asked = jiffies;
	int ret;

	if (r->provider->pinned || p2pmem_is_pmem(r))
		return -EOPNOTSUPP;
	if (c->flags || !c->length ||
	    !PAGE_ALIGNED(c->region_offset | c->length | c->file_offset))
		return -EINVAL;
	if (c->file_offset > LLONG_MAX - c->length)
		return -EINVAL;
	if (r->persistent && c->file_offset != c->region_offset)
		return -EINVAL;
	if (!IS_ALIGNED((c->file_offset ^ c->region_offset) >> PAGE_SHIFT, p2pmem_unit(r)))
		return -EINVAL;
	if (c->region_offset > r->backing.bytes ||
	    c->length > r->backing.bytes - c->region_offset)
		return -ENXIO;
	do {
		ret = p2pmem_file_claim(f, c->file_offset >> PAGE_SHIFT,
					c->length >> PAGE_SHIFT,
					c->region_offset >> PAGE_SHIFT);
	} while (ret == -EBUSY && p2pmem_settle(r, asked));
	return ret ?: p2pmem_await_ready(r);
}

/* A file can only sync a range that it owns. */
static int check_sync_range(struct p2pmem_file *f, struct p2pmem_sync *s)
{
	u64 first = s->file_offset >> PAGE_SHIFT, last;

	if (!s->length)
		return s->file_offset ? -EINVAL : 0;
	if (s->length > LLONG_MAX || s->file_offset > LLONG_MAX - s->length)
		return -EINVAL;
	last = (s->file_offset + s->length - 1) >> PAGE_SHIFT;
	return p2pmem_file_walk(f, first, last - first + 1, NULL, NULL);
}

/*
 * The barrier works on the device as a whole.  This fails once if a reset was counted since
 * the last call for this file, or since its open.
 */
static int sync_device(struct p2pmem_file *f)
{
	struct p2pmem_region *r = f->region;
	int ret, ready;
	bool was_reset;
	u64 resets;

	if (!p2pmem_enter(r))
		return -ENODEV;
	ret = p2pmem_flush(r);
	if (!p2pmem_is_sound(r, &resets))
		ret = -EIO;
	was_reset = resets != READ_ONCE(f->resets_seen);
	p2pmem_leave(r);
	/*
	 * The flush has shown that the device is ready and was not reset, and asking again
	 * would be a second barrier.
	 */
	if (!ret && !was_reset)
		return 0;
	/* What the caller writes next must not be lost. */
	ready = p2pmem_await_counted(r, &resets);
	if (ready == -EINTR)
		return ready;	/* killed: others who have the file are still to be told */
	/*
	 * If two callers race, both may report the reset; that is better than neither.  While
	 * the memory is not ready, what is written is lost, and the next call has to say so.
	 */
	WRITE_ONCE(f->resets_seen, ready ? U64_MAX : resets);
	return ready ?: -EIO;
}

static long ioc_sync(void *object, void *arg)
{
	struct p2pmem_file *f = object;
	struct p2pmem_sync *s = arg;

	if (s->flags & ~P2PMEM_SYNC_DURABLE)
		return -EINVAL;
	if (s->flags & P2PMEM_SYNC_DURABLE && !f->region->persistent)
		return -EOPNOTSUPP;
	return check_sync_range(f, s) ?: sync_device(f);
}

/* Also called for msync(MS_SYNC) of a shared mapping.  Nothing is cached that a range could limit. */
static int p2pmem_fsync(struct file *filp, loff_t start, loff_t end, int datasync)
{
	return sync_device(filp->private_data);
}

static long ioc_probe(void *object, void *arg)
{
	struct p2pmem_file *f = object;
	struct p2pmem_probe *probe = arg;

	if (probe->flags || probe->reserved0)
		return -EINVAL;
	return p2pmem_probe(f->region, probe);
}

static long ioc_export(void *object, void *arg)
{
	return p2pmem_dmabuf_export(object, arg);
}

static long ioc_copy(void *object, void *arg)
{
	return p2pmem_copy(object, arg);
}

static long ioc_locate(void *object, void *arg)
{
	struct p2pmem_file *f = object;
	struct p2pmem_locate *l = arg;
	u64 granule = l->file_offset >> PAGE_SHIFT;
	struct p2pmem_span span;
	bool found;

	if (l->flags || !PAGE_ALIGNED(l->file_offset))
		return -EINVAL;
	if (!p2pmem_enter(f->region))
		return -ENODEV;
	found = p2pmem_file_find(f, granule, &span);
	p2pmem_leave(f->region);
	if (!found)
		return -ENXIO;
	l->region_offset = p2pmem_span_at(&span, granule) << PAGE_SHIFT;
	l->length = (span.count - (granule - span.file_first)) << PAGE_SHIFT;
	return 0;
}

static long ioc_locate_dmabuf(void *object, void *arg)
{
	return p2pmem_dmabuf_locate(object, arg);
}

static long ioc_pin_gpu(void *object, void *arg)
{
	return p2pmem_pin_gpu(object, arg);
}

static const struct p2pmem_ioctl file_table[] = {
	{ P2PMEM_IOC_INFO, offsetof(struct p2pmem_info, folio_bytes),
	  sizeof(struct p2pmem_info), P2PMEM_ANSWER_NEEDED, ioc_info },
	{ P2PMEM_IOC_CLAIM, sizeof(struct p2pmem_claim),
	  sizeof(struct p2pmem_claim), P2PMEM_ANSWER_NONE, ioc_claim },
	{ P2PMEM_IOC_SYNC, sizeof(struct p2pmem_sync),
	  sizeof(struct p2pmem_sync), P2PMEM_ANSWER_NONE, ioc_sync },
	{ P2PMEM_IOC_PROBE_PEER, sizeof(struct p2pmem_probe),
	  sizeof(struct p2pmem_probe), P2PMEM_ANSWER_NEEDED, ioc_probe },
	{ P2PMEM_IOC_EXPORT_DMABUF, sizeof(struct p2pmem_export_dmabuf),
	  sizeof(struct p2pmem_export_dmabuf), P2PMEM_ANSWER_NONE, ioc_export },
	{ P2PMEM_IOC_STATUS, sizeof(struct p2pmem_status),
	  sizeof(struct p2pmem_status), P2PMEM_ANSWER_NEEDED, ioc_status },
	{ P2PMEM_IOC_COPY, sizeof(struct p2pmem_copy),
	  sizeof(struct p2pmem_copy), P2PMEM_ANSWER_NONE, ioc_copy },
	{ P2PMEM_IOC_LOCATE, sizeof(struct p2pmem_locate),
	  sizeof(struct p2pmem_locate), P2PMEM_ANSWER_NEEDED, ioc_locate },
	{ P2PMEM_IOC_LOCATE_DMABUF, sizeof(struct p2pmem_locate_dmabuf),
	  sizeof(struct p2pmem_locate_dmabuf), P2PMEM_ANSWER_NEEDED, ioc_locate_dmabuf },
	{ P2PMEM_IOC_PIN_GPU, sizeof(struct p2pmem_pin_gpu),
	  sizeof(struct p2pmem_pin_gpu), P2PMEM_ANSWER_REASON, ioc_pin_gpu },
};

static long p2pmem_file_ioctl(struct file *filp, unsigned int cmd,
			      unsigned long arg)
{
	return p2pmem_ioctl_dispatch(file_table, ARRAY_SIZE(file_table),
				     filp->private_data, cmd,
				     (void __user *)arg);
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
/*
 * Prefers an address at which chunks of the file are aligned as they are in physical
 * memory.  It is only a hint: a mapping at any other address gets single pages.
 */
static unsigned long p2pmem_get_unmapped_area(struct file *filp,
					      unsigned long addr,
					      unsigned long len,
					      unsigned long pgoff,
					      unsigned long flags)
{
	struct p2pmem_file *f = filp->private_data;

	if (COMPAT_HAS_PUDS && p2pmem_unit(f->region) > P2PMEM_CHUNK)
		return p2pmem_gib_area(filp, addr, len, pgoff, flags);
	return thp_get_unmapped_area(filp, addr, len,
				     pgoff + p2pmem_chunk_skew(f->region), flags);
}
#else
#define p2pmem_get_unmapped_area NULL
#endif

const struct file_operations p2pmem_fops = {
	.owner = THIS_MODULE,
	.open = p2pmem_open,
	.release = p2pmem_release,
	.llseek = p2pmem_llseek,
	.read_iter = p2pmem_read_iter,
	.write_iter = p2pmem_write_iter,
	.fsync = p2pmem_fsync,
	.poll = p2pmem_poll,
	.mmap = p2pmem_mmap,
	.get_unmapped_area = p2pmem_get_unmapped_area,
	COMPAT_URING_CMD(p2pmem_uring_cmd)
	.unlocked_ioctl = p2pmem_file_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};
