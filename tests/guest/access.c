// SPDX-License-Identifier: Apache-2.0
/*
 * access TEST - one test of what the CPU does to a region without a mapping: read(), write(),
 * P2PMEM_IOC_COPY, P2PMEM_IOC_LOCATE; access --list names them.
 * Needs root, p2pmem0 (volatile) and p2pmem2 (persistent), both idle.
 */
#define _GNU_SOURCE
#include <sys/uio.h>

#include "uapi.h"

#define SOME 100001		/* bytes: several pages, and no whole number of words */

static uint8_t byte_at(uint64_t i)
{
	return (uint8_t)(i * 7 + i / 251 + 1);
}

static uint8_t *pattern_of(size_t bytes)
{
	uint8_t *pattern = malloc(bytes);

	for (size_t i = 0; i < bytes; i++)
		pattern[i] = byte_at(i);
	return pattern;
}

static bool all_zero(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

static struct p2pmem_copy copy_of(int from, uint64_t to_offset, uint64_t from_offset, uint64_t length)
{
	return (struct p2pmem_copy){
		.size = sizeof(struct p2pmem_copy), .from_fd = from, .to_offset = to_offset,
		.from_offset = from_offset, .length = length,
	};
}

static int copy(int to, int from, uint64_t to_offset, uint64_t from_offset, uint64_t length)
{
	struct p2pmem_copy request = copy_of(from, to_offset, from_offset, length);

	return ioctl(to, P2PMEM_IOC_COPY, &request);
}

/* --- read() and write() --- */

static void read_sees_stores(void)
{
	int fd = open_region(volatile_region);
	uint8_t *map = (uint8_t *)mapped(fd, MIB, 0), seen[SOME], *pattern = pattern_of(SOME);

	for (size_t i = 0; i < SOME; i++)
		((volatile uint8_t *)map)[4093 + i] = pattern[i];
	EQUAL(SOME, pread(fd, seen, SOME, 4093));
	CHECK(!memcmp(seen, pattern, SOME));
	EQUAL(0, lseek(fd, 0, SEEK_CUR));
}

static void loads_see_writes(void)
{
	int fd = open_region(volatile_region);
	uint8_t *map = (uint8_t *)mapped(fd, MIB, 0), *pattern = pattern_of(SOME);

	EQUAL(SOME, pwrite(fd, pattern, SOME, 4093));
	CHECK(all_zero(map, 4093));
	CHECK(!memcmp(map + 4093, pattern, SOME));
	CHECK(all_zero(map + 4093 + SOME, MIB - 4093 - SOME));
	/* One byte, and its neighbours stay. */
	EQUAL(1, pwrite(fd, "x", 1, 5000));
	EQUAL('x', map[5000]);
	EQUAL(pattern[4999 - 4093], map[4999]);
	EQUAL(pattern[5001 - 4093], map[5001]);
}

static void vectors(void)
{
	int fd = open_region(volatile_region);
	char head[3], tail[9];
	struct iovec out[] = { { "abc", 3 }, { "defghijk", 8 } };
	struct iovec in[] = { { head, 3 }, { tail, 8 } };

	EQUAL(11, pwritev(fd, out, 2, 4090));
	EQUAL(11, preadv(fd, in, 2, 4090));
	CHECK(!memcmp(head, "abc", 3) && !memcmp(tail, "defghijk", 8));
	WORKS(lseek(fd, 4090, SEEK_SET));
	EQUAL(3, read(fd, head, 3));
	EQUAL(4093, lseek(fd, 0, SEEK_CUR));
}

static void holes(void)
{
	int fd = open_region(volatile_region);
	uint64_t before = available(), end = info_of(fd).region_bytes;
	uint8_t seen[SOME];

	memset(seen, 1, sizeof(seen));
	EQUAL(SOME, pread(fd, seen, SOME, 12345));
	CHECK(all_zero(seen, SOME));
	EQUAL(before, available());
	EQUAL(0, pread(fd, seen, SOME, (off_t)end));
	EQUAL(0, pread(fd, seen, SOME, 1LL << 40));
	EQUAL(4096, pread(fd, seen, SOME, (off_t)(end - 4096)));
	EQUAL(0, pread(fd, seen, 0, 0));
	/* Behind the end, but owned. */
	EQUAL(3, pwrite(fd, "end", 3, (off_t)(end + PAGE)));
	EQUAL(PAGE, pread(fd, seen, SOME, (off_t)(end + PAGE)));
	CHECK(!memcmp(seen, "end", 3));
	EQUAL(before - PAGE, available());
}

static void full(void)
{
	int fd = open_region(volatile_region), other = open_region(volatile_region);
	uint64_t size = info_of(fd).region_bytes;
	uint8_t *pattern = pattern_of(2 * PAGE);

	mapped(other, size - PAGE, 0);
	FAILS(ENOSPC, pwrite(fd, pattern, 2 * PAGE, 0));
	EQUAL(PAGE, info_of(fd).available_bytes);
	EQUAL(PAGE, pwrite(fd, pattern, PAGE, 0));
	EQUAL(0, info_of(fd).available_bytes);
}

static void modes(void)
{
	int reads = open(volatile_region, O_RDONLY), writes = open(volatile_region, O_WRONLY);
	int both = open_region(volatile_region), null = open("/dev/null", O_RDWR);
	struct p2pmem_copy bad;
	char byte = 1;

	FAILS(EBADF, write(reads, &byte, 1));
	FAILS(EBADF, read(writes, &byte, 1));
	EQUAL(1, pwrite(both, &byte, 1, 0));
	EQUAL(1, pwrite(writes, &byte, 1, 0));
	FAILS(EACCES, copy(reads, both, 0, 0, 1));
	FAILS(EACCES, copy(both, writes, 0, 0, 1));
	FAILS(EINVAL, copy(both, null, 0, 0, 1));
	FAILS(EBADF, copy(both, -1, 0, 0, 1));
	FAILS(EBADF, copy(both, 1000, 0, 0, 1));
	FAILS(EINVAL, copy(both, both, 0, UINT64_MAX - 1, 4));
	FAILS(EINVAL, copy(both, both, UINT64_MAX - 1, 0, 4));
	FAILS(EINVAL, copy(both, both, 0, 0, UINT64_MAX));
	FAILS(ENXIO, copy(both, both, 0, PAGE, 1));
	bad = copy_of(both, 0, 0, 1);
	bad.flags = 1;
	FAILS(EINVAL, ioctl(both, P2PMEM_IOC_COPY, &bad));
	bad = copy_of(both, 0, 0, 1);
	bad.reserved0 = 1;
	FAILS(EINVAL, ioctl(both, P2PMEM_IOC_COPY, &bad));
	WORKS(copy(both, both, 0, 0, 0));
}

static void bad_pointers(void)
{
	int fd = open_region(volatile_region);
	void *volatile nowhere = (void *)8;
	uint8_t *two = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(two + PAGE, PAGE);
	memset(two, 5, PAGE);
	FAILS(EFAULT, pwrite(fd, nowhere, 100, 0));
	FAILS(EFAULT, pread(fd, nowhere, 100, 0));
	/* As much as could be taken. */
	EQUAL(100, pwrite(fd, two + PAGE - 100, 200, 0));
	EQUAL(100, pread(fd, two + PAGE - 100, 200, 0));
	/* Its own mapping is a buffer like any other. */
	EQUAL(100, pwrite(fd, (uint8_t *)mapped(fd, PAGE, 0), 100, 50 * PAGE));
}

/* As user 1001, of which the bytes of user 1000 are none. */
static void reads_zeros(void)
{
	int fd = open_region(volatile_region);
	uint8_t seen[8192];

	WORKS(claim(fd, 0, 2 * PAGE, 0));
	EQUAL(sizeof(seen), pread(fd, seen, sizeof(seen), 0));
	CHECK(all_zero(seen, sizeof(seen)));
	/* What a write leaves of its page is not to be seen either. */
	WORKS(claim(fd, 2 * PAGE, PAGE, 2 * PAGE));
	EQUAL(1, pwrite(fd, "x", 1, 2 * PAGE + 100));
	EQUAL(PAGE, pread(fd, seen, PAGE, 2 * PAGE));
	EQUAL('x', seen[100]);
	seen[100] = 0;
	CHECK(all_zero(seen, PAGE));
}

static void leaves_bytes(void)
{
	int fd = open_region(volatile_region);
	uint8_t *pattern = pattern_of(3 * PAGE);

	WORKS(claim(fd, 0, 3 * PAGE, 0));
	EQUAL(3 * PAGE, pwrite(fd, pattern, 3 * PAGE, 0));
}

static void other_user_reads_zeros(void)
{
	as_user(1000, leaves_bytes);
	as_user(1001, reads_zeros);
}

static void persistent(void)
{
	int fd = open_region(persistent_region), other = open_region(persistent_region);
	uint64_t end = info_of(fd).region_bytes;
	uint8_t *pattern = pattern_of(SOME), seen[SOME];

	EQUAL(SOME, pwrite(fd, pattern, SOME, MIB + 3));
	FAILS(EBUSY, pread(other, seen, 1, MIB + 3));
	FAILS(EBUSY, pwrite(other, seen, 1, MIB + 3));
	EQUAL(1, pread(other, seen, 1, 2 * MIB));
	FAILS(ENXIO, pwrite(fd, pattern, 2, (off_t)end - 1));
	EQUAL(0, pread(fd, seen, 1, (off_t)end));
	EQUAL(5, pread(fd, seen, 10, (off_t)end - 5));
	close(fd);
	EQUAL(SOME, pread(other, seen, SOME, MIB + 3));
	CHECK(!memcmp(seen, pattern, SOME));
}

/* --- COPY --- */

static void copies(void)
{
	int from = open_region(volatile_region), to = open_region(volatile_region);
	int pmr = open_region(persistent_region);
	uint8_t *pattern = pattern_of(SOME), seen[SOME];
	static const unsigned int skews[] = { 0, 8, 1, 4095 };

	EQUAL(SOME, pwrite(from, pattern, SOME, 777));
	for (size_t i = 0; i < sizeof(skews) / sizeof(skews[0]); i++) {
		WORKS(copy(to, from, 777 + skews[i], 777, SOME));
		EQUAL(SOME, pread(to, seen, SOME, 777 + skews[i]));
		CHECK(!memcmp(seen, pattern, SOME));
	}
	/* From region to region, both ways. */
	WORKS(copy(pmr, from, 4 * MIB + 1, 777, SOME));
	EQUAL(SOME, pread(pmr, seen, SOME, 4 * MIB + 1));
	CHECK(!memcmp(seen, pattern, SOME));
	WORKS(copy(to, pmr, 3 * MIB, 4 * MIB + 1, SOME));
	EQUAL(SOME, pread(to, seen, SOME, 3 * MIB));
	CHECK(!memcmp(seen, pattern, SOME));
}

static void copies_onto_itself(void)
{
	static const int steps[] = { 1, -1, 8, -8, 4096, -4096, 5000, -5000 };
	enum { BYTES = 10001, AREA = 6 * 4096, AT = 2 * 4096 };
	uint8_t *expected = calloc(1, AREA), *seen = malloc(AREA), *pattern = pattern_of(BYTES);
	int fd = open_region(volatile_region);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		memset(expected, 0, AREA);
		memcpy(expected + AT, pattern, BYTES);
		EQUAL(AREA, pwrite(fd, expected, AREA, 0));
		memmove(expected + AT + steps[i], expected + AT, BYTES);
		WORKS(copy(fd, fd, (uint64_t)(AT + steps[i]), AT, BYTES));
		EQUAL(AREA, pread(fd, seen, AREA, 0));
		CHECK(!memcmp(seen, expected, AREA));
	}
}

