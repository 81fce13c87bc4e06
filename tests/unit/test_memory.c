// SPDX-License-Identifier: Apache-2.0
/* Memory without a region: DRAM, and memory that is refused. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/maplimit.h"
#include "donard/memory.h"
#include "fake_sysfs.h"
#include "memory/memory.h"
#include "says.h"
#include "unit.h"

/* A container's filter of system calls may forbid both calls. */
static bool no_move_pages, no_process_vm;

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *near, unsigned long near_count, const struct iovec *far,
				unsigned long far_count, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *near, unsigned long near_count, const struct iovec *far,
				unsigned long far_count, unsigned long flags);

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number != SYS_move_pages || !no_move_pages)
		return __real_syscall(number, a, b, c, d, e, f);
	errno = EPERM;
	return -1;
}

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *near, unsigned long near_count, const struct iovec *far,
				unsigned long far_count, unsigned long flags)
{
	if (!no_process_vm)
		return __real_process_vm_readv(pid, near, near_count, far, far_count, flags);
	errno = EPERM;
	return -1;
}

static int memory_teardown(void **state)
{
	no_move_pages = no_process_vm = false;
	return fake_teardown(state);
}

static struct donard_memory *dram(struct fake *fake, uint64_t bytes)
{
	struct donard_memory *memory = NULL;

	assert_int_equal(donard_memory_dram(fake->ctx, bytes, &memory), 0);
	return memory;
}

static void test_dram(void **state)
{
	struct donard_memory_info info = { .size = sizeof(info) };
	struct fake *fake = *state;
	struct donard_memory *memory = dram(fake, 5000);

	assert_int_equal(donard_memory_info(memory, &info), 0);
	assert_int_equal(info.kind, DONARD_MEMORY_DRAM);
	assert_string_equal(donard_memory_kind_text(info.kind), "dram");
	assert_int_equal(info.length_bytes, 5000);
	assert_int_equal(info.contiguous_bytes, 5000);
	assert_int_equal(info.fd, -1);
	assert_string_equal(info.region, "");
	assert_string_equal(info.unmapped, "");
	assert_int_equal((uintptr_t)info.address % info.align_bytes, 0);
	assert_false(info.persistent);
	for (size_t i = 0; i < 5000; i++)
		assert_int_equal(((uint8_t *)info.address)[i], 0);
	assert_int_equal(donard_memory_state(memory), DONARD_STATE_READY);
	info.size = 4;
	assert_int_equal(donard_memory_info(memory, &info), -EINVAL);
	donard_memory_free(memory);
	donard_memory_free(NULL);
}

static void test_bytes(void **state)
{
	struct fake *fake = *state;
	struct donard_memory *memory = dram(fake, 200000);
	char seen[6] = "";

	assert_int_equal(donard_memory_write(memory, 70000, "bytes", 5), 0);
	assert_int_equal(donard_memory_read(memory, 70000, seen, 5), 0);
	assert_string_equal(seen, "bytes");
	assert_int_equal(donard_memory_zero(memory, 1, 199999), 0);
	assert_int_equal(donard_memory_read(memory, 70000, seen, 5), 0);
	assert_string_equal(seen, "");
	assert_int_equal(donard_memory_sync(memory, 0), 0);
	donard_memory_free(memory);
}

/* The program's own bytes, which outlive the memory. */
static void test_from_host(void **state)
{
	struct donard_memory_info info = { .size = sizeof(info) };
	struct fake *fake = *state;
	struct donard_memory *memory = NULL;
	char bytes[100] = "";

	assert_int_equal(donard_memory_from_host(fake->ctx, bytes + 1, 99, &memory), 0);
	assert_int_equal(donard_memory_info(memory, &info), 0);
	assert_int_equal(info.kind, DONARD_MEMORY_DRAM);
	assert_ptr_equal(info.address, bytes + 1);
	assert_int_equal(info.length_bytes, 99);
	assert_int_equal(info.file_offset_bytes, 0);
	assert_int_equal(donard_memory_write(memory, 3, "mine", 5), 0);
	assert_int_equal(donard_memory_write(memory, 96, "mine", 4), -ENXIO);
	donard_memory_free(memory);
	assert_string_equal(bytes + 4, "mine");
	assert_int_equal(donard_memory_from_host(fake->ctx, NULL, 99, &memory), -EINVAL);
	assert_int_equal(donard_memory_from_host(fake->ctx, bytes, 0, &memory), -EINVAL);
	assert_int_equal(donard_memory_from_host(fake->ctx, bytes, UINT64_MAX, &memory), -EINVAL);
}

