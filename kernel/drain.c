// SPDX-License-Identifier: GPL-2.0
/*
 * The end of ownership: of an extent when its file is closed, and of a whole
 * region.  memunmap_pages() does not wait for references to GENERIC pages, so
 * this file does: no page is given to another owner, and no pagemap goes,
 * before every page in question is back at its base reference.
 * docs/lifetime.md has the whole argument.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "p2pmem.h"

#define REAP_INTERVAL		msecs_to_jiffies(20)
/* io_uring and the like unpin some time after the last close. */
#define SETTLE_TIME		HZ
#define SETTLE_INTERVAL		msecs_to_jiffies(5)
#define DRAIN_INTERVAL_MIN	msecs_to_jiffies(5)
#define DRAIN_INTERVAL_MAX	msecs_to_jiffies(250)
#define DRAIN_REPORT_INTERVAL	(10 * HZ)
/* In-flight requests of a device that vanished end within its time-outs. */
#define SURPRISE_GRACE		(2 * HZ)

/* The folio at @granule, and in *@count how many granules of [granule, end) it has. */
static struct folio *folio_at(struct p2pmem_region *r, u64 granule, u64 end,
			      u64 *count)
{
	struct page *page = p2pmem_page(r, granule);
	struct folio *folio = page_folio(page);

	*count = min_t(u64, end - granule, folio_nr_pages(folio) -
					   folio_page_idx(folio, page));
	return folio;
}

static bool range_idle(struct p2pmem_region *r, u64 first, u64 count)
{
	u64 end = first + count, step;

	for (; first < end; first += step)
		if (folio_ref_count(folio_at(r, first, end, &step)) != 1)
			return false;
	return true;
}

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
		struct folio *folio = folio_at(r, at, end, &step);

		if (folio_ref_count(folio) - 1 > compat_folio_mapcount(folio))
			pinned += step;
	}
	return pinned;
}

/* alloc_lock is held. */
static void extent_give(struct p2pmem_region *r, struct p2pmem_extent *e)
{
	p2pmem_alloc_give(&r->alloc, e->first, e->count,
			  from_kuid(&init_user_ns, e->uid));
	r->given = get_state_synchronize_rcu();
	kfree(e);
}

/* alloc_lock is held.  Pending work owns a region and a module reference. */
static void reap_later(struct p2pmem_region *r)
{
	__module_get(THIS_MODULE);
	get_device(&r->dev);
	if (!queue_delayed_work(p2pmem_wq, &r->reap_work, REAP_INTERVAL)) {
		put_device(&r->dev);
		module_put(THIS_MODULE);
	}
}

/*
 * The file is closed, so nothing can add references but those who have some.
 * Extents without any go back at once; the others wait on the draining list,
 * which holds the region and the module.
 */
void p2pmem_extents_release(struct p2pmem_file *f)
{
	struct p2pmem_region *r = f->region;
	struct rb_node *node;

	mutex_lock(&f->lock);
	mutex_lock(&r->alloc_lock);
	while ((node = rb_first(&f->extents))) {
		struct p2pmem_extent *e = rb_entry(node, struct p2pmem_extent, node);

		rb_erase(node, &f->extents);
		if (r->gone) {
			kfree(e);
		} else if (range_idle(r, e->first, e->count)) {
			extent_give(r, e);
		} else {
			e->closed = jiffies;
			list_add_tail(&e->link, &r->draining);
			__module_get(THIS_MODULE);
			get_device(&r->dev);
		}
	}
	if (!list_empty(&r->draining))
		reap_later(r);
	mutex_unlock(&r->alloc_lock);
	mutex_unlock(&f->lock);
}

void p2pmem_reap_fn(struct work_struct *work)
{
	struct p2pmem_region *r = container_of(to_delayed_work(work),
					       struct p2pmem_region, reap_work);
	struct p2pmem_extent *e, *next;
	unsigned int reaped = 0;

	mutex_lock(&r->alloc_lock);
	list_for_each_entry_safe(e, next, &r->draining, link) {
		if (!r->gone && !range_idle(r, e->first, e->count))
			continue;
		list_del(&e->link);
		if (r->gone)
			kfree(e);
		else
			extent_give(r, e);
		reaped++;
	}
	if (!list_empty(&r->draining))
		reap_later(r);
	mutex_unlock(&r->alloc_lock);
	wake_up_all(&r->wait);
	while (reaped--) {
		put_device(&r->dev);
		module_put(THIS_MODULE);
	}
	put_device(&r->dev);
	module_put(THIS_MODULE);
}

/* Some extent was closed before @asked, and not long ago. */
static bool settling(struct p2pmem_region *r, unsigned long asked)
{
	struct p2pmem_extent *e;
	bool young = false;

	mutex_lock(&r->alloc_lock);
	list_for_each_entry(e, &r->draining, link)
		young = young || (time_before_eq(e->closed, asked) &&
				  time_before(jiffies, e->closed + SETTLE_TIME));
	mutex_unlock(&r->alloc_lock);
	return young;
}

/*
 * For who was refused memory at jiffies @asked.  If a file was closed a moment
 * before, its pins may be on their way out: naps, and returns true to say "try
 * again".  A program that follows another would fail by chance otherwise.  The
 * end comes SETTLE_TIME after @asked, whatever others close meanwhile.  Call it
 * without locks of ours.
 */
