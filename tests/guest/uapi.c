// SPDX-License-Identifier: Apache-2.0
/*
 * uapi TEST [BDF] - one test of the kernel's interface, without the library; uapi --list names them.
 * The first thing that is not as expected ends the test with its line, what was expected and seen.
 * Needs root, p2pmem0 (volatile) and p2pmem2 (persistent), both idle.
 */
#define _GNU_SOURCE
#include "named.h"
#include "uapi.h"

static const char *client_bdf;

/* --- INFO --- */

/* Since Linux 7 (kernel/compat). */
static unsigned int folios_of_kernel(void)
{
	struct utsname name;

	WORKS(uname(&name));
	return strtoul(name.release, NULL, 10) >= 7 ? P2PMEM_REGION_FOLIOS : 0;
}

static void info_describes(void)
{
	int fd = open_region(volatile_region), pmr = open_region(persistent_region);
	struct p2pmem_info i = info_of(fd), p = info_of(pmr);

	EQUAL(P2PMEM_KIND_PCI_BAR, i.kind);
	EQUAL(P2PMEM_KIND_NVME_PMR, p.kind);
	EQUAL(folios_of_kernel(), i.flags);
	EQUAL(P2PMEM_REGION_PERSISTENT | folios_of_kernel(), p.flags);
	EQUAL(64 * MIB, p.region_bytes);
	EQUAL(i.region_bytes, i.available_bytes);
	EQUAL(PAGE, i.granule_bytes);
	EQUAL(PAGE, i.folio_bytes);
	EQUAL(2, i.bar);
	EQUAL(P2PMEM_STATE_READY, i.state);
	EQUAL(P2PMEM_MEMTYPE_WC, i.memtype);
	CHECK(!strcmp(i.name, "p2pmem0"));
	CHECK(i.bus_address && i.bus_address % PAGE == 0);
	EQUAL(i.region_bytes, (uint64_t)lseek(fd, 0, SEEK_END));
}

/* --- sizes, flags, reserved fields --- */

struct padded_info {
	struct p2pmem_info info;
	char more[64];
};

static void sizes(void)
{
	int fd = open_region(volatile_region);
	struct padded_info p = { .info.size = 0 };

	FAILS(EINVAL, ioctl(fd, P2PMEM_IOC_INFO, &p));
	p.info.size = sizeof(p.info) - 1;
	FAILS(EINVAL, ioctl(fd, P2PMEM_IOC_INFO, &p));
	p.info.size = sizeof(p);
	p.more[5] = 1;
	FAILS(E2BIG, ioctl(fd, P2PMEM_IOC_INFO, &p));
	p.more[5] = 0;
	WORKS(ioctl(fd, P2PMEM_IOC_INFO, &p));
	EQUAL(P2PMEM_KIND_PCI_BAR, p.info.kind);
	p = (struct padded_info){ .info.size = UINT32_MAX };
	CHECK(ioctl(fd, P2PMEM_IOC_INFO, &p) == -1 && (errno == E2BIG || errno == EINVAL));
	FAILS(EFAULT, ioctl(fd, P2PMEM_IOC_INFO, NULL));
	FAILS(EFAULT, ioctl(fd, P2PMEM_IOC_INFO, (void *)8));
}

/* The number of a struct of another size. */
#define SIZED(request, bytes) \
	_IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), (bytes))

static void numbers(void)
{
	int fd = open_region(volatile_region);
	struct padded_info p = { .info.size = sizeof(p) };

	/* A newer program; the kernel knows less than it. */
	WORKS(ioctl(fd, SIZED(P2PMEM_IOC_INFO, sizeof(p)), &p));
	EQUAL(P2PMEM_KIND_PCI_BAR, p.info.kind);
	p.more[0] = 1;
	FAILS(E2BIG, ioctl(fd, SIZED(P2PMEM_IOC_INFO, sizeof(p)), &p));
	/* An older one, whose struct says that it is larger all the same. */
	p.more[0] = 0;
	WORKS(ioctl(fd, SIZED(P2PMEM_IOC_INFO, 64), &p));
	/* The struct says less than the number. */
	p.info.size = sizeof(p.info);
	FAILS(EINVAL, ioctl(fd, SIZED(P2PMEM_IOC_INFO, sizeof(p)), &p));
	WORKS(ioctl(fd, P2PMEM_IOC_INFO, &p));
	/* Another direction, magic or number. */
	FAILS(ENOTTY, ioctl(fd, _IO(P2PMEM_IOC_MAGIC, 0x00), &p));
	FAILS(ENOTTY, ioctl(fd, _IOR(P2PMEM_IOC_MAGIC, 0x00, struct p2pmem_info), &p));
	FAILS(ENOTTY, ioctl(fd, _IOWR(P2PMEM_IOC_MAGIC + 1, 0x00, struct p2pmem_info), &p));
	FAILS(ENOTTY, ioctl(fd, _IOWR(P2PMEM_IOC_MAGIC, 0x3f, struct p2pmem_info), &p));
}

