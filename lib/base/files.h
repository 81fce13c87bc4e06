/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files of sysfs and /proc, and their folders, by whole paths.  Knows no context: donard-cli's
 * doctor, which also reads captured machines, and libdonard-meter are built with the same file.
 */
#ifndef DND_FILES_H
#define DND_FILES_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* @root, and below it what @format says, with one slash between; -ENAMETOOLONG. */
int dnd_path_below(char path[PATH_MAX], const char *root, const char *format, va_list args);
/* How many bytes there are up to the first that cannot be read, at most @bytes; or -errno. */
long dnd_file_bytes(const char *path, void *to, size_t bytes);
/* Printable lines, without newlines and spaces at the end; 0, or -errno with *text "". */
int dnd_file_text(const char *path, char *text, size_t text_bytes);
/*
 * Calls @each for every entry but hidden ones, in order: numbers by their value, PCI addresses as the
 * hexadecimal that they are.  Ends with what @each returned other than 0; -errno if there is no such folder.
 */
int dnd_folder_each(const char *path, int (*each)(void *user, const char *entry), void *user);

/* Is no sysfs mounted there?  Then the text of a failure that says so. */
bool dnd_no_sysfs(const char *root, char *text, size_t text_bytes);

#endif /* DND_FILES_H */
