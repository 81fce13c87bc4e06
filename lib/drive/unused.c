// SPDX-License-Identifier: Apache-2.0
/*
 * Is a block device that is to be written used by somebody else?  With O_EXCL the kernel keeps it to whoever opens or mounts it,
 * but not the other block devices of its namespace (disk.h): these are claimed one by one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive/blockdev.h"
#include "drive/disk.h"
#include "drive/stack.h"

static int is_mounted(struct donard_context *ctx, const struct dnd_drive *drive, const struct dnd_use *use)
{
	if (drive->adopted)
		return dnd_fail(ctx, DND_E_MOUNTED, "%s: it is mounted at %s%s, and its adopted descriptor would "
				"write under the file system. Unmount it first.", drive->path, use->by, use->as);
	return dnd_fail(ctx, DND_E_MOUNTED, "%s: it is mounted at %s%s; writing to it would "
			"destroy the file system. Unmount it first.", drive->path, use->by, use->as);
}

/* A write would go below the array or volume that the device is a leg of. */
static int is_leg(struct donard_context *ctx, const struct dnd_drive *drive, const struct dnd_use *use)
{
	return dnd_fail(ctx, DND_E_MOUNTED, "%s: %s is made of it%s. Name that device, or "
			"stop it first.", drive->path, use->by, use->as);
}

static int is_swap(struct donard_context *ctx, const struct dnd_drive *drive, const struct dnd_use *use)
{
	return dnd_fail(ctx, DND_E_BUSY, "%s: %s is swap space that is in use; writing to it would destroy what the "
			"kernel keeps there. Take it from the kernel first (swapoff %s).", drive->path, use->by, use->by);
}

static int is_journal(struct donard_context *ctx, const struct dnd_drive *drive, const struct dnd_use *use)
{
	return dnd_fail(ctx, DND_E_MOUNTED, "%s: it is the journal of an ext4 that is mounted (%s%s); writing to it would "
			"destroy that file system. Unmount it first.", drive->path, use->by, use->as);
}

/* @device: the drive's, or that of a leg.  *unread: 0, or why it is not known whether it is mounted. */
static int check_uses(struct donard_context *ctx, const struct dnd_drive *drive, dev_t device, bool twins, int *unread)
{
	struct dnd_use use;

	*unread = dnd_use_mount(ctx, device, twins, &use);
	if (use.by[0])
		return is_mounted(ctx, drive, &use);
	dnd_use_holder(ctx, device, twins, &use);
	if (use.by[0])
		return is_leg(ctx, drive, &use);
	dnd_use_swap(ctx, device, twins, &use);
	if (use.by[0])
		return is_swap(ctx, drive, &use);
	dnd_use_journal(ctx, device, twins, &use);
	return use.by[0] ? is_journal(ctx, drive, &use) : 0;
}

/* @as: " (as /dev/nvme0n1)" for a twin, or "" */
static int is_kept(struct donard_context *ctx, const struct dnd_drive *drive, const char *as)
{
	return dnd_fail(ctx, DND_E_MOUNTED, "%s: it is in use by another program, or mounted where this process does not "
			"see it%s. Release it first (lsof, or lsblk outside of this container, shows who has it).",
			drive->path, as);
}

int dnd_drive_is_busy(struct donard_context *ctx, const struct dnd_drive *drive)
{
	int unread, rc = check_uses(ctx, drive, drive->device, false, &unread);

	return rc ? rc : is_kept(ctx, drive, "");
}

struct claim {
	struct dnd_drive *drive;
	bool whole;		/* the device that has the twins is a whole disk */
	bool disk_kept;		/* the twin that was visited last, a disk, is claimed, and with it its partitions */
	bool any;
	char kept[96];		/* " (as /dev/nvme0n1)": the twin that another user has claimed */
};

static int keep(struct donard_context *ctx, struct dnd_drive *drive, int fd)
{
	int *claims = realloc(drive->claims, (drive->claim_count + 1) * sizeof(*claims));

	if (!claims) {
		close(fd);
		return dnd_fail_memory(ctx);
	}
	drive->claims = claims;
	drive->claims[drive->claim_count++] = fd;
	return 0;
}

int dnd_drive_claim_adopted(struct donard_context *ctx, struct dnd_drive *drive)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", drive->fd);
	fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (fd >= 0)
		return keep(ctx, drive, fd);
	return dnd_error_is_want(errno) ? dnd_fail_errno(ctx, errno, "%s: cannot be claimed", drive->path) : 0;
}