/* While nothing happens to it; lifetime.sh has the rest. */
static void status_of_ready(void)
{
	int fd = open_region(volatile_region);
	struct p2pmem_status status = { .size = sizeof(status) };
	struct pollfd pollfd = { .fd = fd, .events = POLLIN | POLLOUT | POLLPRI };

	WORKS(ioctl(fd, P2PMEM_IOC_STATUS, &status));
	EQUAL(P2PMEM_STATE_READY, status.state);
	EQUAL(info_of(fd).resets, status.resets);
	EQUAL(1, poll(&pollfd, 1, 0));
	EQUAL(POLLIN | POLLOUT, pollfd.revents);
}

static void never_writes_more(void)
{
	int fd = open_region(volatile_region);
	struct padded_info p = { .info.size = sizeof(p.info) };

	memset(p.more, 0x5a, sizeof(p.more));
	WORKS(ioctl(fd, P2PMEM_IOC_INFO, &p));
	for (size_t i = 0; i < sizeof(p.more); i++)
		EQUAL(0x5a, p.more[i]);
}

static void unknown_ioctls(void)
{
	int fd = open_region(volatile_region), control = open("/dev/p2pmem_control", O_RDWR);
	struct p2pmem_region_add add = { .size = sizeof(add) };
	char some[256] = { 0 };

	FAILS(ENOTTY, ioctl(fd, _IO(P2PMEM_IOC_MAGIC, 0x3f), some));
	FAILS(ENOTTY, ioctl(fd, _IO('x', 0), some));
	FAILS(ENOTTY, ioctl(fd, P2PMEM_CTL_REGION_ADD, &add));
	FAILS(ENOTTY, ioctl(control, P2PMEM_IOC_INFO, some));
}

static void unknown_flags(void)
{
	int fd = open_region(volatile_region), control = open("/dev/p2pmem_control", O_RDWR);
	struct p2pmem_claim c = { .size = sizeof(c), .flags = 1, .length = PAGE };
	struct p2pmem_probe p = { .size = sizeof(p), .flags = 1 };
	/* The function does not exist: without the flags the error would be ENODEV. */
	struct p2pmem_region_add add = {
		.size = sizeof(add), .flags = 1, .kind = P2PMEM_KIND_PCI_BAR, .pci_domain = 0xffff,
	};
	struct p2pmem_region_remove rm = { .size = sizeof(rm), .flags = 1U << 31, .region = 0 };
	struct p2pmem_nvme_memory memory = { .size = sizeof(memory), .flags = 1, .pci_domain = 0xffff };

	FAILS(EINVAL, ioctl(fd, P2PMEM_IOC_CLAIM, &c));
	FAILS(EINVAL, sync_range(fd, 1U << 7, 0, 0));
	FAILS(EINVAL, ioctl(fd, P2PMEM_IOC_PROBE_PEER, &p));
	FAILS(EINVAL, ioctl(control, P2PMEM_CTL_REGION_ADD, &add));
	FAILS(EINVAL, ioctl(control, P2PMEM_CTL_REGION_REMOVE, &rm));
	FAILS(EINVAL, ioctl(control, P2PMEM_CTL_NVME_MEMORY, &memory));
	add.flags = memory.flags = 0;
	FAILS(ENODEV, ioctl(control, P2PMEM_CTL_REGION_ADD, &add));
	FAILS(ENODEV, ioctl(control, P2PMEM_CTL_NVME_MEMORY, &memory));
}

