// SPDX-License-Identifier: Apache-2.0
/* LIBS: -ldonard */
/*
 * memory TEST [BDF] - one test of the library's memory of regions; memory --list names them.
 * Needs root, p2pmem0 (volatile) and p2pmem2 (persistent), both idle.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/socket.h>

#include "library.h"

static const char *client_bdf;

static struct donard_memory *claimed(const char *region, uint64_t offset, uint64_t length)
{
	struct donard_memory *memory;

	GOES(donard_memory_claim(ctx, region, offset, length, &memory));
	return memory;
}

static void fresh(void)
{
	uint64_t before = available();
	struct donard_memory *memory, *other;
	struct donard_memory_info info;
	char seen[8] = "";

	GOES(donard_memory_alloc(ctx, "p2pmem0", 100000, &memory));
	info = about(memory);
	EQUAL(DONARD_MEMORY_REGION, info.kind);
	EQUAL(100000, info.length_bytes);
	EQUAL(4096, info.align_bytes);
	CHECK(!strcmp(info.region, "p2pmem0") && strlen(info.bdf) == 12 && !*info.unmapped);
	CHECK(info.fd >= 0 && !info.persistent);
	CHECK(info.region_offset_bytes + 100000 <= 64 * MIB * 8);
	CHECK(info.contiguous_bytes && info.contiguous_bytes <= 100000);
	EQUAL(before - 102400, available());
	CHECK(zero(info.address, 102400 - 4096));
	GOES(donard_memory_write(memory, 99993, "at end", 7));
	CHECK(!memcmp((char *)info.address + 99993, "at end", 7));
	GOES(donard_memory_read(memory, 99993, seen, 7));
	CHECK(!strcmp(seen, "at end"));
	REFUSES(ENXIO, "past-end", donard_memory_read(memory, 99994, seen, 7));
	GOES(donard_memory_zero(memory, 0, 100000));
	GOES(donard_memory_read(memory, 99993, seen, 7));
	CHECK(!*seen);
	GOES(donard_memory_alloc(ctx, "p2pmem0", 4096, &other));
	CHECK(about(other).address != info.address && about(other).fd != info.fd);
	donard_memory_free(other);
	donard_memory_free(memory);
	EQUAL(before, available());
}

static void refused(void)
{
	struct donard_memory *memory = NULL, *holder = claimed("p2pmem0", 8192, 4096);
	int reader = open("/dev/p2pmem0", O_RDONLY);

	REFUSES(EBUSY, "busy", donard_memory_claim(ctx, "p2pmem0", 0, 12288, &memory));
	CHECK(strstr(donard_error(ctx), "bytes 0 to 12288 have another owner"));
	REFUSES(ENOSPC, "no-space", donard_memory_alloc(ctx, "p2pmem0", 1ULL << 40, &memory));
	REFUSES(EOPNOTSUPP, "unsupported", donard_memory_alloc(ctx, "p2pmem2", 4096, &memory));
	REFUSES(EINVAL, "bad-option", donard_memory_alloc(ctx, "p2pmem0", 0, &memory));
	REFUSES(ENODEV, "no-such-region", donard_memory_alloc(ctx, "p2pmem77", 4096, &memory));
	REFUSES(EINVAL, "bad-name", donard_memory_claim(ctx, "/etc/passwd", 0, 1, &memory));
	REFUSES(ENXIO, "past-end", donard_memory_claim(ctx, "p2pmem0", 1ULL << 40, 1, &memory));
	REFUSES(ENXIO, "past-end", donard_memory_claim(ctx, "p2pmem0", 4096, UINT64_MAX, &memory));
	REFUSES(ENXIO, "past-end", donard_memory_adopt(ctx, about(holder).fd, 1 << 20, 1, &memory));
	REFUSES(ENXIO, "past-end",
		donard_memory_adopt(ctx, about(holder).fd, UINT64_MAX - 1, 4096, &memory));
	CHECK(strstr(donard_error(ctx), "more than a file has"));
	REFUSES(EACCES, "permission", donard_memory_adopt(ctx, reader, 0, 4096, &memory));
	CHECK(strstr(donard_error(ctx), "not open for reading and writing"));
	CHECK(!memory);
	REFUSES(EFAULT, "system", donard_memory_write(holder, 0, NULL, 1));
	CHECK(strstr(donard_error(ctx), "the program's own buffer"));
	donard_memory_free(holder);
	close(reader);
}

static void at_its_place(void)
{
	struct donard_memory *memory = claimed("p2pmem0", MIB + 100, 5000);
	struct donard_memory_info info = about(memory);
	char seen[6] = "";

	EQUAL(MIB + 100, info.region_offset_bytes);
	EQUAL(5000, info.contiguous_bytes);
	EQUAL(100, (uintptr_t)info.address % 4096);
	GOES(donard_memory_write(memory, 0, "bytes", 5));
	donard_memory_free(memory);
	memory = claimed("p2pmem0", MIB + 102, 3);
	GOES(donard_memory_read(memory, 0, seen, 3));
	CHECK(!strcmp(seen, "tes"));
	donard_memory_free(memory);
	memory = claimed("p2pmem0", 0, 0);
	EQUAL(about(memory).length_bytes, about(memory).contiguous_bytes);
	donard_memory_free(memory);
}

static void persistent(void)
{
	struct donard_memory *memory = claimed("p2pmem2", 3 * MIB + 5, 10);
	char seen[10];

	CHECK(about(memory).persistent);
	EQUAL(3 * MIB + 5, about(memory).file_offset_bytes);
	GOES(donard_memory_write(memory, 0, "0123456789", 10));
	GOES(donard_memory_sync(memory, DONARD_SYNC_DURABLE));
	GOES(donard_memory_sync(memory, 0));
	donard_memory_free(memory);
	memory = claimed("p2pmem2", 3 * MIB + 5, 10);
	GOES(donard_memory_read(memory, 0, seen, 10));
	CHECK(!memcmp(seen, "0123456789", 10));
	donard_memory_free(memory);
	memory = claimed("p2pmem0", 0, 10);
	REFUSES(EOPNOTSUPP, "unsupported", donard_memory_sync(memory, DONARD_SYNC_DURABLE));
	GOES(donard_memory_sync(memory, 0));
	donard_memory_free(memory);
}

/* --- another process has it by its descriptor --- */

