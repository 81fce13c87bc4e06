// SPDX-License-Identifier: Apache-2.0
/*
 * Fails the first allocation of an operation of p2pmem, then the second, and so on until none is left to fail, by the
 * kernel's /proc/self/fail-nth (CONFIG_FAULT_INJECTION). LIBS: -luring
 *
 *	failnth OPERATION NODE [BDF [KIND [BAR [PAGE-TYPE [FOLIO-BYTES]]]] | MODULE]
 *
 * KIND, BAR, PAGE-TYPE and FOLIO-BYTES are numbers, as in struct p2pmem_region_add. With a KIND the region NODE is made
 * anew first: that of a BAR, or of a GPU's aperture, in 2 MiB of it.
 *
 * After each failure: the errno is ENOMEM (EFAULT where the failed call was a copy from or to user space, which counts
 * as an allocation here; EBUSY where ioremap() failed, which does not say why; ECANCELED where a ring found no worker;
 * ENOSPC where a GPU's driver, which says ENOMEM for a BAR1 that is full, had no memory itself;
 * EINVAL where the driver core had no folder for a module's drivers, drivers/base/module.c),
 * the region has as much memory to give as before, and the same operation, made once more, succeeds. Prints how many
 * places were failed. Exit status: 0, 1 when a check failed, 2 wrong use.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/dma-buf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "modules/importer/importer.h"
#include "modules/nvidia/nvidia-lab.h"
#include "uapi/p2pmem.h"

#define LENGTH		(2UL << 20)
#define PLACES_MAX	20000

static const char *node, *operation, *module_path;
static struct p2pmem_region_add add;
static int file = -1, other = -1, control = -1, importer = -1, fail_nth = -1;
static void *mapping = MAP_FAILED;
static struct io_uring ring;
static sigjmp_buf on_bus_error;
static dev_t devt;	/* of the region, and of the next one */
static pid_t rival;
static unsigned int unexplained;	/* ENOMEM of REGION_ADD without a reason */

static void die(const char *text)
{
	fprintf(stderr, "failnth %s: %s: %s\n", operation, text, strerror(errno));
	exit(1);
}

static int result(long rc)
{
	return rc < 0 ? -errno : 0;
}

/* --- what can be failed: prepare, which must succeed; act, the operation; undo what act did --- */

static void open_region(void)
{
	file = open(node, O_RDWR | O_CLOEXEC);
	if (file < 0)
		die(node);
}

static void close_region(void)
{
	if (file >= 0)
		close(file);
	file = -1;
}

static void reopen_region(void)
{
	close_region();
	open_region();
}

static void open_and_own(void)
{
	struct p2pmem_claim claim = { .size = sizeof(claim), .length = LENGTH };

	open_region();
	if (ioctl(file, P2PMEM_IOC_CLAIM, &claim))
		die("claim");
}

static void reopen_and_own(void)
{
	close_region();
	open_and_own();
}

static int act_open(void)
{
	other = open(node, O_RDWR | O_CLOEXEC);
	return result(other);
}

static void undo_other(void)
{
	close(other);
	other = -1;
}

static int act_info(void)
{
	struct p2pmem_info info = { .size = sizeof(info) };

	return result(ioctl(file, P2PMEM_IOC_INFO, &info));
}

static int act_status(void)
{
	struct p2pmem_status status = { .size = sizeof(status) };

	return result(ioctl(file, P2PMEM_IOC_STATUS, &status));
}

static int act_claim(void)
{
	struct p2pmem_claim claim = { .size = sizeof(claim), .length = LENGTH };

	return result(ioctl(file, P2PMEM_IOC_CLAIM, &claim));
}

static int act_sync(void)
{
	struct p2pmem_sync sync = { .size = sizeof(sync) };

	return result(ioctl(file, P2PMEM_IOC_SYNC, &sync));
}

static char bytes[64 << 10];

/* Fails unless all bytes were moved; fewer mean that a copy failed. */
static int all_of(ssize_t moved)
{
	if (moved < 0)
		return -errno;
	return moved == sizeof(bytes) ? 0 : -EFAULT;
}

static int act_read(void)
{
	return all_of(pread(file, bytes, sizeof(bytes), 100));
}

/* Into memory that the file owns: what a write was given before it failed stays. */
static int act_write(void)
{
	return all_of(pwrite(file, bytes, sizeof(bytes), 100));
}

static int act_copy(void)
{
	struct p2pmem_copy copy = {
		.size = sizeof(copy), .from_fd = file, .to_offset = LENGTH, .length = LENGTH,
	};

	return result(ioctl(file, P2PMEM_IOC_COPY, &copy));
}

