// SPDX-License-Identifier: Apache-2.0
/*
 * told REGION - holds memory of a region by a pin, and says what poll() and P2PMEM_IOC_STATUS tell of it.
 *
 * Prints "ready", then a line whenever something changed: the state's number and the events, as
 * "2 pri". On SIGUSR2 it lets go. Ends with the region.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <uapi/p2pmem.h>

static int ends[2];

static void let_go(int signal_number)
{
	(void)signal_number;
	close(ends[0]);
	close(ends[1]);
}

static void pin(int fd)
{
	struct iovec iov = { .iov_len = 4096 };

	iov.iov_base = mmap(NULL, iov.iov_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (iov.iov_base == MAP_FAILED)
		err(1, "mmap");
	*(volatile char *)iov.iov_base = 1;
	if (pipe(ends) || vmsplice(ends[1], &iov, 1, 0) != 4096)
		err(1, "vmsplice");
}

static void tell(unsigned int state, short events)
{
	printf("%u%s%s%s%s\n", state, events & POLLPRI ? " pri" : "", events & POLLERR ? " err" : "",
	       events & POLLHUP ? " hup" : "", events & ~(POLLPRI | POLLERR | POLLHUP) ? " more" : "");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct p2pmem_status status = { .size = sizeof(status) };
	struct pollfd pollfd = { .events = POLLPRI };
	short before = 0;
	char path[64];

	if (argc != 2)
		errx(2, "usage: told REGION");
	snprintf(path, sizeof(path), "/dev/%s", argv[1]);
	pollfd.fd = open(path, O_RDWR);
	if (pollfd.fd < 0)
		err(1, "%s", path);
	signal(SIGUSR2, let_go);
	pin(pollfd.fd);
	puts("ready");
	fflush(stdout);
	while (status.state != P2PMEM_STATE_GONE) {
		/*
		 * The first wait lasts until something happens; later ones return at once, with events that are known already.
		 */
		if (poll(&pollfd, 1, -1) != 1)
			continue;
		if (pollfd.revents != before) {
			if (ioctl(pollfd.fd, P2PMEM_IOC_STATUS, &status))
				err(1, "status");
			tell(status.state, pollfd.revents);
			before = pollfd.revents;
		}
		usleep(20000);
	}
	return 0;
}
