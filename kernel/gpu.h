/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of a GPU that a process pinned (P2PMEM_IOC_PIN_GPU).
 *
 *   pin   what the GPU's driver was asked for at one time, and the extents made of
 *         it.  It goes back to the driver when the last of them is given back.
 *         Holds the region's struct, this module, and the driver's (symbol_get()).
 *
 * With the driver's persistent calls nothing else ends a pin.  Without them the
 * driver may take the memory away by a callback, and only the process that pinned
 * it can give it back: gpu_revoke.c.
 *
 * No lock of ours is held while the driver is called: it has its own, which are
 * held in the callback, and which are above mmap_lock as well as below.
 */
#ifndef P2PMEM_GPU_H
#define P2PMEM_GPU_H

#include <linux/list.h>
#include <linux/pid.h>
#include <linux/workqueue.h>

#include "nv_p2p.h"
#include "p2pmem.h"

/* The driver says so; userspace knows no such errno. */
#define P2PMEM_GPU_ENOTSUPP	524

/* The driver's functions, each with a reference to its module; NULL: it has none. */
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
	P2PMEM_PIN_GETTING,	/* the driver is asked; a callback leaves it to the ioctl */
	P2PMEM_PIN_MAKING,	/* the ioctl reads the table; a callback waits */
	P2PMEM_PIN_LIVE,	/* has extents */
	P2PMEM_PIN_UNUSED,	/* has none any more; is to be put */
	P2PMEM_PIN_PUTTING,	/* whoever puts it has it */
	P2PMEM_PIN_KEPT,	/* a put has failed: it ends with its callback */
	P2PMEM_PIN_GIVEN,	/* has extents; the driver of a lost GPU has it already */
};

/**
 * struct p2pmem_pin - memory of a GPU
 * @link: in region->pins, until it is put or revoked
 * @extents: what was made of it (extent->pin_link)
 * @state, @revoked: change under region->alloc_lock, which the lists are under
 * @part: where its extents are; the file may have been closed
 * @lent: a dma-buf was made of a part of it; under the file's lock, or revoked
 * @counted: one that the driver may take away
 * @table: the driver's; of a callback pin it is gone with the callback
 * @owner: callback: the process that may put it
 * @work: puts it (persistent), or frees it (callback)
 * @tries: of putting it, that failed
 */
struct p2pmem_pin {
	struct p2pmem_region *region;
	struct list_head link;
	struct list_head extents;
	enum p2pmem_pin_state state;
	bool persistent;
	bool revoked;
	u64 va;
	u64 bytes;
	struct p2pmem_part part;
	bool lent;
	bool counted;
	struct nvidia_p2p_page_table *table;
	struct pid *owner;
	struct p2pmem_gpu_calls calls;
	struct delayed_work work;
	unsigned int tries;
	unsigned int nr_ranges;
	struct p2pmem_range *ranges;
};

/* Its file does not have it any more, nor is it closed and drains.  Under alloc_lock. */
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
extern struct mutex p2pmem_gpu_driver_mutex;
extern atomic_t p2pmem_revocable_pins;	/* pins that are counted */
void p2pmem_pin_end(struct p2pmem_pin *pin);
void p2pmem_pin_put(struct p2pmem_pin *pin);
void p2pmem_pin_drop(struct p2pmem_pin *pin);

#endif
