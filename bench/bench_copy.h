/* SPDX-License-Identifier: Apache-2.0 */
/* bench copy: one point of measurement, and the methods that are compared at it. */
#ifndef BENCH_COPY_H
#define BENCH_COPY_H

#include <limits.h>

#include "bench.h"
#include "process.h"

#define BENCH_THREADS_MAX	16

/* What one thread of one run is to move. */
struct bench_piece {
	const char *drive;	/* block device */
	const char *region;	/* "p2pmem0" */
	uint64_t drive_offset, region_offset;
	uint64_t bytes;
	uint64_t block_bytes;
	uint32_t queue_depth;
	bool to_region;
};

/* What prepare() needs to live until the jobs have ended. */
#define BENCH_ARGUMENTS_MAX	24
#define BENCH_TEXT_BYTES	(PATH_MAX + 1536)
struct bench_command {
	struct cli_job jobs[2];
	const char *argv[BENCH_ARGUMENTS_MAX];
	char text[BENCH_TEXT_BYTES];
	size_t argument_count, text_used;
};

struct bench_method {
	const char *name;
	const char *summary;
	bool from_region_too;
	bool keeps_data;	/* all of it ends at the destination, so that it can be compared */
	/*
	 * Fills in jobs (one, or two joined by a pipe) and returns how many; -errno with a text otherwise.
	 * @output is where the tool's own report goes.
	 */
	int (*prepare)(const struct bench_piece *piece, int output_fd, struct bench_command *command);
	/* The tool's own idea of the time that the moving took, from its report; negative if there is none. */
	double (*seconds)(const char *report);
};

extern const struct bench_method bench_methods[];	/* ends with a NULL name */
const struct bench_method *bench_find_method(const char *name);

/* plain.c: what people write who do not know peer-to-peer memory; the report goes to stdout */
int bench_plain_copy(const void *piece);	/* O_DIRECT read into DRAM, memcpy into the BAR; or back */
int bench_plain_sink(const void *piece);	/* read(2) from stdin into the BAR */
/* Fills the destination with @byte, so that what is found there afterwards was moved. */
int bench_scrub(const struct bench_piece *piece, uint8_t byte);
/* 1 equal, 0 not, -errno. */
int bench_compare(const struct bench_piece *piece);

#endif /* BENCH_COPY_H */
