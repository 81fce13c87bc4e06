// SPDX-License-Identifier: Apache-2.0
/*
 * access TEST - one test of what the CPU does to a region without a mapping: read(), write(), fsync(),
 * P2PMEM_IOC_COPY, P2PMEM_IOC_LOCATE; access --list names them.
 * Needs root, p2pmem0 (volatile) and p2pmem2 (persistent), both idle.
 *
 * LIBS: -luring
 */
#define _GNU_SOURCE
#include <linux/userfaultfd.h>
#include <liburing.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "named.h"
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

/*
 * Returns how many bytes the call moves.  A ring that waited for the file to become ready would wait until the test is killed.
 */
static int of_ring(struct io_uring *ring, void (*prepare)(struct io_uring_sqe *, int, void *), int fd, void *page,
		   unsigned int flags)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;
	int moved;

	prepare(sqe, fd, page);
	io_uring_sqe_set_flags(sqe, flags);
	EQUAL(1, io_uring_submit(ring));
	EQUAL(0, io_uring_wait_cqe(ring, &cqe));
	moved = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return moved;
}

static void ring_reads(struct io_uring_sqe *sqe, int fd, void *page)
{
	io_uring_prep_read(sqe, fd, page, PAGE, PAGE);
}

static void ring_writes(struct io_uring_sqe *sqe, int fd, void *page)
{
	io_uring_prep_write(sqe, fd, page, PAGE, PAGE);
}

/* At once, and by a worker of the ring. */
static void by_a_ring(void)
{
	static const unsigned int ways[] = { 0, IOSQE_ASYNC };
	int fd = open_region(volatile_region);
	uint8_t *pattern = pattern_of(PAGE), seen[PAGE];
	struct io_uring ring;

	EQUAL(0, io_uring_queue_init(2, &ring, 0));
	for (size_t i = 0; i < 2; i++) {
		pattern[i]++;
		memset(seen, 0, PAGE);
		EQUAL(PAGE, of_ring(&ring, ring_writes, fd, pattern, ways[i]));
		EQUAL(PAGE, of_ring(&ring, ring_reads, fd, seen, ways[i]));
		CHECK(!memcmp(seen, pattern, PAGE));
	}
	io_uring_queue_exit(&ring);
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
	/* The call moves as much as could be taken. */
	EQUAL(100, pwrite(fd, two + PAGE - 100, 200, 0));
	EQUAL(100, pread(fd, two + PAGE - 100, 200, 0));
	/* Its own mapping is a buffer like any other. */
	EQUAL(100, pwrite(fd, (uint8_t *)mapped(fd, PAGE, 0), 100, 50 * PAGE));
}

/* Offsets are those of files: nothing lies beyond what lseek() could name. */
static void largest_offset(void)
{
	int fd = open_region(volatile_region);
	uint8_t *pattern = pattern_of(200), seen[200];

	EQUAL(99, pwrite(fd, pattern, 99, INT64_MAX - 99));
	EQUAL(99, pread(fd, seen, 99, INT64_MAX - 99));
	CHECK(!memcmp(seen, pattern, 99));
	FAILS(EINVAL, pwrite(fd, pattern, 100, INT64_MAX - 99));
	FAILS(EINVAL, pread(fd, seen, 100, INT64_MAX - 99));
	FAILS(EINVAL, pwrite(fd, pattern, 1, INT64_MIN));
}

static void huge_lengths(void)
{
	int fd = open_region(volatile_region), other = open_region(volatile_region);
	uint64_t before = available(), end = info_of(fd).region_bytes;
	size_t bytes = 4ULL << 30;
	uint8_t *much = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(much != MAP_FAILED);
	/* All at once or nothing, however much is asked for. */
	if (end < INT32_MAX)
		FAILS(ENOSPC, pwrite(fd, much, bytes, 0));
	FAILS(ENOSPC, copy(fd, other, 0, 0, INT64_MAX));
	FAILS(EINVAL, copy(fd, other, PAGE, 0, INT64_MAX));
	FAILS(EFAULT, pread(fd, much, SIZE_MAX / 2, 0));
	EQUAL(before, available());
	EQUAL(65536, pread(fd, much, bytes, (off_t)(end - 65536)));
	EQUAL(before, available());
}

