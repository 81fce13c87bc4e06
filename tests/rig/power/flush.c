// SPDX-License-Identifier: Apache-2.0
/*
 * Replaces the flushes of the emulator's devices; it is loaded into every emulator.
 *
 * A flush does not go to the host's disk. A killed emulator loses nothing, since all that it wrote is in the host's page
 * cache, and one read of PMRSTS would write the whole PMR out while every processor of the guest stands still.
 *
 * For the same reason a missing barrier of the PMR, or a missing flush of a drive, would not show. So if a file F of a
 * device has a copy F.durable beside it, each flush copies F's bytes there: msync(), which the PMR's barrier calls, and
 * fdatasync(), which a drive's flush calls. After a power cut lose.c makes F a mixture of both.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "extents.h"

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void keep_page(int file, int durable, off_t at, void *user)
{
	char now[PAGE_BYTES], kept[PAGE_BYTES];

	(void)user;
	read_page(file, at, now);
	read_page(durable, at, kept);
	if (memcmp(now, kept, PAGE_BYTES))
		write_page(durable, at, now);
}

static void keep(const char *path)
{
	char name[4096 + 16];
	int file, durable;

	snprintf(name, sizeof(name), "%s.durable", path);
	durable = open(name, O_RDWR | O_CLOEXEC);
	if (durable < 0)
		return;
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		abort();
	pthread_mutex_lock(&one_at_a_time);
	each_page(file, durable, keep_page, NULL);
	pthread_mutex_unlock(&one_at_a_time);
	close(file);
	close(durable);
}

/*
 * The file that is mapped there, as /proc has it: "START-END PERMISSIONS OFFSET DEVICE INODE PATH". Empty: none is.
 * The emulator maps a PMR once and for good, so it is looked for once.
 */
static const char *mapped_path(uintptr_t address)
{
	static _Thread_local struct { uintptr_t start, end; char path[4096]; } last;
	char line[4096 + 128];
	FILE *maps;

	if (last.start <= address && address < last.end)
		return last.path;
	maps = fopen("/proc/self/maps", "re");
	if (!maps)
		abort();
	last.start = last.end = 0;
	last.path[0] = '\0';
	while (!last.end && fgets(line, sizeof(line), maps)) {
		uintptr_t start, end;
		char *path = strchr(line, '/');

		if (!path || sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &start, &end) != 2 || address < start || address >= end)
			continue;
		path[strcspn(path, "\n")] = '\0';
		snprintf(last.path, sizeof(last.path), "%s", path);
		last.start = start;
		last.end = end;
	}
	fclose(maps);
	return last.path;
}

static void keep_open(int fd)
{
	char link[64], path[4096];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return;
	path[length] = '\0';
	keep(path);
}

int msync(void *address, size_t length_bytes, int flags)
{
	(void)length_bytes;
	(void)flags;
	keep(mapped_path((uintptr_t)address));
	return 0;
}

int fdatasync(int fd)
{
	keep_open(fd);
	return 0;
}
