// SPDX-License-Identifier: Apache-2.0
/* LIBS: -ldonard */
/*
 * imported TEST [DRIVE BDF] - one test of memory that came as a dma-buf; imported --list names them. DRIVE is an
 * NVMe drive, whose bytes from 4 MiB on are overwritten, BDF its function. Needs root, p2pmem0 and p2pmem2 idle, and
 * /dev/dmabuf_exporter; "gpu" needs /dev/nvidia-lab instead.
 */
#define _GNU_SOURCE
#include <linux/dma-heap.h>
#include <linux/memfd.h>
#include <linux/udmabuf.h>
#include <signal.h>
#include <sys/syscall.h>

#include "donard/queue.h"
#include "imported.h"

#include "modules/nvidia/nvidia-lab.h"

static const char *drive, *client_bdf;

static void take_back(int fd)
{
	int32_t argument = fd;

	WORKS(ioctl(exporter_fd, EXPORTER_REVOKE, &argument));
}

static int accesses(int fd)
{
	int32_t argument = fd;
	int count = ioctl(exporter_fd, EXPORTER_ACCESSES, &argument);

	WORKS(count);
	return count;
}

/* --- a queue --- */

static struct donard_queue *queue;
static struct donard_file *file;
static struct donard_memory *dram;
static uint8_t *seen;		/* the bytes of dram */
static struct donard_completion got;

static void open_queue(unsigned int flags)
{
	struct donard_queue_options options = { .size = sizeof(options), .depth = 4, .flags = flags };

	GOES(donard_queue_open(ctx, &options, &queue));
	GOES(donard_file_open(ctx, drive, DONARD_FILE_WRITE, &file));
	GOES(donard_memory_dram(ctx, BYTES, &dram));
	seen = about(dram).address;
}

static void close_queue(void)
{
	donard_queue_close(queue);
	donard_file_close(file);
	donard_memory_free(dram);
}

static void complete(enum donard_route_type route, uint32_t flags)
{
	EQUAL(1, donard_queue_wait(queue, 1, -1, &got, 1));
	if (got.result != (int64_t)BYTES)
		errx(1, "expected %llu bytes, seen %lld (%s)", BYTES, (long long)got.result, got.error);
	EQUAL(route, got.route);
	EQUAL(flags, got.flags);
	EQUAL(DONARD_EVIDENCE_PROVEN, got.evidence);
}

/* The memory has what the drive has at @from. */
static void same_as_drive(struct donard_memory *memory, uint64_t from)
{
	uint8_t *bytes = malloc(BYTES);

	GOES(donard_queue_read(queue, file, from, dram, 0, BYTES, NULL));
	complete(DONARD_ROUTE_DRAM, 0);
	GOES(donard_memory_read(memory, 0, bytes, BYTES));
	CHECK(!memcmp(bytes, seen, BYTES));
	free(bytes);
}

/* The drive's bytes to the memory, and others back: each time such as were not there before. */
static void there_and_back(struct donard_memory *memory, enum donard_route_type route, uint32_t flags)
{
	static uint8_t rounds;

	rounds++;
	GOES(donard_queue_read(queue, file, 0, memory, 0, BYTES, NULL));
	complete(route, flags);
	same_as_drive(memory, 0);
	for (size_t i = 0; i < BYTES; i++)
		seen[i] += rounds;
	GOES(donard_memory_write(memory, 0, seen, BYTES));
	GOES(donard_queue_write(queue, file, 4 * MIB, memory, 0, BYTES, NULL));
	complete(route, flags);
	same_as_drive(memory, 4 * MIB);
}

/* --- ours --- */

