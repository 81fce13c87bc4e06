// SPDX-License-Identifier: Apache-2.0
/*
 * gpupin TEST [DRIVE] - one test of pinned GPU memory, by the kernel's interface and the lab's GPU alone
 * (modules/nvidia); gpupin --list names those that need nothing else. REGION is the node of the GPU's region.
 * The first thing that is not as expected ends the test with its line, what was expected and seen.
 *
 * LIBS: -luring -pthread
 */
#define _GNU_SOURCE
#include "gpulab.h"
#include "named.h"

#include <linux/dma-buf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

/* --- bytes --- */

static void both_ways(void)
{
	int gpu = gpu_open(), fd = open_region(region_path);
	uint64_t va = gpu_alloc(gpu, BYTES), *map;

	gpu_fill(gpu, va, BYTES, PATTERN);
	PINS(pin(fd, va, BYTES, 0));
	map = mapped(fd, BYTES, 0);
	CHECK(filled(map, BYTES, PATTERN));	/* the GPU's own: never zeroed */
	fill(map, BYTES, ~PATTERN);
	WORKS(sync_range(fd, 0, 0, 0));
	CHECK(gpu_has(gpu, va, BYTES, ~PATTERN));
}

static void several_pins_of_a_file(void)
{
	int gpu = gpu_open(), fd = open_region(region_path);
	uint64_t first = gpu_alloc(gpu, BYTES), second = gpu_alloc(gpu, BYTES), *map;

	PINS(pin(fd, second, BYTES, 0));
	PINS(pin(fd, first + GPU_PAGE, BYTES - GPU_PAGE, BYTES));
	map = mapped(fd, 2 * BYTES - GPU_PAGE, 0);
	fill(map, 2 * BYTES - GPU_PAGE, PATTERN);
	CHECK(gpu_has(gpu, second, BYTES, PATTERN));
	CHECK(gpu_has(gpu, first + GPU_PAGE, BYTES - GPU_PAGE, PATTERN + BYTES / 8));
}

static void reads_and_writes(void)
{
	int gpu = gpu_open(), fd = open_region(region_path);
	uint64_t va = gpu_alloc(gpu, BYTES);
	uint64_t *host = malloc(BYTES);

	PINS(pin(fd, va, BYTES, MIB));
	fill(host, BYTES, PATTERN);
	EQUAL(BYTES, pwrite(fd, host, BYTES, MIB));
	CHECK(gpu_has(gpu, va, BYTES, PATTERN));
	memset(host, 0, BYTES);
	EQUAL(BYTES, pread(fd, host, BYTES, MIB));
	CHECK(filled(host, BYTES, PATTERN));
	EQUAL(0, pread(fd, host, 4096, 0));	/* nothing is there */
	EQUAL(0, pread(fd, host, 4096, MIB + BYTES));
	FAILS(ENXIO, pwrite(fd, host, 4096, 0));
}

static void locate_and_copy(void)
{
	struct pinned p = pinned_anew(BYTES);
	struct p2pmem_locate l = { .size = sizeof(l), .file_offset = GPU_PAGE };
	struct p2pmem_copy c = { .size = sizeof(c), .to_offset = BYTES / 2, .length = BYTES / 2 };
	struct nvlab_info i = { .va = p.va + GPU_PAGE };

	WORKS(ioctl(p.fd, P2PMEM_IOC_LOCATE, &l));
	WORKS(ioctl(p.gpu, NVLAB_INFO, &i));
	EQUAL(i.bar_offset, l.region_offset);
	fill(p.map, BYTES / 2, PATTERN);
	c.from_fd = p.fd;
	WORKS(ioctl(p.fd, P2PMEM_IOC_COPY, &c));
	CHECK(gpu_has(p.gpu, p.va + BYTES / 2, BYTES / 2, PATTERN));
}

