// SPDX-License-Identifier: Apache-2.0
/* See mounts.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mounts.h"

#define OCTAL	"01234567"

/* mountinfo writes blanks and some other characters as octal escapes, such as "\040". */
static char *decode(char *text)
{
	const char *from = text;
	char *to = text;

	if (!text)
		return NULL;
	while (*from) {
		if (*from == '\\' && strspn(from + 1, OCTAL) >= 3) {
			*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return text;
}

/* "36 35 98:0 /root /mnt options shared:7 - ext4 /dev/sda rw"; the optional fields stand before the dash. */
bool dnd_mount_parse(char *line, struct dnd_mount *mount)
{
	char *number = strsep(&line, " "), *device, *dash;

	strsep(&line, " ");	/* the parent mount */
	device = strsep(&line, " ");
	strsep(&line, " ");	/* its root in the file system */
	mount->place = decode(strsep(&line, " "));
	do
		dash = strsep(&line, " ");
	while (dash && strcmp(dash, "-"));
	mount->type = strsep(&line, " ");
	mount->source = decode(strsep(&line, " "));
	mount->options = strsep(&line, " ");
	return mount->options && sscanf(number, "%d", &mount->id) == 1 &&
	       sscanf(device, "%u:%u", &mount->major_number, &mount->minor_number) == 2;
}

/*
 * Returns the option behind @at, or the first one if @at is NULL.  Returns NULL behind the last one.  *length is without
 * the comma.
 */
static const char *next_option(const struct dnd_mount *mount, const char *at, size_t *length)
{
	at = at ? at + *length : mount->options;
	at += *at == ',';
	*length = strcspn(at, ",");
	return *at ? at : NULL;
}

bool dnd_mount_has(const struct dnd_mount *mount, const char *option)
{
	const char *at = NULL;
	size_t length = 0;

	while ((at = next_option(mount, at, &length)))
		if (length == strlen(option) && !strncmp(at, option, length))
			return true;
	return false;
}

bool dnd_mount_value(const struct dnd_mount *mount, const char *name, char *value, size_t value_bytes)
{
	size_t length = 0, name_length = strlen(name);
	const char *at = NULL;

	value[0] = '\0';
	while ((at = next_option(mount, at, &length)))
		if (length > name_length && !strncmp(at, name, name_length)) {
			snprintf(value, value_bytes, "%.*s", (int)(length - name_length), at + name_length);
			decode(value);
			return true;
		}
	return false;
}

/* "/dev/nvme0n1p2   partition   8388604   0   -2", under a line of headings. */
const char *dnd_swap_parse(char *line)
{
	return line[0] == '/' ? decode(strsep(&line, " \t")) : NULL;
}

struct visit {
	int (*mount)(void *user, const struct dnd_mount *mount);
	int (*swap)(void *user, const char *path);
	void *user;
};

static int visit_line(const struct visit *visit, char *line)
{
	struct dnd_mount mount;
	const char *path;

	if (visit->mount)
		return dnd_mount_parse(line, &mount) ? visit->mount(visit->user, &mount) : 0;
	path = dnd_swap_parse(line);
	return path ? visit->swap(visit->user, path) : 0;
}

static int visit_lines(const char *path, const struct visit *visit)
{
	FILE *file = fopen(path, "re");
	size_t room = 0;
	char *line = NULL;
	int rc = 0;

	if (!file)
		return -errno;
	while (!rc && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		rc = visit_line(visit, line);
	}
	free(line);
	fclose(file);
	return rc;
}

int dnd_mounts_each(int (*each)(void *user, const struct dnd_mount *mount), void *user)
{
	return visit_lines("/proc/self/mountinfo", &(struct visit){ .mount = each, .user = user });
}

int dnd_swaps_each(int (*each)(void *user, const char *path), void *user)
{
	return visit_lines("/proc/swaps", &(struct visit){ .swap = each, .user = user });
}
