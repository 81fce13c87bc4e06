// SPDX-License-Identifier: Apache-2.0
/* See nodes.h. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/files.h"
#include "base/nodes.h"

#define MAPPER		"mapper/"
#define LINKS_MAX	40	/* as many as the kernel follows */

static bool is_below(const char *folder, const char *root)
{
	size_t length = strlen(root);

	return !strncmp(folder, root, length) && (!folder[length] || folder[length] == '/');
}

/* The folder of @path, or if that does not exist, the nearest one above it that does. */
static bool real_folder(const char *path, char folder[PATH_MAX])
{
	char part[PATH_MAX], *slash;

	if (snprintf(part, sizeof(part), "%s%s", path[0] == '/' ? "" : "./", path) >= (int)sizeof(part))
		return false;
	do {
		slash = strrchr(part, '/');
		if (!slash)
			return false;
		slash[slash == part] = '\0';
	} while (!realpath(part, folder) && slash != part);
	return true;
}

/* Replaces a link by its target, which need not exist.  Returns false if @path is no link. */
static bool follow(char path[PATH_MAX])
{
	char target[PATH_MAX];
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	const char *slash = strrchr(path, '/');
	size_t folder;

	if (length < 0)
		return false;
	target[length] = '\0';
	folder = slash && target[0] != '/' ? (size_t)(slash + 1 - path) : 0;
	return snprintf(path + folder, PATH_MAX - folder, "%s", target) < (int)(PATH_MAX - folder);
}

bool dnd_new_below_dev(const char *dev_root, const char *path)
{
	char name[PATH_MAX], root[PATH_MAX], shared[PATH_MAX + 8], folder[PATH_MAX];
	unsigned int links = 0;

	if (snprintf(name, sizeof(name), "%s", path) >= (int)sizeof(name))
		return false;
	while (links < LINKS_MAX && follow(name))
		links++;
	if (!realpath(dev_root, root) || !real_folder(name, folder))
		return false;
	snprintf(shared, sizeof(shared), "%s/shm", root);
	return is_below(folder, root) && !is_below(folder, shared);
}

void dnd_node_making(const char *path, char type, const char *number, char *text, size_t text_bytes)
{
	const char *colon = strchr(number, ':');
	char make[PATH_MAX + 64] = "";

	if (colon)
		snprintf(make, sizeof(make), "make it (mknod %s %c %.*s %s), ", path, type, (int)(colon - number), number, colon + 1);
	snprintf(text, text_bytes, "Have udev make it (udevadm trigger), %sor give it to this container (docker run --device)", make);
}

struct wanted {
	const char *sysfs_root, *name;
	char disk[64];
};

static bool read_below(const struct wanted *wanted, char *text, size_t text_bytes, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_text_below(wanted->sysfs_root, text, text_bytes, format, args);
	va_end(args);
	return !rc;
}