/* The mapping says whose it is, where nobody may ask the kernel whose the pages are. */
static void test_from_host_of_a_device(void **state)
{
	struct fake *fake = *state;
	int device = open("/dev/zero", O_RDWR | O_CLOEXEC);
	uint8_t *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, device, 0);
	struct donard_memory *memory = NULL, *plain = dram(fake, 8192);

	assert_true(map != MAP_FAILED);
	close(device);
	no_move_pages = true;
	assert_int_equal(donard_memory_from_host(fake->ctx, map, 8192, &memory), 0);
	donard_memory_free(memory);
	memory = NULL;
	fake_folder(fake, "devices/pci/0000:03:00.0/p2pmem/p2pmem0");
	fake_link(fake, "dev/char/1:5", "devices/pci/0000:03:00.0/p2pmem/p2pmem0");
	for (int i = 0; i < 2; i++, no_process_vm = true) {
		assert_int_equal(donard_memory_from_host(fake->ctx, map, 100, &memory), -EHOSTUNREACH);
		assert_int_equal(donard_memory_from_host(fake->ctx, map + 8191, 1, &memory), -EHOSTUNREACH);
		assert_says(donard_error(fake->ctx), "donard_memory_adopt()");
		assert_int_equal(donard_memory_from_host(fake->ctx, plain->window.data, 8192, &memory), 0);
		donard_memory_free(memory);
	}
	donard_memory_free(plain);
	munmap(map, 8192);
}

/* Nobody has looked whose the mapping is: so it is not called the program's own. */
static void test_from_host_without_descriptors(void **state)
{
	struct fake *fake = *state;
	struct donard_memory *memory = NULL;
	struct rlimit before, none;
	char bytes[100] = "";
	int rc, first = dup(0);

	close(first);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_cur = (rlim_t)first, .rlim_max = before.rlim_max };
	no_move_pages = true;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	rc = donard_memory_from_host(fake->ctx, bytes, 100, &memory);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(rc, -EMFILE);
	assert_null(memory);
	assert_says(donard_error(fake->ctx), "/proc/self/maps, which says whether the 100 bytes");
	assert_int_equal(donard_memory_from_host(fake->ctx, bytes, 100, &memory), 0);
	donard_memory_free(memory);
}

/* The CPU accesses a dma-buf of a region by the same calls as any other dma-buf. */
static void test_region_in_a_sandbox(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct dnd_dmabuf dmabuf = { .fd = -1 };
	struct dnd_region region = { .fd = -1, .name = "p2pmem0" };
	struct dnd_place place = { .region = &region, .dmabuf = &dmabuf };

	assert_int_equal(dnd_place_failed(ctx, &place, &region, EPERM), -EPERM);
	assert_says(donard_error(ctx), "p2pmem0: this process may not call process_vm_readv() and process_vm_writev()");
	assert_int_equal(dnd_place_failed(ctx, &place, &region, ENODEV), -ENODEV);
	assert_says(donard_error(ctx), "p2pmem0: the region went away");
	place.dmabuf = NULL;
	assert_int_equal(dnd_place_failed(ctx, &place, &region, EPERM), -EPERM);
	assert_says(donard_error(ctx), "p2pmem0: its bytes cannot be accessed");
}

