// SPDX-License-Identifier: GPL-2.0
/*
 * The GPU's driver takes memory away that a process frees, or leaves behind: its free
 * callback, which only a pin without the persistent calls has.
 *
 * It runs in the call that frees, inside of the driver's locks, which may be above
 * mmap_lock and below it.  So it takes none of ours that is ever held while the driver
 * is called, or above mmap_lock; and it returns when no mapping and no transfer reaches
 * the memory.  Transfers of P2PDMA pages end by themselves, so that it waits for as long
 * as they take.  Generic pages may be pinned for good (a memory region, which the very
 * process that waits here would have to give up), and so may importers of dma-bufs have
 * them: after a time it leaves the range fenced off, and says so.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "gpu.h"
#include "holders.h"
#include "importers.h"
#include "lines.h"
#include "reap.h"
#include "registry.h"

/* Twice what a drive is given to answer by default. */
#define WAIT_LIMIT	(60 * HZ)
#define REPORT_INTERVAL	(10 * HZ)
#define NAP_MIN		msecs_to_jiffies(2)
#define NAP_MAX		msecs_to_jiffies(100)

/* Has it extents, or may it get some?  Not if whoever asks for it, or puts it, has it. */
static bool begin(struct p2pmem_pin *pin)
{
	struct p2pmem_region *r = pin->region;
	bool mine;

	mutex_lock(&r->alloc_lock);
	mine = pin->state != P2PMEM_PIN_PUTTING && pin->state != P2PMEM_PIN_GETTING;
	WRITE_ONCE(pin->revoked, true);	/* from here on, unless mine, it may be freed */
	mutex_unlock(&r->alloc_lock);
	/* The ioctl reads the driver's table, which goes when we return. */
	if (mine)
		wait_event_idle(r->wait, READ_ONCE(pin->state) != P2PMEM_PIN_MAKING);
	return mine;
}

static void detach_from(struct p2pmem_file *f, struct p2pmem_pin *pin)
{
	struct p2pmem_region *r = pin->region;
	struct p2pmem_extent *e;

	lockdep_assert_held_write(&r->gate);
	WRITE_ONCE(f->taken_back, f->taken_back + 1);
	mutex_lock(&f->lock);
	if (pin->lent) {
		f->dead_from = f->dead_to ? min(f->dead_from, pin->part.first) : pin->part.first;
		f->dead_to = max(f->dead_to, pin->part.end);
	}
	mutex_lock(&r->alloc_lock);
	list_for_each_entry(e, &pin->extents, pin_link) {
		if (RB_EMPTY_NODE(&e->node))
			continue;
		rb_erase(&e->node, &f->extents);
		RB_CLEAR_NODE(&e->node);
	}
	mutex_unlock(&r->alloc_lock);
	mutex_unlock(&f->lock);
}

/* Nobody is in the region meanwhile; whoever comes later finds nothing there. */
static void detach(struct p2pmem_pin *pin)
{
	struct p2pmem_region *r = pin->region;
	struct p2pmem_file *f;

	down_write(&r->gate);
	mutex_lock(&r->files_lock);
	list_for_each_entry(f, &r->files, link)
		if (f->serial == pin->part.file_serial)
			detach_from(f, pin);
	mutex_unlock(&r->files_lock);
	up_write(&r->gate);
	unmap_mapping_range(r->inode->i_mapping, pin->part.first << PAGE_SHIFT, pin->bytes, 1);
	synchronize_rcu(); /* get_user_pages_fast() that saw the old entries */
}

static void give_idle(struct p2pmem_pin *pin)
{
	struct p2pmem_region *r = pin->region;
	struct p2pmem_extent *e, *next;

	lockdep_assert_held(&r->alloc_lock);
	list_for_each_entry_safe(e, next, &pin->extents, pin_link)
		if (p2pmem_extent_detached(e) && p2pmem_range_idle(r, e->first, e->count))
			p2pmem_extent_give(r, e);
}

/* Of the pin's pages; what is given back already is not among them. */
static bool is_referred_to(struct p2pmem_pin *pin)
{
	struct p2pmem_extent *e;

	lockdep_assert_held(&pin->region->alloc_lock);
	if (pin->region->gone) /* and with it its pages, which may not be touched */
		return false;
	list_for_each_entry(e, &pin->extents, pin_link)
		if (!p2pmem_range_idle(pin->region, e->first, e->count))
			return true;
	return false;
}

