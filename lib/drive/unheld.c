// SPDX-License-Identifier: Apache-2.0
/*
 * Finds who uses a drive or file without being its holder: loop devices, and the kernel's targets, which export it to other
 * machines.  Most of them open it without O_EXCL and are no holder in sysfs, so the kernel lets anybody write below them.
 */
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "drive/blockdev.h"

#define NVME_TARGET	"kernel/config/nvmet/subsystems"
#define SCSI_TARGET	"kernel/config/target/core"

struct search {
	const struct dnd_drive *drive;
	const char *folder;	/* that is being looked through */
	char found[PATH_MAX];	/* "loop7", or the folder of the export; "": none yet */
};

/* Is the drive the file with that inode on @device, or does it have bytes of @block_device?  0: that file is none. */
static bool is_meant(struct donard_context *ctx, const struct dnd_drive *drive, dev_t device, uint64_t inode, dev_t block_device)
{
	if (drive->is_file)
		return device == drive->device && inode == drive->inode;
	return block_device && dnd_blockdev_conflicts(ctx, block_device, drive->device);
}

/* Looks a path up without asking a network file system's server, which may not answer: the path is another program's. */
static int ask_name(const char *path, struct statx *st)
{
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, st);
}

static bool is_named(struct donard_context *ctx, const struct statx *st, const struct dnd_drive *drive)
{
	return is_meant(ctx, drive, makedev(st->stx_dev_major, st->stx_dev_minor), st->stx_ino,
			S_ISBLK(st->stx_mode) ? makedev(st->stx_rdev_major, st->stx_rdev_minor) : 0);
}

static bool lies_on(struct donard_context *ctx, const char *path, const struct dnd_drive *drive)
{
	struct statx st;

	return !ask_name(path, &st) && is_named(ctx, &st, drive);
}

/* huge_encode_dev() in include/linux/kdev_t.h */
static dev_t decode(uint64_t device)
{
	return makedev((device & 0xfff00) >> 8, (device & 0xff) | (device >> 12 & 0xfff00));
}

/* Asks the kernel, which asks the file system of the image.  Only some users may. */
static int ask_loop(struct donard_context *ctx, const char *disk, struct loop_info64 *info)
{
	char node[PATH_MAX];
	int fd, rc;

	snprintf(node, sizeof(node), "%s/%s", ctx->dev_root, disk);
	fd = open(node, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return dnd_sysfs_note(ctx, node, -errno);
	rc = ioctl(fd, LOOP_GET_STATUS64, info) ? -errno : 0;
	close(fd);
	return rc;
}

/*
 * Asks the loop device if the name of its image leads nowhere, since it is of other mounts or was removed, or into the drive's
 * own file system, where another file may have the name by now.  Else goes by the name, because the image may be on a server
 * that does not answer.
 */
static bool is_loop_of(struct donard_context *ctx, const char *disk, const char *path, const struct dnd_drive *drive)
{
	struct loop_info64 info = { 0 };
	struct statx st;
	bool found = !ask_name(path, &st);

	if (found && !(drive->is_file && makedev(st.stx_dev_major, st.stx_dev_minor) == drive->device))
		return is_named(ctx, &st, drive);
	if (!ask_loop(ctx, disk, &info))
		return is_meant(ctx, drive, decode(info.lo_device), info.lo_inode, decode(info.lo_rdevice));
	return found && is_named(ctx, &st, drive);
}

/* Passes over disks that are no loop devices, have no image, or have gone meanwhile. */
static int look_at_disk(struct donard_context *ctx, const char *disk, void *data)
{
	struct search *search = data;
	char path[PATH_MAX];

	if (strncmp(disk, "loop", 4) || dnd_sysfs_file_name(ctx, path, sizeof(path), "block/%s/loop/backing_file", disk))
		return 0;
	if (!is_loop_of(ctx, disk, path, search->drive))
		return 0;
	snprintf(search->found, sizeof(search->found), "%s", disk);
	return 1;
}

/* An export is of use while it is enabled; its path is that of the process which made it. */
static int look_at_export(struct donard_context *ctx, const char *entry, const char *path_file, struct search *search)
{
	char path[PATH_MAX];
	uint64_t enabled = 0;

	if (dnd_sysfs_read_u64(ctx, &enabled, "%s/%s/enable", search->folder, entry) || !enabled ||
	    dnd_sysfs_file_name(ctx, path, sizeof(path), "%s/%s/%s", search->folder, entry, path_file) ||
	    !lies_on(ctx, path, search->drive))
		return 0;
	snprintf(search->found, sizeof(search->found), "%s/%s", search->folder, entry);
	return 1;
}

static int look_at_namespace(struct donard_context *ctx, const char *entry, void *data)
{
	return look_at_export(ctx, entry, "device_path", data);
}

static int look_at_object(struct donard_context *ctx, const char *entry, void *data)
{
	return look_at_export(ctx, entry, "udev_path", data);
}

/* A folder without entries fails, and is no reason to look no further. */
static int look_into(struct donard_context *ctx, const char *folder, struct search *search,
		     int (*each)(struct donard_context *ctx, const char *entry, void *data))
{
	search->folder = folder;
	dnd_for_each_entry(ctx, folder, each, search);
	return search->found[0] != '\0';
}

static int look_at_subsystem(struct donard_context *ctx, const char *entry, void *data)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), NVME_TARGET "/%s/namespaces", entry);
	return look_into(ctx, folder, data, look_at_namespace);
}

/* The folder "iblock_0" has objects, and files. */
static int look_at_adapter(struct donard_context *ctx, const char *entry, void *data)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), SCSI_TARGET "/%s", entry);
	return look_into(ctx, folder, data, look_at_object);
}

static bool finds(struct donard_context *ctx, struct search *search, const char *folder,
		  int (*each)(struct donard_context *ctx, const char *entry, void *data))
{
	struct dnd_failure before = dnd_failure_keep(ctx);

	if (dnd_for_each_entry(ctx, folder, each, search) < 0)
		dnd_failure_put_back(ctx, &before);
	return search->found[0];
}

int dnd_drive_check_unheld(struct donard_context *ctx, const struct dnd_drive *drive)
{
	struct search search = { .drive = drive };

	if (finds(ctx, &search, "block", look_at_disk))
		return dnd_fail(ctx, DND_E_MOUNTED, "%s: the loop device %s lies on it, and writing to it would overwrite what "
				"that holds. Detach it first (losetup -d /dev/%s), or use another file or drive.",
				drive->path, search.found, search.found);
	if (finds(ctx, &search, NVME_TARGET, look_at_subsystem) || finds(ctx, &search, SCSI_TARGET, look_at_adapter))
		return dnd_fail(ctx, DND_E_MOUNTED, "%s: this machine exports it (%s/%s), and writing to it would overwrite "
				"what its clients keep there. End that first, or use another file or drive.", drive->path,
				ctx->sysfs_root, search.found);
	return 0;
}