static void drive(void)
{
	const uint64_t pattern = PATTERN + (uint64_t)getpid();	/* not what an earlier run left on the drive */
	struct pinned p = pinned_anew(BYTES);
	int fd = drive_open();

	gpu_fill(p.gpu, p.va, BYTES, pattern);
	EQUAL(BYTES, pwrite(fd, p.map, BYTES, 0));
	gpu_fill(p.gpu, p.va, BYTES, 0);
	EQUAL(BYTES, pread(fd, p.map, BYTES, 0));
	CHECK(gpu_has(p.gpu, p.va, BYTES, pattern));
}

static void dmabuf(void)
{
	struct pinned p = pinned_anew(BYTES);
	struct p2pmem_export_dmabuf x = {
		.size = sizeof(x), .length = BYTES, .fd_flags = O_RDWR | O_CLOEXEC,
	};
	uint64_t *map;
	int fd;

	WORKS(fd = ioctl(p.fd, P2PMEM_IOC_EXPORT_DMABUF, &x));
	map = mapped(fd, BYTES, 0);
	fill(map, BYTES, PATTERN);
	CHECK(gpu_has(p.gpu, p.va, BYTES, PATTERN));
	x.length = 2 * BYTES;
	FAILS(ENXIO, ioctl(p.fd, P2PMEM_IOC_EXPORT_DMABUF, &x));
}

/* --- bad input --- */

static void nothing_unless_pinned(void)
{
	int fd = open_region(region_path);

	EQUAL(0, info_of(fd).available_bytes);
	EQUAL(P2PMEM_KIND_GPU_NVIDIA, info_of(fd).kind);
	CHECK(map_at(fd, 4096, 0) == MAP_FAILED);
	EQUAL(ENXIO, errno);
	FAILS(EOPNOTSUPP, claim(fd, 0, 4096, 0));
	WORKS(sync_range(fd, 0, 0, 0));
}

static void bad_input(void)
{
	int gpu = gpu_open(), fd = open_region(region_path), again = open_region(region_path);
	struct p2pmem_pin_gpu flags = { .size = sizeof(flags), .flags = 1 };
	uint64_t va = gpu_alloc(gpu, BYTES), next = gpu_alloc(gpu, BYTES), freed = gpu_alloc(gpu, BYTES);
	void *host = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	gpu_free(gpu, freed);
	EQUAL(va + BYTES, next);
	FAILS(EINVAL, ioctl(fd, P2PMEM_IOC_PIN_GPU, &flags));
	REFUSED(EINVAL, "multiples of 64 KiB", pin(fd, va + 4096, GPU_PAGE, 0));
	REFUSED(EINVAL, "multiples of 64 KiB", pin(fd, va, GPU_PAGE - 4096, 0));
	REFUSED(EINVAL, "multiples of 64 KiB", pin(fd, va, GPU_PAGE, 4096));
	REFUSED(EINVAL, "multiples of 64 KiB", pin(fd, va, 0, 0));
	REFUSED(EINVAL, "past the last address", pin(fd, va, GPU_PAGE, 1ULL << 63));
	REFUSED(EINVAL, "past the last address", pin(fd, -GPU_PAGE, 2 * GPU_PAGE, 0));
	REFUSED(EINVAL, "not two allocations", pin(fd, va, 2 * BYTES, 0));
	REFUSED(EINVAL, "was not freed", pin(fd, freed, BYTES, 0));
	REFUSED(EINVAL, "no host or managed memory", pin(fd, (uintptr_t)host & -GPU_PAGE, GPU_PAGE, 0));
	PINS(pin(fd, va, BYTES, 0));
	REFUSED(EEXIST, "choose another offset", pin(fd, next, BYTES, BYTES - GPU_PAGE));
	REFUSED(EBUSY, "pinned through", pin(again, va + GPU_PAGE, GPU_PAGE, 0));
	REFUSED(EBUSY, "pinned through", pin(fd, va, BYTES, 8 * BYTES));
}

