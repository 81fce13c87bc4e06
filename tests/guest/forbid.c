// SPDX-License-Identifier: Apache-2.0
/*
 * forbid EPERM|ENOSYS COMMAND... - runs COMMAND without io_uring: a seccomp filter lets io_uring_setup() fail with that errno,
 * as the filters of containers and services do.
 */
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void forbid(unsigned int error_number)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error_number),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		err(125, "no filter");
}

int main(int argc, char **argv)
{
	if (argc < 3)
		errx(125, "usage: forbid EPERM|ENOSYS COMMAND...");
	forbid(strcmp(argv[1], "ENOSYS") ? EPERM : ENOSYS);
	execvp(argv[2], argv + 2);
	err(125, "%s", argv[2]);
}
