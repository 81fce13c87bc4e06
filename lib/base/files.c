// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/files.h"
#include "base/printable.h"

int dnd_path_below(char path[PATH_MAX], const char *root, const char *format, va_list args)
{
	int begun = snprintf(path, PATH_MAX, "%s%s", root, format[0] == '/' ? "" : "/");
	int rest;

	if (begun >= PATH_MAX)
		return -ENAMETOOLONG;
	rest = vsnprintf(path + begun, (size_t)(PATH_MAX - begun), format, args);
	return rest < 0 || rest >= PATH_MAX - begun ? -ENAMETOOLONG : 0;
}

long dnd_bytes_at(const char *path, void *to, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;

	if (fd < 0)
		return -errno;
	do {
		got = read(fd, (char *)to + used, bytes - used);
		used += got > 0 ? (size_t)got : 0;
	} while (got > 0 && used < bytes);
	if (got < 0 && !used)
		got = -errno;
	close(fd);
	return got < 0 && !used ? (long)got : (long)used;
}

int dnd_text_at(const char *path, char *text, size_t text_bytes)
{
	long got = dnd_bytes_at(path, text, text_bytes - 1);

	text[got > 0 ? got : 0] = '\0';
	while (got > 0 && strchr("\n ", text[got - 1]))
		text[--got] = '\0';
	dnd_make_lines_printable(text, text_bytes);
	return got < 0 ? (int)got : 0;
}

int dnd_number_at(const char *path, uint64_t *number)
{
	char text[32], *end;
	int rc = dnd_text_at(path, text, sizeof(text));

	if (rc)
		return rc;
	errno = 0;
	*number = strtoull(text, &end, 0);
	return errno || end == text ? -EINVAL : 0;
}

int dnd_text_below(const char *root, char *text, size_t text_bytes, const char *format, va_list args)
{
	char path[PATH_MAX];
	int rc = dnd_path_below(path, root, format, args);

	text[0] = '\0';
	return rc ? rc : dnd_text_at(path, text, text_bytes);
}

int dnd_number_below(const char *root, uint64_t *number, const char *format, va_list args)
{
	char path[PATH_MAX];
	int rc = dnd_path_below(path, root, format, args);

	return rc ? rc : dnd_number_at(path, number);
}

bool dnd_exists_below(const char *root, const char *format, va_list args)
{
	char path[PATH_MAX];

	return !dnd_path_below(path, root, format, args) && access(path, F_OK) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	const char *one = (*a)->d_name, *other = (*b)->d_name;

	return strchr(one, ':') ? strcmp(one, other) : strverscmp(one, other);
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int dnd_folder_each(const char *path, int *unread, int (*each)(void *user, const char *entry), void *user)
{
	struct dirent **entries;
	int rc = 0, count = scandir(path, &entries, not_hidden, by_name);

	*unread = count < 0 ? -errno : 0;
	if (*unread)
		return 0;
	for (int i = 0; i < count; i++) {
		if (!rc)
			rc = each(user, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

/* The sysfs of every kernel has all of these folders. */
bool dnd_no_sysfs(const char *root, char *text, size_t text_bytes)
{
	static const char *const folders[] = { "class", "block", "bus", "dev" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		int length = snprintf(path, sizeof(path), "%s/%s", root, folders[i]);

		if (length > 0 && length < PATH_MAX && !access(path, F_OK))
			return false;
	}
	snprintf(text, text_bytes, "%s: no sysfs is mounted there, so that nothing tells of drives, regions and modules. "
		 "Mount it (mount -t sysfs sysfs %s), or give this container that of its host.", root, root);
	return true;
}

/*
 * Is @path on another file system than @root, and is that one no sysfs?  A container may have parts of sysfs that are each
 * mounted by themselves, and those hide nothing.
 */
static bool is_over_mounted(const char *path, dev_t root)
{
	struct statfs fs;
	struct stat st;

	return !stat(path, &st) && st.st_dev != root && !statfs(path, &fs) && fs.f_type != SYSFS_MAGIC;
}

bool dnd_sysfs_hidden_part(const char *root, const char *path, char part[PATH_MAX])
{
	struct stat st;

	if (stat(root, &st))
		return false;
	for (const char *end = path; *end; end += *end == '/') {
		end += strcspn(end, "/");
		if (snprintf(part, PATH_MAX, "%s/%.*s", root, (int)(end - path), path) >= PATH_MAX)
			return false;
		if (is_over_mounted(part, st.st_dev))
			return true;
	}
	return false;
}

bool dnd_sysfs_hidden(const char *root, const char *path, char *text, size_t text_bytes)
{
	char part[PATH_MAX];
	bool hidden = dnd_sysfs_hidden_part(root, path, part);

	if (hidden)
		snprintf(text, text_bytes, "%s: another file system is mounted over it, as containers hide parts of sysfs, so that "
			 "nothing tells what there is. Unmount that, or let this container see it (podman run --security-opt "
			 "unmask=%s, or docker run --privileged).", part, part);
	return hidden;
}
