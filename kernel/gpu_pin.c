// SPDX-License-Identifier: GPL-2.0
/*
 * P2PMEM_IOC_PIN_GPU: memory of a GPU becomes memory of an open file.  gpu.h says what
 * a pin is, gpu_put.c how it ends.
 */
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "gate.h"
#include "gpu.h"
#include "pins.h"
#include "reap.h"
#include "reason.h"
#include "registry.h"
#include "take.h"
#include "window.h"

static int check_request(struct p2pmem_file *f, struct p2pmem_pin_gpu *req)
{
	if (!f->region->provider->pinned) {
		p2pmem_reason(req->reason, "%s is of kind %s: only gpu-nvidia takes pins of GPU memory",
			      dev_name(&f->region->dev), f->region->provider->name);
		return -EOPNOTSUPP;
	}
	if (req->flags) {
		p2pmem_reason(req->reason, "flags must be zero");
		return -EINVAL;
	}
	if (!req->length || !IS_ALIGNED(req->va | req->length | req->offset, NV_P2P_PAGE_BYTES)) {
		p2pmem_reason(req->reason, "address (0x%llx), length (%llu) and offset (%llu) must be multiples of 64 KiB, the length more than none: round them to the GPU pages that hold the range",
			      req->va, req->length, req->offset);
		return -EINVAL;
	}
	if (req->length > LLONG_MAX || req->offset > LLONG_MAX - req->length ||
	    req->va > U64_MAX - req->length) {
		p2pmem_reason(req->reason, "the range ends past the last address");
		return -EINVAL;
	}
	return 0;
}

static int check_region(struct p2pmem_region *r, char *reason)
{
	if (!p2pmem_enter(r)) {
		p2pmem_reason(reason, "%s is being removed", dev_name(&r->dev));
		return -ENODEV;
	}
	p2pmem_revalidate(r);
	p2pmem_leave(r);
	return 0;
}

#define LOOK_INTERVAL	(HZ / 4)

/*
 * Puts a persistent pin that is unused.  The driver has taken a revoked pin back already;
 * that one ends when nothing refers to its memory any more.
 */
static void pin_work(struct work_struct *work)
{
	struct p2pmem_pin *pin = container_of(to_delayed_work(work), struct p2pmem_pin, work);

	if (!pin->revoked)
		p2pmem_pin_put(pin);
	else if (p2pmem_gpu_is_over(pin))
		p2pmem_pin_end(pin);
	else
		queue_delayed_work(p2pmem_wq, &pin->work, LOOK_INTERVAL);
}

static struct p2pmem_pin *pin_new(struct p2pmem_file *f, const struct p2pmem_pin_gpu *req)
{
	struct p2pmem_region *r = f->region;
	struct p2pmem_pin *pin = kzalloc(sizeof(*pin), GFP_KERNEL_ACCOUNT);

	if (!pin)
		return NULL;
	pin->region = r;
	get_device(&r->dev);
	pin->owner = get_pid(task_tgid(current));
	pin->va = req->va;
	pin->bytes = req->length;
	pin->part.file_serial = f->serial;
	pin->part.first = req->offset >> PAGE_SHIFT;
	pin->part.end = (req->offset + req->length) >> PAGE_SHIFT;
	pin->state = P2PMEM_PIN_GETTING;
	INIT_LIST_HEAD(&pin->link);
	INIT_LIST_HEAD(&pin->unused_link);
	INIT_LIST_HEAD(&pin->extents);
	INIT_DELAYED_WORK(&pin->work, pin_work);
	__module_get(THIS_MODULE);
	mutex_lock(&r->alloc_lock);
	list_add_tail(&pin->link, &r->pins);
	mutex_unlock(&r->alloc_lock);
	return pin;
}

/*
 * The driver's callback does not end before the pages are free of references.  Pages that
 * can be pinned for long may be in such a pin only if root asked for that page type.
 */
static int check_revocable(struct p2pmem_region *r, char *reason)
{
	if (r->backing.type == P2PMEM_PAGES_P2PDMA || r->generic_by_name)
		return 0;
	p2pmem_reason(reason, "the driver of %s can take pinned memory back at any time (before 535, MIG or vGPU), and generic pages may be held for good: add the region with page type %s",
		      pci_name(r->pdev), COMPAT_HAS_P2PDMA ? "p2pdma" :
		      "generic by name, if no program keeps RDMA memory regions of it");
	return -EOPNOTSUPP;
}

/* The driver of a partitioned GPU has the persistent calls, but refuses them. */
static bool lacks_persistent(const struct p2pmem_pin *pin, int err)
{
	return (err == -P2PMEM_GPU_ENOTSUPP || err == -EOPNOTSUPP) && pin->calls.get &&
	       pin->calls.put;
}

