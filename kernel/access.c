// SPDX-License-Identifier: GPL-2.0
/*
 * The CPU's access to the memory of an open file without a mapping: read(), write() and
 * P2PMEM_IOC_COPY.  If a mapping is revoked under a program's loads and stores, the
 * program gets SIGBUS.  These calls return an error instead.  They also fail if the bytes
 * that they read may not be valid: a device that was reset or is gone answers with ones.
 *
 * The caller is in the region for one page at a time, so a removal waits for no more than
 * that.  It is never in the region while it touches the caller's memory.
 */
#include <linux/file.h>
#include <linux/freezer.h>
#include <linux/fs.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>

#include <asm/cacheflush.h>

#include "access.h"
#include "backing.h"
#include "extent.h"
#include "gate.h"
#include "p2pmem.h"
#include "range.h"

static bool words_fit(const void *a, const void *b)
{
	return IS_ALIGNED((unsigned long)a | (unsigned long)b, sizeof(u64));
}

/*
 * Moves eight bytes at a time, like p2pmem_zero_granule().  It moves single bytes until
 * both addresses are aligned, and moves nothing but single bytes if they never are.
 */
static void move_up(u8 *to, const u8 *from, size_t bytes)
{
	for (; bytes && !words_fit(to, from); bytes--)
		WRITE_ONCE(*to++, READ_ONCE(*from++));
	for (; bytes >= sizeof(u64); bytes -= sizeof(u64)) {
		WRITE_ONCE(*(u64 *)to, READ_ONCE(*(const u64 *)from));
		to += sizeof(u64);
		from += sizeof(u64);
	}
	for (; bytes; bytes--)
		WRITE_ONCE(*to++, READ_ONCE(*from++));
}

/* Does the same from the end, for ranges that overlap. */
static void move_down(u8 *to, const u8 *from, size_t bytes)
{
	to += bytes;
	from += bytes;
	for (; bytes && !words_fit(to, from); bytes--)
		WRITE_ONCE(*--to, READ_ONCE(*--from));
	for (; bytes >= sizeof(u64); bytes -= sizeof(u64)) {
		to -= sizeof(u64);
		from -= sizeof(u64);
		WRITE_ONCE(*(u64 *)to, READ_ONCE(*(const u64 *)from));
	}
	for (; bytes; bytes--)
		WRITE_ONCE(*--to, READ_ONCE(*--from));
}

/*
 * Enters both regions, always in the order of their numbers.  Otherwise two copies could
 * deadlock, because a removal that waits for a gate lets nobody in any more.
 */
static bool enter_both(struct p2pmem_region *a, struct p2pmem_region *b)
{
	if (a == b)
		return p2pmem_enter(a);
	if (a->id > b->id)
		swap(a, b);
	if (!p2pmem_enter(a))
		return false;
	if (p2pmem_enter_second(b))
		return true;
	p2pmem_leave(a);
	return false;
}

static void leave_both(struct p2pmem_region *a, struct p2pmem_region *b)
{
	p2pmem_leave(a);
	if (a != b)
		p2pmem_leave(b);
}

/*
 * Enters both regions when neither device is being reset.  A reset that p2pmem is told of
 * then waits until the caller has left them.
 */
static int enter_at_rest(struct p2pmem_region *a, struct p2pmem_region *b)
{
	for (;;) {
		if (p2pmem_await_reset(a) || p2pmem_await_reset(b))
			return -EINTR;
		if (!enter_both(a, b))
			return -ENODEV;
		if (!READ_ONCE(a->resetting) && !READ_ONCE(b->resetting))
			return 0;
		leave_both(a, b);
	}
}

/*
 * Finds the granule of the region behind granule @at of the file, and makes it visible.
 * The result holds until the caller leaves the region.  Returns -ENXIO if the file owns
 * nothing there, and -EIO if the device was reset or is gone.
 */
