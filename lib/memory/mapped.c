// SPDX-License-Identifier: Apache-2.0
/*
 * Looks a mapping up in /proc/self/maps.  That works even in a sandbox, such as an ordinary container, that forbids the calls
 * by which pages.c finds out whose the pages are.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "memory/memory.h"

#define OF_DMABUF	"/dmabuf:"	/* the name of each dma-buf's file begins so */

/* Any node of a region: it may have another name here than /dev/p2pmem0. */
static bool is_node_of_region(const struct donard_context *ctx, const char *path)
{
	char name[P2PMEM_NAME_BYTES];
	struct stat found;

	return !stat(path, &found) && dnd_region_of_node(ctx, &found, name);
}

/* Finds the path in a line such as "7f00-7f01 rw-s 00000000 00:06 1234   /dev/p2pmem0"; "" if there is none. */
static bool holds(char *line, uintptr_t address, const char **path)
{
	unsigned long start, end;
	int at = 0;

	if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &start, &end, &at) != 2 || address < start || address >= end)
		return false;
	line[strcspn(line, "\n")] = '\0';
	*path = line + at;
	return true;
}

int dnd_mapping_is_of_device(const struct donard_context *ctx, const void *address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	const char *path = "";
	char *line = NULL;
	size_t room = 0;
	bool found;

	if (!maps)
		return dnd_error_is_want(errno) ? -errno : 0;
	while (getline(&line, &room, maps) > 0 && !holds(line, (uintptr_t)address, &path))
		;
	found = !strncmp(path, OF_DMABUF, strlen(OF_DMABUF)) || is_node_of_region(ctx, path);
	free(line);
	fclose(maps);
	return found;
}
