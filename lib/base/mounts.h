/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is mounted, as this process sees it.  Knows no context: the library that stands in for cuFile is built with the
 * same file.
 */
#ifndef DND_MOUNTS_H
#define DND_MOUNTS_H

#include <stdbool.h>

/* A line of /proc/self/mountinfo, decoded; the texts are the line's own memory. */
struct dnd_mount {
	int id;
	unsigned int major_number, minor_number;
	const char *place;
	const char *type;
	const char *source;
	const char *options;	/* of the file system itself: "rw,data=journal" */
};

/* Cuts @line, without a newline, into its fields; false if it is no such line.  Pure. */
bool dnd_mount_parse(char *line, struct dnd_mount *mount);
bool dnd_mount_has(const struct dnd_mount *mount, const char *option);
/*
 * Calls @each for each mount; ends with what that returned other than 0.  -errno if nobody says what is mounted, as
 * without /proc.
 */
int dnd_mounts_each(int (*each)(void *user, const struct dnd_mount *mount), void *user);

#endif /* DND_MOUNTS_H */
