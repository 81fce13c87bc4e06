// SPDX-License-Identifier: Apache-2.0
/*
 * dmabuf STEP... - exports memory of a region and lets /dev/dmabuf_importer import it, step by step:
 *
 *   open REGION | open-ro REGION   close-region
 *   export OFFSET BYTES | export-ro OFFSET BYTES | export-unlisted OFFSET BYTES    close-dmabuf
 *   export-raw SIZE FLAGS OFFSET BYTES FD-FLAGS RESERVED
 *   attach MODE BDF       MODE: static no-p2p dynamic revocable pinned; BDF "none": no PCI function
 *   map to|from|both   unmap   detach   vmap   fence   lazy-fence   signal   hold   state   close-importer
 *   mmap | mmap-ro        of the dma-buf; munmap; fill BYTE; sum: of all bytes; sync
 *   remap PAGE            the mapping to another part of its file
 *   fixed                 the mapping as a buffer of a ring, which pins it for long
 *   claim OFFSET BYTES             of the region, at the same offset of the file
 *   take PID FD                    a dma-buf that another process has
 *   locate REGION OFFSET | locate-raw REGION SIZE FLAGS RESERVED    of the dma-buf, through a file that owns nothing
 *   exporter              as /proc names it
 *   wait                  until SIGUSR2
 *
 * Each step prints one line: its name and "ok" with what it found, or the errno's name. A failed step
 * does not end the run. Ends with 1 if one failed.
 *
 * LIBS: -luring
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/dma-buf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <uapi/p2pmem.h>

#include "modules/importer/importer.h"

static int region_fd = -1, dmabuf_fd = -1, importer_fd = -1;
static uint64_t export_bytes;
static volatile uint64_t *map;
static sigjmp_buf on_sigbus;

/* The result of a step, as text. */
static char found[1024];

static void sigbus(int signal_number)
{
	(void)signal_number;
	siglongjmp(on_sigbus, 1);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end == text || *end)
		errx(2, "no number: %s", text);
	return value;
}

static int open_region(const char *name, int mode)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/%s", name);
	region_fd = open(path, mode | O_CLOEXEC);
	return region_fd < 0 ? -1 : 0;
}

static int close_fd(int *fd)
{
	int rc = close(*fd);

	*fd = -1;
	return rc;
}

static int use_dmabuf(int fd)
{
	if (fd < 0)
		return -1;
	if (dmabuf_fd >= 0)
		close(dmabuf_fd);
	dmabuf_fd = fd;
	export_bytes = (uint64_t)lseek(fd, 0, SEEK_END);
	snprintf(found, sizeof(found), " fd=%d bytes=%llu cloexec=%d", fd,
		 (unsigned long long)export_bytes, fcntl(fd, F_GETFD) & FD_CLOEXEC);
	return 0;
}

static int export(struct p2pmem_export_dmabuf *request)
{
	return use_dmabuf(ioctl(region_fd, P2PMEM_IOC_EXPORT_DMABUF, request));
}

static int export_range(char **argument, unsigned int flags, unsigned int fd_flags)
{
	struct p2pmem_export_dmabuf request = {
		.size = sizeof(request), .flags = flags, .fd_flags = fd_flags,
		.file_offset = number(argument[0]), .length = number(argument[1]),
	};

	return export(&request);
}

static int step_open(char **argument)
{
	return open_region(argument[0], O_RDWR);
}

static int step_open_ro(char **argument)
{
	return open_region(argument[0], O_RDONLY);
}

static int step_close_region(char **argument)
{
	(void)argument;
	return close_fd(&region_fd);
}

static int step_export(char **argument)
{
	return export_range(argument, 0, O_RDWR | O_CLOEXEC);
}

static int step_export_ro(char **argument)
{
	return export_range(argument, 0, O_RDONLY);
}

static int step_export_unlisted(char **argument)
{
	return export_range(argument, P2PMEM_EXPORT_ALLOW_UNLISTED, O_RDWR);
}

