// SPDX-License-Identifier: Apache-2.0
/*
 * dax store FILE TEXT - makes FILE, 2 MiB long, stores TEXT through a mapping, and flushes it by msync().
 * dax sync FILE - maps it with MAP_SYNC, as who flushes by instructions alone would.
 * dax pmdk FILE TEXT - as "store", through PMDK's libpmem, which prints what it takes the file for.
 * dax hold FILE - prints "mapped" and keeps a page of it mapped, until it is killed.
 * dax pipe FILE - puts a page of it into a pipe, prints "piped", and has the pipe alone until it is killed.
 * LIBS: -lpmem
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <libpmem.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_BYTES	(2UL << 20)

static char *map_file(const char *path, int flags)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	char *map;

	if (fd < 0 || ftruncate(fd, FILE_BYTES))
		err(1, "%s", path);
	map = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (map == MAP_FAILED)
		err(1, "%s: mmap", path);
	close(fd);
	return map;
}

static int store(const char *path, const char *text)
{
	char *map = map_file(path, MAP_SHARED);

	strcpy(map, text);
	if (msync(map, FILE_BYTES, MS_SYNC))
		err(1, "%s: msync", path);
	return 0;
}

static int pmdk(const char *path, const char *text)
{
	size_t bytes;
	int is_pmem;
	char *map = pmem_map_file(path, FILE_BYTES, PMEM_FILE_CREATE, 0600, &bytes, &is_pmem);

	if (!map)
		errx(1, "%s: %s", path, pmem_errormsg());
	printf("is_pmem %d, pmem_is_pmem() %d\n", is_pmem, pmem_is_pmem(map, bytes));
	strcpy(map, text);
	if (pmem_msync(map, strlen(text) + 1))
		err(1, "%s: pmem_msync", path);
	return pmem_unmap(map, bytes);
}

static int hold(const char *path)
{
	volatile char *map = map_file(path, MAP_SHARED);

	map[0] = 'x';
	puts("mapped");
	fflush(stdout);
	return pause();
}

static int pipe_page(const char *path)
{
	char *map = map_file(path, MAP_SHARED);
	struct iovec page = { .iov_base = map, .iov_len = 4096 };
	int ends[2];

	map[0] = 'x';
	if (pipe(ends) || vmsplice(ends[1], &page, 1, 0) != 4096)
		err(1, "%s: vmsplice", path);
	munmap(map, FILE_BYTES);
	puts("piped");
	fflush(stdout);
	return pause();
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "store"))
		return store(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "pmdk"))
		return pmdk(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "sync"))
		return !map_file(argv[2], MAP_SHARED_VALIDATE | MAP_SYNC);
	if (argc == 3 && !strcmp(argv[1], "hold"))
		return hold(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "pipe"))
		return pipe_page(argv[2]);
	errx(2, "usage: dax store|pmdk FILE TEXT | sync|hold|pipe FILE");
}
