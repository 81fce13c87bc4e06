// SPDX-License-Identifier: Apache-2.0
/* Why io_uring cannot be used: who forbids it is asked, and not guessed. */
#include <stdio.h>

#include "base/base.h"

#define DISABLED_SYSCTL	"/proc/sys/kernel/io_uring_disabled"

/* -1: this kernel has no such sysctl (Linux before 6.6), or it cannot be read. */
static int read_disabled(void)
{
	FILE *file = fopen(DISABLED_SYSCTL, "re");
	int value = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

static int refused(struct donard_context *ctx, int error_number)
{
	const char *what = strerror(error_number);
	int disabled = error_number == ENOSYS ? 0 : read_disabled();

	if (disabled == 2)
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "io_uring is refused (%s): the sysctl kernel.io_uring_disabled is 2, "
				"which forbids it to every process. Set it to 0; a seccomp filter may forbid io_uring, too.",
				what);
	if (disabled == 1)
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "io_uring is refused (%s): the sysctl kernel.io_uring_disabled is 1, "
				"which forbids it outside of the group kernel.io_uring_group, or a seccomp filter of this "
				"container or service does. Join the group or set the sysctl to 0, and let the filter allow "
				"io_uring_setup, io_uring_enter and io_uring_register.", what);
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "io_uring is refused (%s): %s, and the sysctl kernel.io_uring_disabled does "
			"not. Let the filter allow io_uring_setup, io_uring_enter and io_uring_register.", what,
			error_number == ENOSYS ? "a seccomp filter of this container or service forbids it, or the kernel "
			"was built without it" : "a seccomp filter of this container or service forbids it");
}

bool dnd_uring_is_refused(int rc)
{
	return rc == -EPERM || rc == -EACCES || rc == -ENOSYS;
}

int dnd_fail_uring(struct donard_context *ctx, int error_number)
{
	if (dnd_uring_is_refused(-error_number))
		return refused(ctx, error_number);
	if (error_number == ENOMEM)
		return dnd_fail_errno(ctx, error_number, "io_uring cannot be set up. Free memory, or raise the limit of locked "
				      "memory (ulimit -l)");
	return dnd_fail_errno(ctx, error_number, "io_uring cannot be set up");
}