/* Same memory, no second owner, and the dma-buf alone keeps it. */
static void ours(void)
{
	uint64_t before = available();
	struct donard_memory *memory;
	struct donard_memory_info info;
	char text[8];
	int fd = exported("p2pmem0", 3 * MIB, O_RDWR);

	memory = import(fd, 4096 + 100, 5000);
	close(fd);
	info = about(memory);
	EQUAL(DONARD_MEMORY_REGION, info.kind);
	EQUAL(DONARD_PAGES_DEVICE, info.pages);
	CHECK(!strcmp(info.region, "p2pmem0") && !strcmp(info.exporter, "p2pmem0") && strlen(info.bdf) == 12);
	EQUAL(3 * MIB + 4196, info.region_offset_bytes);
	EQUAL(5000, info.contiguous_bytes);
	EQUAL(4196, info.dmabuf_offset_bytes);
	EQUAL(100, (uintptr_t)info.address % 4096);
	CHECK(info.dmabuf_fd >= 0 && info.fd >= 0 && !info.read_only && !*info.unmapped);
	GOES(donard_memory_write(owner, 4196, "bytes", 6));
	GOES(donard_memory_read(memory, 0, text, 6));
	CHECK(!strcmp(text, "bytes"));
	GOES(donard_memory_write(memory, 4994, "there", 6));
	GOES(donard_memory_sync(memory, 0));
	GOES(donard_memory_read(owner, 4196 + 4994, text, 6));
	CHECK(!strcmp(text, "there") && !strcmp((char *)info.address + 4994, "there"));
	REFUSES(ENXIO, "past-end", donard_memory_read(memory, 4995, text, 6));
	EQUAL(before - BYTES, available());
	donard_memory_free(owner);
	EQUAL(before - BYTES, available());
	GOES(donard_memory_read(memory, 4994, text, 6));
	CHECK(!strcmp(text, "there"));
	EQUAL(DONARD_STATE_READY, donard_memory_state(memory));
	donard_memory_free(memory);
	EQUAL(before, available());
}

/* The exporting process, which says how it calls the dma-buf and waits for its end. */
static void export_for(int channel)
{
	int fd = exported("p2pmem0", MIB, O_RDWR);

	GOES(donard_memory_write(owner, 0, "bytes", 6));
	EQUAL(sizeof(fd), (size_t)write(channel, &fd, sizeof(fd)));
	for (;;)
		pause();
}

static bool is_holder(pid_t pid)
{
	FILE *holders = fopen("/sys/class/p2pmem/p2pmem0/holders", "r");
	bool found = false;
	char line[256];

	while (holders && !found && fgets(line, sizeof(line), holders))
		found = atoi(line) == pid;
	if (holders)
		fclose(holders);
	return found;
}

/* The exporting process has ended: the importer has the memory, and is named among the holders. */
static void ours_from_another(void)
{
	uint64_t before = available();
	struct donard_memory *memory;
	int channel[2], fd, process;
	pid_t child;
	char text[6];

	WORKS(pipe(channel));
	child = fork();
	if (!child)
		export_for(channel[1]);
	EQUAL(sizeof(fd), (size_t)read(channel[0], &fd, sizeof(fd)));
	process = (int)syscall(SYS_pidfd_open, child, 0);
	WORKS(process);
	fd = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	WORKS(fd);
	kill(child, SIGKILL);
	EQUAL(child, waitpid(child, NULL, 0));
	memory = import(fd, 0, 0);
	close(fd);
	GOES(donard_memory_read(memory, 0, text, 6));
	CHECK(!strcmp(text, "bytes") && is_holder(getpid()));
	EQUAL(before - BYTES, available());
	donard_memory_free(memory);
	CHECK(!is_holder(getpid()));
	EQUAL(before, available());
}

static void ours_by_queue(void)
{
	int fd = exported("p2pmem0", 0, O_RDWR);
	struct donard_memory *memory = import(fd, 0, 0);
	struct donard_route route = { .size = sizeof(route) };
	uint64_t before = available();
	int held;

	GOES(donard_memory_route(memory, client_bdf, &route));
	EQUAL(DONARD_ROUTE_SWITCH, route.route);
	open_queue(0);
	there_and_back(memory, DONARD_ROUTE_SWITCH, 0);
	held = donard_queue_register(queue, memory);
	GOES(held);
	there_and_back(memory, DONARD_ROUTE_SWITCH, held ? DONARD_COMPLETION_REGISTERED : 0);
	EQUAL(before, available());
	close_queue();
	donard_memory_free(memory);
	donard_memory_free(owner);
	close(fd);
}