static void another_process_cannot(void)
{
	int gpu = gpu_open(), fd = open_region(region_path), status;
	uint64_t va = gpu_alloc(gpu, BYTES);

	if (!fork()) {
		REFUSED(EINVAL, "of this process", pin(fd, va, BYTES, 0));
		_exit(0);
	}
	wait(&status);
	EQUAL(0, status);
}

static void not_of_other_kinds(void)
{
	int gpu = gpu_open(), fd = open_region("/dev/p2pmem2");

	REFUSED(EOPNOTSUPP, "only gpu-nvidia", pin(fd, gpu_alloc(gpu, BYTES), BYTES, 0));
}

/* Prints the result of a pin of 4 MiB. */
static void pin_says(void)
{
	int gpu = gpu_open(), fd = open_region(region_path);

	if (pin(fd, gpu_alloc(gpu, BYTES), BYTES, 0) == 0)
		puts("pinned");
	else
		printf("%s: %s\n", strerrorname_np(errno), reason);
}

/* --- the end --- */

/* With persistent pins, freed memory stays where it is as long as it is pinned. */
static void outlives_its_allocation(void)
{
	struct pinned p = pinned_anew(BYTES);

	fill(p.map, BYTES, PATTERN);
	gpu_free(p.gpu, p.va);
	close(p.gpu);
	CHECK(filled(p.map, BYTES, PATTERN));
	fill(p.map, BYTES, ~PATTERN);
	close(p.fd);
	CHECK(filled(p.map, BYTES, ~PATTERN));	/* the mapping has the file */
}

static void pinned_again(void)
{
	struct pinned p = pinned_anew(BYTES);

	for (int i = 0; i < 20; i++) {
		munmap(p.map, BYTES);
		close(p.fd);
		p.fd = open_region(region_path);
		PINS(pin(p.fd, p.va, BYTES, 0));
		p.map = mapped(p.fd, BYTES, 0);
		fill(p.map, MIB, PATTERN + i);
		CHECK(gpu_has(p.gpu, p.va, MIB, PATTERN + i));
	}
}

/* --- a driver that takes freed memory back --- */

/* Asserts that no call finds the memory in the file any more. */
static void has_nothing(struct pinned *p, uint64_t bytes)
{
	struct p2pmem_locate l = { .size = sizeof(l) };
	char byte;

	CHECK(!alive(p->map));
	CHECK(!alive(p->map + bytes / 8 - 1));
	FAILS(ENXIO, ioctl(p->fd, P2PMEM_IOC_LOCATE, &l));
	FAILS(ENXIO, pwrite(p->fd, "", 1, 0));
	EQUAL(0, pread(p->fd, &byte, 1, 0));
	CHECK(map_at(p->fd, GPU_PAGE, 0) == MAP_FAILED);
}

static void freed_is_gone(void)
{
	struct pinned p = pinned_anew(BYTES);
	struct p2pmem_info info = { .size = sizeof(info) };
	uint64_t second = gpu_alloc(p.gpu, BYTES);

	WORKS(ioctl(p.fd, P2PMEM_IOC_INFO, &info));
	CHECK(info.flags & P2PMEM_REGION_REVOCABLE);
	PINS(pin(p.fd, second, BYTES, BYTES));
	fill(p.map, BYTES, PATTERN);
	gpu_free(p.gpu, p.va);
	has_nothing(&p, BYTES);
	p.va = gpu_alloc(p.gpu, BYTES);	/* the same pages, which nobody wrote to since */
	PINS(pin(p.fd, p.va, BYTES, 0));
	fill(p.map, BYTES, PATTERN);
	CHECK(gpu_has(p.gpu, p.va, BYTES, PATTERN));
	close(p.gpu);
	has_nothing(&p, BYTES);
}

