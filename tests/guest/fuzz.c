// SPDX-License-Identifier: Apache-2.0
/*
 * Random programs against the device nodes of p2pmem: ioctls, mappings, dma-bufs, buffers of rings, direct I/O, forks,
 * from several threads that share files. LIBS: -luring
 *
 *	fuzz [-s SEED] [-t SECONDS] [-j THREADS] [-c CORPUS] [-o FILE] [-d DRIVE] [-p BDF] NODE...
 *	fuzz -r FILE ...	each program of FILE once, by one thread
 *
 * Where the kernel shows the module's coverage (KCOV) a program that reaches something new is kept, changed and run
 * again, and -o writes all that were kept. A program is a line of words NAME(A,B,C,D). Each is written to the kernel's
 * log before it runs, with seed and thread: the last ones before a crash are in the console's log; put them into a file
 * for -r. The same seed makes the same programs as long as nothing was learned, which other threads may decide.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <liburing.h>
#include <linux/dma-buf.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "uapi/p2pmem.h"

#define STEPS_MAX	16
#define ARGS		4
#define SLOTS		4
#define NODES_MAX	4
#define THREADS_MAX	8
#define CORPUS_MAX	8192
#define PAGE		4096UL
#define MAP_BYTES_MAX	(8UL << 20)
#define LINE_BYTES	1200

#define KCOV_INIT_TRACE	_IOR('c', 1, unsigned long)
#define KCOV_ENABLE	_IO('c', 100)
#define KCOV_DISABLE	_IO('c', 101)
#define KCOV_TRACE_PC	0
#define KCOV_WORDS	(64UL << 10)
#define MAP_BITS	(1U << 16)

struct step {
	uint32_t call;
	uint64_t arg[ARGS];
};

struct program {
	uint32_t steps;
	struct step step[STEPS_MAX];
};

/* What a thread owns while a program runs. File 0 is shared by all threads. */
struct worker {
	unsigned int number;
	uint64_t random;
	int file[SLOTS], buf[SLOTS];
	void *map[SLOTS];
	size_t map_bytes[SLOTS];
	struct io_uring ring;
	uint64_t *cover;
	int kcov;
	unsigned long programs;
	sigjmp_buf fault;
	pthread_t thread;
};

static const char *nodes[NODES_MAX];
static int node_count, shared_file, drive = -1, kmsg = -1;
static struct p2pmem_probe peer = { .size = sizeof(peer) };
static uint64_t seed = 1;
static atomic_bool stop;
static _Thread_local struct worker *self;

static pthread_mutex_t corpus_lock = PTHREAD_MUTEX_INITIALIZER;
static struct program corpus[CORPUS_MAX];
static unsigned int corpus_count, learned;
static unsigned char seen[MAP_BITS];
static unsigned int seen_count;

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

/* --- calls: what each makes of its four numbers --- */

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

/* An ioctl of any number, on a struct of any size and words. */
static void do_raw(struct worker *w, const uint64_t *a)
{
	uint64_t words[64] = { 0 };
	uint32_t size = a[2] % sizeof(words);

	words[1 + a[2] % 8] = a[3];
	words[2] = a[1] >> 8;
	memcpy(words, &size, sizeof(size));
	ioctl(file_of(w, a[0]), _IO(P2PMEM_IOC_MAGIC, a[1] & 0xff), words);
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

	if (part(w, a, &from, &bytes))
		munmap(from, bytes);
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

	io_uring_register_buffers_update_tag(&w->ring, a[0] % 4, &none, &tag, 1);
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
};

#define CALLS	(sizeof(calls) / sizeof(*calls))

/* --- programs --- */

static uint64_t offset(struct worker *w)
{
	switch (below(w, 8)) {
	case 0: return below(w, 1UL << 29);
	case 1: return next(w) >> below(w, 64);
	case 2: return below(w, 16) << 21;
	case 3: return -(below(w, 4) * PAGE);
	default: return below(w, 32) * PAGE;
	}
}

static uint64_t number(struct worker *w, enum number kind)
{
	switch (kind) {
	case SLOT: return below(w, SLOTS);
	case FLAGS: return next(w) & 0xfff;
	case OFFSET: return offset(w);
	case LENGTH: return below(w, 4) ? (1 + below(w, 16)) * PAGE : offset(w);
	default: return next(w) >> below(w, 64);
	}
}

static void any_step(struct worker *w, struct step *step)
{
	unsigned int i, weight = 0;
	uint64_t at;

	for (i = 0; i < CALLS; i++)
		weight += calls[i].weight;
	at = below(w, weight);
	for (i = 0; at >= calls[i].weight; i++)
		at -= calls[i].weight;
	step->call = i;
	for (i = 0; i < ARGS; i++)
		step->arg[i] = number(w, calls[step->call].arg[i]);
}

