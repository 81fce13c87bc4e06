// SPDX-License-Identifier: Apache-2.0
/*
 * folio TEST REGION [--large] - 2 MiB that are mapped by one entry: large folios on kernels with --large.
 * What a program sees must be the same on all.
 *
 * LIBS: -pthread
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mapped.h"
#include "named.h"

#define CHUNK (2UL << 20)
#define CHUNKS 4UL

static bool large;

/* Each page tells its number, plus @salt. */
static void fill(uint64_t *memory, size_t bytes, uint64_t salt)
{
	for (size_t page = 0; page < bytes / PAGE; page++)
		memory[page * PAGE / 8] = salt + page;
}

static void holds(const uint64_t *memory, size_t bytes, uint64_t salt, const char *when)
{
	for (size_t page = 0; page < bytes / PAGE; page++)
		if (memory[page * PAGE / 8] != salt + page)
			errx(1, "%s: page %zu: expected %lu, seen %lu", when, page,
			     (unsigned long)(salt + page), (unsigned long)memory[page * PAGE / 8]);
}

/* Returns the machine's total, because smaps leaves device memory out. No other program here maps files by large entries. */
static size_t mapped_by_large_entries(void)
{
	int refresh = open("/proc/sys/vm/stat_refresh", O_WRONLY);
	FILE *vmstat = fopen("/proc/vmstat", "r");
	unsigned long entries = 0;
	char line[128];

	/* Counts wait in each CPU's own store. */
	if (!vmstat || refresh < 0 || write(refresh, "1", 1) != 1)
		err(1, "vmstat");
	while (fgets(line, sizeof(line), vmstat))
		if (sscanf(line, "nr_file_pmdmapped %lu", &entries) == 1)
			break;
	fclose(vmstat);
	close(refresh);
	return entries * CHUNK;
}

static void large_entries_are(size_t bytes, const char *when)
{
	size_t expected = large ? bytes : 0, seen = mapped_by_large_entries();

	if (seen != expected)
		errx(1, "%s: bytes mapped by 2 MiB entries: expected %zu, seen %zu", when, expected, seen);
}

/* The memory of a region that begins amid a chunk ends amid one, too. */
static size_t amid_a_chunk(int fd)
{
	return info_of(fd).bus_address % CHUNK ? CHUNK : 0;
}

static void whole_chunks_are_mapped_at_once(void)
{
	int fd = open_region();
	uint64_t *memory = map(fd, CHUNKS * CHUNK, 0);

	fill(memory, CHUNKS * CHUNK, 1);
	large_entries_are(CHUNKS * CHUNK - amid_a_chunk(fd), "after a touch of each page");
	holds(memory, CHUNKS * CHUNK, 1, "after a touch of each page");
}

/* All page tables of this process, which has no other memory to map meanwhile. */
static size_t page_table_bytes(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	size_t kib = 0;
	char line[128];

	if (!status)
		err(1, "/proc/self/status");
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "VmPTE: %zu kB", &kib) == 1)
			break;
	fclose(status);
	return kib * 1024;
}

/* Single pages need one page table per chunk; a level above may need one more. */
static void whole_chunks_need_no_tables(void)
{
	size_t before = page_table_bytes(), bytes = 4 * CHUNKS * CHUNK, grown;
	uint64_t *memory = map(open_region(), bytes, 0);

	fill(memory, bytes, 1);
	grown = page_table_bytes() - before;
	if (grown >= 4 * CHUNKS * PAGE)
		errx(1, "page tables: expected less than %lu bytes for %zu of memory, seen %zu",
		     4 * CHUNKS * PAGE, bytes, grown);
	holds(memory, bytes, 1, "mapped by entries of 2 MiB");
}