static void reserved_fields(void)
{
	int fd = open_region(volatile_region), control = open("/dev/p2pmem_control", O_RDWR);
	struct p2pmem_probe p = { .size = sizeof(p), .reserved0 = 1 };
	struct p2pmem_region_add add = { .size = sizeof(add), .reserved0 = 1, .kind = 1 };
	struct p2pmem_region_remove rm = { .size = sizeof(rm), .region = 77, .reserved0 = 1 };
	struct p2pmem_nvme_memory memory = {
		.size = sizeof(memory), .reserved0 = { 0, 1 }, .pci_domain = 0xffff,
	};

	FAILS(EINVAL, ioctl(fd, P2PMEM_IOC_PROBE_PEER, &p));
	FAILS(EINVAL, ioctl(control, P2PMEM_CTL_REGION_ADD, &add));
	FAILS(EINVAL, ioctl(control, P2PMEM_CTL_REGION_REMOVE, &rm));
	rm.reserved0 = 0;
	FAILS(ENODEV, ioctl(control, P2PMEM_CTL_REGION_REMOVE, &rm));
	CHECK(rm.reason[0] && memchr(rm.reason, 0, sizeof(rm.reason)));
	FAILS(EINVAL, ioctl(control, P2PMEM_CTL_NVME_MEMORY, &memory));
	memory.reserved0[1] = 0;
	FAILS(ENODEV, ioctl(control, P2PMEM_CTL_NVME_MEMORY, &memory));
	CHECK(memory.reason[0] && memchr(memory.reason, 0, sizeof(memory.reason)));
}

/* --- mmap of volatile memory --- */

