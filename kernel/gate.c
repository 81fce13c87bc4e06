// SPDX-License-Identifier: GPL-2.0
/*
 * The gate of a region: whoever uses the region's pages enters and leaves here, and a
 * removal closes the gate.  This file also asks the device whether it still has its
 * memory, and whether the CPU's stores have arrived.
 *
 * A reset waits until all users have left the region.  An error recovery resets all
 * functions below a port together, and drives may be among them.  So a user inside the gate
 * must not wait for a drive, and allocates memory with GFP_NOIO.  inside_map tells lockdep
 * this rule, and lockdep reports a violation.
 */
#include <linux/lockdep.h>
#include <linux/pci.h>
#include <linux/sched/mm.h>

#include "answers.h"
#include "gate.h"
#include "guard.h"
#include "importers.h"
#include "p2pmem.h"

/* Stands for being inside of any region.  Unused without lockdep. */
static struct lockdep_map inside_map __maybe_unused;

/* Tells lockdep that reclaim may wait for a drive that waits until all are outside. */
void p2pmem_gate_init(void)
{
	static struct lock_class_key key;

	lockdep_init_map(&inside_map, "p2pmem_inside", &key, 0);
	fs_reclaim_acquire(GFP_KERNEL);
	lock_map_acquire(&inside_map);
	lock_map_release(&inside_map);
	fs_reclaim_release(GFP_KERNEL);
}

/* The caller has the gate, and keeps it if the region is not going away. */
static bool stay(struct p2pmem_region *r)
{
	if (r->state == P2PMEM_STATE_READY) {
		lock_map_acquire_read(&inside_map);
		return true;
	}
	up_read(&r->gate);
	return false;
}

/* If true, the region is in use until p2pmem_leave().  If false, it is going away. */
bool p2pmem_enter(struct p2pmem_region *r)
{
	down_read(&r->gate);
	return stay(r);
}

/* The same, for a caller that is in another region already, one with a smaller number. */
bool p2pmem_enter_second(struct p2pmem_region *r)
{
	down_read_nested(&r->gate, SINGLE_DEPTH_NESTING);
	return stay(r);
}

void p2pmem_leave(struct p2pmem_region *r)
{
	lock_map_release(&inside_map);
	up_read(&r->gate);
}

/*
 * Is the memory of the device disabled, as it is after a reset, or is the device gone?  Who
 * only asks whether bytes were kept need not know which.  Never sleeps.
 */
bool p2pmem_forgot(struct p2pmem_region *r)
{
	return r->provider->forgot && r->provider->forgot(r);
}

/*
 * Is the memory of the device disabled, and can it be enabled again?  The registers of a
 * function that does not answer say nothing.  They are read first.  If the function answers
 * afterwards, it answered then, too, or was reset since.
 */
static bool is_disabled(struct p2pmem_region *r)
{
	return p2pmem_forgot(r) && p2pmem_function_answers(r->pdev);
}

/*
 * Was the device of another driver reset?  If so, counts it, and enables the memory again
 * if need be.  p2pmem is the driver of all other devices, and is told of their resets.
 * Returns the count of resets.  A reset that is in it is one after which the memory was
 * enabled again.
 */
u64 p2pmem_revalidate(struct p2pmem_region *r)
{
	u64 resets, counted;
	bool lost, reset;

	lockdep_assert_held(&r->gate);
	if (!r->provider->foreign)
		return atomic64_read(&r->resets);
	mutex_lock(&r->revalidate_lock);
	lost = is_disabled(r);
	resets = p2pmem_guard_resets(r->pdev);
	reset = lost || resets != r->function_resets;
	if (reset) {
		atomic64_inc(&r->resets);
		p2pmem_imports_outdate(r);
	}
	/* While a reset goes on, each look counts one more, but the log has only one line. */
	if (reset && !r->in_reset)
		dev_warn_ratelimited(&r->dev, "the device was reset%s; what was written to its memory may be lost\n",
				     lost ? " and had its memory disabled, which is enabled again" : "");
	r->in_reset = reset;
	WRITE_ONCE(r->function_resets, resets);
	mb(); /* counted before the evidence goes: p2pmem_was_reset() */
	if (lost)
		r->provider->enable(r);
	counted = atomic64_read(&r->resets);
	mutex_unlock(&r->revalidate_lock);
	return counted;
}

/*
 * Does the device keep what is stored in its memory?  @resets gets the count of resets.  If
 * the device answers before its registers are read, a reset that is over by then is counted.
 * If it does not answer afterwards, the registers may have told of an earlier reset, which is
 * not counted yet.
 */
