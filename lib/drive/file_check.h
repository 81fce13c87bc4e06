/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does direct I/O on a file bypass DRAM?  A file system may fall back to the page
 * cache, or to buffers of its own, without telling the reader or writer.  This
 * collects what the file system says when it is asked, and judges that.
 */
#ifndef DND_FILE_CHECK_H
#define DND_FILE_CHECK_H

#include "drive/drive.h"

#define DND_XFS_MAGIC	0x58465342

struct dnd_file_facts {
	uint64_t magic;			/* of the file system, from statfs() */
	uint32_t fs_block_bytes;
	uint32_t dio_memory_bytes;	/* statx() STATX_DIOALIGN; 0: no direct I/O */
	uint32_t dio_offset_bytes;	/* of writes; of reads too where the kernel does not tell them apart */
	uint32_t dio_read_bytes;	/* STATX_DIO_READ_ALIGN, Linux 6.14: smaller for a file whose blocks a reflink shares */
	uint32_t flags;			/* FS_IOC_GETFLAGS */
	uint64_t attributes;		/* STATX_ATTR_* */
	bool dio_known;			/* the two alignments are valid */
	bool stable_pages;		/* the drive asks for pages that nobody changes during a write */
	bool mounted_journal;		/* the options of the mount, or of ext4's superblock, have data=journal */
};

/* Fills in @facts; unknown members stay 0.  @disk: "nvme0n1". */
void dnd_file_ask(struct donard_context *ctx, int fd, const char *disk,
		  struct dnd_file_facts *facts);
/* Why reads, or with @writes reads and writes, go through DRAM.  NULL: they go directly to the drive.  Pure. */
const struct dnd_bounce *dnd_file_judge(const struct dnd_file_facts *facts, bool writes);
/* Does the file system still do direct I/O of a file that was judged before?  Makes one system call. */
bool dnd_file_is_direct(int fd);
/* Is its file system mounted so that fsync() flushes the drive? */
bool dnd_file_is_flushed(int fd, struct dnd_doubt *doubt);
/* Is the option a line of the file, as /proc/fs/ext4 has them?  Returns 1, 0 or -errno. */
int dnd_options_have(const char *path, const char *option);
/* journal.c: does everything that fsync() writes lie on the file's own device?  If not, or if not known, @doubt has why. */
bool dnd_file_journal_is_inside(struct donard_context *ctx, int fd, struct dnd_doubt *doubt);

#endif /* DND_FILE_CHECK_H */
