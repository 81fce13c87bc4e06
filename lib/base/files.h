/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads small files and folders of sysfs and /proc by their full paths.  It uses no context, because two others
 * are built with the same file: libdonard-meter, and donard-cli's doctor, which also reads captured machines.
 */
#ifndef DND_FILES_H
#define DND_FILES_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Joins @root and the formatted path with a slash; 0 or -ENAMETOOLONG. */
int dnd_path_below(char path[PATH_MAX], const char *root, const char *format, va_list args);
/* Reads at most @bytes.  Returns how many it read before the end or an error, or -errno if the first read fails. */
long dnd_bytes_at(const char *path, void *to, size_t bytes);
/* Reads printable lines and cuts newlines and spaces at the end; 0, or -errno and *text is "". */
int dnd_text_at(const char *path, char *text, size_t text_bytes);
/* Reads a short file that holds a number in C notation; 0 or -errno. */
int dnd_number_at(const char *path, uint64_t *number);
/*
 * Calls @each for every entry that is not hidden, in order: PCI addresses by strcmp(), because they are hexadecimal,
 * and all other names by strverscmp(), so that nvme2 comes before nvme10.  Stops when @each returns
 * other than 0, and returns that.  *unread is 0, or -errno if the folder could not be read.
 */
int dnd_folder_each(const char *path, int *unread, int (*each)(void *user, const char *entry), void *user);

/* Each does the same for a path below a root. */
int dnd_text_below(const char *root, char *text, size_t text_bytes, const char *format, va_list args);
int dnd_number_below(const char *root, uint64_t *number, const char *format, va_list args);
bool dnd_exists_below(const char *root, const char *format, va_list args);

/* Returns true, and an error text, if no sysfs is mounted at @root. */
bool dnd_no_sysfs(const char *root, char *text, size_t text_bytes);

/* Is another file system mounted over @path of the sysfs at @root, or above it?  @part is set to where it is mounted then. */
bool dnd_sysfs_hidden_part(const char *root, const char *path, char part[PATH_MAX]);
/* Does the same, and returns an error text. */
bool dnd_sysfs_hidden(const char *root, const char *path, char *text, size_t text_bytes);

#endif /* DND_FILES_H */
