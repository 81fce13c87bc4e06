/* SPDX-License-Identifier: GPL-2.0 */
/* Memory beyond the kernel's direct map, for which there can be no struct pages. */
#ifndef P2PMEM_DIRECT_MAP_H
#define P2PMEM_DIRECT_MAP_H

#include "p2pmem.h"

bool p2pmem_is_beyond_direct_map(const struct p2pmem_backing *b);
void p2pmem_explain_direct_map(struct p2pmem_region *r, char *reason);

#endif
