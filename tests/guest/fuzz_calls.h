/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For fuzz.c: what its programs consist of. A call makes of four numbers what an opener of a region may do with it, with
 * memory of it, and with whatever else pins that memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <liburing.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "modules/importer/importer.h"
#include "modules/nvidia/nvidia-lab.h"
#include "uapi/p2pmem.h"

#define ARGS		4
#define SLOTS		4
#define NODES_MAX	4
#define PAGE		4096UL
#define MAP_BYTES_MAX	(8UL << 20)
#define RING_BUFFERS	4

/* A thread's objects while a program runs. File 0 is shared by all threads. */
struct worker {
	unsigned int number;
	uint64_t random;
	int file[SLOTS], buf[SLOTS], import[SLOTS];
	void *map[SLOTS];
	size_t map_bytes[SLOTS];
	struct ibv_mr *mr[SLOTS];
	int gpu;
	uint64_t gpu_memory[SLOTS];
	struct io_uring ring;
	char *in_ring[RING_BUFFERS];	/* where a request finds that buffer */
	struct beside *beside;
	uint64_t *cover;
	int kcov;
	unsigned long programs;
	sigjmp_buf fault;
	pthread_t thread;
};

static const char *nodes[NODES_MAX];
static int node_count, shared_file, drive = -1;
static struct p2pmem_probe peer = { .size = sizeof(peer) };
static struct ibv_pd *verbs;

