// SPDX-License-Identifier: GPL-2.0
/*
 * How pins of a GPU's memory end once they have extents: they go back to the driver when
 * nobody refers to them.  gpu.h says what a pin is, gpu_pin.c how it is made.
 */
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "extent.h"
#include "gpu.h"
#include "pins.h"
#include "registry.h"

/* The driver knows nothing of the pin any more, and the pin has no extents. */
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

void p2pmem_pin_end(struct p2pmem_pin *pin)
{
	struct p2pmem_region *r = pin->region;

	/*
	 * This comes first.  When no pin is on the list any more, the region goes, and
	 * then the GPU's driver may be unloaded.
	 */
	p2pmem_gpu_calls_put(&pin->calls);
	mutex_lock(&r->alloc_lock);
	list_del(&pin->link);
	list_del(&pin->unused_link);
	mutex_unlock(&r->alloc_lock);
	pin_free(pin);
	module_put(THIS_MODULE);
}

/*
 * Held while the driver makes a pin, and, for writing, while a callback pin is put.  If a
 * callback comes between the last look at ->revoked and the put, it frees the pin's table.
 * No other pin may get a table at that address before the put has ended.  The callback does
 * not take this.
 */
DECLARE_RWSEM(p2pmem_gpu_driver_sem);

static void say_kept(struct p2pmem_region *r, u64 bytes, int err, const char *until)
{
	dev_err(&r->dev, "the GPU's driver did not take %llu bytes back (errno %d): they stay pinned until %s\n",
		bytes, -err, until);
}

/*
 * The put failed, so the driver still knows the table and the pin, unless it has called
 * back.  A pin that is left to the callback may end at any moment.
 */
static void leave_to_callback(struct p2pmem_pin *pin, int err)
{
	struct p2pmem_region *r = pin->region;
	u64 bytes = pin->bytes;
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
		say_kept(r, bytes, err, "their process frees the memory, or ends");
}

/* If the process is killed while it waits here, it ends, and so the callback comes. */
static void put_revocable(struct p2pmem_pin *pin)
{
	int ret = 0;

	if (down_write_killable(&p2pmem_gpu_driver_sem)) {
		leave_to_callback(pin, -EINTR);
		return;
	}
	if (!READ_ONCE(pin->revoked))
		ret = pin->calls.put(0, 0, pin->va, pin->table);
	up_write(&p2pmem_gpu_driver_sem);
	if (ret)
		leave_to_callback(pin, ret);
	else
		p2pmem_pin_end(pin);
}

#define PUT_TRIES	5
#define PUT_INTERVAL	HZ

/*
 * Nothing but this ends a persistent pin.  If the driver had no memory for the call, it
 * is asked again.  After any other error it must not be, because it has dropped what the
 * pin held of the GPU.
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
		say_kept(pin->region, pin->bytes, ret, "it is unloaded");
	p2pmem_pin_end(pin);
}

/* The pin's state is PUTTING, so it belongs to the caller, who holds no lock. */
void p2pmem_pin_put(struct p2pmem_pin *pin)
{
	if (pin->persistent)
		put_persistent(pin);
	else
		put_revocable(pin);
}

/*
 * The device is gone, and somebody refers to pages that nobody will reach any more.  The
 * driver waits for its pins, so it gets them back.  The extents keep the range.
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

/*
 * Returns false if it has to be tried again, as in put_persistent().  If the extents have
 * gone meanwhile, pin_unused() has left the pin to this, because it was PUTTING.
 */
