/* SPDX-License-Identifier: Apache-2.0 */
/* For uapi.c and access.c: their checks, and short forms of the calls that they make. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <grp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uapi/p2pmem.h>

#define PAGE 4096ULL
#define MIB (1ULL << 20)

static const char volatile_region[] = "/dev/p2pmem0", persistent_region[] = "/dev/p2pmem2";

#define CHECK(what) do { \
	if (!(what)) \
		errx(1, "line %d: not so: %s", __LINE__, #what); \
} while (0)

#define EQUAL(expected, seen) do { \
	unsigned long long e_ = (expected), s_ = (seen); \
	if (e_ != s_) \
		errx(1, "line %d: %s: expected %llu (%#llx), seen %llu (%#llx)", __LINE__, #seen, \
		     e_, e_, s_, s_); \
} while (0)

/* The call must fail with this errno. */
#define FAILS(error, call) do { \
	errno = 0; \
	long r_ = (long)(call); \
	if (r_ != -1 || errno != (error)) \
		errx(1, "line %d: %s: expected %s, seen %ld (%s)", __LINE__, #call, \
		     strerrorname_np(error), r_, errno ? strerrorname_np(errno) : "no error"); \
} while (0)

#define WORKS(call) do { \
	if ((long)(call) == -1) \
		err(1, "line %d: %s", __LINE__, #call); \
} while (0)

/* --- short forms --- */

static inline int open_region(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static inline struct p2pmem_info info_of(int fd)
{
	struct p2pmem_info info = { .size = sizeof(info) };

	WORKS(ioctl(fd, P2PMEM_IOC_INFO, &info));
	return info;
}

static inline uint64_t available(void)
{
	int fd = open_region(volatile_region);
	uint64_t bytes = info_of(fd).available_bytes;

	close(fd);
	return bytes;
}

static inline void *map_at(int fd, uint64_t bytes, uint64_t offset)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
}

static inline uint64_t *mapped(int fd, uint64_t bytes, uint64_t offset)
{
	void *map = map_at(fd, bytes, offset);

	if (map == MAP_FAILED)
		err(1, "mmap of %llu bytes at %llu", (unsigned long long)bytes,
		    (unsigned long long)offset);
	return map;
}

static inline int claim(int fd, uint64_t region_offset, uint64_t length, uint64_t file_offset)
{
	struct p2pmem_claim c = {
		.size = sizeof(c), .region_offset = region_offset, .length = length,
		.file_offset = file_offset,
	};

	return ioctl(fd, P2PMEM_IOC_CLAIM, &c);
}

static inline int sync_range(int fd, uint32_t flags, uint64_t offset, uint64_t length)
{
	struct p2pmem_sync s = {
		.size = sizeof(s), .flags = flags, .file_offset = offset, .length = length,
	};

	return ioctl(fd, P2PMEM_IOC_SYNC, &s);
}

static inline void fill(uint64_t *map, uint64_t bytes, uint64_t pattern)
{
	for (uint64_t i = 0; i < bytes / 8; i++)
		map[i] = pattern + i;
}

static inline bool filled(const uint64_t *map, uint64_t bytes, uint64_t pattern)
{
	for (uint64_t i = 0; i < bytes / 8; i++)
		if (map[i] != pattern + i)
			return false;
	return true;
}

static inline bool zero(const uint64_t *map, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes / 8; i++)
		if (map[i])
			return false;
	return true;
}

/* Runs it in a child, as that user of the group p2pmem (0: as root). */
static inline void as_user(uid_t uid, void (*function)(void))
{
	gid_t group = 900;
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child) {
		if (uid && (setgroups(1, &group) || setgid(uid) || setuid(uid)))
			err(1, "setuid");
		function();
		exit(0);
	}
	WORKS(waitpid(child, &status, 0));
	CHECK(WIFEXITED(status));
	EQUAL(0, WEXITSTATUS(status));
}
