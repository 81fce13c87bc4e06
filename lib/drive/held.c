// SPDX-License-Identifier: Apache-2.0
/* Looks again at a drive or file that was opened some time ago, before a copy uses it. */
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "drive/drive.h"

/* The capacity is 0 if the namespace was detached or got a format that the kernel does not know. */
static int check_device(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t bytes)
{
	int block_bytes = 0;

	if (!bytes)
		return dnd_fail(ctx, DND_E_DRIVE_GONE, "%s: it has no blocks any more: since it was opened, its controller went away, "
				"or its namespace was detached, deleted or formatted. Bring it back, and open it again.", drive->path);
	if (!ioctl(drive->fd, BLKSSZGET, &block_bytes) && (uint32_t)block_bytes != drive->blockdev.block_bytes)
		return dnd_fail(ctx, DND_E_DEVICE, "%s: its blocks have %d bytes now, and had %u when it was opened. Open it again.",
				drive->path, block_bytes, drive->blockdev.block_bytes);
	return 0;
}

int dnd_drive_check_held(struct donard_context *ctx, struct dnd_drive *drive, bool writes)
{
	unsigned int unread = dnd_sysfs_unread(ctx);
	uint64_t bytes = dnd_drive_size_now(drive);
	int rc = 0;

	if (!drive->is_file)
		rc = check_device(ctx, drive, bytes == UINT64_MAX ? 0 : bytes);
	if (!rc && writes && drive->adopted && !drive->is_file)
		rc = dnd_drive_check_unused(ctx, drive);
	if (!rc && writes)
		rc = dnd_drive_check_unheld(ctx, drive);
	rc = dnd_sysfs_check(ctx, unread, rc);
	if (rc)
		return rc;
	if (bytes != UINT64_MAX)
		drive->size_bytes = bytes;
	return dnd_drive_ask_again(ctx, drive);
}
