/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A driver named "nvidia" for the lab: it plays NVIDIA's peer-to-peer interface
 * (kernel/nv_p2p.h has the rules) over a BAR of plain memory, which is the GPU's
 * memory and its BAR1 aperture at once, and complains (a WARN) of a caller that
 * breaks a rule.  Bind it by driver_override.  Its state and its levers are parameters:
 * /sys/bus/pci/drivers/nvidia/module/parameters.
 *
 * lab.lock is the driver's lock: callbacks run under it, and every call takes it.
 * So a caller that holds a lock of its own, which its callback takes, across a call
 * hangs, or on a debug kernel is told; "fail" makes it happen at will.
 *
 * Memory that goes back is filled with a pattern, which must be there when it is
 * next allocated, and at the end: nobody may write to what was freed.
 */
#ifndef LAB_H
#define LAB_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/wait.h>

#include "../../../../kernel/nv_p2p.h"
#include "nvidia-lab.h"

#define LAB_BAR		2			/* of the lab's GPU-like function */
#define LAB_PAGE	NVLAB_PAGE_BYTES
#define LAB_HEADROOM	(36ULL << 20)		/* of BAR1, that nobody gets */
#define LAB_PATTERN	0xdbdbdbdbdbdbdbdbULL	/* in memory that was freed */

struct lab {
	struct mutex lock;
	struct pci_dev *pdev;		/* NULL: no GPU, or it goes */
	phys_addr_t phys;
	u64 bytes;
	void *vram;
	unsigned long *taken;		/* pages, by their number in the BAR */
	unsigned long *patterned;
	struct list_head clients;
	u64 bar1_used;
	u64 serial;
	struct task_struct *in_callback;
	unsigned int users;		/* files, pins and dma-bufs */
	bool absent;			/* unplugged: what a read says is no memory */
	wait_queue_head_t gone;
};

extern struct lab lab;

/* An open file. */
struct lab_client {
	struct list_head link;
	pid_t tgid;
	struct list_head allocations;	/* by address */
};

/* Referred to by its client until it is freed, by pins and by dma-bufs. */
struct lab_allocation {
	struct kref refs;
	struct list_head link;
	struct list_head pins;
	u64 va;
	u64 bytes;
	u64 serial;
	u32 pages;
	u32 page[];			/* numbers in the BAR */
};

/* Levers and state: module parameters. */
extern bool lab_expect_complaint, lab_scatter, lab_mig, lab_vgpu, lab_static_bar1;
extern unsigned int lab_bar1_mib, lab_table_version, lab_page_size;
extern unsigned int lab_patience_s;
extern unsigned int lab_pinned_pages, lab_callbacks;

__printf(1, 2)
void lab_complain(const char *fmt, ...);

/* The caller has broken a rule; the value is the condition's. */
#define LAB_COMPLAIN(condition, ...) ({		\
	bool wrong = !!(condition);		\
						\
	if (wrong)				\
		lab_complain(__VA_ARGS__);	\
	wrong;					\
})

#define LAB_REVOKE	1	/* instead of an errno: the owner frees the allocation just then */

/* Returns the lever "fail" for this call, once: 0, -errno or LAB_REVOKE. */
int lab_failure(const char *call);

/*
 * The driver's lock.  NVIDIA's takes mmap_lock below its own (it pins memory of the
 * user's): so a debug kernel tells of whoever calls with a lock that a fault takes.
 */
void lab_lock(void);

/* The lock is held, as for all that follow. */
void lab_user_begins(void);
void lab_user_ends(void);

/* vram.c */
int lab_allocate(struct lab_client *client, u64 bytes, u64 *va);
void lab_free(struct lab_allocation *a);
void lab_allocation_put(struct lab_allocation *a);
/* The allocation of the client that holds all of the range, or NULL. */
struct lab_allocation *lab_find(struct lab_client *client, u64 va, u64 bytes);
u64 lab_bar_offset(const struct lab_allocation *a, u64 offset);
u64 lab_free_bytes(void);
/* These need a reference, not the lock; the range is within the allocation. */
void lab_read(struct lab_allocation *a, u64 offset, void *to, size_t bytes);
void lab_write(struct lab_allocation *a, u64 offset, const void *from, size_t bytes);
void lab_check_pattern(u32 page);

/* p2p.c: runs the callbacks of an allocation and forgets its pages. */
void lab_revoke(struct lab_allocation *a);
unsigned int lab_count_persistent(void);
void lab_forget_persistent(void);
void lab_forget_fired(void);
/* persistent.c and p2p.c */
int lab_get(bool persistent, u64 va, u64 length,
	    struct nvidia_p2p_page_table **table,
	    void (*callback)(void *data), void *data);
int lab_put(bool persistent, u64 va, struct nvidia_p2p_page_table *table);

/* export.c: a file descriptor or -errno; takes a reference of its own. */
int lab_export(struct lab_allocation *a, u64 offset, u64 bytes);

/* node.c */
int lab_node_begin(void);
void lab_node_end(void);

#endif
