/* SPDX-License-Identifier: GPL-2.0 */
/* The gate that each user of a region enters and leaves, and the checks of the device in between. */
#ifndef P2PMEM_GATE_H
#define P2PMEM_GATE_H

#include "p2pmem.h"

struct p2pmem_guarded;

void p2pmem_gate_init(void);
bool p2pmem_enter(struct p2pmem_region *r);
bool p2pmem_enter_second(struct p2pmem_region *r);
int p2pmem_await_ready(struct p2pmem_region *r);
int p2pmem_await_counted(struct p2pmem_region *r, u64 *resets);
int p2pmem_await_reset(struct p2pmem_region *r);
void p2pmem_leave(struct p2pmem_region *r);
bool p2pmem_forgot(struct p2pmem_region *r);
u64 p2pmem_revalidate(struct p2pmem_region *r);
bool p2pmem_is_sound(struct p2pmem_region *r, u64 *resets);
u64 p2pmem_resets_seen(struct p2pmem_region *r);
bool p2pmem_answers(struct p2pmem_region *r);
bool p2pmem_was_reset(struct p2pmem_region *r, const struct p2pmem_guarded *g,
		      u64 resets, u64 function_resets);
int p2pmem_barrier(struct p2pmem_region *r);
int p2pmem_flush(struct p2pmem_region *r);

#endif
