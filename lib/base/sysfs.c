// SPDX-License-Identifier: Apache-2.0
/* Reads and writes single sysfs values, and goes through folders. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"

static int build_path(const struct donard_context *ctx, char path[PATH_MAX], const char *format,
		      va_list args)
{
	int root = snprintf(path, PATH_MAX, "%s/", ctx->sysfs_root);
	int rest = vsnprintf(path + root, (size_t)(PATH_MAX - root), format, args);

	return rest < 0 || rest >= PATH_MAX - root ? -ENAMETOOLONG : 0;
}

int dnd_sysfs_path(const struct donard_context *ctx, char path[PATH_MAX], const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = build_path(ctx, path, format, args);
	va_end(args);
	return rc;
}

static int read_value(const char *path, char *value, size_t value_bytes)
{
	ssize_t got, used = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	value[0] = '\0';
	if (fd < 0)
		return -errno;
	do {
		got = read(fd, value + used, value_bytes - 1 - (size_t)used);
		used += got > 0 ? got : 0;
	} while (got > 0);
	if (got < 0)
		used = -errno;
	close(fd);
	if (used < 0)
		return (int)used;
	while (used && (value[used - 1] == '\n' || value[used - 1] == ' '))
		used--;
	value[used] = '\0';
	return 0;
}

int dnd_sysfs_read(const struct donard_context *ctx, char *value, size_t value_bytes,
		   const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int rc;

	value[0] = '\0';
	va_start(args, format);
	rc = build_path(ctx, path, format, args);
	va_end(args);
	return rc ? rc : read_value(path, value, value_bytes);
}

int dnd_sysfs_read_u64(const struct donard_context *ctx, uint64_t *value, const char *format, ...)
{
	char path[PATH_MAX], text[32], *end;
	va_list args;
	int rc;

	va_start(args, format);
	rc = build_path(ctx, path, format, args);
	va_end(args);
	if (!rc)
		rc = read_value(path, text, sizeof(text));
	if (rc)
		return rc;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return errno || end == text ? -EINVAL : 0;
}

int dnd_sysfs_write(const struct donard_context *ctx, const char *value, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int rc, fd;

	va_start(args, format);
	rc = build_path(ctx, path, format, args);
	va_end(args);
	if (rc)
		return rc;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

bool dnd_sysfs_exists(const struct donard_context *ctx, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int rc;

	va_start(args, format);
	rc = build_path(ctx, path, format, args);
	va_end(args);
	return !rc && access(path, F_OK) == 0;
}

int dnd_sysfs_link_name(const struct donard_context *ctx, char *name, size_t name_bytes,
			const char *format, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	va_list args;
	int rc;

	va_start(args, format);
	rc = build_path(ctx, path, format, args);
	va_end(args);
	if (rc)
		return rc;
	if (!realpath(path, target))
		return -errno;
	slash = strrchr(target, '/');
	rc = snprintf(name, name_bytes, "%s", slash ? slash + 1 : target);
	return rc < 0 || (size_t)rc >= name_bytes ? -ENAMETOOLONG : 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static int not_dots(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int dnd_for_each_entry(struct donard_context *ctx, const char *folder,
		       int (*each)(struct donard_context *ctx, const char *entry, void *data),
		       void *data)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int count, rc = dnd_sysfs_path(ctx, path, "%s", folder);

	if (rc)
		return dnd_fail_errno(ctx, rc, "%s cannot be read", folder);
	count = scandir(path, &entries, not_dots, by_name);
	if (count < 0)
		return errno == ENOENT ? 0 : dnd_fail_errno(ctx, errno, "%s cannot be read", path);
	for (int i = 0; i < count; i++) {
		if (!rc)
			rc = each(ctx, entries[i]->d_name, data);
		free(entries[i]);
	}
	free(entries);
	return rc;
}
