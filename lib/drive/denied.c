// SPDX-License-Identifier: Apache-2.0
/*
 * Finds out why a file or device may not be opened or written.  EACCES and EPERM come from modes and groups, from
 * attributes that bind root as well, from mounts, from device cgroups and from security modules.  ETXTBSY comes from
 * programs that run and from swap space.
 */
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drive/drive.h"

#ifndef STATX_ATTR_VERITY
#define STATX_ATTR_VERITY	0x00100000
#endif

static uint64_t attributes_of(int fd, const char *path)
{
	struct statx st = { 0 };

	return syscall(SYS_statx, fd, path, path[0] ? 0 : AT_EMPTY_PATH, 0, &st) ? 0 : st.stx_attributes;
}

/* Why the attributes of a file, or of a new file's folder, forbid the access even to root; NULL if they do not. */
static const char *forbidden(uint64_t attributes)
{
	if (attributes & STATX_ATTR_IMMUTABLE)
		return "it is immutable. Take that from it (chattr -i)";
	if (attributes & STATX_ATTR_APPEND)
		return "it can only be appended to, and donard writes in any order. Take that from it (chattr -a)";
	if (attributes & STATX_ATTR_VERITY)
		return "it has fs-verity, which makes it read-only for good. Write to a copy of it without that";
	return NULL;
}

static bool may_enter(const struct dnd_drive *drive, const char *path)
{
	return !faccessat(AT_FDCWD, path, drive->writable ? R_OK | W_OK : R_OK, AT_EACCESS);
}

static const char *remedy_for_file(const struct dnd_drive *drive, const char *path)
{
	if (may_enter(drive, path))
		return "Its permissions and those of its folder allow it: a security module (SELinux, AppArmor) or a seccomp "
		       "filter does not. Have that changed";
	return "The permissions of the file, or of the folder that it is in, do not allow it";
}

static const char *remedy_for_device(const struct dnd_drive *drive, const char *path)
{
	const char *remedy = dnd_node_obstacle(path, drive->writable);

	if (!remedy)
		remedy = dnd_namespace_remedy();
	return remedy ? remedy : "Run as root, or as a member of the group that owns the device node";
}

int dnd_drive_denied(struct donard_context *ctx, const struct dnd_drive *drive, const char *path, int error_number)
{
	const char *what = drive->unnamed ? "created" : "opened";
	/* Files can be made in a folder that can only be appended to. */
	const uint64_t attributes = attributes_of(AT_FDCWD, path) & ~(drive->unnamed ? (uint64_t)STATX_ATTR_APPEND : 0);
	const char *cause = drive->writable && drive->is_file && error_number == EPERM ? forbidden(attributes) : NULL;

	if (error_number == ETXTBSY)
		return dnd_fail(ctx, DND_E_BUSY, "%s: cannot be opened for writing: it is a program that runs. End it, or use "
				"another file.", drive->path);
	if (cause && drive->unnamed)
		return dnd_fail(ctx, DND_E_PERMISSION, "%s: cannot be created in %s: %s, or use another folder.",
				drive->path, path, cause);
	if (cause)
		return dnd_fail(ctx, DND_E_PERMISSION, "%s: cannot be opened for writing: %s, or use another file.",
				drive->path, cause);
	return dnd_fail_access(ctx, error_number, drive->is_file ? remedy_for_file(drive, path) : remedy_for_device(drive, path),
			       "%s: cannot be %s", drive->path, what);
}

const char *dnd_drive_forbidden(const struct dnd_drive *drive, int error_number)
{
	if (error_number == ETXTBSY)
		return "it is swap space that is in use. Take it from the kernel (swapoff)";
	return error_number == EPERM && drive->is_file && drive->fd >= 0 ? forbidden(attributes_of(drive->fd, "")) : NULL;
}

/* The call changes nothing: fallocate() checks for swap space before it finds that no file can be that long. */
int dnd_drive_check_swap(struct donard_context *ctx, const struct dnd_drive *drive)
{
	if (!fallocate(drive->fd, FALLOC_FL_KEEP_SIZE, INT64_MAX, 1) || errno != ETXTBSY)
		return 0;
	return dnd_fail(ctx, DND_E_BUSY, "%s: cannot be written: %s, or use another file.", drive->path,
			dnd_drive_forbidden(drive, ETXTBSY));
}
