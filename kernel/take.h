/* SPDX-License-Identifier: GPL-2.0 */
/* Taking memory of a region for an open file. */
#ifndef P2PMEM_TAKE_H
#define P2PMEM_TAKE_H

#include "p2pmem.h"

int p2pmem_file_back(struct p2pmem_file *f, u64 first, u64 count);
int p2pmem_file_claim(struct p2pmem_file *f, u64 file_first, u64 count,
		      u64 first);
int p2pmem_file_own(struct p2pmem_file *f, struct p2pmem_pin *pin);

#endif