/* Has room behind the struct, so that a larger size can be tried. */
static int step_export_raw(char **argument)
{
	struct { struct p2pmem_export_dmabuf request; uint64_t beyond; } padded = {
		.request = {
			.size = (uint32_t)number(argument[0]),
			.flags = (uint32_t)number(argument[1]),
			.file_offset = number(argument[2]), .length = number(argument[3]),
			.fd_flags = (uint32_t)number(argument[4]),
			.reserved0 = (uint32_t)number(argument[5]),
		},
		.beyond = 1,
	};

	return export(&padded.request);
}

static int step_take(char **argument)
{
	int process = (int)syscall(SYS_pidfd_open, (pid_t)number(argument[0]), 0);
	int fd = (int)syscall(SYS_pidfd_getfd, process, (int)number(argument[1]), 0);
	int saved = errno;

	close(process);
	errno = saved;
	return use_dmabuf(fd);
}

static int step_close_dmabuf(char **argument)
{
	(void)argument;
	return close_fd(&dmabuf_fd);
}

static unsigned int mode_of(const char *name)
{
	static const char *const names[] = {
		[IMPORTER_STATIC] = "static", [IMPORTER_NO_P2P] = "no-p2p",
		[IMPORTER_DYNAMIC] = "dynamic", [IMPORTER_REVOCABLE] = "revocable",
		[IMPORTER_PINNED] = "pinned",
	};

	for (unsigned int mode = 0; mode < sizeof(names) / sizeof(names[0]); mode++)
		if (!strcmp(name, names[mode]))
			return mode;
	errx(2, "no mode '%s'", name);
}

static int step_attach(char **argument)
{
	struct importer_attach attach = { .fd = dmabuf_fd, .mode = mode_of(argument[0]), .domain = ~0U };
	unsigned int device, function;

	if (importer_fd < 0)
		importer_fd = open("/dev/" IMPORTER_NODE, O_RDWR | O_CLOEXEC);
	if (importer_fd < 0)
		err(2, "/dev/" IMPORTER_NODE);
	if (strcmp(argument[1], "none")) {
		if (sscanf(argument[1], "%x:%x:%x.%x", &attach.domain, &attach.bus, &device,
			   &function) != 4)
			errx(2, "no BDF: %s", argument[1]);
		attach.function = device << 3 | function;
	}
	return ioctl(importer_fd, IMPORTER_ATTACH, &attach);
}

/* The addresses, merged where they are contiguous. */
static void describe(const struct importer_map *m)
{
	int at = snprintf(found, sizeof(found), " pages=%u cpu-entries=%u", m->pages, m->orig_nents);
	uint64_t end = 0;

	for (unsigned int i = 0; i < m->nents && i < IMPORTER_ENTRIES; i++) {
		if (!i || m->entries[i].address != end)
			at += snprintf(found + at, sizeof(found) - (size_t)at, " %#llx",
				       (unsigned long long)m->entries[i].address);
		end = m->entries[i].address + m->entries[i].bytes;
		at += snprintf(found + at, sizeof(found) - (size_t)at, "+%#llx",
			       (unsigned long long)m->entries[i].bytes);
	}
}

static int step_map(char **argument)
{
	/* The values of enum dma_data_direction. */
	struct importer_map m = {
		.direction = !strcmp(argument[0], "to") ? 1 : !strcmp(argument[0], "from") ? 2 : 0,
	};

	if (ioctl(importer_fd, IMPORTER_MAP, &m))
		return -1;
	describe(&m);
	return 0;
}

static int step_unmap(char **argument)
{
	(void)argument;
	return ioctl(importer_fd, IMPORTER_UNMAP);
}

static int step_detach(char **argument)
{
	(void)argument;
	return ioctl(importer_fd, IMPORTER_DETACH);
}

static int step_vmap(char **argument)
{
	(void)argument;
	return ioctl(importer_fd, IMPORTER_VMAP);
}

static int step_fence(char **argument)
{
	(void)argument;
	return ioctl(importer_fd, IMPORTER_FENCE);
}