/* A dma-buf that was never made shows nothing, so its place may have other memory. */
static void freed_after_a_failed_export(void)
{
	struct pinned p = pinned_anew(BYTES);
	struct p2pmem_export_dmabuf x = {
		.size = sizeof(x), .length = BYTES, .fd_flags = O_RDWR | O_CLOEXEC,
	};
	struct rlimit limit;

	WORKS(getrlimit(RLIMIT_NOFILE, &limit));
	WORKS(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, limit.rlim_max }));
	FAILS(EMFILE, ioctl(p.fd, P2PMEM_IOC_EXPORT_DMABUF, &x));
	WORKS(setrlimit(RLIMIT_NOFILE, &limit));
	gpu_free(p.gpu, p.va);
	has_nothing(&p, BYTES);
	p.va = gpu_alloc(p.gpu, BYTES);
	PINS(pin(p.fd, p.va, BYTES, 0));
	fill(p.map, BYTES, PATTERN);
	CHECK(gpu_has(p.gpu, p.va, BYTES, PATTERN));
}

/* The GPU's driver is asked again and again, and so comes to it with a pin at each stage. */
static void *frees(void *arg)
{
	struct pinned *p = arg;

	for (int i = 0; i < 200; i++) {
		uint64_t va = p->va;
		__u64 freed = va;

		ioctl(p->gpu, NVLAB_FREE, &freed);
		p->va = gpu_alloc(p->gpu, BYTES);
	}
	return NULL;
}

static void freed_at_any_moment(void)
{
	struct pinned p = { .gpu = gpu_open(), .fd = open_region(region_path) };
	unsigned int pins = 0;
	pthread_t thread;

	p.va = gpu_alloc(p.gpu, BYTES);
	pthread_create(&thread, NULL, frees, &p);
	for (unsigned int i = 0; pthread_tryjoin_np(thread, NULL); i++) {
		if (!pin(p.fd, *(volatile uint64_t *)&p.va, BYTES, i % 2 * BYTES))
			pins++;
		else if (errno != EINVAL && errno != EEXIST && errno != EBUSY)
			err(1, "pin: %s", reason);
	}
	printf("pinned %u times\n", pins);
	CHECK(pins);
}

static atomic_uint reads;

/* Reads the drive into the memory, over and over; returns the errno that ended it. */
static void *keeps_reading(void *map)
{
	int fd = drive_open();

	while (pread(fd, map, MIB, 0) > 0)
		atomic_fetch_add(&reads, 1);
	return (void *)(intptr_t)errno;
}

static void begin_reading(struct pinned *p, pthread_t *threads)
{
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, keeps_reading, (char *)p->map + i * MIB);
	while (atomic_load(&reads) < 8)
		usleep(1000);
}

/* No byte of a transfer comes after the call that frees: the driver looks. */
static void freed_under_reads(void)
{
	struct pinned p = pinned_anew(BYTES);
	pthread_t threads[4];
	void *why;

	begin_reading(&p, threads);
	gpu_free(p.gpu, p.va);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &why);
		EQUAL(EFAULT, (uintptr_t)why);
	}
	has_nothing(&p, BYTES);
	gpu_alloc(p.gpu, BYTES);
}

