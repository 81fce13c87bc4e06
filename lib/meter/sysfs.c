// SPDX-License-Identifier: Apache-2.0
/* See sysfs.h. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

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
	char path[PATH_MAX];
	va_list args;
	int rc;

	text[0] = '\0';
	va_start(args, format);
	rc = dnd_path_below(path, donard_sysfs_root(ctx), format, args);
	va_end(args);
	return rc ? rc : dnd_file_text(path, text, text_bytes);
}

int dnd_meter_number(const struct donard_context *ctx, uint64_t *number, const char *format, ...)
{
	char path[PATH_MAX], text[32], *end;
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_path_below(path, donard_sysfs_root(ctx), format, args);
	va_end(args);
	if (!rc)
		rc = dnd_file_text(path, text, sizeof(text));
	if (rc)
		return rc;
	errno = 0;
	*number = strtoull(text, &end, 0);
	return errno || end == text ? -EINVAL : 0;
}

bool dnd_meter_exists(const struct donard_context *ctx, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_path_below(path, donard_sysfs_root(ctx), format, args);
	va_end(args);
	return !rc && access(path, F_OK) == 0;
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

int dnd_meter_each(struct donard_context *ctx, const char *folder,
		   int (*each)(struct donard_context *ctx, const char *entry, void *data), void *data)
{
	struct visit visit = { .ctx = ctx, .each = each, .data = data };
	char path[PATH_MAX], text[DND_TEXT_BYTES];
	int rc = dnd_meter_path(ctx, path, "%s", folder);

	if (rc)
		return dnd_meter_fail_errno(ctx, rc, "%s cannot be read", folder);
	rc = dnd_folder_each(path, visit_entry, &visit);
	if (!visit.rc && rc == -ENOENT)
		return dnd_no_sysfs(donard_sysfs_root(ctx), text, sizeof(text)) ?
		       dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "%s", text) : 0;
	if (visit.rc || !rc)
		return visit.rc;
	return dnd_meter_fail_errno(ctx, rc, "%s cannot be read", path);
}
