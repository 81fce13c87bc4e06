/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For pairs.c: the calls that an opener of a region has, each as an attacker makes it again and again until it is
 * killed. It looks at all that it is given, and leaves the round's bytes there.
 */
#include <fcntl.h>
#include <liburing.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include "uapi/p2pmem.h"

#define MOVED_PAGES	16	/* the most that a call moves which goes by pages */

/* @file is shared by the two of a round, as are @other and @pipe; @window is where the region has free memory. */
struct attacker {
	unsigned int call;
	uint64_t random;
	int file, other, pipe[2], drive, memory;
	const char *node;
	uint64_t window, window_bytes;
};

static const char *call_name(unsigned int call);

static void look(struct attacker *a, const char *where, uint64_t offset, const uint64_t *words, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes / 8; i++) {
		uint64_t word = ((const volatile uint64_t *)words)[i];

		if (!may_see(word))
			broken("%s, in %s: %s at offset %#" PRIx64 ": expected zero or %#" PRIx64 ", seen %#" PRIx64,
			       call_name(a->call), where, whose(word), offset + 8 * i,
			       of_byte(round_byte(shared->number)), word);
	}
}

static void leave_bytes(uint64_t *words, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes / 8; i++)
		((volatile uint64_t *)words)[i] = of_byte(round_byte(shared->number));
}

/* Checks that a valid call either worked or failed with an error that it may have; returns whether it worked. */
static bool worked(struct attacker *a, const char *what, long result)
{
	static const int always[] = {
		ENOSPC, EAGAIN, EBUSY, ENXIO, EEXIST, EINTR, ENOMEM, EOPNOTSUPP,
		EREMOTEIO,	/* a pin of P2PDMA pages */
	};
	static const int at_the_end[] = { ENODEV, ENOENT, EACCES, EFAULT };
	int error = errno;
	size_t i;

	if (result >= 0) {
		shared->worked[a->call]++;
		return true;
	}
	for (i = 0; i < sizeof(always) / sizeof(*always); i++)
		if (error == always[i])
			return false;
	for (i = 0; i < sizeof(at_the_end) / sizeof(*at_the_end); i++)
		if (error == at_the_end[i] && shared->ends)
			return false;
	if (error == EIO && (shared->resets || shared->ends))
		return false;
	broken("%s, in %s: expected no such error, seen %s", call_name(a->call), what, strerrorname_np(error));
}

/* Mostly the first ones, where the other one is, too. */
static uint64_t any_page(struct attacker *a, uint64_t pages)
{
	return below(&a->random, below(&a->random, 4) ? 16 : SPAN_PAGES - pages);
}

static uint64_t some(struct attacker *a, uint64_t most)
{
	return 1 + below(&a->random, most);
}

/* Looks at a mapping, and writes into it, in any order of pages. */
static void use(struct attacker *a, const char *what, char *map, uint64_t first, uint64_t pages, uint64_t step)
{
	uint64_t page;

	for (page = 0; page < pages; page += step) {
		uint64_t *words = (uint64_t *)(map + page * PAGE);

		look(a, what, (first + page) * PAGE, words, PAGE);
		leave_bytes(words, PAGE);
	}
}

static char *map_pages(struct attacker *a, const char *what, int fd, uint64_t first, uint64_t pages)
{
	char *map = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(first * PAGE));

	return worked(a, what, map == MAP_FAILED ? -1 : 0) ? map : NULL;
}

static void map_and_use(struct attacker *a, uint64_t first, uint64_t pages, uint64_t step)
{
	char *map = map_pages(a, "mmap", a->file, first, pages);

	if (!map)
		return;
	use(a, "a mapping", map, first, pages, step);
	munmap(map, pages * PAGE);
}

static void map_page(struct attacker *a)
{
	map_and_use(a, any_page(a, 1), 1, 1);
}

static void map_many(struct attacker *a)
{
	uint64_t pages = some(a, 1024);

	map_and_use(a, any_page(a, pages), pages, 1);
}

static bool available(struct attacker *a, int fd, uint64_t *bytes)
{
	struct p2pmem_info info = { .size = sizeof(info) };

	if (!worked(a, "INFO", ioctl(fd, P2PMEM_IOC_INFO, &info)))
		return false;
	*bytes = info.available_bytes;
	return true;
}

/*
 * Maps everything that is free, in as many pieces as there are, which takes long enough for another process to find one of
 * them.
 */
