// SPDX-License-Identifier: Apache-2.0
/*
 * bigbar TEST REGION BYTES [DRIVE] - a region of large folios, of BYTES each: what programs see, and that what they
 * do to a mapping leaves no reference behind (bigbar.sh looks whether all memory has come back).
 *
 * LIBS: -luring -pthread
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mapped.h"
#include "named.h"

#define MIB (1UL << 20)
#define GIB (1UL << 30)

static const char *drive;
static size_t folio;

static void is(const char *what, uint64_t expected, uint64_t seen)
{
	if (expected != seen)
		errx(1, "%s: expected %llu, seen %llu", what, (unsigned long long)expected, (unsigned long long)seen);
}

/* Checks bytes in memory; unlike a time, this does not depend on the host's speed (NOT_OF_SPEED, lib.sh). */
static void holds(const char *what, char expected, char seen)
{
	if (expected != seen)
		errx(1, "%s: byte: expected %d, seen %d", what, expected, seen);
}

static void refused(const char *what, int expected, int rc)
{
	if (rc != -1 || errno != expected)
		errx(1, "%s: expected '%s', seen %s", what, strerror(expected), rc == -1 ? strerror(errno) : "success");
}

/* Returns how many of the region's page faults were served. */
static uint64_t faults(void)
{
	unsigned long long count;
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/p2pmem/%s/statistics/faults", region);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%llu", &count) != 1)
		err(1, "%s", path);
	fclose(file);
	return count;
}

/* Entries of 1 GiB that the kernel split, since it was booted. */
static uint64_t splits(void)
{
	FILE *vmstat = fopen("/proc/vmstat", "r");
	unsigned long long count = 0;
	char line[128];

	if (!vmstat)
		err(1, "/proc/vmstat");
	while (fgets(line, sizeof(line), vmstat))
		if (sscanf(line, "thp_split_pud %llu", &count) == 1)
			break;
	fclose(vmstat);
	return count;
}

static uint64_t place_of(int fd, uint64_t file_offset)
{
	struct p2pmem_locate place = { .size = sizeof(place), .file_offset = file_offset };

	if (ioctl(fd, P2PMEM_IOC_LOCATE, &place))
		err(1, "place of %llu", (unsigned long long)file_offset);
	return place.region_offset;
}

/* A page takes its whole folio, and the next file's page another one. */
static void nobody_shares_a_folio(void)
{
	int a = open_region(), b = open_region();
	uint64_t before = info_of(a).available_bytes;

	is("folio of INFO", folio, info_of(a).folio_bytes);
	*(char *)map(a, PAGE, 3 * PAGE) = 1;
	is("taken by a page", folio, before - info_of(a).available_bytes);
	is("place in the folio", 3 * PAGE, place_of(a, 3 * PAGE) % folio);
	*(char *)map(a, PAGE, 0) = 2;
	is("taken by another page of it", folio, before - info_of(a).available_bytes);
	*(char *)map(b, PAGE, 0) = 3;
	is("taken by two files", 2 * folio, before - info_of(a).available_bytes);
	if (place_of(a, 0) / folio == place_of(b, 0) / folio)
		errx(1, "a folio has another owner's bytes beside its own");
}

/* An owner that never wrote a page of a folio sees zeros in it, whatever the last owner left. */
static void the_next_owner_sees_zeros(void)
{
	static const size_t at[] = { 0, 7 * PAGE, 2 * MIB - PAGE };
	uint64_t place;
	char *memory;
	int fd = open_region();

	memory = map(fd, 2 * MIB, 0);
	place = place_of(fd, 0);
	memset(memory, 0xa5, 2 * MIB);
	munmap(memory, 2 * MIB);
	close(fd);
	fd = open_region();
	memory = map(fd, PAGE, 9 * PAGE);
	holds("first byte", 0, memory[0]);
	is("place of the next owner", place, place_of(fd, 0));
	memory = map(fd, 2 * MIB, 0);
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		holds("where the last owner wrote", 0, memory[at[i]]);
}

/* The same by an entry that shows all of the folio at once: each chunk of it, and the last page. */
static void one_entry_shows_zeros(void)
{
	char *memory;
	uint64_t before;
	int fd = open_region();

	memory = map(fd, folio, 0);
	for (size_t at = 0; at < folio; at += 2 * MIB)
		memory[at + 7 * PAGE] = 5;
	memory[folio - 1] = 5;
	munmap(memory, folio);
	close(fd);
	fd = open_region();
	memory = map(fd, folio, 0);
	before = faults();
	for (size_t at = 0; at < folio; at += 2 * MIB)
		holds("where the last owner wrote", 0, memory[at + 7 * PAGE]);
	holds("at the end", 0, memory[folio - 1]);
	is("faults", 1, faults() - before);
}

