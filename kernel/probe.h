/* SPDX-License-Identifier: GPL-2.0 */
/* P2PMEM_IOC_PROBE_PEER: judges the route of a function to a region. */
#ifndef P2PMEM_PROBE_H
#define P2PMEM_PROBE_H

#include <linux/pci.h>

#include "p2pmem.h"

int p2pmem_probe(struct p2pmem_region *r, struct p2pmem_probe *probe);
void p2pmem_count_route(struct p2pmem_region *r, struct pci_dev *client,
			const struct p2pmem_probe *probe);

#endif
