// SPDX-License-Identifier: Apache-2.0
/*
 * See file_check.h.  statx() decides: ext4 and XFS answer STATX_DIOALIGN by
 * the same function that their reads and writes use (ext4_dio_alignment()).
 * Flags and mount options only name the cause.  Alone they would mislead: ext4
 * ignores +j while it delays allocation, and always ignores +c.
 *
 * In four cases the kernel says that direct I/O works, and yet it uses DRAM:
 *   - encrypted files: the kernel encrypts in pages of its own (Linux 7 says
 *     that it can do direct I/O there);
 *   - DAX: no drive is involved, and the CPU copies;
 *   - XFS on a drive that wants stable pages: iomap's IOMAP_DIO_BOUNCE;
 *   - ext4 without extents: a direct write into a hole ends as -ENOTBLK, and ext4
 *     repeats it through the page cache, which it empties afterwards.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mounts.h"
#include "drive/file_check.h"

/* Headers that are older than the kernel lack some of these. */
#ifndef STATX_ATTR_VERITY
#define STATX_ATTR_VERITY	0x00100000
#endif
#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX		0x00200000
#endif
#ifndef STATX_DIO_READ_ALIGN
#define STATX_DIO_READ_ALIGN	0x00020000
#endif
/* The offset of stx_dio_read_offset_align in struct statx; headers before Linux 6.14 lack the member. */
#define DIO_READ_AT		0xb4

static const struct dnd_bounce
	encrypted = { "the file is encrypted, which the kernel does in DRAM",
		      "Use a file in a folder without encryption" },
	dax = { "the file is mapped memory (DAX), which the CPU copies",
		"Mount its file system with dax=never" },
	unknown = { "the kernel does not say whether its file system does direct I/O",
		    "Use ext4 or XFS on Linux 6.1 or later" },
	verity = { "the file has fs-verity, and the kernel checks in DRAM what is read",
		   "Use a copy of the file without it" },
	journalled_mount = { "its file system is mounted with data=journal",
			     "Mount it with data=ordered" },
	journalled_file = { "ext4 journals the data of the file (attribute +j)",
			    "Use a file without it, made in a folder without it" },
	inlined = { "the bytes of the file lie in its inode (inline_data)",
		    "Use cp for so small a file, or remove it first if it is to be written" },
	refused = { "its file system does no direct I/O on this file",
		    "Use ext4 or XFS with its default options" },
	stable = { "the drive wants stable pages (queue/stable_writes), and XFS keeps them in DRAM",
		   "Put the file on ext4" },
	by_blocks = { "the file is mapped block by block (as by ext2 and ext3), and ext4 fills its "
		      "holes through DRAM", "Make it anew on a file system with extents" };

static const struct dnd_bounce *why_no_direct_io(const struct dnd_file_facts *facts)
{
	if (facts->attributes & STATX_ATTR_VERITY || facts->flags & FS_VERITY_FL)
		return &verity;
	if (facts->flags & FS_INLINE_DATA_FL)
		return &inlined;
	if (facts->mounted_journal)
		return &journalled_mount;
	if (facts->flags & FS_JOURNAL_DATA_FL)
		return &journalled_file;
	return &refused;
}

const struct dnd_bounce *dnd_file_judge(const struct dnd_file_facts *facts, bool writes)
{
	if (facts->attributes & STATX_ATTR_ENCRYPTED || facts->flags & FS_ENCRYPT_FL)
		return &encrypted;
	if (facts->attributes & STATX_ATTR_DAX)
		return &dax;
	if (!facts->dio_known)
		return &unknown;
	if (!facts->dio_memory_bytes)
		return why_no_direct_io(facts);
	if (facts->stable_pages && facts->magic == DND_XFS_MAGIC)
		return &stable;
	if (writes && facts->magic == EXT4_SUPER_MAGIC && !(facts->flags & FS_EXTENT_FL))
		return &by_blocks;
	return NULL;
}

#define EXT4_OPTIONS	"/proc/fs/ext4"

int dnd_options_have(const char *path, const char *option)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int has = 0;

	if (!file)
		return -errno;
	while (!has && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		has = !strcmp(line, option);
	}
	free(line);
	fclose(file);
	return has;
}

enum mounted { MOUNTED_UNKNOWN, MOUNTED_WITHOUT, MOUNTED_WITH };

struct mount_question {
	unsigned int major_number, minor_number;
	const char *option;
	enum mounted answer;
};

