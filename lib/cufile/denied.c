// SPDX-License-Identifier: Apache-2.0
/* See denied.h.  fdinfo has the number of a file's mount, by which /proc/self/mountinfo lists it. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mounts.h"
#include "cufile/codes.h"
#include "cufile/denied.h"
#include "cufile/log.h"
#include "cufile/settings.h"

struct mount {
	int id;
	char place[PATH_MAX], type[64], source[PATH_MAX];
};

/* The number of the mount by which the file was opened, or -errno. */
static int mount_of(int fd)
{
	char path[64], line[256];
	int number = -ENOENT;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (number < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "mnt_id: %d", &number) != 1)
			number = -ENOENT;
	fclose(file);
	return number;
}

static int take_mount(void *user, const struct dnd_mount *found)
{
	struct mount *mount = user;

	if (found->id != mount->id)
		return 0;
	snprintf(mount->place, sizeof(mount->place), "%s", found->place);
	snprintf(mount->type, sizeof(mount->type), "%s", found->type);
	snprintf(mount->source, sizeof(mount->source), "%s", found->source);
	return 1;
}

/* Returns 0 or -errno. */
static int find_mount(int fd, struct mount *mount)
{
	int rc = mount_of(fd);

	if (rc < 0)
		return rc;
	mount->id = rc;
	rc = dnd_mounts_each(take_mount, mount);
	return rc > 0 ? 0 : rc ? rc : -ENOENT;
}

/*
 * Does the entry lead to the file's device?  It may be any link or node: /dev/disk/by-id has links, and /dev/mapper/vg-lv is
 * /dev/dm-0 to the kernel.
 */
static bool is_device(const char *entry, const struct cuf_file *file)
{
	struct stat st;

	return !stat(entry, &st) && S_ISBLK(st.st_mode) && st.st_rdev == file->device;
}

static bool is_place(const char *entry, const char *place)
{
	char *real = realpath(entry, NULL);
	bool same = real && !strcmp(real, place);

	free(real);
	return same;
}

static bool denies(enum cuf_denied list, const char *entry, const char *word, const struct cuf_file *file)
{
	return !strcmp(entry, word) || (list == CUF_DENIED_DEVICES && is_device(entry, file)) ||
	       (list == CUF_DENIED_MOUNTS && is_place(entry, word));
}

static bool is_on(enum cuf_denied list, const char *word, const struct cuf_file *file)
{
	for (char *const *entry = cuf_settings_denied(list); entry && *entry; entry++) {
		if (!denies(list, *entry, word, file))
			continue;
		cuf_log(CUF_LOG_ERROR, "%s: %s is on the denylist of cufile.json. Take it from there, or use another file.",
			file->name, *entry);
		return true;
	}
	return false;
}

static bool is_empty(enum cuf_denied list)
{
	return !cuf_settings_denied(list) || !*cuf_settings_denied(list);
}

/*
 * The file counts as denied if its mount is not listed, as in a chroot().  A want of memory or descriptors is transient
 * instead, and reported as such.
 */
static int code_of_search(const struct cuf_file *file, int failure)
{
	if (cuf_is_passing(failure)) {
		cuf_log(CUF_LOG_ERROR, "%s cannot be compared with the denylist of cufile.json: %s", file->name, strerror(-failure));
		return failure == -ENOMEM ? CUF_INTERNAL_ERROR : CUF_GETNEWFD_FAILED;
	}
	cuf_log(CUF_LOG_ERROR, "%s: /proc/self/mountinfo does not list its mount, so that it may be on the denylist of "
		"cufile.json. Run where /proc shows the mount, or empty the denylist.", file->name);
	return CUF_IO_DISABLED;
}

static int regular_denied(const struct cuf_file *file, int fd)
{
	struct mount mount;
	int rc = find_mount(fd, &mount);

	if (rc)
		return code_of_search(file, rc);
	return is_on(CUF_DENIED_DEVICES, mount.source, file) || is_on(CUF_DENIED_MOUNTS, mount.place, file) ||
	       is_on(CUF_DENIED_FILE_SYSTEMS, mount.type, file) ? CUF_IO_DISABLED : 0;
}

int cuf_denied(const struct cuf_file *file, int fd)
{
	char link[64], path[PATH_MAX] = "";

	if (is_empty(CUF_DENIED_DEVICES) && is_empty(CUF_DENIED_MOUNTS) && is_empty(CUF_DENIED_FILE_SYSTEMS))
		return 0;
	if (file->is_regular)
		return regular_denied(file, fd);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		path[0] = '\0';		/* without /proc its number tells */
	return is_on(CUF_DENIED_DEVICES, path, file) ? CUF_IO_DISABLED : 0;
}
