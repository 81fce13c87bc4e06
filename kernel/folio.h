/* SPDX-License-Identifier: GPL-2.0 */
/* Large folios made of a region's pages. */
#ifndef P2PMEM_FOLIO_H
#define P2PMEM_FOLIO_H

#include "p2pmem.h"

struct folio *p2pmem_folio_at(struct p2pmem_region *r, u64 granule, u64 end,
			      u64 *count);
u64 p2pmem_chunk_skew(const struct p2pmem_region *r);
bool p2pmem_is_chunk(struct p2pmem_region *r, u64 granule);
void p2pmem_unshape(struct p2pmem_region *r);
bool p2pmem_has_shapes(const struct p2pmem_region *r);
u64 p2pmem_first_chunk(const struct p2pmem_region *r, const struct p2pmem_extent *e);
bool p2pmem_shape_some(struct p2pmem_region *r, const struct p2pmem_extent *e,
		       u64 *chunk, bool may_change);

#endif
