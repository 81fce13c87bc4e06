// SPDX-License-Identifier: Apache-2.0
/*
 * copied REGION - forks, moves mappings about and drops them until the region is gone, while other threads read: what
 * copies page-table entries without a fault, or leaves stale ones in a processor. None may outlive the removal. Single
 * pages and, where there are such, entries of 2 MiB.
 *
 * LIBS: -pthread
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096UL
#define CHUNK (2UL << 20)
#define MAPPINGS 4
#define MAPPING_BYTES(i) ((i) ? CHUNK / 2 : 2 * CHUNK)
#define ALIVE 24

static char path[64];
static volatile char *mappings[MAPPINGS];
static __thread sigjmp_buf out_of_access;

static bool region_is_gone(void)
{
	return access(path, F_OK) != 0;
}

/* The region is gone, or what another thread has taken away. */
static void on_no_access(int number)
{
	(void)number;
	siglongjmp(out_of_access, 1);
}

static bool is_mapped(const volatile char *at)
{
	if (sigsetjmp(out_of_access, 1))
		return false;
	(void)*at;
	return true;
}

/* 0, or how many of each eighth page can still be reached: entries are copied many at a time. */
static unsigned long left_over(void)
{
	unsigned long count = 0;

	for (int i = 0; i < MAPPINGS; i++)
		for (size_t at = 0; at < MAPPING_BYTES(i); at += 8 * PAGE)
			count += is_mapped(mappings[i] + at);
	return count;
}

static void *map(int fd, int i)
{
	char *memory = mmap(NULL, MAPPING_BYTES(i), PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(i * 4 * CHUNK));

	if (memory == MAP_FAILED)
		err(2, "mapping %d", i);
	for (size_t at = 0; at < MAPPING_BYTES(i); at += PAGE)
		memory[at] = 1;
	return memory;
}

/* A page of each 2 MiB is enough to have all of them mapped again. */
static void look_at(int i)
{
	for (size_t at = 0; at < MAPPING_BYTES(i); at += CHUNK)
		is_mapped(mappings[i] + at);
}

static void move(int i)
{
	size_t bytes = MAPPING_BYTES(i);
	void *place = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (place == MAP_FAILED ||
	    mremap((void *)mappings[i], bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED)
		err(2, "moving mapping %d", i);
	mappings[i] = place;
	look_at(i);
}

/* Its place stays taken, by memory that nobody may read. */
static void drop(int i)
{
	look_at(i);
	usleep(1000);
	if (mmap((void *)mappings[i], MAPPING_BYTES(i), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) == MAP_FAILED)
		err(2, "dropping mapping %d", i);
}

static void *reader(void *seen)
{
	for (size_t at = 0; !region_is_gone(); at += PAGE)
		is_mapped(mappings[0] + at % MAPPING_BYTES(0));
	*(unsigned long *)seen = left_over();
	return NULL;
}

enum role { WAITS, MOVES, DROPS, ROLES };
static const char *const roles[] = { "waited", "moved its mappings", "dropped its mappings" };

static void act(enum role role, int round)
{
	if (role == MOVES)
		move(round % MAPPINGS);
	else if (role == DROPS && round < MAPPINGS)
		drop(round);
	else
		usleep(10000);
}

static int child(int number)
{
	enum role role = (enum role)(number % ROLES);
	unsigned long count, seen = 0;
	pthread_t thread;

	if (role != WAITS && pthread_create(&thread, NULL, reader, &seen))
		errx(2, "no thread");
	for (int round = 0; !region_is_gone(); round++)
		act(role, round);
	count = left_over();
	if (role != WAITS)
		pthread_join(thread, NULL);
	if (count || seen)
		printf("process %d, which %s: after the removal %lu pages of 224 are mapped, %lu for its reader\n", number,
		       roles[role], count, seen);
	fflush(stdout);
	return count || seen;
}

/* Until the region is gone; the oldest child makes room for the next. */
static int fork_on(pid_t children[ALIVE])
{
	int forks = 0;

	for (; !region_is_gone(); forks++) {
		pid_t *pid = &children[forks % ALIVE];

		if (*pid) {
			kill(*pid, SIGKILL);
			waitpid(*pid, NULL, 0);
		}
		*pid = fork();
		if (*pid < 0)
			err(2, "fork %d", forks);
		if (!*pid)
			_exit(child(forks));
	}
	return forks;
}

int main(int argc, char **argv)
{
	pid_t children[ALIVE] = { 0 };
	int fd, forks, status, failed;

	if (argc != 2)
		errx(2, "usage: copied REGION");
	snprintf(path, sizeof(path), "/dev/%s", argv[1]);
	fd = open(path, O_RDWR);
	if (fd < 0)
		err(2, "%s", path);
	for (int i = 0; i < MAPPINGS; i++)
		mappings[i] = map(fd, i);
	signal(SIGBUS, on_no_access);
	signal(SIGSEGV, on_no_access);
	puts("ready");
	fflush(stdout);
	forks = fork_on(children);
	failed = !!left_over();
	while (wait(&status) > 0)
		failed |= status;
	printf("%d forks\n", forks);
	return !!failed;
}