static void reads_until_killed(void)
{
	struct pinned p = pinned_anew(BYTES);
	pthread_t threads[4];

	begin_reading(&p, threads);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

/* main() returns with requests in flight. */
static void exits_under_reads(void)
{
	struct pinned p = pinned_anew(BYTES);
	pthread_t threads[4];

	begin_reading(&p, threads);
}

#define PINNED_PAGES	"/sys/bus/pci/drivers/nvidia/module/parameters/pinned_pages"

/* Returns how many pages all processes have pinned, as the driver counts them. */
static long pinned_pages(void)
{
	char text[24] = "";
	int fd = open(PINNED_PAGES, O_RDONLY | O_CLOEXEC);

	WORKS(fd);
	WORKS(read(fd, text, sizeof(text) - 1));
	close(fd);
	return strtol(text, NULL, 10);
}

/* Only the process itself can put its pins: those that it left behind are put in its next call, such as an open. */
static void closed_by_another_process(void)
{
	struct pinned p = pinned_anew(BYTES);
	int status, pipes[2];
	char byte;

	WORKS(pipe(pipes));
	if (!fork()) {
		close(pipes[1]);
		EQUAL(0, read(pipes[0], &byte, 1));	/* the parent has closed it */
		_exit(0);	/* and here goes the last mapping and descriptor */
	}
	munmap(p.map, BYTES);
	close(p.fd);
	close(pipes[0]);
	close(pipes[1]);
	wait(&status);
	EQUAL(0, status);
	EQUAL(BYTES / GPU_PAGE, pinned_pages());
	/* None is closed, which would put it as well. */
	for (int i = 0; i < 100 && pinned_pages(); i++) {
		p.fd = open_region(region_path);
		usleep(10000);
	}
	EQUAL(0, pinned_pages());
	PINS(pin(p.fd, p.va, BYTES, 0));
}

static void not_pinned_for_long(void)
{
	struct pinned p = pinned_anew(BYTES);
	struct io_uring ring;

	CHECK(register_buffer(&ring, p.map) < 0);
}

static int set_page_type(const char *type)
{
	char path[80];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/p2pmem/%s/page_type", strrchr(region_path, '/') + 1);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	WORKS(fd);
	n = write(fd, type, strlen(type));
	close(fd);
	return n < 0 ? -1 : 0;
}

/* A pin that does not end: the call that frees comes back nevertheless, and the range stays fenced off. */
static void freed_while_pinned_for_long(void)
{
	struct pinned p = pinned_anew(BYTES);
	struct io_uring ring;
	uint64_t va;

	EQUAL(0, register_buffer(&ring, p.map));
	gpu_free(p.gpu, p.va);
	CHECK(!alive(p.map));
	munmap(p.map, BYTES);
	close(p.fd);	/* nothing but the ring has it now, and nobody knows that but its pages */
	FAILS(EBUSY, set_page_type("generic"));
	p.fd = open_region(region_path);
	va = gpu_alloc(p.gpu, BYTES);
	REFUSED(EBUSY, "pinned through", pin(p.fd, va, BYTES, 0));
	io_uring_queue_exit(&ring);
	while (pin(p.fd, va, BYTES, 0))
		EQUAL(EBUSY, errno);
}

static const struct named_test tests[] = {
	{ "both-ways", both_ways },
	{ "several-pins-of-a-file", several_pins_of_a_file },
	{ "reads-and-writes", reads_and_writes },
	{ "locate-and-copy", locate_and_copy },
	{ "dmabuf", dmabuf },
	{ "nothing-unless-pinned", nothing_unless_pinned },
	{ "bad-input", bad_input },
	{ "another-process-cannot", another_process_cannot },
	{ "not-of-other-kinds", not_of_other_kinds },
	{ "pinned-again", pinned_again },
	{ NULL, NULL },
	{ "pin-says", pin_says },
	{ "drive", drive },
	{ "outlives-its-allocation", outlives_its_allocation },
	{ "freed-is-gone", freed_is_gone },
	{ "freed-after-a-failed-export", freed_after_a_failed_export },
	{ "freed-at-any-moment", freed_at_any_moment },
	{ "freed-under-reads", freed_under_reads },
	{ "reads-until-killed", reads_until_killed },
	{ "exits-under-reads", exits_under_reads },
	{ "closed-by-another-process", closed_by_another_process },
	{ "not-pinned-for-long", not_pinned_for_long },
	{ "freed-while-pinned-for-long", freed_while_pinned_for_long },
};

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: gpupin TEST [DRIVE], or gpupin --list");
	region_path = getenv("REGION") ?: "/dev/p2pmem0";
	drive_path = argc > 2 ? argv[2] : NULL;
	RUN_NAMED(tests, argv[1]);
	return 0;
}
