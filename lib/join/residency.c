// SPDX-License-Identifier: Apache-2.0
/*
 * See residency.h.  Uses cachestat() if the kernel has it (6.5), else mincore()
 * on a mapping.  It does not use preadv2(RWF_NOWAIT): a read that finds nothing
 * starts readahead, and so changes what it asks about.
 *
 * To a caller without the right to know, mincore() reports every page as cached.  So
 * callers believe that a page is cached only if they have seen it absent before.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "join/residency.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

#define PIECE_BYTES	(2ULL << 20)
#define PIECES_MAX	4096ULL
#define MAPPED_BYTES	(64ULL << 20)	/* mapped at a time */
/* The largest folio of the page cache; the kernel drops a folio only as a whole. */
#define FOLIO_BYTES	(2ULL << 20)

/* struct cachestat_range and struct cachestat of Linux 6.5 (linux/mman.h). */
struct cache_range {
	uint64_t offset, length;
};

struct cache_counts {
	uint64_t cached, dirty, under_writeback, evicted, recently_evicted;
};

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static int64_t count_by_cachestat(int fd, uint64_t start, uint64_t bytes)
{
	struct cache_range range = { start, bytes };
	struct cache_counts counts = { 0 };

	if (syscall(SYS_cachestat, fd, &range, &counts, 0))
		return -errno;
	return (int64_t)counts.cached;
}

static int64_t count_mapped(void *map, uint64_t bytes)
{
	uint64_t pages = bytes / page_bytes();
	unsigned char *there = malloc(pages);
	int64_t count = 0;

	if (!there)
		return -ENOMEM;
	if (mincore(map, bytes, there))
		count = -errno;
	for (uint64_t i = 0; count >= 0 && i < pages; i++)
		count += there[i] & 1;
	free(there);
	return count;
}

static int64_t count_by_mincore(int fd, uint64_t start, uint64_t bytes)
{
	int64_t total = 0, count;
	uint64_t part;
	void *map;

	for (uint64_t at = 0; at < bytes; at += part) {
		part = dnd_min(MAPPED_BYTES, bytes - at);
		map = mmap(NULL, part, PROT_READ, MAP_SHARED, fd, (off_t)(start + at));
		if (map == MAP_FAILED)
			return -errno;
		count = count_mapped(map, part);
		munmap(map, part);
		if (count < 0)
			return count;
		total += count;
	}
	return total;
}

int64_t dnd_residency_pages(int fd, uint64_t start, uint64_t bytes)
{
	uint64_t first = dnd_round_down(start, page_bytes());
	uint64_t whole = dnd_round_up(start + bytes, page_bytes()) - first;
	int64_t count = count_by_cachestat(fd, first, whole);

	return count == -ENOSYS ? count_by_mincore(fd, first, whole) : count;
}

void dnd_residency_drop(int fd, uint64_t start, uint64_t bytes)
{
	const unsigned int flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				   SYNC_FILE_RANGE_WAIT_AFTER;
	uint64_t first = dnd_round_down(start, FOLIO_BYTES);
	uint64_t whole = dnd_round_up(start + bytes, FOLIO_BYTES) - first;

	if (!sync_file_range(fd, (off_t)first, (off_t)whole, flags))
		posix_fadvise(fd, (off_t)first, (off_t)whole, POSIX_FADV_DONTNEED);
}

static uint64_t piece_bytes_of(const struct dnd_residency *range, size_t piece)
{
	return dnd_min(range->piece_bytes, range->bytes - piece * range->piece_bytes);
}

static int64_t pages_of_piece(int fd, const struct dnd_residency *range, size_t piece)
{
	return dnd_residency_pages(fd, range->start + piece * range->piece_bytes,
				   piece_bytes_of(range, piece));
}

int dnd_residency_none(uint64_t start, uint64_t bytes, struct dnd_residency *before)
{
	before->start = start;
	before->bytes = bytes;
	before->piece_bytes = dnd_max(PIECE_BYTES, dnd_round_up(bytes / PIECES_MAX, PIECE_BYTES));
	before->pieces = (size_t)((bytes + before->piece_bytes - 1) / before->piece_bytes);
	before->pages = calloc(before->pieces + 1, sizeof(*before->pages));
	return before->pages ? 0 : -ENOMEM;
}

int dnd_residency_take(int fd, uint64_t start, uint64_t bytes, struct dnd_residency *before)
{
	int rc = dnd_residency_none(start, bytes, before);
	int64_t count;

	if (rc)
		return rc;
	for (size_t i = 0; i < before->pieces; i++) {
		count = pages_of_piece(fd, before, i);
		if (count < 0) {
			dnd_residency_free(before);
			return (int)count;
		}
		before->pages[i] = (uint32_t)count;
	}
	return 0;
}

int64_t dnd_residency_grown(int fd, const struct dnd_residency *before)
{
	int64_t grown = 0, count;

	for (size_t i = 0; i < before->pieces; i++) {
		count = pages_of_piece(fd, before, i);
		if (count < 0)
			return count;
		if (count > before->pages[i])
			grown += count - before->pages[i];
	}
	return grown * (int64_t)page_bytes();
}

void dnd_residency_free(struct dnd_residency *before)
{
	free(before->pages);
	before->pages = NULL;
}