static bool has_node(struct donard_context *ctx, const char *folder, const char *path)
{
	struct stat st;
	dev_t device;

	return !stat(path, &st) && S_ISBLK(st.st_mode) && !dnd_disk_number(ctx, &device, "%s/dev", folder) && st.st_rdev == device;
}

/* The kernel refuses O_EXCL while it is mounted, by whatever file system and wherever, or a leg, or swap space. */
static int claim_twin(struct donard_context *ctx, const char *folder, void *data)
{
	struct claim *claim = data;
	bool partition = dnd_sysfs_exists(ctx, "%s/partition", folder);
	char path[PATH_MAX];
	int fd;

	claim->any = true;
	claim->disk_kept &= partition;
	snprintf(path, sizeof(path), "%s/%s", ctx->dev_root, strrchr(folder, '/') + 1);
	/* A claim of a disk claims its partitions as well, even those that do not hold the bytes in question. */
	if ((partition ? claim->disk_kept : !claim->whole) || !has_node(ctx, folder, path))
		return 0;
	fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (fd >= 0) {
		claim->disk_kept = !partition;
		return keep(ctx, claim->drive, fd);
	}
	/* A device that this process may not open is still looked for among mounts, holders and swap spaces. */
	if (errno != EBUSY || claim->drive->blockdev.stack)
		return 0;	/* A leg may have the claim of another volume that lies on it. */
	snprintf(claim->kept, sizeof(claim->kept), " (as %s)", path);
	return 1;
}

/* Claims the other block devices of the drive's namespace, or of a leg's. */
static int claim_twins(struct donard_context *ctx, struct dnd_drive *drive, dev_t device)
{
	struct claim claim = { .drive = drive, .whole = !dnd_blockdev_is_partition(ctx, device) };
	int unread, rc = dnd_for_each_twin(ctx, device, claim_twin, &claim);

	if (rc < 0 || !claim.any)
		return rc;
	rc = check_uses(ctx, drive, device, true, &unread);
	return !rc && claim.kept[0] ? is_kept(ctx, drive, claim.kept) : rc;
}

static dev_t device_of_leg(const struct dnd_drive *drive, size_t leg)
{
	return drive->blockdev.stack ? drive->blockdev.stack->legs[leg].device : drive->device;
}

int dnd_drive_claim_twins(struct donard_context *ctx, struct dnd_drive *drive)
{
	int rc = 0;

	for (size_t leg = 0; !rc && leg < dnd_blockdev_leg_count(&drive->blockdev); leg++)
		rc = claim_twins(ctx, drive, device_of_leg(drive, leg));
	return rc;
}

void dnd_drive_drop_claims(struct dnd_drive *drive)
{
	while (drive->claim_count)
		close(drive->claims[--drive->claim_count]);
	free(drive->claims);
	drive->claims = NULL;
}

static int is_any(struct donard_context *ctx, const char *folder, void *data)
{
	(void)ctx;
	(void)folder;
	(void)data;
	return 1;
}

/* Looks at the other names of what the drive is made of. */
static int check_legs(struct donard_context *ctx, const struct dnd_drive *drive, int *unread)
{
	int rc = 0;

	for (size_t leg = 0; !rc && leg < dnd_blockdev_leg_count(&drive->blockdev); leg++)
		if (dnd_for_each_twin(ctx, device_of_leg(drive, leg), is_any, NULL) > 0)
			rc = check_uses(ctx, drive, device_of_leg(drive, leg), true, unread);
	return rc;
}

/*
 * Looks for other users of the drive by its mounts, holders, swap and journals.  O_EXCL cannot be set afterwards, and who has
 * the claim the kernel does not say: it may be the adopted descriptor itself.
 */
int dnd_drive_check_unused(struct donard_context *ctx, const struct dnd_drive *drive)
{
	int unread, rc = check_uses(ctx, drive, drive->device, false, &unread);

	if (!rc && !unread)
		rc = check_legs(ctx, drive, &unread);
	if (rc || !unread)
		return rc;
	return dnd_fail_errno(ctx, unread, "%s: it is not known whether it is mounted; if so, its adopted descriptor would write "
			      "under the file system. Let this process read /proc/self/mountinfo", drive->path);
}
