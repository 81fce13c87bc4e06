// SPDX-License-Identifier: Apache-2.0
/*
 * To be preloaded: device-mapper's targets flakey and log-writes are told as linear ones, which they are but for what
 * they fail, drop or write down. LIBS: -shared -fPIC
 *
 * donard refuses them, since it cannot know that they move no bytes by the CPU. With this, what they are good for can be
 * used below it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/dm-ioctl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

/* "DEVICE OFFSET UP DOWN ..." and "DEVICE LOG-DEVICE": what is left is shorter. */
static void tell_as_linear(struct dm_target_spec *spec)
{
	char *parameters = (char *)(spec + 1), device[32];
	unsigned long long offset = 0;
	int found = sscanf(parameters, "%31s %llu", device, &offset);

	if (!strcmp(spec->target_type, "log-writes") && found >= 1)
		offset = 0;
	else if (strcmp(spec->target_type, "flakey") || found != 2)
		return;
	sprintf(parameters, "%s %llu", device, offset);
	strcpy(spec->target_type, "linear");
}

int ioctl(int fd, unsigned long request, ...)
{
	int (*next)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	struct dm_ioctl *io;
	va_list args;
	uint32_t at = 0;
	int rc;

	va_start(args, request);
	io = va_arg(args, void *);
	va_end(args);
	rc = next(fd, request, io);
	if (rc || request != DM_TABLE_STATUS || io->flags & DM_BUFFER_FULL_FLAG)
		return rc;
	for (uint32_t i = 0; i < io->target_count; i++) {
		struct dm_target_spec *spec = (void *)((char *)io + io->data_start + at);

		tell_as_linear(spec);
		at = spec->next;
	}
	return rc;
}
