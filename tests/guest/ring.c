// SPDX-License-Identifier: Apache-2.0
/*
 * ring TEST DRIVE - memory of p2pmem0 as a fixed buffer of a ring (P2PMEM_URING_BUFFER). DRIVE is read only.
 *
 * LIBS: -luring
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <uapi/p2pmem.h>

#define PAGE 4096UL
#define MIB (1UL << 20)
#define BUFFERS 2

static struct io_uring ring;
static const char *drive;

static int open_file(const char *path, int flags)
{
	int fd = open(path, flags);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static int run(void)
{
	struct io_uring_cqe *cqe;
	int result;

	if (io_uring_submit_and_wait(&ring, 1) != 1 || io_uring_peek_cqe(&ring, &cqe))
		errx(1, "no completion");
	result = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	return result;
}

static int command(int fd, unsigned int number, uint64_t offset, uint64_t bytes, uint32_t index)
{
	struct p2pmem_uring_buffer buffer = {
		.file_offset = offset, .granules = (uint32_t)(bytes / PAGE), .index = index
	};
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = number;
	memcpy(sqe->cmd, &buffer, sizeof(buffer));
	return run();
}

static int give(int fd, uint64_t offset, uint64_t bytes, uint32_t index)
{
	return command(fd, P2PMEM_URING_BUFFER, offset, bytes, index);
}

/* Reads from the drive's offset @from to the place @at of the buffer. */
static int read_into(int fd, uint64_t at, unsigned int bytes, uint64_t from, int index)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	io_uring_prep_read_fixed(sqe, fd, (void *)(uintptr_t)at, bytes, from, index);
	return run();
}

static void is(const char *what, int seen, int expected)
{
	if (seen != expected)
		errx(1, "%s: expected %d (%s), seen %d (%s)", what, expected, strerror(-expected), seen,
		     strerror(seen < 0 ? -seen : 0));
}

/* The drive's bytes from @from on are where a mapping of the region's file shows them. */
static void same(int region, uint64_t offset, int fd, uint64_t from, size_t bytes)
{
	char *seen = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, region, (off_t)offset);
	char *expected = aligned_alloc(PAGE, bytes);

	if (seen == MAP_FAILED || !expected || pread(fd, expected, bytes, (off_t)from) != (ssize_t)bytes)
		err(1, "comparing");
	if (memcmp(seen, expected, bytes))
		errx(1, "%zu bytes at %lu of the file are not the drive's", bytes, (unsigned long)offset);
	munmap(seen, bytes);
	free(expected);
}

/* Two buffers, of pieces that lie apart in the region. */
static void data_arrive(void)
{
	int other = open_file("/dev/p2pmem0", O_RDWR), region = open_file("/dev/p2pmem0", O_RDWR);
	int fd = open_file(drive, O_RDONLY | O_DIRECT);

	/* Takes every other MiB of the first eight, so that the next range is in pieces. */
	for (uint64_t at = 0; at < 8 * MIB; at += 2 * MIB) {
		struct p2pmem_claim claim = {
			.size = sizeof(claim), .region_offset = at, .length = MIB, .file_offset = at
		};

		if (ioctl(other, P2PMEM_IOC_CLAIM, &claim))
			err(1, "claim");
	}
	for (uint64_t at = 0; at < 4 * MIB; at += MIB) {
		struct p2pmem_claim claim = {
			.size = sizeof(claim), .region_offset = 2 * at + MIB, .length = MIB, .file_offset = at
		};

		if (ioctl(region, P2PMEM_IOC_CLAIM, &claim))
			err(1, "claim");
	}
	is("buffer in pieces", give(region, 0, 4 * MIB, 0), 0);
	is("buffer elsewhere", give(region, 64 * MIB, 3 * MIB, 1), 0);
	is("read over all pieces", read_into(fd, 0, 4 * MIB, 0, 0), 4 * MIB);
	is("read across two pieces", read_into(fd, MIB - 512, 4096, 8 * MIB, 0), 4096);
	is("read elsewhere", read_into(fd, MIB, 2 * MIB, 5 * MIB, 1), 2 * MIB);
	same(region, 0, fd, 0, MIB - PAGE);
	same(region, 65 * MIB, fd, 5 * MIB, 2 * MIB);
	same(region, MIB + PAGE, fd, MIB + PAGE, 3 * MIB - PAGE);
	is("read past the end", read_into(fd, 3 * MIB, PAGE, 0, 1), -EFAULT);
}

/* Nobody sees what another user left: the buffer is of zeros before anything is read into it. */
static void nothing_else_shows(void)
{
	int region = open_file("/dev/p2pmem0", O_RDWR);
	const char *seen;

	is("buffer", give(region, 0, 2 * MIB, 0), 0);
	seen = mmap(NULL, 2 * MIB, PROT_READ, MAP_SHARED, region, 0);
	if (seen == MAP_FAILED)
		err(1, "mmap");
	for (size_t i = 0; i < 2 * MIB; i++)
		if (seen[i])
			errx(1, "another user's bytes: byte %zu is not zero", i);
}

static void bad_input_is_refused(void)
{
	int region = open_file("/dev/p2pmem0", O_RDWR), fd = open_file(drive, O_RDONLY | O_DIRECT);
	int read_only = open_file("/dev/p2pmem0", O_RDONLY);

	is("no granules", give(region, 0, 0, 0), -EINVAL);
	is("offset amid a granule", give(region, 512, MIB, 0), -EINVAL);
	is("4 GiB", give(region, 0, 4096 * MIB, 0), -EINVAL);
	is("past the largest offset", give(region, INT64_MAX - PAGE + 1, MIB, 0), -EINVAL);
	is("more than there is", give(region, 0, 1024 * MIB, 0), -ENOSPC);
	is("no such place in the table", give(region, 0, MIB, BUFFERS), -EINVAL);
	is("another command", command(region, P2PMEM_URING_BUFFER + 1, 0, MIB, 0), -ENOTTY);
	is("a good one", give(region, 0, MIB, 0), 0);
	is("a place that is taken", give(region, 0, MIB, 0), -EBUSY);
	is("a file for reading", give(read_only, 0, MIB, 1), 0);
	is("reading into it", read_into(fd, 0, PAGE, 0, 1), -EFAULT);
}

static void none_of_p2pdma(void)
{
	is("P2PDMA pages", give(open_file("/dev/p2pmem0", O_RDWR), 0, MIB, 0), -EOPNOTSUPP);
}

static void none_at_all(void)
{
	is("on this kernel", give(open_file("/dev/p2pmem0", O_RDWR), 0, MIB, 0), -EOPNOTSUPP);
}

static const struct { const char *name; void (*run)(void); } tests[] = {
	{ "data", data_arrive },
	{ "zeros", nothing_else_shows },
	{ "bad-input", bad_input_is_refused },
	{ "p2pdma", none_of_p2pdma },
	{ "none", none_at_all },
};

int main(int argc, char **argv)
{
	if (argc != 3)
		errx(2, "usage: ring TEST DRIVE");
	drive = argv[2];
	if (io_uring_queue_init(4, &ring, 0) || io_uring_register_buffers_sparse(&ring, BUFFERS))
		errx(1, "no ring");
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (strcmp(tests[i].name, argv[1]))
			continue;
		tests[i].run();
		return 0;
	}
	errx(2, "no test '%s'", argv[1]);
}
