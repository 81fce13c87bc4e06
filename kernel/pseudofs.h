/* SPDX-License-Identifier: GPL-2.0 */
/* The inodes that hold the mappings of regions. */
#ifndef P2PMEM_PSEUDOFS_H
#define P2PMEM_PSEUDOFS_H

struct inode;

int p2pmem_pseudofs_init(void);
void p2pmem_pseudofs_exit(void);
struct inode *p2pmem_pseudofs_inode(unsigned int flags);

#endif
