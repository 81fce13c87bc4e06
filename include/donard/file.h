/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives, partitions and files that fill device memory, or are written from it.  They are
 * opened and looked at once, and used by many requests (queue.h).
 *
 * Conventions and errno values are those of donard.h.  A file belongs to the context
 * that it was opened with, and to one thread at a time.  Several threads open one
 * each.  A drive can be open for writing only once: one thread opens it, and the others
 * adopt info.fd.
 */
#ifndef DONARD_FILE_H
#define DONARD_FILE_H

#include "donard.h"

#ifdef __cplusplus
extern "C" {
#endif

struct donard_file;

#define DONARD_FILE_WRITE	(1U << 0)	/* open for reading and writing; else for reading */
#define DONARD_FILE_CREATE	(1U << 1)	/* make the regular file if there is none; with WRITE */

/**
 * donard_file_open() - open a drive, a partition or a regular file
 * @ctx: the context
 * @path: of an NVMe namespace or its partition, of a device that LVM or md makes of those, or
 *	of a file on ext4 or XFS on any of them
 * @flags: DONARD_FILE_*
 * @file: set to the file, which donard_file_close() closes
 *
 * A drive that is opened for writing must not be mounted, and cannot be while
 * it is open.  Nothing is written or truncated.
 *
 * You can open a file whose bytes would go through DRAM in any case: info.bounces says why,
 * and requests for it are refused unless they may bounce.
 *
 * Returns 0; -ENOENT when there is nothing to read, -ENODEV when there is nothing to write;
 * -ENOTBLK when something other than NVMe drives on PCIe is below it; -EMEDIUMTYPE for another
 * file system; -EBUSY when it is mounted or in use; -EROFS; -EOPNOTSUPP when it takes no
 * O_DIRECT, or is made of other devices in a way that lets the CPU see the data; -EACCES, also
 * for a device-mapper table that only root may read; -EINVAL, -EMFILE, -ENOMEM.
 */
int donard_file_open(struct donard_context *ctx, const char *path, unsigned int flags,
		     struct donard_file **file);

/**
 * donard_file_adopt() - use a file that the program has open
 * @ctx: the context
 * @fd: opened with O_DIRECT, and O_RDONLY or O_RDWR; the call duplicates it
 * @file: set to the file, which donard_file_close() closes
 *
 * The file is open for writing if @fd is.
 *
 * Returns as donard_file_open(); -EINVAL for a descriptor without O_DIRECT, or one that is
 * open only for writing, since the proof of a route reads.
 */
int donard_file_adopt(struct donard_context *ctx, int fd, struct donard_file **file);

/**
 * donard_file_close() - let go of a file
 * @file: may be NULL
 *
 * Requests in flight keep what they need of it until they have ended.
 */
void donard_file_close(struct donard_file *file);

enum donard_file_kind {
	DONARD_FILE_KIND_UNKNOWN,
	DONARD_FILE_KIND_DRIVE,	/* a whole namespace */
	DONARD_FILE_KIND_PARTITION,
	DONARD_FILE_KIND_REGULAR,	/* on a file system */
	DONARD_FILE_KIND_STACK,	/* made of other devices, by device-mapper (LVM) or md */
};

/**
 * donard_file_kind_text() - the word for a kind of file
 * @kind: of struct donard_file_info
 *
 * Returns "drive", "partition", "file", "stack", or "unknown".
 */
const char *donard_file_kind_text(enum donard_file_kind kind);

/**
 * struct donard_file_info - what a file is
 * @size: in: sizeof(struct donard_file_info)
 * @kind: drive, partition or regular file
 * @fd: its descriptor, which stays the file's
 * @path: as it was opened
 * @disk: the disk that it is on, "nvme0n1" or "md0"
 * @size_bytes: its size when it was opened
 * @align_bytes: offsets and lengths must be multiples of this
 * @memory_align_bytes: places in memory must be multiples of this
 * @request_bytes: the longest request that is one command; longer ones are split
 * @client_count: how many controllers serve it or its legs, each counted once; see donard_file_client()
 * @bounces: why its bytes go through DRAM, or ""
 * @writable: it was opened for writing
 * @stack: how @disk is made of others: "linear", "striped", "raid0", "raid1", "raid10",
 *	or ""
 * @leg_count: how many drives and partitions it is made of; see donard_file_leg()
 * @not_flushed: why a flush (donard_queue_flush()) that succeeds makes nothing durable, or "", as it was when the
 *	file was opened.  The file system may be mounted with nobarrier, or a block device below it may have been
 *	told that its write cache is write-through, which the drive denies
 *
 * Strings live as long as the file.
 */
struct donard_file_info {
	size_t size;
	enum donard_file_kind kind;
	int fd;
	const char *path;
	const char *disk;
	uint64_t size_bytes;
	uint32_t align_bytes;
	uint32_t memory_align_bytes;
	uint64_t request_bytes;
	size_t client_count;
	const char *bounces;
	bool writable;
	bool reserved[7];
	const char *stack;
	size_t leg_count;
	const char *not_flushed;
};

/**
 * donard_file_info() - say what a file is
 * @file: the file
 * @info: filled in
 *
 * Returns 0; -EINVAL for a bad size.
 */
int donard_file_info(const struct donard_file *file, struct donard_file_info *info);

/**
 * donard_file_client() - a controller that serves a file
 * @file: the file
 * @index: less than info.client_count; more than one with native multipath, LVM or md
 *
 * Ask donard_memory_route() for the route from this controller to a memory.
 *
 * Returns "0000:01:00.0", or NULL; it lives as long as the file.
 */
const char *donard_file_client(const struct donard_file *file, size_t index);

/**
 * donard_file_leg() - a drive or partition that a file's device is made of
 * @file: the file
 * @index: less than info.leg_count
 *
 * Returns "nvme0n1p2", or NULL; it lives as long as the file.
 */
const char *donard_file_leg(const struct donard_file *file, size_t index);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_FILE_H */