static int find_visible(struct p2pmem_file *f, u64 at, u64 *granule)
{
	struct p2pmem_span span;

	if (!p2pmem_file_find(f, at, &span))
		return -ENXIO;
	*granule = p2pmem_span_at(&span, at);
	return p2pmem_make_visible(f, *granule, 1) ? -EIO : 0;
}

/* Enters the region of an open file and finds the granule behind granule @at of the file. */
static int enter_at(struct p2pmem_file *f, u64 at, u64 *granule)
{
	struct p2pmem_region *r = f->region;
	int ret = enter_at_rest(r, r);

	if (ret)
		return ret;
	ret = find_visible(f, at, granule);
	if (ret)
		p2pmem_leave(r);
	return ret;
}

/* Gives memory to those parts of the range that have none, as mmap() does. */
static int back(struct p2pmem_file *f, u64 offset, u64 bytes)
{
	u64 first = offset >> PAGE_SHIFT;
	u64 end = (offset + bytes + PAGE_SIZE - 1) >> PAGE_SHIFT;

	return p2pmem_file_back_settled(f, first, end - first);
}

/*
 * While a device is being reset or is gone, loads from it mean nothing and stores to it
 * are lost.  Checks that it is there, and that no reset came after the count was @before.
 */
static int check_device(struct p2pmem_region *r, u64 before)
{
	u64 resets;
	bool sound;

	if (!p2pmem_enter(r))
		return -ENODEV;
	sound = p2pmem_is_sound(r, &resets);
	p2pmem_leave(r);
	return sound && resets == before ? 0 : -EIO;
}

/* --- read() and write() --- */

/*
 * A persistent region takes O_DSYNC and RWF_DSYNC as a disk does: the same barrier as that of
 * P2PMEM_SYNC_DURABLE.
 */
static int make_durable(struct p2pmem_region *r, const struct kiocb *iocb)
{
	int ret;

	if (!r->persistent || !iocb_is_dsync(iocb))
		return 0;
	if (!p2pmem_enter(r))
		return -ENODEV;
	ret = p2pmem_flush(r);
	p2pmem_leave(r);
	return ret;
}

/*
 * Moves the caller's bytes page by page, after @own has given the range to the file, and runs
 * @end, unless that is NULL, once any have been moved.
 */
static ssize_t move(struct kiocb *iocb, struct iov_iter *iter,
		    int (*own)(struct p2pmem_file *f, u64 offset, u64 bytes),
		    int (*move_page)(struct p2pmem_file *f, struct kiocb *iocb,
				     void *page, struct iov_iter *iter),
		    int (*end)(struct p2pmem_region *r, const struct kiocb *iocb))
{
	struct p2pmem_file *f = iocb->ki_filp->private_data;
	loff_t start = iocb->ki_pos;
	void *page;
	u64 resets;
	int ret;

	if (!iov_iter_count(iter))
		return 0;
	ret = p2pmem_await_counted(f->region, &resets) ?: own(f, start, iov_iter_count(iter));
	if (ret)
		return ret == -EINTR ? -ERESTARTSYS : ret;	/* nothing was moved */
	page = (void *)__get_free_page(GFP_KERNEL_ACCOUNT);
	if (!page)
		return -ENOMEM;
	while (!ret && iov_iter_count(iter)) {
		ret = move_page(f, iocb, page, iter);
		/*
		 * As with a memfd or a disk, neither a signal that the program handles nor work of
		 * its rings cuts a call short.  A suspend waits for nobody.
		 */
		if (fatal_signal_pending(current) || freezing(current))
			ret = ret ?: -EINTR;
		cond_resched();
	}
	free_page((unsigned long)page);
	if (iocb->ki_pos == start)
		return ret;
	ret = end ? end(f->region, iocb) : 0;
	return ret ?: check_device(f->region, resets) ?: iocb->ki_pos - start;
}

/*
 * Handles a read where the file owns nothing.  Volatile memory reads as zero there, up to
 * the end of the region.  Beyond that, and in regions that are persistent or whose memory
 * is pinned, the file ends.
 */
