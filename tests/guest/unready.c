// SPDX-License-Identifier: Apache-2.0
/*
 * unready - memory that is enabled and not ready yet: the PMR of p2pmem2 says so from the command UNREADY to the command
 * READY (uapi.sh), CALLS is the file that says how often it was asked, and LOSE resets the memory. Who must know waits, and
 * can be killed; nobody waits for who waits, neither in mmap() nor at a page fault, which come with mmap_lock. Needs root.
 * LIBS: -lpthread
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "uapi.h"

static atomic_bool answered;

static void run(const char *name)
{
	int status = system(getenv(name));

	if (status)
		errx(1, "%s: status %d", name, status);
}

static unsigned long calls(void)
{
	unsigned long count = 0;
	FILE *file = fopen(getenv("CALLS"), "re");

	if (!file || fscanf(file, "%lu", &count) != 1)
		err(1, "%s", getenv("CALLS"));
	fclose(file);
	return count;
}

/* Waits until another process waits, which then polls the device. */
static void somebody_waits(void)
{
	unsigned long before = calls();

	while (calls() < before + 3)
		usleep(5000);
}

static void *claims(void *fd)
{
	WORKS(claim(*(int *)fd, 8 * MIB, MIB, 8 * MIB));
	answered = true;
	return NULL;
}

/* Maps memory in the process that claims, whose mmap_lock would be held. */
static void maps(int fd)
{
	uint64_t *map = mapped(fd, 2 * MIB, 0);

	fill(map, MIB, 0xfeed);
	CHECK(filled(map, MIB, 0xfeed));
	WORKS(mprotect(map, MIB, PROT_READ));
	WORKS(munmap(map, 2 * MIB));
	CHECK(!answered);
}

static void opens(int fd)
{
	(void)fd;
	open_region(persistent_region);
}

static void syncs(int fd)
{
	sync_range(fd, P2PMEM_SYNC_DURABLE, 0, 0);
}

static void is_killed(void (*call)(int fd), int fd)
{
	int status;
	pid_t child = fork();

	if (!child) {
		call(fd);
		_exit(0);
	}
	somebody_waits();
	WORKS(kill(child, SIGKILL));
	WORKS(waitpid(child, &status, 0));
	CHECK(WIFSIGNALED(status));
}

/* The interrupted call reported no reset, so the next user of the open file gets the report. */
static void reset_is_told_to_others(int fd)
{
	WORKS(sync_range(fd, P2PMEM_SYNC_DURABLE, 0, 0));
	run("LOSE");
	run("UNREADY");
	is_killed(syncs, fd);
	run("READY");
	FAILS(EIO, sync_range(fd, P2PMEM_SYNC_DURABLE, 0, 0));
	WORKS(sync_range(fd, P2PMEM_SYNC_DURABLE, 0, 0));
}

int main(void)
{
	int fd = open_region(persistent_region);
	pthread_t thread;

	run("UNREADY");
	is_killed(opens, fd);
	CHECK(!pthread_create(&thread, NULL, claims, &fd));
	somebody_waits();
	maps(fd);
	run("READY");
	CHECK(!pthread_join(thread, NULL));
	CHECK(answered);
	reset_is_told_to_others(fd);
	return 0;
}
