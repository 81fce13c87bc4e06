/* SPDX-License-Identifier: Apache-2.0 */
/* Who has a region open, in words. */
#ifndef DND_REGION_HOLDERS_H
#define DND_REGION_HOLDERS_H

#include "region/region.h"

/*
 * "; held by fio (pid 12), \"my app\" (pid 13, device 0000:01:00.0), and 2 more" or "".  Of a pid that is not
 * the caller's to see it says "no pid".
 */
void dnd_region_holders_text(struct donard_context *ctx, const char *name, char *text,
			     size_t text_bytes);

/* An open file owns as little as spare blocks of a copy do, which lie in two folios at most. */
bool dnd_region_has_small_holder(struct donard_context *ctx, const char *name, uint64_t folio_bytes);

/* "rxe0 and mlx5_0": RDMA devices on which that process has registered memory, or "" */
void dnd_rdma_devices_of(int pid, char *text, size_t text_bytes);

#endif /* DND_REGION_HOLDERS_H */