static int claim(int fd, uint64_t region_offset, uint64_t length, uint64_t file_offset)
{
	struct p2pmem_claim claim = { .size = sizeof(claim), .region_offset = region_offset, .length = length,
				      .file_offset = file_offset };

	return ioctl(fd, P2PMEM_IOC_CLAIM, &claim);
}

static void claims_take_whole_folios(void)
{
	int fd = open_region(), other = open_region();
	uint64_t before = info_of(fd).available_bytes;

	refused("claim out of step", EINVAL, claim(fd, 4 * folio + PAGE, PAGE, 0));
	is("taken by what was refused", 0, before - info_of(fd).available_bytes);
	if (claim(fd, 5 * folio - PAGE, 2 * PAGE, 3 * folio - PAGE))
		err(1, "claim of a page on either side");
	is("taken by two pages", 2 * folio, before - info_of(fd).available_bytes);
	is("place of its first folio", 4 * folio, place_of(fd, 2 * folio));
	refused("another claim in the folio", EBUSY, claim(other, 4 * folio, PAGE, 0));
	refused("a claim of its own", EEXIST, claim(fd, 4 * folio, PAGE, 2 * folio));
}

static void still_there(const char *memory, const char *when)
{
	if (memory[5 * PAGE] != 7 || memory[folio - PAGE] != 8)
		errx(1, "%s: bytes: expected 7 and 8, seen %d and %d", when, memory[5 * PAGE], memory[folio - PAGE]);
}

/* The same, by @expected faults: 1 where one entry maps the folio, or did not go. */
static void there_by_faults(uint64_t expected, const char *memory, const char *when)
{
	uint64_t before = faults();

	still_there(memory, when);
	if (faults() - before != expected)
		errx(1, "%s: expected %llu faults, seen %llu", when, (unsigned long long)expected,
		     (unsigned long long)(faults() - before));
}

/* A folio that is mapped by one entry. */
static char *touched(int fd)
{
	char *memory = map(fd, folio, 0);
	uint64_t before = faults();

	memory[5 * PAGE] = 7;
	memory[folio - PAGE] = 8;
	is("faults of a folio", 1, faults() - before);
	return memory;
}

static void look_at_smaps(void)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	char line[256];

	if (!smaps)
		err(1, "/proc/self/smaps");
	while (fgets(line, sizeof(line), smaps))
		;
	fclose(smaps);
}

static void advise(char *memory, size_t bytes, int advice, const char *name)
{
	if (madvise(memory, bytes, advice))
		err(1, "madvise(%s) of %zu bytes", name, bytes);
}

/* Entries of 1 GiB are split by who looks at pages, which means that they go; those of 2 MiB stay. */
static void walks_lose_nothing(void)
{
	char *memory = touched(open_region());
	bool large = folio == GIB;
	uint64_t before = splits();

	look_at_smaps();
	is("splits by smaps", large, splits() - before);
	there_by_faults(large, memory, "after smaps");
	advise(memory, folio / 2, MADV_COLD, "MADV_COLD");
	is("splits by smaps and MADV_COLD", 2 * large, splits() - before);
	still_there(memory, "after MADV_COLD of a half");
	advise(memory + PAGE, PAGE, MADV_DONTNEED, "MADV_DONTNEED");
	is("splits by these and MADV_DONTNEED", 3 * large, splits() - before);
	still_there(memory, "after MADV_DONTNEED of a page");
	advise(memory, folio, MADV_DONTNEED, "MADV_DONTNEED");
	there_by_faults(1, memory, "after MADV_DONTNEED of all");
	if (mprotect(memory, folio, PROT_READ) || mprotect(memory, folio, PROT_READ | PROT_WRITE))
		err(1, "mprotect of all");
	memory[PAGE] = 1;
	still_there(memory, "after mprotect");
}

static atomic_bool racing = true;

static void *touch_until_the_end(void *memory)
{
	while (racing)
		still_there(memory, "beside MADV_DONTNEED of a page");
	return NULL;
}

/*
 * One thread has a part unmapped, for which the kernel splits the entry, while another puts it back.  A busy host lets
 * one of them wait, so that a number of rounds alone says little.
 */
static void splits_and_faults_race(void)
{
	enum { ROUNDS = 20000, SPLITS = 500 };
	char *memory = touched(open_region());
	uint64_t before = splits();
	pthread_t thread;

	if (pthread_create(&thread, NULL, touch_until_the_end, memory))
		errx(1, "no thread");
	for (int round = 1; round <= ROUNDS || (folio == GIB && splits() - before < SPLITS); round++)
		advise(memory + PAGE, PAGE, MADV_DONTNEED, "MADV_DONTNEED");
	racing = false;
	pthread_join(thread, NULL);
	still_there(memory, "after the race");
}