bool p2pmem_settle(struct p2pmem_region *r, unsigned long asked)
{
	if (!settling(r, asked))
		return false;
	schedule_timeout_interruptible(SETTLE_INTERVAL);
	return !signal_pending(current);
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

/* Every owned page is back at its base reference; free ones always are. */
static bool region_pages_idle(struct p2pmem_region *r)
{
	struct p2pmem_alloc *a = &r->alloc;
	bool idle = true;
	u64 from, to;

	mutex_lock(&r->alloc_lock);
	for (from = p2pmem_alloc_next_used(a, 0); from < a->granules && idle;
	     from = p2pmem_alloc_next_used(a, to)) {
		to = p2pmem_alloc_next_free(a, from);
		idle = range_idle(r, from, to - from);
		cond_resched();
	}
	mutex_unlock(&r->alloc_lock);
	return idle;
}

static void report_holders(struct p2pmem_region *r)
{
	char *text = kmalloc(512, GFP_KERNEL);

	if (!text)
		return;
	p2pmem_holders_text(r, text, 512);
	dev_warn(&r->dev, "removal waits for these holders (pid, command, bytes, pinned pages, importing device):\n%s",
		 text);
	kfree(text);
}

static bool device_vanished(struct p2pmem_region *r)
{
	return r->pdev->error_state == pci_channel_io_perm_failure ||
	       !pci_device_is_present(r->pdev);
}

/*
 * A fork or mremap that is under way cannot put entries back behind the sweep
 * (docs/lifetime.md); it is repeated nevertheless while somebody is waited for.
 */
static void revoke_mappings(struct p2pmem_region *r)
{
	unmap_mapping_range(r->inode->i_mapping, 0, 0, 1);
	synchronize_rcu(); /* get_user_pages_fast() that saw the old entries */
}

/*
 * From here no page is touched: extents that closed files left behind are
 * reaped without a look at them.
 */
static void drop_pages(struct p2pmem_region *r)
{
	mutex_lock(&r->alloc_lock);
	r->gone = true;
	mutex_unlock(&r->alloc_lock);
	if (r->backing.type)
		p2pmem_backing_close(r);
}

/*
 * The device has gone and somebody does not let go: its driver need not wait.
 * When all that is held are mappings of dma-bufs, which name addresses and no
 * struct page, the pages go now; of P2PDMA pages that is what the driver core
 * waits for.  P2PDMA pages that are referred to cannot be for long: wait.
 */
static void quarantine(struct p2pmem_region *r, bool pages_idle)
{
	if (!pages_idle && r->backing.type == P2PMEM_PAGES_P2PDMA)
		return;
	report_holders(r);
	if (pages_idle)
		drop_pages(r);
	p2pmem_quarantine_enter(r);
}

static bool pages_are_idle(struct p2pmem_region *r)
{
	if (r->gone)
		return true;
	revoke_mappings(r);
	return region_pages_idle(r);
}

static void drain(struct p2pmem_region *r)
{
	unsigned long began = jiffies, reported = jiffies;
	long nap = DRAIN_INTERVAL_MIN;

	for (;;) {
		bool unmapped = p2pmem_exports_revoke(r);
		bool pages_idle = pages_are_idle(r);

		if (unmapped && pages_idle)
			return;
		if (r->state == P2PMEM_STATE_DRAINING &&
		    time_after(jiffies, began + SURPRISE_GRACE) &&
		    device_vanished(r))
			quarantine(r, pages_idle);
		if (time_after(jiffies, reported + DRAIN_REPORT_INTERVAL)) {
			report_holders(r);
			reported = jiffies;
		}
		schedule_timeout_idle(nap);
		nap = min(nap * 2, (long)DRAIN_INTERVAL_MAX);
	}
}

static void end_claims(struct p2pmem_region *r)
{
	if (r->state == P2PMEM_STATE_QUARANTINED)
		p2pmem_quarantine_leave(r);
	else if (r->provider->release)
		r->provider->release(r->pdev, r->provider_data,
				     !device_vanished(r));
}

/* The one place where a region ends, whoever asked for it. */
void p2pmem_remove_fn(struct work_struct *work)
{
	struct p2pmem_region *r = container_of(work, struct p2pmem_region,
					       remove_work);

	down_write(&r->gate);	/* faults and ioctls under way have ended */
	r->state = P2PMEM_STATE_DRAINING;
	up_write(&r->gate);
	if (r->backing.type)
		drain(r);
	cdev_device_del(&r->cdev, &r->dev);	/* waits for sysfs readers */
	drop_pages(r);
	end_claims(r);
	dev_info(&r->pdev->dev, "p2pmem%u: removed\n", r->id);
	p2pmem_region_forget(r);
	p2pmem_region_put(r);	/* of p2pmem_remove_start() */
	p2pmem_region_put(r);	/* of region_alloc() */
	module_put(THIS_MODULE);
}

void p2pmem_remove_start(struct p2pmem_region *r)
{
	if (test_and_set_bit(0, &r->removing))
		return;
	__module_get(THIS_MODULE);
	get_device(&r->dev);
	queue_work(p2pmem_wq, &r->remove_work);
}

static bool removal_over(struct p2pmem_region *r)
{
	return READ_ONCE(r->finished) ||
	       READ_ONCE(r->state) == P2PMEM_STATE_QUARANTINED;
}

/* 0 when the region has ended or is in quarantine, -EINTR on a signal. */
int p2pmem_remove_wait(struct p2pmem_region *r, bool interruptible)
{
	if (!interruptible) {
		wait_event_idle(r->wait, removal_over(r));
		return 0;
	}
	if (wait_event_interruptible(r->wait, removal_over(r)))
		return -EINTR;
	return 0;
}