static int call_get(struct p2pmem_pin *pin)
{
	if (pin->persistent)
		return pin->calls.get_persistent(pin->va, pin->bytes, &pin->table, 0);
	return pin->calls.get(0, 0, pin->va, pin->bytes, &pin->table, p2pmem_gpu_revoke, pin);
}

static int ask_once(struct p2pmem_pin *pin)
{
	int ret;

	if (down_read_killable(&p2pmem_gpu_driver_sem))
		return -EINTR;
	ret = call_get(pin);
	up_read(&p2pmem_gpu_driver_sem);
	return ret;
}

/*
 * Is there more room in BAR1 than there was?  If a file was closed a moment ago, its room
 * may be on its way back.  A callback pin of this process may become unused while the
 * caller waits, and then nobody but the caller can put it.
 */
static bool room_came_back(struct p2pmem_region *r, unsigned long asked)
{
	return p2pmem_pins_put_mine(r) || p2pmem_settle(r, asked) ||
	       p2pmem_pins_put_mine(r);
}

static int ask(struct p2pmem_pin *pin)
{
	unsigned long asked = jiffies;
	int ret;

	do {
		ret = ask_once(pin);
	} while (ret == -ENOMEM && room_came_back(pin->region, asked));
	return ret == -ENOMEM ? p2pmem_settled(pin->region, ret) : ret;
}

static int ask_revocable(struct p2pmem_pin *pin, char *reason)
{
	int ret = check_revocable(pin->region, reason);

	if (ret)
		return ret;
	ret = ask(pin);
	if (ret)
		return p2pmem_gpu_explain(pin->region, pin->bytes, ret, reason);
	WRITE_ONCE(pin->region->revocable, true);
	return 0;
}

static int get_table(struct p2pmem_pin *pin, char *reason)
{
	int ret = p2pmem_gpu_calls_get(&pin->calls, &pin->persistent, reason);

	if (ret)
		return ret;
	if (pin->persistent) {
		ret = ask(pin);
		if (!ret)
			return 0;
		pin->persistent = false;
		wake_up_all(&pin->region->wait); /* for await_persistent() */
		if (!lacks_persistent(pin, ret))
			return p2pmem_gpu_explain(pin->region, pin->bytes, ret, reason);
	}
	return ask_revocable(pin, reason);
}

/* Begins to read the table, unless the driver has taken the memory back already. */
static int begin_making(struct p2pmem_pin *pin, char *reason)
{
	struct p2pmem_region *r = pin->region;
	bool revoked;

	mutex_lock(&r->alloc_lock);
	revoked = pin->revoked;
	if (!revoked)
		WRITE_ONCE(pin->state, P2PMEM_PIN_MAKING);
	mutex_unlock(&r->alloc_lock);
	if (!revoked)
		return 0;
	p2pmem_reason(reason, "the memory was freed while it was being pinned");
	return -EINVAL;
}

static int check_table(struct p2pmem_pin *pin, char *reason)
{
	struct nvidia_p2p_page_table *table = pin->table;

	if (!nv_p2p_table_known(table)) {
		p2pmem_reason(reason, "the driver's page table has version 0x%x and page size %u, which this p2pmem does not know: install one that fits the driver",
			      table->version, table->page_size);
		return -EOPNOTSUPP;
	}
	if (table->entries != pin->bytes / NV_P2P_PAGE_BYTES) {
		p2pmem_reason(reason, "the driver gave %u pages of 64 KiB for %llu KiB",
			      table->entries, pin->bytes >> 10);
		return -EIO;
	}
	return 0;
}

static bool in_region(const struct p2pmem_region *r, phys_addr_t phys)
{
	return phys >= r->backing.phys && phys - r->backing.phys < r->backing.bytes &&
	       IS_ALIGNED(phys, PAGE_SIZE) &&
	       r->backing.bytes - (phys - r->backing.phys) >= NV_P2P_PAGE_BYTES;
}

/* Contiguous pages become one range. */
static void add_page(struct p2pmem_pin *pin, phys_addr_t phys)
{
	struct p2pmem_range *last = pin->ranges + pin->nr_ranges - 1;

	if (pin->nr_ranges && last->phys + last->bytes == phys) {
		last->bytes += NV_P2P_PAGE_BYTES;
		return;
	}
	pin->ranges[pin->nr_ranges++] = (struct p2pmem_range){ phys, NV_P2P_PAGE_BYTES };
}

static int read_table(struct p2pmem_pin *pin, char *reason)
{
	u32 i;
	int ret = check_table(pin, reason);

	if (ret)
		return ret;
	pin->ranges = kvcalloc(pin->table->entries, sizeof(*pin->ranges), GFP_KERNEL_ACCOUNT);
	if (!pin->ranges)
		return -ENOMEM;
	for (i = 0; i < pin->table->entries; i++) {
		phys_addr_t phys = pin->table->pages[i]->physical_address;

		if (!in_region(pin->region, phys)) {
			p2pmem_gpu_explain_foreign(pin->region, phys, reason);
			return -ENXIO;
		}
		add_page(pin, phys);
	}
	return 0;
}

