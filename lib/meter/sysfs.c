// SPDX-License-Identifier: Apache-2.0
/* See sysfs.h. */
#include <errno.h>

#include "base/files.h"
#include "meter/fail.h"
#include "meter/sysfs.h"

int dnd_meter_path(const struct donard_context *ctx, char path[PATH_MAX], const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_path_below(path, donard_sysfs_root(ctx), format, args);
	va_end(args);
	return rc;
}

int dnd_meter_text(const struct donard_context *ctx, char *text, size_t text_bytes, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_text_below(donard_sysfs_root(ctx), text, text_bytes, format, args);
	va_end(args);
	return rc;
}

int dnd_meter_number(const struct donard_context *ctx, uint64_t *number, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_number_below(donard_sysfs_root(ctx), number, format, args);
	va_end(args);
	return rc;
}

bool dnd_meter_exists(const struct donard_context *ctx, const char *format, ...)
{
	va_list args;
	bool exists;

	va_start(args, format);
	exists = dnd_exists_below(donard_sysfs_root(ctx), format, args);
	va_end(args);
	return exists;
}

int dnd_meter_each(struct donard_context *ctx, const char *folder, int (*each)(void *user, const char *entry), void *user)
{
	char path[PATH_MAX], text[DND_TEXT_BYTES];
	int unread, rc = dnd_meter_path(ctx, path, "%s", folder);

	if (rc)
		return dnd_meter_fail_errno(ctx, rc, "%s cannot be read", folder);
	rc = dnd_folder_each(path, &unread, each, user);
	if (!unread)
		return rc;
	if (unread == -ENOENT)
		return dnd_no_sysfs(donard_sysfs_root(ctx), text, sizeof(text)) ?
		       dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "%s", text) : 0;
	return dnd_meter_fail_errno(ctx, unread, "%s cannot be read", path);
}
