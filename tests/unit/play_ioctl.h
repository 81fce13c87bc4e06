/* SPDX-License-Identifier: Apache-2.0 */
/* ioctl() of a test's program, in place of the C library's. The one file that includes this plays the requests it knows. */
#ifndef PLAY_IOCTL_H
#define PLAY_IOCTL_H

#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ASK_THE_KERNEL	(-1000)

/* Returns what ioctl() is to return, or ASK_THE_KERNEL. */
static int play_ioctl(int fd, unsigned long request, void *argument);

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *argument;
	int rc;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	rc = play_ioctl(fd, request, argument);
	return rc == ASK_THE_KERNEL ? (int)syscall(SYS_ioctl, fd, request, argument) : rc;
}

#endif /* PLAY_IOCTL_H */
