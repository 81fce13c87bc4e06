// SPDX-License-Identifier: Apache-2.0
/*
 * forbid EPERM|ENOSYS io_uring|all COMMAND... - runs COMMAND without io_uring, or without Linux AIO as well: a seccomp filter
 * lets io_uring_setup(), and io_setup(), fail with that errno, as the filters of containers and services do.
 */
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void forbid(unsigned int error_number, bool aio)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, aio ? SYS_io_setup : SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error_number),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		err(125, "no filter");
}

int main(int argc, char **argv)
{
	if (argc < 4)
		errx(125, "usage: forbid EPERM|ENOSYS io_uring|all COMMAND...");
	forbid(strcmp(argv[1], "ENOSYS") ? EPERM : ENOSYS, !strcmp(argv[2], "all"));
	execvp(argv[3], argv + 3);
	err(125, "%s", argv[3]);
}
