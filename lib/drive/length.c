// SPDX-License-Identifier: Apache-2.0
/*
 * A file's length and name.  The length never covers missing bytes: an old file grows as its bytes are written.  This
 * program cuts only what it added itself or was asked to cut, and only if nobody else has changed the length since.  A
 * new file has no name before it is complete.
 */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive/drive.h"

uint64_t dnd_drive_length(const struct dnd_drive *drive)
{
	struct stat st;

	return fstat(drive->fd, &st) ? 0 : (uint64_t)st.st_size;
}

int dnd_drive_check_limit(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t end_bytes)
{
	struct rlimit limit;

	if (!drive->is_file || getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur >= end_bytes)
		return 0;
	return dnd_fail_member(ctx, DND_E_NO_SPACE, DND_MOST(NULL, end_bytes, limit.rlim_cur),
			       "%s: this process may write files up to %llu bytes, and this write ends at %llu. "
			       "Raise the limit (ulimit -f).", drive->path, (unsigned long long)limit.rlim_cur,
			       (unsigned long long)end_bytes);
}

static int not_reserved(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t bytes, int error_number)
{
	const char *forbidden = dnd_drive_forbidden(drive, error_number);

	if (error_number == ENOSPC || error_number == EDQUOT)
		return dnd_drive_no_room(ctx, drive, bytes, error_number);
	if (forbidden)
		return dnd_fail(ctx, error_number == ETXTBSY ? DND_E_BUSY : DND_E_PERMISSION,
				"%s: cannot be written: %s, or use another file.", drive->path, forbidden);
	if ((error_number == EPERM || error_number == ENOSYS) && dnd_is_filtered())
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: the space that it needs cannot be reserved: a seccomp filter "
				"of this container or service forbids fallocate (%s). Let the filter allow it.", drive->path,
				strerror(error_number));
	return dnd_fail_errno(ctx, error_number, "%s: the space that it needs cannot be reserved", drive->path);
}

/* The way to an open file by /proc. */
static void self_path(int fd, char path[64])
{
	snprintf(path, 64, "/proc/self/fd/%d", fd);
}

/* Before Linux 6.10 a process without CAP_DAC_READ_SEARCH can do this only by way of /proc. */
static int link_to(int fd, const char *path)
{
	char self[64];

	if (!linkat(fd, "", AT_FDCWD, path, AT_EMPTY_PATH))
		return 0;
	if (errno != ENOENT && errno != EPERM)
		return -errno;
	self_path(fd, self);
	return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* Is there a way to give the open file a name?  No file can get the name "/", and the kernel says so after all else. */
static bool can_link(int fd)
{
	char self[64];
	struct stat st;

	if (linkat(fd, "", AT_FDCWD, "/", AT_EMPTY_PATH) && errno == EEXIST)
		return true;
	self_path(fd, self);
	return !stat(self, &st);
}

static int cannot_link(struct donard_context *ctx, const struct dnd_drive *drive)
{
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: the new file cannot be given its name: the kernel lets this process do that only by "
			"way of /proc, which it does not see. Mount it (mount -t proc proc /proc), or name a file that exists.",
			drive->path);
}

int dnd_drive_prepare(struct donard_context *ctx, struct dnd_drive *drive, uint64_t end_bytes)
{
	uint64_t length = drive->is_file ? dnd_drive_length(drive) : end_bytes;
	int rc = drive->unnamed && !can_link(drive->fd) ? cannot_link(ctx, drive) : 0;

	if (rc)
		return rc;
	if (end_bytes <= length)
		return 0;
	rc = fallocate(drive->fd, drive->unnamed ? 0 : FALLOC_FL_KEEP_SIZE, (off_t)length,
		       (off_t)(end_bytes - length)) ? errno : 0;
	if (rc == EOPNOTSUPP)
		return 0;
	/* A reservation that fails for want of room leaves a part behind. */
	drive->reserved = !drive->unnamed;
	return rc ? not_reserved(ctx, drive, end_bytes - length, rc) : 0;
}

/* The folder of a new file, as it is now. */
static const char *folder_of(const struct dnd_drive *drive, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s", drive->path);
	return dirname(path);
}

static int folder_denies(struct donard_context *ctx, const struct dnd_drive *drive, int error_number)
{
	char path[PATH_MAX];
	int rc;

	rc = dnd_drive_denied(ctx, drive, folder_of(drive, path), error_number);
	dnd_fail_more(ctx, " Its folder was changed meanwhile%s.",
		      dnd_drive_length(drive) ? ", and all that was written is gone" : "");
	return rc;
}

/* A folder that was removed while a process is in it has no link any more. */
static bool has_folder(const struct dnd_drive *drive)
{
	char path[PATH_MAX];
	struct stat st;

	return !stat(folder_of(drive, path), &st) && st.st_nlink;
}

int dnd_drive_name(struct donard_context *ctx, struct dnd_drive *drive)
{
	int rc = drive->unnamed ? link_to(drive->fd, drive->path) : 0;

	if (rc == -EEXIST)
		return dnd_fail(ctx, DND_E_BUSY, "%s: another program has made a file of that name meanwhile, which was left as "
				"it is. Choose another name, or remove it, and start again.", drive->path);
	if (rc == -ENOENT && has_folder(drive) && !can_link(drive->fd))
		return cannot_link(ctx, drive);
	if (rc == -ENOENT || rc == -EXDEV)
		return dnd_fail(ctx, DND_E_BUSY, "%s: the new file cannot be given its name: %s meanwhile. Try again in a "
				"folder that stays.", drive->path, rc == -ENOENT ? "its folder was moved or removed" :
				"another file system was mounted over its folder");
	if (rc == -EPERM || rc == -EACCES)
		return folder_denies(ctx, drive, -rc);
	if (rc)
		return dnd_fail_errno(ctx, -rc, "%s: the new file cannot be given its name", drive->path);
	drive->unnamed = false;
	return 0;
}

int dnd_drive_cut(struct donard_context *ctx, struct dnd_drive *drive, uint64_t from_bytes, uint64_t to_bytes)
{
	if (dnd_drive_length(drive) != from_bytes || !ftruncate(drive->fd, (off_t)to_bytes))
		return 0;
	return dnd_fail_errno(ctx, errno, "%s: its length cannot be set", drive->path);
}

static int write_all(int fd, const uint8_t *bytes, size_t length, uint64_t offset)
{
	while (length) {
		ssize_t put = pwrite(fd, bytes, length, (off_t)offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put ? -errno : -EIO;
		bytes += put;
		offset += (uint64_t)put;
		length -= (size_t)put;
	}
	return 0;
}

int dnd_drive_write_cached(const struct dnd_drive *drive, const void *bytes, size_t length, uint64_t offset)
{
	int flags = fcntl(drive->fd, F_GETFL), rc;

	if (flags < 0 || fcntl(drive->fd, F_SETFL, flags & ~O_DIRECT))
		return -errno;
	rc = write_all(drive->fd, bytes, length, offset);
	if (fcntl(drive->fd, F_SETFL, flags) && !rc)
		rc = -errno;
	return rc;
}
