// SPDX-License-Identifier: Apache-2.0
/* Opens drives and files, and refuses those that must not be written. */
#include <fcntl.h>
#include <libgen.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "drive/blockdev.h"
#include "drive/disk.h"
#include "drive/file_check.h"
#include "drive/stack.h"

/* These are in no header of the kernel, or only in newer ones. */
#define ZFS_MAGIC	0x2fc12fc1
#define BCACHEFS_MAGIC	0xca451a4e

/* The names that mount(8) uses. */
static const char *name_file_system(unsigned long magic, char number[32])
{
	static const struct {
		unsigned long magic;
		const char *name;
	} known[] = {
		{ OVERLAYFS_SUPER_MAGIC, "overlay" }, { TMPFS_MAGIC, "tmpfs" }, { RAMFS_MAGIC, "ramfs" },
		{ BTRFS_SUPER_MAGIC, "btrfs" }, { F2FS_SUPER_MAGIC, "f2fs" }, { MSDOS_SUPER_MAGIC, "vfat" },
		{ EXFAT_SUPER_MAGIC, "exfat" }, { NFS_SUPER_MAGIC, "nfs" }, { CIFS_SUPER_MAGIC, "cifs" },
		{ V9FS_MAGIC, "9p" }, { FUSE_SUPER_MAGIC, "fuse" }, { SQUASHFS_MAGIC, "squashfs" },
		{ ISOFS_SUPER_MAGIC, "iso9660" }, { ZFS_MAGIC, "zfs" }, { BCACHEFS_MAGIC, "bcachefs" },
		{ SYSFS_MAGIC, "sysfs" }, { PROC_SUPER_MAGIC, "proc" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].magic == magic)
			return known[i].name;
	snprintf(number, 32, "number %#lx of magic.h", magic);
	return number;
}

static int check_file_system(struct donard_context *ctx, const char *path, const char *folder)
{
	struct statfs fs;
	char number[32];

	if (statfs(folder, &fs))
		return dnd_fail_errno(ctx, errno, "%s", path);
	if (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == DND_XFS_MAGIC)
		return 0;
	return dnd_fail(ctx, DND_E_FILE_SYSTEM, "%s: its file system is %s, and donard reads and writes files of ext4 "
			"and xfs alone, straight or through DRAM", path, name_file_system((unsigned long)fs.f_type, number));
}

static const char *file_type(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISFIFO(mode))
		return "a pipe";
	if (S_ISCHR(mode))
		return "a character device";
	return "a socket or link";
}

/* Finds the controllers of the device or of the file's file system. */
static int resolve(struct donard_context *ctx, struct dnd_drive *drive, const char *folder,
		   const struct stat *st)
{
	int rc;

	if (S_ISBLK(st->st_mode))
		return dnd_blockdev_resolve(ctx, st->st_rdev, drive->path, &drive->blockdev);
	rc = check_file_system(ctx, drive->path, folder);
	if (rc)
		return rc;
	return dnd_blockdev_resolve(ctx, st->st_dev, drive->path, &drive->blockdev);
}

/* Fails with a text of the form "PATH: cause." (nodes.h). */
static const char *cause_of(const char *text, const char *path)
{
	return text + strlen(path) + strlen(": ");
}

static int check_node(struct donard_context *ctx, const struct dnd_drive *drive)
{
	char text[PATH_MAX + DND_TEXT_BYTES];

	if (!dnd_node_is_stale(ctx->sysfs_root, ctx->dev_root, drive->path, drive->device, text, sizeof(text)))
		return 0;
	return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: %s", drive->path, cause_of(text, drive->path));
}

static int no_file(struct donard_context *ctx, const char *path, const struct stat *st)
{
	char region[P2PMEM_NAME_BYTES];

	if (dnd_region_of_node(ctx, st, region))
		return dnd_fail(ctx, DND_E_NOT_NVME, "%s: it is the region %s, which is memory and no file", path, region);
	return dnd_fail(ctx, DND_E_NOT_NVME, "%s: it is %s", path, file_type(st->st_mode));
}

