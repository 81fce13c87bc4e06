// SPDX-License-Identifier: GPL-2.0
/* Who holds memory of a region: for sysfs, and for the log of a removal. */
#include <linux/blkdev.h>
#include <linux/mm.h>

#include "gpu.h"

/* What is looked at of a file or an extent before the locks are left to others. */
#define BATCH_GRANULES	(1ULL << 15)

/* What a file owns, as far as it was looked at: up to @next in the file. */
struct tally {
	u64 next;
	u64 granules;
	u64 pinned;
};

/*
 * How many pages of a range somebody besides its mappings refers to: those
 * with references that are neither the base reference nor a mapping's.  The
 * lock keeps the pages from going meanwhile.
 */
static u64 range_pins(struct p2pmem_region *r, u64 at, u64 count)
{
	u64 end = at + count, step, pinned = 0;

	lockdep_assert_held(&r->alloc_lock);
	if (r->gone)
		return 0;
	for (; at < end; at += step) {
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

/* Adds a batch to @t; false when the file has no more. */
static bool count_some(struct p2pmem_file *f, struct tally *t)
{
	struct p2pmem_extent *e = p2pmem_extent_from(f, t->next);
	u64 left = BATCH_GRANULES;

	for (; e && left; e = p2pmem_extent_next(e)) {
		u64 skip = t->next > e->file_first ? t->next - e->file_first : 0;
		u64 count = min(e->count - skip, left);

		t->granules += count;
		t->pinned += range_pins(f->region, e->first + skip, count);
		t->next = e->file_first + skip + count;
		left -= count;
	}
	return !left;
}

static size_t file_line(struct p2pmem_file *f, char *buf, size_t bytes)
{
	struct tally t = { };
	bool more;

	do {
		mutex_lock(&f->lock);
		mutex_lock(&f->region->alloc_lock);
		more = count_some(f, &t);
		mutex_unlock(&f->region->alloc_lock);
		mutex_unlock(&f->lock);
		cond_resched();
	} while (more);
	return holder_line(buf, bytes, f->pid, f->comm, t.granules, t.pinned);
}

static size_t draining_line(struct p2pmem_region *r, const struct p2pmem_extent *e,
			    char *buf, size_t bytes)
{
	u64 at, count, pinned = 0;

	for (at = 0; at < e->count; at += count) {
		count = min(e->count - at, BATCH_GRANULES);
		mutex_lock(&r->alloc_lock);
		pinned += range_pins(r, e->first + at, count);
		mutex_unlock(&r->alloc_lock);
		cond_resched();
	}
	return holder_line(buf, bytes, e->pid, e->comm, e->count, pinned);
}

/* The extent that drains after @e, or the first if that is NULL; NULL: none. */
static struct p2pmem_extent *next_draining(struct p2pmem_region *r,
					   struct p2pmem_extent *e)
{
	struct list_head *link = e ? &e->link : &r->draining;

	lockdep_assert_held(&r->reap_lock);
	mutex_lock(&r->alloc_lock);
	link = link->next;
	mutex_unlock(&r->alloc_lock);
	return link == &r->draining ? NULL :
				      list_entry(link, struct p2pmem_extent, link);
}

/* The reaper waits, so that the extents stay where they are. */
static size_t draining_lines(struct p2pmem_region *r, char *buf, size_t bytes)
{
	struct p2pmem_extent *e = NULL;
	size_t n = 0;

	mutex_lock(&r->reap_lock);
	while (n + 1 < bytes && (e = next_draining(r, e)))
		n += draining_line(r, e, buf + n, bytes - n);
	mutex_unlock(&r->reap_lock);
	return n;
}

/* What a GPU's driver takes back, and no file has any more, of one pin. */
static size_t pin_line(struct p2pmem_pin *pin, char *buf, size_t bytes)
{
	struct p2pmem_extent *e, *detached = NULL;
	u64 granules = 0, pinned = 0;

	list_for_each_entry(e, &pin->extents, pin_link) {
		if (!p2pmem_extent_detached(e))
			continue;
		detached = e;
		granules += e->count;
		pinned += range_pins(pin->region, e->first, e->count);
	}
	return detached ? holder_line(buf, bytes, detached->pid, detached->comm,
				      granules, pinned) : 0;
}

/* A line for each pin that is being taken back, as for an open file. */
size_t p2pmem_pins_text(struct p2pmem_region *r, char *buf, size_t bytes)
{
	struct p2pmem_pin *pin;
	size_t n = 0;

	if (bytes)
		buf[0] = '\0';
	mutex_lock(&r->alloc_lock);
	list_for_each_entry(pin, &r->pins, link)
		if (pin->revoked)
			n += pin_line(pin, buf + n, bytes - n);
	mutex_unlock(&r->alloc_lock);
	return n;
}

/*
 * Nobody knows which process it is that mounted a disk, or refers to pages of a file
 * that was on it: those are looked for once the region waits for them.
 */
static size_t pmem_line(struct p2pmem_region *r, char *buf, size_t bytes)
{
	char disk[DISK_NAME_LEN];
	bool in_use;
	u64 pinned = 0;

	if (!p2pmem_is_pmem(r))
		return 0;
	in_use = p2pmem_pmem_in_use(r);
	if (!in_use && READ_ONCE(r->state) != P2PMEM_STATE_READY)
		pinned = p2pmem_pmem_referred(r);
	if (!in_use && !pinned)
		return 0;
	p2pmem_pmem_text(r, disk, sizeof(disk));
	return holder_line(buf, bytes, 0, disk, r->backing.bytes >> PAGE_SHIFT, pinned);
}

/*
 * A line for each open file, for a pmem device whose disk is open (pid 0), each pin of a GPU's that is being taken back, and each extent of a closed file: pid, command,
 * bytes owned, pages pinned; and for each importer of a dma-buf: pid, command,
 * bytes of the dma-buf, pages mapped, importing device.
 */
size_t p2pmem_holders_text(struct p2pmem_region *r, char *buf, size_t bytes)
{
	struct p2pmem_file *f;
	size_t n = 0;

	if (bytes)
		buf[0] = '\0';
	mutex_lock(&r->files_lock);
	list_for_each_entry(f, &r->files, link)
		n += file_line(f, buf + n, bytes - n);
	mutex_unlock(&r->files_lock);
	n += pmem_line(r, buf + n, bytes - n);
	n += p2pmem_pins_text(r, buf + n, bytes - n);
	n += draining_lines(r, buf + n, bytes - n);
	return n + p2pmem_importers_text(r, buf + n, bytes - n);
}
