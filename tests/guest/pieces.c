// SPDX-License-Identifier: Apache-2.0
/*
 * pieces hold REGION       - owns every second granule until it is killed: the rest is free in single ones.
 * pieces hold-few REGION   - owns the first granule of each 8 MiB.
 * pieces map REGION        - maps all that is free, writes a page of each 2 MiB, says how much it was.
 * pieces remap REGION      - the same again and again, until the region is gone.
 * pieces too-much REGION   - maps a granule, and around it more than is free; says why it cannot.
 * pieces look REGION       - a child maps all that is free, by the same open file; says how often the parent found
 *                            the mapping's first granule before that, and how the child ended.
 * pieces export REGION     - the same memory as a dma-buf.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uapi/p2pmem.h>

#define GRANULE	4096ULL
#define CHUNK	(2ULL << 20)

static int open_region(const char *name, struct p2pmem_info *info)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", name);
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && ioctl(fd, P2PMEM_IOC_INFO, info)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int hold(const char *name, unsigned long long step)
{
	struct p2pmem_info info;
	int fd = open_region(name, &info);

	if (fd < 0)
		err(1, "%s", name);
	for (unsigned long long at = 0; at < info.region_bytes; at += step) {
		struct p2pmem_claim claim = {
			.size = sizeof(claim), .region_offset = at, .length = GRANULE, .file_offset = at,
		};

		if (ioctl(fd, P2PMEM_IOC_CLAIM, &claim))
			err(1, "%s: claim at %llu", name, at);
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

/* Bytes mapped and released again, or 0 and errno. */
static unsigned long long map_all(const char *name)
{
	struct p2pmem_info info;
	int fd = open_region(name, &info);
	unsigned long long bytes;
	char *map;

	if (fd < 0)
		return 0;
	bytes = info.available_bytes;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		close(fd);
		return 0;
	}
	for (unsigned long long at = 0; at < bytes; at += CHUNK)
		*(volatile unsigned long long *)(map + at) = at;
	ioctl(fd, P2PMEM_IOC_INFO, &info);
	printf("mapped %llu, %llu left\n", bytes, (unsigned long long)info.available_bytes);
	fflush(stdout);
	munmap(map, bytes);
	close(fd);
	return bytes;
}

static int remap(const char *name)
{
	while (map_all(name))
		;
	if (errno != ENODEV && errno != ENOENT && errno != ENXIO)
		err(1, "%s", name);
	puts("the region has gone");
	return 0;
}

/* Two gaps around a granule: each would fit, and both together not. */
static int too_much(const char *name)
{
	struct p2pmem_info info;
	int fd = open_region(name, &info);
	unsigned long long gap;

	if (fd < 0)
		err(1, "%s", name);
	gap = info.available_bytes / 5 * 3 / GRANULE * GRANULE;
	if (mmap(NULL, GRANULE, PROT_READ, MAP_SHARED, fd, (off_t)gap) == MAP_FAILED)
		err(1, "%s: a granule at %llu", name, gap);
	if (mmap(NULL, 2 * gap, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED)
		errx(1, "%s: %llu bytes were mapped of %llu", name, 2 * gap, gap / 3 * 5);
	puts(strerrorname_np(errno));
	return 0;
}

static int map_by(int fd, unsigned long long bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED;
}

static int look(const char *name)
{
	struct p2pmem_info info;
	int fd = open_region(name, &info), status;
	unsigned long found = 0;
	pid_t child;

	if (fd < 0)
		err(1, "%s", name);
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (!child)
		_exit(map_by(fd, info.available_bytes));
	while (!waitpid(child, &status, WNOHANG)) {
		struct p2pmem_locate locate = { .size = sizeof(locate) };

		if (!ioctl(fd, P2PMEM_IOC_LOCATE, &locate))
			found++;
	}
	printf("found %lu times, then %s\n", found,
	       WIFSIGNALED(status) ? "killed" : status ? "refused" : "mapped");
	return 0;
}

static int export(const char *name)
{
	struct p2pmem_info info;
	int fd = open_region(name, &info);
	struct p2pmem_export_dmabuf request = {
		.size = sizeof(request), .fd_flags = O_RDWR | O_CLOEXEC, .length = info.available_bytes,
	};

	if (fd < 0 || ioctl(fd, P2PMEM_IOC_EXPORT_DMABUF, &request) < 0)
		err(1, "%s", name);
	printf("exported %llu\n", (unsigned long long)request.length);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "look"))
		return look(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "export"))
		return export(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "too-much"))
		return too_much(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "hold"))
		return hold(argv[2], 2 * GRANULE);
	if (argc == 3 && !strcmp(argv[1], "hold-few"))
		return hold(argv[2], 4 * CHUNK);
	if (argc == 3 && !strcmp(argv[1], "remap"))
		return remap(argv[2]);
	if (argc != 3 || strcmp(argv[1], "map"))
		errx(2, "usage: pieces hold|hold-few|map|remap|too-much|look|export REGION");
	if (!map_all(argv[2]))
		err(1, "%s", argv[2]);
	return 0;
}
