// SPDX-License-Identifier: Apache-2.0
/* Opens drives and files, and refuses what must not be written. */
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
#include "drive/file_check.h"

static int check_file_system(struct donard_context *ctx, const char *path, const char *folder)
{
	struct statfs fs;

	if (statfs(folder, &fs))
		return dnd_fail_errno(ctx, errno, "%s", path);
	if (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == DND_XFS_MAGIC)
		return 0;
	return dnd_fail(ctx, DND_E_FILE_SYSTEM, "%s: its file system (type %#lx) cannot read "
			"straight into device memory", path, (unsigned long)fs.f_type);
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

static int check_type(struct donard_context *ctx, struct dnd_drive *drive, const struct stat *st)
{
	if (!S_ISBLK(st->st_mode) && !S_ISREG(st->st_mode))
		return dnd_fail(ctx, DND_E_NOT_NVME, "%s: it is %s", drive->path,
				file_type(st->st_mode));
	drive->is_file = S_ISREG(st->st_mode);
	drive->device = drive->is_file ? st->st_dev : st->st_rdev;
	drive->inode = st->st_ino;
	return 0;
}

static int open_mounted(struct donard_context *ctx, struct dnd_drive *drive)
{
	char place[512];

	dnd_blockdev_mount_point(ctx, drive->device, place, sizeof(place));
	if (place[0])
		return dnd_fail(ctx, DND_E_MOUNTED, "%s: it is mounted at %s; a copy would "
				"destroy the file system. Unmount it first.", drive->path, place);
	return dnd_fail(ctx, DND_E_MOUNTED, "%s: it is in use (mounted, swap, LVM, RAID or "
			"another program). Release it first.", drive->path);
}

static int is_read_only(struct donard_context *ctx, struct dnd_drive *drive)
{
	return dnd_fail(ctx, DND_E_READ_ONLY, "%s: it is read-only. Make it writable (%s) or choose "
			"another destination.", drive->path,
			drive->is_file ? "mount -o remount,rw" : "blockdev --setrw");
}

static const char *access_remedy(const struct dnd_drive *drive)
{
	return drive->is_file ? "The permissions of the file, or of the folder that it is in, do not "
				"allow it" :
				"Run as root, or as a member of the group that owns the device node";
}

static int open_failed(struct donard_context *ctx, struct dnd_drive *drive, int error_number)
{
	if (error_number == EBUSY)
		return open_mounted(ctx, drive);
	if (error_number == EROFS)
		return is_read_only(ctx, drive);
	if (error_number == EINVAL)
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: its file system refuses O_DIRECT. "
				"Use ext4 or XFS with its default options.", drive->path);
	return dnd_fail_access(ctx, error_number, access_remedy(drive), "%s: cannot be %s",
			       drive->path, drive->to_create ? "created" : "opened");
}

/* A device that blockdev --setro closed may be opened for writing, and then refuses each write. */
static int check_writable(struct donard_context *ctx, struct dnd_drive *drive)
{
	int read_only = 0;

	if (!drive->writable || drive->is_file || ioctl(drive->fd, BLKROGET, &read_only) ||
	    !read_only)
		return 0;
	return is_read_only(ctx, drive);
}

static int open_fd(struct donard_context *ctx, struct dnd_drive *drive)
{
	int flags = O_DIRECT | O_CLOEXEC | (drive->writable ? O_RDWR : O_RDONLY);

	/* O_EXCL on a device: refused while it or a partition is mounted. */
	if (drive->writable && !drive->is_file)
		flags |= O_EXCL;
	drive->fd = open(drive->path, flags);
	return drive->fd < 0 ? open_failed(ctx, drive, errno) : check_writable(ctx, drive);
}

/*
 * A part of a block of XFS that a reflink shares with another file cannot be
 * written straight; which blocks these are changes under one's hands.
 */
static uint32_t file_align(const struct dnd_drive *drive, const struct dnd_file_facts *facts)
{
	bool may_share = drive->writable && !drive->to_create && facts->magic == DND_XFS_MAGIC;
	uint64_t align = dnd_max(facts->dio_offset_bytes, drive->blockdev.block_bytes);

	return (uint32_t)dnd_max(align, may_share ? facts->fs_block_bytes : 0);
}

static void ask(struct donard_context *ctx, struct dnd_drive *drive, int fd)
{
	struct dnd_file_facts facts;

	dnd_file_ask(ctx, fd, drive->blockdev.disk, &facts);
	drive->fs_block_bytes = facts.fs_block_bytes;
	drive->align_bytes = file_align(drive, &facts);
	drive->bounce = dnd_file_judge(&facts, drive->writable);
}

void dnd_drive_ask(struct donard_context *ctx, struct dnd_drive *drive)
{
	if (drive->is_file && drive->fd >= 0)
		ask(ctx, drive, drive->fd);
}

static int read_size(struct donard_context *ctx, struct dnd_drive *drive)
{
	off_t end = lseek(drive->fd, 0, SEEK_END);

	if (end < 0)
		return dnd_fail_errno(ctx, errno, "%s: its size is unknown", drive->path);
	drive->size_bytes = (uint64_t)end;
	drive->align_bytes = drive->blockdev.block_bytes;
	dnd_drive_ask(ctx, drive);
	return 0;
}