static void odd_mappings_fall_back(void)
{
	int fd = open_region();
	uint64_t *whole = map(fd, 2 * CHUNK, 0), *shifted;

	fill(whole, 2 * CHUNK, 7);
	/* The same bytes at an address that no 2 MiB entry can serve. */
	shifted = mmap((char *)whole + 64 * CHUNK + PAGE, 2 * CHUNK, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
	if (shifted == MAP_FAILED)
		err(1, "mmap of shifted");
	holds(shifted, 2 * CHUNK, 7, "at an odd address");
	large_entries_are(2 * CHUNK, "with a second mapping at an odd address");
	fill(shifted, 2 * CHUNK, 9);
	holds(whole, 2 * CHUNK, 9, "by the first mapping");
}

static void pieces_can_be_unmapped(void)
{
	int fd = open_region();
	uint64_t *memory = map(fd, 2 * CHUNK, 0);

	fill(memory, 2 * CHUNK, 3);
	if (munmap((char *)memory + 5 * PAGE, 3 * PAGE))
		err(1, "munmap");
	large_entries_are(CHUNK, "with a hole in the first chunk");
	holds(memory, 5 * PAGE, 3, "before the hole");
	holds(memory + 8 * PAGE / 8, 2 * CHUNK - 8 * PAGE, 3 + 8, "behind the hole");
	if (mprotect((char *)memory + CHUNK + PAGE, PAGE, PROT_READ))
		err(1, "mprotect");
	holds(memory + CHUNK / 8, CHUNK, 3 + CHUNK / PAGE, "under mprotect");
	holds(map(fd, 2 * CHUNK, 0), 2 * CHUNK, 3, "mapped anew");
}

static void children_share(void)
{
	uint64_t *memory = map(open_region(), 2 * CHUNK, 0);
	int status;

	fill(memory, 2 * CHUNK, 11);
	if (!fork()) {
		holds(memory, 2 * CHUNK, 11, "in the child");
		fill(memory, 2 * CHUNK, 13);
		_exit(0);
	}
	if (wait(&status) < 0 || status)
		errx(1, "the child failed");
	holds(memory, 2 * CHUNK, 13, "in the parent");
}

static void a_mapping_can_move(void)
{
	uint64_t *memory = map(open_region(), 2 * CHUNK, 0), *moved;

	fill(memory, 2 * CHUNK, 17);
	moved = mremap(memory, 2 * CHUNK, 2 * CHUNK, MREMAP_MAYMOVE | MREMAP_FIXED,
		       (char *)memory + 32 * CHUNK + 3 * PAGE);
	if (moved == MAP_FAILED)
		err(1, "mremap");
	holds(moved, 2 * CHUNK, 17, "after the move");
}

/* Some kernels clear entries that they do not know. */
static void advice_changes_nothing(void)
{
	static const int advice[] = { MADV_COLD, MADV_PAGEOUT, MADV_RANDOM, MADV_NOHUGEPAGE, MADV_DONTNEED };
	uint64_t *memory = map(open_region(), 2 * CHUNK, 0);

	fill(memory, 2 * CHUNK, 19);
	for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++) {
		madvise((char *)memory + PAGE, CHUNK, advice[i]);	/* may be refused */
		holds(memory, 2 * CHUNK, 19, "after madvise");
	}
}

/*
 * A marker of userfaultfd in place of an entry, which needs no handler from Linux 6.7 on: a fault would find the place
 * taken, map nothing, and come again without end.
 */
static void markers_are_refused(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = 1 << 15 /* UFFD_FEATURE_WP_ASYNC */ };
	void *memory = map(open_region(), 2 * CHUNK, 0);
	struct uffdio_register where = {
		.range = { (uintptr_t)memory, 2 * CHUNK }, .mode = UFFDIO_REGISTER_MODE_WP,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0)
		err(1, "userfaultfd");
	if (ioctl(fd, UFFDIO_API, &api))	/* an older kernel */
		return;
	if (!ioctl(fd, UFFDIO_REGISTER, &where) || errno != EINVAL)
		err(1, "a mapping was not refused");
}

static struct p2pmem_claim shifted_claim(void)
{
	return (struct p2pmem_claim){ .size = sizeof(struct p2pmem_claim), .region_offset = CHUNK / 2,
				      .length = 2 * CHUNK };
}

