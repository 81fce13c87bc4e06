// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "udev.h"

/* The socket of systemd-udevd. */
#define UDEV_CONTROL	"/run/udev/control"

/* Does a udev rule run this program?  udev waits for it then, so a wait for udev's events would never end. */
static bool in_rule(void)
{
	return getenv("ACTION") && getenv("DEVPATH") && getenv("SUBSYSTEM") && getenv("SEQNUM");
}

bool cli_udev_runs(void)
{
	return !access(UDEV_CONTROL, F_OK);
}

bool cli_tell_udev(const char *region)
{
	char path[128];
	bool told;
	FILE *uevent;

	snprintf(path, sizeof(path), "/sys/class/p2pmem/%s/uevent", region);
	uevent = fopen(path, "we");
	if (!uevent)
		return false;
	told = fputs("change", uevent) >= 0;
	return !fclose(uevent) && told;
}

bool cli_await_udev(void)
{
	static char settle[] = "settle", limit[] = "--timeout=5", program[] = "udevadm";
	char *const argv[] = { program, settle, limit, NULL };
	posix_spawn_file_actions_t actions;
	int status = -1;
	pid_t pid;

	if (in_rule() || !cli_udev_runs())
		return false;
	/* Drops udevadm's output: a message about its timeout would puzzle the user, whose region exists. */
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&actions, 0, 1);
	posix_spawn_file_actions_adddup2(&actions, 0, 2);
	if (!posix_spawnp(&pid, program, &actions, NULL, argv, environ))
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	posix_spawn_file_actions_destroy(&actions);
	return !status;
}