static int check_type(struct donard_context *ctx, struct dnd_drive *drive, const struct stat *st)
{
	if (!S_ISBLK(st->st_mode) && !S_ISREG(st->st_mode))
		return no_file(ctx, drive->path, st);
	drive->is_file = S_ISREG(st->st_mode);
	drive->device = drive->is_file ? st->st_dev : st->st_rdev;
	drive->inode = st->st_ino;
	return 0;
}

static int is_read_only(struct donard_context *ctx, struct dnd_drive *drive)
{
	return dnd_fail(ctx, DND_E_READ_ONLY, "%s: it is read-only. Make it writable (%s) or use another %s.", drive->path,
			drive->is_file ? "mount -o remount,rw" : "blockdev --setrw", drive->is_file ? "file system" : "drive");
}

/* @path: that of the drive, or the folder of a new file. */
static int open_failed(struct donard_context *ctx, struct dnd_drive *drive, const char *path, int error_number)
{
	if (error_number == EBUSY)
		return dnd_drive_is_busy(ctx, drive);
	if (error_number == EROFS)
		return is_read_only(ctx, drive);
	if (error_number == EINVAL)
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: its file system refuses O_DIRECT. "
				"Use ext4 or XFS with its default options.", drive->path);
	return dnd_drive_denied(ctx, drive, path, error_number);
}

/* A device that is read-only by blockdev --setro can be opened for writing, but refuses each write. */
bool dnd_drive_is_read_only(const struct dnd_drive *drive)
{
	int read_only = 0;

	return !drive->is_file && !ioctl(drive->fd, BLKROGET, &read_only) && read_only;
}

/* Refuses a zoned drive early: the drive itself would only fail the second copy, and call that a medium error. */
static int check_zones(struct donard_context *ctx, const struct dnd_drive *drive)
{
	if (!dnd_blockdev_is_zoned(ctx, &drive->blockdev))
		return 0;
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: it is zoned: each zone takes writes only in order, at its write pointer, which "
			"donard does not keep to. Use another drive.", drive->path);
}

static int check_writable(struct donard_context *ctx, struct dnd_drive *drive)
{
	int rc;

	if (!drive->writable)
		return 0;
	if (dnd_drive_is_read_only(drive))
		return is_read_only(ctx, drive);
	rc = drive->is_file ? dnd_drive_check_swap(ctx, drive) : check_zones(ctx, drive);
	if (!rc && !drive->is_file && !drive->adopted)
		rc = dnd_drive_claim_twins(ctx, drive);
	return rc ? rc : dnd_drive_check_unheld(ctx, drive);
}

/* Is the opened file the one that was judged by its name?  Another file may have been moved to that name in between. */
static int check_opened(struct donard_context *ctx, const struct dnd_drive *drive)
{
	struct stat st;

	if (fstat(drive->fd, &st))
		return dnd_fail_errno(ctx, errno, "%s", drive->path);
	if (drive->is_file ? S_ISREG(st.st_mode) && st.st_dev == drive->device && st.st_ino == drive->inode :
			     S_ISBLK(st.st_mode) && st.st_rdev == drive->device)
		return 0;
	return dnd_fail(ctx, DND_E_BUSY, "%s: it was replaced while it was opened. Try again.", drive->path);
}

static int open_fd(struct donard_context *ctx, struct dnd_drive *drive)
{
	int rc, flags = O_DIRECT | O_CLOEXEC | (drive->writable ? O_RDWR : O_RDONLY);

	/* With O_EXCL the kernel refuses a device while it or a partition of it is mounted. */
	if (drive->writable && !drive->is_file)
		flags |= O_EXCL;
	drive->fd = open(drive->path, flags);
	if (drive->fd < 0)
		return open_failed(ctx, drive, drive->path, errno);
	rc = check_opened(ctx, drive);
	return rc ? rc : check_writable(ctx, drive);
}

/*
 * XFS cannot write part of a block directly if a reflink shares the block with
 * another file.  Which blocks are shared may change at any time, so all writes to a
 * file that exists on XFS are aligned to whole blocks.
 */