/* The drive would reach the memory, but the proof needs the CPU to compare the moved bytes. */
static void ours_in_a_sandbox(void)
{
	int fd = exported("p2pmem0", 0, O_RDWR);
	struct donard_memory *memory = import(fd, 0, 0);

	open_queue(0);
	forbid_process_vm();
	REFUSES(EPERM, "permission", donard_queue_read(queue, file, 0, memory, 0, BYTES, NULL));
	SAID("p2pmem0: this process may not call process_vm_readv()");
	REFUSES(EPERM, "permission", donard_queue_write(queue, file, 4 * MIB, memory, 0, BYTES, NULL));
	SAID("p2pmem0: this process may not call process_vm_readv()");
	close_queue();
	donard_memory_free(memory);
	donard_memory_free(owner);
	close(fd);
}

static void ours_read_only(void)
{
	int fd = exported("p2pmem0", 0, O_RDONLY);
	struct donard_memory *memory = import(fd, 0, 0);

	CHECK(about(memory).read_only);
	GOES(donard_memory_write(owner, 0, "bytes", 6));
	CHECK(!strcmp(about(memory).address, "bytes"));
	REFUSES(EROFS, "read-only", donard_memory_write(memory, 0, "other", 6));
	open_queue(DONARD_QUEUE_ALLOW_BOUNCE);
	REFUSES(EROFS, "read-only", donard_queue_read(queue, file, 0, memory, 0, BYTES, NULL));
	SAID("O_RDWR");
	GOES(donard_queue_write(queue, file, 4 * MIB, memory, 0, BYTES, NULL));
	complete(DONARD_ROUTE_SWITCH, 0);
	same_as_drive(memory, 4 * MIB);
	close_queue();
	donard_memory_free(memory);
	donard_memory_free(owner);
	close(fd);
}

static void ours_persistent(void)
{
	int fd = exported("p2pmem2", MIB, O_RDWR), again = -1;
	struct donard_memory *memory = import(fd, 0, 0);

	CHECK(about(memory).persistent);
	EQUAL(MIB, about(memory).region_offset_bytes);
	GOES(donard_memory_sync(memory, DONARD_SYNC_DURABLE));
	REFUSES(EOPNOTSUPP, "unsupported", donard_memory_export(memory, 0, 0, O_RDWR, &again));
	SAID("info.dmabuf_fd");
	donard_memory_free(memory);
	donard_memory_free(owner);
	close(fd);
}

/* For imported.sh: the region goes away. */
static void until_the_end(void)
{
	int fd = exported("p2pmem0", 0, O_RDWR);
	struct donard_memory *memory = import(fd, 0, 0), *late;
	struct pollfd pollfd = { .fd = about(memory).fd, .events = POLLPRI };
	char byte = 0;

	open_queue(0);
	GOES(donard_queue_register(queue, memory));
	puts("ready");
	fflush(stdout);
	EQUAL(1, poll(&pollfd, 1, -1));
	REFUSES(ENODEV, "region-gone", donard_memory_read(memory, 0, &byte, 1));
	REFUSES(ENODEV, "region-gone", donard_memory_write(memory, 0, &byte, 1));
	REFUSES(ENODEV, "region-gone", donard_memory_sync(memory, 0));
	REFUSES(ENODEV, "region-gone", donard_memory_from_dmabuf(ctx, fd, 0, 0, &late));
	FAILS(ENODEV, located(pollfd.fd, fd));
	CHECK(donard_queue_read(queue, file, 0, memory, 0, BYTES, NULL) == -ENODEV ||
	      (donard_queue_wait(queue, 1, -1, &got, 1) == 1 && got.result == -ENODEV));
	close_queue();
	while (donard_memory_state(memory) != DONARD_STATE_GONE)
		usleep(10000);
	REFUSES(ENODEV, "region-gone", donard_memory_from_dmabuf(ctx, fd, 0, 0, &late));
	donard_memory_free(memory);
	puts("ended");
	fflush(stdout);
	/* Another region may have the name now. */
	CHECK(getchar() == '\n');
	REFUSES(ENODEV, "region-gone", donard_memory_from_dmabuf(ctx, fd, 0, 0, &late));
	SAID("was taken away");
	FAILS(EINVAL, located(open_region(volatile_region), fd));
	donard_memory_free(owner);
	close(fd);
}

static uint64_t resets(void)
{
	FILE *attribute = fopen("/sys/class/p2pmem/p2pmem0/resets", "r");
	unsigned long long count = UINT64_MAX;

	CHECK(attribute && fscanf(attribute, "%llu", &count) == 1);
	fclose(attribute);
	return count;
}

