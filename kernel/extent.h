/* SPDX-License-Identifier: GPL-2.0 */
/* The extents of an open file, and the zeroing that hides the bytes of earlier owners. */
#ifndef P2PMEM_EXTENT_H
#define P2PMEM_EXTENT_H

#include <linux/mm_types.h>

#include "p2pmem.h"

struct p2pmem_extent *p2pmem_extent_from(struct p2pmem_file *f, u64 granule);
struct p2pmem_extent *p2pmem_extent_next(const struct p2pmem_extent *e);
void p2pmem_extent_insert(struct p2pmem_file *f, struct p2pmem_extent *new);
bool p2pmem_file_find_locked(struct p2pmem_file *f, u64 granule, struct p2pmem_span *span);
bool p2pmem_file_find(struct p2pmem_file *f, u64 granule, struct p2pmem_span *span);
int p2pmem_file_walk(struct p2pmem_file *f, u64 first, u64 count,
		     int (*each)(const struct p2pmem_span *part, void *data), void *data);
int p2pmem_make_visible(struct p2pmem_file *f, u64 granule, u64 count);
int p2pmem_make_visible_locked(struct p2pmem_file *f, u64 granule, u64 count);
int p2pmem_make_more_visible_locked(struct p2pmem_file *f, u64 granule, u64 count);
int p2pmem_file_show(struct p2pmem_file *f, u64 first, u64 count);

/* What a fault returns if p2pmem_make_visible_locked() failed.  handle_fault() waits before the retry. */
static inline vm_fault_t p2pmem_unseen(int err)
{
	return err == -EAGAIN ? VM_FAULT_RETRY : VM_FAULT_SIGBUS;
}

#endif