/* --- LOCATE --- */

static int locate(int fd, uint64_t file_offset, struct p2pmem_locate *place)
{
	*place = (struct p2pmem_locate){ .size = sizeof(*place), .file_offset = file_offset };
	return ioctl(fd, P2PMEM_IOC_LOCATE, place);
}

static void locates(void)
{
	int fd = open_region(volatile_region), other = open_region(volatile_region);
	struct p2pmem_locate place;

	WORKS(claim(fd, 8 * MIB, MIB, 0));
	WORKS(locate(fd, PAGE, &place));
	EQUAL(8 * MIB + PAGE, place.region_offset);
	EQUAL(MIB - PAGE, place.length);
	FAILS(ENXIO, locate(fd, MIB, &place));
	FAILS(ENXIO, locate(other, 0, &place));
	FAILS(EINVAL, locate(fd, 1, &place));
	/* What was given anywhere is where nobody else is. */
	mapped(other, MIB, 0);
	WORKS(locate(other, 0, &place));
	CHECK(place.region_offset + place.length <= 8 * MIB || place.region_offset >= 9 * MIB);
	place = (struct p2pmem_locate){ .size = sizeof(place), .flags = 1 };
	FAILS(EINVAL, ioctl(fd, P2PMEM_IOC_LOCATE, &place));
}