/* A chunk of the region in the middle of one of the file, at an address where an entry could map it. */
static void file_and_memory_out_of_step(void)
{
	struct p2pmem_claim claim = shifted_claim();
	char *place = mmap(NULL, 4 * CHUNK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open_region();
	uint64_t *memory;

	if (place == MAP_FAILED)
		err(1, "mmap of address space");
	if (ioctl(fd, P2PMEM_IOC_CLAIM, &claim))
		err(1, "claim of %lu bytes at %lu", 2 * CHUNK, CHUNK / 2);
	place += CHUNK + CHUNK / 2 - (uintptr_t)place % CHUNK;
	memory = mmap(place, 2 * CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	if (memory == MAP_FAILED)
		err(1, "mmap out of step");
	memory[CHUNK / 2 / 8] = 1;	/* first the part that an entry of 2 MiB may map */
	fill(memory, 2 * CHUNK, 23);
	holds(memory, 2 * CHUNK, 23, "out of step");
	holds(map(fd, 2 * CHUNK, 0), 2 * CHUNK, 23, "out of step, mapped anew");
}

/* Large and small owners are mixed: each sees only its own memory, which is zero at first. */
static void owners_of_all_sizes_mix(void)
{
	enum { OWNERS = 16, ROUNDS = 400 };
	struct { int fd; size_t bytes; uint64_t *memory; uint64_t salt; } owners[OWNERS] = { 0 };

	srandom(5);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		int i = (int)(random() % OWNERS);

		if (owners[i].memory) {
			holds(owners[i].memory, owners[i].bytes, owners[i].salt, "before its end");
			munmap(owners[i].memory, owners[i].bytes);
			close(owners[i].fd);
		}
		owners[i].fd = open_region();
		owners[i].bytes = PAGE * (random() % 2 ? 1 + (size_t)random() % 40 :
					  512 * (size_t)(1 + random() % 3) + (size_t)(random() % 2));
		owners[i].memory = map(owners[i].fd, owners[i].bytes, 0);
		owners[i].salt = round << 32;
		/* Some words of each page, and among them the first, which is where an owner writes. */
		for (size_t at = 0; at < owners[i].bytes / 8; at += 64)
			if (owners[i].memory[at])
				errx(1, "round %lu: another owner's bytes", (unsigned long)round);
		fill(owners[i].memory, owners[i].bytes, owners[i].salt);
	}
}

static char *volatile racer_target;
static volatile bool racer_go;

static void *racer(void *argument)
{
	(void)argument;
	for (;;) {
		while (!racer_go)
			usleep(20);
		*racer_target = 1;
		racer_go = false;
	}
	return NULL;
}

/* One thread maps a chunk by one entry while another, who may not, maps it by pages. */
static void faults_of_both_sizes_race(void)
{
	enum { ROUNDS = 1500 };
	int fd = open_region();
	char *base = map(fd, 2 * CHUNK, 0);
	pthread_t thread;

	base = (char *)(((uintptr_t)base + CHUNK - 1) & ~(CHUNK - 1));
	if (pthread_create(&thread, NULL, racer, NULL))
		errx(1, "no thread");
	srandom(3);
	for (int round = 0; round < ROUNDS; round++) {
		if (prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0) ||
		    mmap(base, CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != base)
			err(1, "round %d", round);
		racer_target = base;
		racer_go = true;
		usleep((unsigned int)random() % 300);
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
		if (random() % 2)
			base[PAGE] = 1;
		else if (madvise(base + 2 * PAGE, PAGE, MADV_POPULATE_WRITE))
			err(1, "round %d: populate", round);
		while (racer_go)
			usleep(20);
	}
}

static const struct named_test tests[] = {
	{ "whole-chunks", whole_chunks_are_mapped_at_once },
	{ "no-tables", whole_chunks_need_no_tables },
	{ "odd-mappings", odd_mappings_fall_back },
	{ "pieces", pieces_can_be_unmapped },
	{ "children", children_share },
	{ "moving", a_mapping_can_move },
	{ "advice", advice_changes_nothing },
	{ "markers", markers_are_refused },
	{ "out-of-step", file_and_memory_out_of_step },
	{ "owners", owners_of_all_sizes_mix },
	{ "race", faults_of_both_sizes_race },
};

int main(int argc, char **argv)
{
	if (argc < 3)
		errx(2, "usage: folio TEST REGION [--large]");
	region = argv[2];
	large = argc > 3 && !strcmp(argv[3], "--large");
	RUN_NAMED(tests, argv[1]);
	return 0;
}
