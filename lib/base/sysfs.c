// SPDX-License-Identifier: Apache-2.0
/*
 * Reads and writes single sysfs values, and walks folders.
 *
 * Most callers treat a value that cannot be read as absent, since not every device has every value.  A read that fails
 * for lack of descriptors or memory says nothing about the device: dnd_sysfs_note() records it, and dnd_sysfs_check() then fails.
 */
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

int dnd_sysfs_note(const struct donard_context *ctx, const char *path, int rc)
{
	struct dnd_unread *unread = ctx->unread;

	if (!dnd_error_is_want(rc))
		return rc;
	unread->count++;
	unread->error_number = -rc;
	snprintf(unread->path, sizeof(unread->path), "%s", path);
	return rc;
}

unsigned int dnd_sysfs_unread(const struct donard_context *ctx)
{
	return ctx->unread->count;
}

int dnd_sysfs_check(struct donard_context *ctx, unsigned int before, int rc)
{
	const struct dnd_unread *unread = ctx->unread;

	return unread->count == before ? rc : dnd_fail_errno(ctx, unread->error_number, "%s cannot be read", unread->path);
}

int dnd_require_sysfs(struct donard_context *ctx, const char *path)
{
	char text[2 * PATH_MAX];

	return dnd_no_sysfs(ctx->sysfs_root, text, sizeof(text)) || dnd_sysfs_hidden(ctx->sysfs_root, path, text, sizeof(text)) ?
	       dnd_fail(ctx, DND_E_UNSUPPORTED, "%s", text) : 0;
}

static int read_text(const struct donard_context *ctx, char *value, size_t value_bytes,
		     const char *format, va_list args)
{
	char path[PATH_MAX];
	int rc = dnd_path_below(path, ctx->sysfs_root, format, args);

	value[0] = '\0';
	return rc ? rc : dnd_sysfs_note(ctx, path, dnd_text_at(path, value, value_bytes));
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

int dnd_sysfs_file_name(const struct donard_context *ctx, char *value, size_t value_bytes,
			const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	long got;

	va_start(args, format);
	got = dnd_path_below(path, ctx->sysfs_root, format, args);
	va_end(args);
	if (!got)
		got = dnd_sysfs_note(ctx, path, (int)dnd_bytes_at(path, value, value_bytes - 1));
	got -= got > 0 && value[got - 1] == '\n';
	value[got > 0 ? got : 0] = '\0';
	return got < 0 ? (int)got : 0;
}

int dnd_sysfs_read_u64(const struct donard_context *ctx, uint64_t *value, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_path_below(path, ctx->sysfs_root, format, args);
	va_end(args);
	return rc ? rc : dnd_sysfs_note(ctx, path, dnd_number_at(path, value));
}

int dnd_sysfs_config(const struct donard_context *ctx, const char *bdf, struct dnd_config *config)
{
	char path[PATH_MAX];
	int rc = dnd_sysfs_path(ctx, path, "bus/pci/devices/%s/config", bdf);

	config->count = 0;
	return rc ? rc : dnd_sysfs_note(ctx, path, dnd_config_read(path, config));
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

int dnd_fail_sysfs_write(struct donard_context *ctx, int error_number, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_failure_set_access(&ctx->failure, error_number, DND_ROOT_ONLY, format, args);
	va_end(args);
	if (rc == -EROFS)
		dnd_fail_more(ctx, " %s is mounted read-only here, as in containers and services. Do it outside of them, or let this one "
			      "write to it (docker run --privileged, ProtectKernelTunables=no of systemd).", ctx->sysfs_root);
	return rc;
}

bool dnd_sysfs_exists(const struct donard_context *ctx, const char *format, ...)
{
	va_list args;
	bool exists;

	va_start(args, format);
	exists = dnd_exists_below(ctx->sysfs_root, format, args);
	va_end(args);
	return exists;
}

static int resolve(const struct donard_context *ctx, char target[PATH_MAX], const char *format, va_list args)
{
	char path[PATH_MAX];
	int rc = dnd_path_below(path, ctx->sysfs_root, format, args);

	if (rc)
		return rc;
	return realpath(path, target) ? 0 : dnd_sysfs_note(ctx, path, -errno);
}

int dnd_sysfs_function(const struct donard_context *ctx, char bdf[DONARD_BDF_BYTES], const char *format, ...)
{
	char target[PATH_MAX], *slash;
	struct dnd_bdf found;
	va_list args;
	int rc;

	va_start(args, format);
	rc = resolve(ctx, target, format, args);
	va_end(args);
	if (rc)
		return rc;
	for (; (slash = strrchr(target, '/')); *slash = '\0')
		if (!dnd_bdf_parse(slash + 1, &found)) {
			dnd_bdf_format(bdf, found);
			return 0;
		}
	return -ENODEV;
}

int dnd_sysfs_link_name(const struct donard_context *ctx, char *name, size_t name_bytes,
			const char *format, ...)
{
	char target[PATH_MAX];
	const char *slash;
	va_list args;
	int rc;

	va_start(args, format);
	rc = resolve(ctx, target, format, args);
	va_end(args);
	if (rc)
		return rc;
	slash = strrchr(target, '/');
	rc = snprintf(name, name_bytes, "%s", slash ? slash + 1 : target);
	return rc < 0 || (size_t)rc >= name_bytes ? -ENAMETOOLONG : 0;
}

struct visit {
	struct donard_context *ctx;
	int (*each)(struct donard_context *ctx, const char *entry, void *data);
	void *data;
	bool any;
};

static int visit_entry(void *user, const char *entry)
{
	struct visit *visit = user;

	visit->any = true;
	return visit->each(visit->ctx, entry, visit->data);
}

int dnd_for_each_entry(struct donard_context *ctx, const char *folder,
		       int (*each)(struct donard_context *ctx, const char *entry, void *data),
		       void *data)
{
	struct visit visit = { .ctx = ctx, .each = each, .data = data };
	char path[PATH_MAX];
	int unread, rc = dnd_sysfs_path(ctx, path, "%s", folder);

	if (rc)
		return dnd_fail_errno(ctx, rc, "%s cannot be read", folder);
	rc = dnd_folder_each(path, &unread, visit_entry, &visit);
	if (!unread && visit.any)
		return rc;
	if (!unread || unread == -ENOENT)
		return dnd_require_sysfs(ctx, folder);
	dnd_sysfs_note(ctx, path, unread);
	return dnd_fail_errno(ctx, unread, "%s cannot be read", path);
}