enum left {
	LEFT_NOTHING,
	LEFT_FOR_NOW,
	LEFT_FOR_GOOD,	/* perhaps */
};

/* One look: what refers to the memory?  Files that closed have their worker. */
static enum left what_is_left(struct p2pmem_pin *pin)
{
	struct p2pmem_region *r = pin->region;
	enum p2pmem_importers importers = P2PMEM_IMPORTERS_NONE;
	bool over, transfers;

	/* What was lent has nothing else there later, so that no dma-buf is of another pin. */
	if (pin->lent)
		importers = p2pmem_exports_revoke_part(r, &pin->part);
	mutex_lock(&r->alloc_lock);
	if (importers == P2PMEM_IMPORTERS_NONE && r->gone)
		p2pmem_pin_drop(pin);
	else if (importers == P2PMEM_IMPORTERS_NONE)
		give_idle(pin);
	over = list_empty(&pin->extents);
	if (!over)
		p2pmem_reap_soon(r);
	/*
	 * Only generic pages are ever held for longer than a transfer takes.  Importers do not
	 * refer to pages; of them STAY may only say that they have not been told yet, or that a
	 * lock was busy.
	 */
	transfers = r->backing.type == P2PMEM_PAGES_P2PDMA &&
		    (importers != P2PMEM_IMPORTERS_STAY || is_referred_to(pin));
	mutex_unlock(&r->alloc_lock);
	if (over)
		return LEFT_NOTHING;
	return transfers ? LEFT_FOR_NOW : LEFT_FOR_GOOD;
}

/* Who opened the file is all that is known of who refers to the pages. */
static void report(struct p2pmem_pin *pin, const char *what)
{
	char *text = kmalloc(256, GFP_KERNEL);
	struct p2pmem_lines lines;

	if (text) {
		p2pmem_lines_begin(&lines, text, 256, &init_pid_ns);
		p2pmem_pins_lines(pin->region, &lines);
		p2pmem_lines_end(&lines);
	}
	dev_warn(&pin->region->dev, "the GPU's driver takes %llu bytes back (at offset %llu, by process %d): %s. Those who opened it (pid, command, bytes, pinned pages):\n%s",
		 pin->bytes, pin->part.first << PAGE_SHIFT, pid_nr(pin->owner), what, text ?: "");
	kfree(text);
}

/* Until nothing refers to the memory; false when that may be never, after a time in which each look said so. */
static bool await_end(struct p2pmem_pin *pin)
{
	unsigned long for_good_since = jiffies, reported = jiffies;
	long nap = NAP_MIN;
	enum left left;

	while ((left = what_is_left(pin)) != LEFT_NOTHING) {
		if (left == LEFT_FOR_NOW)
			for_good_since = jiffies;
		if (time_after(jiffies, for_good_since + WAIT_LIMIT))
			return false;
		if (time_after(jiffies, reported + REPORT_INTERVAL)) {
			report(pin, "waiting for transfers and pins to end");
			reported = jiffies;
		}
		schedule_timeout_idle(nap);
		nap = min(nap * 2, (long)NAP_MAX);
	}
	return true;
}

/* One more look, after the driver: what outlasted it is fenced off until then. */
bool p2pmem_gpu_is_over(struct p2pmem_pin *pin)
{
	return what_is_left(pin) == LEFT_NOTHING;
}

static void revoke(struct p2pmem_pin *pin)
{
	if (!begin(pin))
		return;
	detach(pin);
	if (!await_end(pin))
		report(pin, "somebody has it pinned for good, and a device may still write to what is no longer this memory: the range is fenced off until it is unpinned. Use page type p2pdma, and dma-bufs for RDMA");
	queue_delayed_work(p2pmem_wq, &pin->work, 0);
}

/* The driver's free callback.  Others may free the pin before this has returned. */
void p2pmem_gpu_revoke(void *data)
{
	struct p2pmem_pin *pin = data;
	struct p2pmem_region *r = pin->region;

	__module_get(THIS_MODULE);
	get_device(&r->dev);
	revoke(pin);
	put_device(&r->dev);
	module_put(THIS_MODULE);
}
