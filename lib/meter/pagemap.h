/* SPDX-License-Identifier: Apache-2.0 */
/* Physical addresses of a process's memory, which /proc shows to root alone. */
#ifndef DND_METER_PAGEMAP_H
#define DND_METER_PAGEMAP_H

#include <stdint.h>
#include <sys/types.h>

#include "donard/donard.h"

/* A piece without a gap. */
typedef void (*dnd_pagemap_fn)(void *user, uint64_t address, uint64_t bytes);

/* Calls @fn for the pages of that memory that are there, neighbours together. @pid 0: of this process. */
int dnd_pagemap_walk(struct donard_context *ctx, pid_t pid, const void *memory, size_t bytes,
		     dnd_pagemap_fn fn, void *user);

#endif /* DND_METER_PAGEMAP_H */
