// SPDX-License-Identifier: Apache-2.0
/* See maplimit.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/files.h"
#include "base/maplimit.h"

/*
 * Makes an anonymous mapping, and removes it.  Returns the errno, or 0.  Under mlockall(MCL_FUTURE), a mapping of DRAM is
 * filled with pages for that moment.
 */
static int try_mapping(uint64_t bytes, bool dram)
{
	void *map = mmap(NULL, bytes, dram ? PROT_READ | PROT_WRITE : PROT_NONE,
			 dram ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return errno;
	munmap(map, bytes);
	return 0;
}

/*
 * Reads a field of /proc/self/statm, in bytes: 0 is all address space, 5 is what RLIMIT_DATA counts plus the stacks.  Returns 0
 * if that is not known.
 */
static uint64_t used_bytes(unsigned int field)
{
	unsigned long long pages[6] = { 0 };
	char text[128];

	if (dnd_text_at("/proc/self/statm", text, sizeof(text)) ||
	    sscanf(text, "%llu %llu %llu %llu %llu %llu", &pages[0], &pages[1], &pages[2], &pages[3], &pages[4], &pages[5]) != 6)
		return 0;
	return pages[field] * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool is_limited(int resource, unsigned long long *limit)
{
	struct rlimit rlimit;

	if (getrlimit(resource, &rlimit) || rlimit.rlim_cur == RLIM_INFINITY)
		return false;
	*limit = rlimit.rlim_cur;
	return true;
}

/* Would a mapping of @bytes exceed the limit of a resource of which @used bytes are in use? */
static bool passes(int resource, uint64_t used, uint64_t bytes, unsigned long long *limit)
{
	return is_limited(resource, limit) && (bytes > *limit || used > *limit - bytes);
}

/* Does not use stdio, which would allocate memory. */
static bool has_all_mappings(uint64_t *most)
{
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char text[4096];
	uint64_t count = 0;
	ssize_t got;

	while (maps >= 0 && (got = read(maps, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < got; i++)
			count += text[i] == '\n';
	if (maps >= 0)
		close(maps);
	/* The file also lists a page of the kernel, which the limit does not count. */
	return !dnd_number_at("/proc/sys/vm/max_map_count", most) && count >= *most;
}

static bool of_memory(uint64_t bytes, bool dram, char *text, size_t text_bytes)
{
	unsigned long long limit;
	uint64_t most;

	if (passes(RLIMIT_AS, used_bytes(0), bytes, &limit))
		snprintf(text, text_bytes, "this process may have %llu bytes of address space, and has %llu. Raise the limit (ulimit -v)",
			 limit, (unsigned long long)used_bytes(0));
	else if (dram && passes(RLIMIT_DATA, used_bytes(5), bytes, &limit))
		snprintf(text, text_bytes, "this process may have %llu bytes of private memory, and has %llu. Raise the limit (ulimit -d)",
			 limit, (unsigned long long)used_bytes(5));
	else if (has_all_mappings(&most))
		snprintf(text, text_bytes, "this process has all the mappings that one may have. Raise that (sysctl vm.max_map_count, "
			 "which is %llu)", (unsigned long long)most);
	else
		return false;
	return true;
}

bool dnd_map_limit(int error_number, uint64_t bytes, bool dram, char *text, size_t text_bytes)
{
	unsigned long long limit;

	if ((error_number != ENOMEM && error_number != EAGAIN) || try_mapping(bytes, dram) != error_number)
		return false;
	if (error_number == ENOMEM)
		return of_memory(bytes, dram, text, text_bytes);
	/* Only the limit of locked memory makes an anonymous mapping fail with EAGAIN. */
	if (!is_limited(RLIMIT_MEMLOCK, &limit))
		return false;
	snprintf(text, text_bytes, "this process locks all its memory (mlockall), and may lock %llu bytes. Raise the limit (ulimit -l)",
		 limit);
	return true;
}