static int act_locate(void)
{
	struct p2pmem_locate place = { .size = sizeof(place) };

	return result(ioctl(file, P2PMEM_IOC_LOCATE, &place));
}

static int act_locate_dmabuf(void)
{
	struct p2pmem_locate_dmabuf place = { .size = sizeof(place), .dmabuf_fd = other };

	return result(ioctl(file, P2PMEM_IOC_LOCATE_DMABUF, &place));
}

static int act_nvme_memory(void)
{
	struct p2pmem_nvme_memory memory = {
		.size = sizeof(memory), .pci_domain = add.pci_domain,
		.pci_bus = add.pci_bus, .pci_devfn = add.pci_devfn,
	};
	int rc = result(ioctl(control, P2PMEM_CTL_NVME_MEMORY, &memory));

	unexplained += rc == -ENOMEM && !memory.reason[0];
	return rc;
}

static int act_probe(void)
{
	struct p2pmem_probe probe = {
		.size = sizeof(probe), .pci_domain = add.pci_domain,
		.pci_bus = add.pci_bus, .pci_devfn = add.pci_devfn,
	};

	return result(ioctl(file, P2PMEM_IOC_PROBE_PEER, &probe));
}

static int map(int fd, int flags)
{
	mapping = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
	return mapping == MAP_FAILED ? -errno : 0;
}

static int act_mmap(void)
{
	return map(file, 0);
}

static int act_populate(void)
{
	return map(file, MAP_POPULATE);
}

static void undo_mmap(void)
{
	munmap(mapping, LENGTH);
	mapping = MAP_FAILED;
}

static void bus_error(int number)
{
	(void)number;
	siglongjmp(on_bus_error, 1);
}

static int touch(void)
{
	if (sigsetjmp(on_bus_error, 1))
		return -ENOMEM;
	*(volatile char *)mapping = 1;
	*(volatile char *)((char *)mapping + LENGTH - 1) = 1;
	return 0;
}

static void open_and_map(void)
{
	open_region();
	if (map(file, 0))
		die("mmap");
}

static void unmap_and_close(void)
{
	undo_mmap();
	close_region();
}

static int act_fork(void)
{
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (!child)
		_exit(0);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

static void open_map_touch(void)
{
	open_and_map();
	if (touch())
		die("touch");
}

static int act_export(void)
{
	struct p2pmem_export_dmabuf export = { .size = sizeof(export), .length = LENGTH, .fd_flags = O_RDWR | O_CLOEXEC };

	other = ioctl(file, P2PMEM_IOC_EXPORT_DMABUF, &export);
	return result(other);
}

static void open_and_export(void)
{
	open_region();
	if (act_export())
		die("export");
}

static int act_map_dmabuf(void)
{
	return map(other, 0) ?: touch();
}

/* Both ends of an access: the second one flushes. */
static int act_dmabuf_sync(void)
{
	struct dma_buf_sync begin = { .flags = DMA_BUF_SYNC_RW | DMA_BUF_SYNC_START };
	struct dma_buf_sync end = { .flags = DMA_BUF_SYNC_RW | DMA_BUF_SYNC_END };
	int rc = result(ioctl(other, DMA_BUF_IOCTL_SYNC, &begin));

	return rc ?: result(ioctl(other, DMA_BUF_IOCTL_SYNC, &end));
}

static void undo_import(void)
{
	close(importer);
	importer = -1;
}

/* The close releases what was attached and mapped before the failed call. */
static int act_import(void)
{
	struct importer_attach attach = {
		.fd = other, .mode = IMPORTER_DYNAMIC, .domain = add.pci_domain,
		.bus = add.pci_bus, .function = add.pci_devfn,
	};
	struct importer_map import = { .direction = 0 };	/* DMA_BIDIRECTIONAL */
	int rc;

	importer = open("/dev/" IMPORTER_NODE, O_RDWR | O_CLOEXEC);
	if (importer < 0)
		return -errno;
	rc = result(ioctl(importer, IMPORTER_ATTACH, &attach)) ?: result(ioctl(importer, IMPORTER_MAP, &import));
	if (rc)
		undo_import();
	return rc;
}

static void close_both(void)
{
	undo_other();
	close_region();
}

static void open_with_ring(void)
{
	int rc = io_uring_queue_init(8, &ring, 0);

	if (!rc)
		rc = io_uring_register_buffers_sparse(&ring, 4);
	errno = -rc;
	if (rc)
		die("io_uring");
	open_region();
}

static int act_ring(void)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	struct p2pmem_uring_buffer buffer = { .granules = 1 };
	struct io_uring_cqe *cqe;
	int rc;

	if (!sqe)
		die("no place in the ring");
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = file;
	sqe->cmd_op = P2PMEM_URING_BUFFER;
	memcpy(sqe->cmd, &buffer, sizeof(buffer));
	rc = io_uring_submit(&ring);
	if (rc < 0)
		return rc;
	do
		rc = io_uring_wait_cqe(&ring, &cqe);
	while (rc == -EINTR || rc == -EFAULT);
	if (rc)
		return rc;
	rc = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	return rc;
}

