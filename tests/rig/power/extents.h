/* SPDX-License-Identifier: Apache-2.0 */
/* Walks two files of one size page by page, except for holes of both. */
#ifndef EXTENTS_H
#define EXTENTS_H

#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#define PAGE_BYTES 4096

static inline void read_page(int file, off_t at, void *page)
{
	if (pread(file, page, PAGE_BYTES, at) != PAGE_BYTES)
		abort();
}

static inline void write_page(int file, off_t at, const void *page)
{
	if (pwrite(file, page, PAGE_BYTES, at) != PAGE_BYTES)
		abort();
}

/* Returns the offset of the first page from @at on that may hold data; -1 if none does. */
static inline off_t next_data(int file, off_t at)
{
	off_t data = lseek(file, at, SEEK_DATA);

	return data < 0 ? -1 : data & ~(off_t)(PAGE_BYTES - 1);
}

static inline void each_page(int one, int other, void (*function)(int, int, off_t, void *), void *user)
{
	for (off_t at = 0;; at += PAGE_BYTES) {
		off_t a = next_data(one, at), b = next_data(other, at);

		if (a < 0 && b < 0)
			return;
		at = a < 0 || (b >= 0 && b < a) ? b : a;
		function(one, other, at, user);
	}
}

#endif /* EXTENTS_H */
