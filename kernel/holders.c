// SPDX-License-Identifier: GPL-2.0
/* Who holds memory of a region: for sysfs, and for the log of a removal. */
#include <linux/mm.h>

#include "p2pmem.h"

/*
 * How many pages of an extent somebody besides its mappings refers to: those
 * with references that are neither the base reference nor a mapping's.
 * alloc_lock is held, so that the pages do not go meanwhile.
 */
static u64 extent_pins(struct p2pmem_region *r, struct p2pmem_extent *e)
{
	u64 at, end = e->first + e->count, step, pinned = 0;

	if (r->gone)
		return 0;
	for (at = e->first; at < end; at += step) {
		struct folio *folio = p2pmem_folio_at(r, at, end, &step);

		if (folio_ref_count(folio) - 1 > compat_folio_mapcount(folio))
			pinned += step;
	}
	return pinned;
}

static size_t holder_line(char *buf, size_t bytes, pid_t pid, const char *comm,
			  u64 granules, u64 pinned)
{
	return scnprintf(buf, bytes, "%d %s %llu %llu\n", pid, comm,
			 granules << PAGE_SHIFT, pinned);
}

static size_t file_line(struct p2pmem_file *f, char *buf, size_t bytes)
{
	u64 granules = 0, pinned = 0;
	struct rb_node *node;

	mutex_lock(&f->lock);
	mutex_lock(&f->region->alloc_lock);
	for (node = rb_first(&f->extents); node; node = rb_next(node)) {
		struct p2pmem_extent *e = rb_entry(node, struct p2pmem_extent, node);

		granules += e->count;
		pinned += extent_pins(f->region, e);
	}
	mutex_unlock(&f->region->alloc_lock);
	mutex_unlock(&f->lock);
	return holder_line(buf, bytes, f->pid, f->comm, granules, pinned);
}

/*
 * A line for each open file and each extent of a closed one: pid, command,
 * bytes owned, pages pinned; and for each importer of a dma-buf: pid, command,
 * bytes of the dma-buf, pages mapped, importing device.
 */
size_t p2pmem_holders_text(struct p2pmem_region *r, char *buf, size_t bytes)
{
	struct p2pmem_extent *e;
	struct p2pmem_file *f;
	size_t n = 0;

	if (bytes)
		buf[0] = '\0';
	mutex_lock(&r->files_lock);
	list_for_each_entry(f, &r->files, link)
		n += file_line(f, buf + n, bytes - n);
	mutex_unlock(&r->files_lock);
	mutex_lock(&r->alloc_lock);
	list_for_each_entry(e, &r->draining, link)
		n += holder_line(buf + n, bytes - n, e->pid, e->comm, e->count,
				 extent_pins(r, e));
	mutex_unlock(&r->alloc_lock);
	return n + p2pmem_importers_text(r, buf + n, bytes - n);
}