static void private_mapping(void)
{
	int fd = open_region(volatile_region);
	uint64_t before = available();

	FAILS(EINVAL, mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
	EQUAL(before, available());
}

static void two_files_differ(void)
{
	int a = open_region(volatile_region), b = open_region(volatile_region);
	uint64_t *at_a = mapped(a, MIB, 0), *at_b = mapped(b, MIB, 0);

	fill(at_a, MIB, 0x1111111111111111);
	fill(at_b, MIB, 0x2222222222222222);
	CHECK(filled(at_a, MIB, 0x1111111111111111));
	CHECK(filled(at_b, MIB, 0x2222222222222222));
}

static void one_file_is_one_memory(void)
{
	int fd = open_region(volatile_region);
	uint64_t *first, *second, before = available();

	first = mapped(fd, MIB, 0);
	fill(first, MIB, 0x33);
	second = mapped(fd, 2 * MIB, 0);
	CHECK(filled(second, MIB, 0x33));
	CHECK(zero(second + MIB / 8, MIB));
	EQUAL(before - 2 * MIB, available());
	munmap(first, MIB);
	munmap(second, 2 * MIB);
	EQUAL(before - 2 * MIB, available());
	close(fd);
	EQUAL(before, available());
}

static void mapping_outlives_descriptor(void)
{
	int fd = open_region(volatile_region);
	uint64_t *map, before = available();

	map = mapped(fd, MIB, 0);
	close(fd);
	EQUAL(before - MIB, available());
	fill(map, MIB, 0x44);
	CHECK(filled(map, MIB, 0x44));
	munmap(map, MIB);
	EQUAL(before, available());
}

static void full_region(void)
{
	int a = open_region(volatile_region), b = open_region(volatile_region);
	uint64_t all = available();

	mapped(a, all - MIB, 0);
	FAILS(ENOSPC, map_at(b, 2 * MIB, 0));
	EQUAL(MIB, available());
	mapped(b, MIB, 0);
	EQUAL(0, available());
	FAILS(ENOSPC, map_at(b, PAGE, 64 * MIB));
	/* Memory that the file owns already can be mapped again. */
	mapped(b, MIB, 0);
	close(b);
}

static long switches(void)
{
	struct rusage usage;

	WORKS(getrusage(RUSAGE_THREAD, &usage));
	return usage.ru_nvcsw;
}

/* A pipe holds a page of a closed file.  mmap() says so, and does not wait for it: it comes with mmap_lock. */
static void mmap_does_not_wait(void)
{
	int a = open_region(volatile_region), b = open_region(volatile_region), ends[2];
	uint64_t all = available();
	struct iovec page = { mapped(a, all, 0), PAGE };
	long before;

	WORKS(pipe(ends));
	EQUAL(PAGE, vmsplice(ends[1], &page, 1, 0));
	munmap(page.iov_base, all);
	close(a);
	EQUAL(0, available());
	before = switches();
	FAILS(EAGAIN, map_at(b, all, 0));
	CHECK(switches() - before < 20);
	close(ends[0]);
	close(ends[1]);
	/* A second after the close it says ENOSPC, and a slow host takes longer than that. */
	while (map_at(b, all, 0) == MAP_FAILED)
		if (errno != EAGAIN && errno != ENOSPC)
			err(1, "the pipe has let go");
}

/* A second after the close nobody is on the way out any more. */
static void pinned_for_long(void)
{
	int a = open_region(volatile_region), b = open_region(volatile_region), ends[2];
	uint64_t all = available();
	struct iovec page = { mapped(a, all, 0), PAGE };

	WORKS(pipe(ends));
	EQUAL(PAGE, vmsplice(ends[1], &page, 1, 0));
	munmap(page.iov_base, all);
	close(a);
	while (map_at(b, all, 0) == MAP_FAILED && errno == EAGAIN)
		usleep(5000);
	FAILS(ENOSPC, map_at(b, all, 0));
}

/* Part of the range is backed: a failure must not touch that part. */
static void failed_mmap_keeps_the_rest(void)
{
	int a = open_region(volatile_region), b = open_region(volatile_region);
	uint64_t all = available(), *map = mapped(b, MIB, MIB);

	fill(map, MIB, 0x55);
	mapped(a, all - 2 * MIB, 0);
	EQUAL(MIB, available());
	FAILS(ENOSPC, map_at(b, 4 * MIB, 0));
	EQUAL(MIB, available());
	CHECK(filled(map, MIB, 0x55));
}

static void offsets(void)
{
	int fd = open_region(volatile_region), pmr = open_region(persistent_region);

	mapped(fd, PAGE, 1ULL << 40);
	FAILS(EINVAL, map_at(fd, PAGE, 123));
	FAILS(ENXIO, map_at(pmr, PAGE, 64 * MIB));
	FAILS(ENXIO, map_at(pmr, 2 * MIB, 63 * MIB));
	mapped(pmr, MIB, 63 * MIB);
}

static void read_only(void)
{
	int fd = open(volatile_region, O_RDONLY);

	WORKS(fd);
	FAILS(EACCES, map_at(fd, PAGE, 0));
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED);
}

static void forked(void)
{
	int fd = open_region(volatile_region), status;
	uint64_t *map = mapped(fd, MIB, 0), before;
	pid_t child;

	fill(map, MIB, 0x66);
	before = available();
	child = fork();
	if (!child) {
		if (!filled(map, MIB, 0x66))
			_exit(1);
		fill(map, MIB, 0x77);
		_exit(0);
	}
	WORKS(waitpid(child, &status, 0));
	EQUAL(0, status);
	CHECK(filled(map, MIB, 0x77));
	EQUAL(before, available());
}

/* A child holds the memory on after its parent closed everything. */
static void child_keeps(void)
{
	uint64_t before = available(), *map;
	int fd = open_region(volatile_region), go[2];
	pid_t child;
	char byte;

	WORKS(pipe(go));
	map = mapped(fd, MIB, 0);
	child = fork();
	if (!child) {
		close(go[1]);
		_exit(read(go[0], &byte, 1) != 0);
	}
	munmap(map, MIB);
	close(fd);
	EQUAL(before - MIB, available());
	close(go[1]);
	WORKS(waitpid(child, NULL, 0));
	EQUAL(before, available());
}

static void resized_mapping(void)
{
	int fd = open_region(volatile_region);
	uint64_t *map = mapped(fd, MIB, 0);

	CHECK(mremap(map, MIB, 2 * MIB, MREMAP_MAYMOVE) == MAP_FAILED);
	WORKS(mprotect(map, MIB, PROT_READ));
	CHECK(zero(map, MIB));
}