static uint32_t file_align(const struct dnd_drive *drive, const struct dnd_file_facts *facts)
{
	bool may_share = drive->writable && !drive->unnamed && facts->magic == DND_XFS_MAGIC;
	uint32_t direct_bytes = drive->writable ? facts->dio_offset_bytes : facts->dio_read_bytes;
	uint64_t align = dnd_max(direct_bytes, drive->blockdev.block_bytes);

	return (uint32_t)dnd_max(align, may_share ? facts->fs_block_bytes : 0);
}

/* Sets @bounce for the file system and the devices below it. */
static void judge(struct dnd_drive *drive, const struct dnd_file_facts *facts)
{
	drive->bounce = dnd_file_judge(facts, drive->writable);
	if (!drive->bounce)
		drive->bounce = dnd_blockdev_bounce(&drive->blockdev, drive->writable);
}

/* Only a file of XFS that has no data can become one. */
static bool may_be_realtime(const struct dnd_drive *drive, int fd)
{
	struct stat st;

	return drive->is_xfs && !fstat(fd, &st) && (!st.st_size || !st.st_blocks);
}

static void ask(struct donard_context *ctx, struct dnd_drive *drive, int fd)
{
	struct dnd_file_facts facts;

	dnd_file_ask(ctx, fd, drive->blockdev.disk, &facts);
	drive->fs_block_bytes = facts.fs_block_bytes;
	drive->is_xfs = facts.magic == DND_XFS_MAGIC;
	drive->may_be_realtime = may_be_realtime(drive, fd);
	drive->align_bytes = file_align(drive, &facts);
	drive->memory_align_bytes = (uint32_t)dnd_max(facts.dio_memory_bytes,
						      drive->blockdev.memory_align_bytes);
	judge(drive, &facts);
}

void dnd_drive_ask(struct donard_context *ctx, struct dnd_drive *drive)
{
	if (drive->is_file && drive->fd >= 0)
		ask(ctx, drive, drive->fd);
}

/*
 * XFS may keep a file's data on another device, which only the superblock names.  An empty file may become one of these at
 * any time.
 */
static bool is_realtime(const struct dnd_drive *drive, int fd, bool *known)
{
	struct fsxattr attributes = { 0 };

	*known = !drive->is_file || !ioctl(fd, FS_IOC_FSGETXATTR, &attributes);
	return attributes.fsx_xflags & FS_XFLAG_REALTIME;
}

static int check_realtime(struct donard_context *ctx, const struct dnd_drive *drive, int fd)
{
	bool known;

	if (is_realtime(drive, fd, &known))
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: its data lie in the realtime section of XFS, on another "
				"device than the file system's. Use a file without it (xfs_io -c 'chattr -r', before "
				"anything is written).", drive->path);
	if (known || !drive->is_xfs)
		return 0;
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: XFS does not say whether its data lie in the realtime section, on another device "
			"than the file system's. Let the seccomp filter of this process allow its ioctls.", drive->path);
}

int dnd_drive_ask_again(struct donard_context *ctx, struct dnd_drive *drive)
{
	unsigned int unread = dnd_sysfs_unread(ctx);
	struct dnd_file_facts facts;

	if (drive->fd < 0)
		return 0;
	dnd_blockdev_read_integrity(ctx, &drive->blockdev);
	if (!drive->is_file) {
		drive->bounce = dnd_blockdev_bounce(&drive->blockdev, drive->writable);
		return dnd_sysfs_check(ctx, unread, 0);
	}
	dnd_file_ask(ctx, drive->fd, drive->blockdev.disk, &facts);
	judge(drive, &facts);
	drive->may_be_realtime = may_be_realtime(drive, drive->fd);
	return dnd_sysfs_check(ctx, unread, check_realtime(ctx, drive, drive->fd));
}

bool dnd_drive_is_direct(const struct dnd_drive *drive)
{
	bool known;

	if (!drive->is_file || drive->fd < 0)
		return true;
	return dnd_file_is_direct(drive->fd) && !(drive->may_be_realtime && is_realtime(drive, drive->fd, &known));
}