static void close_ring(void)
{
	close_region();
	io_uring_queue_exit(&ring);
}

static void reopen_ring(void)
{
	close_ring();
	open_with_ring();
}

static int gpu = -1;
static struct nvlab_alloc gpu_memory = { .bytes = LENGTH };

static void open_with_gpu(void)
{
	gpu = open("/dev/" NVLAB_NODE, O_RDWR | O_CLOEXEC);
	if (gpu < 0 || ioctl(gpu, NVLAB_ALLOC, &gpu_memory))
		die("/dev/" NVLAB_NODE);
	open_region();
}

static int act_pin_gpu(void)
{
	struct p2pmem_pin_gpu pin = { .size = sizeof(pin), .va = gpu_memory.va, .length = LENGTH };
	int rc = result(ioctl(file, P2PMEM_IOC_PIN_GPU, &pin));

	unexplained += rc == -ENOMEM && !pin.reason[0];
	return rc;
}

static void open_and_pin(void)
{
	open_with_gpu();
	errno = -act_pin_gpu();
	if (errno)
		die("pin");
}

static void close_with_gpu(void)
{
	close_region();
	close(gpu);
}

static void set_node(unsigned int number)
{
	static char path[32];

	snprintf(path, sizeof(path), "/dev/p2pmem%u", number);
	node = path;
}

static int act_add(void)
{
	struct p2pmem_region_add request = add;
	int rc = result(ioctl(control, P2PMEM_CTL_REGION_ADD, &request));

	if (rc)
		fprintf(stderr, "\t%s: %s\n", strerror(-rc), request.reason);
	else
		set_node(request.region);
	unexplained += rc == -ENOMEM && !request.reason[0];
	if (rc == -EBUSY && !strstr(request.reason, "no memory left to map it"))
		return -EINVAL;
	return rc;
}

static int act_remove(void)
{
	struct p2pmem_region_remove request = { .size = sizeof(request) };

	sscanf(node, "/dev/p2pmem%u", &request.region);
	return result(ioctl(control, P2PMEM_CTL_REGION_REMOVE, &request));
}

/*
 * Opens and uses the region by a copy of its node, whenever there is one: as soon as its number is registered, before
 * REGION_ADD has succeeded. Then REGION_ADD fails, and the memory that this process has must not be freed memory.
 */
static void open_copies(const char *copy)
{
	for (;;) {
		int fd = open(copy, O_RDWR | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (!map(fd, 0)) {
			touch();
			usleep(2000);
			touch();
			undo_mmap();
		}
		close(fd);
	}
}

/* There is one from the first place on. */
static void start_rival(void)
{
	const char *copy = "/run/failnth-node";

	if (rival)
		return;
	if ((unlink(copy) && errno != ENOENT) || mknod(copy, S_IFCHR | 0600, devt))
		die(copy);
	rival = fork();
	if (rival < 0)
		die("fork");
	if (!rival) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		open_copies(copy);
	}
}

static void stop_rival(void)
{
	if (!rival)
		return;
	kill(rival, SIGKILL);
	waitpid(rival, NULL, 0);
}

static void must_add(void)
{
	errno = -act_add();
	if (errno)
		die("add");
}

static void must_remove(void)
{
	errno = -act_remove();
	if (errno)
		die("remove");
}

static int open_attribute(const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/p2pmem/%s/%s", node + strlen("/dev/"), name);
	return open(path, flags | O_CLOEXEC);
}

/* A list without this process, which holds memory, is no success. */
static int act_holders(void)
{
	int fd = open_attribute("holders", O_RDONLY);
	char text[4096] = "", line[32];
	int rc;

	if (fd < 0)
		return -errno;
	rc = result(read(fd, text, sizeof(text) - 1));
	close(fd);
	snprintf(line, sizeof(line), "%d failnth %lu ", getpid(), LENGTH);
	return rc ?: strstr(text, line) ? 0 : -ENOENT;
}

