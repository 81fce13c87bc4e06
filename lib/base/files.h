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
#include <stdint.h>

/* @root, and below it what @format says, with one slash between; -ENAMETOOLONG. */
int dnd_path_below(char path[PATH_MAX], const char *root, const char *format, va_list args);
/* How many bytes there are up to the first that cannot be read, at most @bytes; or -errno. */
long dnd_file_bytes(const char *path, void *to, size_t bytes);
/* Printable lines, without newlines and spaces at the end; 0, or -errno with *text "". */
int dnd_file_text(const char *path, char *text, size_t text_bytes);
/* A number as in C, in a file that is short; 0, or -errno. */
int dnd_file_number(const char *path, uint64_t *number);
/*
 * Calls @each for every entry but hidden ones, in order: numbers by their value, PCI addresses as the
 * hexadecimal that they are.  Returns what @each returned other than 0, which ends it.  *unread is 0, or -errno if the
 * folder could not be read.
 */
int dnd_folder_each(const char *path, int *unread, int (*each)(void *user, const char *entry), void *user);

/* The same of a path below a root. */
int dnd_text_below(const char *root, char *text, size_t text_bytes, const char *format, va_list args);
int dnd_number_below(const char *root, uint64_t *number, const char *format, va_list args);
bool dnd_exists_below(const char *root, const char *format, va_list args);

/* Is no sysfs mounted there?  Then the text of a failure that says so. */
bool dnd_no_sysfs(const char *root, char *text, size_t text_bytes);

#endif /* DND_FILES_H */