static void map_all(struct attacker *a)
{
	uint64_t bytes;

	if (available(a, a->file, &bytes) && bytes >= PAGE)
		map_and_use(a, 0, bytes / PAGE, 64);
}

static void look_by_read(struct attacker *a, int fd, const char *what, uint64_t offset, size_t bytes)
{
	uint64_t buffer[MOVED_PAGES * WORDS];
	ssize_t got = pread(fd, buffer, bytes, (off_t)offset);

	if (worked(a, what, got))
		look(a, what, offset, buffer, (size_t)got);
}

static void do_read(struct attacker *a)
{
	uint64_t pages = some(a, MOVED_PAGES);

	look_by_read(a, a->file, "read", any_page(a, pages) * PAGE, pages * PAGE);
}

static bool write_bytes(struct attacker *a, int fd, uint64_t offset, size_t bytes)
{
	uint64_t buffer[MOVED_PAGES * WORDS];

	leave_bytes(buffer, bytes);
	return worked(a, "write", pwrite(fd, buffer, bytes, (off_t)offset));
}

static void do_write(struct attacker *a)
{
	uint64_t pages = some(a, MOVED_PAGES);

	write_bytes(a, a->file, any_page(a, pages) * PAGE, pages * PAGE);
}

static bool copy(struct attacker *a, int to, uint64_t to_offset, int from, uint64_t from_offset, uint64_t bytes)
{
	struct p2pmem_copy copy = {
		.size = sizeof(copy), .from_fd = from, .to_offset = to_offset, .from_offset = from_offset, .length = bytes,
	};

	return worked(a, "COPY", ioctl(to, P2PMEM_IOC_COPY, &copy));
}

static void copy_out(struct attacker *a)
{
	uint64_t bytes = some(a, 4) * PAGE, to = any_page(a, 4) * PAGE;

	if (copy(a, a->other, to, a->file, any_page(a, 4) * PAGE, bytes))
		look_by_read(a, a->other, "what COPY took to another file", to, bytes);
}

static void copy_in(struct attacker *a)
{
	uint64_t bytes = some(a, 4) * PAGE, from = any_page(a, 4) * PAGE, to = any_page(a, 4) * PAGE;

	if (below(&a->random, 2) && !write_bytes(a, a->other, from, bytes))
		return;
	if (copy(a, a->file, to, a->other, from, bytes))
		look_by_read(a, a->file, "what COPY took from another file", to, bytes);
}

static void copy_within(struct attacker *a)
{
	uint64_t bytes = some(a, MOVED_PAGES) * PAGE, to = any_page(a, MOVED_PAGES) * PAGE;

	if (copy(a, a->file, to, a->file, any_page(a, MOVED_PAGES) * PAGE, bytes))
		look_by_read(a, a->file, "what COPY took within the file", to, bytes);
}

/* LOCATE's answer stays true while the file is open, and is the same for both processes. */
static void expect_place(uint64_t page, uint64_t place)
{
	uint_least64_t before = 0;

	if (place && atomic_compare_exchange_strong(&shared->place[page], &before, place))
		return;
	before = shared->place[page];
	if (!place)
		broken("LOCATE of offset %#" PRIx64 ": expected %#" PRIx64 " as before, seen nothing", page * PAGE,
		       (uint64_t)before - 1);
	if (before != place)
		broken("LOCATE of offset %#" PRIx64 ": expected %#" PRIx64 " as before, seen %#" PRIx64, page * PAGE,
		       (uint64_t)before - 1, place - 1);
}

static void locate(struct attacker *a)
{
	uint64_t page = any_page(a, 1);
	struct p2pmem_locate place = { .size = sizeof(place), .file_offset = page * PAGE };
	bool known = shared->place[page];

	if (worked(a, "LOCATE", ioctl(a->file, P2PMEM_IOC_LOCATE, &place)))
		expect_place(page, place.region_offset + 1);
	else if (known && errno == ENXIO)
		expect_place(page, 0);
}

static void do_sync(struct attacker *a)
{
	struct p2pmem_sync sync = { .size = sizeof(sync) };

	if (below(&a->random, 2)) {
		sync.length = some(a, 512) * PAGE;
		sync.file_offset = any_page(a, 512) * PAGE;
	}
	worked(a, "SYNC", ioctl(a->file, P2PMEM_IOC_SYNC, &sync));
}