/* --- owners --- */

static void leave_pattern(void)
{
	int fd = open_region(volatile_region);

	WORKS(claim(fd, 8 * MIB, MIB, 0));
	fill(mapped(fd, MIB, 0), MIB, 0x8888);
}

static void find_pattern(void)
{
	int fd = open_region(volatile_region);

	WORKS(claim(fd, 8 * MIB, MIB, 0));
	CHECK(filled(mapped(fd, MIB, 0), MIB, 0x8888));
}

static void find_zeros(void)
{
	int fd = open_region(volatile_region);

	WORKS(claim(fd, 8 * MIB, MIB, 0));
	CHECK(zero(mapped(fd, MIB, 0), MIB));
}

/* Claims the whole region, so that every byte that anyone left is looked at. */
static void all_zero(void)
{
	int fd = open_region(volatile_region);
	uint64_t all = info_of(fd).available_bytes;

	CHECK(zero(mapped(fd, all, 0), all));
}

static void same_user_finds_bytes(void)
{
	as_user(1000, leave_pattern);
	as_user(1000, find_pattern);
}

static void other_user_finds_zeros(void)
{
	as_user(1000, leave_pattern);
	as_user(1001, find_zeros);
	as_user(1000, find_zeros);
}

static void root_may_look(void)
{
	as_user(1000, leave_pattern);
	as_user(0, find_pattern);
}

static void mmap_reads_zero(void)
{
	as_user(1000, leave_pattern);
	as_user(1001, all_zero);
	as_user(1000, leave_pattern);
	as_user(1000, all_zero);
}

/* --- CLAIM --- */

static void claim_is_refused(void)
{
	int fd = open_region(volatile_region);
	uint64_t size = info_of(fd).region_bytes;

	FAILS(EINVAL, claim(fd, 1, PAGE, 0));
	FAILS(EINVAL, claim(fd, 0, PAGE, 5));
	FAILS(EINVAL, claim(fd, 0, 0, 0));
	FAILS(EINVAL, claim(fd, 0, 100, 0));
	FAILS(ENXIO, claim(fd, size, PAGE, 0));
	FAILS(ENXIO, claim(fd, size - PAGE, 2 * PAGE, 0));
	FAILS(ENXIO, claim(fd, UINT64_MAX - PAGE + 1, PAGE, 0));
	CHECK(claim(fd, 0, UINT64_MAX - PAGE + 1, 0) == -1);
	FAILS(EINVAL, claim(fd, 0, PAGE, (uint64_t)INT64_MAX - PAGE + 1));
	EQUAL(size, available());
}

static void claim_conflicts(void)
{
	int a = open_region(volatile_region), b = open_region(volatile_region);
	uint64_t before = available();

	WORKS(claim(a, 4 * MIB, 2 * MIB, 0));
	FAILS(EBUSY, claim(b, 4 * MIB, PAGE, 0));
	FAILS(EBUSY, claim(b, 5 * MIB, 2 * MIB, 0));
	FAILS(EBUSY, claim(b, 3 * MIB, 8 * MIB, 0));
	FAILS(EBUSY, claim(a, 4 * MIB, PAGE, 16 * MIB));
	FAILS(EEXIST, claim(a, 32 * MIB, MIB, MIB));
	EQUAL(before - 2 * MIB, available());
	close(a);
	WORKS(claim(b, 4 * MIB, 2 * MIB, 0));
}

static void claim_then_mmap(void)
{
	int a = open_region(volatile_region), b = open_region(volatile_region);
	uint64_t *map;

	WORKS(claim(a, 16 * MIB, MIB, 3 * MIB));
	map = mapped(a, MIB, 3 * MIB);
	fill(map, MIB, 0x99);
	munmap(map, MIB);
	close(a);
	WORKS(claim(b, 16 * MIB, MIB, 0));
	CHECK(filled(mapped(b, MIB, 0), MIB, 0x99));
}