/* For imported.sh, as access has it for the region's own file: one call of many meets the reset. */
static void until_a_reset(int (*access)(struct donard_memory *memory, uint8_t *bytes))
{
	int fd = exported("p2pmem0", 0, O_RDWR), rc;
	struct donard_memory *memory = import(fd, 0, 0);
	uint64_t before = resets();
	uint8_t *bytes = calloc(1, BYTES);

	do {
		rc = access(memory, bytes);
		if (!rc && resets() != before)
			errx(1, "the device was reset, and no call failed");
		puts("going");
		fflush(stdout);
	} while (!rc);
	EQUAL(-EIO, rc);
	SAID("p2pmem0: the device was reset meanwhile");
	while (resets() == before)	/* else the next call meets it, too */
		usleep(1000);
	GOES(access(memory, bytes));
	REFUSES(EIO, "device", donard_memory_sync(memory, 0));
	GOES(donard_memory_sync(memory, 0));
	donard_memory_free(memory);
	donard_memory_free(owner);
	close(fd);
	free(bytes);
}

static int read_all(struct donard_memory *memory, uint8_t *bytes)
{
	return donard_memory_read(memory, 0, bytes, BYTES);
}

static void reads_until_a_reset(void)
{
	until_a_reset(read_all);
}

static int write_all(struct donard_memory *memory, uint8_t *bytes)
{
	return donard_memory_write(memory, 0, bytes, BYTES);
}

static void writes_until_a_reset(void)
{
	until_a_reset(write_all);
}

/* Run by imported.sh: a reset between two calls is reported by the sync alone, as for the region's own file. */
static void after_a_reset(void)
{
	int fd = exported("p2pmem0", 0, O_RDWR);
	struct donard_memory *memory = import(fd, 0, 0);
	char byte = 0;

	puts("going");
	fflush(stdout);
	CHECK(getchar() == '\n');
	GOES(donard_memory_read(memory, 0, &byte, 1));
	REFUSES(EIO, "device", donard_memory_sync(memory, 0));
	GOES(donard_memory_sync(memory, 0));
	donard_memory_free(memory);
	donard_memory_free(owner);
	close(fd);
}

/* --- of strangers --- */

static void looks_like(const struct donard_memory *memory, enum donard_memory_pages pages, const char *exporter)
{
	struct donard_memory_info info = about(memory);

	EQUAL(DONARD_MEMORY_DMABUF, info.kind);
	EQUAL(pages, info.pages);
	CHECK(!strcmp(info.exporter, exporter) && !*info.region && !*info.bdf);
	EQUAL(-1, info.fd);
	CHECK(info.dmabuf_fd >= 0 && !info.persistent);
}

/* Pages of the host are moved directly, but never called peer-to-peer.  Nothing is killed when they are taken back. */
static void host_pages(void)
{
	struct donard_route route = { .size = sizeof(route) };
	int fd = stranger(EXPORTER_PAGES, -1);
	struct donard_memory *memory = import(fd, 0, 0);
	char byte = 0;

	looks_like(memory, DONARD_PAGES_HOST, "stranger");
	open_queue(0);
	there_and_back(memory, DONARD_ROUTE_DRAM, 0);
	/* A queue that held the pages would go on with them when they are the exporter's no more. */
	EQUAL(0, donard_queue_register(queue, memory));
	there_and_back(memory, DONARD_ROUTE_DRAM, 0);
	GOES(donard_memory_sync(memory, 0));
	REFUSES(EOPNOTSUPP, "unsupported", donard_memory_route(memory, client_bdf, &route));
	SAID("each device reaches plain memory");
	take_back(fd);
	REFUSES(ENODEV, "region-gone", donard_memory_read(memory, 0, &byte, 1));
	SAID("dma-buf of stranger: its exporter took it back");
	REFUSES(ENODEV, "region-gone", donard_memory_write(memory, 0, &byte, 1));
	GOES(donard_queue_read(queue, file, 0, memory, 0, BYTES, NULL));
	EQUAL(1, donard_queue_wait(queue, 1, -1, &got, 1));
	EQUAL((uint64_t)-ENODEV, (uint64_t)got.result);
	CHECK(strstr(got.error, "took it back"));
	close_queue();
	donard_memory_free(memory);
	memory = import(fd, 0, 0);	/* what is left of it */
	CHECK(!about(memory).address && strstr(about(memory).unmapped, "does not map it"));
	donard_memory_free(memory);
	close(fd);
}

