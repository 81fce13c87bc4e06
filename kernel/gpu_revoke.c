// SPDX-License-Identifier: GPL-2.0
/*
 * The GPU's driver takes memory away that a process frees or leaves behind.  It does so
 * by its free callback, which only pins without the persistent calls have.
 *
 * The callback runs in the call that frees the memory, inside the driver's locks, which
 * may be above mmap_lock or below it.  So the callback takes none of our locks that
 * anybody holds while calling the driver, and none above mmap_lock.  It returns when no
 * mapping and no transfer reaches the memory.  Transfers of P2PDMA pages end by
 * themselves, so it waits for as long as they take.  Generic pages may be pinned for good
 * (by a memory region, which the very process that waits here would have to give up), and
 * importers of dma-bufs may keep them for good.  After a time the callback leaves such a
 * range fenced off, and says so.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "gpu.h"
#include "holders.h"
#include "importers.h"
#include "lines.h"
#include "mmap.h"
#include "reap.h"
#include "registry.h"

/* Twice the time that a drive has to answer by default. */
#define WAIT_LIMIT	(60 * HZ)
#define REPORT_INTERVAL	(10 * HZ)
#define NAP_MIN		msecs_to_jiffies(2)
#define NAP_MAX		msecs_to_jiffies(100)

/*
 * Marks the pin revoked.  Returns whether the callback has to end the pin, because it has
 * extents or may get some.  If somebody is asking the driver for the pin, or is putting
 * it, they end it.
 */
static bool begin(struct p2pmem_pin *pin)
{
	struct p2pmem_region *r = pin->region;
	bool mine;

	mutex_lock(&r->alloc_lock);
	mine = pin->state != P2PMEM_PIN_PUTTING && pin->state != P2PMEM_PIN_GETTING;
	WRITE_ONCE(pin->revoked, true);	/* unless mine, it may be freed from here on */
	mutex_unlock(&r->alloc_lock);
	/* The ioctl reads the driver's table, which goes when the callback returns. */
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

/* Nobody is in the region meanwhile.  Whoever enters it later finds nothing there. */
static void detach(struct p2pmem_pin *pin)
{
	struct p2pmem_region *r = pin->region;
	struct p2pmem_file *f;

	down_write(&r->gate);
	mutex_lock(&r->files_lock);
	list_for_each_entry(f, &r->files, link) {
		if (f->serial != pin->part.file_serial)
			continue;
		detach_from(f, pin);
		break;
	}
	mutex_unlock(&r->files_lock);
	up_write(&r->gate);
	p2pmem_revoke_mappings(r, pin->part.first << PAGE_SHIFT, pin->bytes);
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

/* Does anybody refer to the pin's pages?  Those that were given back are not among them. */
static bool is_referred_to(struct p2pmem_pin *pin)
{
	struct p2pmem_extent *e;

	lockdep_assert_held(&pin->region->alloc_lock);
	if (pin->region->gone) /* the pages are gone, too, and must not be touched */
		return false;
	list_for_each_entry(e, &pin->extents, pin_link)
		if (!p2pmem_range_idle(pin->region, e->first, e->count))
			return true;
	return false;
}

enum left {
	LEFT_NOTHING,
	LEFT_FOR_NOW,
	LEFT_FOR_GOOD,	/* may never go */
};

/* Looks once at what refers to the memory.  The worker in reap.c takes care of closed files. */
static enum left what_is_left(struct p2pmem_pin *pin)
{
	struct p2pmem_region *r = pin->region;
	enum p2pmem_importers importers = P2PMEM_IMPORTERS_NONE;
	bool over, transfers;

	/*
	 * A range that was lent gets no other memory later, so these dma-bufs are of this
	 * pin.
	 */
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
	 * Only generic pages are ever held for longer than a transfer takes.  Importers
	 * do not refer to pages.  STAY need not mean that an importer keeps its mapping:
	 * perhaps the importers have not been told yet, or a lock was busy.
	 */
	transfers = r->backing.type == P2PMEM_PAGES_P2PDMA &&
		    (importers != P2PMEM_IMPORTERS_STAY || is_referred_to(pin));
	mutex_unlock(&r->alloc_lock);
	if (over)
		return LEFT_NOTHING;
	return transfers ? LEFT_FOR_NOW : LEFT_FOR_GOOD;
}

/* Nobody knows who refers to the pages, so this names the process that opened the file. */
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

/*
 * Waits until nothing refers to the memory.  Returns false if each look in a period of
 * WAIT_LIMIT found that this may never happen.
 */
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

/* Looks again, after the callback.  The range stays fenced off while anything refers to it. */
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

/* The driver's free callback.  Others may free the pin before this returns. */
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
