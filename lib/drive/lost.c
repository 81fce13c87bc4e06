// SPDX-License-Identifier: Apache-2.0
/* Finds out whether a drive that failed still exists, and still has its size. */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "drive/drive.h"

static int gone(struct donard_context *ctx, const struct dnd_drive *drive, size_t leg)
{
	const struct dnd_blockdev *blockdev = dnd_blockdev_leg(&drive->blockdev, leg);
	char text[DND_LEG_TEXT_BYTES];
	const char *what = dnd_blockdev_leg_text(&drive->blockdev, leg, text)[0] ? text : "the drive";
	const char *left = dnd_blockdev_controller_left(ctx, blockdev);

	if (left)
		return dnd_fail(ctx, DND_E_DRIVE_GONE, "%s: the namespace of %s went away during the transfer: it was detached or "
				"deleted, and its controller %s is still there. Attach it again (nvme attach-ns), and repeat "
				"it.", drive->path, what, left);
	return dnd_fail(ctx, DND_E_DRIVE_GONE, "%s: %s went away during the transfer: its "
			"controller %s was unplugged or unbound, or has died. Bring it back, and "
			"repeat it.", drive->path, what, blockdev->controllers[0]);
}

int dnd_drive_lost(struct donard_context *ctx, const struct dnd_drive *drive)
{
	struct dnd_failure before = dnd_failure_keep(ctx);
	unsigned int unread = dnd_sysfs_unread(ctx);
	size_t leg = 0;
	int ignored;

	/* Updates which legs it still has. */
	dnd_drive_look_again(ctx, drive, &ignored);
	dnd_failure_put_back(ctx, &before);
	if (dnd_blockdev_health(ctx, &drive->blockdev, &leg) != DND_HEALTH_GONE)
		return 0;
	/* If sysfs could not be read, for want of descriptors for instance, nothing shows that the drive is gone. */
	return dnd_sysfs_unread(ctx) == unread ? gone(ctx, drive, leg) : 0;
}

uint64_t dnd_drive_size_now(const struct dnd_drive *drive)
{
	uint64_t bytes = 0;
	struct stat st;

	if (drive->is_file)
		return fstat(drive->fd, &st) ? UINT64_MAX : (uint64_t)st.st_size;
	return ioctl(drive->fd, BLKGETSIZE64, &bytes) ? UINT64_MAX : bytes;
}

int dnd_drive_shrank(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t end_bytes)
{
	uint64_t bytes = dnd_drive_size_now(drive);

	if (bytes >= end_bytes)
		return 0;
	if (drive->is_file)
		return dnd_fail(ctx, DND_E_BUSY, "%s: another program cut it to %llu bytes during the transfer, which goes to %llu. "
				"Wait for that program, and repeat it.", drive->path, (unsigned long long)bytes,
				(unsigned long long)end_bytes);
	if (!bytes)
		return dnd_fail(ctx, DND_E_DRIVE_GONE, "%s: it has no blocks any more: its namespace was detached, deleted or "
				"formatted during the transfer. Attach it again (nvme attach-ns), and repeat it.", drive->path);
	return dnd_fail(ctx, DND_E_BUSY, "%s: it was made smaller during the transfer, which goes to %llu: it has %llu bytes now. "
			"Look at its partition table and namespace, and repeat it with what there is.", drive->path,
			(unsigned long long)end_bytes, (unsigned long long)bytes);
}