static int step_lazy_fence(char **argument)
{
	(void)argument;
	return ioctl(importer_fd, IMPORTER_LAZY_FENCE);
}

static int step_signal(char **argument)
{
	(void)argument;
	return ioctl(importer_fd, IMPORTER_SIGNAL);
}

/* The dma-buf's reservation lock, while /sys/module/importer/parameters/stall is Y. */
static int step_hold(char **argument)
{
	(void)argument;
	return ioctl(importer_fd, IMPORTER_HOLD);
}

static int step_state(char **argument)
{
	struct importer_state state;

	(void)argument;
	if (ioctl(importer_fd, IMPORTER_STATE, &state))
		return -1;
	snprintf(found, sizeof(found), " notified=%u mapped=%u", state.notified, state.mapped);
	return 0;
}

static int step_close_importer(char **argument)
{
	(void)argument;
	return close_fd(&importer_fd);
}

/* --- the CPU's view --- */

static int map_dmabuf(int protection)
{
	void *at = mmap(NULL, export_bytes, protection, MAP_SHARED, dmabuf_fd, 0);

	if (at == MAP_FAILED)
		return -1;
	map = at;
	return 0;
}

static int step_mmap(char **argument)
{
	(void)argument;
	return map_dmabuf(PROT_READ | PROT_WRITE);
}

static int step_mmap_ro(char **argument)
{
	(void)argument;
	return map_dmabuf(PROT_READ);
}

static int step_munmap(char **argument)
{
	int rc = munmap((void *)(uintptr_t)map, export_bytes);

	(void)argument;
	map = NULL;
	return rc;
}

/* Remaps the mapping to another offset of its file, in pages: a dma-buf must offer only its own range. */
static int step_remap(char **argument)
{
	return remap_file_pages((void *)(uintptr_t)map, export_bytes, 0, number(argument[0]), 0);
}

static int step_fixed(char **argument)
{
	struct iovec memory = { (void *)(uintptr_t)map, export_bytes };
	struct io_uring ring;
	int rc;

	(void)argument;
	rc = io_uring_queue_init(1, &ring, 0);
	if (!rc) {
		rc = io_uring_register_buffers(&ring, &memory, 1);
		io_uring_queue_exit(&ring);
	}
	errno = -rc;
	return rc ? -1 : 0;
}

static int bus_error(void)
{
	errno = EFAULT;
	return -1;
}

static int step_fill(char **argument)
{
	uint64_t word = 0x0101010101010101ULL * (number(argument[0]) & 0xff);

	if (sigsetjmp(on_sigbus, 1))
		return bus_error();
	for (uint64_t i = 0; i < export_bytes / sizeof(*map); i++)
		map[i] = word;
	return 0;
}

static int step_sum(char **argument)
{
	const unsigned char *byte;
	static uint64_t sum, word;

	(void)argument;
	sum = 0;
	if (sigsetjmp(on_sigbus, 1))
		return bus_error();
	for (uint64_t i = 0; i < export_bytes / sizeof(*map); i++) {
		word = map[i];
		byte = (const unsigned char *)&word;
		for (size_t b = 0; b < sizeof(word); b++)
			sum += byte[b];
	}
	snprintf(found, sizeof(found), " %llu", (unsigned long long)sum);
	return 0;
}

static int step_sync(char **argument)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };

	(void)argument;
	if (ioctl(dmabuf_fd, DMA_BUF_IOCTL_SYNC, &sync))
		return -1;
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
	return ioctl(dmabuf_fd, DMA_BUF_IOCTL_SYNC, &sync);
}

static int step_claim(char **argument)
{
	struct p2pmem_claim claim = {
		.size = sizeof(claim), .region_offset = number(argument[0]),
		.length = number(argument[1]), .file_offset = number(argument[0]),
	};

	return ioctl(region_fd, P2PMEM_IOC_CLAIM, &claim);
}

static int ask_place(const char *region, struct p2pmem_locate_dmabuf *place)
{
	char path[64];
	int fd, rc, saved;

	snprintf(path, sizeof(path), "/dev/%s", region);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	rc = ioctl(fd, P2PMEM_IOC_LOCATE_DMABUF, place);
	saved = errno;
	close(fd);
	errno = saved;
	return rc;
}

