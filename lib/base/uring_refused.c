// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files.h"
#include "base/rights.h"
#include "base/uring_refused.h"

#define SYSCTL		"kernel.io_uring_disabled"
#define FILTER_REMEDY	"Let the filter allow io_uring_setup, io_uring_enter and io_uring_register"

bool dnd_uring_is_refused(int rc)
{
	return rc == -EPERM || rc == -EACCES || rc == -ENOSYS;
}

static int refusal_of(long rc)
{
	return rc < 0 && dnd_uring_is_refused(-errno) ? errno : 0;
}

/* The ring has no eventfd to unregister: where the second call is allowed, it fails with an errno that is no refusal. */
int dnd_uring_try(int fd)
{
	int refused = refusal_of(syscall(SYS_io_uring_enter, fd, 0, 0, 0, NULL, 0));

	return refused ? refused : refusal_of(syscall(SYS_io_uring_register, fd, IORING_UNREGISTER_EVENTFD, NULL, 0));
}

int dnd_uring_ask(void)
{
	struct io_uring_params params;
	int fd, refused;

	memset(&params, 0, sizeof(params));
	fd = (int)syscall(SYS_io_uring_setup, 1, &params);
	if (fd < 0)
		return refusal_of(fd);
	refused = dnd_uring_try(fd);
	close(fd);
	return refused;
}

int dnd_aio_try(aio_context_t context)
{
	if (syscall(SYS_io_submit, context, 0L, NULL) < 0 ||
	    syscall(SYS_io_getevents, context, 0L, 0L, NULL, NULL) < 0)
		return errno;
	return 0;
}

int dnd_aio_ask(void)
{
	aio_context_t context = 0;
	int refused;

	if (syscall(SYS_io_setup, 1, &context))
		return errno;
	refused = dnd_aio_try(context);
	return syscall(SYS_io_destroy, context) && !refused ? errno : refused;
}

/* Returns @otherwise if there is no such sysctl (Linux before 6.6), or it cannot be read. */
static int sysctl_value(const char *path, int otherwise)
{
	char text[32];
	int value;

	return dnd_text_at(path, text, sizeof(text)) || sscanf(text, "%d", &value) != 1 ? otherwise : value;
}

/* -1 means no group, and is the kernel's default. */
static int sysctl_group(void)
{
	return sysctl_value("/proc/sys/kernel/io_uring_group", -1);
}

/*
 * Decides as io_uring_allowed() in io_uring/io_uring.c does: 1 allows io_uring only with CAP_SYS_ADMIN, or in one group.
 * Returns 0 if it is allowed, or else the value of the sysctl.
 */
static int sysctl_forbids(void)
{
	int disabled = sysctl_value("/proc/sys/kernel/io_uring_disabled", 0);
	int group = sysctl_group();

	if (disabled == 1 && (dnd_has_capability(CAP_SYS_ADMIN) || (group >= 0 && dnd_in_group((gid_t)group))))
		return 0;
	return disabled;
}

static void tell(struct dnd_uring_refusal *refusal, const char *cause, const char *remedy)
{
	snprintf(refusal->cause, sizeof(refusal->cause), "%s", cause);
	snprintf(refusal->remedy, sizeof(refusal->remedy), "%s", remedy);
}

static void tell_unfiltered(int error_number, struct dnd_uring_refusal *refusal)
{
	if (error_number == ENOSYS)
		tell(refusal, "the kernel was built without CONFIG_IO_URING", "Use a kernel that has it");
	else
		tell(refusal, "neither the sysctl " SYSCTL " nor a seccomp filter forbids it: a security module does",
		     "Change its policy (SELinux, AppArmor)");
}

void dnd_uring_refusal(int error_number, struct dnd_uring_refusal *refusal)
{
	int disabled = error_number == ENOSYS ? 0 : sysctl_forbids();
	bool filtered = dnd_is_filtered();

	if (disabled >= 2)
		tell(refusal, "the sysctl " SYSCTL " is 2, which forbids it to every process", filtered ?
		     "Set it to 0; the seccomp filter of this process may forbid io_uring, too" : "Set it to 0");
	else if (disabled == 1 && sysctl_group() < 0)
		tell(refusal, "the sysctl " SYSCTL " is 1, which forbids it outside of the group that kernel.io_uring_group "
		     "names, and that names none", filtered ? "Set kernel.io_uring_group to a group of yours, or the sysctl to 0; "
		     "the seccomp filter of this process may forbid io_uring, too" : "Set kernel.io_uring_group to a group of "
		     "yours, or the sysctl to 0");
	else if (disabled == 1)
		tell(refusal, "the sysctl " SYSCTL " is 1, which forbids it outside of the group that kernel.io_uring_group "
		     "names", filtered ? "Join that group, or set the sysctl to 0; the seccomp filter of this process may forbid "
		     "io_uring, too" : "Join that group, or set the sysctl to 0");
	else if (!filtered)
		tell_unfiltered(error_number, refusal);
	else if (error_number == ENOSYS)
		tell(refusal, "a seccomp filter of this container or service forbids it, or the kernel was built without it",
		     FILTER_REMEDY);
	else
		tell(refusal, "a seccomp filter of this container or service forbids it, and the sysctl " SYSCTL " does not",
		     FILTER_REMEDY);
}
