/* SPDX-License-Identifier: Apache-2.0 */
/* Physical addresses of a process's memory, which /proc shows only to root. */
#ifndef DND_METER_PAGEMAP_H
#define DND_METER_PAGEMAP_H

#include <stdint.h>
#include <sys/types.h>

#include "donard/donard.h"

/* Gets one contiguous piece of physical memory. */
typedef void (*dnd_pagemap_fn)(void *user, uint64_t address, uint64_t bytes);

/* Calls @fn for the present pages of that memory; adjacent pages make one piece.  @pid 0: this process. */
int dnd_pagemap_walk(struct donard_context *ctx, pid_t pid, const void *memory, size_t bytes,
		     dnd_pagemap_fn fn, void *user);

#endif /* DND_METER_PAGEMAP_H */
