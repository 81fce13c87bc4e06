/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writes to each registered file, which all its registrations share.  A write of part of a
 * block first reads the block, and may truncate the file afterwards; one of compatibility mode
 * goes through the page cache.  So they hold their range alone, and straight writes
 * share theirs.  Writes to other places of the file do not wait, except for those behind a
 * write that makes the file longer.  There, straight reads share a range, too (part.h).
 */
#ifndef CUF_INODES_H
#define CUF_INODES_H

#include <stdbool.h>
#include <stdint.h>

struct cuf_inode;

/*
 * Returns the same lock for the same numbers until all callers have put it; NULL: no memory.  @unit: how many bytes the page
 * cache reads and writes back at the least.
 */
struct cuf_inode *cuf_inode_get(uint64_t device, uint64_t inode, uint64_t unit);
void cuf_inode_put(struct cuf_inode *inode);
/*
 * Keeps the drive that @fd has open from being mounted, until all callers have put the lock.  Returns 0, or -errno: no
 * descriptor is left.
 *
 * If the drive is open with O_EXCL already, only the kernel knows whether the program did that by @fd.  So *program_fd is then
 * a duplicate of @fd, which the caller closes before it puts the lock; else it is -1.  The next call tries to claim the drive
 * again, and so does each put, even of another drive, because a drive and its partitions exclude each other.  There is a gap:
 * the drive can be mounted before that if the program deregisters its descriptor with O_EXCL, closes it, and keeps another.
 */
int cuf_inode_claim(struct cuf_inode *inode, int fd, int *program_fd);

/*
 * A range of a file, from @start up to, not including, @end.  UINT64_MAX as @end means to the end of the file, however long
 * it gets.  The caller owns the range, and keeps it until it unlocks.
 */
struct cuf_range {
	uint64_t start, end;
	bool alone;
	struct cuf_range *next, **link;
};

/*
 * Returns an exclusive range of the units in which the page cache holds these bytes: whole pages, or whole blocks of the file
 * system if those are larger.  A write that also reads the bytes beside its own needs it, as a write through the page cache
 * does: while a direct write to the same page is under way, the page lacks that write's bytes.
 */
struct cuf_range cuf_inode_cached(const struct cuf_inode *inode, uint64_t start, uint64_t end);

/*
 * Waits for each earlier range that overlaps this one, unless both are shared.  This comes after an engine's lock in the
 * order of locks, and a thread holds one range at a time.
 */
void cuf_inode_lock(struct cuf_inode *inode, struct cuf_range *range);
void cuf_inode_unlock(struct cuf_inode *inode, struct cuf_range *range);

#endif /* CUF_INODES_H */