/* The kernel shows a namespace whose format it cannot use with a capacity of 0. */
static int no_capacity(struct donard_context *ctx, const struct dnd_drive *drive)
{
	uint64_t metadata_bytes = 0;
	char format[96] = "its format is one that the kernel cannot use, such as one with metadata inside of the blocks";

	/* Since Linux 6.8. */
	if (!dnd_sysfs_read_u64(ctx, &metadata_bytes, "block/%s/metadata_bytes", drive->blockdev.disk) && metadata_bytes)
		snprintf(format, sizeof(format), "its format puts %llu bytes of metadata into each block (extended LBAs)",
			 (unsigned long long)metadata_bytes);
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: the kernel gives it no capacity: %s. Give it another format (nvme id-ns "
			"lists them, nvme format destroys all data).", drive->path, format);
}

/* Does not move the position of the descriptor, which may be shared. */
static int read_size(struct donard_context *ctx, struct dnd_drive *drive)
{
	struct stat st;

	if (fstat(drive->fd, &st) ||
	    (!drive->is_file && ioctl(drive->fd, BLKGETSIZE64, &drive->size_bytes)))
		return dnd_fail_errno(ctx, errno, "%s: its size is unknown", drive->path);
	if (drive->is_file)
		drive->size_bytes = (uint64_t)st.st_size;
	else if (!drive->size_bytes)
		return no_capacity(ctx, drive);
	drive->align_bytes = drive->blockdev.block_bytes;
	drive->memory_align_bytes = drive->blockdev.memory_align_bytes;
	drive->bounce = dnd_blockdev_bounce(&drive->blockdev, drive->writable);
	dnd_drive_ask(ctx, drive);
	return check_realtime(ctx, drive, drive->fd);
}

/* Ends an opening.  Fails if a part of sysfs could not be read, because the conclusions from it may then be wrong. */
static int opened(struct donard_context *ctx, struct dnd_drive *drive, unsigned int unread, int rc)
{
	rc = dnd_sysfs_check(ctx, unread, rc);
	if (rc)
		dnd_drive_close(drive);
	return rc;
}

static int open_existing(struct donard_context *ctx, struct dnd_drive *drive,
			 const struct stat *st)
{
	unsigned int unread = dnd_sysfs_unread(ctx);
	int rc = check_type(ctx, drive, st);

	if (!rc && !drive->is_file)
		rc = check_node(ctx, drive);
	if (!rc)
		rc = resolve(ctx, drive, drive->path, st);
	if (!rc)
		rc = open_fd(ctx, drive);
	if (!rc)
		rc = read_size(ctx, drive);
	return opened(ctx, drive, unread, rc);
}

/* The failure that @path is a link to something that does not exist, or 0. */
static int check_link(struct donard_context *ctx, const char *path)
{
	char target[PATH_MAX];
	ssize_t length = readlink(path, target, sizeof(target) - 1);

	if (length < 0)
		return 0;
	target[length] = '\0';
	dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: it is a link to %s, which does not exist. Name what is meant itself, or remove "
		 "the link.", path, target);
	return -ENOENT;
}

static int no_node(struct donard_context *ctx, const char *path)
{
	char text[PATH_MAX + DND_TEXT_BYTES];

	dnd_no_node(ctx->sysfs_root, path, text, sizeof(text));
	return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: %s", path, cause_of(text, path));
}

static int no_stat(struct donard_context *ctx, const char *path)
{
	if (errno == ENOENT) {
		if (check_link(ctx, path))
			return -ENOENT;
		if (dnd_new_below_dev(ctx->dev_root, path)) {
			no_node(ctx, path);
			return -ENOENT;
		}
		dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: there is no such file or device. donard_client_list() shows "
			 "the drives.", path);
		return -ENOENT;
	}
	return dnd_fail_access(ctx, errno, "The permissions of a folder above it do not allow it",
			       "%s: cannot be opened", path);
}

static int no_name(struct donard_context *ctx)
{
	return dnd_fail(ctx, DND_E_BAD_NAME, "%s: this names neither a drive nor a file. Name one by its path, such as "
			"/dev/nvme0n1.", "(empty)");
}