bool p2pmem_is_sound(struct p2pmem_region *r, u64 *resets)
{
	bool answers = p2pmem_answers(r);

	*resets = p2pmem_revalidate(r);
	return answers && p2pmem_answers(r);
}

/*
 * Changes with each reset of another driver's function, and with each call while a reset
 * goes on.  For p2pmem's own functions it is 0: no reset begins before the caller leaves
 * the region.
 */
u64 p2pmem_resets_seen(struct p2pmem_region *r)
{
	lockdep_assert_held(&r->gate);
	if (!r->provider->foreign)
		return 0;
	return p2pmem_guard_resets(r->pdev) + atomic64_read(&r->resets);
}

#define READY_INTERVAL	msecs_to_jiffies(20)

/* For waits that may be long: a suspend, which would else fail after 20 s, goes on meanwhile. */
#define LONG_WAIT	(TASK_KILLABLE | TASK_FREEZABLE)

/*
 * A device that is reset again and again is waited for so long.  The PCI core gives it 60 s
 * after one reset.
 */
#define RESETS_PATIENCE	(90 * HZ)

/*
 * Was there a reset since the region had counted @resets and its function
 * @function_resets?  Takes no lock, and does nothing about the reset.  Whoever finds one
 * counts it first, and removes the evidence afterwards.  So this looks at the evidence
 * first, and at the counts afterwards.
 */
bool p2pmem_was_reset(struct p2pmem_region *r, const struct p2pmem_guarded *g,
		      u64 resets, u64 function_resets)
{
	bool lost = p2pmem_forgot(r);

	mb(); /* orders registers and memory; pairs with p2pmem_revalidate() */
	return lost || p2pmem_guard_saw_reset(g, function_resets) ||
	       atomic64_read(&r->resets) != resets;
}

/* Returns 1 if the memory can be used, 0 if not yet, and -errno if it does not become so. */
static int look_whether_ready(struct p2pmem_region *r, u64 *resets)
{
	int ready = 1;

	if (!p2pmem_enter(r))
		return -ENODEV;
	*resets = p2pmem_revalidate(r);
	if (r->provider->ready)
		ready = r->provider->ready(r);
	p2pmem_leave(r);
	return ready;
}

/*
 * Enables the device's memory if a reset disabled it, also one that comes while this waits,
 * and waits until the memory can be used.  A PMR may take as long as its PMRCAP says, after
 * each reset.  *@resets is then the count of resets as of that moment; it is left alone if
 * the region has gone away.  The caller is not in the region and holds no lock.  It must
 * not be mmap() or a page fault either, which come with mmap_lock.  If a process maps
 * memory that is not ready yet, SYNC tells it so, as it does of any reset.
 */
int p2pmem_await_counted(struct p2pmem_region *r, u64 *resets)
{
	unsigned long end = 0;	/* from the first reset on that comes while this waits */
	u64 before = U64_MAX;

	for (;;) {
		int ready = look_whether_ready(r, resets);

		if (ready)
			return min(ready, 0);
		if (before != U64_MAX && *resets != before) {
			if (!end)
				end = jiffies + RESETS_PATIENCE;
			else if (time_after(jiffies, end))
				return -EIO;
		}
		before = *resets;
		set_current_state(LONG_WAIT);
		schedule_timeout(READY_INTERVAL);
		if (fatal_signal_pending(current))
			return -EINTR;
	}
}

/* The same, for a caller that need not know the count.  Memory of most devices is always ready. */
int p2pmem_await_ready(struct p2pmem_region *r)
{
	u64 resets;

	return r->provider->ready ? p2pmem_await_counted(r, &resets) : 0;
}

/*
 * Waits until a reset is over, or the region is going away.  The caller is not in the
 * region.
 */
int p2pmem_await_reset(struct p2pmem_region *r)
{
	return wait_event_state(r->wait, !READ_ONCE(r->resetting) ||
				READ_ONCE(r->state) != P2PMEM_STATE_READY,
				LONG_WAIT);
}

/* Are the device's answers those of its memory?  Never sleeps. */
bool p2pmem_answers(struct p2pmem_region *r)
{
	return p2pmem_function_works(r->pdev) && !READ_ONCE(r->resetting);
}

/*
 * Returns when the CPU's own stores, write-combined ones too, have arrived at the device.
 * The caller makes sure that the region's registers stay mapped.  Never sleeps for
 * persistent memory.
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

/* The same, for a caller that is in the region. */
int p2pmem_flush(struct p2pmem_region *r)
{
	lockdep_assert_held(&r->gate);
	return p2pmem_barrier(r);
}