/* Does the kernel have NUMA nodes (CONFIG_NUMA), by which pages of the host are told from those of a device? */
static bool has_nodes(void)
{
	return syscall(SYS_move_pages, 0, 0UL, NULL, NULL, NULL, 0) == 0;
}

/* Memory that no drive's driver can use is refused with the reason, or goes through DRAM and is counted. */
static void bounces(struct donard_memory *memory, int error, const char *word, const char *text)
{
	struct donard_queue_info info = { .size = sizeof(info) };

	open_queue(0);
	REFUSES(error, word, donard_queue_read(queue, file, 0, memory, 0, BYTES, NULL));
	SAID(text);
	REFUSES(error, word, donard_queue_write(queue, file, 4 * MIB, memory, 0, BYTES, NULL));
	close_queue();
	open_queue(DONARD_QUEUE_ALLOW_BOUNCE);
	there_and_back(memory, DONARD_ROUTE_BOUNCED, DONARD_COMPLETION_BOUNCED);
	GOES(donard_queue_info(queue, &info));
	EQUAL(2 * BYTES, info.bounced_bytes);
	close_queue();
}

/* Without nodes it is unknown whose the same pages are, so they are treated as a device's. */
static void unknown_pages(void)
{
	struct donard_memory *memory = import(stranger(EXPORTER_PAGES, -1), 0, 0);

	CHECK(!has_nodes());
	looks_like(memory, DONARD_PAGES_UNKNOWN, "stranger");
	bounces(memory, EHOSTUNREACH, "unreachable", "nobody knows whose");
	donard_memory_free(memory);
}

static void by_frames(int fd, const char *exporter)
{
	struct donard_route route = { .size = sizeof(route) };
	struct donard_memory *memory = import(fd, 0, 0);

	looks_like(memory, DONARD_PAGES_NONE, exporter);
	CHECK(about(memory).address && !*about(memory).unmapped);
	REFUSES(EOPNOTSUPP, "unsupported", donard_memory_route(memory, client_bdf, &route));
	bounces(memory, EOPNOTSUPP, "unsupported", "without struct pages");
	donard_memory_free(memory);
	close(fd);
}

static void frames(void)
{
	by_frames(stranger(EXPORTER_FRAMES, -1), "stranger");
}

/* An import must not announce an access by the CPU, at which a GPU's driver would move the buffer to the host. */
static void import_moves_nothing(void)
{
	int fd = stranger(EXPORTER_FRAMES, -1);
	struct donard_memory *memory = import(fd, 0, 0);
	char byte = 0;

	looks_like(memory, DONARD_PAGES_NONE, "stranger");
	open_queue(0);
	REFUSES(EOPNOTSUPP, "unsupported", donard_queue_read(queue, file, 0, memory, 0, BYTES, NULL));
	close_queue();
	EQUAL(0, accesses(fd));
	GOES(donard_memory_read(memory, 0, &byte, 1));
	CHECK(accesses(fd) > 0);
	donard_memory_free(memory);
	close(fd);
}

/* The kernel copies between a mapping and plain memory: another mapping like it is the caller's fault. */
static void frames_to_frames(void)
{
	int fd = stranger(EXPORTER_FRAMES, -1), other_fd = stranger(EXPORTER_FRAMES, -1);
	struct donard_memory *memory = import(fd, 0, 0), *other = import(other_fd, 0, 0);

	REFUSES(EFAULT, "system", donard_memory_read(memory, 0, about(other).address, 4096));
	SAID("dma-buf of stranger: a part of the program's own buffer is not mapped");
	REFUSES(EFAULT, "system", donard_memory_write(memory, 0, NULL, 1));
	SAID("dma-buf of stranger: a part of the program's own buffer is not mapped");
	donard_memory_free(memory);
	donard_memory_free(other);
	close(fd);
	close(other_fd);
}

