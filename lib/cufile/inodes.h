/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock for each registered file, however often it is registered.  A write of a
 * part of a block reads the block before, and may cut the file to its length after:
 * it has the file alone.  All other writes share it.
 */
#ifndef CUF_INODES_H
#define CUF_INODES_H

#include <stdint.h>

struct cuf_inode;

/* The same for the same numbers, until each caller put it; NULL: no memory. */
struct cuf_inode *cuf_inode_get(uint64_t device, uint64_t inode);
void cuf_inode_put(struct cuf_inode *inode);

/* After an engine's lock. */
void cuf_inode_lock_alone(struct cuf_inode *inode);
void cuf_inode_lock_shared(struct cuf_inode *inode);
void cuf_inode_unlock(struct cuf_inode *inode);

#endif /* CUF_INODES_H */
