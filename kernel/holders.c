// SPDX-License-Identifier: GPL-2.0
/* Who holds memory of a region: for sysfs, and for the log of a removal. */
#include <linux/blkdev.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "dmabuf.h"
#include "extent.h"
#include "files.h"
#include "folio.h"
#include "gpu.h"
#include "holders.h"
#include "lines.h"
#include "mmap.h"
#include "pins.h"
#include "pmem.h"
#include "who.h"

/* How much of a file or an extent is looked at before the locks are dropped for others. */
#define BATCH_GRANULES	(1ULL << 15)

/* What a file owns up to granule @next of the file. */
struct tally {
	u64 next;
	u64 granules;
	u64 pinned;
};

/*
 * Counts the pages of a range that are pinned: they have references other than the
 * base reference and those of mappings.  The caller holds alloc_lock, which keeps the
 * pages from being removed meanwhile.
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

static void holder_line(struct p2pmem_lines *lines, const struct p2pmem_who *who,
			u64 granules, u64 pinned)
{
	struct p2pmem_shown as;

	p2pmem_who_show(who, lines->reader, &as);
	p2pmem_lines_add(lines, "%d %s %llu %llu\n", as.pid, as.name,
			 granules << PAGE_SHIFT, pinned);
}

/* Adds a batch to @t; returns false if it reached the last extent of the file. */
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

/* For p2pmem_who_has(). */
static int is_of_file(const void *f, struct file *filp, unsigned int fd)
{
	return p2pmem_shows(filp, f);
}

/* The process that the last search found. */
static void last_heir(struct p2pmem_file *f, struct p2pmem_who *who)
{
	mutex_lock(&f->region->files_lock);
	*who = f->heir;
	mutex_unlock(&f->region->files_lock);
}

/*
 * Finds a process that has the file, if the process that opened it has ended.  If there is
 * none, names the process that opened it.
 */
static void find_heir(struct p2pmem_file *f, struct p2pmem_who *who, unsigned long until)
{
	struct mutex *lock = &f->region->files_lock;

	last_heir(f, who);
	if (!p2pmem_who_has(who, is_of_file, f, until) && !p2pmem_who_maps(who, f)) {
		*who = f->who;
		return;
	}
	mutex_lock(lock);
	f->heir = *who;
	mutex_unlock(lock);
}

/*
 * The process that opened the file or, if that has ended, another one that has a
 * descriptor of it or of a dma-buf of its memory, or else one that maps that memory.  A
 * removal waits for readers of sysfs, and a reader could be made to look at every process
 * for every line.  So lines->search limits the time of all searches for one list.
 */
static void who_has(struct p2pmem_file *f, struct p2pmem_lines *lines,
		    struct p2pmem_who *who)
{
	unsigned long began = jiffies;

	*who = f->who;
	if (p2pmem_who_lives(who))
		return;
	if (!lines->search || fatal_signal_pending(current)) {
		last_heir(f, who);
		if (!p2pmem_who_lives(who))
			*who = f->who;
		return;
	}
	find_heir(f, who, began + lines->search);
	lines->search -= min(lines->search, jiffies - began);
}

static void file_line(struct p2pmem_file *f, struct p2pmem_lines *lines)
{
	struct tally t = { };
	struct p2pmem_who who;
	bool more;

	do {
		mutex_lock(&f->lock);
		mutex_lock(&f->region->alloc_lock);
		more = count_some(f, &t);
		mutex_unlock(&f->region->alloc_lock);
		mutex_unlock(&f->lock);
		cond_resched();
	} while (more);
	who_has(f, lines, &who);
	holder_line(lines, &who, t.granules, t.pinned);
}

static u64 draining_pins(struct p2pmem_region *r, const struct p2pmem_extent *e)
{
	u64 at, count, pinned = 0;

	for (at = 0; at < e->count; at += count) {
		count = min(e->count - at, BATCH_GRANULES);
		mutex_lock(&r->alloc_lock);
		pinned += range_pins(r, e->first + at, count);
		mutex_unlock(&r->alloc_lock);
		cond_resched();
	}
	return pinned;
}

/* The draining extent after @e, or the first one if @e is NULL; NULL if there is none. */
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

static bool same_process(const struct p2pmem_who *a, const struct p2pmem_who *b)
{
	return a->pid == b->pid && a->started_ns == b->started_ns;
}

/*
 * Writes one line for the extents from @e on that one process left, and returns the
 * extent after them.  reap_lock keeps the reaper away, so the list does not change.
 */
