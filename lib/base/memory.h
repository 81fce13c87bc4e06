/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU access to device memory.  Every access is guarded: a region that goes
 * away raises SIGBUS, which ends the call with -ENODEV instead.
 */
#ifndef DONARD_MEMORY_H
#define DONARD_MEMORY_H

#include "base/base.h"

/* Either side may be device memory or DRAM. */
int dnd_memory_copy(void *to, const void *from, size_t bytes);
/* Copies from the end when the ranges ask for it. */
int dnd_memory_move(void *to, const void *from, size_t bytes);
/* 0 equal, 1 different with *where the first differing byte, or -errno. */
int dnd_memory_compare(const void *device, const void *dram, size_t bytes, size_t *where);
int dnd_memory_zero(void *to, size_t bytes);
void dnd_memory_nonce(void *dram, size_t bytes);

#endif /* DONARD_MEMORY_H */