static bool give_to_driver(struct p2pmem_pin *pin)
{
	struct p2pmem_region *r = pin->region;
	int ret = pin->calls.put_persistent(pin->va, pin->table, 0);
	bool again = ret == -ENOMEM && ++pin->tries < PUT_TRIES;
	bool unused;

	if (ret && !again)
		say_kept(r, pin->bytes, ret, "it is unloaded");
	if (!again)
		p2pmem_gpu_calls_put(&pin->calls);
	mutex_lock(&r->alloc_lock);
	unused = list_empty(&pin->extents);
	if (!unused)
		WRITE_ONCE(pin->state, again ? P2PMEM_PIN_LIVE : P2PMEM_PIN_GIVEN);
	mutex_unlock(&r->alloc_lock);
	if (unused && again)
		queue_delayed_work(p2pmem_wq, &pin->work, PUT_INTERVAL);
	else if (unused)
		p2pmem_pin_end(pin);
	return !again;
}

/* The caller calls again for what is left. */
void p2pmem_pins_give(struct p2pmem_region *r)
{
	struct p2pmem_pin *pin;

	while ((pin = next_to_give(r))) {
		if (!give_to_driver(pin)) {
			schedule_timeout_idle(PUT_INTERVAL);
			return;
		}
	}
}

/* Is somebody about to give room in BAR1 back? */
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
	list_for_each_entry(pin, &r->unused_pins, unused_link) {
		if (pin->revoked || !is_mine(pin))
			continue;
		found = pin;
		break;
	}
	if (found) {
		WRITE_ONCE(found->state, P2PMEM_PIN_PUTTING);
		list_del_init(&found->unused_link);
	}
	mutex_unlock(&r->alloc_lock);
	return found;
}

/*
 * Only its process can put a callback pin that nothing uses any more.  So each call of
 * that process that can put such pins does so.  What is left goes when the process frees
 * the memory, or ends.  The caller holds no lock.  Returns whether there were any.
 */
bool p2pmem_pins_put_mine(struct p2pmem_region *r)
{
	struct p2pmem_pin *pin;
	bool any = false;

	while ((pin = next_of_mine(r))) {
		p2pmem_pin_put(pin);
		any = true;
	}
	return any;
}

/* The last extent is gone. */
static void pin_unused(struct p2pmem_pin *pin)
{
	lockdep_assert_held(&pin->region->alloc_lock);
	if (pin->state != P2PMEM_PIN_LIVE && pin->state != P2PMEM_PIN_GIVEN)
		return;
	if (!pin->persistent) {
		WRITE_ONCE(pin->state, P2PMEM_PIN_UNUSED);
		list_add_tail(&pin->unused_link, &pin->region->unused_pins);
		return;
	}
	WRITE_ONCE(pin->state, P2PMEM_PIN_PUTTING);
	queue_delayed_work(p2pmem_wq, &pin->work, 0);
}

/* @e is no part of its pin any more: it is given back, or its region has ended. */
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

/* The region has ended.  An extent that is neither in a file nor draining is freed here. */
static void leave_at_end(struct p2pmem_extent *e)
{
	p2pmem_pin_leave(e);
	if (p2pmem_extent_detached(e))
		kfree(e);
}

/* The region is gone, so nobody looks at its pages any more. */
void p2pmem_pin_drop(struct p2pmem_pin *pin)
{
	struct p2pmem_extent *e, *next;

	lockdep_assert_held(&pin->region->alloc_lock);
	list_for_each_entry_safe(e, next, &pin->extents, pin_link)
		leave_at_end(e);
}

/* Includes memory that no file has any more, because the GPU's driver took it back. */
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

/* has_persistent() takes a mutex, so wait_event() will not do. */
static void await_persistent(struct p2pmem_region *r)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(&r->wait, &wait);
	while (has_persistent(r))
		wait_woken(&wait, TASK_IDLE, MAX_SCHEDULE_TIMEOUT);
	remove_wait_queue(&r->wait, &wait);
}

/*
 * Nobody refers to a page of the region, or will.  So the driver gets all of it back.  A
 * pin that only its process can put stays until that process frees the memory, or ends.
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
 * A dma-buf is being made of the range.  Mappings of the dma-buf may outlive the memory,
 * in whatever process, and they show what the file has there.  So when memory is taken
 * back, the file gets no other memory at that place (detach_from()).  Returns whether the
 * GPU's driver may take a part of the range away.
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
