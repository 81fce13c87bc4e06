/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of a GPU that a process pinned (P2PMEM_IOC_PIN_GPU).
 *
 *   pin   the memory that one request to the GPU's driver pinned, and the extents made
 *         of it.  The driver gets it back when the last extent has been given back.
 *         It holds the region's struct, this module, and the driver's module
 *         (symbol_get()).
 *
 * With the driver's persistent calls, only p2pmem ends a pin.  Without them, the driver may
 * take the memory away by a callback, and only the process that pinned the memory can give
 * it back (gpu_revoke.c).
 *
 * While p2pmem calls the driver, it holds no lock but p2pmem_gpu_driver_sem, which the
 * callback does not take.  The driver holds its own locks in the callback, and takes them
 * both above and below mmap_lock.
 */
#ifndef P2PMEM_GPU_H
#define P2PMEM_GPU_H

#include <linux/list.h>
#include <linux/pid.h>
#include <linux/workqueue.h>

#include "nv_p2p.h"
#include "p2pmem.h"

/* The driver returns it; userspace has no such errno. */
#define P2PMEM_GPU_ENOTSUPP	524

/* The driver's functions, each with a reference to its module; NULL if the driver lacks it. */
struct p2pmem_gpu_calls {
	int (*get_persistent)(u64 va, u64 length, struct nvidia_p2p_page_table **table,
			      u32 flags);
	int (*put_persistent)(u64 va, struct nvidia_p2p_page_table *table, u32 flags);
	int (*get)(u64 token, u32 va_space, u64 va, u64 length,
		   struct nvidia_p2p_page_table **table, void (*callback)(void *data),
		   void *data);
	int (*put)(u64 token, u32 va_space, u64 va, struct nvidia_p2p_page_table *table);
};

enum p2pmem_pin_state {
	P2PMEM_PIN_GETTING,	/* the driver is asked; a callback leaves the work to the ioctl */
	P2PMEM_PIN_MAKING,	/* the ioctl reads the table; a callback waits */
	P2PMEM_PIN_LIVE,	/* has extents */
	P2PMEM_PIN_UNUSED,	/* has no extents any more; must be put */
	P2PMEM_PIN_PUTTING,	/* belongs to the caller that puts it */
	P2PMEM_PIN_KEPT,	/* a put failed; the callback ends it */
	P2PMEM_PIN_GIVEN,	/* has extents, but the driver of a lost GPU has the memory back */
};

/**
 * struct p2pmem_pin - memory of a GPU
 * @region: a reference to its device is held until the pin is freed
 * @link: in region->pins, until it is put or revoked; under region->alloc_lock
 * @unused_link: callback pins that wait for their process to put them: in
 *	region->unused_pins; under region->alloc_lock
 * @extents: the extents made of it (extent->pin_link); under region->alloc_lock
 * @state: whose turn it is; under region->alloc_lock
 * @persistent: it was made by the driver's persistent call, so the driver cannot take it
 *	away; fixed once @state is P2PMEM_PIN_MAKING
 * @revoked: the driver has taken the memory back, and it must not be put any more; never
 *	cleared; under region->alloc_lock
 * @va: where the memory is in the process that pinned it; a multiple of NV_P2P_PAGE_BYTES
 * @bytes: how long it is; a multiple of NV_P2P_PAGE_BYTES, > 0
 * @part: where its extents are; the file may have been closed
 * @lent: a dma-buf was made of a part of it; set under the file's lock, and fixed once the
 *	pin is detached from its file
 * @table: the driver's table; the callback of a callback pin ends it
 * @owner: callback pins: the process that may put it
 * @calls: the driver's functions, which keep its module loaded until the pin ends
 * @work: puts it (persistent pins), or frees it (callback pins)
 * @tries: how many attempts to put it failed
 * @nr_ranges: entries of @ranges that are used
 * @ranges: the pages of @table as the CPU sees them, neighbours joined; NULL until the
 *	table was read, and freed with the pin
 */
struct p2pmem_pin {
	struct p2pmem_region *region;
	struct list_head link;
	struct list_head unused_link;
	struct list_head extents;
	enum p2pmem_pin_state state;
	bool persistent;
	bool revoked;
	u64 va;
	u64 bytes;
	struct p2pmem_part part;
	bool lent;
	struct nvidia_p2p_page_table *table;
	struct pid *owner;
	struct p2pmem_gpu_calls calls;
	struct delayed_work work;
	unsigned int tries;
	unsigned int nr_ranges;
	struct p2pmem_range *ranges;
};

/* It is neither in a file nor in the list of draining extents.  The caller holds alloc_lock. */
static inline bool p2pmem_extent_detached(const struct p2pmem_extent *e)
{
	return RB_EMPTY_NODE(&e->node) && list_empty(&e->link);
}

/* gpu_calls.c */
int p2pmem_gpu_calls_get(struct p2pmem_gpu_calls *calls, bool *persistent, char *reason);
void p2pmem_gpu_calls_put(struct p2pmem_gpu_calls *calls);

/* gpu_reason.c */
int p2pmem_gpu_explain(struct p2pmem_region *r, u64 bytes, int err, char *reason);
void p2pmem_gpu_explain_foreign(struct p2pmem_region *r, phys_addr_t phys, char *reason);

/* gpu_revoke.c */
void p2pmem_gpu_revoke(void *pin);
bool p2pmem_gpu_is_over(struct p2pmem_pin *pin);

/* gpu_put.c */
extern struct rw_semaphore p2pmem_gpu_driver_sem;
void p2pmem_pin_end(struct p2pmem_pin *pin);
void p2pmem_pin_put(struct p2pmem_pin *pin);
void p2pmem_pin_drop(struct p2pmem_pin *pin);

#endif
