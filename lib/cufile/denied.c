// SPDX-License-Identifier: Apache-2.0
/* See denied.h.  fdinfo has the number of a file's mount, by which /proc/self/mountinfo lists it. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mounts.h"
#include "cufile/denied.h"
#include "cufile/log.h"
#include "cufile/settings.h"

struct mount {
	int id;
	char place[PATH_MAX], type[64], source[PATH_MAX];
};

/* The number of the mount by which the file was opened; -1 if it is not known. */
static int mount_of(int fd)
{
	char path[64], line[256];
	int number = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && number < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "mnt_id: %d", &number) != 1)
			number = -1;
	if (file)
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

/* By whatever link or node: stable names are links, as in /dev/disk/by-id, and the kernel calls /dev/mapper/vg-lv /dev/dm-0. */
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

/* In a chroot() the mount may not be listed.  If there is a denylist, the file then counts as denied. */
static bool is_unknown(const struct cuf_file *file)
{
	if (is_empty(CUF_DENIED_DEVICES) && is_empty(CUF_DENIED_MOUNTS) && is_empty(CUF_DENIED_FILE_SYSTEMS))
		return false;
	cuf_log(CUF_LOG_ERROR, "%s: /proc/self/mountinfo does not list its mount, so that it may be on the denylist of "
		"cufile.json. Run where /proc shows the mount, or empty the denylist.", file->name);
	return true;
}

bool cuf_denied(const struct cuf_file *file, int fd)
{
	char link[64], path[PATH_MAX] = "";
	struct mount mount;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!file->is_regular)
		return readlink(link, path, sizeof(path) - 1) > 0 && is_on(CUF_DENIED_DEVICES, path, file);
	mount.id = mount_of(fd);
	if (dnd_mounts_each(take_mount, &mount) != 1)
		return is_unknown(file);
	return is_on(CUF_DENIED_DEVICES, mount.source, file) || is_on(CUF_DENIED_MOUNTS, mount.place, file) ||
	       is_on(CUF_DENIED_FILE_SYSTEMS, mount.type, file);
}