static void use_dmabuf(struct attacker *a, int buf, uint64_t first, uint64_t pages)
{
	struct p2pmem_locate_dmabuf place = { .size = sizeof(place), .dmabuf_fd = buf };
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	char *map = map_pages(a, "mmap of a dma-buf", buf, 0, pages);

	worked(a, "LOCATE_DMABUF", ioctl(a->file, P2PMEM_IOC_LOCATE_DMABUF, &place));
	if (!map)
		return;
	worked(a, "the start of DMA_BUF_SYNC", ioctl(buf, DMA_BUF_IOCTL_SYNC, &sync));
	use(a, "a dma-buf", map, first, pages, 1);
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
	worked(a, "the end of DMA_BUF_SYNC", ioctl(buf, DMA_BUF_IOCTL_SYNC, &sync));
	munmap(map, pages * PAGE);
}

static void export(struct attacker *a)
{
	uint64_t pages = some(a, 64), first = any_page(a, pages);
	struct p2pmem_export_dmabuf export = {
		.size = sizeof(export), .file_offset = first * PAGE, .length = pages * PAGE,
		.fd_flags = O_RDWR | O_CLOEXEC,
	};
	int buf = ioctl(a->file, P2PMEM_IOC_EXPORT_DMABUF, &export);

	if (!worked(a, "EXPORT_DMABUF", buf))
		return;
	use_dmabuf(a, buf, first, pages);
	close(buf);
}

/* Returns the result of the only request in flight, for which the ring waits. */
static long ring_result(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	long result;

	result = io_uring_submit_and_wait(ring, 1);
	if (result < 0 || (result = io_uring_peek_cqe(ring, &cqe)) < 0) {
		errno = (int)-result;
		return -1;
	}
	result = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	errno = result < 0 ? (int)-result : 0;
	return result < 0 ? -1 : result;
}

static bool give_to_ring(struct attacker *a, struct io_uring *ring, uint64_t first, uint64_t pages)
{
	struct p2pmem_uring_buffer buffer = { .file_offset = first * PAGE, .granules = (uint32_t)pages };
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe)
		return false;
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = a->file;
	sqe->cmd_op = P2PMEM_URING_BUFFER;
	memcpy(sqe->cmd, &buffer, sizeof(buffer));
	return worked(a, "URING_BUFFER", ring_result(ring));
}

/* Out of the buffer, and into it. */
static void use_ring(struct attacker *a, struct io_uring *ring, uint64_t first, uint64_t bytes)
{
	uint64_t seen[MOVED_PAGES * WORDS];
	ssize_t got;

	io_uring_prep_write_fixed(io_uring_get_sqe(ring), a->memory, NULL, (unsigned int)bytes, 0, 0);
	if (!worked(a, "a request of a ring", ring_result(ring)))
		return;
	got = pread(a->memory, seen, bytes, 0);
	if (got > 0)
		look(a, "a ring's buffer", first * PAGE, seen, (size_t)got);
	leave_bytes(seen, bytes);
	if (pwrite(a->memory, seen, bytes, 0) < 0)
		return;
	io_uring_prep_read_fixed(io_uring_get_sqe(ring), a->memory, NULL, (unsigned int)bytes, 0, 0);
	worked(a, "a request of a ring", ring_result(ring));
}

static void in_ring(struct attacker *a)
{
	uint64_t pages = some(a, MOVED_PAGES), first = any_page(a, pages);
	struct io_uring ring;

	if (io_uring_queue_init(2, &ring, 0))
		return;
	if (!io_uring_register_buffers_sparse(&ring, 1) && give_to_ring(a, &ring, first, pages))
		use_ring(a, &ring, first, pages * PAGE);
	io_uring_queue_exit(&ring);
}

/* Claims places of other users, and places that this file may already own. */
static void do_claim(struct attacker *a)
{
	uint64_t pages = some(a, MOVED_PAGES), first = any_page(a, pages);
	struct p2pmem_claim claim = {
		.size = sizeof(claim), .length = pages * PAGE, .file_offset = first * PAGE,
		.region_offset = a->window + below(&a->random, a->window_bytes / PAGE - pages) * PAGE,
	};

	if (worked(a, "CLAIM", ioctl(a->file, P2PMEM_IOC_CLAIM, &claim)))
		look_by_read(a, a->file, "what CLAIM took", claim.file_offset, claim.length);
}