/* --- for access.sh --- */

/* Says "ready" and goes on until a call fails: the name of its error. */
static void until_the_end(bool copies_too)
{
	int fd = open_region(volatile_region), other = open_region(persistent_region);
	uint8_t *bytes = pattern_of(MIB);

	for (bool first = true;; first = false) {
		if (pwrite(fd, bytes, MIB, 0) < 0 || pread(fd, bytes, MIB, 0) < 0 ||
		    (copies_too && (copy(other, fd, 0, 0, MIB) || copy(fd, other, MIB, 0, MIB))))
			break;
		if (first)
			puts("ready");
		fflush(stdout);
	}
	puts(strerrorname_np(errno));
}

static void reads_until_the_end(void)
{
	until_the_end(false);
}

static void copies_until_the_end(void)
{
	until_the_end(true);
}

static const struct {
	const char *name;
	void (*function)(void);
} tests[] = {
	{ "read-sees-stores", read_sees_stores },
	{ "loads-see-writes", loads_see_writes },
	{ "vectors", vectors },
	{ "holes", holes },
	{ "full", full },
	{ "modes", modes },
	{ "bad-pointers", bad_pointers },
	{ "other-user-reads-zeros", other_user_reads_zeros },
	{ "persistent", persistent },
	{ "copies", copies },
	{ "copies-onto-itself", copies_onto_itself },
	{ "locates", locates },
	{ "reads-until-the-end", reads_until_the_end },
	{ "copies-until-the-end", copies_until_the_end },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (!strcmp(argv[1], "--list"))
			puts(tests[i].name);
		if (strcmp(argv[1], tests[i].name))
			continue;
		tests[i].function();
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--list"))
		return 0;
	errx(2, "usage: access TEST, or access --list");
}
