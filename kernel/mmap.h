/* SPDX-License-Identifier: GPL-2.0 */
/* Mappings of an open file. */
#ifndef P2PMEM_MMAP_H
#define P2PMEM_MMAP_H

#include <linux/mm_types.h>

#include "p2pmem.h"

int p2pmem_mmap(struct file *filp, struct vm_area_struct *vma);
void p2pmem_revoke_mappings(struct p2pmem_region *r, loff_t from, loff_t bytes);
bool p2pmem_shows(const struct file *filp, const struct p2pmem_file *f);
bool p2pmem_who_maps(struct p2pmem_who *who, struct p2pmem_file *f);

#endif
