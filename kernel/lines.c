// SPDX-License-Identifier: GPL-2.0
/* Lists for people.  See lines.h. */
#include <linux/jiffies.h>
#include <linux/kernel.h>

#include "lines.h"

/* p2pmem_lines_add() always leaves room for the last line. */
#define LAST_BYTES	sizeof("and 18446744073709551615 more\n")

void p2pmem_lines_begin(struct p2pmem_lines *lines, char *text, size_t bytes,
			struct pid_namespace *reader)
{
	*lines = (struct p2pmem_lines){
		.text = text, .bytes = bytes, .reader = reader, .search = HZ / 2,
	};
	text[0] = '\0';
}

void p2pmem_lines_add(struct p2pmem_lines *lines, const char *fmt, ...)
{
	char *end = lines->text + lines->used;
	size_t room = lines->bytes - lines->used;
	va_list args;
	size_t need;

	if (!p2pmem_lines_full(lines)) {
		va_start(args, fmt);
		need = vsnprintf(end, room, fmt, args);
		va_end(args);
		if (need + LAST_BYTES <= room) {
			lines->used += need;
			return;
		}
		*end = '\0';
	}
	lines->left_out++;
}

void p2pmem_lines_leave_out(struct p2pmem_lines *lines, unsigned long count)
{
	lines->left_out += count;
}

size_t p2pmem_lines_end(struct p2pmem_lines *lines)
{
	if (lines->left_out)
		lines->used += scnprintf(lines->text + lines->used,
					 lines->bytes - lines->used, "and %lu more\n",
					 lines->left_out);
	return lines->used;
}