static int load_hole(struct p2pmem_region *r, u64 offset, void *to, size_t bytes)
{
	if (r->persistent || r->provider->pinned || offset >= r->backing.bytes)
		return -ENXIO;
	memset(to, 0, bytes);
	return 0;
}

static int load(struct p2pmem_file *f, u64 offset, void *to, size_t bytes)
{
	struct p2pmem_region *r = f->region;
	u64 granule;
	int ret = enter_at(f, offset >> PAGE_SHIFT, &granule);

	if (ret == -ENXIO)
		return load_hole(r, offset, to, bytes);
	if (ret)
		return ret;
	move_up(to, p2pmem_kaddr(r, granule) + offset_in_page(offset), bytes);
	p2pmem_count(r, read_bytes, bytes);
	p2pmem_leave(r);
	return 0;
}

/* How many of @count bytes from @offset on lie in the same page. */
static size_t part_of_page(u64 offset, size_t count)
{
	return min_t(size_t, count, PAGE_SIZE - offset_in_page(offset));
}

static int read_page(struct p2pmem_file *f, struct kiocb *iocb, void *page, struct iov_iter *to)
{
	size_t bytes = part_of_page(iocb->ki_pos, iov_iter_count(to)), copied;
	void *at = page + offset_in_page(iocb->ki_pos);
	int ret = load(f, iocb->ki_pos, at, bytes);

	if (ret)
		return ret;
	copied = copy_to_iter(at, bytes, to);
	iocb->ki_pos += copied;
	return copied < bytes ? -EFAULT : 0;
}

/*
 * A read of a persistent region first gives the range to the file.  So the region reads
 * like a disk, but only to its owner.
 */
static int own_what_is_read(struct p2pmem_file *f, u64 offset, u64 bytes)
{
	u64 end = f->region->backing.bytes;

	if (!f->region->persistent || offset >= end)
		return 0;
	return back(f, offset, min(bytes, end - offset));
}

ssize_t p2pmem_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	ssize_t ret = move(iocb, to, own_what_is_read, read_page, NULL);

	/* -ENXIO before the first byte means the end of the file. */
	return ret == -ENXIO ? 0 : ret;
}

static int store(struct p2pmem_file *f, u64 offset, const void *from, size_t bytes)
{
	struct p2pmem_region *r = f->region;
	u64 granule;
	int ret = enter_at(f, offset >> PAGE_SHIFT, &granule);
	void *to;

	if (ret)
		return ret;
	to = p2pmem_kaddr(r, granule) + offset_in_page(offset);
	move_up(to, from, bytes);
	p2pmem_count(r, written_bytes, bytes);
	/* A peer's read of the device does not look into our cache. */
	if (r->backing.memtype == P2PMEM_MEMTYPE_WB)
		clflush_cache_range(to, bytes);
	p2pmem_stores_arrive(r, granule);
	p2pmem_leave(r);
	return 0;
}

static int write_page(struct p2pmem_file *f, struct kiocb *iocb, void *page, struct iov_iter *from)
{
	size_t bytes = part_of_page(iocb->ki_pos, iov_iter_count(from));
	void *at = page + offset_in_page(iocb->ki_pos);
	int ret;

	bytes = copy_from_iter(at, bytes, from);
	if (!bytes)
		return -EFAULT;
	ret = store(f, iocb->ki_pos, at, bytes);
	if (!ret)
		iocb->ki_pos += bytes;
	return ret;
}

ssize_t p2pmem_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	return move(iocb, from, back, write_page, make_durable);
}

/* --- P2PMEM_IOC_COPY --- */

struct copy_job {
	struct p2pmem_file *to, *from;
	u64 to_offset, from_offset;
	u64 length;
	bool down;		/* the ranges overlap in one file: copy from the end */
};

/*
 * How many bytes to copy next, at the beginning of the job or at its end.  They lie in
 * one page of the source and in one page of the target.
 */
