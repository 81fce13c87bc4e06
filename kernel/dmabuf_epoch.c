// SPDX-License-Identifier: GPL-2.0
/*
 * Epochs of imports.  Each reset of the exporter's device begins one, and an attachment
 * maps only in the epoch in which it was made.  Each dma-buf notes the last epoch of which
 * its importers were told.
 *
 * This file only keeps the account.  It waits for no importer, because its callers may be
 * inside the gate, where they found a reset.  dmabuf_tell.c tells the importers.  dmabuf_reset.c has them told
 * and looks for resets.
 */
#include <linux/dma-resv.h>
#include <linux/workqueue.h>

#include "exports.h"
#include "importers.h"
#include "registry.h"

/*
 * What importers have mapped is lost, or is about to be.  They get no more mappings by
 * the attachments that they have now, and outdate_work has them told.  Waits for nobody.
 */
void p2pmem_imports_outdate(struct p2pmem_region *r)
{
	atomic64_inc(&r->import_epoch);
	smp_mb__after_atomic(); /* pairs with p2pmem_dmabuf_map(): it sees this, or we its count */
	get_device(&r->dev);
	if (!queue_work(p2pmem_wq, &r->outdate_work))
		put_device(&r->dev);
}

/* Is no request pending that a fence announced? */
bool p2pmem_export_has_no_requests(const struct p2pmem_export *x)
{
	return dma_resv_test_signaled(x->dmabuf->resv, DMA_RESV_USAGE_BOOKKEEP);
}

bool p2pmem_export_is_unmapped(const struct p2pmem_export *x)
{
	return !atomic_read(&x->maps) && p2pmem_export_has_no_requests(x);
}

/*
 * Notes that importers were told of the reset of @epoch, unless they were told of a later
 * one meanwhile.  The caller holds exports_lock.
 */
static void note_told(struct p2pmem_export *x, u64 epoch, unsigned int staying)
{
	lockdep_assert_held(&x->region->exports_lock);
	if (x->told_epoch >= epoch)
		return;
	x->staying = staying;
	WRITE_ONCE(x->told_epoch, epoch);
}

/*
 * Called before importers are told.  Returns false if nobody has to be.  Importers that
 * come meanwhile are refused: see p2pmem_imports_may_begin().
 */
bool p2pmem_telling_begins(struct p2pmem_export *x, u64 *epoch)
{
	struct p2pmem_region *r = x->region;

	mutex_lock(&r->exports_lock);
	*epoch = atomic64_read(&r->import_epoch);
	if (p2pmem_export_is_unmapped(x))
		note_told(x, *epoch, 0);
	x->telling = x->told_epoch < *epoch;
	mutex_unlock(&r->exports_lock);
	return x->telling;
}

/* Called after importers were told.  @staying of their mappings remain for good. */
void p2pmem_telling_ends(struct p2pmem_export *x, u64 epoch, unsigned int staying)
{
	struct p2pmem_region *r = x->region;

	mutex_lock(&r->exports_lock);
	note_told(x, epoch, staying);
	x->telling = false;
	mutex_unlock(&r->exports_lock);
}

/*
 * Have the importers been told of the reset of @epoch?  If there is nobody to tell, notes
 * that, so that a new importer is told of the next reset and of none before.
 */
bool p2pmem_export_was_told(struct p2pmem_export *x, u64 epoch)
{
	struct p2pmem_region *r = x->region;

	if (READ_ONCE(x->told_epoch) >= epoch)
		return true;
	if (!mutex_trylock(&r->exports_lock))
		return false;
	if (!x->telling && p2pmem_export_is_unmapped(x))
		note_told(x, epoch, 0);
	mutex_unlock(&r->exports_lock);
	return READ_ONCE(x->told_epoch) >= epoch;
}
