// SPDX-License-Identifier: GPL-2.0
/*
 * The open files of a region.  Whoever opens the region waits for files_lock inside of the
 * gate, for which a reset waits, so no reader holds it for longer than one step takes: a
 * walk goes from one file to the next by their serials, and has a reference to the struct
 * of the file that it is at.
 */
#include <linux/slab.h>

#include "files.h"

static atomic64_t files_opened;

/* The caller is in the region.  Its first reference is the open file's. */
void p2pmem_files_join(struct p2pmem_file *f)
{
	struct p2pmem_region *r = f->region;

	refcount_set(&f->refs, 1);
	mutex_lock(&r->files_lock);
	f->serial = atomic64_inc_return(&files_opened);
	list_add_tail(&f->link, &r->files);
	r->nr_files++;
	mutex_unlock(&r->files_lock);
}

/* The file is closed, and owns nothing any more.  Drops its reference. */
void p2pmem_files_leave(struct p2pmem_file *f)
{
	struct p2pmem_region *r = f->region;

	mutex_lock(&r->files_lock);
	list_del(&f->link);
	r->nr_files--;
	mutex_unlock(&r->files_lock);
	p2pmem_file_put(f);
}

/* How many files are open, and in *@last the serial of the one that was opened last. */
unsigned long p2pmem_files_count(struct p2pmem_region *r, u64 *last)
{
	unsigned long count;

	mutex_lock(&r->files_lock);
	count = r->nr_files;
	*last = count ? list_last_entry(&r->files, struct p2pmem_file, link)->serial : 0;
	mutex_unlock(&r->files_lock);
	return count;
}

/*
 * The first file whose serial is above @after, and at most @last, with a reference; NULL if
 * there is none.  While the caller has that reference it has the region, too: a file that
 * is closed meanwhile owns nothing, but its locks and its region are used.  A step passes
 * over the files that the walk has already visited, which are at most as many as the
 * caller's list has lines.
 */
struct p2pmem_file *p2pmem_files_next(struct p2pmem_region *r, u64 after, u64 last)
{
	struct p2pmem_file *f, *next = NULL;

	mutex_lock(&r->files_lock);
	list_for_each_entry(f, &r->files, link) {
		if (f->serial <= after)
			continue;
		if (f->serial <= last)
			next = f;
		break;
	}
	if (next)
		refcount_inc(&next->refs);
	mutex_unlock(&r->files_lock);
	return next;
}

void p2pmem_file_put(struct p2pmem_file *f)
{
	if (refcount_dec_and_test(&f->refs))
		kfree(f);
}
