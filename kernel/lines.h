/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A list for people, in a buffer that may be too small for it.  The text has whole lines
 * only.  If lines did not fit, its last line says how many.
 */
#ifndef P2PMEM_LINES_H
#define P2PMEM_LINES_H

#include <linux/compiler_attributes.h>
#include <linux/types.h>

struct pid_namespace;

/**
 * struct p2pmem_lines - a list that grows
 * @text: the list so far, always NUL-terminated; the caller owns it
 * @bytes: the size of @text, with the NUL
 * @used: the length of the list so far, without the NUL; below @bytes
 * @left_out: lines that did not fit; after the first of them no other is added
 * @reader: the namespace in which pids are shown; NULL if there are none
 * @search: how many jiffies are left to search for processes, for all lines together
 */
struct p2pmem_lines {
	char *text;
	size_t bytes;
	size_t used;
	unsigned long left_out;
	struct pid_namespace *reader;
	unsigned long search;
};

/* @bytes is more than the last line takes. */
void p2pmem_lines_begin(struct p2pmem_lines *lines, char *text, size_t bytes,
			struct pid_namespace *reader);
/* @fmt ends with a newline. */
__printf(2, 3) void p2pmem_lines_add(struct p2pmem_lines *lines, const char *fmt, ...);
/* Counts @count more lines without formatting them. */
void p2pmem_lines_leave_out(struct p2pmem_lines *lines, unsigned long count);
/* Returns how many bytes the text has. */
size_t p2pmem_lines_end(struct p2pmem_lines *lines);

static inline bool p2pmem_lines_full(const struct p2pmem_lines *lines)
{
	return lines->left_out;
}

#endif
