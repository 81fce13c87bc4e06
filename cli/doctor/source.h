/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the examined machine: this one, or a captured one below a folder. */
#ifndef DONARD_DOCTOR_SOURCE_H
#define DONARD_DOCTOR_SOURCE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_PRINTF(a, b) __attribute__((format(printf, a, b)))

struct source {
	char root[PATH_MAX / 2];	/* "" is this machine */
	bool live;			/* this machine: facts about this process (rights, limits) count, too */
};

/* Paths begin with "/".  Reading stops at the first byte that cannot be read.  The last newline of a text is left out. */
int source_path(const struct source *source, char path[PATH_MAX], const char *format, ...)
	SOURCE_PRINTF(3, 4);
/* Returns 0, or -errno with *text "".  The text is the first line of the file; source_lines() takes all lines. */
int source_text(const struct source *source, char *text, size_t text_bytes, const char *format, ...)
	SOURCE_PRINTF(4, 5);
int source_lines(const struct source *source, char *text, size_t text_bytes, const char *format, ...)
	SOURCE_PRINTF(4, 5);
/* Returns how many bytes it read, at most @bytes; or -errno. */
long source_bytes(const struct source *source, void *to, size_t bytes, const char *format, ...)
	SOURCE_PRINTF(4, 5);
/* Returns the whole file, which the caller frees; NULL if it cannot be read. */
char *source_whole(const struct source *source, const char *format, ...) SOURCE_PRINTF(2, 3);
/* Returns @otherwise if the number cannot be read. */
int64_t source_number(const struct source *source, int64_t otherwise, const char *format, ...)
	SOURCE_PRINTF(3, 4);
bool source_exists(const struct source *source, const char *format, ...) SOURCE_PRINTF(2, 3);
/* The last component of the path that the link resolves to, made printable; "" if there is no link. */
void source_link(const struct source *source, char *name, size_t name_bytes, const char *format, ...)
	SOURCE_PRINTF(4, 5);
/*
 * Calls @each for every entry of a folder, sorted.  Stops when a call returns another value than 0, and returns that.  The
 * entry may hold any byte, so that it can be a part of further paths: code that prints it makes it printable, as find() does.
 */
int source_each(const struct source *source, const char *folder,
		int (*each)(void *user, const char *entry), void *user);

#endif /* DONARD_DOCTOR_SOURCE_H */