static void send_descriptor(int channel, int fd)
{
	char space[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 1;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space),
	};
	struct cmsghdr *control = CMSG_FIRSTHDR(&message);

	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(control), &fd, sizeof(fd));
	EQUAL(1, sendmsg(channel, &message, 0));
}

static int receive_descriptor(int channel)
{
	char space[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space),
	};
	int fd;

	EQUAL(1, recvmsg(channel, &message, 0));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

/* Reports what it read, and writes an answer; goes on after the sender has closed its descriptors. */
static void adopter(int channel)
{
	struct donard_memory *memory;
	char seen[8] = "", byte;
	int fd;

	GOES(donard_open(&ctx, NULL));
	fd = receive_descriptor(channel);
	GOES(donard_memory_adopt(ctx, fd, 100, 5000, &memory));
	close(fd);
	GOES(donard_memory_read(memory, 0, seen, 6));
	CHECK(!strcmp(seen, "hello"));
	GOES(donard_memory_write(memory, 10, "there", 6));
	EQUAL(1, write(channel, "x", 1));
	EQUAL(1, read(channel, &byte, 1));	/* the sender has freed it */
	GOES(donard_memory_read(memory, 10, seen, 6));
	CHECK(!strcmp(seen, "there"));
	EQUAL(64 * MIB * 8 - 8192, available());
	exit(0);
}

static void adopted(void)
{
	struct donard_memory *memory;
	int channel[2], status;
	char seen[8], byte;
	pid_t child;

	WORKS(socketpair(AF_UNIX, SOCK_STREAM, 0, channel));
	child = fork();
	if (!child)
		adopter(channel[1]);
	GOES(donard_memory_alloc(ctx, "p2pmem0", 8192, &memory));
	GOES(donard_memory_write(memory, 100, "hello", 6));
	send_descriptor(channel[0], about(memory).fd);
	EQUAL(1, read(channel[0], &byte, 1));
	GOES(donard_memory_read(memory, 110, seen, 6));
	CHECK(!strcmp(seen, "there"));
	donard_memory_free(memory);
	EQUAL(1, write(channel[0], "x", 1));
	WORKS(waitpid(child, &status, 0));
	EQUAL(0, status);
}

static void after_fork(void)
{
	struct donard_memory *memory = claimed("p2pmem0", 0, 4096);
	char seen[6] = "";
	int status;
	pid_t child = fork();

	if (!child) {
		GOES(donard_memory_write(memory, 0, "child", 6));
		donard_memory_free(memory);
		exit(0);
	}
	WORKS(waitpid(child, &status, 0));
	EQUAL(0, status);
	GOES(donard_memory_read(memory, 0, seen, 6));
	CHECK(!strcmp(seen, "child"));
	donard_memory_free(memory);
}

