// SPDX-License-Identifier: GPL-2.0
/*
 * Tells the importers of a dma-buf to let go: for good when its memory is revoked, and
 * also when the device is reset (dmabuf_reset.c).
 *
 * Each export has a work item for that, because an importer may wait for whatever it
 * likes in its callback, or while it holds the reservation lock.  Only the release of
 * this dma-buf waits for the work item, and by then no importer is left.  Whoever revokes
 * or resets only looks whether the importers have let go.
 */
#include <linux/dma-resv.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "exports.h"
#include "importers.h"
#include "who.h"

/*
 * A workqueue runs only a limited number of items at a time.  The end of a region waits for
 * items of p2pmem_wq, which must not queue behind importers that do not return.  So
 * importers have a workqueue of their own.
 */
static struct workqueue_struct *importers_wq;

#define NAP_MIN			1
#define NAP_MAX			(HZ / 4)

/*
 * Importers are not told during a suspend, because their devices sleep, too.  There are two
 * exceptions: a region that is ending, since nobody says when a function that is gone wakes
 * up, and an export that was released, since nobody is left to be told.
 */
static bool may_tell(struct p2pmem_export *x)
{
	return !READ_ONCE(x->region->asleep) || READ_ONCE(x->region->state) != P2PMEM_STATE_READY ||
	       READ_ONCE(x->released);
}

/*
 * Takes the reservation lock while importers may be told.  It naps in between, so that an
 * importer which keeps the lock for minutes does not make this a hung task.
 */
static void lock_awake(struct p2pmem_export *x)
{
	struct dma_resv *resv = x->dmabuf->resv;
	long nap = NAP_MIN;

	for (;;) {
		wait_event_idle(x->region->wait, may_tell(x));
		if (dma_resv_trylock(resv)) {
			if (may_tell(x))
				return;
			dma_resv_unlock(resv);
		}
		schedule_timeout_idle(nap);
		nap = min(nap * 2, (long)NAP_MAX);
	}
}

/*
 * A fence need not be signaled until somebody waits for it, and those who look here only ask
 * whether it is (include/linux/dma-fence.h, dma_fence_is_signaled()).  So they are waited for
 * here, for no time.
 */
static void hasten_requests(struct p2pmem_export *x)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_assert_held(x->dmabuf->resv);
	dma_resv_for_each_fence(&cursor, x->dmabuf->resv, DMA_RESV_USAGE_BOOKKEEP, fence)
		dma_fence_wait_timeout(fence, false, 0);
}

/*
 * Tells the importers.  The log gets a line for each that has not let go at once:
 * @revocable for those that can, @others for those that cannot.
 */
static void tell(struct p2pmem_export *x, const char *revocable, const char *others)
{
	struct dma_buf_attachment *attach;

	dma_resv_assert_held(x->dmabuf->resv);
	compat_dma_buf_invalidate(x->dmabuf);
	list_for_each_entry(attach, &x->dmabuf->attachments, node) {
		struct p2pmem_attachment *a = attach->priv;
		char name[P2PMEM_SHOWN_BYTES];

		if (!a->maps)
			continue;
		p2pmem_printable(name, a->who.comm);
		dev_info_ratelimited(&x->region->dev, "dma-buf mapped for %s by \"%s\" (pid %d): %s\n",
				     dev_name(attach->dev), name, a->who.pid,
				     compat_dma_buf_revocable(attach) ? revocable : others);
	}
}

/* --- because of a reset --- */

/* Counts the mappings of importers that cannot let go. */
static unsigned int count_staying(struct p2pmem_export *x)
{
	struct dma_buf_attachment *attach;
	unsigned int staying = 0;

	dma_resv_assert_held(x->dmabuf->resv);
	list_for_each_entry(attach, &x->dmabuf->attachments, node) {
		struct p2pmem_attachment *a = attach->priv;

		if (!compat_dma_buf_revocable(attach))
			staying += a->maps;
	}
	return staying;
}

static void tell_of_reset(struct p2pmem_export *x)
{
	unsigned int staying;
	u64 epoch;

	if (!p2pmem_telling_begins(x, &epoch))
		return;
	lock_awake(x);
	tell(x, "told to let go, since the device is reset",
	     "cannot be revoked, and keeps its mapping although the device is reset");
	hasten_requests(x);
	staying = count_staying(x);
	dma_resv_unlock(x->dmabuf->resv);
	p2pmem_telling_ends(x, epoch, staying);
}

/* --- for good --- */

static enum p2pmem_importers who_is_left(struct p2pmem_export *x)
{
	struct dma_buf_attachment *attach;

	dma_resv_assert_held(x->dmabuf->resv);
	list_for_each_entry(attach, &x->dmabuf->attachments, node) {
		struct p2pmem_attachment *a = attach->priv;

		if (a->maps && compat_dma_buf_may_stay(attach))
			return P2PMEM_IMPORTERS_STAY;
	}
	return P2PMEM_IMPORTERS_LEAVE;
}

/*
 * Notes which requests are under way, once no importer has a mapping.  No importer gets one any
 * more, so none begins a request after this.  But anybody who has a descriptor of the dma-buf
 * can go on adding fences to it (DMA_BUF_IOCTL_IMPORT_SYNC_FILE), and a removal must not wait
 * for these.  If the kernel has no memory for it, the next look has it done again.
 */