/* The calls that access the bytes say so of the program's buffer alone. */
static void test_buffer_that_is_not_mapped(void **state)
{
	struct donard_context *ctx = ((struct fake *)*state)->ctx;
	struct donard_memory memory = { .ctx = ctx, .region = { .fd = 0, .name = "p2pmem0" }, .dmabuf.fd = -1 };

	assert_int_equal(dnd_memory_access_failed(&memory, EFAULT), -EFAULT);
	assert_says(donard_error(ctx), "p2pmem0: a part of the program's own buffer is not mapped. Use plain memory");
	memory.dmabuf.fd = 0;
	assert_int_equal(dnd_memory_access_failed(&memory, EFAULT), -EFAULT);
	assert_says(donard_error(ctx), "p2pmem0: a part of the program's own buffer is not mapped, or it is a device's memory.");
}

/* Pages that nobody may ask about are of no known kind: not none. */
static void test_pages_in_a_sandbox(void **state)
{
	struct fake *fake = *state;
	struct donard_memory *memory = dram(fake, 8192), imported = { .ctx = fake->ctx, .dmabuf.name = "dma-buf of stranger" };

	imported.region.fd = -1;
	no_process_vm = true;
	imported.pages = dnd_pages_behind(memory->window.data, 8192);
	assert_int_equal(imported.pages, DONARD_PAGES_UNKNOWN);
	assert_int_equal(dnd_memory_check_direct(&imported, 0, 8192), -EHOSTUNREACH);
	assert_says(donard_error(fake->ctx), "dma-buf of stranger: nobody knows whose its pages are");
	assert_says(donard_error(fake->ctx), "process_vm_readv(), which would tell, is forbidden");
	no_process_vm = false;
	no_move_pages = true;
	assert_int_equal(dnd_memory_check_direct(&imported, 0, 8192), -EHOSTUNREACH);
	assert_says(donard_error(fake->ctx), "move_pages(), which would tell, is forbidden");
	donard_memory_free(memory);
}

static void test_bounds(void **state)
{
	struct fake *fake = *state;
	struct donard_memory *memory = dram(fake, 100);
	char bytes[101] = "";

	assert_int_equal(donard_memory_write(memory, 0, bytes, 100), 0);
	assert_int_equal(donard_memory_write(memory, 100, bytes, 0), 0);
	assert_int_equal(donard_memory_write(memory, 0, bytes, 101), -ENXIO);
	assert_string_equal(donard_error_code(fake->ctx), "past-end");
	assert_int_equal(donard_memory_read(memory, 1, bytes, 100), -ENXIO);
	assert_int_equal(donard_memory_read(memory, UINT64_MAX, bytes, 2), -ENXIO);
	assert_int_equal(donard_memory_zero(memory, 50, 51), -ENXIO);
	donard_memory_free(memory);
}

/* A program may export a memory part by part until a call reports its end. */
static void test_export_past_the_end(void **state)
{
	struct donard_failure failure = { .size = sizeof(failure) };
	struct fake *fake = *state;
	struct donard_memory *memory = dram(fake, 65536);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd = -1;

	memory->region = (struct dnd_region){ .fd = null, .name = "p2pmem0", .info.granule_bytes = 4096 };
	for (uint64_t offset = 65536; offset <= 131072; offset += 65536) {
		assert_int_equal(donard_memory_export(memory, offset, 0, O_RDWR, &fd), -ENXIO);
		assert_string_equal(donard_error_code(fake->ctx), "past-end");
		assert_int_equal(donard_failure_get(fake->ctx, &failure), 0);
		assert_string_equal(failure.member, "offset");
		assert_int_equal(failure.value, offset);
	}
	assert_int_equal(donard_memory_export(memory, 65536, 4096, O_RDWR, &fd), -ENXIO);
	assert_int_equal(fd, -1);
	memory->region.fd = -1;
	close(null);
	donard_memory_free(memory);
}