static void frames_taken_back(void)
{
	int fd = stranger(EXPORTER_FRAMES, -1);
	struct donard_memory *memory = import(fd, 4096, 4096);
	char byte = 0;

	take_back(fd);
	REFUSES(ENODEV, "region-gone", donard_memory_read(memory, 0, &byte, 1));
	REFUSES(ENODEV, "region-gone", donard_memory_zero(memory, 0, 4096));
	open_queue(DONARD_QUEUE_ALLOW_BOUNCE);
	REFUSES(ENODEV, "region-gone", donard_queue_write(queue, file, 4 * MIB, memory, 0, 4096, NULL));
	close_queue();
	donard_memory_free(memory);
	close(fd);
}

static void only_for_importers(int fd, const char *exporter)
{
	struct donard_memory *memory = import(fd, 4096, 0);
	char byte = 0;

	looks_like(memory, DONARD_PAGES_NONE, exporter);
	EQUAL(BYTES - 4096, about(memory).length_bytes);
	CHECK(!about(memory).address && strstr(about(memory).unmapped, "does not map it (Operation not supported)"));
	REFUSES(EOPNOTSUPP, "unsupported", donard_memory_read(memory, 0, &byte, 1));
	SAID("donard_rdma_register()");
	REFUSES(EOPNOTSUPP, "unsupported", donard_memory_write(memory, 0, &byte, 1));
	GOES(donard_memory_sync(memory, 0));
	open_queue(DONARD_QUEUE_ALLOW_BOUNCE);
	REFUSES(EOPNOTSUPP, "unsupported", donard_queue_read(queue, file, 0, memory, 0, 4096, NULL));
	REFUSES(EOPNOTSUPP, "unsupported", donard_queue_register(queue, memory));
	close_queue();
	donard_memory_free(memory);
	close(fd);
}

static void unmapped(void)
{
	only_for_importers(stranger(EXPORTER_UNMAPPED, -1), "stranger");
}

/* A dma-buf as cuMemGetHandleForAddressRange() returns it. */
static void gpu(void)
{
	int device = open("/dev/" NVLAB_NODE, O_RDWR | O_CLOEXEC);
	struct nvlab_alloc allocation = { .bytes = BYTES };
	struct nvlab_export export = { .bytes = BYTES };

	WORKS(device);
	WORKS(ioctl(device, NVLAB_ALLOC, &allocation));
	export.va = allocation.va;
	WORKS(ioctl(device, NVLAB_EXPORT, &export));
	only_for_importers(export.fd, "nvidia");
	close(device);
}

/* Pages of a device whose exporter does not say where they lie: no route can be judged. */
static void device_pages(void)
{
	int inner = exported("p2pmem0", 0, O_RDWR), fd = stranger(EXPORTER_WRAPPED, inner);
	struct donard_memory *memory = import(fd, 0, 0);

	looks_like(memory, has_nodes() ? DONARD_PAGES_DEVICE : DONARD_PAGES_UNKNOWN, "stranger");
	bounces(memory, EHOSTUNREACH, "unreachable", "no route can be judged");
	donard_memory_free(memory);
	donard_memory_free(owner);
	close(fd);
	close(inner);
}

/* A request with a single page of a device in its middle goes to a device. */
static void device_page_amid_host_pages(void)
{
	int region = open_region(volatile_region);
	struct donard_memory *memory = import(stranger(EXPORTER_PAGES, -1), 0, 0);
	uint8_t *middle = (uint8_t *)about(memory).address + BYTES / 2;

	looks_like(memory, DONARD_PAGES_HOST, "stranger");
	CHECK(mmap(middle, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, region, 0) == middle);
	bounces(memory, EHOSTUNREACH, "unreachable", "no route can be judged");
	donard_memory_free(memory);
	close(region);
}

/* An address is no way around the judgement of routes. */
static void host_memory_of_a_device(void)
{
	uint8_t *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *address;
	struct donard_memory *memory;

	GOES(donard_memory_claim(ctx, "p2pmem0", 0, BYTES, &owner));
	address = about(owner).address;
	REFUSES(EHOSTUNREACH, "unreachable", donard_memory_from_host(ctx, address, BYTES, &memory));
	SAID("donard_memory_adopt()");
	REFUSES(EHOSTUNREACH, "unreachable", donard_memory_from_host(ctx, address + BYTES - 1, 1, &memory));
	CHECK(pages != MAP_FAILED);
	GOES(donard_memory_from_host(ctx, pages, BYTES, &memory));	/* of which none is there yet */
	open_queue(0);
	there_and_back(memory, DONARD_ROUTE_DRAM, 0);
	close_queue();
	donard_memory_free(memory);
	donard_memory_free(owner);
}

