// SPDX-License-Identifier: GPL-2.0
/*
 * Pins of a GPU's memory from when they have extents: they go back to the driver when
 * nobody refers to them.  gpu.h says what a pin is, gpu_pin.c how it is made.
 */
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "extent.h"
#include "gpu.h"
#include "pins.h"
#include "registry.h"

/* The driver knows nothing of it any more, and it has no extents. */
static void pin_free(struct p2pmem_pin *pin)
{
	struct p2pmem_region *r = pin->region;

	p2pmem_gpu_calls_put(&pin->calls);
	put_pid(pin->owner);
	kvfree(pin->ranges);
	kfree(pin);
	wake_up_all(&r->wait);
	put_device(&r->dev);
}

atomic_t p2pmem_revocable_pins;

void p2pmem_pin_end(struct p2pmem_pin *pin)
{
	struct p2pmem_region *r = pin->region;

	/* First: once no pin is seen the region goes, and then its driver may be unloaded. */
	p2pmem_gpu_calls_put(&pin->calls);
	mutex_lock(&r->alloc_lock);
	list_del(&pin->link);
	mutex_unlock(&r->alloc_lock);
	if (pin->counted)
		atomic_dec(&p2pmem_revocable_pins);
	pin_free(pin);
	module_put(THIS_MODULE);
}

/*
 * Held while the driver makes a pin, and while one is put that it may take away: a
 * callback that comes between the last look and the put frees the pin's table, and no
 * later pin may have its address by then.  The callback does not take it.
 */
DEFINE_MUTEX(p2pmem_gpu_driver_mutex);

static void say_kept(struct p2pmem_pin *pin, int err, const char *until)
{
	dev_err(&pin->region->dev, "the GPU's driver did not take %llu bytes back (errno %d): they stay pinned until %s\n",
		pin->bytes, -err, until);
}

/* It failed, so its table and we are still known to the driver, unless it has called back. */
static void leave_to_callback(struct p2pmem_pin *pin, int err)
{
	struct p2pmem_region *r = pin->region;
	bool revoked;

	mutex_lock(&r->alloc_lock);
	revoked = pin->revoked;
	if (!revoked)
		WRITE_ONCE(pin->state, P2PMEM_PIN_KEPT);
	mutex_unlock(&r->alloc_lock);
	wake_up_all(&r->wait);
	if (revoked)
		p2pmem_pin_end(pin);
	else
		say_kept(pin, err, "their process frees the memory, or ends");
}

/* Killed while it waits: its process ends, and so the callback comes. */
static void put_revocable(struct p2pmem_pin *pin)
{
	int ret = 0;

	if (mutex_lock_killable(&p2pmem_gpu_driver_mutex)) {
		leave_to_callback(pin, -EINTR);
		return;
	}
	if (!READ_ONCE(pin->revoked))
		ret = pin->calls.put(0, 0, pin->va, pin->table);
	mutex_unlock(&p2pmem_gpu_driver_mutex);
	if (ret)
		leave_to_callback(pin, ret);
	else
		p2pmem_pin_end(pin);
}

#define PUT_TRIES	5
#define PUT_INTERVAL	HZ

/*
 * Nothing but this ends it.  A driver that had no memory for the call is asked again.
 * After any other error it must not be: it has dropped what the pin held of the GPU.
 */
static void put_persistent(struct p2pmem_pin *pin)
{
	int ret = 0;

	if (pin->calls.put_persistent)
		ret = pin->calls.put_persistent(pin->va, pin->table, 0);
	if (ret == -ENOMEM && ++pin->tries < PUT_TRIES) {
		queue_delayed_work(p2pmem_wq, &pin->work, PUT_INTERVAL);
		return;
	}
	if (ret)
		say_kept(pin, ret, "it is unloaded");
	p2pmem_pin_end(pin);
}

/* Its state is PUTTING, so it is the caller's; no lock is held. */
void p2pmem_pin_put(struct p2pmem_pin *pin)
{
	if (pin->persistent)
		put_persistent(pin);
	else
		put_revocable(pin);
}

/*
 * The device has gone, and pages are referred to that will not be reached any more: the
 * driver, which waits for its pins, gets them; what they were stays with the extents.
 */
static struct p2pmem_pin *next_to_give(struct p2pmem_region *r)
{
	struct p2pmem_pin *pin, *found = NULL;

	mutex_lock(&r->alloc_lock);
	list_for_each_entry(pin, &r->pins, link)
		if (!found && pin->persistent && pin->state == P2PMEM_PIN_LIVE)
			found = pin;
	if (found)
		WRITE_ONCE(found->state, P2PMEM_PIN_PUTTING);
	mutex_unlock(&r->alloc_lock);
	return found;
}

static void give_to_driver(struct p2pmem_pin *pin)
{
	struct p2pmem_region *r = pin->region;
	int ret = pin->calls.put_persistent(pin->va, pin->table, 0);
	bool unused;

	if (ret)
		say_kept(pin, ret, "it is unloaded");
	p2pmem_gpu_calls_put(&pin->calls);
	mutex_lock(&r->alloc_lock);
	unused = list_empty(&pin->extents);
	if (!unused)
		WRITE_ONCE(pin->state, P2PMEM_PIN_GIVEN);
	mutex_unlock(&r->alloc_lock);
	if (unused)
		p2pmem_pin_end(pin);
}

void p2pmem_pins_give(struct p2pmem_region *r)
{
	struct p2pmem_pin *pin;

	while ((pin = next_to_give(r)))
		give_to_driver(pin);
}

