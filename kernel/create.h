/* SPDX-License-Identifier: GPL-2.0 */
/* The creation of a region. */
#ifndef P2PMEM_CREATE_H
#define P2PMEM_CREATE_H

#include "p2pmem.h"

int p2pmem_region_add(struct p2pmem_region_add *req, struct p2pmem_region **made);

#endif