static int need_pages(struct p2pmem_pin *pin, char *reason)
{
	struct p2pmem_region *r = pin->region;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < pin->nr_ranges && !ret; i++)
		ret = p2pmem_windows_need(r, PHYS_PFN(pin->ranges[i].phys - r->backing.phys),
					  pin->ranges[i].bytes >> PAGE_SHIFT);
	if (ret == -ENODEV)
		p2pmem_reason(reason, "%s is being removed", dev_name(&r->dev));
	else if (ret)
		p2pmem_reason(reason, "the kernel could not make struct pages for a part of BAR%u of %s (errno %d): the kernel log says why",
			      r->bar, pci_name(r->pdev), -ret);
	return ret;
}

static void explain_own(struct p2pmem_file *f, struct p2pmem_pin_gpu *req, int err)
{
	struct p2pmem_region *r = f->region;

	if (err == -EEXIST)
		p2pmem_reason(req->reason, "the file has memory at offset %llu, or within %llu bytes from there, or had some there or on both sides that a dma-buf was made of: choose another offset",
			      req->offset, req->length);
	else if (err == -EBUSY)
		p2pmem_reason(req->reason, "a part of this GPU memory is pinned through %s already, or was and is still held: use that file, or end those that are listed in its holders (sysfs)",
			      dev_name(&r->dev));
	else if (err == -ENODEV)
		p2pmem_reason(req->reason, "%s is being removed", dev_name(&r->dev));
	else if (err == -ETXTBSY)
		p2pmem_reason(req->reason, "the pool of the driver of %s (p2pmem/allocate in sysfs) has given out a part of this GPU memory: end whoever mapped it",
			      pci_name(r->pdev));
	else if (err == -EINTR)
		p2pmem_reason(req->reason, "a signal ended the call: try again");
	else if (err == -ESTALE)
		p2pmem_reason(req->reason, "the memory was freed while it was being pinned");
}

/* On success the pin belongs to its extents. */
static int own(struct p2pmem_file *f, struct p2pmem_pin *pin, struct p2pmem_pin_gpu *req)
{
	unsigned long asked = jiffies;
	int ret;

	do {
		ret = READ_ONCE(pin->revoked) ? -ESTALE :
		      p2pmem_file_own(f, pin);
	} while (ret == -EBUSY && p2pmem_settle(f->region, asked));
	if (ret == -EBUSY)
		ret = p2pmem_settled(f->region, ret);
	explain_own(f, req, ret);
	if (ret == -ETXTBSY)
		return -EBUSY;
	return ret == -ESTALE ? -EINVAL : ret;
}

static int pin_make(struct p2pmem_file *f, struct p2pmem_pin *pin, struct p2pmem_pin_gpu *req)
{
	return read_table(pin, req->reason) ?: need_pages(pin, req->reason) ?:
	       own(f, pin, req);
}

/* The pin has no extents.  If the driver has taken it away, the callback goes on with it. */
static void pin_unmake(struct p2pmem_pin *pin)
{
	struct p2pmem_region *r = pin->region;
	bool revoked;

	mutex_lock(&r->alloc_lock);
	revoked = pin->revoked;
	WRITE_ONCE(pin->state, revoked ? P2PMEM_PIN_UNUSED : P2PMEM_PIN_PUTTING);
	mutex_unlock(&r->alloc_lock);
	wake_up_all(&r->wait);
	if (!revoked)
		p2pmem_pin_put(pin);
}

static int pin_for(struct p2pmem_file *f, struct p2pmem_pin_gpu *req)
{
	struct p2pmem_pin *pin = pin_new(f, req);
	int ret;

	if (!pin)
		return -ENOMEM;
	ret = get_table(pin, req->reason) ?: begin_making(pin, req->reason);
	if (ret) {
		p2pmem_pin_end(pin);
		return ret;
	}
	ret = pin_make(f, pin, req);
	if (ret)
		pin_unmake(pin);
	return ret;
}

long p2pmem_pin_gpu(struct p2pmem_file *f, struct p2pmem_pin_gpu *req)
{
	int ret;

	memset(req->reason, 0, sizeof(req->reason));
	ret = check_request(f, req);
	if (ret)
		return ret;
	ret = check_region(f->region, req->reason);
	if (ret)
		return ret;
	p2pmem_pins_put_mine(f->region);
	ret = pin_for(f, req);
	if (ret == -ENOMEM && !req->reason[0])
		p2pmem_reason(req->reason, "the kernel has no memory for its records of the pin: free some, and try again");
	return ret;
}