static int step_locate(char **argument)
{
	struct p2pmem_locate_dmabuf place = {
		.size = sizeof(place), .dmabuf_fd = dmabuf_fd, .offset = number(argument[1]),
	};

	if (ask_place(argument[0], &place))
		return -1;
	snprintf(found, sizeof(found), " %#llx+%#llx", (unsigned long long)place.region_offset,
		 (unsigned long long)place.length);
	return 0;
}

static int step_locate_raw(char **argument)
{
	struct { struct p2pmem_locate_dmabuf place; uint64_t beyond; } padded = {
		.place = {
			.size = (uint32_t)number(argument[1]), .flags = (uint32_t)number(argument[2]),
			.dmabuf_fd = dmabuf_fd, .reserved0 = (uint32_t)number(argument[3]),
		},
		.beyond = 1,
	};

	return ask_place(argument[0], &padded.place);
}

static int step_exporter(char **argument)
{
	char path[64], line[128], name[101];
	FILE *file;

	(void)argument;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", dmabuf_fd);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "exp_name: %100s", name) == 1)
			snprintf(found, sizeof(found), " %s", name);
	if (file)
		fclose(file);
	return 0;
}

static int step_wait(char **argument)
{
	sigset_t signals;
	int signal_number;

	(void)argument;
	puts("waiting");
	fflush(stdout);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR2);
	return sigwait(&signals, &signal_number) ? -1 : 0;
}

static const struct step {
	const char *name;
	int arguments;
	int (*run)(char **argument);
} steps[] = {
	{ "open", 1, step_open },
	{ "open-ro", 1, step_open_ro },
	{ "close-region", 0, step_close_region },
	{ "export", 2, step_export },
	{ "export-ro", 2, step_export_ro },
	{ "export-unlisted", 2, step_export_unlisted },
	{ "export-raw", 6, step_export_raw },
	{ "take", 2, step_take },
	{ "close-dmabuf", 0, step_close_dmabuf },
	{ "attach", 2, step_attach },
	{ "map", 1, step_map },
	{ "unmap", 0, step_unmap },
	{ "detach", 0, step_detach },
	{ "vmap", 0, step_vmap },
	{ "fence", 0, step_fence },
	{ "lazy-fence", 0, step_lazy_fence },
	{ "signal", 0, step_signal },
	{ "hold", 0, step_hold },
	{ "state", 0, step_state },
	{ "close-importer", 0, step_close_importer },
	{ "mmap", 0, step_mmap },
	{ "mmap-ro", 0, step_mmap_ro },
	{ "munmap", 0, step_munmap },
	{ "remap", 1, step_remap },
	{ "fixed", 0, step_fixed },
	{ "fill", 1, step_fill },
	{ "sum", 0, step_sum },
	{ "sync", 0, step_sync },
	{ "claim", 2, step_claim },
	{ "locate", 2, step_locate },
	{ "locate-raw", 4, step_locate_raw },
	{ "exporter", 0, step_exporter },
	{ "wait", 0, step_wait },
};

static const struct step *find_step(const char *name)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (!strcmp(steps[i].name, name))
			return &steps[i];
	errx(2, "no step '%s'", name);
}

static int run_step(const struct step *step, char **argument)
{
	int rc;

	found[0] = '\0';
	rc = step->run(argument);
	printf("%s: %s%s\n", step->name, rc ? strerrorname_np(errno) : "ok", rc ? "" : found);
	fflush(stdout);
	return rc;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = sigbus };
	sigset_t signals;
	int failed = 0;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR2);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	sigaction(SIGBUS, &action, NULL);
	for (int i = 1; i < argc; i++) {
		const struct step *step = find_step(argv[i]);

		if (argc - i <= step->arguments)
			errx(2, "%s takes %d arguments", step->name, step->arguments);
		failed |= run_step(step, argv + i + 1);
		i += step->arguments;
	}
	return failed != 0;
}