/* Mappings of another file at the same offsets, or of this one at others, are not touched by who maps or moves. */
static void others_are_left_alone(void)
{
	int fd = open_region(), other = open_region();
	char *own = touched(fd), *others = touched(other), *more;

	more = map(fd, folio, (off_t)folio);
	there_by_faults(0, own, "after a mapping of the next folio");
	more = mremap(more, folio, folio, MREMAP_MAYMOVE | MREMAP_FIXED, 0x100000000000);
	if (more == MAP_FAILED)
		err(1, "mremap");
	there_by_faults(0, own, "after a move of the next folio");
	map(fd, folio, 0);
	there_by_faults(0, others, "after a mapping of another file");
}

/* Lets its parent, a debugger, read a byte there before it goes on. */
static void be_read(const char *memory, int channel)
{
	if (write(channel, &memory, sizeof(memory)) != sizeof(memory))
		err(1, "write");
	raise(SIGSTOP);
}

static void lose_access(int channel)
{
	int fd = open_region();
	char *memory = touched(fd), *none;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		err(1, "PTRACE_TRACEME");
	if (mprotect(memory, folio, PROT_NONE))
		err(1, "mprotect(PROT_NONE)");
	be_read(memory + 5 * PAGE, channel);
	none = mmap(NULL, folio, PROT_NONE, MAP_SHARED, fd, 0);
	if (none == MAP_FAILED)
		err(1, "mmap(PROT_NONE)");
	be_read(none + 5 * PAGE, channel);
	if (mprotect(memory, folio, PROT_READ | PROT_WRITE))
		err(1, "mprotect(PROT_READ | PROT_WRITE)");
	still_there(memory, "with access again");
}

