// SPDX-License-Identifier: Apache-2.0
/*
 * To be preloaded: DMA that reports success and never arrives, which the emulator's devices do not have where there
 * is a route. LIBS: -shared -fPIC
 *
 * LOSE=read: what is read from a block device goes elsewhere. LOSE=write: an NVMe command that reads memory reads
 * zeros instead. LOSE=/dev/p2pmemN: nothing is lost, but the signal LOSE_SIGNAL comes while such a command
 * reads that region.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/nvme_ioctl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static uint8_t elsewhere[1 << 20] __attribute__((aligned(4096)));

static int loses(const char *direction)
{
	const char *word = getenv("LOSE");

	return word && !strcmp(word, direction);
}

static int is_block(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISBLK(st.st_mode);
}

/* Is @address in a mapping of the file that LOSE names? */
static int is_of_named(uint64_t address)
{
	char line[512], path[256];
	unsigned long long start, end;
	FILE *maps = getenv("LOSE") ? fopen("/proc/self/maps", "re") : NULL;
	int found = 0;

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%llx-%llx %*s %*s %*s %*s %255s", &start, &end, path) == 3 && address >= start &&
			address < end && !strcmp(path, getenv("LOSE"));
	if (maps)
		fclose(maps);
	return found;
}

ssize_t pread(int fd, void *to, size_t bytes, off_t offset)
{
	ssize_t (*real)(int, void *, size_t, off_t) = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");

	if (loses("read") && bytes <= sizeof(elsewhere) && is_block(fd))
		to = elsewhere;
	return real(fd, to, bytes, offset);
}

int ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, void *) = (int (*)(int, unsigned long, void *))dlsym(RTLD_NEXT, "ioctl");
	struct nvme_passthru_cmd *command;
	va_list args;

	va_start(args, request);
	command = va_arg(args, void *);
	va_end(args);
	if (loses("write") && request == NVME_IOCTL_IO_CMD)
		command->addr = (uintptr_t)elsewhere;
	if (request == NVME_IOCTL_IO_CMD && is_of_named(command->addr))
		raise(atoi(getenv("LOSE_SIGNAL")));
	return real(fd, request, command);
}
