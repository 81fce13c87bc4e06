/* SPDX-License-Identifier: Apache-2.0 */
/* bench copy: one point of measurement, and the methods that are compared at it. */
#ifndef BENCH_COPY_H
#define BENCH_COPY_H

#include <limits.h>

#include "bench.h"
#include "process.h"

#define BENCH_THREADS_MAX	16

/* The bytes that one thread of one run moves. */
struct bench_piece {
	const char *drive;	/* block device */
	const char *region;	/* "p2pmem0", or "gpu:0" */
	uint64_t drive_offset, region_offset;
	uint64_t bytes;
	uint64_t block_bytes;
	uint32_t queue_depth;
	bool to_region;
	bool checks;		/* with a GPU: the process compares its bytes itself, since their memory ends with it */
};

/* The jobs' command lines, which must outlive prepare() until the jobs have ended. */
#define BENCH_ARGUMENTS_MAX	24
#define BENCH_TEXT_BYTES	(PATH_MAX + 1536)
struct bench_command {
	struct cli_job jobs[2];
	const char *argv[BENCH_ARGUMENTS_MAX];
	char text[BENCH_TEXT_BYTES];
	size_t argument_count, text_used;
};

#define BENCH_BACK	(1U << 0)	/* also from the region to a drive */
#define BENCH_KEEPS	(1U << 1)	/* all bytes are at the destination afterwards, so that they can be compared */
#define BENCH_REGION	(1U << 2)	/* moves to and from a region */
#define BENCH_GPU	(1U << 3)	/* moves to and from memory of a GPU */
#define BENCH_SINGLE	(1U << 4)	/* has one request in flight at a time: left out at any other depth */
#define BENCH_REGISTERS	(1U << 5)	/* registers the memory with the kernel: left out if the kernel refuses that */
#define BENCH_AT_START	(1U << 6)	/* maps from file offset 0, whatever region_offset says */

struct bench_method {
	const char *name;
	const char *summary;
	unsigned int traits;	/* BENCH_BACK... */
	/*
	 * Fills in jobs (one, or two joined by a pipe) and returns how many; -errno with a text otherwise.
	 * @output is where the tool's own report goes.
	 */
	int (*prepare)(const struct bench_piece *piece, int output_fd, struct bench_command *command);
	/* Returns the time that the tool's own report gives for moving the bytes; negative if it gives none. */
	double (*seconds)(const char *report);
};

extern const struct bench_method bench_methods[];	/* ends with a NULL name */
const struct bench_method *bench_find_method(const char *name);
/* Says why that many threads cannot use one region at the same time; NULL if they can. */
const char *bench_why_not(const struct bench_method *method, uint64_t threads, bool region_is_persistent);
/* Does donard's report say that the kernel refused io_uring? */
bool bench_went_by_aio(const char *report);
/* Does a queue's report say that the kernel did not register its memory, or was not asked to? */
bool bench_was_unregistered(const char *report);

/* plain.c: says on stderr what failed, by errno, or that fewer bytes moved if that is 0; returns -errno, or -EIO */
int bench_complain(const char *what);
/* copies by programs that know nothing of peer-to-peer memory; their report goes to stdout */
int bench_plain_copy(const void *piece);	/* O_DIRECT read into DRAM, memcpy into the BAR; or back */
int bench_plain_sink(const void *piece);	/* read(2) from stdin into the BAR */
/* queue.c: the library's queue between the drive and depth * block bytes of the region */
int bench_queue(const void *piece);
int bench_queue_registered(const void *piece);
/* cufile.c: memory of a GPU by calls that are not donard's */
int bench_cufile(const void *piece);
int bench_cufile_compat(const void *piece);	/* through DRAM, as cuFile does it */
int bench_gpu_memcpy(const void *piece);	/* O_DIRECT read into DRAM, cuMemcpyHtoD; or back */
/* check.c: before and after a copy. A line on stderr says what failed. */
/* Fills the destination with @byte, so that what is found there afterwards was moved. */
int bench_scrub(struct donard_context *ctx, const struct bench_piece *piece, uint8_t byte);
/* 1 equal, 0 not, -errno. */
int bench_compare(struct donard_context *ctx, const struct bench_piece *piece);

#endif /* BENCH_COPY_H */