static struct p2pmem_extent *draining_line(struct p2pmem_region *r,
					   struct p2pmem_extent *e,
					   struct p2pmem_lines *lines)
{
	const struct p2pmem_who *who = &e->who;
	u64 granules = 0, pinned = 0;

	for (; e && same_process(&e->who, who); e = next_draining(r, e)) {
		granules += e->count;
		if (!p2pmem_lines_full(lines))
			pinned += draining_pins(r, e);
		cond_resched();
	}
	holder_line(lines, who, granules, pinned);
	return e;
}

static void draining_lines(struct p2pmem_region *r, struct p2pmem_lines *lines)
{
	struct p2pmem_extent *e;

	mutex_lock(&r->reap_lock);
	for (e = next_draining(r, NULL); e; )
		e = draining_line(r, e, lines);
	mutex_unlock(&r->reap_lock);
}

/* Writes a line for the extents of a revoked pin that have left their file. */
static void pin_line(struct p2pmem_pin *pin, struct p2pmem_lines *lines)
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
	if (detached)
		holder_line(lines, &detached->who, granules, pinned);
}

/* Writes a line, as for an open file, for each pin that a GPU's driver takes back. */
void p2pmem_pins_lines(struct p2pmem_region *r, struct p2pmem_lines *lines)
{
	struct p2pmem_pin *pin;

	mutex_lock(&r->alloc_lock);
	list_for_each_entry(pin, &r->pins, link)
		if (pin->revoked)
			pin_line(pin, lines);
	mutex_unlock(&r->alloc_lock);
}

/*
 * p2pmem does not know which process mounted the disk, or which one refers to pages of
 * a file that was on it.  It counts such references only once the disk is closed and
 * the region waits for them.
 */
static void pmem_line(struct p2pmem_region *r, struct p2pmem_lines *lines)
{
	char disk[DISK_NAME_LEN];
	bool in_use;
	u64 pinned = 0;

	if (!p2pmem_is_pmem(r))
		return;
	in_use = p2pmem_pmem_in_use(r);
	if (!in_use && READ_ONCE(r->state) != P2PMEM_STATE_READY)
		pinned = p2pmem_pmem_referred(r);
	if (!in_use && !pinned)
		return;
	p2pmem_pmem_text(r, disk, sizeof(disk));
	p2pmem_lines_add(lines, "0 %s %llu %llu\n", disk, r->backing.bytes, pinned);
}

/*
 * A walk leaves out files that are opened after it began, because otherwise it might never
 * end.  If files are closed during the walk, the last line still counts those that the walk
 * did not reach.
 */
static void file_lines(struct p2pmem_region *r, struct p2pmem_lines *lines)
{
	u64 last, at = 0;
	unsigned long left = p2pmem_files_count(r, &last);
	struct p2pmem_file *f;

	while (!p2pmem_lines_full(lines) && (f = p2pmem_files_next(r, at, last))) {
		at = f->serial;
		file_line(f, lines);
		p2pmem_file_put(f);
		left--;
	}
	if (p2pmem_lines_full(lines))
		p2pmem_lines_leave_out(lines, left);
}

/*
 * Writes a line (pid, command, bytes owned, pages pinned) for each open file, for a pmem
 * device in use (pid 0), for each pin that a GPU's driver takes back, and for each process
 * that left memory behind which is still referred to.  An importer of a dma-buf has a
 * line, too: pid, command, bytes of the dma-buf, pages mapped, importing device.  The last
 * line counts the lines that do not fit.  Pids are those of the namespace @reader.
 */
size_t p2pmem_holders_text(struct p2pmem_region *r, char *buf, size_t bytes,
			   struct pid_namespace *reader)
{
	struct p2pmem_lines lines;

	p2pmem_lines_begin(&lines, buf, bytes, reader);
	file_lines(r, &lines);
	pmem_line(r, &lines);
	p2pmem_pins_lines(r, &lines);
	draining_lines(r, &lines);
	p2pmem_importers_lines(r, &lines);
	return p2pmem_lines_end(&lines);
}

/*
 * Does nobody have the region open or hold memory of it?  If so, that stays true while the
 * caller holds the gate for writing.
 */
bool p2pmem_region_idle(struct p2pmem_region *r)
{
	bool idle;

	mutex_lock(&r->files_lock);
	idle = list_empty(&r->files);
	mutex_unlock(&r->files_lock);
	mutex_lock(&r->alloc_lock);
	idle = idle && list_empty(&r->draining) && !p2pmem_pins_have_memory(r);
	mutex_unlock(&r->alloc_lock);
	return idle && !p2pmem_pmem_in_use(r);
}