static void test_refusals(void **state)
{
	struct donard_route route = { .size = sizeof(route) };
	struct fake *fake = *state;
	struct donard_memory *memory = NULL;
	struct dnd_region region = { .fd = -1, .name = "p2pmem0" };
	int pipes[2], fd = -1;

	assert_int_equal(donard_memory_dram(fake->ctx, 0, &memory), -EINVAL);
	assert_int_equal(donard_memory_dram(fake->ctx, UINT64_MAX, &memory), -ENOMEM);
	assert_int_equal(donard_memory_dram(fake->ctx, 1ULL << 62, &memory), -ENOMEM);
	assert_int_equal(donard_memory_alloc(fake->ctx, "p2pmem0", 4096, &memory), -EOPNOTSUPP);
	assert_string_equal(donard_error_code(fake->ctx), "no-module");
	assert_int_equal(donard_memory_claim(fake->ctx, "p2pmem0", 0, 0, &memory), -EOPNOTSUPP);
	assert_int_equal(donard_memory_adopt(fake->ctx, -1, 0, 4096, &memory), -EINVAL);
	assert_says(donard_error(fake->ctx), "descriptor -1 is not open. Pass the descriptor of a region");
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(donard_memory_adopt(fake->ctx, pipes[0], 0, 4096, &memory), -EINVAL);
	assert_says(donard_error(fake->ctx), "is not a region's. Pass one of /dev/p2pmemN");
	assert_null(memory);
	assert_int_equal(dnd_region_adopt(fake->ctx, pipes[0], &region), -EACCES);
	assert_says(donard_error(fake->ctx), "is not open for reading and writing. Open the node O_RDWR.");
	assert_int_equal(region.fd, -1);
	memory = dram(fake, 4096);
	assert_int_equal(donard_memory_export(memory, 0, 0, O_RDWR, &fd), -EOPNOTSUPP);
	assert_int_equal(donard_memory_route(memory, "0000:00:01.0", &route), -EOPNOTSUPP);
	assert_int_equal(donard_memory_sync(memory, DONARD_SYNC_DURABLE), -EOPNOTSUPP);
	assert_int_equal(donard_memory_sync(memory, 8), -EINVAL);
	donard_memory_free(memory);
	close(pipes[0]);
	close(pipes[1]);
}

/* The events of any file that is polled, and the driver of /dev/null's numbers; NULL: the real one. */
static short played_events;
static const char *played_devices;

int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	if (!played_events)
		return __real_poll(fds, count, timeout);
	fds->revents = played_events;
	return 1;
}

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (!played_devices || strcmp(path, "/proc/devices"))
		return __real_fopen(path, mode);
	return fmemopen((void *)(uintptr_t)played_devices, strlen(played_devices), "r");
}

static void assert_adopts_none(struct fake *fake, int fd, int rc, const char *code)
{
	struct donard_memory *memory = NULL;

	assert_int_equal(donard_memory_adopt(fake->ctx, fd, 0, 4096, &memory), rc);
	assert_string_equal(donard_error_code(fake->ctx), code);
	assert_null(memory);
}

/* The descriptor outlives its region, whose number is free again, or belongs to another region by then. */
static void test_adopted_too_late(void **state)
{
	struct fake *fake = *state;
	int fd = open("/dev/null", O_RDWR);

	played_events = POLLPRI | POLLERR | POLLHUP;
	played_devices = "Character devices:\n  4 tty\n  1 p2pmem\n\nBlock devices:\n  1 p2pmem\n";
	assert_adopts_none(fake, fd, -ENODEV, "region-gone");
	assert_says(donard_error(fake->ctx), "the region that it was opened from went away");
	played_events = POLLPRI;	/* its node has gone, and others still hold it */
	assert_adopts_none(fake, fd, -ENODEV, "region-gone");
	played_events = POLLPRI | POLLERR | POLLHUP;
	played_devices = "Character devices:\n  1 mem\n240 p2pmem\n\nBlock devices:\n  1 p2pmem\n";
	assert_adopts_none(fake, fd, -EINVAL, "bad-name");
	fake_region(fake, "p2pmem0", "pci-bar", "0000:01:00.0");
	fake_file(fake, "class/p2pmem/p2pmem0/state", "ready");
	fake_link(fake, "dev/char/1:3", "class/p2pmem/p2pmem0");
	assert_adopts_none(fake, fd, -ENODEV, "region-gone");
	assert_says(donard_error(fake->ctx), "the region that it was opened from went away");
	played_events = 0;
	played_devices = NULL;
	close(fd);
}

