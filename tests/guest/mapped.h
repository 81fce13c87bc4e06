/* SPDX-License-Identifier: Apache-2.0 */
/* For folio.c and bigbar.c: a region by its name, and mappings of it. */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <uapi/p2pmem.h>

#define PAGE 4096UL

static const char *region;	/* "p2pmem0" */

static inline int open_region(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", region);
	fd = open(path, O_RDWR);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static inline void *map(int fd, size_t bytes, off_t offset)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);

	if (memory == MAP_FAILED)
		err(1, "mmap of %zu bytes at %ld", bytes, (long)offset);
	return memory;
}

static inline struct p2pmem_info info_of(int fd)
{
	struct p2pmem_info info = { .size = sizeof(info) };

	if (ioctl(fd, P2PMEM_IOC_INFO, &info))
		err(1, "information on %s", region);
	return info;
}