static void note_last_requests(struct p2pmem_export *x)
{
	struct dma_fence **last;
	unsigned int count;

	dma_resv_assert_held(x->dmabuf->resv);
	if (x->noted || atomic_read(&x->maps) ||
	    dma_resv_get_fences(x->dmabuf->resv, DMA_RESV_USAGE_BOOKKEEP, &count, &last))
		return;
	x->last = last;
	x->nr_last = count;
	smp_store_release(&x->noted, true);	/* after what it stands for: revoke() */
}

/* Have those requests ended?  Keeps no fence longer than it has to: fences are other drivers'. */
static bool last_requests_are_over(struct p2pmem_export *x)
{
	lockdep_assert_held(&x->region->exports_lock);
	while (x->nr_last && dma_fence_is_signaled(x->last[x->nr_last - 1]))
		dma_fence_put(x->last[--x->nr_last]);
	return !x->nr_last;
}

/*
 * No mapping is added any more, so once only importers that can let go are left, that stays
 * true.  After this, nothing remains to be told about a reset either.
 */
static void tell_for_good(struct p2pmem_export *x)
{
	u64 epoch = atomic64_read(&x->region->import_epoch);
	unsigned int staying;

	lock_awake(x);
	if (!x->told)
		tell(x, "told to let go", "cannot be revoked, waiting until it lets go");
	x->told = true;
	WRITE_ONCE(x->left, who_is_left(x));
	hasten_requests(x);
	note_last_requests(x);
	staying = count_staying(x);
	dma_resv_unlock(x->dmabuf->resv);
	p2pmem_telling_ends(x, epoch, staying);
}

static void tell_fn(struct work_struct *work)
{
	struct p2pmem_export *x = container_of(work, struct p2pmem_export, tell_work);

	if (READ_ONCE(x->revoked))
		tell_for_good(x);
	else
		tell_of_reset(x);
}

/* --- called by other files --- */

void p2pmem_export_tell_init(struct p2pmem_export *x)
{
	INIT_WORK(&x->tell_work, tell_fn);
	x->left = P2PMEM_IMPORTERS_STAY;	/* until they have been told */
}

/*
 * Queues the work item, which tells what there is to tell when it runs.  The export is on
 * the list.
 */
void p2pmem_export_tell_soon(struct p2pmem_export *x)
{
	lockdep_assert_held(&x->region->exports_lock);
	queue_work(importers_wq, &x->tell_work);
}

/* Called by release(): no importer is left, and the export is on no list. */
void p2pmem_export_tell_end(struct p2pmem_export *x)
{
	WRITE_ONCE(x->released, true);
	wake_up_all(&x->region->wait);
	cancel_work_sync(&x->tell_work);
	while (x->nr_last)
		dma_fence_put(x->last[--x->nr_last]);
	kfree(x->last);
}

/* Waits for nobody; the caller looks again. */
static enum p2pmem_importers revoke(struct p2pmem_export *x)
{
	enum p2pmem_importers left;
	bool noted;

	WRITE_ONCE(x->revoked, true);
	smp_mb(); /* pairs with p2pmem_dmabuf_map(): it sees this, or we see its count */
	noted = smp_load_acquire(&x->noted);	/* pairs with note_last_requests() */
	if (noted ? last_requests_are_over(x) : p2pmem_export_is_unmapped(x))
		return P2PMEM_IMPORTERS_NONE;
	left = READ_ONCE(x->left);
	if (left == P2PMEM_IMPORTERS_STAY || (!noted && !atomic_read(&x->maps)))
		p2pmem_export_tell_soon(x);
	return left;
}

static bool overlaps(const struct p2pmem_export *x, const struct p2pmem_part *part)
{
	const struct p2pmem_file *f = x->file->private_data;

	return f->serial == part->file_serial && x->file_first < part->end &&
	       part->first < x->file_first + (x->dmabuf->size >> PAGE_SHIFT);
}

/*
 * Revokes the exports of @part, or all if it is NULL.  It only tries the lock: the caller
 * may be inside a GPU's driver, and whoever has the lock may wait for that driver.
 */
static enum p2pmem_importers revoke_exports(struct p2pmem_region *r,
					    const struct p2pmem_part *part)
{
	enum p2pmem_importers left = P2PMEM_IMPORTERS_NONE;
	struct p2pmem_export *x;

	if (!mutex_trylock(&r->exports_lock))
		return P2PMEM_IMPORTERS_STAY;
	list_for_each_entry(x, &r->exports, link)
		if (!part || overlaps(x, part))
			left = max(left, revoke(x));
	mutex_unlock(&r->exports_lock);
	return left;
}

/*
 * The gate is closed, so no export is added.  Returns what kind of importer has a
 * mapping, or had one that a pending request may still use.
 */
enum p2pmem_importers p2pmem_exports_revoke(struct p2pmem_region *r)
{
	return revoke_exports(r, NULL);
}

/*
 * The same for a part of a file.  The part has no memory any more, so no export of it is
 * added.
 */
enum p2pmem_importers p2pmem_exports_revoke_part(struct p2pmem_region *r,
						 const struct p2pmem_part *part)
{
	return revoke_exports(r, part);
}

int p2pmem_exports_init(void)
{
	importers_wq = alloc_workqueue("p2pmem-importers", WQ_UNBOUND, WQ_MAX_ACTIVE);
	return importers_wq ? 0 : -ENOMEM;
}

/* No export is left, because each holds the module. */
void p2pmem_exports_exit(void)
{
	destroy_workqueue(importers_wq);
}
