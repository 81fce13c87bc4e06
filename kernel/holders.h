/* SPDX-License-Identifier: GPL-2.0 */
/* Who holds memory of a region. */
#ifndef P2PMEM_HOLDERS_H
#define P2PMEM_HOLDERS_H

#include "lines.h"
#include "p2pmem.h"

bool p2pmem_region_idle(struct p2pmem_region *r);
void p2pmem_pins_lines(struct p2pmem_region *r, struct p2pmem_lines *lines);
size_t p2pmem_holders_text(struct p2pmem_region *r, char *buf, size_t bytes,
			   struct pid_namespace *reader);

#endif