/* Somebody is about to give room in BAR1 back. */
bool p2pmem_pins_are_put(struct p2pmem_region *r)
{
	struct p2pmem_pin *pin;

	lockdep_assert_held(&r->alloc_lock);
	list_for_each_entry(pin, &r->pins, link)
		if (pin->state == P2PMEM_PIN_PUTTING)
			return true;
	return false;
}

/* May the calling process put it?  The driver knows a callback pin by its process. */
static bool is_mine(const struct p2pmem_pin *pin)
{
	return pin->owner == task_tgid(current);
}

static struct p2pmem_pin *next_of_mine(struct p2pmem_region *r)
{
	struct p2pmem_pin *pin, *found = NULL;

	mutex_lock(&r->alloc_lock);
	list_for_each_entry(pin, &r->pins, link)
		if (!found && pin->state == P2PMEM_PIN_UNUSED && !pin->persistent &&
		    !pin->revoked && is_mine(pin))
			found = pin;
	if (found)
		WRITE_ONCE(found->state, P2PMEM_PIN_PUTTING);
	mutex_unlock(&r->alloc_lock);
	return found;
}

/*
 * Callback pins that nothing uses any more can be put by their process alone.  So
 * each of its calls that may, does; what is left goes when it frees the memory, or
 * ends.  No lock is held.
 */
void p2pmem_pins_put_mine(struct p2pmem_region *r)
{
	struct p2pmem_pin *pin;

	while ((pin = next_of_mine(r)))
		p2pmem_pin_put(pin);
}

/* The last extent has gone. */
static void pin_unused(struct p2pmem_pin *pin)
{
	lockdep_assert_held(&pin->region->alloc_lock);
	if (pin->state != P2PMEM_PIN_LIVE && pin->state != P2PMEM_PIN_GIVEN)
		return;
	if (!pin->persistent) {
		WRITE_ONCE(pin->state, P2PMEM_PIN_UNUSED);
		return;
	}
	WRITE_ONCE(pin->state, P2PMEM_PIN_PUTTING);
	queue_delayed_work(p2pmem_wq, &pin->work, 0);
}

/* @e is not a part of its pin any more: it is given back, or its region has ended. */
void p2pmem_pin_leave(struct p2pmem_extent *e)
{
	struct p2pmem_pin *pin = e->pin;

	if (!pin)
		return;
	lockdep_assert_held(&pin->region->alloc_lock);
	e->pin = NULL;
	list_del(&e->pin_link);
	if (list_empty(&pin->extents))
		pin_unused(pin);
}

/* Of a region that has ended, an extent that neither a file has nor the list of draining ones. */
static void leave_at_end(struct p2pmem_extent *e)
{
	p2pmem_pin_leave(e);
	if (p2pmem_extent_detached(e))
		kfree(e);
}

/* The region is gone, so that its pages are not looked at any more. */
void p2pmem_pin_drop(struct p2pmem_pin *pin)
{
	struct p2pmem_extent *e, *next;

	lockdep_assert_held(&pin->region->alloc_lock);
	list_for_each_entry_safe(e, next, &pin->extents, pin_link)
		leave_at_end(e);
}

/* Also memory that no file has any more, since its driver took it back. */
bool p2pmem_pins_have_memory(struct p2pmem_region *r)
{
	struct p2pmem_pin *pin;

	lockdep_assert_held(&r->alloc_lock);
	list_for_each_entry(pin, &r->pins, link)
		if (!list_empty(&pin->extents))
			return true;
	return false;
}

static bool has_persistent(struct p2pmem_region *r)
{
	struct p2pmem_pin *pin;
	bool found = false;

	mutex_lock(&r->alloc_lock);
	list_for_each_entry(pin, &r->pins, link)
		found |= pin->persistent;
	mutex_unlock(&r->alloc_lock);
	return found;
}

/* Looking takes a lock that sleeps, so that wait_event() will not do. */
static void await_persistent(struct p2pmem_region *r)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(&r->wait, &wait);
	while (has_persistent(r))
		wait_woken(&wait, TASK_IDLE, MAX_SCHEDULE_TIMEOUT);
	remove_wait_queue(&r->wait, &wait);
}

/*
 * No page of the region is referred to, and none will be: the driver gets all of it
 * back.  What its process alone can put stays until that ends, or frees it.
 */
void p2pmem_pins_end(struct p2pmem_region *r)
{
	struct p2pmem_pin *pin;

	mutex_lock(&r->alloc_lock);
	list_for_each_entry(pin, &r->pins, link)
		p2pmem_pin_drop(pin);
	mutex_unlock(&r->alloc_lock);
	await_persistent(r);
}

/*
 * A dma-buf is made of it.  Mappings of that may outlive it, in whatever process.  They
 * show what the file has there; so what is taken back is followed by nothing (detach_from()).
 * Returns whether the GPU's driver may take a part of it away.
 */
bool p2pmem_file_lend(struct p2pmem_file *f, u64 first, u64 count)
{
	struct p2pmem_extent *e;
	bool revocable = false;

	lockdep_assert_held(&f->region->gate);
	if (!f->region->provider->pinned)
		return false;
	mutex_lock(&f->lock);
	for (e = p2pmem_extent_from(f, first); e && e->file_first < first + count;
	     e = p2pmem_extent_next(e)) {
		e->pin->lent = true;
		revocable |= !e->pin->persistent;
	}
	mutex_unlock(&f->lock);
	return revocable;
}
