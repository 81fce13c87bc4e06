/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives, partitions and files that fill device memory, or are written from it:
 * opened and looked at once, used by many requests (queue.h).
 *
 * Conventions and errno values as in donard.h.  A file belongs to the context
 * that it was opened with, and to one thread at a time.  Several threads open one
 * each; of a drive that is written one opens it, and the others adopt info.fd,
 * because a drive is open for writing once.
 */
#ifndef DONARD_FILE_H
#define DONARD_FILE_H

#include "donard.h"

#ifdef __cplusplus
extern "C" {
#endif

struct donard_file;

#define DONARD_FILE_WRITE	(1U << 0)	/* for reading and writing; else for reading */
#define DONARD_FILE_CREATE	(1U << 1)	/* make the regular file if there is none; with WRITE */

/**
 * donard_file_open() - open a drive, a partition or a regular file
 * @ctx: the context
 * @path: of an NVMe namespace or its partition, of a device that LVM or md makes of such, or
 *	of a file on ext4 or XFS on one
 * @flags: DONARD_FILE_*
 * @file: set to the file, which donard_file_close() closes
 *
 * A drive that is opened for writing must not be mounted, and cannot be while
 * it is open.  Nothing is written or truncated.
 *
 * A file whose bytes would go through DRAM in any case can be opened: info.bounces
 * says why, and what reads or writes it is refused unless it may bounce.
 *
 * Returns 0; -ENOENT when there is none to read, -ENODEV when none to write; -ENOTBLK when something other than
 * NVMe drives on PCIe is below it;
 * -EMEDIUMTYPE for another file system; -EBUSY when it is mounted or in use; -EROFS;
 * -EOPNOTSUPP when it takes no O_DIRECT, or is made of others in a way that lets the CPU see the data;
 * -EACCES, also for a device-mapper table that only root is told; -EINVAL, -EMFILE, -ENOMEM.
 */
int donard_file_open(struct donard_context *ctx, const char *path, unsigned int flags,
		     struct donard_file **file);

/**
 * donard_file_adopt() - use a file that the program has open
 * @ctx: the context
 * @fd: opened with O_DIRECT, and O_RDONLY or O_RDWR; it is duplicated
 * @file: set to the file, which donard_file_close() closes
 *
 * It is for writing if @fd is.
 *
 * Returns as donard_file_open(); -EINVAL for a descriptor without O_DIRECT, or one
 * that is open for writing alone: the proof of a route reads.
 */
int donard_file_adopt(struct donard_context *ctx, int fd, struct donard_file **file);

/**
 * donard_file_close() - let go of a file
 * @file: NULL is fine
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
 * @disk: "nvme0n1", below it; or "md0"
 * @size_bytes: when it was opened
 * @align_bytes: what offsets and lengths must be a multiple of
 * @memory_align_bytes: what places in memory must be a multiple of
 * @request_bytes: the longest that is one command; longer requests are split
 * @client_count: controllers that serve it or its legs, each once; see donard_file_client()
 * @bounces: why its bytes go through DRAM, or ""
 * @writable: it was opened for writing
 * @stack: how @disk is made of others: "linear", "striped", "raid0", "raid1", "raid10",
 *	or ""
 * @leg_count: the drives and partitions that it is made of; see donard_file_leg()
 * @not_flushed: why a flush (donard_queue_flush()) that succeeds makes nothing durable, or "": its file system is
 *	mounted with nobarrier, or a block device below it was told that its write cache is write-through, which
 *	the drive denies; as it was when the file was opened
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
 * It is what a route to memory is asked for: donard_memory_route().
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