/* Mappings of a region are buffers like any others, whether they were touched before or not. */
static void mappings_as_buffers(void)
{
	int fd = open_region(volatile_region), other = open_region(volatile_region), pmr = open_region(persistent_region);
	uint8_t *map = (uint8_t *)mapped(fd, MIB, 0), *pattern = pattern_of(SOME), seen[SOME];
	uint8_t *map_of_other = (uint8_t *)mapped(other, MIB, 0), *map_of_pmr = (uint8_t *)mapped(pmr, MIB, 0);

	EQUAL(SOME, pwrite(other, pattern, SOME, 1));
	/* The source is another file of the region, then another region. */
	EQUAL(SOME, pwrite(fd, map_of_other + 1, SOME, 7));
	CHECK(!memcmp(map + 7, pattern, SOME));
	EQUAL(SOME, pread(fd, map_of_pmr + 3, SOME, 7));
	EQUAL(SOME, pread(pmr, seen, SOME, 3));
	CHECK(!memcmp(seen, pattern, SOME));
	/* The source is the same place of the same file, then another place of it. */
	EQUAL(SOME, pread(fd, map + 7, SOME, 7));
	EQUAL(SOME, pwrite(fd, map + 7, SOME, 7));
	CHECK(!memcmp(map + 7, pattern, SOME));
	EQUAL(SOME, pwrite(fd, map + 7, SOME, 512 * 1024 + 5));
	CHECK(!memcmp(map + 512 * 1024 + 5, pattern, SOME));
}

/* --- a caller's memory that goes away, and signals, in the middle of a call --- */

static atomic_bool enough;

