/* SPDX-License-Identifier: GPL-2.0 */
/* Calls of the rest of the module for GPU memory that files have pinned; gpu.h says what a pin is. */
#ifndef P2PMEM_PINS_H
#define P2PMEM_PINS_H

#include "p2pmem.h"

/* gpu_pin.c */
long p2pmem_pin_gpu(struct p2pmem_file *f, struct p2pmem_pin_gpu *req);

/* gpu_put.c */
bool p2pmem_pins_put_mine(struct p2pmem_region *r);
bool p2pmem_pins_have_memory(struct p2pmem_region *r);
void p2pmem_pin_leave(struct p2pmem_extent *e);
bool p2pmem_file_lend(struct p2pmem_file *f, u64 first, u64 count);
bool p2pmem_pins_are_put(struct p2pmem_region *r);
void p2pmem_pins_give(struct p2pmem_region *r);
void p2pmem_pins_end(struct p2pmem_region *r);

#endif