static int open_existing(struct donard_context *ctx, struct dnd_drive *drive,
			 const struct stat *st)
{
	int rc = check_type(ctx, drive, st);

	if (!rc)
		rc = resolve(ctx, drive, drive->path, st);
	if (!rc)
		rc = open_fd(ctx, drive);
	if (!rc)
		rc = read_size(ctx, drive);
	if (rc)
		dnd_drive_close(drive);
	return rc;
}

static int no_stat(struct donard_context *ctx, const char *path)
{
	return dnd_fail_access(ctx, errno, "The permissions of a folder above it do not allow it",
			       "%s: cannot be opened", path);
}

int dnd_drive_open_source(struct donard_context *ctx, const char *path, struct dnd_drive *drive)
{
	struct stat st;

	memset(drive, 0, sizeof(*drive));
	drive->fd = -1;
	drive->path = path;
	if (stat(path, &st))
		return no_stat(ctx, path);
	return open_existing(ctx, drive, &st);
}

/*
 * What a new file will be like depends on its folder, of which it inherits.  A
 * file without a name tells; it is gone when it is closed.
 */
static int ask_of_new_file(struct donard_context *ctx, struct dnd_drive *drive, const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);

	if (fd < 0)
		return open_failed(ctx, drive, errno);
	ask(ctx, drive, fd);
	close(fd);
	return 0;
}

/* A file that does not exist yet lives where its folder lives. */
static int plan_new_file(struct donard_context *ctx, struct dnd_drive *drive)
{
	char copy[PATH_MAX], *folder;
	struct stat st;
	int rc;

	snprintf(copy, sizeof(copy), "%s", drive->path);
	folder = dirname(copy);
	if (stat(folder, &st))
		return dnd_fail_errno(ctx, errno, "%s: cannot be created", drive->path);
	/* A mistyped device would fill /dev's RAM disk otherwise. */
	if (!strcmp(folder, ctx->dev_root))
		return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: there is no such device",
				drive->path);
	rc = resolve(ctx, drive, folder, &st);
	if (rc)
		return rc;
	drive->is_file = true;
	drive->to_create = true;
	if (access(folder, W_OK))
		return open_failed(ctx, drive, errno);
	return ask_of_new_file(ctx, drive, folder);
}

int dnd_drive_open_target(struct donard_context *ctx, const char *path, struct dnd_drive *drive)
{
	struct stat st;

	memset(drive, 0, sizeof(*drive));
	drive->fd = -1;
	drive->path = path;
	drive->writable = true;
	if (!stat(path, &st))
		return open_existing(ctx, drive, &st);
	if (errno != ENOENT)
		return no_stat(ctx, path);
	return plan_new_file(ctx, drive);
}

int dnd_drive_prepare(struct donard_context *ctx, struct dnd_drive *drive, uint64_t end_bytes)
{
	if (drive->to_create) {
		drive->fd = open(drive->path, O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC,
				 0666);
		if (drive->fd < 0)
			return open_failed(ctx, drive, errno);
		dnd_drive_ask(ctx, drive);
	}
	if (!drive->is_file || end_bytes <= drive->size_bytes)
		return 0;
	/* Reserved before the first write, so that a full disk moves nothing. */
	if (!fallocate(drive->fd, 0, (off_t)drive->size_bytes,
		       (off_t)(end_bytes - drive->size_bytes)) || errno == EOPNOTSUPP)
		return 0;
	return dnd_fail_errno(ctx, errno, "%s: no room for the copy", drive->path);
}

int dnd_drive_settle(struct donard_context *ctx, struct dnd_drive *drive, uint64_t end_bytes)
{
	off_t now;

	if (drive->fd < 0 || !drive->is_file || !drive->writable)
		return 0;
	now = lseek(drive->fd, 0, SEEK_END);
	/* A length that is right already costs a block in DRAM, too. */
	if (now >= 0 && (uint64_t)now == end_bytes)
		return 0;
	if (now < 0 || ftruncate(drive->fd, (off_t)end_bytes))
		return dnd_fail_errno(ctx, errno, "%s: its length cannot be set", drive->path);
	return drive->fs_block_bytes && end_bytes % drive->fs_block_bytes != 0;
}

void dnd_drive_close(struct dnd_drive *drive)
{
	if (drive->fd >= 0)
		close(drive->fd);
	drive->fd = -1;
}

static bool ranges_overlap(uint64_t a, uint64_t b, uint64_t length)
{
	return a < b + length && b < a + length;
}

bool dnd_drive_overlap(const struct dnd_drive *a, uint64_t a_offset, const struct dnd_drive *b,
		       uint64_t b_offset, uint64_t length)
{
	if (a->to_create || b->to_create || a->is_file != b->is_file)
		return false;
	if (a->is_file)
		return a->device == b->device && a->inode == b->inode &&
		       ranges_overlap(a_offset, b_offset, length);
	return !strcmp(a->blockdev.disk, b->blockdev.disk) &&
	       ranges_overlap(a->blockdev.start_bytes + a_offset,
			      b->blockdev.start_bytes + b_offset, length);
}