static void *take_away(void *memory)
{
	while (!enough) {
		madvise(memory, SOME, MADV_DONTNEED);
		mprotect(memory, SOME, PROT_NONE);
		mprotect(memory, SOME, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

static void memory_that_changes(void)
{
	int fd = open_region(volatile_region);
	uint8_t *memory = mmap(NULL, SOME, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *pattern = pattern_of(SOME), seen[SOME];
	pthread_t changer;

	EQUAL(0, pthread_create(&changer, NULL, take_away, memory));
	for (int i = 0; i < 300; i++) {
		ssize_t moved = i & 1 ? pread(fd, memory, SOME, 5) : pwrite(fd, memory, SOME, 5);

		CHECK(moved > 0 ? moved <= SOME : moved < 0 && errno == EFAULT);
	}
	enough = true;
	pthread_join(changer, NULL);
	EQUAL(SOME, pwrite(fd, pattern, SOME, 5));
	EQUAL(SOME, pread(fd, seen, SOME, 5));
	CHECK(!memcmp(seen, pattern, SOME));
}

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

/* A signal that the program handles cuts no call short. */
static void signals(void)
{
	static const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	int fd = open_region(volatile_region), other = open_region(volatile_region), rounds = 0;
	uint8_t *pattern = pattern_of(4 * MIB), *seen = malloc(4 * MIB);

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (alarms < 50 || rounds++ < 3) {
		EQUAL(4 * MIB, pwrite(fd, pattern, 4 * MIB, 0));
		WORKS(copy(other, fd, 0, 0, 4 * MIB));
		EQUAL(4 * MIB, pread(other, seen, 4 * MIB, 0));
		CHECK(!memcmp(seen, pattern, 4 * MIB));
	}
	setitimer(ITIMER_REAL, &never, NULL);
}

/* Runs as user 1001, who must not see the bytes of user 1000. */
static void reads_zeros(void)
{
	int fd = open_region(volatile_region);
	uint8_t seen[8192];

	WORKS(claim(fd, 0, 2 * PAGE, 0));
	EQUAL(sizeof(seen), pread(fd, seen, sizeof(seen), 0));
	CHECK(all_zero(seen, sizeof(seen)));
	/* The rest of a page that was written in part must not show old bytes, either. */
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

/* Syncing works as for a file on a disk, whatever the descriptor was opened for. */
static void syncs(void)
{
	const char *const regions[] = { volatile_region, persistent_region };

	for (int i = 0; i < 2; i++) {
		int fd = open_region(regions[i]), reader = open(regions[i], O_RDONLY);
		uint64_t *map = mapped(fd, MIB, 0);

		WORKS(reader);
		map[0] = 1;
		WORKS(msync(map, MIB, MS_SYNC));
		WORKS(msync((uint8_t *)map + 4096, 4096, MS_SYNC));
		EQUAL(1, pwrite(fd, "x", 1, 5000));
		WORKS(fsync(fd));
		WORKS(fdatasync(fd));
		WORKS(fsync(reader));
		munmap(map, MIB);
		close(reader);
		close(fd);
	}
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
	/* Copies from region to region, both ways. */
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
	/* Memory that was given at any place lies where nobody else has any. */
	mapped(other, MIB, 0);
	WORKS(locate(other, 0, &place));
	CHECK(place.region_offset + place.length <= 8 * MIB || place.region_offset >= 9 * MIB);
	place = (struct p2pmem_locate){ .size = sizeof(place), .flags = 1 };
	FAILS(EINVAL, ioctl(fd, P2PMEM_IOC_LOCATE, &place));
}

/* --- a mapping of another process --- */

/* Memory that a child inherited from a parent that has ended. */
struct heir {
	pid_t pid;
	uint64_t *map;
};

/* Makes a child that answers, for each pattern it is asked about, whether its memory holds that. */
static void bequeath(int asked, int answers)
{
	struct heir heir = { .map = mapped(open_region(volatile_region), MIB, 0) };
	uint64_t pattern;
	bool answer;

	fill(heir.map, MIB, 0x99);
	if (fork())
		_exit(0);
	heir.pid = getpid();
	WORKS(write(answers, &heir, sizeof(heir)));
	while (read(asked, &pattern, sizeof(pattern)) == sizeof(pattern)) {
		answer = filled(heir.map, MIB, pattern);
		WORKS(write(answers, &answer, sizeof(answer)));
	}
	_exit(0);
}

static bool has(const int ends[2], uint64_t pattern)
{
	bool answer = false;

	WORKS(write(ends[1], &pattern, sizeof(pattern)));
	EQUAL(sizeof(answer), read(ends[0], &answer, sizeof(answer)));
	return answer;
}

/* P2PDMA pages go only to drivers that ask for them, so no bytes move. */
static void not_reached(struct heir heir, const int ends[2], int debugger, uint64_t *bytes)
{
	struct iovec near = { bytes, MIB }, far = { heir.map, MIB };

	FAILS(EFAULT, process_vm_readv(heir.pid, &near, 1, &far, 1, 0));
	FAILS(EIO, pread(debugger, bytes, MIB, (off_t)heir.map));
	CHECK(zero(bytes, MIB));
	FAILS(EFAULT, process_vm_writev(heir.pid, &near, 1, &far, 1, 0));
	FAILS(EIO, pwrite(debugger, bytes, MIB, (off_t)heir.map));
	CHECK(has(ends, 0x99));
}

static void reached(struct heir heir, const int ends[2], int debugger, uint64_t *bytes)
{
	struct iovec near = { bytes, MIB }, far = { heir.map, MIB };

	EQUAL(MIB, process_vm_readv(heir.pid, &near, 1, &far, 1, 0));
	CHECK(filled(bytes, MIB, 0x99));
	fill(bytes, MIB, 0xaa);
	EQUAL(MIB, process_vm_writev(heir.pid, &near, 1, &far, 1, 0));
	CHECK(has(ends, 0xaa));
	memset(bytes, 0, MIB);
	EQUAL(MIB, pread(debugger, bytes, MIB, (off_t)heir.map));
	CHECK(filled(bytes, MIB, 0xaa));
	fill(bytes, MIB, 0xbb);
	EQUAL(MIB, pwrite(debugger, bytes, MIB, (off_t)heir.map));
	CHECK(has(ends, 0xbb));
}

static void another_process(void)
{
	int asked[2], answers[2], ends[2], fd = open_region(volatile_region), debugger;
	uint64_t before = available(), *bytes = calloc(1, MIB);
	char path[64];
	struct heir heir;
	pid_t parent;

	WORKS(pipe2(asked, O_CLOEXEC));
	WORKS(pipe2(answers, O_CLOEXEC));
	parent = fork();
	if (!parent) {
		close(asked[1]);
		bequeath(asked[0], answers[1]);
	}
	/* Only the heir has these ends now, so its death ends has(). */
	close(asked[0]);
	close(answers[1]);
	WORKS(waitpid(parent, NULL, 0));
	EQUAL(sizeof(heir), read(answers[0], &heir, sizeof(heir)));
	EQUAL(before - MIB, available());
	snprintf(path, sizeof(path), "/proc/%d/mem", heir.pid);
	debugger = open(path, O_RDWR | O_CLOEXEC);
	WORKS(debugger);
	ends[0] = answers[0];
	ends[1] = asked[1];
	(info_of(fd).page_type == P2PMEM_PAGES_P2PDMA ? not_reached : reached)(heir, ends, debugger, bytes);
	free(bytes);
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

/* It also fails while the device is being reset. */
static void syncs_until_the_end(void)
{
	int fd = open_region(volatile_region), error;

	for (bool first = true; !fsync(fd); first = false) {
		if (first)
			puts("ready");
		fflush(stdout);
	}
	error = errno;
	while (error == EIO && fsync(fd))
		EQUAL(EIO, errno);
	puts(strerrorname_np(error));
}

/* Memory whose first touch waits until the page is filled in by userfaultfd; *@fd is that descriptor. */
static uint8_t *stalling(size_t bytes, int *fd)
{
	struct uffdio_api api = { .api = UFFD_API };
	uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register where = {
		.range = { (uintptr_t)memory, bytes }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	CHECK(memory != MAP_FAILED);
	*fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	WORKS(*fd);
	WORKS(ioctl(*fd, UFFDIO_API, &api));
	WORKS(ioctl(*fd, UFFDIO_REGISTER, &where));
	return memory;
}

struct stalled_call {
	int region;
	bool reads;
	uint8_t *memory;
	int error;
};

static void *call_that_stalls(void *argument)
{
	struct stalled_call *call = argument;
	ssize_t moved = call->reads ? pread(call->region, call->memory, 2 * PAGE, 0) :
				      pwrite(call->region, call->memory, 2 * PAGE, 0);

	call->error = moved < 0 ? errno : 0;
	return NULL;
}

/* Says "ready" in the middle of a call that goes on when the region has ended: the name of its error. */
static void stall(bool reads)
{
	struct stalled_call call = { .region = open_region(volatile_region), .reads = reads };
	struct pollfd gone = { .fd = call.region };
	struct uffdio_zeropage fill;
	uint8_t *pattern = pattern_of(2 * PAGE);
	struct uffd_msg message;
	pthread_t caller;
	int faults;

	EQUAL(2 * PAGE, pwrite(call.region, pattern, 2 * PAGE, 0));
	call.memory = stalling(2 * PAGE, &faults);
	EQUAL(0, pthread_create(&caller, NULL, call_that_stalls, &call));
	EQUAL(sizeof(message), read(faults, &message, sizeof(message)));
	puts("ready");
	fflush(stdout);
	EQUAL(1, poll(&gone, 1, -1));
	fill = (struct uffdio_zeropage){ .range = { (uintptr_t)call.memory, 2 * PAGE } };
	WORKS(ioctl(faults, UFFDIO_ZEROPAGE, &fill));
	pthread_join(caller, NULL);
	puts(call.error ? strerrorname_np(call.error) : "no error");
}

static void stalled_read(void)
{
	stall(true);
}

static void stalled_write(void)
{
	stall(false);
}

/* Says "ready" and copies again and again, until it is killed. */
static void copies_for_ever(void)
{
	int fd = open_region(volatile_region);

	mapped(fd, 128 * MIB, 0);
	puts("ready");
	fflush(stdout);
	while (!copy(fd, fd, 64 * MIB, 0, 64 * MIB))
		;
}

/* The same with exports, each of memory that has to be zeroed. */
static void exports_for_ever(void)
{
	struct p2pmem_export_dmabuf export = {
		.size = sizeof(export), .length = 256 * MIB, .fd_flags = O_RDWR | O_CLOEXEC,
	};
	int fd, buf;

	puts("ready");
	fflush(stdout);
	do {
		fd = open_region(volatile_region);
		buf = ioctl(fd, P2PMEM_IOC_EXPORT_DMABUF, &export);
		close(fd);
	} while (buf >= 0 && !close(buf));
}

static const struct named_test tests[] = {
	{ "read-sees-stores", read_sees_stores },
	{ "loads-see-writes", loads_see_writes },
	{ "vectors", vectors },
	{ "by-a-ring", by_a_ring },
	{ "holes", holes },
	{ "full", full },
	{ "modes", modes },
	{ "bad-pointers", bad_pointers },
	{ "largest-offset", largest_offset },
	{ "huge-lengths", huge_lengths },
	{ "mappings-as-buffers", mappings_as_buffers },
	{ "memory-that-changes", memory_that_changes },
	{ "signals", signals },
	{ "other-user-reads-zeros", other_user_reads_zeros },
	{ "persistent", persistent },
	{ "syncs", syncs },
	{ "copies", copies },
	{ "copies-onto-itself", copies_onto_itself },
	{ "locates", locates },
	{ "another-process", another_process },
	{ "reads-until-the-end", reads_until_the_end },
	{ "copies-until-the-end", copies_until_the_end },
	{ "syncs-until-the-end", syncs_until_the_end },
	{ "stalled-read", stalled_read },
	{ "stalled-write", stalled_write },
	{ "copies-for-ever", copies_for_ever },
	{ "exports-for-ever", exports_for_ever },
};

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: access TEST, or access --list");
	RUN_NAMED(tests, argv[1]);
	return 0;
}