static int not_even_a_file(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

/* A file that is no dma-buf is refused with another text than a closed descriptor, and no ioctl is sent to it. */
static void test_from_dmabuf(void **state)
{
	struct fake *fake = *state;
	struct donard_memory *memory = NULL;
	char path[] = "/tmp/donard-unit-file-XXXXXX";
	int pipes[2], fd = mkstemp(path);

	assert_int_equal(pipe(pipes), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(donard_memory_from_dmabuf(fake->ctx, i < 2 ? pipes[i] : fd, 0, 4096, &memory), -EINVAL);
		assert_string_equal(donard_error_code(fake->ctx), "bad-name");
		assert_non_null(strstr(donard_error(fake->ctx), "not a dma-buf's. Pass one"));
		close(i < 2 ? pipes[i] : fd);
	}
	unlink(path);
	assert_int_equal(donard_memory_from_dmabuf(fake->ctx, not_even_a_file(), 0, 0, &memory), -EINVAL);
	assert_non_null(strstr(donard_error(fake->ctx), "is not open. Pass the descriptor"));
	assert_int_equal(donard_memory_from_dmabuf(fake->ctx, -1, 0, 0, &memory), -EINVAL);
	assert_null(memory);
}

static void test_words(void **state)
{
	struct donard_memory_info info = { .size = sizeof(info) };
	struct fake *fake = *state;
	struct donard_memory *memory = dram(fake, 4096);

	assert_string_equal(donard_memory_kind_text(DONARD_MEMORY_DMABUF), "dma-buf");
	assert_string_equal(donard_memory_kind_text((enum donard_memory_kind)99), "unknown");
	assert_string_equal(donard_memory_pages_text(DONARD_PAGES_NONE), "none");
	assert_string_equal(donard_memory_pages_text(DONARD_PAGES_DEVICE), "device");
	assert_string_equal(donard_memory_pages_text((enum donard_memory_pages)-1), "unknown");
	assert_int_equal(donard_memory_info(memory, &info), 0);
	assert_string_equal(donard_memory_pages_text(info.pages), "host");
	assert_int_equal(info.dmabuf_fd, -1);
	assert_string_equal(info.exporter, "");
	assert_false(info.read_only);
	donard_memory_free(memory);
}

#define MOST_BYTES	(64ULL << 20)	/* that a test lets the process have more */
#define MORE_BYTES	(256ULL << 20)

static uint64_t used_bytes(const char *field)
{
	unsigned long long kib = 0;
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");

	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, field, strlen(field)))
			sscanf(line + strlen(field), ": %llu", &kib);
	fclose(status);
	return kib << 10;
}

static void assert_limited(struct fake *fake, int resource, uint64_t limit, const char *remedy)
{
	struct donard_memory *memory;
	struct rlimit before, less;
	int rc;

	assert_int_equal(getrlimit(resource, &before), 0);
	less = before;
	less.rlim_cur = limit;
	assert_int_equal(setrlimit(resource, &less), 0);
	rc = donard_memory_dram(fake->ctx, MORE_BYTES, &memory);
	setrlimit(resource, &before);
	assert_int_equal(rc, -ENOMEM);
	assert_says(donard_error(fake->ctx), remedy);
}