/* --- the kernel's own exporters --- */

static int udmabuf(void)
{
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = BYTES };

	WORKS(device);
	create.memfd = (uint32_t)memfd_create("imported", MFD_ALLOW_SEALING);
	WORKS(ftruncate((int)create.memfd, BYTES));
	WORKS(fcntl((int)create.memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	fd = ioctl(device, UDMABUF_CREATE, &create);
	WORKS(fd);
	return fd;
}

static void from_udmabuf(void)
{
	by_frames(udmabuf(), "udmabuf");
}

/* --- what the drive's driver imports --- */

static void complete_imported(void)
{
	EQUAL(1, donard_queue_wait(queue, 1, -1, &got, 1));
	if (got.result != (int64_t)BYTES)
		errx(1, "expected %llu bytes, seen %lld (%s)", BYTES, (long long)got.result, got.error);
	EQUAL(DONARD_ROUTE_NONE, got.route);
	EQUAL(DONARD_EVIDENCE_PREDICTED, got.evidence);
	EQUAL(0, got.flags);
}

/* Neither bounced nor by an address: the bytes of the drive, then others back to it, and the same after it was let go. */
static void drive_imports(void)
{
	int fd = udmabuf();
	struct donard_memory *memory = import(fd, 0, 0);

	looks_like(memory, DONARD_PAGES_NONE, "udmabuf");
	open_queue(0);
	for (int round = 0; round < 2; round++) {
		GOES(donard_queue_read(queue, file, 0, memory, 0, BYTES, NULL));
		complete_imported();
		same_as_drive(memory, 0);
		for (size_t i = 0; i < BYTES; i++)
			seen[i] += 1 + round;
		GOES(donard_memory_write(memory, 0, seen, BYTES));
		GOES(donard_queue_write(queue, file, 4 * MIB, memory, 0, BYTES, NULL));
		complete_imported();
		same_as_drive(memory, 4 * MIB);
		GOES(donard_queue_unregister(queue, memory));
	}
	close_queue();
	donard_memory_free(memory);
	close(fd);
}

static void from_system_heap(void)
{
	struct dma_heap_allocation_data allocation = { .len = BYTES, .fd_flags = O_RDWR | O_CLOEXEC };
	int device = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);

	WORKS(device);
	WORKS(ioctl(device, DMA_HEAP_IOCTL_ALLOC, &allocation));
	by_frames((int)allocation.fd, "system");
}

static const struct named_test tests[] = {
	{ "ours", ours },
	{ "ours-from-another", ours_from_another },
	{ "ours-by-queue", ours_by_queue },
	{ "ours-in-a-sandbox", ours_in_a_sandbox },
	{ "ours-read-only", ours_read_only },
	{ "ours-persistent", ours_persistent },
	{ "until-the-end", until_the_end },
	{ "reads-until-a-reset", reads_until_a_reset },
	{ "writes-until-a-reset", writes_until_a_reset },
	{ "after-a-reset", after_a_reset },
	{ "host-pages", host_pages },
	{ "frames", frames },
	{ "import-moves-nothing", import_moves_nothing },
	{ "frames-to-frames", frames_to_frames },
	{ "frames-taken-back", frames_taken_back },
	{ "unmapped", unmapped },
	{ "gpu", gpu },
	{ "device-pages", device_pages },
	{ "device-page-amid-host-pages", device_page_amid_host_pages },
	{ "host-memory-of-a-device", host_memory_of_a_device },
	{ "unknown-pages", unknown_pages },
	{ "udmabuf", from_udmabuf },
	{ "system-heap", from_system_heap },
	{ "drive-imports", drive_imports },
};

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: imported TEST [DRIVE BDF], or imported --list");
	GOES(donard_open(&ctx, NULL));
	drive = argc > 2 ? argv[2] : NULL;
	client_bdf = argc > 3 ? argv[3] : NULL;
	RUN_NAMED(tests, argv[1]);
	donard_close(ctx);
	return 0;
}
