// SPDX-License-Identifier: Apache-2.0
/* Whether a drive that failed is there any more. */
#include "drive/drive.h"

int dnd_drive_lost(struct donard_context *ctx, const struct dnd_drive *drive)
{
	const struct dnd_blockdev *blockdev = &drive->blockdev;
	struct dnd_failure before = dnd_failure_keep(ctx);
	char leg_text[DND_LEG_TEXT_BYTES];
	size_t leg = 0;
	int ignored;

	/* Which legs it still has. */
	dnd_drive_look_again(ctx, drive, &ignored);
	dnd_failure_put_back(ctx, &before);
	if (dnd_blockdev_health(ctx, blockdev, &leg) != DND_HEALTH_GONE)
		return 0;
	dnd_blockdev_leg_text(blockdev, leg, leg_text);
	return dnd_fail(ctx, DND_E_DRIVE_GONE, "%s: %s went away during the transfer: its "
			"controller %s was unplugged or unbound, or has died. Bring it back, and "
			"repeat it.", drive->path, leg_text[0] ? leg_text : "the drive",
			dnd_blockdev_leg(blockdev, leg)->controllers[0]);
}
