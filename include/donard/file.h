/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives, partitions and files whose bytes are read into device memory or written from it.
 * A program opens one once, and then makes many requests for it (queue.h).
 *
 * Conventions and errno values are those of donard.h.  A file belongs to the context
 * that it was opened with, and to one thread at a time.  If several threads use the same
 * path, each opens its own file.  A drive can be open for writing only once: one thread
 * opens it, and the others adopt info.fd.
 */
#ifndef DONARD_FILE_H
#define DONARD_FILE_H

#include "donard.h"

#ifdef __cplusplus
extern "C" {
#endif

struct donard_file;

#define DONARD_FILE_WRITE	(1U << 0)	/* open for reading and writing; without it, for reading */
#define DONARD_FILE_CREATE	(1U << 1)	/* create the regular file if there is none; only with WRITE */

/**
 * donard_file_open() - open a drive, a partition or a regular file
 * @ctx: the context
 * @path: of an NVMe namespace or a partition of one, of a device that LVM or md makes of
 *	those, or of a file on ext4 or XFS on any of them
 * @flags: DONARD_FILE_*
 * @file: set to the file, which donard_file_close() closes
 *
 * A drive that is opened for writing must not be mounted, and cannot be mounted until the file is
 * closed; the same holds for other block devices of its namespace (with nvme_core.multipath=N
 * each controller has one).  The call writes and truncates nothing.
 *
 * You can also open a file whose bytes would go through DRAM on every route: info.bounces says
 * why, and queues refuse requests for it unless they may bounce.
 *
 * Returns 0; -ENOENT when a file to read, or the folder of a file to create, does not exist,
 * or @path is a link to what does not exist; -ENODEV when a file to write does not exist and
 * CREATE is not set, or it would lie below /dev, where no files are made; -ENOTBLK when it does
 * not lie on NVMe drives; -EMEDIUMTYPE for
 * another file system; -EBUSY when it is mounted, in use or exported, or another file was moved
 * to its name while it was opened; -EROFS; -EOPNOTSUPP when it
 * cannot be opened O_DIRECT, when its drive is not on PCIe (NVMe over Fabrics), or when it is made of other devices in a way
 * that the CPU must see the data; -EACCES, also for a device-mapper table that only root may read; -EINVAL, -EMFILE,
 * -ENFILE, -ENOMEM; other errnos as the kernel returned them for a path.
 */
int donard_file_open(struct donard_context *ctx, const char *path, unsigned int flags,
		     struct donard_file **file);

/**
 * donard_file_adopt() - use a file that the program has open
 * @ctx: the context
 * @fd: opened with O_DIRECT, O_RDONLY or O_RDWR, and without O_APPEND; the caller keeps it, and
 *	may close it after the call
 * @file: set to the file, which donard_file_close() closes
 *
 * The file is open for writing if @fd is.  A drive is then kept from being mounted until the file is closed, unless the
 * program or another one has opened it with O_EXCL already, or this process may not open its node.  Other block devices of
 * its namespace are not kept, as they are by donard_file_open().  Of several files of one drive the first keeps it, until that
 * one is closed.  Meanwhile donard_file_open() of that drive for writing fails with -EBUSY, in this program too; and the
 * kernel refuses to mount the drive or to open it with O_EXCL, but not to open it without O_EXCL.
 *
 * A drive that is open for writing already may be in use as well: the call finds its mounts, the log and the realtime device of
 * a mounted XFS, the journal of a mounted ext4, swap space, and arrays and volumes that are made of it.  It does not find
 * another program that has opened it, further devices of other file systems (f2fs, ZFS), nor a mount that this
 * process does not see, as in a container.  To have the kernel look, open the drive with O_EXCL before you adopt it, and
 * keep @fd as long as the file: that open() fails while the drive is mounted anywhere, part of a file system, or open with
 * O_EXCL.  Neither finds a program that has the drive open without O_EXCL.
 *
 * Returns as donard_file_open(); -EINVAL for a descriptor without O_DIRECT, with O_APPEND,
 * or open only for writing, since the proof of a route reads.
 */
int donard_file_adopt(struct donard_context *ctx, int fd, struct donard_file **file);

/**
 * donard_file_close() - let go of a file
 * @file: may be NULL
 *
 * Requests in flight keep what they need of the file until they have ended.
 */
void donard_file_close(struct donard_file *file);

enum donard_file_kind {
	DONARD_FILE_KIND_UNKNOWN,
	DONARD_FILE_KIND_DRIVE,	/* a whole namespace */
	DONARD_FILE_KIND_PARTITION,
	DONARD_FILE_KIND_REGULAR,	/* on a file system */
	DONARD_FILE_KIND_STACK,	/* device-mapper (LVM) or md makes it of other devices */
};

/**
 * donard_file_kind_text() - the word for a kind of file
 * @kind: as in struct donard_file_info
 *
 * Returns "drive", "partition", "file", "stack", or "unknown".
 */
const char *donard_file_kind_text(enum donard_file_kind kind);

/**
 * struct donard_file_info - what a file is
 * @size: in: sizeof(struct donard_file_info)
 * @kind: drive, partition, regular file, or a device made of others
 * @fd: its descriptor, which the file owns
 * @path: the path that it was opened by; of an adopted file, the kernel's name for it
 * @disk: the disk that it is on, "nvme0n1" or "md0"
 * @size_bytes: its size when it was opened; a copy or another program may have changed it since: lseek(fd, 0, SEEK_END)
 *	tells what it is now
 * @align_bytes: offsets and lengths must be multiples of this
 * @memory_align_bytes: addresses in memory must be multiples of this
 * @request_bytes: the longest request that becomes one command, 0 if not known; longer ones are split
 * @client_count: how many controllers serve it or its legs, each counted once; see donard_file_client()
 * @bounces: why its bytes go through DRAM, or ""
 * @writable: it was opened for writing
 * @stack: how @disk is made of others: "linear", "striped", "raid0", "raid1", "raid10",
 *	or ""
 * @leg_count: how many drives and partitions it is made of; see donard_file_leg()
 * @not_flushed: why a flush (donard_queue_flush()) may succeed without making data durable, or ""; found out when the
 *	file was opened.  The file may have no name, its file system may be mounted with nobarrier, or somebody may have
 *	set the write cache of a block device below it to write-through although the drive says that it has a volatile one
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
 * @index: less than info.client_count, which may exceed 1 with native multipath, LVM or md
 *
 * donard_memory_route() tells the route from this controller to a memory.
 *
 * Returns its PCI address, "0000:01:00.0", or NULL past the last; it lives as long as the file.
 */
const char *donard_file_client(const struct donard_file *file, size_t index);

/**
 * donard_file_leg() - a drive or partition that a file's device is made of
 * @file: the file
 * @index: less than info.leg_count
 *
 * Returns its name, "nvme0n1p2", or NULL past the last; it lives as long as the file.
 */
const char *donard_file_leg(const struct donard_file *file, size_t index);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_FILE_H */
