// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of an open file as a fixed buffer of an io_uring, without page tables: the ring
 * asks the file for it (P2PMEM_URING_BUFFER) instead of looking up and pinning each page
 * of a mapping.
 *
 * The buffer holds a reference to each folio, as a pin does.  It drops them when the
 * buffer is unregistered or the ring is closed, and no request uses the buffer any more.
 * So whatever waits for pins also waits for the buffer, and whatever names holders names
 * it.  When the file is closed, its extents stay on the draining list, which holds the
 * region and the module, until the ring has let go.
 */
#include <linux/bvec.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "buffer.h"
#include "extent.h"
#include "gate.h"
#include "p2pmem.h"
#include "range.h"
#include "trace.h"

#if COMPAT_HAS_RING_BUFFERS

struct p2pmem_buffer {
	unsigned int region;	/* its number; the buffer has no reference to it */
	unsigned int pieces;
	u64 bytes;
	struct bio_vec piece[];
};

/*
 * Adds a reference to each folio of a piece, or drops one.  The folios keep their shapes
 * meanwhile.
 */
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
 * The module may be unloaded once the last reference is gone.  p2pmem_exit() waits for
 * whoever is still in this function.
 */
static void drop_pieces(struct p2pmem_buffer *buffer)
{
	struct bio_vec last = { };
	unsigned int i;

	if (buffer->pieces)
		last = buffer->piece[--buffer->pieces];
	for (i = 0; i < buffer->pieces; i++)
		refer(buffer->piece[i].bv_page, buffer->piece[i].bv_len, false);
	kvfree(buffer);
	if (last.bv_page)
		refer(last.bv_page, last.bv_len, false);
}

/* No request uses the buffer any more. */
static void let_go(void *data)
{
	struct p2pmem_buffer *buffer = data;

	trace_p2pmem_unpin(buffer->region, P2PMEM_PINNER_RING, buffer->bytes);
	drop_pieces(buffer);
}

/*
 * A piece ends where its chunk ends: users of a buffer rely on no piece being larger than
 * a folio.
 */
static u64 piece_bytes(phys_addr_t phys, phys_addr_t end)
{
	return min_t(u64, end, round_down(phys, PMD_SIZE) + PMD_SIZE) - phys;
}

/* A buffer that is being made.  Its pieces are counted first, in @room. */
struct making {
	phys_addr_t base;
	unsigned int room;
	struct p2pmem_buffer *buffer;
};

/* A GPU's driver may take this memory back, so nothing may hold it for good. */
static int count_pieces(const struct p2pmem_span *part, void *data)
{
	struct making *m = data;
	phys_addr_t at = m->base + (part->first << PAGE_SHIFT);
	phys_addr_t end = at + (part->count << PAGE_SHIFT);

	if (part->revocable)
		return -EOPNOTSUPP;
	for (; at < end; at += piece_bytes(at, end))
		m->room++;
	return 0;
}

/* The caller is in the region, so that a removal will find the references. */
static int add_pieces(const struct p2pmem_span *part, void *data)
{
	struct making *m = data;
	struct p2pmem_buffer *buffer = m->buffer;
	phys_addr_t at = m->base + (part->first << PAGE_SHIFT);
	phys_addr_t end = at + (part->count << PAGE_SHIFT);

	if (part->revocable)
		return -EOPNOTSUPP;
	for (; at < end; at += piece_bytes(at, end)) {
		struct page *page = pfn_to_page(PHYS_PFN(at));

		if (buffer->pieces == m->room)	/* the file got more memory after the count */
			return -ENXIO;
		refer(page, piece_bytes(at, end), true);
		bvec_set_page(&buffer->piece[buffer->pieces++], page,
			      piece_bytes(at, end), 0);
		buffer->bytes += piece_bytes(at, end);
	}
	return 0;
}

/*
 * P2PDMA pages are only for queues that support them.  get_user_pages() checks that, but
 * nothing does for a ring's buffer.  The page type cannot change while the file is open.
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

static struct p2pmem_buffer *buffer_new(struct p2pmem_file *f, u64 first, u64 count)
{
	struct making m = { .base = f->region->backing.phys };
	int ret = p2pmem_file_walk(f, first, count, count_pieces, &m);

	if (ret)
		return ERR_PTR(ret);
	m.buffer = kvzalloc(struct_size(m.buffer, piece, m.room), GFP_KERNEL_ACCOUNT);
	if (!m.buffer)
		return ERR_PTR(-ENOMEM);
	m.buffer->region = f->region->id;
	ret = p2pmem_file_walk(f, first, count, add_pieces, &m);
	if (ret) {
		drop_pieces(m.buffer);
		return ERR_PTR(ret);
	}
	trace_p2pmem_pin(m.buffer->region, P2PMEM_PINNER_RING, m.buffer->bytes);
	return m.buffer;
}

/* Requests may do the same with the buffer as with a mapping of the file. */
static u8 directions(const struct p2pmem_file *f)
{
	return (f->filp->f_mode & FMODE_READ ? IO_BUF_SOURCE : 0) |
	       (f->filp->f_mode & FMODE_WRITE ? IO_BUF_DEST : 0);
}

/*
 * Taking memory and zeroing it may sleep, as in an ioctl.  That must not happen under the
 * ring's lock, because everybody else who wants the ring waits for that lock.  So if the
 * caller must not sleep, this returns -EAGAIN, and the ring passes the command to one of
 * its workers, which holds none of its locks.
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
	buffer = buffer_new(f, offset >> PAGE_SHIFT, count);
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
