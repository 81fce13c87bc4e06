// SPDX-License-Identifier: GPL-2.0
/*
 * The gate of a region: whoever uses its pages passes in and out here, and
 * removal shuts it.  Besides, what is asked of the device in between: whether it
 * still has its memory, and that the CPU's stores are there.
 */
#include <linux/pci.h>

#include "gate.h"
#include "guard.h"
#include "importers.h"
#include "p2pmem.h"

/* True: the region is in use until p2pmem_leave(); false: it is going away. */
bool p2pmem_enter(struct p2pmem_region *r)
{
	down_read(&r->gate);
	if (r->state == P2PMEM_STATE_READY)
		return true;
	up_read(&r->gate);
	return false;
}

/* The same, by who is in another region, of a smaller number. */
bool p2pmem_enter_second(struct p2pmem_region *r)
{
	down_read_nested(&r->gate, SINGLE_DEPTH_NESTING);
	if (r->state == P2PMEM_STATE_READY)
		return true;
	up_read(&r->gate);
	return false;
}

void p2pmem_leave(struct p2pmem_region *r)
{
	up_read(&r->gate);
}

/*
 * Was the device of a foreign driver reset?  Its memory is enabled again if need
 * be, and the reset is counted.  Of others p2pmem is the driver, and is told.
 */
void p2pmem_revalidate(struct p2pmem_region *r)
{
	u64 resets;
	bool lost, reset;

	lockdep_assert_held(&r->gate);
	if (!r->provider->foreign)
		return;
	mutex_lock(&r->revalidate_lock);
	lost = r->provider->forgot && r->provider->forgot(r);
	resets = p2pmem_guard_resets(r->pdev);
	reset = lost || resets != r->function_resets;
	if (reset) {
		atomic64_inc(&r->resets);
		p2pmem_imports_outdate(r);
	}
	/* Each look counts while a reset goes on, and the log has it once. */
	if (reset && !r->in_reset)
		dev_warn_ratelimited(&r->dev, "the device was reset%s; what was written to its memory may be lost\n",
				     lost ? " and had its memory disabled, which is enabled again" : "");
	r->in_reset = reset;
	WRITE_ONCE(r->function_resets, resets);
	mb(); /* counted before the evidence goes: p2pmem_was_reset() */
	if (lost)
		r->provider->enable(r);
	mutex_unlock(&r->revalidate_lock);
}

/*
 * Changes with each reset of a foreign function, and while one goes on.  Of others
 * none begins before the region is left.
 */
u64 p2pmem_resets_seen(struct p2pmem_region *r)
{
	lockdep_assert_held(&r->gate);
	if (!r->provider->foreign)
		return 0;
	return p2pmem_guard_resets(r->pdev) + atomic64_read(&r->resets);
}

#define READY_INTERVAL	msecs_to_jiffies(20)

/*
 * The same question without a lock and without an answer to it: has there been a
 * reset since there were @resets of the region?  Who finds one counts it before it
 * does away with the evidence, which is looked at here in the opposite order.
 */
bool p2pmem_was_reset(struct p2pmem_region *r, const struct p2pmem_guarded *g,
		      u64 resets, u64 function_resets)
{
	bool lost = r->provider->forgot && r->provider->forgot(r);

	mb(); /* of registers, and of memory: p2pmem_revalidate() */
	return lost || p2pmem_guard_saw_reset(g, function_resets) ||
	       atomic64_read(&r->resets) != resets;
}

/*
 * Memory that revalidate() enabled may be used.  A PMR is given as long as its
 * PMRCAP says: so this is called outside of enter and leave, with no lock held, and
 * never where mmap_lock may be, which mmap and page faults come with.  A process that
 * maps memory that is not ready yet learns that from SYNC, as it does of any reset.
 */
int p2pmem_await_ready(struct p2pmem_region *r)
{
	int ready;

	if (!r->provider->ready)
		return 0;
	for (;;) {
		if (!p2pmem_enter(r))
			return -ENODEV;
		ready = r->provider->ready(r);
		p2pmem_leave(r);
		if (ready)
			return min(ready, 0);
		schedule_timeout_killable(READY_INTERVAL);
		if (fatal_signal_pending(current))
			return -EINTR;
	}
}

/* Outside of enter and leave: a reset is over, or the region on its way out. */
int p2pmem_await_reset(struct p2pmem_region *r)
{
	return wait_event_killable(r->wait, !READ_ONCE(r->resetting) ||
				   READ_ONCE(r->state) != P2PMEM_STATE_READY);
}

/* Is what the device answers its memory's?  Never sleeps. */
bool p2pmem_answers(struct p2pmem_region *r)
{
	return pci_device_is_present(r->pdev) && !READ_ONCE(r->resetting);
}

/*
 * Returns when the CPU's own stores, write-combined ones too, are at the device.  The
 * caller keeps the region's registers.  Never sleeps where memory is persistent.
 */
int p2pmem_barrier(struct p2pmem_region *r)
{
	int ret = 0;

	/* Not wmb(): a read of write-combined memory may pass it. */
	mb(); /* out of the CPU before the device is asked */
	if (r->provider->commit)
		ret = r->provider->commit(r);
	else
		READ_ONCE(*(u64 *)r->backing.kaddr);
	/* A dead device answers reads, too. */
	return p2pmem_answers(r) ? ret : -EIO;
}

/* The same, between enter and leave. */
int p2pmem_flush(struct p2pmem_region *r)
{
	lockdep_assert_held(&r->gate);
	return p2pmem_barrier(r);
}