static int write_page_type(const char *type)
{
	int fd = open_attribute("page_type", O_WRONLY), rc;

	if (fd < 0)
		return -errno;
	rc = result(write(fd, type, strlen(type)));
	close(fd);
	return rc;
}

static int act_to_p2pdma(void)
{
	return write_page_type("p2pdma");
}

static int act_to_generic(void)
{
	return write_page_type("generic");
}

static void back_to_generic(void)
{
	errno = -act_to_generic();
	if (errno)
		die("back to generic");
}

static void first_to_p2pdma(void)
{
	errno = -act_to_p2pdma();
	if (errno)
		die("to p2pdma");
}

static int act_load(void)
{
	int fd = open(module_path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = result(syscall(SYS_finit_module, fd, "", 0));
	close(fd);
	return rc;
}

static void unload(void)
{
	if (syscall(SYS_delete_module, "p2pmem", 0))
		die("delete_module");
}

static void nothing(void)
{
}

static const struct scenario {
	const char *name;
	void (*prepare)(void);
	int (*act)(void);
	void (*undo)(void);
	void (*finish)(void);
	bool no_region;		/* there is none between two tries */
	int also;		/* another errno that a failed allocation may have, from code that hides the cause */
} scenarios[] = {
	{ "open", nothing, act_open, undo_other, nothing, false, 0 },
	{ "info", open_region, act_info, nothing, close_region, false, 0 },
	{ "status", open_region, act_status, nothing, close_region, false, 0 },
	{ "claim", open_region, act_claim, reopen_region, close_region, false, 0 },
	{ "sync", open_region, act_sync, nothing, close_region, false, 0 },
	{ "read", open_and_own, act_read, nothing, close_region, false, 0 },
	{ "write", open_and_own, act_write, nothing, close_region, false, 0 },
	{ "copy", open_and_own, act_copy, reopen_and_own, close_region, false, 0 },
	{ "locate", open_and_own, act_locate, nothing, close_region, false, 0 },
	{ "locate-dmabuf", open_and_export, act_locate_dmabuf, nothing, close_both, false, 0 },
	{ "holders", open_and_own, act_holders, nothing, close_region, false, 0 },
	{ "nvme-memory", nothing, act_nvme_memory, nothing, nothing, false, 0 },
	{ "probe", open_region, act_probe, nothing, close_region, false, 0 },
	{ "mmap", open_region, act_mmap, undo_mmap, close_region, false, 0 },
	{ "populate", open_region, act_populate, undo_mmap, close_region, false, 0 },
	{ "fault", open_and_map, touch, nothing, unmap_and_close, false, 0 },
	{ "fork", open_map_touch, act_fork, nothing, unmap_and_close, false, 0 },
	{ "export", open_region, act_export, undo_other, close_region, false, 0 },
	{ "dma-buf-mmap", open_and_export, act_map_dmabuf, undo_mmap, close_both, false, 0 },
	{ "dma-buf-sync", open_and_export, act_dmabuf_sync, nothing, close_both, false, 0 },
	{ "import", open_and_export, act_import, undo_import, close_both, false, 0 },
	{ "ring", open_with_ring, act_ring, reopen_ring, close_ring, false, ECANCELED },
	{ "pin-gpu", open_with_gpu, act_pin_gpu, reopen_region, close_with_gpu, false, ENOSPC },
	{ "export-pinned", open_and_pin, act_export, undo_other, close_with_gpu, false, 0 },
	{ "remove-pinned", open_and_pin, act_remove, must_add, close_with_gpu, false, 0 },
	{ "remove", nothing, act_remove, must_add, nothing, false, 0 },
	{ "add", nothing, act_add, must_remove, nothing, true, EBUSY },
	{ "add-raced", start_rival, act_add, must_remove, nothing, true, EBUSY },
	{ "to-p2pdma", nothing, act_to_p2pdma, back_to_generic, nothing, false, EBUSY },
	{ "to-generic", first_to_p2pdma, act_to_generic, nothing, back_to_generic, false, EBUSY },
	{ "load", nothing, act_load, unload, nothing, true, EINVAL },
};

/* --- failing them --- */

static unsigned long long available(void)
{
	struct p2pmem_info info = { .size = sizeof(info) };
	int fd = open(node, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, P2PMEM_IOC_INFO, &info))
		die("available");
	close(fd);
	return info.available_bytes;
}

static void fail_at(unsigned int place)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", place);

	/* When the rest is taken back, the failing allocation may be that of this very write. */
	if (pwrite(fail_nth, text, length, 0) != length && place)
		die("/proc/self/fail-nth");
}