static size_t next_part(const struct copy_job *job)
{
	u64 to = job->to_offset, from = job->from_offset;

	if (!job->down)
		return part_of_page(to, part_of_page(from, min_t(u64, job->length, PAGE_SIZE)));
	to = offset_in_page(to + job->length - 1) + 1;
	from = offset_in_page(from + job->length - 1) + 1;
	return min3(to, from, job->length);
}

/* The caller is in both regions, and both granules are visible. */
static void move_part(const struct copy_job *job, void *target, const void *source, size_t bytes)
{
	struct p2pmem_region *to = job->to->region, *from = job->from->region;

	if (job->down)
		move_down(target, source, bytes);
	else
		move_up(target, source, bytes);
	p2pmem_count(from, read_bytes, bytes);
	p2pmem_count(to, written_bytes, bytes);
	if (to->backing.memtype == P2PMEM_MEMTYPE_WB)
		clflush_cache_range(target, bytes);
}

static int copy_part(const struct copy_job *job, u64 to_offset, u64 from_offset, size_t bytes)
{
	struct p2pmem_region *to = job->to->region, *from = job->from->region;
	u64 to_granule, from_granule;
	int ret = enter_at_rest(to, from);

	if (ret)
		return ret;
	ret = find_visible(job->from, from_offset >> PAGE_SHIFT, &from_granule) ?:
	      find_visible(job->to, to_offset >> PAGE_SHIFT, &to_granule);
	if (!ret) {
		move_part(job, p2pmem_kaddr(to, to_granule) + offset_in_page(to_offset),
			  p2pmem_kaddr(from, from_granule) + offset_in_page(from_offset), bytes);
		p2pmem_stores_arrive(to, to_granule);
	}
	leave_both(to, from);
	return ret;
}

static int copy_all(struct copy_job *job)
{
	int ret = 0;

	while (job->length && !ret) {
		size_t bytes = next_part(job);
		u64 skip = job->down ? job->length - bytes : 0;

		ret = copy_part(job, job->to_offset + skip, job->from_offset + skip, bytes);
		if (!job->down) {
			job->to_offset += bytes;
			job->from_offset += bytes;
		}
		job->length -= bytes;
		try_to_freeze();	/* a suspend does not wait for the rest */
		/*
		 * Restarting a copy between overlapping ranges would corrupt the data, so
		 * only a fatal signal ends it.
		 */
		if (!ret && fatal_signal_pending(current) && job->length)
			ret = -EINTR;
		cond_resched();
	}
	return ret;
}

static int copy_checked(struct copy_job *job)
{
	struct p2pmem_region *to = job->to->region, *from = job->from->region;
	u64 to_resets, from_resets;

	return p2pmem_await_counted(to, &to_resets) ?: p2pmem_await_counted(from, &from_resets) ?:
	       back(job->to, job->to_offset, job->length) ?: copy_all(job) ?:
	       check_device(to, to_resets) ?: check_device(from, from_resets);
}

static bool range_is_odd(u64 offset, u64 length)
{
	return length > LLONG_MAX || offset > LLONG_MAX - length;
}

long p2pmem_copy(struct p2pmem_file *to, const struct p2pmem_copy *req)
{
	struct copy_job job = {
		.to = to,
		.to_offset = req->to_offset,
		.from_offset = req->from_offset,
		.length = req->length,
	};
	struct file *from;
	long ret;

	if (req->flags || req->reserved0 || range_is_odd(req->to_offset, req->length) ||
	    range_is_odd(req->from_offset, req->length))
		return -EINVAL;
	from = fget(req->from_fd);
	if (!from)
		return -EBADF;
	job.from = from->private_data;
	ret = -EINVAL;
	if (from->f_op->read_iter != p2pmem_read_iter)
		goto out_put;
	ret = -EACCES;
	if (!(from->f_mode & FMODE_READ) || !(to->filp->f_mode & FMODE_WRITE))
		goto out_put;
	job.down = job.from == to && req->to_offset > req->from_offset &&
		   req->to_offset - req->from_offset < req->length;
	ret = req->length ? copy_checked(&job) : 0;
out_put:
	fput(from);
	return ret;
}