/* The kernel heeds no protection for a debugger. */
static void a_debugger_reads_without_access(void)
{
	int channel[2], status;
	char *memory;
	pid_t child;

	if (pipe(channel))
		err(1, "pipe");
	child = fork();
	if (!child) {
		lose_access(channel[1]);
		_exit(0);
	}
	for (int stop = 0; stop < 2; stop++) {
		if (read(channel[0], &memory, sizeof(memory)) != sizeof(memory) ||
		    waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
			errx(1, "the child did not stop");
		errno = 0;
		is("read by a debugger", 7, (uint64_t)ptrace(PTRACE_PEEKDATA, child, memory, NULL));
		if (errno || ptrace(PTRACE_CONT, child, NULL, NULL))
			err(1, "ptrace");
	}
	if (waitpid(child, &status, 0) != child || status)
		errx(1, "the child failed");
}

/* A child has the mapping, but no entries of 1 GiB. */
static void children_share(void)
{
	char *memory = touched(open_region());
	uint64_t before;
	int status;

	if (!fork()) {
		before = faults();
		still_there(memory, "in the child");
		is("faults of the child, at either end", folio == GIB ? 2 : 1, faults() - before);
		memory[6 * PAGE] = 9;
		_exit(0);
	}
	if (wait(&status) < 0 || status)
		errx(1, "the child failed");
	holds("what the child wrote", 9, memory[6 * PAGE]);
}

/*
 * Moves a mapping to a place where one large entry fits, and to one where none does: then it is mapped by pages from that place
 * on.
 */
static void a_mapping_can_move(void)
{
	char *memory = touched(open_region()), *to = (char *)0x100000000000;

	for (int odd = 0; odd < 2; odd++, to += 4 * folio + 64 * MIB + PAGE) {
		memory = mremap(memory, folio, folio, MREMAP_MAYMOVE | MREMAP_FIXED, to);
		if (memory == MAP_FAILED)
			err(1, "mremap to %p", (void *)to);
		if (folio == GIB)
			there_by_faults(odd ? 2 : 1, memory, odd ? "at an odd place" : "at an even place");
		still_there(memory, odd ? "at an odd place" : "at an even place");
	}
}

/* A process without CAP_SYS_RAWIO maps single pages, and may cut the mapping anywhere. */
static void by_pages(void)
{
	char *memory = map(open_region(), folio, 0);
	uint64_t before = faults();

	memory[5 * PAGE] = 7;
	memory[folio - PAGE] = 8;
	is("faults at either end", folio == GIB ? 2 : 1, faults() - before);
	if (munmap(memory + 8 * PAGE, PAGE))
		err(1, "munmap of a page");
	still_there(memory, "beside a hole");
}

static void odd_mappings_fall_back(void)
{
	int fd = open_region();
	char *memory = touched(fd), *odd = map(fd, 4 * MIB > folio ? folio : 4 * MIB, PAGE);

	holds("by an odd mapping", 7, odd[4 * PAGE]);
	odd[8 * PAGE] = 11;
	holds("by the other", 11, memory[9 * PAGE]);
}

/*
 * Entries of 2 MiB can be cut anywhere, but those of 1 GiB only as a whole: the kernel would share the entry between two
 * mappings.
 */
static void cuts(void)
{
	int fd = open_region();
	char *memory = touched(fd), *small = map(fd, 64 * PAGE, 0);

	if (folio == 2 * MIB) {
		if (munmap(memory + 8 * PAGE, PAGE) || mprotect(memory + PAGE, PAGE, PROT_READ))
			err(1, "a cut of a folio of 2 MiB");
	} else {
		refused("munmap of a page", EINVAL, munmap(memory + 8 * PAGE, PAGE));
		refused("mprotect of a page", EINVAL, mprotect(memory + PAGE, PAGE, PROT_READ));
	}
	still_there(memory, "after the cuts");
	if (munmap(small + PAGE, PAGE))
		err(1, "a cut of a mapping that is less than a folio");
	holds("what is left of it", 7, small[5 * PAGE]);
}

/* Out to the drive and in again, by other pages; bigbar.sh looks at the drive. */
static void direct_io(void)
{
	int fd = open_region(), disk = open(drive, O_RDWR | O_DIRECT);
	char *memory = map(fd, folio, 0);

	if (disk < 0)
		err(1, "%s", drive);
	for (size_t at = 0; at < MIB; at++)
		memory[at] = (char)(at * 31 >> 4);
	is("bytes to the drive", MIB, (uint64_t)pwrite(disk, memory, MIB, 0));
	is("bytes from the drive", MIB, (uint64_t)pread(disk, memory + folio - MIB, MIB, 0));
	if (memcmp(memory, memory + folio - MIB, MIB))
		errx(1, "back from the drive: bytes: expected those that went there, seen others");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds_to_map(int fd, size_t bytes, char **memory)
{
	double began = now();

	*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (*memory == MAP_FAILED)
		err(1, "mmap of %zu bytes", bytes);
	return now() - began;
}

static double seconds_to_pin(char *memory, size_t bytes)
{
	struct iovec buffer = { memory, bytes };
	struct io_uring ring;
	double began;
	int rc = io_uring_queue_init(1, &ring, 0);

	began = now();
	if (rc || (rc = io_uring_register_buffers(&ring, &buffer, 1)))
		errx(1, "io_uring: %s", strerror(-rc));
	began = now() - began;
	io_uring_queue_exit(&ring);
	return began;
}

/* Prints the least seconds of some rounds to map 1 GiB that has been touched, and to pin it, first without large entries. */
static void costs(void)
{
	enum { ROUNDS = 5 };
	size_t bytes = 1024 * MIB;
	int fd = open_region();
	char *memory;

	seconds_to_map(fd, bytes, &memory);
	munmap(memory, bytes);
	for (int single = 1; single >= 0; single--) {
		double map = 1e9, pin = 1e9;

		if (prctl(PR_SET_THP_DISABLE, single, 0, 0, 0))
			err(1, "prctl");
		for (int i = 0; i < ROUNDS; i++) {
			double mapped = seconds_to_map(fd, bytes, &memory), pinned = seconds_to_pin(memory, bytes);

			map = mapped < map ? mapped : map;
			pin = pinned < pin ? pinned : pin;
			munmap(memory, bytes);
		}
		printf("%s %.9f %.9f\n", single ? "single" : "large", map, pin);
	}
}

static const struct named_test tests[] = {
	{ "owners", nobody_shares_a_folio },
	{ "zeros", the_next_owner_sees_zeros },
	{ "whole-zeros", one_entry_shows_zeros },
	{ "claims", claims_take_whole_folios },
	{ "walks", walks_lose_nothing },
	{ "race", splits_and_faults_race },
	{ "others", others_are_left_alone },
	{ "no-access", a_debugger_reads_without_access },
	{ "pages", by_pages },
	{ "children", children_share },
	{ "moving", a_mapping_can_move },
	{ "odd", odd_mappings_fall_back },
	{ "cuts", cuts },
	{ "direct", direct_io },
	{ "costs", costs },
};

int main(int argc, char **argv)
{
	if (argc < 4)
		errx(2, "usage: bigbar TEST REGION BYTES [DRIVE]");
	region = argv[2];
	folio = strtoull(argv[3], NULL, 0);
	drive = argv[4];
	RUN_NAMED(tests, argv[1]);
	return 0;
}
