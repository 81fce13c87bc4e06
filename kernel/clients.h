/* SPDX-License-Identifier: GPL-2.0 */
/* NVMe and RDMA functions of this machine, and whether each has a route to a region. */
#ifndef P2PMEM_CLIENTS_H
#define P2PMEM_CLIENTS_H

#include "p2pmem.h"

int p2pmem_clients_init(void);
void p2pmem_clients_exit(void);
int p2pmem_default_page_type(struct p2pmem_region *r, struct p2pmem_region_add *req);
void p2pmem_warn_unrouted(struct p2pmem_region *r, char *reason);
size_t p2pmem_unrouted_text(struct p2pmem_region *r, char *buf, size_t bytes);

#endif
