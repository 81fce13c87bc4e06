// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/files.h"
#include "lib/base/printable.h"
#include "source.h"

int source_path(const struct source *source, char path[PATH_MAX], const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_path_below(path, source->root, format, args);
	va_end(args);
	return rc;
}

long source_bytes(const struct source *source, void *to, size_t bytes, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_path_below(path, source->root, format, args);
	va_end(args);
	return rc ? rc : dnd_bytes_at(path, to, bytes);
}

int source_lines(const struct source *source, char *text, size_t text_bytes, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_text_below(source->root, text, text_bytes, format, args);
	va_end(args);
	return rc;
}

int source_text(const struct source *source, char *text, size_t text_bytes, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_text_below(source->root, text, text_bytes, format, args);
	va_end(args);
	text[strcspn(text, "\n")] = '\0';
	return rc;
}

char *source_whole(const struct source *source, const char *format, ...)
{
	char path[PATH_MAX], *text = NULL;
	size_t bytes = 0;
	va_list args;
	FILE *file;
	int rc;

	va_start(args, format);
	rc = dnd_path_below(path, source->root, format, args);
	va_end(args);
	file = rc ? NULL : fopen(path, "re");
	if (!file)
		return NULL;
	if (getdelim(&text, &bytes, '\0', file) < 0) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

int64_t source_number(const struct source *source, int64_t otherwise, const char *format, ...)
{
	uint64_t number;
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_number_below(source->root, &number, format, args);
	va_end(args);
	return rc ? otherwise : (int64_t)number;
}

bool source_exists(const struct source *source, const char *format, ...)
{
	va_list args;
	bool exists;

	va_start(args, format);
	exists = dnd_exists_below(source->root, format, args);
	va_end(args);
	return exists;
}

void source_link(const struct source *source, char *name, size_t name_bytes, const char *format, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	ssize_t got;
	va_list args;
	int rc;

	name[0] = '\0';
	va_start(args, format);
	rc = dnd_path_below(path, source->root, format, args);
	va_end(args);
	got = rc ? -1 : readlink(path, target, sizeof(target) - 1);
	if (got < 0)
		return;
	target[got] = '\0';
	slash = strrchr(target, '/');
	snprintf(name, name_bytes, "%s", slash ? slash + 1 : target);
	dnd_make_printable(name, name_bytes);
}

int source_each(const struct source *source, const char *folder,
		int (*each)(void *user, const char *entry), void *user)
{
	char path[PATH_MAX];
	int unread, rc;

	if (source_path(source, path, "%s", folder))
		return 0;
	rc = dnd_folder_each(path, &unread, each, user);
	return unread == -ENOMEM ? unread : rc;		/* any other error means that there is no such folder */
}