/* From the corpus, with something changed; or wholly new. */
static void make_program(struct worker *w, struct program *p)
{
	unsigned int changes = 1 + below(w, 4), i;

	p->steps = 0;
	pthread_mutex_lock(&corpus_lock);
	if (corpus_count && below(w, 4))
		*p = corpus[below(w, corpus_count)];
	pthread_mutex_unlock(&corpus_lock);
	if (!p->steps) {
		p->steps = 4 + below(w, STEPS_MAX - 3);
		for (i = 0; i < p->steps; i++)
			any_step(w, &p->step[i]);
		return;
	}
	while (changes--) {
		struct step *step = &p->step[below(w, p->steps)];

		i = below(w, ARGS);
		if (below(w, 3))
			step->arg[i] = number(w, calls[step->call].arg[i]);
		else if (p->steps < STEPS_MAX && below(w, 2))
			any_step(w, &p->step[p->steps++]);
		else
			any_step(w, step);
	}
}

static int print_program(const struct program *p, char *text, size_t bytes)
{
	size_t at = 0;
	uint32_t i;

	for (i = 0; i < p->steps && at < bytes; i++) {
		const struct step *s = &p->step[i];

		at += snprintf(text + at, bytes - at, "%s%s(%" PRIx64 ",%" PRIx64 ",%" PRIx64 ",%" PRIx64 ")",
			       i ? " " : "", calls[s->call].name, s->arg[0], s->arg[1], s->arg[2], s->arg[3]);
	}
	return at < bytes ? (int)at : (int)bytes - 1;
}

static bool parse_program(const char *line, struct program *p)
{
	char name[16];
	int used;

	p->steps = 0;
	while (p->steps < STEPS_MAX) {
		struct step *s = &p->step[p->steps];

		if (sscanf(line, " %15[a-z_](%" SCNx64 ",%" SCNx64 ",%" SCNx64 ",%" SCNx64 ")%n", name, &s->arg[0],
			   &s->arg[1], &s->arg[2], &s->arg[3], &used) != 5)
			break;
		line += used;
		for (s->call = 0; s->call < CALLS && strcmp(calls[s->call].name, name); s->call++)
			;
		if (s->call == CALLS)
			errx(2, "no call '%s'", name);
		p->steps++;
	}
	return p->steps;
}

static void announce(const struct worker *w, const struct program *p)
{
	char text[LINE_BYTES];
	int at = snprintf(text, sizeof(text), "<7>fuzz seed %" PRIu64 " thread %u: ", seed, w->number);

	at += print_program(p, text + at, sizeof(text) - at);
	if (kmsg >= 0 && write(kmsg, text, at < 950 ? at : 950) < 0)
		kmsg = -1;
}

/* --- coverage --- */

static void open_coverage(struct worker *w)
{
	w->kcov = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (w->kcov < 0)
		return;
	if (ioctl(w->kcov, KCOV_INIT_TRACE, KCOV_WORDS))
		err(1, "KCOV_INIT_TRACE");
	w->cover = mmap(NULL, KCOV_WORDS * sizeof(*w->cover), PROT_READ | PROT_WRITE, MAP_SHARED, w->kcov, 0);
	if (w->cover == MAP_FAILED || ioctl(w->kcov, KCOV_ENABLE, KCOV_TRACE_PC))
		err(1, "KCOV_ENABLE");
}

/* Pairs of places that follow one another; how many of them nobody saw before. */
static unsigned int new_coverage(struct worker *w)
{
	uint64_t count = __atomic_load_n(&w->cover[0], __ATOMIC_RELAXED), i, last = 0;
	unsigned int found = 0;

	for (i = 1; i <= count && i < KCOV_WORDS; i++) {
		unsigned int at = (w->cover[i] * 0x9e3779b1u ^ last) % MAP_BITS;

		last = w->cover[i] * 0x9e3779b1u >> 1;
		if (!__atomic_exchange_n(&seen[at], 1, __ATOMIC_RELAXED))
			found++;
	}
	return found;
}

static void learn(struct worker *w, const struct program *p)
{
	unsigned int found;

	if (!w->cover)
		return;
	found = new_coverage(w);
	if (!found)
		return;
	pthread_mutex_lock(&corpus_lock);
	seen_count += found;
	if (corpus_count < CORPUS_MAX) {
		corpus[corpus_count++] = *p;
		learned++;
	}
	pthread_mutex_unlock(&corpus_lock);
}

/* --- running them --- */

