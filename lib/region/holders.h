/* SPDX-License-Identifier: Apache-2.0 */
/* Who has a region open, as text. */
#ifndef DND_REGION_HOLDERS_H
#define DND_REGION_HOLDERS_H

#include "region/region.h"

/*
 * "; held by fio (pid 12), \"my app\" (pid 13, device 0000:01:00.0), and 2 more", or "".  Says "no pid" if the
 * caller may not see the pid.
 */
void dnd_region_holders_text(struct donard_context *ctx, const char *name, char *text,
			     size_t text_bytes);

/* Does an open file own as little as a copy's spare blocks?  These lie in two folios at most. */
bool dnd_region_has_small_holder(struct donard_context *ctx, const char *name, uint64_t folio_bytes);

/* The RDMA devices on which that process has registered memory, such as "rxe0 and mlx5_0"; "" if there are none. */
void dnd_rdma_devices_of(int pid, char *text, size_t text_bytes);

#endif /* DND_REGION_HOLDERS_H */
