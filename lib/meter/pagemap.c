// SPDX-License-Identifier: Apache-2.0
/* See pagemap.h.  The kernel's Documentation/admin-guide/mm/pagemap.rst describes the entries. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "meter/fail.h"
#include "meter/pagemap.h"

#define ENTRY_PRESENT	(1ULL << 63)
#define ENTRY_FRAME	((1ULL << 55) - 1)

struct walk {
	dnd_pagemap_fn fn;
	void *user;
	uint64_t start, bytes;	/* the present piece so far */
};

static void end_piece(struct walk *walk)
{
	if (walk->bytes)
		walk->fn(walk->user, walk->start, walk->bytes);
	walk->bytes = 0;
}

static void add_page(struct walk *walk, uint64_t address, uint64_t page_bytes)
{
	if (address != walk->start + walk->bytes)
		end_piece(walk);
	if (!walk->bytes)
		walk->start = address;
	walk->bytes += page_bytes;
}

static int open_map(struct donard_context *ctx, pid_t pid, char path[64])
{
	int fd;

	snprintf(path, 64, "/proc/%d/pagemap", pid ? (int)pid : (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return dnd_meter_fail_access(ctx, errno, "Only root may look where memory lies", "cannot open %s", path);
	return fd;
}

static int walk_pages(struct donard_context *ctx, int fd, const char *path, uintptr_t from, uintptr_t to,
		      struct walk *walk)
{
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t entry;
	ssize_t got;

	for (uint64_t page = from / page_bytes; page * page_bytes < to; page++) {
		got = pread(fd, &entry, sizeof(entry), (off_t)(page * sizeof(entry)));
		if (got != sizeof(entry))
			return dnd_meter_fail_errno(ctx, got < 0 ? errno : EIO, "cannot read %s", path);
		if (entry & ENTRY_PRESENT)
			add_page(walk, (entry & ENTRY_FRAME) * page_bytes, page_bytes);
	}
	end_piece(walk);
	return 0;
}

int dnd_pagemap_walk(struct donard_context *ctx, pid_t pid, const void *memory, size_t bytes,
		     dnd_pagemap_fn fn, void *user)
{
	struct walk walk = { .fn = fn, .user = user };
	char path[64];
	int fd = open_map(ctx, pid, path), rc;

	if (fd < 0)
		return fd;
	rc = walk_pages(ctx, fd, path, (uintptr_t)memory, (uintptr_t)memory + bytes, &walk);
	close(fd);
	return rc;
}
