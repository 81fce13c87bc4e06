// SPDX-License-Identifier: Apache-2.0
/*
 * forbid EPERM|ENOSYS io_uring|all|requests|all-requests|registrations|pages|all-pages COMMAND... - runs COMMAND without
 * io_uring, or without Linux AIO as well, as the filters of containers and services do: a seccomp filter lets io_uring_setup(),
 * and io_setup(), fail with that errno.  "requests": the setup is allowed, and io_uring_enter() fails, and with "all-requests"
 * io_submit() as well.  "registrations": only io_uring_register() fails.
 * "pages": move_pages() fails, by which host memory is told from a device's, and with "all-pages" process_vm_readv() as well.
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

static void forbid(unsigned int error_number, unsigned int call, unsigned int other_call)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other_call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error_number),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		err(125, "no filter");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *word;
		unsigned int calls[2];
	} sets[] = {
		{ "io_uring", { SYS_io_uring_setup, SYS_io_uring_setup } },
		{ "all", { SYS_io_uring_setup, SYS_io_setup } },
		{ "requests", { SYS_io_uring_enter, SYS_io_uring_enter } },
		{ "all-requests", { SYS_io_uring_enter, SYS_io_submit } },
		{ "registrations", { SYS_io_uring_register, SYS_io_uring_register } },
		{ "pages", { SYS_move_pages, SYS_move_pages } },
		{ "all-pages", { SYS_move_pages, SYS_process_vm_readv } },
	};
	size_t i = 0;

	while (argc > 3 && i < sizeof(sets) / sizeof(sets[0]) && strcmp(argv[2], sets[i].word))
		i++;
	if (argc < 4 || i == sizeof(sets) / sizeof(sets[0]))
		errx(125, "usage: forbid EPERM|ENOSYS io_uring|all|requests|all-requests|registrations|pages|all-pages COMMAND...");
	forbid(strcmp(argv[1], "ENOSYS") ? EPERM : ENOSYS, sets[i].calls[0], sets[i].calls[1]);
	execvp(argv[3], argv + 3);
	err(125, "%s", argv[3]);
}
