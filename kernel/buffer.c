// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of an open file as a fixed buffer of an io_uring, without page tables:
 * the ring asks the file for it (P2PMEM_URING_BUFFER) instead of looking up
 * and pinning each page of a mapping.
 *
 * The buffer has a reference to each folio, as a pin has, and drops it when the
 * buffer is unregistered or the ring closed, and no request uses it any more.
 * So whatever waits for pins waits for it, whoever names holders names it, and
 * when the file is closed its extents stay on the draining list, which holds
 * region and module, until the ring has let go.
 */
#include <linux/bvec.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "p2pmem.h"
#include "trace.h"

#if COMPAT_HAS_RING_BUFFERS

struct p2pmem_buffer {
	unsigned int region;	/* its number: of an ended one nothing else is left */
	unsigned int pieces;
	u64 bytes;
	struct bio_vec piece[];
};

/* Adds a reference to each folio of a piece, or drops one.  Their shapes stay meanwhile. */
static void refer(struct page *page, u64 bytes, bool adds)
{
	struct page *end = page + (bytes >> PAGE_SHIFT);

	while (page < end) {
		struct folio *folio = page_folio(page);

		page += folio_nr_pages(folio) - folio_page_idx(folio, page);
		if (adds)
			folio_get(folio);
		else
			folio_put(folio);
	}
}

/*
 * No request uses the buffer any more.  With the last reference the module may
 * go: p2pmem_exit() waits for who is still in here.
 */
static void let_go(void *data)
{
	struct p2pmem_buffer *buffer = data;
	struct bio_vec last = buffer->piece[--buffer->pieces];
	unsigned int i;

	trace_p2pmem_unpin(buffer->region, P2PMEM_PINNER_RING, buffer->bytes);
	for (i = 0; i < buffer->pieces; i++)
		refer(buffer->piece[i].bv_page, buffer->piece[i].bv_len, false);
	kvfree(buffer);
	refer(last.bv_page, last.bv_len, false);
}

/* A piece ends with its chunk: others count on none that is larger than a folio. */
static u64 piece_bytes(phys_addr_t phys, phys_addr_t end)
{
	return min_t(u64, end, round_down(phys, PMD_SIZE) + PMD_SIZE) - phys;
}

static unsigned int count_pieces(const struct p2pmem_range *ranges,
				 unsigned int nr_ranges)
{
	unsigned int i, n = 0;

	for (i = 0; i < nr_ranges; i++) {
		phys_addr_t at = ranges[i].phys, end = at + ranges[i].bytes;

		for (; at < end; at += piece_bytes(at, end))
			n++;
	}
	return n;
}

static struct p2pmem_buffer *buffer_from(const struct p2pmem_range *ranges,
					 unsigned int nr_ranges)
{
	struct p2pmem_buffer *buffer;
	unsigned int i;

	buffer = kvzalloc(struct_size(buffer, piece,
				      count_pieces(ranges, nr_ranges)),
			  GFP_KERNEL_ACCOUNT);
	for (i = 0; buffer && i < nr_ranges; i++) {
		phys_addr_t at = ranges[i].phys, end = at + ranges[i].bytes;

		for (; at < end; at += piece_bytes(at, end)) {
			struct page *page = pfn_to_page(PHYS_PFN(at));

			refer(page, piece_bytes(at, end), true);
			bvec_set_page(&buffer->piece[buffer->pieces++], page,
				      piece_bytes(at, end), 0);
		}
	}
	return buffer;
}

/*
 * The gate is open, so that a removal finds the references.  What a GPU's driver may
 * take away must not be held for good.
 */
static struct p2pmem_buffer *buffer_new(struct p2pmem_file *f, u64 first,
					u64 count)
{
	unsigned int n = p2pmem_file_ranges(f, first, count, NULL);
	struct p2pmem_range *ranges;
	struct p2pmem_buffer *buffer;

	lockdep_assert_held(&f->region->gate);
	if (!n)
		return ERR_PTR(-ENXIO);
	if (p2pmem_file_is_revocable(f, first, count))
		return ERR_PTR(-EOPNOTSUPP);
	ranges = kvcalloc(n, sizeof(*ranges), GFP_KERNEL);
	if (!ranges)
		return NULL;
	n = p2pmem_file_ranges(f, first, count, ranges);
	buffer = buffer_from(ranges, n);
	kvfree(ranges);
	if (!buffer)
		return NULL;
	buffer->region = f->region->id;
	buffer->bytes = count << PAGE_SHIFT;
	trace_p2pmem_pin(buffer->region, P2PMEM_PINNER_RING, buffer->bytes);
	return buffer;
}

/*
 * P2PDMA pages are only for queues that say so, which get_user_pages() is asked
 * and a ring's buffer is not.  The type stays while the file is open.
 */
static int check_type(struct p2pmem_region *r)
{
	bool fit;

	if (!p2pmem_enter(r))
		return -ENODEV;
	fit = r->backing.type == P2PMEM_PAGES_GENERIC;
	p2pmem_leave(r);
	return fit ? 0 : -EOPNOTSUPP;
}

static struct p2pmem_buffer *take(struct p2pmem_file *f, u64 first, u64 count)
{
	struct p2pmem_buffer *buffer;

	if (!p2pmem_enter(f->region))
		return ERR_PTR(-ENODEV);
	buffer = buffer_new(f, first, count);
	p2pmem_leave(f->region);
	return buffer ?: ERR_PTR(-ENOMEM);
}

/* What requests may do with it: as with a mapping of the file. */
static u8 directions(const struct p2pmem_file *f)
{
	return (f->filp->f_mode & FMODE_READ ? IO_BUF_SOURCE : 0) |
	       (f->filp->f_mode & FMODE_WRITE ? IO_BUF_DEST : 0);
}

/*
 * Backing and zeroing wait, as an ioctl would: not with the ring's lock held,
 * which whoever else wants the ring waits for.  Told not to wait, it leaves the
 * command to a worker of the ring, which holds none of its locks.
 */
int p2pmem_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct p2pmem_uring_buffer *arg =
		io_uring_sqe_cmd(cmd->sqe, struct p2pmem_uring_buffer);
	struct p2pmem_file *f = cmd->file->private_data;
	u64 offset = READ_ONCE(arg->file_offset);
	u64 count = READ_ONCE(arg->granules);
	u32 index = READ_ONCE(arg->index);
	struct p2pmem_buffer *buffer;
	int ret;

	if (cmd->cmd_op != P2PMEM_URING_BUFFER)
		return -ENOTTY;
	if (issue_flags & IO_URING_F_NONBLOCK)
		return -EAGAIN;
	if (!count || count > UINT_MAX >> PAGE_SHIFT || !PAGE_ALIGNED(offset) ||
	    offset > LLONG_MAX - (count << PAGE_SHIFT))
		return -EINVAL;
	ret = check_type(f->region) ?:
	      p2pmem_file_prepare(f, offset >> PAGE_SHIFT, count);
	if (ret)
		return ret;
	buffer = take(f, offset >> PAGE_SHIFT, count);
	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	ret = io_buffer_register_bvec(cmd, buffer->piece, buffer->pieces, let_go,
				      buffer, directions(f), index, issue_flags);
	if (ret)
		let_go(buffer);
	else
		p2pmem_count(f->region, pins, 1);
	return ret;
}

#endif
