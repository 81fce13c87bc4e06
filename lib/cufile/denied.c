// SPDX-License-Identifier: Apache-2.0
/* See denied.h: a file's mount is that of /proc/self/mountinfo with the number that fdinfo has. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cufile/denied.h"
#include "cufile/log.h"
#include "cufile/settings.h"

struct mount {
	char place[PATH_MAX], type[64], source[PATH_MAX];
};

/* Of the mount by which it was opened: -1 when it cannot be told. */
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

/* Blanks and the like stand there as "\040". */
static void decode(char *text)
{
	unsigned int byte;
	char *to = text;

	for (; *text; text++) {
		if (*text == '\\' && sscanf(text + 1, "%3o", &byte) == 1 && strspn(text + 1, "01234567") >= 3) {
			*to++ = (char)byte;
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* "36 35 98:0 /root /mnt options - ext4 /dev/sda rw"; optional fields stand before the dash. */
static bool parse_line(const char *line, int wanted, struct mount *mount)
{
	const char *rest = strstr(line, " - ");
	int number;

	if (!rest || sscanf(line, "%d %*d %*s %*s %4095s", &number, mount->place) != 2 || number != wanted ||
	    sscanf(rest, " - %63s %4095s", mount->type, mount->source) != 2)
		return false;
	decode(mount->place);
	decode(mount->source);
	return true;
}

static bool find_mount(int number, struct mount *mount)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[3 * PATH_MAX];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = parse_line(line, number, mount);
	if (file)
		fclose(file);
	return found;
}

static bool is_on(enum cuf_denied list, const char *word, const struct cuf_file *file)
{
	if (!cuf_settings_denies(list, word))
		return false;
	cuf_log(CUF_LOG_ERROR, "%s: %s is on the denylist of cufile.json. Take it from there, or use another file.",
		file->name, word);
	return true;
}

/* Below chroot(), its own mount may not be listed: then nobody can say that it is not denied. */
static bool is_unknown(const struct cuf_file *file)
{
	if (!cuf_settings_deny_any(CUF_DENIED_DEVICES) && !cuf_settings_deny_any(CUF_DENIED_MOUNTS) &&
	    !cuf_settings_deny_any(CUF_DENIED_FILE_SYSTEMS))
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
	if (!find_mount(mount_of(fd), &mount))
		return is_unknown(file);
	return is_on(CUF_DENIED_DEVICES, mount.source, file) || is_on(CUF_DENIED_MOUNTS, mount.place, file) ||
	       is_on(CUF_DENIED_FILE_SYSTEMS, mount.type, file);
}
