// SPDX-License-Identifier: Apache-2.0
/* Copies by a program that uses neither io_uring nor peer-to-peer memory. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench_copy.h"
#include "command.h"
#include "progress.h"
#include "uapi/p2pmem.h"

#define PAGE_BYTES	4096

struct plain {
	const struct bench_piece *piece;
	uint8_t *bar;		/* the piece's part of the region */
	uint8_t *dram;		/* one block */
	size_t block_bytes;
	int drive_fd;
};

int bench_complain(const char *what)
{
	int error = errno;

	dprintf(STDERR_FILENO, "%s: %s: %s\n", cli_name, what,
		error ? strerror(error) : "fewer bytes than asked for");
	return error ? -error : -EIO;
}

/* Claims the caller's place in a volatile region. A persistent region's mapping is at its place by itself. */
static int claim(int fd, const struct bench_piece *piece)
{
	struct p2pmem_info info = { .size = sizeof(info) };
	struct p2pmem_claim claim = { .size = sizeof(claim), .region_offset = piece->region_offset,
				      .length = piece->bytes, .file_offset = piece->region_offset };

	if (ioctl(fd, P2PMEM_IOC_INFO, &info))
		return -1;
	return info.flags & P2PMEM_REGION_PERSISTENT ? 0 : ioctl(fd, P2PMEM_IOC_CLAIM, &claim);
}

static int map_bar(struct plain *plain)
{
	const struct bench_piece *piece = plain->piece;
	char path[64];
	int fd, rc = 0;

	snprintf(path, sizeof(path), "/dev/%s", piece->region);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return bench_complain(path);
	if (claim(fd, piece)) {
		rc = bench_complain(path);
		close(fd);
		return rc;
	}
	plain->bar = mmap(NULL, piece->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  (off_t)piece->region_offset);
	if (plain->bar == MAP_FAILED) {
		plain->bar = NULL;
		rc = bench_complain(path);
	}
	close(fd);
	return rc;
}

static int set_up(struct plain *plain, const struct bench_piece *piece, size_t block_bytes, int flags)
{
	*plain = (struct plain){ .piece = piece, .block_bytes = block_bytes, .drive_fd = -1 };
	plain->drive_fd = open(piece->drive, flags | O_CLOEXEC);
	if (plain->drive_fd < 0)
		return bench_complain(piece->drive);
	if (posix_memalign((void **)&plain->dram, PAGE_BYTES, block_bytes))
		return -ENOMEM;
	memset(plain->dram, 0, block_bytes);
	return map_bar(plain);
}

static void tear_down(struct plain *plain)
{
	if (plain->bar)
		munmap(plain->bar, plain->piece->bytes);
	if (plain->drive_fd >= 0)
		close(plain->drive_fd);
	free(plain->dram);
}

static int one_block(const struct plain *plain, uint64_t at, size_t bytes)
{
	off_t offset = (off_t)(plain->piece->drive_offset + at);
	ssize_t moved;

	errno = 0;
	if (plain->piece->to_region) {
		moved = pread(plain->drive_fd, plain->dram, bytes, offset);
		memcpy(plain->bar + at, plain->dram, bytes);
	} else {
		memcpy(plain->dram, plain->bar + at, bytes);
		moved = pwrite(plain->drive_fd, plain->dram, bytes, offset);
	}
	return moved == (ssize_t)bytes ? 0 : bench_complain(plain->piece->drive);
}

static int every_block(const struct plain *plain)
{
	uint64_t left;
	int rc = 0;

	for (uint64_t at = 0; !rc && at < plain->piece->bytes; at += plain->block_bytes) {
		left = plain->piece->bytes - at;
		rc = one_block(plain, at, left < plain->block_bytes ? left : plain->block_bytes);
	}
	return rc;
}

static void report(double seconds)
{
	dprintf(STDOUT_FILENO, "{\"seconds\":%.9f}\n", seconds);
}

int bench_plain_copy(const void *argument)
{
	const struct bench_piece *piece = argument;
	struct plain plain;
	int rc = set_up(&plain, piece, piece->block_bytes,
			(piece->to_region ? O_RDONLY : O_WRONLY) | O_DIRECT);
	double started = cli_now_seconds();

	if (!rc)
		rc = every_block(&plain);
	if (!rc && !piece->to_region && fsync(plain.drive_fd))
		rc = bench_complain(piece->drive);
	if (!rc)
		report(cli_now_seconds() - started);
	tear_down(&plain);
	return rc ? EXIT_FAILED : EXIT_DONE;
}

int bench_plain_sink(const void *argument)
{
	const struct bench_piece *piece = argument;
	struct plain plain = { .piece = piece, .drive_fd = -1 };
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	double started;
	ssize_t got = 1;

	if (map_bar(&plain))
		return EXIT_FAILED;
	/*
	 * The clock starts at the first data, since the writer's program is still being loaded before that. Its first read is
	 * left out, too.
	 */
	poll(&input, 1, -1);
	started = cli_now_seconds();
	for (uint64_t at = 0; at < piece->bytes && got > 0; at += (uint64_t)got)
		got = read(STDIN_FILENO, plain.bar + at, piece->bytes - at);
	if (got > 0)
		report(cli_now_seconds() - started);
	tear_down(&plain);
	return got > 0 ? EXIT_DONE : EXIT_FAILED;
}