int dnd_drive_open_source(struct donard_context *ctx, const char *path, struct dnd_drive *drive)
{
	struct stat st;

	memset(drive, 0, sizeof(*drive));
	drive->fd = -1;
	drive->path = path;
	if (!path[0])
		return no_name(ctx);
	if (stat(path, &st))
		return no_stat(ctx, path);
	return open_existing(ctx, drive, &st);
}

/* Opens the file again, to get a position and flags of its own.  Duplicates @fd if the process may not do that. */
static int open_again(struct donard_context *ctx, int fd, int access_mode, struct dnd_drive *drive)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	drive->fd = open(path, access_mode | O_DIRECT | O_CLOEXEC);
	drive->shared = drive->fd < 0;
	if (drive->shared)
		drive->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return drive->fd < 0 ? dnd_fail_errno(ctx, errno, "%s", drive->path) : check_writable(ctx, drive);
}

static int adopt_fd(struct donard_context *ctx, int fd, struct dnd_drive *drive)
{
	int rc = 0, flags = fcntl(fd, F_GETFL);

	if (flags < 0 || !(flags & O_DIRECT) || flags & O_APPEND || (flags & O_ACCMODE) == O_WRONLY)
		return dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_VALUE("descriptor", (uint64_t)fd),
				       "%s: descriptor %d does not allow direct reads at any "
				       "offset. Open it with O_DIRECT, O_RDONLY or O_RDWR, and without O_APPEND.",
				       drive->path, fd);
	drive->writable = (flags & O_ACCMODE) == O_RDWR;
	if (drive->writable && !drive->is_file)
		rc = dnd_drive_check_unused(ctx, drive);
	if (!rc)
		rc = open_again(ctx, fd, flags & O_ACCMODE, drive);
	return rc || !drive->writable || drive->is_file ? rc : dnd_drive_claim_adopted(ctx, drive);
}

/* Called before the controllers are looked for, because a write to a device without any would do the same harm. */
static int check_adopted(struct donard_context *ctx, int fd, struct dnd_drive *drive)
{
	drive->adopted = true;
	return !drive->is_file && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR ? dnd_drive_check_unused(ctx, drive) : 0;
}

int dnd_drive_adopt(struct donard_context *ctx, int fd, const char *path, struct dnd_drive *drive)
{
	unsigned int unread = dnd_sysfs_unread(ctx);
	char folder[64];
	struct stat st;
	int rc;

	memset(drive, 0, sizeof(*drive));
	drive->fd = -1;
	drive->path = path;
	if (fstat(fd, &st))
		return dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_AT("descriptor"),
				       "descriptor %d is not open.", fd);
	snprintf(folder, sizeof(folder), "/proc/self/fd/%d", fd);
	rc = check_type(ctx, drive, &st);
	if (!rc)
		rc = check_adopted(ctx, fd, drive);
	if (!rc)
		rc = resolve(ctx, drive, folder, &st);
	if (!rc)
		rc = adopt_fd(ctx, fd, drive);
	if (!rc)
		rc = read_size(ctx, drive);
	return opened(ctx, drive, unread, rc);
}

/*
 * The file inherits attributes from its folder.  Without a name it is gone when it is closed, also if the program is
 * killed, so that nobody ever takes a part of a copy for the whole.
 */
static int open_unnamed(struct donard_context *ctx, struct dnd_drive *drive, const char *folder)
{
	struct stat st;

	drive->fd = open(folder, O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0666);
	if (drive->fd < 0)
		return open_failed(ctx, drive, folder, errno);
	if (fstat(drive->fd, &st))
		return dnd_fail_errno(ctx, errno, "%s", drive->path);
	if (st.st_dev != drive->device)
		return dnd_fail(ctx, DND_E_BUSY, "%s: its folder was replaced while it was opened. Try again.", drive->path);
	drive->inode = st.st_ino;
	ask(ctx, drive, drive->fd);
	return check_realtime(ctx, drive, drive->fd);
}

