/* SPDX-License-Identifier: GPL-2.0 */
/* The open files of a region. */
#ifndef P2PMEM_FILES_H
#define P2PMEM_FILES_H

#include "p2pmem.h"

void p2pmem_files_join(struct p2pmem_file *f);
void p2pmem_files_leave(struct p2pmem_file *f);
unsigned long p2pmem_files_count(struct p2pmem_region *r, u64 *last);
struct p2pmem_file *p2pmem_files_next(struct p2pmem_region *r, u64 after, u64 last);
void p2pmem_file_put(struct p2pmem_file *f);

#endif
