/* SPDX-License-Identifier: Apache-2.0 */
/* Where memory of a process lies: physical addresses, by /proc/PID/pagemap, which shows them to root alone. */
#ifndef DND_PAGEMAP_H
#define DND_PAGEMAP_H

#include <sys/types.h>

#include "base/base.h"

/* A piece without a gap. */
typedef void (*dnd_pagemap_fn)(void *user, uint64_t address, uint64_t bytes);

/* Calls @fn for the pages of that memory that are there, neighbours together. @pid 0: of this process. */
int dnd_pagemap_walk(struct donard_context *ctx, pid_t pid, const void *memory, size_t bytes,
		     dnd_pagemap_fn fn, void *user);

#endif /* DND_PAGEMAP_H */