/* Did it happen? Reading is a copy to user space, which may fail in its place. */
static bool has_failed(void)
{
	char text[16] = "";

	return pread(fail_nth, text, sizeof(text) - 1, 0) > 0 && text[0] == '0';
}

static bool expected(const struct scenario *it, int rc)
{
	return !rc || rc == -ENOMEM || rc == -EFAULT || (it->also && rc == -it->also);
}

/* One place; false when there is none. */
static bool try_place(const struct scenario *it, unsigned int place)
{
	unsigned long long before = it->no_region ? 0 : available(), after;
	bool failed;
	int rc, again;

	it->prepare();
	fail_at(place);
	rc = it->act();
	failed = has_failed();
	fail_at(0);
	if (rc && !failed) {
		errno = -rc;
		die("fails without a failed allocation");
	}
	if (!expected(it, rc)) {
		fprintf(stderr, "place %u: expected ENOMEM or EFAULT%s%s, seen %s\n", place, it->also ? " or " : "",
			it->also ? strerrorname_np(it->also) : "", strerrorname_np(-rc));
		exit(1);
	}
	if (!rc)
		it->undo();
	again = it->act();
	if (again) {
		fprintf(stderr, "place %u: it ended with %s; once more, expected success, seen %s\n", place,
			rc ? strerrorname_np(-rc) : "success", strerrorname_np(-again));
		exit(1);
	}
	it->undo();
	it->finish();
	/* The kernel ends rings and dma-bufs a moment after their last user. */
	for (int tries = 0; !it->no_region && (after = available()) != before; tries++) {
		if (tries == 600)
			fprintf(stderr, "place %u: waits for %llu bytes available, seen %llu\n", place, before, after);
		usleep(50000);
	}
	return failed;
}

static void name_function(const char *bdf)
{
	unsigned int domain, bus, slot, function;

	if (sscanf(bdf, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4) {
		fprintf(stderr, "failnth: '%s' is no PCI function\n", bdf);
		exit(2);
	}
	add.pci_domain = domain;
	add.pci_bus = bus;
	add.pci_devfn = slot << 3 | function;
}

static const struct scenario *find_scenario(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		if (!strcmp(scenarios[i].name, name))
			return &scenarios[i];
	}
	fprintf(stderr, "failnth: no operation '%s'\n", name);
	exit(2);
}

/* BDF [KIND [BAR [PAGE-TYPE [FOLIO-BYTES]]]] */
static void read_add(int argc, char **argv)
{
	name_function(argv[0]);
	add.kind = argc > 1 ? atoi(argv[1]) : 0;
	add.bar = argc > 2 ? atoi(argv[2]) : 0;
	add.page_type = argc > 3 ? atoi(argv[3]) : 0;
	add.folio_bytes = argc > 4 ? strtoull(argv[4], NULL, 0) : 0;
	/* One section of memory: what upstream leaves of several, nobody can undo (docs/uapi.md). */
	if (add.kind == P2PMEM_KIND_PCI_BAR || add.kind == P2PMEM_KIND_GPU_NVIDIA)
		add.length = LENGTH;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = bus_error };
	const struct scenario *it;
	unsigned int place = 1;
	struct stat status;

	if (argc < 3) {
		fprintf(stderr, "usage: failnth OPERATION NODE [BDF [KIND [BAR [PAGE-TYPE [FOLIO-BYTES]]]] | MODULE]\n");
		return 2;
	}
	operation = argv[1];
	node = argv[2];
	it = find_scenario(operation);
	add.size = sizeof(add);
	if (argc > 3 && argv[3][0] == '/')
		module_path = argv[3];
	else if (argc > 3)
		read_add(argc - 3, argv + 3);
	control = open("/dev/p2pmem_control", O_RDWR | O_CLOEXEC);
	fail_nth = open("/proc/self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fail_nth < 0 || (control < 0 && !module_path))
		die(fail_nth < 0 ? "/proc/self/fail-nth" : "/dev/p2pmem_control");
	sigaction(SIGBUS, &action, NULL);
	if (add.kind) {
		if (stat(node, &status))
			die(node);
		devt = status.st_rdev;
		must_remove();
		if (!it->no_region)
			must_add();
	}
	while (place < PLACES_MAX && try_place(it, place))
		place++;
	stop_rival();
	printf("%s: %u places failed, each once\n", operation, place - 1);
	/* The first is the call's own copy of the struct: it has no place for a reason yet. */
	if (unexplained > 1) {
		fprintf(stderr, "expected one ENOMEM without a reason at most, seen %u\n", unexplained);
		return 1;
	}
	return place > 1 && place < PLACES_MAX ? 0 : 1;
}
