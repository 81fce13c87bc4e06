// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the loop device on a drive or file.  The kernel lets anybody write below a loop device: that opens its drive
 * without O_EXCL, and is no holder in sysfs.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "drive/blockdev.h"

struct search {
	const struct dnd_drive *drive;
	char loop[64];
};

static bool lies_on(struct donard_context *ctx, const struct statx *st, const struct dnd_drive *drive)
{
	if (drive->is_file)
		return S_ISREG(st->stx_mode) && makedev(st->stx_dev_major, st->stx_dev_minor) == drive->device &&
		       st->stx_ino == drive->inode;
	return S_ISBLK(st->stx_mode) &&
	       dnd_blockdev_conflicts(ctx, makedev(st->stx_rdev_major, st->stx_rdev_minor), drive->device);
}

/*
 * The file's name is that of this process's own mounts: a device whose file lies elsewhere is not found.  What does not
 * exist any more, or is no loop device with a file, has no such name.
 */
static int look_at_disk(struct donard_context *ctx, const char *disk, void *data)
{
	struct search *search = data;
	char path[PATH_MAX];
	struct statx st;

	/* The file of another loop device may be on a server that does not answer: nothing is asked of it. */
	if (strncmp(disk, "loop", 4) || dnd_sysfs_read(ctx, path, sizeof(path), "block/%s/loop/backing_file", disk) ||
	    statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &st) || !lies_on(ctx, &st, search->drive))
		return 0;
	snprintf(search->loop, sizeof(search->loop), "%s", disk);
	return 1;
}

int dnd_drive_check_loop(struct donard_context *ctx, const struct dnd_drive *drive)
{
	struct dnd_failure before = dnd_failure_keep(ctx);
	struct search search = { .drive = drive };

	if (dnd_for_each_entry(ctx, "block", look_at_disk, &search) < 0)
		dnd_failure_put_back(ctx, &before);
	if (!search.loop[0])
		return 0;
	return dnd_fail(ctx, DND_E_MOUNTED, "%s: the loop device %s lies on it, and a copy would overwrite what that holds. Detach it "
			"first (losetup -d /dev/%s), or choose another destination.", drive->path, search.loop, search.loop);
}