/* If no limit is the cause, memory is lacking, or the region has no room. */
static void test_limits(void **state)
{
	struct dnd_window window = { 0 };
	struct fake *fake = *state;
	struct dnd_region region = { .info = { .region_bytes = MORE_BYTES, .granule_bytes = 4096 } };
	struct rlimit before, less;
	char path[128], limit[DND_LIMIT_BYTES];
	int rc;

	assert_limited(fake, RLIMIT_AS, used_bytes("VmSize") + MOST_BYTES, "of address space, and has");
	assert_limited(fake, RLIMIT_AS, used_bytes("VmSize") + MOST_BYTES, "ulimit -v");
	if (!under_valgrind())		/* valgrind does not pass this limit on to the kernel */
		assert_limited(fake, RLIMIT_DATA, used_bytes("VmData") + MOST_BYTES, "ulimit -d");
	snprintf(path, sizeof(path), "%s/p2pmem0", fake->root);
	strcpy(region.name, "p2pmem0");
	region.fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	less = before;
	less.rlim_cur = used_bytes("VmSize") + MOST_BYTES;
	assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
	rc = dnd_region_map(fake->ctx, &region, 0, MORE_BYTES, 0, &window);
	setrlimit(RLIMIT_AS, &before);
	assert_int_equal(rc, -ENOMEM);
	assert_string_equal(donard_error_code(fake->ctx), "no-memory");
	assert_says(donard_error(fake->ctx), "p2pmem0: bytes 0 to 268435456 cannot be mapped: this process may have");
	assert_says(donard_error(fake->ctx), "ulimit -v");
	assert_int_equal(dnd_region_map(fake->ctx, &region, 0, MORE_BYTES, 0, &window), 0);
	dnd_window_unmap(&window);
	close(region.fd);
	assert_false(dnd_map_limit(ENOMEM, MORE_BYTES, true, limit, sizeof(limit)));
	assert_false(dnd_map_limit(EAGAIN, MORE_BYTES, false, limit, sizeof(limit)));
}

/* A program that locks future mappings (mlockall()).  The limit does not apply with CAP_IPC_LOCK. */
static void test_locked(void **state)
{
	const struct rlimit less = { .rlim_cur = 1 << 16, .rlim_max = 1 << 16 };
	struct dnd_window window = { 0 };
	struct fake *fake = *state;
	struct dnd_region region = { .info = { .region_bytes = MORE_BYTES, .granule_bytes = 4096 } };
	char path[128];
	pid_t child;
	int status = 0;

	snprintf(path, sizeof(path), "%s/p2pmem0", fake->root);
	strcpy(region.name, "p2pmem0");
	region.fd = open(path, O_RDWR | O_CREAT, 0600);
	child = fork();
	if (!child) {
		setrlimit(RLIMIT_MEMLOCK, &less);
		if (setresuid(65534, 65534, 65534) && geteuid() != 65534)
			_exit(77);
		if (mlockall(MCL_FUTURE) ||
		    mmap(NULL, MORE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
			_exit(77);	/* sanitizers lock nothing */
		if (dnd_region_map(fake->ctx, &region, 0, MORE_BYTES, 0, &window) != -ENOMEM)
			_exit(1);
		_exit(!strstr(donard_error(fake->ctx), "locks all its memory (mlockall), and may lock 65536 bytes. Raise the limit (ulimit -l)"));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	close(region.fd);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

#define PLENTY	(1UL << 17)	/* of mappings; some systems allow more */

/* No mapping of the process is merged with its neighbour. */
static void test_count_of_mappings(void **state)
{
	const long page = sysconf(_SC_PAGESIZE);
	static void *maps[PLENTY];
	char limit[DND_LIMIT_BYTES] = "";
	bool said = false;
	size_t count = 0;

	(void)state;
	if (under_valgrind())
		skip();		/* it has fewer */
	while (count < PLENTY) {
		maps[count] = mmap(NULL, (size_t)page, count & 1 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (maps[count] == MAP_FAILED)
			break;
		count++;
	}
	if (count < PLENTY)
		said = dnd_map_limit(ENOMEM, 1, false, limit, sizeof(limit));
	for (size_t i = 0; i < count; i++)
		munmap(maps[i], (size_t)page);
	if (count == PLENTY)
		skip();
	assert_true(said);
	assert_says(limit, "all the mappings that one may have. Raise that (sysctl vm.max_map_count");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_dram, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_from_host, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_from_host_of_a_device, fake_setup, memory_teardown),
		cmocka_unit_test_setup_teardown(test_from_host_without_descriptors, fake_setup, memory_teardown),
		cmocka_unit_test_setup_teardown(test_pages_in_a_sandbox, fake_setup, memory_teardown),
		cmocka_unit_test_setup_teardown(test_bytes, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_bounds, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_export_past_the_end, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_refusals, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_adopted_too_late, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_from_dmabuf, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_region_in_a_sandbox, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_buffer_that_is_not_mapped, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_words, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_limits, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_locked, fake_setup, fake_teardown),
		cmocka_unit_test(test_count_of_mappings),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