/* A transfer by a device, into the file. */
static void direct(struct attacker *a)
{
	uint64_t pages = some(a, 64), first = any_page(a, pages);
	char *map = map_pages(a, "mmap", a->file, first, pages);

	if (!map)
		return;
	if (worked(a, "direct I/O", pread(a->drive, map, pages * PAGE, 0)))
		look(a, "what a drive wrote", first * PAGE, (uint64_t *)map, pages * PAGE);
	munmap(map, pages * PAGE);
}

static bool look_into_pipe(struct attacker *a)
{
	uint64_t seen[WORDS];
	ssize_t got = read(a->pipe[0], seen, sizeof(seen));

	if (got > 0)
		look(a, "a pipe", 0, seen, (size_t)got);
	return got > 0;
}

/* Pages in a pipe, which stay there when their process is killed. */
static void in_pipe(struct attacker *a)
{
	uint64_t pages = some(a, 4), first = any_page(a, pages);
	char *map = map_pages(a, "mmap", a->file, first, pages);
	struct iovec part = { map, pages * PAGE };

	if (!map)
		return;
	worked(a, "vmsplice", vmsplice(a->pipe[1], &part, 1, SPLICE_F_NONBLOCK));
	munmap(map, pages * PAGE);
	look_into_pipe(a);
}

/* A child has the mapping, too, and its own entries for it. */
static void in_child(struct attacker *a)
{
	uint64_t pages = some(a, 16), first = any_page(a, pages);
	char *map = map_pages(a, "mmap", a->file, first, pages);
	pid_t child;

	if (!map)
		return;
	child = fork();
	if (!child) {
		use(a, "a child's mapping", map, first, pages, 1);
		_exit(0);
	}
	munmap(map, pages * PAGE);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Chunks that are mapped by one entry move, lose a part, and are faulted in again. */
static void move_mapping(struct attacker *a)
{
	uint64_t pages = 1024, first = below(&a->random, 2) ? 0 : any_page(a, pages);
	char *map = map_pages(a, "mmap", a->file, first, pages), *moved;

	if (!map)
		return;
	use(a, "a mapping", map, first, pages, 128);
	moved = mmap(NULL, pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (moved == MAP_FAILED || mremap(map, pages * PAGE, pages * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved) == MAP_FAILED)
		broken("mremap: %s", strerrorname_np(errno));
	use(a, "a mapping that was moved", moved, first, pages, 128);
	madvise(moved + PAGE, 300 * PAGE, MADV_DONTNEED);
	use(a, "a mapping that was dropped in part", moved, first, pages, 16);
	munmap(moved, pages * PAGE);
}

/* Opens a file of its own, whose memory gets another owner as soon as it is closed. */
static void own_file(struct attacker *a)
{
	int fd = open(a->node, O_RDWR | O_CLOEXEC), shared_one = a->file;

	if (!worked(a, "open", fd))
		return;
	a->file = fd;
	map_and_use(a, 0, some(a, 256), 1);
	close(fd);
	a->file = shared_one;
}

static void ask(struct attacker *a)
{
	struct p2pmem_status status = { .size = sizeof(status) };
	struct pollfd wait = { .fd = a->file, .events = POLLPRI };
	uint64_t bytes;

	available(a, a->file, &bytes);
	worked(a, "STATUS", ioctl(a->file, P2PMEM_IOC_STATUS, &status));
	if (poll(&wait, 1, 0) > 0 && !shared->ends)
		broken("poll: expected nothing of a region that stays, seen %#x", (unsigned int)wait.revents);
}

static const struct call {
	const char *name;
	void (*make)(struct attacker *a);
} calls[] = {
	{ "map-all", map_all }, { "map-page", map_page }, { "map-many", map_many }, { "move", move_mapping },
	{ "child", in_child }, { "read", do_read }, { "write", do_write }, { "copy-out", copy_out },
	{ "copy-in", copy_in }, { "copy-within", copy_within }, { "locate", locate }, { "sync", do_sync },
	{ "export", export }, { "ring", in_ring }, { "claim", do_claim }, { "direct", direct }, { "pipe", in_pipe },
	{ "open", own_file }, { "ask", ask },
};

#define MAP_ALL 0
#define CALLS ((unsigned int)(sizeof(calls) / sizeof(*calls)))

static const char *call_name(unsigned int call)
{
	return calls[call].name;
}

static unsigned int call_named(const char *name, size_t length)
{
	unsigned int i;

	for (i = 0; i < CALLS; i++)
		if (strlen(calls[i].name) == length && !strncmp(calls[i].name, name, length))
			break;
	return i;
}
