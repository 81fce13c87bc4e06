/* SPDX-License-Identifier: Apache-2.0 */
/* For imported.c and importbad.c: exporters, and memory that came from them. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "library.h"

#include "modules/exporter/exporter.h"

#define BYTES (2 * MIB)

static inline struct donard_memory *import(int fd, uint64_t offset, uint64_t length)
{
	struct donard_memory *memory;

	GOES(donard_memory_from_dmabuf(ctx, fd, offset, length, &memory));
	return memory;
}

/* --- exporters --- */

static struct donard_memory *owner;	/* of what exported() gave last */

static inline int exported(const char *region, uint64_t offset, int flags)
{
	int fd;

	GOES(donard_memory_claim(ctx, region, offset, BYTES, &owner));
	GOES(donard_memory_export(owner, 0, 0, flags, &fd));
	return fd;
}

static int exporter_fd = -1;

static inline int stranger(enum exporter_mode mode, int inner_fd)
{
	struct exporter_export export = { .mode = mode, .inner_fd = inner_fd, .bytes = BYTES };
	int fd;

	if (exporter_fd < 0)
		exporter_fd = open("/dev/" EXPORTER_NODE, O_RDWR | O_CLOEXEC);
	WORKS(exporter_fd);
	fd = ioctl(exporter_fd, EXPORTER_EXPORT, &export);
	WORKS(fd);
	return fd;
}

static inline int located(int region, int fd)
{
	struct p2pmem_locate_dmabuf place = { .size = sizeof(place), .dmabuf_fd = fd };

	return ioctl(region, P2PMEM_IOC_LOCATE_DMABUF, &place);
}

/* Forbids these calls, as sandboxes of containers do. */
static inline void forbid_process_vm(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

	WORKS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	WORKS(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}