static void on_fault(int signal_number)
{
	(void)signal_number;
	siglongjmp(self->fault, 1);
}

static void begin(struct worker *w)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		w->file[i] = w->buf[i] = -1;
		w->map[i] = NULL;
	}
	if (io_uring_queue_init(4, &w->ring, 0) || io_uring_register_buffers_sparse(&w->ring, 4))
		errx(1, "io_uring");
}

static void end(struct worker *w)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		unmap(w, i);
		if (w->buf[i] >= 0)
			close(w->buf[i]);
		if (w->file[i] >= 0)
			close(w->file[i]);
	}
	io_uring_queue_exit(&w->ring);
}

static void run_program(struct worker *w, const struct program *p)
{
	uint32_t i;

	announce(w, p);
	begin(w);
	if (w->cover)
		__atomic_store_n(&w->cover[0], 0, __ATOMIC_RELAXED);
	for (i = 0; i < p->steps; i++)
		calls[p->step[i].call].run(w, p->step[i].arg);
	learn(w, p);
	end(w);
	w->programs++;
}

static void *work(void *argument)
{
	struct worker *w = argument;
	struct program p;

	self = w;
	open_coverage(w);
	while (!stop) {
		make_program(w, &p);
		run_program(w, &p);
	}
	return NULL;
}

static void read_corpus(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[LINE_BYTES * 2];

	if (!file)
		err(1, "%s", path);
	while (corpus_count < CORPUS_MAX && fgets(line, sizeof(line), file)) {
		if (line[0] != '#' && parse_program(line, &corpus[corpus_count]))
			corpus_count++;
	}
	fclose(file);
}

static void write_corpus(const char *path)
{
	FILE *file = fopen(path, "w");
	char text[LINE_BYTES];
	unsigned int i;

	if (!file)
		err(1, "%s", path);
	for (i = 0; i < corpus_count; i++) {
		print_program(&corpus[i], text, sizeof(text));
		fprintf(file, "%s\n", text);
	}
	if (fclose(file))
		err(1, "%s", path);
}

/* Each once: what -r asks for, and what a run with a corpus begins with. */
static void replay(struct worker *w)
{
	unsigned int count = corpus_count, i;

	self = w;
	open_coverage(w);
	for (i = 0; i < count; i++)
		run_program(w, &corpus[i]);
	if (w->cover)
		ioctl(w->kcov, KCOV_DISABLE, 0);
}

static void name_peer(const char *bdf)
{
	unsigned int domain, bus, slot, function;

	if (sscanf(bdf, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
		errx(2, "'%s' is no PCI function", bdf);
	peer.pci_domain = domain;
	peer.pci_bus = bus;
	peer.pci_devfn = slot << 3 | function;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_fault };
	static struct worker workers[THREADS_MAX + 1];
	const char *output = NULL;
	unsigned int threads = 3, seconds = 20, i;
	unsigned long programs = 0;
	int option;

	while ((option = getopt(argc, argv, "s:t:j:c:r:o:d:p:")) != -1) {
		switch (option) {
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 't': seconds = atoi(optarg); break;
		case 'j': threads = atoi(optarg); break;
		case 'c': read_corpus(optarg); break;
		case 'r': read_corpus(optarg); threads = seconds = 0; break;
		case 'o': output = optarg; break;
		case 'd': drive = open(optarg, O_RDONLY | O_DIRECT | O_CLOEXEC); break;
		case 'p': name_peer(optarg); break;
		default: return 2;
		}
	}
	for (; optind < argc && node_count < NODES_MAX; optind++)
		nodes[node_count++] = argv[optind];
	if (!node_count || threads > THREADS_MAX)
		errx(2, "wants one to %d nodes, and at most %d threads", NODES_MAX, THREADS_MAX);
	shared_file = open(nodes[0], O_RDWR | O_CLOEXEC);
	if (shared_file < 0)
		err(1, "%s", nodes[0]);
	kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	printf("fuzz: seed %" PRIu64 ", %u threads, %u s, a corpus of %u\n", seed, threads, seconds, corpus_count);
	fflush(stdout);
	for (i = 0; i <= threads; i++) {
		workers[i].number = i;
		workers[i].random = seed * 1000003 + i;
	}
	replay(&workers[0]);
	for (i = 1; i <= threads; i++)
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	sleep(seconds);
	stop = true;
	for (i = 1; i <= threads; i++)
		pthread_join(workers[i].thread, NULL);
	for (i = 0; i <= threads; i++)
		programs += workers[i].programs;
	if (output)
		write_corpus(output);
	printf("fuzz: %lu programs, %u pairs of places covered, %u programs learned\n", programs, seen_count, learned);
	return 0;
}