/* Decodes a name of device-mapper, in which \x20 may stand for a blank. */
static void decode(const char *from, char *to, size_t to_bytes)
{
	const char *end = to + to_bytes - 1;
	unsigned int byte;

	while (*from && to < end) {
		if (from[0] == '\\' && from[1] == 'x' && isxdigit((unsigned char)from[2]) && isxdigit((unsigned char)from[3]) &&
		    sscanf(from + 2, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* Compares decoded names: libdm may have escaped the name that the kernel knows, and udev the name of the node. */
static bool is_same_name(const char *a, const char *b)
{
	char decoded_a[NAME_MAX + 1], decoded_b[NAME_MAX + 1];

	decode(a, decoded_a, sizeof(decoded_a));
	decode(b, decoded_b, sizeof(decoded_b));
	return !strcmp(decoded_a, decoded_b);
}

/* The kernel calls a device of device-mapper dm-N; the file dm/name has the name of its node. */
static int note_volume(void *user, const char *disk)
{
	struct wanted *wanted = user;
	char name[256];

	if (strncmp(disk, "dm-", 3) || !read_below(wanted, name, sizeof(name), "block/%s/dm/name", disk) ||
	    !is_same_name(name, wanted->name))
		return 0;
	snprintf(wanted->disk, sizeof(wanted->disk), "%s", disk);
	return 1;
}

static bool is_volume(struct wanted *wanted)
{
	char folder[PATH_MAX];
	int unread;

	snprintf(folder, sizeof(folder), "%s/block", wanted->sysfs_root);
	return dnd_folder_each(folder, &unread, note_volume, wanted);
}

static bool is_other(const struct wanted *wanted, const char *format, const char *name, dev_t device)
{
	unsigned int major_number, minor_number;
	char number[32];

	return read_below(wanted, number, sizeof(number), format, name) &&
	       sscanf(number, "%u:%u", &major_number, &minor_number) == 2 && makedev(major_number, minor_number) != device;
}

/* Does the kernel give the name to another disk or partition? */
static bool is_other_disk(const char *sysfs_root, const char *name, dev_t device)
{
	return is_other(&(struct wanted){ .sysfs_root = sysfs_root }, "class/block/%s/dev", name, device);
}

/* Does device-mapper give the name to another device? */
static bool is_other_volume(const char *sysfs_root, const char *name, dev_t device)
{
	struct wanted wanted = { .sysfs_root = sysfs_root, .name = name };

	return is_volume(&wanted) && is_other(&wanted, "block/%s/dev", wanted.disk, device);
}

void dnd_no_node(const char *sysfs_root, const char *path, char *text, size_t text_bytes)
{
	const char *slash = strrchr(path, '/');
	struct wanted wanted = { .sysfs_root = sysfs_root, .name = slash ? slash + 1 : path };
	char number[32] = "", making[PATH_MAX + 256];

	if (strlen(wanted.name) < sizeof(wanted.disk) && wanted.name[0] != '.' &&
	    read_below(&wanted, number, sizeof(number), "class/block/%s/dev", wanted.name))
		snprintf(wanted.disk, sizeof(wanted.disk), "%s", wanted.name);
	else if (!is_volume(&wanted) || !read_below(&wanted, number, sizeof(number), "block/%s/dev", wanted.disk))
		number[0] = '\0';
	if (!strchr(number, ':')) {
		snprintf(text, text_bytes, "%s: there is no such device, and no file is made below /dev. donard_client_list() shows "
			 "the drives.", path);
		return;
	}
	dnd_node_making(path, 'b', number, making, sizeof(making));
	snprintf(text, text_bytes, "%s: the kernel has this device (%s), but there is no node of it. %s.", path, wanted.disk, making);
}

/* The name that the kernel has for a block device, or its number. */
static void name_of(const char *sysfs_root, dev_t device, char *name, size_t name_bytes)
{
	char link[PATH_MAX], target[PATH_MAX];
	const char *slash;
	ssize_t length;

	snprintf(link, sizeof(link), "%s/dev/block/%u:%u", sysfs_root, major(device), minor(device));
	length = readlink(link, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	slash = strrchr(target, '/');
	if (slash)
		snprintf(name, name_bytes, "%s", slash + 1);
	else
		snprintf(name, name_bytes, "block device %u:%u", major(device), minor(device));
}

/* LVM doubles a hyphen in the name of a group or of a volume. */
static void append_doubled(char *name, size_t name_bytes, const char *from, size_t length)
{
	size_t at = strlen(name);

	for (size_t i = 0; i < length && at + 2 < name_bytes; i++) {
		if (from[i] == '-')
			name[at++] = '-';
		name[at++] = from[i];
	}
	name[at] = '\0';
}

/*
 * Is "VG/LV" the name of another volume?  Anybody may make folders below /dev, so it counts as a name of LVM only if there is
 * such a volume, or if @volume is another one of that group.
 */
static bool is_other_of_group(const char *sysfs_root, const char *node, const char *volume, dev_t device)
{
	const char *slash = strchr(node, '/');
	char name[256] = "";
	size_t group;

	append_doubled(name, sizeof(name) - 1, node, (size_t)(slash - node));
	strcat(name, "-");
	group = strlen(name);
	append_doubled(name, sizeof(name), slash + 1, strlen(slash + 1));
	if (!strcmp(name, volume))
		return false;
	return (!strncmp(name, volume, group) && volume[group] != '-') || is_other_volume(sysfs_root, name, device);
}

/* @volume: the name that device-mapper has for @device, or "".  Returns false for a name that the kernel does not know. */
static bool is_name_of_other(const char *sysfs_root, const char *node, const char *volume, dev_t device)
{
	const char *slash = strchr(node, '/');
	char array[NAME_MAX];

	if (!slash)
		return is_other_disk(sysfs_root, node, device);
	if (!strncmp(node, MAPPER, strlen(MAPPER)))
		return volume[0] ? !is_same_name(node + strlen(MAPPER), volume) :
				   is_other_volume(sysfs_root, node + strlen(MAPPER), device);
	if (!strncmp(node, "md/", 3)) {
		/* The kernel's name of an array, if mdadm was told to use that one.  It does not know the names of others. */
		snprintf(array, sizeof(array), "md_%s", node + 3);
		return is_other_disk(sysfs_root, array, device);
	}
	return !strchr(slash + 1, '/') && is_other_of_group(sysfs_root, node, volume, device);
}

/* Follows links, such as those of /dev/disk, to the node itself. */
bool dnd_node_is_stale(const char *sysfs_root, const char *dev_root, const char *path, dev_t device, char *text,
		       size_t text_bytes)
{
	char node[PATH_MAX], root[PATH_MAX], own[PATH_MAX], other[64], volume[256];
	const struct wanted wanted = { .sysfs_root = sysfs_root };
	const char *name;

	if (!realpath(path, node) || !realpath(dev_root, root) || !is_below(node, root))
		return false;
	name = node + strlen(root) + 1;
	if (!read_below(&wanted, volume, sizeof(volume), "dev/block/%u:%u/dm/name", major(device), minor(device)))
		volume[0] = '\0';
	if (!is_name_of_other(sysfs_root, name, volume, device))
		return false;
	name_of(sysfs_root, device, other, sizeof(other));
	snprintf(own, sizeof(own), "%s/%s", dev_root, other);
	snprintf(text, text_bytes, access(own, F_OK) ?
		 "%s: its node leads to %s%s%s%s, and not to %s. Give this container the node by a name that no other device has, such "
		 "as %s." : "%s: its node leads to %s%s%s%s, and not to %s. Have the node made anew (udev does so), or name %s.", path,
		 other, volume[0] ? " (" : "", volume, volume[0] ? ")" : "",
		 name + (strncmp(name, MAPPER, strlen(MAPPER)) ? 0 : strlen(MAPPER)), own);
	return true;
}