static int no_folder(struct donard_context *ctx, const char *path, const char *folder)
{
	if (errno != ENOENT)
		return dnd_fail_access(ctx, errno, "The permissions of a folder above it do not allow it",
				       "%s: cannot be created", path);
	if (check_link(ctx, folder))
		return -ENOENT;
	dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: cannot be created: there is no folder %s. Make it first (mkdir -p), or "
		 "use another folder.", path, folder);
	return -ENOENT;
}

/* The kernel takes no such name, but says so only when all has been copied. */
static int check_name(struct donard_context *ctx, const char *path)
{
	if (path[strlen(path) - 1] != '/')
		return 0;
	return dnd_fail(ctx, DND_E_BAD_NAME, "%s: no file can have that name: it ends with a slash, and there is no such "
			"folder. Name a file, or leave the slash out.", path);
}

/* A new file will lie on the file system of its folder. */
static int plan_new_file(struct donard_context *ctx, struct dnd_drive *drive)
{
	unsigned int unread = dnd_sysfs_unread(ctx);
	char copy[PATH_MAX], *folder;
	struct stat st;
	int rc = check_link(ctx, drive->path);

	if (rc)
		return rc;
	if (dnd_new_below_dev(ctx->dev_root, drive->path))
		return no_node(ctx, drive->path);
	rc = check_name(ctx, drive->path);
	if (rc)
		return rc;
	snprintf(copy, sizeof(copy), "%s", drive->path);
	folder = dirname(copy);
	if (stat(folder, &st))
		return no_folder(ctx, drive->path, folder);
	rc = resolve(ctx, drive, folder, &st);
	if (rc)
		return rc;
	drive->is_file = true;
	drive->made = drive->unnamed = true;
	drive->device = st.st_dev;
	return opened(ctx, drive, unread, open_unnamed(ctx, drive, folder));
}

/* Nobody asked for a new file, so nobody needs to hear why there can be none. */
static int not_there(struct donard_context *ctx, const char *path)
{
	int rc = check_link(ctx, path);

	if (rc)
		return rc;
	if (dnd_new_below_dev(ctx->dev_root, path))
		return no_node(ctx, path);
	return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: there is no such file. Create it (DONARD_FILE_CREATE), or name another.",
			path);
}

int dnd_drive_open_target(struct donard_context *ctx, const char *path, bool create, struct dnd_drive *drive)
{
	struct stat st;

	memset(drive, 0, sizeof(*drive));
	drive->fd = -1;
	drive->path = path;
	drive->writable = true;
	if (!path[0])
		return no_name(ctx);
	if (!stat(path, &st))
		return open_existing(ctx, drive, &st);
	if (errno != ENOENT)
		return no_stat(ctx, path);
	return create ? plan_new_file(ctx, drive) : not_there(ctx, path);
}

void dnd_drive_close(struct dnd_drive *drive)
{
	if (drive->fd >= 0)
		close(drive->fd);
	drive->fd = -1;
	dnd_drive_drop_claims(drive);
	dnd_blockdev_release(&drive->blockdev);
}

static enum dnd_sharing ranges_overlap(uint64_t a, uint64_t b, uint64_t length)
{
	return a < b + length && b < a + length ? DND_SHARE : DND_APART;
}

enum dnd_sharing dnd_drive_overlap(const struct dnd_drive *a, uint64_t a_offset, const struct dnd_drive *b,
				   uint64_t b_offset, uint64_t length)
{
	if (a->is_file != b->is_file)
		return DND_APART;
	if (a->is_file)
		return a->device == b->device && a->inode == b->inode ?
		       ranges_overlap(a_offset, b_offset, length) : DND_APART;
	if (dnd_blockdev_is_same(&a->blockdev, &b->blockdev))
		return ranges_overlap(a->blockdev.start_bytes + a_offset,
				      b->blockdev.start_bytes + b_offset, length);
	return dnd_stack_share(&a->blockdev, &b->blockdev);
}

bool dnd_drive_may_hold(struct donard_context *ctx, const struct dnd_drive *drive, const struct dnd_drive *file)
{
	return !drive->is_file && file->is_file &&
	       (dnd_blockdev_conflicts(ctx, drive->device, file->device) ||
		dnd_stack_share(&drive->blockdev, &file->blockdev) != DND_APART);
}