static int ask_mount(void *user, const struct dnd_mount *mount)
{
	struct mount_question *question = user;

	if (mount->major_number != question->major_number || mount->minor_number != question->minor_number)
		return 0;
	question->answer = dnd_mount_has(mount, question->option) ? MOUNTED_WITH : MOUNTED_WITHOUT;
	return question->answer == MOUNTED_WITH;
}

/*
 * The list of mounts has no option of ext4 that equals its superblock's (tune2fs -o); this file has all that are in force.
 * /proc is of the running kernel, and so is the name of the device.
 */
static enum mounted ask_ext4(dev_t device, const char *option)
{
	char link[64], target[PATH_MAX], path[PATH_MAX];
	ssize_t length;
	int has;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(device), minor(device));
	length = readlink(link, target, sizeof(target) - 1);
	if (length < 0)
		return MOUNTED_UNKNOWN;
	target[length] = '\0';
	snprintf(path, sizeof(path), EXT4_OPTIONS "/%.200s/options", basename(target));
	has = dnd_options_have(path, option);
	if (has < 0)
		return MOUNTED_UNKNOWN;
	return has ? MOUNTED_WITH : MOUNTED_WITHOUT;
}

static bool is_ext4(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == EXT4_SUPER_MAGIC;
}

static enum mounted mounted(int fd, const char *option)
{
	struct mount_question question = { .option = option };
	struct stat st;
	enum mounted answer;

	if (fstat(fd, &st))
		return MOUNTED_UNKNOWN;
	answer = is_ext4(fd) ? ask_ext4(st.st_dev, option) : MOUNTED_UNKNOWN;
	if (answer != MOUNTED_UNKNOWN)
		return answer;
	question.major_number = major(st.st_dev);
	question.minor_number = minor(st.st_dev);
	dnd_mounts_each(ask_mount, &question);
	return is_ext4(fd) && question.answer == MOUNTED_WITHOUT ? MOUNTED_UNKNOWN : question.answer;
}

bool dnd_file_is_flushed(int fd, struct dnd_doubt *doubt)
{
	enum mounted without = mounted(fd, "nobarrier");

	if (without == MOUNTED_WITHOUT)
		return true;
	doubt->certain = without == MOUNTED_WITH;
	if (doubt->certain)
		snprintf(doubt->text, sizeof(doubt->text),
			 "its file system is mounted with nobarrier, and flushes no drive. Mount it with barrier");
	else
		snprintf(doubt->text, sizeof(doubt->text), "whether its file system is mounted with nobarrier is not known: "
			 "%s does not list it", is_ext4(fd) ? EXT4_OPTIONS : "/proc/self/mountinfo");
	return false;
}

/* Makes the raw call, because older C libraries lack the members. */
static void ask_statx(int fd, struct dnd_file_facts *facts)
{
	struct statx st = { 0 };

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_DIOALIGN | STATX_DIO_READ_ALIGN, &st))
		return;
	facts->attributes = st.stx_attributes;
	facts->dio_known = st.stx_mask & STATX_DIOALIGN;
	if (!facts->dio_known)
		return;
	facts->dio_memory_bytes = st.stx_dio_mem_align;
	facts->dio_offset_bytes = facts->dio_read_bytes = st.stx_dio_offset_align;
	if (st.stx_mask & STATX_DIO_READ_ALIGN)
		memcpy(&facts->dio_read_bytes, (const char *)&st + DIO_READ_AT, sizeof(facts->dio_read_bytes));
}

bool dnd_file_is_direct(int fd)
{
	struct dnd_file_facts facts = { 0 };

	ask_statx(fd, &facts);
	return facts.dio_known && facts.dio_memory_bytes && !(facts.attributes & STATX_ATTR_DAX);
}

void dnd_file_ask(struct donard_context *ctx, int fd, const char *disk,
		  struct dnd_file_facts *facts)
{
	struct statfs fs;
	uint64_t stable_pages = 0;
	int flags = 0;		/* an int, although the ioctl's definition says long */

	memset(facts, 0, sizeof(*facts));
	ask_statx(fd, facts);
	if (!fstatfs(fd, &fs)) {
		facts->magic = (uint64_t)fs.f_type;
		facts->fs_block_bytes = (uint32_t)fs.f_bsize;
	}
	if (!ioctl(fd, FS_IOC_GETFLAGS, &flags))
		facts->flags = (uint32_t)flags;
	dnd_sysfs_read_u64(ctx, &stable_pages, "block/%s/queue/stable_writes", disk);
	facts->stable_pages = stable_pages;
	facts->mounted_journal = mounted(fd, "data=journal") == MOUNTED_WITH;
}
