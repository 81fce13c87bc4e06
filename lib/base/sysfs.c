// SPDX-License-Identifier: Apache-2.0
/* Reads and writes single sysfs values, and goes through folders. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "base/files.h"
#include "base/printable.h"

int dnd_sysfs_path(const struct donard_context *ctx, char path[PATH_MAX], const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_path_below(path, ctx->sysfs_root, format, args);
	va_end(args);
	return rc;
}

static int read_text(const struct donard_context *ctx, char *value, size_t value_bytes,
		     const char *format, va_list args)
{
	char path[PATH_MAX];
	int rc = dnd_path_below(path, ctx->sysfs_root, format, args);

	value[0] = '\0';
	return rc ? rc : dnd_file_text(path, value, value_bytes);
}

int dnd_sysfs_read(const struct donard_context *ctx, char *value, size_t value_bytes,
		   const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = read_text(ctx, value, value_bytes, format, args);
	va_end(args);
	dnd_make_printable(value, value_bytes);
	return rc;
}

int dnd_sysfs_lines(const struct donard_context *ctx, char *lines, size_t lines_bytes,
		    const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = read_text(ctx, lines, lines_bytes, format, args);
	va_end(args);
	return rc;
}

int dnd_sysfs_read_u64(const struct donard_context *ctx, uint64_t *value, const char *format, ...)
{
	char path[PATH_MAX], text[32], *end;
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_path_below(path, ctx->sysfs_root, format, args);
	va_end(args);
	if (!rc)
		rc = dnd_file_text(path, text, sizeof(text));
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
	rc = dnd_path_below(path, ctx->sysfs_root, format, args);
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
	rc = dnd_path_below(path, ctx->sysfs_root, format, args);
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
	rc = dnd_path_below(path, ctx->sysfs_root, format, args);
	va_end(args);
	if (rc)
		return rc;
	if (!realpath(path, target))
		return -errno;
	slash = strrchr(target, '/');
	rc = snprintf(name, name_bytes, "%s", slash ? slash + 1 : target);
	return rc < 0 || (size_t)rc >= name_bytes ? -ENAMETOOLONG : 0;
}

struct visit {
	struct donard_context *ctx;
	int (*each)(struct donard_context *ctx, const char *entry, void *data);
	void *data;
	int rc;
};

/* Its own failure has a text; that of the folder has none yet. */
static int visit_entry(void *user, const char *entry)
{
	struct visit *visit = user;

	visit->rc = visit->each(visit->ctx, entry, visit->data);
	return visit->rc;
}

int dnd_for_each_entry(struct donard_context *ctx, const char *folder,
		       int (*each)(struct donard_context *ctx, const char *entry, void *data),
		       void *data)
{
	struct visit visit = { .ctx = ctx, .each = each, .data = data };
	char path[PATH_MAX];
	int rc = dnd_sysfs_path(ctx, path, "%s", folder);

	if (rc)
		return dnd_fail_errno(ctx, rc, "%s cannot be read", folder);
	rc = dnd_folder_each(path, visit_entry, &visit);
	if (visit.rc || !rc || rc == -ENOENT)
		return visit.rc;
	return dnd_fail_errno(ctx, rc, "%s cannot be read", path);
}
