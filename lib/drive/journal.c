// SPDX-License-Identifier: Apache-2.0
/*
 * Where is the journal of a file system?  fsync() flushes the device that the file lies on, and writes to the journal where
 * the file lies and how long it is.  A journal on another device is as durable as that device, which nothing here
 * judges.
 *
 * XFS lists a log of its own device among the options of the mount (fs/xfs/xfs_super.c, xfs_fs_show_options()).  ext4 does
 * not, but jbd2 has an entry in /proc for each journal: "nvme0n1-8" is one inside of the file system on nvme0n1, by its
 * inode, and one on a device of its own has that device's name (fs/jbd2/journal.c).
 */
#include <glob.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mounts.h"
#include "drive/blockdev.h"
#include "drive/file_check.h"

struct log_question {
	dev_t device;
	char log[128];		/* its device, or "" */
};

static int look_at_mount(void *user, const struct dnd_mount *mount)
{
	struct log_question *question = user;

	return makedev(mount->major_number, mount->minor_number) == question->device &&
	       dnd_mount_value(mount, "logdev=", question->log, sizeof(question->log));
}

static bool xfs_log_is_inside(dev_t device, struct dnd_doubt *doubt)
{
	struct log_question question = { .device = device };

	dnd_mounts_each(look_at_mount, &question);
	if (!question.log[0])
		return true;
	snprintf(doubt->text, sizeof(doubt->text), "the log of its file system lies on another device, %s, and whether that is "
		 "durable is not known", question.log);
	return false;
}

/* Has jbd2 an entry for a journal inside of the file system on the device, such as "nvme0n1-8"? */
static bool has_entry(const char *device)
{
	char pattern[128];
	glob_t found = { 0 };
	bool matches;

	snprintf(pattern, sizeof(pattern), DND_JBD2 "/%s-[0-9]*", device);
	matches = !glob(pattern, GLOB_NOSORT, NULL, &found);
	globfree(&found);
	return matches;
}

static bool ext4_journal_is_inside(struct donard_context *ctx, dev_t device, struct dnd_doubt *doubt)
{
	char name[64], task[32];

	if (dnd_sysfs_link_name(ctx, name, sizeof(name), "dev/block/%u:%u", major(device), minor(device)) ||
	    dnd_sysfs_read(ctx, task, sizeof(task), "fs/ext4/%s/journal_task", name)) {
		snprintf(doubt->text, sizeof(doubt->text), "whether its file system's journal lies on the same device is not known: "
			 "/sys/fs/ext4 does not show it");
		return false;
	}
	if (!strcmp(task, "<none>") || has_entry(name))
		return true;
	snprintf(doubt->text, sizeof(doubt->text), access(DND_JBD2, R_OK | X_OK) ?
		 "whether its file system's journal lies on the same device is not known: " DND_JBD2 " cannot be read" :
		 "the journal of its file system lies on another device, and whether that is durable is not known");
	return false;
}

bool dnd_file_journal_is_inside(struct donard_context *ctx, int fd, struct dnd_doubt *doubt)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return true;	/* dnd_file_is_flushed() has its doubts then */
	if (fs.f_type == EXT4_SUPER_MAGIC)
		return ext4_journal_is_inside(ctx, st.st_dev, doubt);
	return fs.f_type != DND_XFS_MAGIC || xfs_log_is_inside(st.st_dev, doubt);
}