static void persistent_conflicts(void)
{
	int a = open_region(persistent_region), b = open_region(persistent_region);
	uint64_t *map = mapped(a, MIB, 0);

	FAILS(EBUSY, map_at(b, PAGE, 0));
	FAILS(EBUSY, map_at(b, 4 * MIB, PAGE));
	mapped(b, MIB, MIB);
	FAILS(EINVAL, claim(b, 8 * MIB, MIB, 0));
	munmap(map, MIB);
	FAILS(EBUSY, map_at(b, PAGE, 0));
	close(a);
	mapped(b, PAGE, 0);
}

static void persistent_bytes_stay(void)
{
	int a = open_region(persistent_region), b;
	uint64_t *map = mapped(a, MIB, 2 * MIB);

	fill(map, MIB, 0xabcd);
	WORKS(sync_range(a, P2PMEM_SYNC_DURABLE, 2 * MIB, MIB));
	munmap(map, MIB);
	close(a);
	b = open_region(persistent_region);
	CHECK(filled(mapped(b, MIB, 2 * MIB), MIB, 0xabcd));
}

/* --- SYNC --- */

static void sync_ranges(void)
{
	int fd = open_region(volatile_region);

	WORKS(sync_range(fd, 0, 0, 0));
	FAILS(EINVAL, sync_range(fd, 0, PAGE, 0));
	FAILS(ENXIO, sync_range(fd, 0, 0, PAGE));
	mapped(fd, MIB, 0);
	WORKS(sync_range(fd, 0, 0, MIB));
	WORKS(sync_range(fd, 0, 100, 200));
	FAILS(ENXIO, sync_range(fd, 0, 0, MIB + 1));
	FAILS(EINVAL, sync_range(fd, 0, UINT64_MAX, 2));
	FAILS(EOPNOTSUPP, sync_range(fd, P2PMEM_SYNC_DURABLE, 0, 0));
}

static void sync_durable(void)
{
	int fd = open_region(persistent_region);

	mapped(fd, MIB, 0);
	WORKS(sync_range(fd, P2PMEM_SYNC_DURABLE, 0, 0));
	WORKS(sync_range(fd, P2PMEM_SYNC_DURABLE, 0, MIB));
}

/* The command in LOSE makes the device of REGION forget that its memory is enabled. */
static void lose(void)
{
	const char *command = getenv("LOSE");
	int status = command ? system(command) : -1;

	if (status)
		errx(1, "LOSE=%s: status %d", command, status);
}

static void reset_is_told_once(void)
{
	const uint64_t pattern = 0xd00d + (uint64_t)getpid();	/* not what an earlier run left there */
	const char *path = getenv("REGION");
	int fd = open_region(path), other = open_region(path);
	struct p2pmem_info info = info_of(fd);
	uint32_t flags = info.flags & P2PMEM_REGION_PERSISTENT ? P2PMEM_SYNC_DURABLE : 0;
	uint64_t *map = mapped(fd, MIB, 4 * MIB);

	fill(map, MIB, pattern);
	WORKS(sync_range(fd, flags, 0, 0));
	lose();
	EQUAL(info.resets + 1, info_of(fd).resets);
	FAILS(EIO, sync_range(fd, flags, 0, 0));
	WORKS(sync_range(fd, flags, 0, 0));
	FAILS(EIO, sync_range(other, 0, 0, 0));
	WORKS(sync_range(other, 0, 0, 0));
	/* Enabled again; and here the bytes were durable. */
	if (flags)
		CHECK(filled(map, MIB, pattern));
	EQUAL(info.resets + 1, info_of(fd).resets);
}

/* --- PROBE_PEER --- */

static struct p2pmem_probe probe_of(const char *bdf)
{
	struct p2pmem_probe p = { .size = sizeof(p) };
	unsigned int domain, bus, device, function;

