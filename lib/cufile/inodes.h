/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock for each registered file, which all its registrations share.  A write of part of a
 * block first reads the block, and may truncate the file afterwards, so it holds the lock
 * exclusively.  All other writes hold it shared.
 */
#ifndef CUF_INODES_H
#define CUF_INODES_H

#include <stdint.h>

struct cuf_inode;

/* Returns the same lock for the same numbers until all callers have put it; NULL: no memory. */
struct cuf_inode *cuf_inode_get(uint64_t device, uint64_t inode);
void cuf_inode_put(struct cuf_inode *inode);

/* These come after an engine's lock in the order of locks. */
void cuf_inode_lock_alone(struct cuf_inode *inode);
void cuf_inode_lock_shared(struct cuf_inode *inode);
void cuf_inode_unlock(struct cuf_inode *inode);

#endif /* CUF_INODES_H */
