// SPDX-License-Identifier: Apache-2.0
/*
 * regio read|write REGION OFFSET BYTES FILE - moves bytes between a region and a file by the CPU, with
 * no code of the library: the tests' independent view of what lies in device memory.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <uapi/p2pmem.h>

static char *map_region(const char *name, unsigned long long offset, unsigned long long bytes)
{
	unsigned long long whole = (bytes + 4095) & ~4095ULL;
	struct p2pmem_info info = { .size = sizeof(info) };
	struct p2pmem_claim claim = {
		.size = sizeof(claim), .region_offset = offset, .length = whole,
		.file_offset = offset,
	};
	char path[64], *map;
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", name);
	fd = open(path, O_RDWR);
	if (fd < 0 || ioctl(fd, P2PMEM_IOC_INFO, &info))
		err(1, "%s", path);
	if (!(info.flags & P2PMEM_REGION_PERSISTENT) && ioctl(fd, P2PMEM_IOC_CLAIM, &claim))
		err(1, "%s: claim %llu+%llu", path, offset, whole);
	map = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	if (map == MAP_FAILED)
		err(1, "%s: mmap", path);
	return map;
}

/* Whole words only: device memory may not take more than 8 bytes at once. */
static void copy_words(void *to, const void *from, size_t bytes)
{
	volatile unsigned long long *t = to;
	const volatile unsigned long long *f = from;

	for (size_t i = 0; i < (bytes + 7) / 8; i++)
		t[i] = f[i];
}

int main(int argc, char **argv)
{
	unsigned long long offset, bytes;
	char *map, *buffer;
	FILE *file;
	int write;

	if (argc != 6)
		errx(2, "usage: regio read|write REGION OFFSET BYTES FILE");
	write = !strcmp(argv[1], "write");
	offset = strtoull(argv[3], NULL, 0);
	bytes = strtoull(argv[4], NULL, 0);
	file = fopen(argv[5], write ? "r" : "w");
	buffer = calloc(1, bytes + 8);
	if (!file || !buffer)
		err(1, "%s", argv[5]);
	map = map_region(argv[2], offset, bytes);
	if (write) {
		if (fread(buffer, 1, bytes, file) != bytes)
			err(1, "%s: too short", argv[5]);
		copy_words(map, buffer, bytes);
		return 0;
	}
	copy_words(buffer, map, bytes);
	if (fwrite(buffer, 1, bytes, file) != bytes || fclose(file))
		err(1, "%s", argv[5]);
	return 0;
}