/* Run by memory.sh, which resets the device when it has read "going": each memory of an open file learns of the reset. */
static void told_of_a_reset(void)
{
	struct donard_memory *memory, *other;
	char byte = 0;

	GOES(donard_memory_alloc(ctx, "p2pmem0", 4096, &memory));
	GOES(donard_memory_adopt(ctx, about(memory).fd, about(memory).file_offset_bytes, 4096, &other));
	GOES(donard_memory_sync(memory, 0));
	GOES(donard_memory_sync(other, 0));
	puts("going");
	fflush(stdout);
	CHECK(getchar() == '\n');
	GOES(donard_memory_write(other, 0, &byte, 1));
	REFUSES(EIO, "device", donard_memory_sync(memory, 0));
	REFUSES(EIO, "device", donard_memory_sync(other, 0));
	GOES(donard_memory_sync(memory, 0));
	GOES(donard_memory_sync(other, 0));
	donard_memory_free(other);
	donard_memory_free(memory);
}

/* --- for others --- */

static void exports(void)
{
	struct donard_memory *memory = claimed("p2pmem0", MIB, 65536), *dram;
	uint64_t *map;
	int fd = -1;

	GOES(donard_memory_write(memory, 4096, "shared", 7));
	GOES(donard_memory_export(memory, 4096, 0, O_RDWR, &fd));
	map = map_at(fd, 61440, 0);
	CHECK(map != MAP_FAILED && !strcmp((char *)map, "shared"));
	munmap(map, 61440);
	close(fd);
	REFUSES(EINVAL, "alignment", donard_memory_export(memory, 1, 4096, O_RDWR, &fd));
	REFUSES(EINVAL, "alignment", donard_memory_export(memory, 0, 1, O_RDWR, &fd));
	REFUSES(ENXIO, "past-end", donard_memory_export(memory, 65536, 4096, O_RDWR, &fd));
	REFUSES(ENXIO, "past-end", donard_memory_export(memory, 65536, 0, O_RDWR, &fd));
	REFUSES(EINVAL, "bad-option", donard_memory_export(memory, 0, 4096, O_WRONLY, &fd));
	GOES(donard_memory_dram(ctx, 4096, &dram));
	REFUSES(EOPNOTSUPP, "unsupported", donard_memory_export(dram, 0, 4096, O_RDWR, &fd));
	donard_memory_free(dram);
	donard_memory_free(memory);
}

static void route(void)
{
	struct donard_memory *memory = claimed("p2pmem0", 0, 4096);
	struct donard_route found = { .size = sizeof(found) };

	GOES(donard_memory_route(memory, client_bdf, &found));
	EQUAL(DONARD_ROUTE_SWITCH, found.route);
	REFUSES(ENODEV, "no-such-device", donard_memory_route(memory, "0000:7f:00.0", &found));
	donard_memory_free(memory);
}

/* For memory.sh: says "ready"; then what came, and that no call of the library is killed by it. */
static void until_the_end(void)
{
	struct donard_memory *memory = claimed("p2pmem0", 0, MIB);
	struct pollfd pollfd = { .fd = about(memory).fd, .events = POLLPRI };
	enum donard_region_state state;
	struct sigaction bus_error;
	char byte;

	EQUAL(DONARD_STATE_READY, donard_memory_state(memory));
	EQUAL(0, poll(&pollfd, 1, 0));
	puts("ready");
	fflush(stdout);
	EQUAL(1, poll(&pollfd, 1, -1));
	state = donard_memory_state(memory);
	CHECK(state == DONARD_STATE_DRAINING || state == DONARD_STATE_GONE);
	REFUSES(ENODEV, "region-gone", donard_memory_read(memory, 0, &byte, 1));
	REFUSES(ENODEV, "region-gone", donard_memory_write(memory, 0, &byte, 1));
	REFUSES(ENODEV, "region-gone", donard_memory_sync(memory, 0));
	while (donard_memory_state(memory) != DONARD_STATE_GONE)
		usleep(10000);
	donard_memory_free(memory);
	CHECK(!sigaction(SIGBUS, NULL, &bus_error) && bus_error.sa_handler == SIG_DFL);
	puts("ended");
}

static const struct named_test tests[] = {
	{ "fresh", fresh },
	{ "refused", refused },
	{ "at-its-place", at_its_place },
	{ "persistent", persistent },
	{ "adopted", adopted },
	{ "after-fork", after_fork },
	{ "told-of-a-reset", told_of_a_reset },
	{ "exports", exports },
	{ "route", route },
	{ "until-the-end", until_the_end },
};

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: memory TEST [BDF], or memory --list");
	GOES(donard_open(&ctx, NULL));
	client_bdf = argc > 2 ? argv[2] : NULL;
	RUN_NAMED(tests, argv[1]);
	donard_close(ctx);
	return 0;
}
