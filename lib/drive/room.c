// SPDX-License-Identifier: Apache-2.0
/* A drive or file system that takes no more: says what is missing, and what became of the bytes. */
#include <stdio.h>
#include <sys/statvfs.h>

#include "drive/drive.h"

/* "its file system has 4096 bytes left for this user", or what a device has too little of. */
static void say_what_is_missing(const struct dnd_drive *drive, int error_number, char *text, size_t text_bytes)
{
	struct statvfs fs;

	if (!drive->is_file)
		snprintf(text, text_bytes, "what it is made of is full, such as the pool of a thin volume (lvs)");
	else if (error_number == EDQUOT)
		snprintf(text, text_bytes, "the quota of its user, group or project is used up (repquota, or xfs_quota -c report)");
	else if (drive->fd >= 0 && !fstatvfs(drive->fd, &fs))
		snprintf(text, text_bytes, "its file system has %llu bytes left for this user%s",
			 (unsigned long long)fs.f_bavail * fs.f_frsize, !fs.f_bavail ? "" :
			 "; if that is enough, the device below is full, such as the pool of a thin volume (lvs)");
	else
		snprintf(text, text_bytes, "its file system is full");
}

int dnd_drive_no_room(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t bytes, int error_number)
{
	char missing[256];

	say_what_is_missing(drive, error_number, missing, sizeof(missing));
	return dnd_fail_member(ctx, DND_E_NO_SPACE, DND_VALUE(NULL, bytes),
			       "%s: no room for the copy: %s: it needs %llu bytes more, and %s. Nothing was changed. "
			       "Make room, or choose another destination.", drive->path, strerror(error_number),
			       (unsigned long long)bytes, missing);
}

int dnd_drive_is_full(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t offset, int error_number)
{
	char missing[256];

	say_what_is_missing(drive, error_number, missing, sizeof(missing));
	return dnd_fail(ctx, DND_E_NO_SPACE, "%s: write at offset %llu failed: %s: %s. Make room, and write again.",
			drive->path, (unsigned long long)offset, strerror(error_number), missing);
}

int dnd_drive_flush_failed(struct donard_context *ctx, const struct dnd_drive *drive, int error_number)
{
	const char *cause = "dmesg says what the drive or its file system reported";
	int rc = dnd_drive_lost(ctx, drive);
	char missing[256];

	if (rc)
		return rc;
	if (error_number == ENOSPC || error_number == EDQUOT) {
		say_what_is_missing(drive, error_number, missing, sizeof(missing));
		cause = missing;
	} else if (error_number == EROFS) {
		cause = "its file system was made read-only, as after a fault that dmesg tells of";
	}
	dnd_fail_errno(ctx, error_number, "%s: what was written cannot be flushed (fsync)", drive->path);
	dnd_fail_more(ctx, " Any part of it may be lost: %s. Mend that, and write it again.", cause);
	return -error_number;
}
