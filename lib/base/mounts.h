/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mounts that this process sees, and the swap spaces of the machine.  This file uses no context, because the library
 * that stands in for cuFile is built with it, too.
 */
#ifndef DND_MOUNTS_H
#define DND_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

/* A decoded line of /proc/self/mountinfo; the strings point into that line. */
struct dnd_mount {
	int id;
	unsigned int major_number, minor_number;
	const char *place;
	const char *type;
	const char *source;
	const char *options;	/* those of the file system, such as "rw,data=journal" */
};

/* Splits @line, which has no newline, into its fields; returns false if it is not such a line.  Reads nothing else. */
bool dnd_mount_parse(char *line, struct dnd_mount *mount);
bool dnd_mount_has(const struct dnd_mount *mount, const char *option);
/* Decodes what the option "logdev=/dev/nvme0n1" has behind @name ("logdev="); returns false, and sets "", if there is none. */
bool dnd_mount_value(const struct dnd_mount *mount, const char *name, char *value, size_t value_bytes);
/*
 * Calls @each for each mount.  Stops when @each returns other than 0, and returns that.  Returns -errno if the list
 * cannot be opened, for instance because /proc is not mounted.
 */
int dnd_mounts_each(int (*each)(void *user, const struct dnd_mount *mount), void *user);

/* The path in a line of /proc/swaps, which this decodes in place; NULL if the line names none. */
const char *dnd_swap_parse(char *line);
/* Does the same for each swap space of the machine. */
int dnd_swaps_each(int (*each)(void *user, const char *path), void *user);

#endif /* DND_MOUNTS_H */