	if (!bdf || sscanf(bdf, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		errx(2, "needs a BDF");
	p.pci_domain = domain;
	p.pci_bus = (uint8_t)bus;
	p.pci_devfn = (uint8_t)(device << 3 | function);
	return p;
}

static void probe_switch(void)
{
	int fd = open_region(volatile_region);
	struct p2pmem_probe p = probe_of(client_bdf);

	WORKS(ioctl(fd, P2PMEM_IOC_PROBE_PEER, &p));
	EQUAL(P2PMEM_ROUTE_SWITCH, p.route);
	CHECK(p.flags & P2PMEM_PROBE_MAPPED);
	EQUAL(info_of(fd).bus_address, p.bus_address);
	EQUAL(p.bus_address, p.dma_address);
	CHECK(p.distance >= 2);
	CHECK(p.bridge_bus > 0);
	CHECK(p.reason[0] && memchr(p.reason, 0, sizeof(p.reason)));
	EQUAL(info_of(fd).region_bytes, available());
}

static void probe_nobody(void)
{
	int fd = open_region(volatile_region);
	struct p2pmem_probe p = { .size = sizeof(p), .pci_bus = 0x7f, .pci_devfn = 0xff };

	FAILS(ENODEV, ioctl(fd, P2PMEM_IOC_PROBE_PEER, &p));
}

/* --- page type, control node --- */

static ssize_t store_page_type(const char *type)
{
	int fd = open("/sys/class/p2pmem/p2pmem0/page_type", O_WRONLY);
	ssize_t ret = write(fd, type, strlen(type));
	int saved = errno;

	close(fd);
	errno = saved;
	return ret;
}

static void page_type_needs_idle(void)
{
	int fd = open_region(volatile_region);

	FAILS(EINVAL, store_page_type("huge"));
	FAILS(EBUSY, store_page_type("generic"));
	close(fd);
	CHECK(store_page_type("generic") > 0);
}

static struct p2pmem_region_add client_as_region(void)
{
	struct p2pmem_probe where = probe_of(client_bdf);

	return (struct p2pmem_region_add){
		.size = sizeof(struct p2pmem_region_add), .kind = P2PMEM_KIND_PCI_BAR, .bar = 2,
		.pci_domain = where.pci_domain, .pci_bus = where.pci_bus, .pci_devfn = where.pci_devfn,
	};
}

static void control_without_capability(void)
{
	struct p2pmem_region_add add = client_as_region();
	struct p2pmem_region_remove rm = { .size = sizeof(rm) };
	struct p2pmem_nvme_memory memory = { .size = sizeof(memory) };
	int control = open("/dev/p2pmem_control", O_RDWR);

	WORKS(control);
	FAILS(EPERM, ioctl(control, P2PMEM_CTL_REGION_ADD, &add));
	printf("EPERM: %s\n", add.reason);
	FAILS(EPERM, ioctl(control, P2PMEM_CTL_REGION_REMOVE, &rm));
	FAILS(EPERM, ioctl(control, P2PMEM_CTL_NVME_MEMORY, &memory));
}

static void add_twice(void)
{
	struct p2pmem_region_add add = client_as_region();
	int control = open("/dev/p2pmem_control", O_RDWR);

	FAILS(EEXIST, ioctl(control, P2PMEM_CTL_REGION_ADD, &add));
	CHECK(add.reason[0]);
	add.offset = MIB;
	FAILS(EINVAL, ioctl(control, P2PMEM_CTL_REGION_ADD, &add));
	add.offset = 1ULL << 40;
	FAILS(ENXIO, ioctl(control, P2PMEM_CTL_REGION_ADD, &add));
	add.offset = 0;
	add.kind = 99;
	FAILS(EINVAL, ioctl(control, P2PMEM_CTL_REGION_ADD, &add));
}

/* A copy of a struct where the kernel can read it, and write no answer. */
static void *unwritable(const void *from, size_t bytes)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	memcpy(page, from, bytes);
	WORKS(mprotect(page, PAGE, PROT_READ));
	return page;
}

/* A call that has taken effect does not fail because its answer cannot be written. */
static void unwritable_answer(void)
{
	int fd = open_region(volatile_region);
	struct p2pmem_info info = { .size = sizeof(info) };
	struct p2pmem_claim c = { .size = sizeof(c), .length = PAGE };
	struct p2pmem_sync s = { .size = sizeof(s) };

	FAILS(EFAULT, ioctl(fd, P2PMEM_IOC_INFO, unwritable(&info, sizeof(info))));
	WORKS(ioctl(fd, P2PMEM_IOC_CLAIM, unwritable(&c, sizeof(c))));
	FAILS(EEXIST, ioctl(fd, P2PMEM_IOC_CLAIM, &c));
	FAILS(EEXIST, ioctl(fd, P2PMEM_IOC_CLAIM, unwritable(&c, sizeof(c))));
	WORKS(ioctl(fd, P2PMEM_IOC_SYNC, unwritable(&s, sizeof(s))));
}

/* The same holds for a removal.  An add is undone, since its caller needs the number. */
static void unwritable_add(void)
{
	struct p2pmem_region_add add = client_as_region();
	struct p2pmem_region_remove rm = { .size = sizeof(rm) };
	int control = open("/dev/p2pmem_control", O_RDWR);

	FAILS(EEXIST, ioctl(control, P2PMEM_CTL_REGION_ADD, unwritable(&add, sizeof(add))));
	WORKS(ioctl(control, P2PMEM_CTL_REGION_REMOVE, unwritable(&rm, sizeof(rm))));
	FAILS(ENODEV, ioctl(control, P2PMEM_CTL_REGION_REMOVE, unwritable(&rm, sizeof(rm))));
	FAILS(EFAULT, ioctl(control, P2PMEM_CTL_REGION_ADD, unwritable(&add, sizeof(add))));
	FAILS(ENOENT, open(volatile_region, O_RDWR));
	WORKS(ioctl(control, P2PMEM_CTL_REGION_ADD, &add));
	EQUAL(0, add.region);
}

/* An add fails while memremap_pages() fails as it does for a range of which it once made half. */
static void half_made_add(void)
{
	struct p2pmem_region_add add = client_as_region();
	struct p2pmem_region_remove rm = { .size = sizeof(rm) };
	int control = open("/dev/p2pmem_control", O_RDWR);

	WORKS(ioctl(control, P2PMEM_CTL_REGION_REMOVE, &rm));
	FAILS(EUCLEAN, ioctl(control, P2PMEM_CTL_REGION_ADD, &add));
	FAILS(ENOENT, open(volatile_region, O_RDWR));
}

static const struct named_test tests[] = {
	{ "info-describes", info_describes },
	{ "sizes", sizes },
	{ "numbers", numbers },
	{ "status-of-ready", status_of_ready },
	{ "never-writes-more", never_writes_more },
	{ "unknown-ioctls", unknown_ioctls },
	{ "unknown-flags", unknown_flags },
	{ "reserved-fields", reserved_fields },
	{ "private-mapping", private_mapping },
	{ "two-files-differ", two_files_differ },
	{ "one-file-is-one-memory", one_file_is_one_memory },
	{ "mapping-outlives-descriptor", mapping_outlives_descriptor },
	{ "full-region", full_region },
	{ "mmap-does-not-wait", mmap_does_not_wait },
	{ "pinned-for-long", pinned_for_long },
	{ "failed-mmap-keeps-the-rest", failed_mmap_keeps_the_rest },
	{ "offsets", offsets },
	{ "read-only", read_only },
	{ "forked", forked },
	{ "child-keeps", child_keeps },
	{ "resized-mapping", resized_mapping },
	{ "same-user-finds-bytes", same_user_finds_bytes },
	{ "other-user-finds-zeros", other_user_finds_zeros },
	{ "root-may-look", root_may_look },
	{ "mmap-reads-zero", mmap_reads_zero },
	{ "claim-is-refused", claim_is_refused },
	{ "claim-conflicts", claim_conflicts },
	{ "claim-then-mmap", claim_then_mmap },
	{ "persistent-conflicts", persistent_conflicts },
	{ "persistent-bytes-stay", persistent_bytes_stay },
	{ "sync-ranges", sync_ranges },
	{ "sync-durable", sync_durable },
	{ "reset-is-told-once", reset_is_told_once },
	{ "probe-switch", probe_switch },
	{ "probe-nobody", probe_nobody },
	{ "page-type-needs-idle", page_type_needs_idle },
	{ "add-twice", add_twice },
	{ "unwritable-answer", unwritable_answer },
	{ "unwritable-add", unwritable_add },
	{ "half-made-add", half_made_add },
	{ "control-without-capability", control_without_capability },
};

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: uapi TEST [BDF], or uapi --list");
	client_bdf = argc > 2 ? argv[2] : NULL;
	RUN_NAMED(tests, argv[1]);
	return 0;
}
