// SPDX-License-Identifier: Apache-2.0
/* Compares the destination with the source after a copy.  The region may be removed meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_copy.h"
#include "donard/memory.h"
#include "terms.h"

#define PAGE_BYTES	4096
#define CHUNK_BYTES	(1U << 20)

struct ends {
	struct donard_context *ctx;
	const struct bench_piece *piece;
	struct donard_memory *memory;	/* the piece's part of the region */
	int drive_fd;
	uint8_t *of_drive, *of_region;	/* one chunk each */
};

static int complain_of_region(const struct ends *ends, int rc)
{
	char text[CLI_ERROR_BYTES];

	if (rc)
		fprintf(stderr, "%s: %s\n", cli_name, cli_in_options(donard_error(ends->ctx), text, sizeof(text)));
	return rc;
}

/* Opens the drive and the piece's part of the region, and allocates buffers for the comparison. */
static int set_up(struct ends *ends, struct donard_context *ctx, const struct bench_piece *piece, int flags)
{
	*ends = (struct ends){ .ctx = ctx, .piece = piece, .drive_fd = open(piece->drive, flags | O_DIRECT | O_CLOEXEC) };
	if (ends->drive_fd < 0)
		return bench_complain(ends->piece->drive);
	errno = posix_memalign((void **)&ends->of_drive, PAGE_BYTES, CHUNK_BYTES) ? :
		posix_memalign((void **)&ends->of_region, PAGE_BYTES, CHUNK_BYTES);
	if (errno)
		return bench_complain("the comparison");
	return complain_of_region(ends, donard_memory_claim(ctx, piece->region, piece->region_offset, piece->bytes,
							    &ends->memory));
}

static void tear_down(struct ends *ends)
{
	donard_memory_free(ends->memory);
	if (ends->drive_fd >= 0)
		close(ends->drive_fd);
	free(ends->of_drive);
	free(ends->of_region);
}

static int each_chunk(const struct ends *ends, int (*step)(const struct ends *ends, uint64_t at, size_t bytes))
{
	uint64_t left = ends->piece->bytes;
	int rc = 0;

	for (uint64_t at = 0; !rc && left; at += CHUNK_BYTES) {
		size_t bytes = left < CHUNK_BYTES ? left : CHUNK_BYTES;

		errno = 0;
		rc = step(ends, at, bytes);
		left -= bytes;
	}
	return rc;
}

static int scrub_chunk(const struct ends *ends, uint64_t at, size_t bytes)
{
	const struct bench_piece *piece = ends->piece;

	if (piece->to_region)
		return complain_of_region(ends, donard_memory_write(ends->memory, at, ends->of_drive, bytes));
	return pwrite(ends->drive_fd, ends->of_drive, bytes, (off_t)(piece->drive_offset + at)) == (ssize_t)bytes ?
	       0 : bench_complain(ends->piece->drive);
}

int bench_scrub(struct donard_context *ctx, const struct bench_piece *piece, uint8_t byte)
{
	struct ends ends;
	int rc = set_up(&ends, ctx, piece, piece->to_region ? O_RDONLY : O_WRONLY);

	if (!rc) {
		memset(ends.of_drive, byte, CHUNK_BYTES);
		rc = each_chunk(&ends, scrub_chunk);
	}
	tear_down(&ends);
	return rc;
}

#define DIFFERENT	1

static int compare_chunk(const struct ends *ends, uint64_t at, size_t bytes)
{
	int rc;

	if (pread(ends->drive_fd, ends->of_drive, bytes, (off_t)(ends->piece->drive_offset + at)) != (ssize_t)bytes)
		return bench_complain(ends->piece->drive);
	rc = donard_memory_read(ends->memory, at, ends->of_region, bytes);
	if (rc)
		return complain_of_region(ends, rc);
	return memcmp(ends->of_region, ends->of_drive, bytes) ? DIFFERENT : 0;
}

int bench_compare(struct donard_context *ctx, const struct bench_piece *piece)
{
	struct ends ends;
	int rc = set_up(&ends, ctx, piece, O_RDONLY);

	if (!rc)
		rc = each_chunk(&ends, compare_chunk);
	tear_down(&ends);
	return rc < 0 ? rc : rc != DIFFERENT;
}