static uint64_t next(struct worker *w)
{
	uint64_t x = w->random += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static uint64_t below(struct worker *w, uint64_t limit)
{
	return next(w) % limit;
}

static int file_of(struct worker *w, uint64_t slot)
{
	return slot % SLOTS ? w->file[slot % SLOTS] : shared_file;
}

static void do_open(struct worker *w, const uint64_t *a)
{
	unsigned int slot = 1 + a[0] % (SLOTS - 1);

	if (w->file[slot] >= 0)
		close(w->file[slot]);
	w->file[slot] = open(nodes[a[1] % node_count], (a[2] & 1 ? O_RDONLY : O_RDWR) | O_CLOEXEC);
}

static void do_close(struct worker *w, const uint64_t *a)
{
	unsigned int slot = 1 + a[0] % (SLOTS - 1);

	if (w->file[slot] >= 0)
		close(w->file[slot]);
	w->file[slot] = -1;
}

static void do_info(struct worker *w, const uint64_t *a)
{
	struct p2pmem_info info = { .size = a[1] & 1 ? (uint32_t)a[2] : sizeof(info) };

	ioctl(file_of(w, a[0]), P2PMEM_IOC_INFO, &info);
}

static void do_claim(struct worker *w, const uint64_t *a)
{
	struct p2pmem_claim claim = {
		.size = sizeof(claim), .region_offset = a[1], .length = a[2], .file_offset = a[3],
	};

	ioctl(file_of(w, a[0]), P2PMEM_IOC_CLAIM, &claim);
}

static void do_sync(struct worker *w, const uint64_t *a)
{
	struct p2pmem_sync sync = { .size = sizeof(sync), .flags = a[3], .file_offset = a[1], .length = a[2] };

	ioctl(file_of(w, a[0]), P2PMEM_IOC_SYNC, &sync);
}

static void do_probe(struct worker *w, const uint64_t *a)
{
	struct p2pmem_probe probe = peer;

	if (a[1] & 1)
		probe.pci_devfn = a[2];
	ioctl(file_of(w, a[0]), P2PMEM_IOC_PROBE_PEER, &probe);
}

static void do_export(struct worker *w, const uint64_t *a)
{
	struct p2pmem_export_dmabuf export = {
		.size = sizeof(export), .flags = a[3] >> 8 & 1, .file_offset = a[1], .length = a[2],
		.fd_flags = O_CLOEXEC | (a[3] & O_ACCMODE),
	};
	unsigned int slot = a[0] / SLOTS % SLOTS;

	if (w->buf[slot] >= 0)
		close(w->buf[slot]);
	w->buf[slot] = ioctl(file_of(w, a[0]), P2PMEM_IOC_EXPORT_DMABUF, &export);
}

static void do_buf_close(struct worker *w, const uint64_t *a)
{
	unsigned int slot = a[0] % SLOTS;

	if (w->buf[slot] >= 0)
		close(w->buf[slot]);
	w->buf[slot] = -1;
}

static void do_buf_sync(struct worker *w, const uint64_t *a)
{
	struct dma_buf_sync sync = { .flags = a[1] };

	ioctl(w->buf[a[0] % SLOTS], DMA_BUF_IOCTL_SYNC, &sync);
}

static unsigned long raw_calls;	/* of do_raw() that the module knew */

/*
 * An ioctl of a number near the calls' or far from them, on a struct of any size and words.  What differs from a call's number only in the size that is in it
 * is that call; so most have the direction that all have.
 */
static void do_raw(struct worker *w, const uint64_t *a)
{
	unsigned int direction = a[1] >> 30 & 7 ? _IOC_READ | _IOC_WRITE : a[1] >> 33 & 3;
	unsigned int number = a[1] & 0x80 ? a[1] & 0xff : a[1] & 0xf;
	uint64_t words[64] = { 0 };
	uint32_t size = a[2] % sizeof(words);
	int rc;

	words[1 + a[2] % 8] = a[3];
	words[2] = a[1] >> 8;
	memcpy(words, &size, sizeof(size));
	rc = ioctl(file_of(w, a[0]), _IOC(direction, P2PMEM_IOC_MAGIC, number, a[2] >> 16 & 0x3f), words);
	if (rc >= 0 || (errno != ENOTTY && errno != EBADF))
		__atomic_add_fetch(&raw_calls, 1, __ATOMIC_RELAXED);
	if (rc > 0 && number == _IOC_NR(P2PMEM_IOC_EXPORT_DMABUF))
		close(rc);
}

static void unmap(struct worker *w, unsigned int slot)
{
	if (w->map[slot])
		munmap(w->map[slot], w->map_bytes[slot]);
	w->map[slot] = NULL;
}

static void map_into(struct worker *w, int fd, const uint64_t *a)
{
	static const int kinds[] = { MAP_SHARED, MAP_SHARED, MAP_SHARED | MAP_POPULATE, MAP_PRIVATE };
	size_t bytes = 1 + a[2] % MAP_BYTES_MAX;
	unsigned int slot = a[3] % SLOTS;
	void *at;

	unmap(w, slot);
	at = mmap(NULL, bytes, a[3] >> 4 & 3, kinds[a[3] >> 8 & 3], fd, a[1]);
	if (at == MAP_FAILED)
		return;
	w->map[slot] = at;
	w->map_bytes[slot] = bytes;
}

static void do_mmap(struct worker *w, const uint64_t *a)
{
	map_into(w, file_of(w, a[0]), a);
}

static void do_buf_mmap(struct worker *w, const uint64_t *a)
{
	map_into(w, w->buf[a[0] % SLOTS], a);
}

/* A part of a mapping, by two numbers; false if there is none. */
static bool part(struct worker *w, const uint64_t *a, char **from, size_t *bytes)
{
	unsigned int slot = a[0] % SLOTS;
	size_t offset;

	if (!w->map[slot])
		return false;
	offset = a[1] % w->map_bytes[slot] & ~(PAGE - 1);
	*from = (char *)w->map[slot] + offset;
	*bytes = 1 + a[2] % (w->map_bytes[slot] - offset);
	return true;
}

static void do_touch(struct worker *w, const uint64_t *a)
{
	char *from;
	size_t bytes;

	if (!part(w, a, &from, &bytes) || sigsetjmp(w->fault, 1))
		return;
	if (a[3] & 1)
		*(volatile char *)(from + bytes - 1) = (char)a[3];
	else
		(void)*(volatile char *)(from + bytes - 1);
}

static void do_munmap(struct worker *w, const uint64_t *a)
{
	char *from;
	size_t bytes;

	/* Nobody may fill the hole: the end of this program unmaps the whole range, and another thread's stack with it. */
	if (part(w, a, &from, &bytes))
		mmap(from, bytes, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void do_madvise(struct worker *w, const uint64_t *a)
{
	static const int advice[] = { MADV_DONTNEED, MADV_DONTFORK, MADV_DOFORK, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
		MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_READ, MADV_POPULATE_WRITE, MADV_REMOVE, MADV_FREE };
	char *from;
	size_t bytes;

	if (part(w, a, &from, &bytes))
		madvise(from, bytes, advice[a[3] % (sizeof(advice) / sizeof(*advice))]);
}

static void do_mprotect(struct worker *w, const uint64_t *a)
{
	char *from;
	size_t bytes;

	if (part(w, a, &from, &bytes))
		mprotect(from, bytes, a[3] & 3);
}

static void do_mremap(struct worker *w, const uint64_t *a)
{
	unsigned int slot = a[0] % SLOTS;
	size_t bytes = 1 + a[1] % MAP_BYTES_MAX;
	void *at;

	if (!w->map[slot])
		return;
	at = mremap(w->map[slot], w->map_bytes[slot], bytes, MREMAP_MAYMOVE);
	if (at == MAP_FAILED)
		return;
	w->map[slot] = at;
	w->map_bytes[slot] = bytes;
}

static void do_direct(struct worker *w, const uint64_t *a)
{
	char *from;
	size_t bytes;

	if (drive >= 0 && part(w, a, &from, &bytes) &&
	    pread(drive, from, (bytes + PAGE - 1) % (1UL << 20) & ~(PAGE - 1), 0) < 0)
		return;
}

/* A buffer of the process, or a part of a mapping: a region's own, perhaps. */
static void *buffer_of(struct worker *w, const uint64_t *a, size_t *count)
{
	static _Thread_local char plain[64 << 10];
	const uint64_t of_map[ARGS] = { a[3], a[1], a[2], 0 };
	char *from;

	if (a[3] & 1 && part(w, of_map, &from, count)) {
		*count = *count % sizeof(plain);
		return from;
	}
	*count = a[2] % sizeof(plain);
	return plain;
}

static void do_pread(struct worker *w, const uint64_t *a)
{
	size_t count;
	void *to = buffer_of(w, a, &count);

	if (pread(file_of(w, a[0]), to, count, (off_t)(a[1] ^ a[2])) < 0)
		return;
}

static void do_pwrite(struct worker *w, const uint64_t *a)
{
	size_t count;
	void *from = buffer_of(w, a, &count);

	if (pwrite(file_of(w, a[0]), from, count, (off_t)(a[1] ^ a[2])) < 0)
		return;
}

static void do_copy(struct worker *w, const uint64_t *a)
{
	struct p2pmem_copy copy = {
		.size = sizeof(copy), .from_fd = file_of(w, a[3]), .to_offset = a[1],
		.from_offset = a[2], .length = a[2] >> 3 & ((1 << 20) - 1),
	};

	ioctl(file_of(w, a[0]), P2PMEM_IOC_COPY, &copy);
}

static void do_locate(struct worker *w, const uint64_t *a)
{
	struct p2pmem_locate place = { .size = sizeof(place), .file_offset = a[1] };

	ioctl(file_of(w, a[0]), P2PMEM_IOC_LOCATE, &place);
}

static void do_buf_locate(struct worker *w, const uint64_t *a)
{
	struct p2pmem_locate_dmabuf place = {
		.size = sizeof(place), .dmabuf_fd = a[2] & 1 ? file_of(w, a[2]) : w->buf[a[2] / 2 % SLOTS],
		.offset = a[1],
	};

	ioctl(file_of(w, a[0]), P2PMEM_IOC_LOCATE_DMABUF, &place);
}

static void do_fork(struct worker *w, const uint64_t *a)
{
	pid_t child = fork();

	if (!child) {
		do_touch(w, a);
		_exit(0);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static void do_ring(struct worker *w, const uint64_t *a)
{
	struct p2pmem_uring_buffer buffer = { .file_offset = a[1], .granules = a[2], .index = a[3] };
	struct __kernel_timespec limit = { .tv_sec = 5 };
	struct io_uring_sqe *sqe = io_uring_get_sqe(&w->ring);
	struct io_uring_cqe *cqe;

	if (!sqe)
		return;
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = file_of(w, a[0]);
	sqe->cmd_op = P2PMEM_URING_BUFFER;
	memcpy(sqe->cmd, &buffer, sizeof(buffer));
	if (io_uring_submit(&w->ring) < 0)
		return;
	if (!io_uring_wait_cqe_timeout(&w->ring, &cqe, &limit))
		io_uring_cqe_seen(&w->ring, cqe);
}

static void do_ring_clear(struct worker *w, const uint64_t *a)
{
	struct iovec none = { 0 };
	__u64 tag = 0;

	io_uring_register_buffers_update_tag(&w->ring, a[0] % RING_BUFFERS, &none, &tag, 1);
	w->in_ring[a[0] % RING_BUFFERS] = NULL;
}

/* A mapping's part as a fixed buffer of the ring: pinned, in the usual way. */
static void do_ring_pin(struct worker *w, const uint64_t *a)
{
	struct iovec part_of_map;
	__u64 tag = 0;
	char *from;
	size_t bytes;

	if (!part(w, a + 1, &from, &bytes))
		return;
	part_of_map = (struct iovec){ from, bytes };
	if (io_uring_register_buffers_update_tag(&w->ring, a[0] % RING_BUFFERS, &part_of_map, &tag, 1) == 1)
		w->in_ring[a[0] % RING_BUFFERS] = from;
}

static void do_ring_read(struct worker *w, const uint64_t *a)
{
	struct __kernel_timespec limit = { .tv_sec = 5 };
	struct io_uring_sqe *sqe = drive >= 0 ? io_uring_get_sqe(&w->ring) : NULL;
	struct io_uring_cqe *cqe;

	if (!sqe)
		return;
	io_uring_prep_read_fixed(sqe, drive, w->in_ring[a[0] % RING_BUFFERS], (1 + a[2] % 64) * PAGE, 0,
				 (int)(a[0] % RING_BUFFERS));
	if (io_uring_submit(&w->ring) < 0)
		return;
	if (!io_uring_wait_cqe_timeout(&w->ring, &cqe, &limit))
		io_uring_cqe_seen(&w->ring, cqe);
}

static void do_status(struct worker *w, const uint64_t *a)
{
	struct p2pmem_status status = { .size = sizeof(status) };

	ioctl(file_of(w, a[0]), P2PMEM_IOC_STATUS, &status);
}

static void do_poll(struct worker *w, const uint64_t *a)
{
	struct pollfd wait = { .fd = file_of(w, a[0]), .events = (short)a[1] };

	poll(&wait, 1, 0);
}

static void do_seek(struct worker *w, const uint64_t *a)
{
	lseek(file_of(w, a[0]), (off_t)a[1], (int)(a[3] % 6));
}

/* Reads from the file's position into several buffers. */
static void do_readv(struct worker *w, const uint64_t *a)
{
	static _Thread_local char plain[3][PAGE];
	const struct iovec parts[] = {
		{ plain[0], a[1] % PAGE }, { plain[1], a[2] % PAGE }, { plain[2], PAGE },
	};
	ssize_t moved = a[3] & 1 ? writev(file_of(w, a[0]), parts, 3) : readv(file_of(w, a[0]), parts, 3);

	(void)moved;
}

static void do_attr(struct worker *w, const uint64_t *a)
{
	static const char *const names[] = { "available", "state", "unrouted", "page_type", "memtype", "resets", "size",
		"kind", "bdf", "bar", "persistent", "pinned_importers" };
	char path[96], text[PAGE];
	int fd;

	(void)w;
	snprintf(path, sizeof(path), "/sys/class/p2pmem/%s/%s", nodes[a[0] % node_count] + strlen("/dev/"),
		 names[a[1] % (sizeof(names) / sizeof(*names))]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read(fd, text, sizeof(text)) < 0)
		errno = 0;
	close(fd);
}

/* A dma-buf of this program, handed to an importer, in each of its ways to attach. */
static void do_attach(struct worker *w, const uint64_t *a)
{
	const struct importer_attach attach = {
		.fd = w->buf[a[1] % SLOTS], .mode = a[2] % (IMPORTER_PINNED + 1), .domain = peer.pci_domain,
		.bus = peer.pci_bus, .function = peer.pci_devfn,
	};
	int *import = &w->import[a[0] % SLOTS];

	if (*import < 0)
		*import = open("/dev/" IMPORTER_NODE, O_RDWR | O_CLOEXEC);
	ioctl(*import, IMPORTER_ATTACH, &attach);
}

static void do_import(struct worker *w, const uint64_t *a)
{
	struct importer_map map = { .direction = a[1] % 3 };

	ioctl(w->import[a[0] % SLOTS], IMPORTER_MAP, &map);
}

static void do_detach(struct worker *w, const uint64_t *a)
{
	ioctl(w->import[a[0] % SLOTS], a[1] & 1 ? IMPORTER_UNMAP : IMPORTER_DETACH);
}

static void drop_mr(struct worker *w, unsigned int slot)
{
	if (w->mr[slot])
		ibv_dereg_mr(w->mr[slot]);
	w->mr[slot] = NULL;
}

/* Registers a part of a mapping with RDMA, which pins it until it is deregistered. */
static void do_mr_reg(struct worker *w, const uint64_t *a)
{
	unsigned int slot = a[3] % SLOTS;
	char *from;
	size_t bytes;

	if (!verbs || !part(w, a, &from, &bytes))
		return;
	drop_mr(w, slot);
	w->mr[slot] = ibv_reg_mr(verbs, from, bytes, a[3] >> 8 & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));
}

static void do_mr_drop(struct worker *w, const uint64_t *a)
{
	drop_mr(w, a[0] % SLOTS);
}

/* Memory of the lab's GPU, where there is one. */
static void do_gpu_alloc(struct worker *w, const uint64_t *a)
{
	struct nvlab_alloc alloc = { .bytes = (1 + a[1] % 64) * NVLAB_PAGE_BYTES };

	if (w->gpu < 0)
		w->gpu = open("/dev/" NVLAB_NODE, O_RDWR | O_CLOEXEC);
	if (!ioctl(w->gpu, NVLAB_ALLOC, &alloc))
		w->gpu_memory[a[0] % SLOTS] = alloc.va;
}

static void do_gpu_free(struct worker *w, const uint64_t *a)
{
	__u64 va = w->gpu_memory[a[0] % SLOTS];

	ioctl(w->gpu, NVLAB_FREE, &va);
}

/* Pins mostly whole pages of the GPU. */
static void do_pin_gpu(struct worker *w, const uint64_t *a)
{
	uint64_t odd = a[3] >> 8 & 7 ? 0 : a[3] & 0xff;
	struct p2pmem_pin_gpu pin = {
		.size = sizeof(pin), .va = w->gpu_memory[a[3] % SLOTS] + odd,
		.length = (1 + a[2] % 64) * NVLAB_PAGE_BYTES, .offset = a[1] / NVLAB_PAGE_BYTES * NVLAB_PAGE_BYTES,
	};

	ioctl(file_of(w, a[0]), P2PMEM_IOC_PIN_GPU, &pin);
}

#define BESIDE_ROUNDS	16

/* A second thread, which does one thing again and again while its program goes on. */
struct beside {
	struct worker worker;
	uint64_t arg[ARGS];
	pthread_t thread;
};

/* Nothing that closes or unmaps, or stores to what this program may have unmapped. */
static void *be_beside(void *argument)
{
	static void (*const can[])(struct worker *w, const uint64_t *a) = {
		do_pread, do_pwrite, do_copy, do_sync, do_claim, do_locate, do_readv, do_probe,
	};
	struct beside *b = argument;
	const uint64_t arg[ARGS] = { b->arg[0], b->arg[1], b->arg[2], b->arg[3] & ~1ULL };
	int i;

	for (i = 0; i < BESIDE_ROUNDS; i++)
		can[b->arg[3] / 2 % (sizeof(can) / sizeof(*can))](&b->worker, arg);
	return NULL;
}

static void join_beside(struct worker *w)
{
	if (!w->beside)
		return;
	pthread_join(w->beside->thread, NULL);
	free(w->beside);
	w->beside = NULL;
}

static void do_beside(struct worker *w, const uint64_t *a)
{
	join_beside(w);
	w->beside = calloc(1, sizeof(*w->beside));
	if (!w->beside)
		return;
	memcpy(w->beside->worker.file, w->file, sizeof(w->file));
	memcpy(w->beside->arg, a, sizeof(w->beside->arg));
	if (!pthread_create(&w->beside->thread, NULL, be_beside, w->beside))
		return;
	free(w->beside);
	w->beside = NULL;
}

enum number { SLOT, OFFSET, LENGTH, FLAGS, ANY };

static const struct call {
	const char *name;
	void (*run)(struct worker *w, const uint64_t *a);
	enum number arg[ARGS];
	unsigned int weight;
} calls[] = {
	{ "open", do_open, { SLOT, SLOT, FLAGS, SLOT }, 6 },
	{ "close", do_close, { SLOT, SLOT, SLOT, SLOT }, 3 },
	{ "info", do_info, { SLOT, FLAGS, LENGTH, SLOT }, 1 },
	{ "claim", do_claim, { SLOT, OFFSET, LENGTH, OFFSET }, 5 },
	{ "sync", do_sync, { SLOT, OFFSET, LENGTH, FLAGS }, 2 },
	{ "probe", do_probe, { SLOT, FLAGS, ANY, SLOT }, 1 },
	{ "export", do_export, { FLAGS, OFFSET, LENGTH, FLAGS }, 4 },
	{ "buf_close", do_buf_close, { SLOT, SLOT, SLOT, SLOT }, 2 },
	{ "buf_sync", do_buf_sync, { SLOT, FLAGS, SLOT, SLOT }, 2 },
	{ "buf_locate", do_buf_locate, { SLOT, OFFSET, SLOT, SLOT }, 1 },
	{ "buf_mmap", do_buf_mmap, { SLOT, OFFSET, LENGTH, FLAGS }, 3 },
	{ "raw", do_raw, { SLOT, ANY, ANY, ANY }, 2 },
	{ "mmap", do_mmap, { SLOT, OFFSET, LENGTH, FLAGS }, 10 },
	{ "munmap", do_munmap, { SLOT, OFFSET, LENGTH, SLOT }, 4 },
	{ "touch", do_touch, { SLOT, OFFSET, LENGTH, FLAGS }, 8 },
	{ "madvise", do_madvise, { SLOT, OFFSET, LENGTH, FLAGS }, 4 },
	{ "mprotect", do_mprotect, { SLOT, OFFSET, LENGTH, FLAGS }, 2 },
	{ "mremap", do_mremap, { SLOT, LENGTH, SLOT, SLOT }, 3 },
	{ "direct", do_direct, { SLOT, OFFSET, LENGTH, SLOT }, 3 },
	{ "pread", do_pread, { SLOT, OFFSET, LENGTH, SLOT }, 3 },
	{ "pwrite", do_pwrite, { SLOT, OFFSET, LENGTH, SLOT }, 4 },
	{ "copy", do_copy, { SLOT, OFFSET, OFFSET, SLOT }, 4 },
	{ "locate", do_locate, { SLOT, OFFSET, SLOT, SLOT }, 1 },
	{ "fork", do_fork, { SLOT, OFFSET, LENGTH, FLAGS }, 1 },
	{ "ring", do_ring, { SLOT, OFFSET, SLOT, SLOT }, 4 },
	{ "ring_clear", do_ring_clear, { SLOT, SLOT, SLOT, SLOT }, 2 },
	{ "ring_pin", do_ring_pin, { SLOT, SLOT, OFFSET, LENGTH }, 3 },
	{ "ring_read", do_ring_read, { SLOT, SLOT, SLOT, SLOT }, 2 },
	{ "status", do_status, { SLOT, SLOT, SLOT, SLOT }, 1 },
	{ "poll", do_poll, { SLOT, FLAGS, SLOT, SLOT }, 1 },
	{ "seek", do_seek, { SLOT, OFFSET, SLOT, FLAGS }, 1 },
	{ "readv", do_readv, { SLOT, ANY, ANY, SLOT }, 2 },
	{ "attr", do_attr, { SLOT, FLAGS, SLOT, SLOT }, 1 },
	{ "attach", do_attach, { SLOT, SLOT, FLAGS, SLOT }, 3 },
	{ "import", do_import, { SLOT, SLOT, SLOT, SLOT }, 3 },
	{ "detach", do_detach, { SLOT, SLOT, SLOT, SLOT }, 1 },
	{ "mr_reg", do_mr_reg, { SLOT, OFFSET, LENGTH, FLAGS }, 3 },
	{ "mr_drop", do_mr_drop, { SLOT, SLOT, SLOT, SLOT }, 1 },
	{ "gpu_alloc", do_gpu_alloc, { SLOT, FLAGS, SLOT, SLOT }, 1 },
	{ "gpu_free", do_gpu_free, { SLOT, SLOT, SLOT, SLOT }, 1 },
	{ "pin_gpu", do_pin_gpu, { SLOT, OFFSET, FLAGS, FLAGS }, 2 },
	{ "beside", do_beside, { SLOT, OFFSET, LENGTH, FLAGS }, 3 },
};

#define CALLS	(sizeof(calls) / sizeof(*calls))
