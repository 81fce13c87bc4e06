// SPDX-License-Identifier: Apache-2.0
/*
 * gpuheld TEST [ARGUMENT] - one test of who else holds pinned GPU memory when its process frees it or ends, and of
 * drivers that fail. REGION is the node of the GPU's region.
 *
 * LIBS: -luring -pthread
 */
#define _GNU_SOURCE
#include "gpulab.h"
#include "named.h"

#include <linux/dma-buf.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "modules/importer/importer.h"

static const char *argument;

/* --- the lab's driver notices who breaks its rules (modules/nvidia/wrong.c) --- */

static void breaks_rule(void)
{
	int gpu = gpu_open(), fd = open("/opt/donard/modules/nvidia_wrong.ko", O_RDONLY | O_CLOEXEC);
	uint64_t va = gpu_alloc(gpu, GPU_PAGE), next = gpu_alloc(gpu, GPU_PAGE);
	char parameters[64];

	EQUAL(va + GPU_PAGE, next);
	snprintf(parameters, sizeof(parameters), "what=%s va=%llu", argument, (unsigned long long)va);
	FAILS(ECANCELED, syscall(SYS_finit_module, fd, parameters, 0));
}

/* --- the driver fails to take a pin back --- */

static void put_fails(void)
{
	struct pinned p = pinned_anew(BYTES);

	munmap(p.map, BYTES);
	close(p.fd);	/* the driver has the pin still, and calls back */
	gpu_free(p.gpu, p.va);
	p.va = gpu_alloc(p.gpu, BYTES);
	p.fd = open_region(region_path);
	PINS(pin(p.fd, p.va, BYTES, 0));
	close(p.fd);	/* and this one is put */
}

/* --- a dma-buf of memory that was taken back --- */

static int exported(struct pinned *p)
{
	struct p2pmem_export_dmabuf x = {
		.size = sizeof(x), .length = BYTES, .fd_flags = O_RDWR | O_CLOEXEC,
	};
	int fd = ioctl(p->fd, P2PMEM_IOC_EXPORT_DMABUF, &x);

	WORKS(fd);
	return fd;
}

/* Holders of the dma-buf do not get at memory that the file pins later. */
static void dmabuf_shows_nothing_else(void)
{
	struct pinned p = pinned_anew(BYTES);
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ };
	struct p2pmem_locate_dmabuf where = { .size = sizeof(where) };
	int dmabuf = exported(&p);
	uint64_t *map = mapped(dmabuf, BYTES, 0), second;

	where.dmabuf_fd = dmabuf;
	WORKS(ioctl(p.fd, P2PMEM_IOC_LOCATE_DMABUF, &where));
	fill(map, BYTES, PATTERN);
	gpu_free(p.gpu, p.va);
	CHECK(!alive(map));
	second = gpu_alloc(p.gpu, BYTES);
	REFUSED(EEXIST, "a dma-buf was made of", pin(p.fd, second, BYTES, 0));
	REFUSED(EEXIST, "a dma-buf was made of", pin(p.fd, second, BYTES, BYTES - GPU_PAGE));
	PINS(pin(p.fd, second, BYTES, BYTES));
	CHECK(!alive(map));
	CHECK(map_at(dmabuf, BYTES, 0) == MAP_FAILED);
	EQUAL(ENODEV, errno);
	FAILS(ENODEV, ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync));
	FAILS(ENODEV, ioctl(p.fd, P2PMEM_IOC_LOCATE_DMABUF, &where));
	close(dmabuf);
	REFUSED(EEXIST, "a dma-buf was made of", pin(p.fd, second, BYTES, 0));	/* its mapping is left */
	CHECK(!alive(map));
}

/* --- a request that has a page of it, and waits for another one --- */

struct request {
	uint64_t *gpu_memory;
	char *missing;		/* a page that is missing until the test fills it in */
	int handler;
};

static struct request request_of(struct pinned *p)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct request q = { .gpu_memory = p->map };

	q.missing = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(q.missing != MAP_FAILED);
	q.handler = syscall(SYS_userfaultfd, O_CLOEXEC);
	WORKS(q.handler);
	WORKS(ioctl(q.handler, UFFDIO_API, &api));
	range.range.start = (uintptr_t)q.missing;
	range.range.len = PAGE;
	WORKS(ioctl(q.handler, UFFDIO_REGISTER, &range));
	return q;
}

static void *reads_both(void *arg)
{
	struct request *q = arg;
	struct iovec pages[] = { { q->gpu_memory, PAGE }, { q->missing, PAGE } };

	preadv(drive_open(), pages, 2, 0);	/* whether it comes to its end is not the question */
	return NULL;
}

/* Begins a request that has a page of @p and waits for the missing one. */
static pthread_t begin_reading(struct pinned *p, struct request *q)
{
	struct uffd_msg message;
	pthread_t reader;

	drive_path = argument;
	*p->map = PATTERN;	/* its page is in the page tables */
	EQUAL(0, pthread_create(&reader, NULL, reads_both, q));
	EQUAL(sizeof(message), read(q->handler, &message, sizeof(message)));
	return reader;
}

/* Now the request has all of its pages. */
static void let_go_on(struct request *q)
{
	struct uffdio_zeropage page = { .range = { (uintptr_t)q->missing, PAGE } };

	WORKS(ioctl(q->handler, UFFDIO_ZEROPAGE, &page));
}

static atomic_bool freed;

static void *frees_it(void *arg)
{
	struct pinned *p = arg;

	gpu_free(p->gpu, p->va);
	atomic_store(&freed, true);
	return NULL;
}

/* Does a line of the holders name this process, with at least one pinned page? */
static bool holders_name_us(void)
{
	char path[80], line[80], text[4096] = "";
	const char *found;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/p2pmem/%s/holders", strrchr(region_path, '/') + 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	WORKS(fd);
	WORKS(read(fd, text, sizeof(text) - 1));
	close(fd);
	snprintf(line, sizeof(line), "%d gpuheld %llu ", getpid(), BYTES);
	found = strstr(text, line);
	if (!found || found[strlen(line)] == '0')
		printf("holders: %s", text);
	return found && found[strlen(line)] != '0';
}

/* The freeing call waits for the holder, the holder is named, and no byte arrives after that call. */
static void held_by(struct pinned p, unsigned int seconds)
{
	struct request q = request_of(&p);
	pthread_t reader = begin_reading(&p, &q), freer;

	EQUAL(0, pthread_create(&freer, NULL, frees_it, &p));
	while (alive(p.map))
		usleep(1000);
	CHECK(holders_name_us());
	sleep(seconds);
	CHECK(!atomic_load(&freed));
	let_go_on(&q);
	pthread_join(reader, NULL);
	pthread_join(freer, NULL);
	gpu_alloc(p.gpu, BYTES);	/* the same pages, which the driver looks at */
}

static void held_by_a_request(void)
{
	held_by(pinned_anew(BYTES), 0);
}

/* Does the process's first thread sleep, by its state in /proc? */
static bool sleeps(void)
{
	char path[64], text[512] = "";
	const char *state;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	WORKS(fd);
	WORKS(read(fd, text, sizeof(text) - 1));
	close(fd);
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

static unsigned int later_us;

/* When the next pin waits for room, and has waited for so long. */
static void *lets_go_on(void *arg)
{
	for (int tries = 0; tries < 500 && !sleeps(); tries++)
		usleep(1000);
	usleep(later_us);
	let_go_on(arg);
	return NULL;
}

/* BAR1 has room for one of the two.  The first ends while the second is asked for, by @pins, and only its own process can put it. */
static void room_comes_back(void (*pins)(int fd, uint64_t va))
{
	struct pinned p = pinned_anew(BYTES);
	uint64_t second = gpu_alloc(p.gpu, BYTES);
	struct request q = request_of(&p);
	pthread_t reader = begin_reading(&p, &q), helper;

	munmap(p.map, BYTES);
	close(p.fd);
	p.fd = open_region(region_path);
	EQUAL(0, pthread_create(&helper, NULL, lets_go_on, &q));
	pins(p.fd, second);
	pthread_join(helper, NULL);
	pthread_join(reader, NULL);
}

static void pins_once(int fd, uint64_t va)
{
	PINS(pin(fd, va, BYTES, 0));
}

static void room_comes_back_meanwhile(void)
{
	room_comes_back(pins_once);
}

static void on_alarm(int number)
{
	(void)number;
}

/* A wait that a signal ends says so, and not that there is no room. */
static void pins_under_signals(int fd, uint64_t va)
{
	static const struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_alarm };
	int rc, signals = 0;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while ((rc = pin(fd, va, BYTES, 0)) && errno == EINTR)
		signals++;
	PINS(rc);
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(signals > 0);
}

static void room_comes_back_under_signals(void)
{
	later_us = 100000;
	room_comes_back(pins_under_signals);
}

/* --- the same, while other threads export all the time and so keep the list of dma-bufs locked --- */

/* Longer than the callback waits for what may be for good (WAIT_LIMIT, kernel/gpu_revoke.c). */
#define PATIENT_SECONDS	80
#define EXPORTERS	4

static atomic_bool enough;

static void *exports_on(void *arg)
{
	while (!atomic_load(&enough))
		close(exported(arg));
	return NULL;
}

static void held_beside_exports(void)
{
	struct pinned p = pinned_anew(BYTES), other = { .gpu = p.gpu, .fd = open_region(region_path) };
	pthread_t threads[EXPORTERS];

	other.va = gpu_alloc(other.gpu, 2 * BYTES);	/* a line of holders that differs */
	PINS(pin(other.fd, other.va, 2 * BYTES, 0));
	close(exported(&p));
	for (int i = 0; i < EXPORTERS; i++)
		EQUAL(0, pthread_create(&threads[i], NULL, exports_on, &other));
	held_by(p, PATIENT_SECONDS);
	atomic_store(&enough, true);
	for (int i = 0; i < EXPORTERS; i++)
		pthread_join(threads[i], NULL);
}

/* --- importers of a dma-buf: the argument is the function that imports --- */

static int import(int dmabuf, unsigned int mode)
{
	struct importer_attach attach = { .fd = dmabuf, .mode = mode };
	int fd = open("/dev/" IMPORTER_NODE, O_RDWR | O_CLOEXEC);
	unsigned int device, function;

	WORKS(fd);
	EQUAL(4, sscanf(argument, "%x:%x:%x.%x", &attach.domain, &attach.bus, &device, &function));
	attach.function = device << 3 | function;
	if (!ioctl(fd, IMPORTER_ATTACH, &attach))
		return fd;
	close(fd);
	return -1;
}

static struct importer_state state_of(int importer)
{
	struct importer_state state;

	WORKS(ioctl(importer, IMPORTER_STATE, &state));
	return state;
}

/* One that can be told to let go is waited for, until its last request is over. */
static void importers_let_go(void)
{
	static const unsigned int modes[] = { IMPORTER_DYNAMIC, IMPORTER_REVOCABLE };

	for (int i = 0; i < 2; i++) {
		struct importer_map map = { .direction = 0 };
		struct pinned p = pinned_anew(BYTES);
		int dmabuf = exported(&p), importer = import(dmabuf, modes[i]);
		pthread_t freer;

		WORKS(importer);
		WORKS(ioctl(importer, IMPORTER_MAP, &map));
		WORKS(ioctl(importer, IMPORTER_FENCE));
		atomic_store(&freed, false);
		EQUAL(0, pthread_create(&freer, NULL, frees_it, &p));
		while (state_of(importer).mapped)
			usleep(1000);
		CHECK(!atomic_load(&freed));
		WORKS(ioctl(importer, IMPORTER_SIGNAL));
		pthread_join(freer, NULL);
		CHECK(state_of(importer).notified);
		FAILS(ENODEV, ioctl(importer, IMPORTER_MAP, &map));
		close(importer);
		close(dmabuf);
		close(p.fd);
		close(p.gpu);
	}
}

/* One that may keep its mapping gets none, whatever root has allowed. */
static void importers_that_stay(void)
{
	struct pinned p = pinned_anew(BYTES);
	int dmabuf = exported(&p);

	FAILS(EOPNOTSUPP, import(dmabuf, IMPORTER_PINNED));
}

static void no_importer(void)
{
	struct pinned p = pinned_anew(BYTES);
	int dmabuf = exported(&p);

	FAILS(EOPNOTSUPP, import(dmabuf, IMPORTER_DYNAMIC));
}

/* A dma-buf is revoked as a whole; the file keeps the memory that was not freed. */
static void half_of_a_dmabuf(void)
{
	struct pinned p = pinned_anew(BYTES);
	struct p2pmem_export_dmabuf x = {
		.size = sizeof(x), .length = 2 * BYTES, .fd_flags = O_RDWR | O_CLOEXEC,
	};
	uint64_t second = gpu_alloc(p.gpu, BYTES), *map, *rest;
	int dmabuf;

	PINS(pin(p.fd, second, BYTES, BYTES));
	rest = mapped(p.fd, BYTES, BYTES);
	dmabuf = ioctl(p.fd, P2PMEM_IOC_EXPORT_DMABUF, &x);
	WORKS(dmabuf);
	map = mapped(dmabuf, 2 * BYTES, 0);
	fill(map, 2 * BYTES, PATTERN);
	gpu_free(p.gpu, p.va);
	CHECK(!alive(map));
	CHECK(map_at(dmabuf, BYTES, BYTES) == MAP_FAILED);
	CHECK(filled(rest, BYTES, PATTERN + BYTES / 8));
	CHECK(gpu_has(p.gpu, second, BYTES, PATTERN + BYTES / 8));
}

/* --- requests of a ring, one after the other --- */

#define RING_DEPTH	8

static void submit_read(struct io_uring *ring, int fd, struct pinned *p, unsigned int slot)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	CHECK(sqe);
	io_uring_prep_read(sqe, fd, (char *)p->map + slot * GPU_PAGE, GPU_PAGE, slot * GPU_PAGE);
	io_uring_sqe_set_data64(sqe, slot);
	EQUAL(1, io_uring_submit(ring));
}

static struct io_uring_cqe *await_read(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;

	EQUAL(0, io_uring_wait_cqe(ring, &cqe));
	return cqe;
}

/* Each place is read into until that fails, or the memory is freed and as much again has been read. */
static void freed_under_a_ring(void)
{
	struct pinned p = pinned_anew(BYTES);
	unsigned int left = RING_DEPTH, done = 0, end = 0;
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	pthread_t freer;
	int fd;

	drive_path = argument;
	fd = drive_open();
	EQUAL(0, io_uring_queue_init(RING_DEPTH, &ring, 0));
	for (unsigned int slot = 0; slot < RING_DEPTH; slot++)
		submit_read(&ring, fd, &p, slot);
	while (left) {
		cqe = await_read(&ring);
		if (++done == 4 * RING_DEPTH)
			EQUAL(0, pthread_create(&freer, NULL, frees_it, &p));
		if (!end && atomic_load(&freed))
			end = done + 4 * RING_DEPTH;
		if (cqe->res < 0)
			EQUAL(EFAULT, -cqe->res);
		if (cqe->res < 0 || (end && done > end))
			left--;
		else
			submit_read(&ring, fd, &p, io_uring_cqe_get_data64(cqe));
		io_uring_cqe_seen(&ring, cqe);
	}
	pthread_join(freer, NULL);
	io_uring_queue_exit(&ring);
	gpu_alloc(p.gpu, BYTES);
}

/* --- another program has the file --- */

static void send_file(int to, int fd)
{
	char control[CMSG_SPACE(sizeof(fd))] = "", byte = 'f';
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	EQUAL(1, sendmsg(to, &message, 0));
}

static int received_file(int from)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd;

	EQUAL(1, recvmsg(from, &message, 0));
	CHECK(CMSG_FIRSTHDR(&message));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

#define PARTNER	9	/* the other program's end of the socket */

static void expect_byte(int from, char expected)
{
	char byte = 0;

	EQUAL(1, read(from, &byte, 1));
	EQUAL(expected, byte);
}

/* The other program, which never had the GPU open. */
static void takes_file(void)
{
	int fd = received_file(PARTNER);
	uint64_t *map = mapped(fd, BYTES, 0);

	CHECK(filled(map, BYTES, PATTERN));
	fill(map, BYTES, ~PATTERN);
	WORKS(sync_range(fd, 0, 0, 0));
	EQUAL(1, write(PARTNER, "w", 1));
	expect_byte(PARTNER, 'f');
	if (!strcmp(argument, "alive"))
		CHECK(filled(map, BYTES, ~PATTERN));
	else
		CHECK(!alive(map));
}

static void start_taker(int socket)
{
	WORKS(dup2(socket, PARTNER));
	execl("/proc/self/exe", "gpuheld", "takes-file", argument, NULL);
	err(1, "exec");
}

/* A forked child has the mapping, too, and ends with it. */
static void seen_by_child(struct pinned *p)
{
	int status;

	if (!fork()) {
		CHECK(filled(p->map, BYTES, PATTERN));
		_exit(0);
	}
	wait(&status);
	EQUAL(0, status);
}

static void handed_on(void)
{
	struct pinned p = pinned_anew(BYTES);
	int sockets[2], status;

	fill(p.map, BYTES, PATTERN);
	seen_by_child(&p);
	WORKS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	if (!fork())
		start_taker(sockets[1]);
	close(sockets[1]);
	send_file(sockets[0], p.fd);
	expect_byte(sockets[0], 'w');
	CHECK(gpu_has(p.gpu, p.va, BYTES, ~PATTERN));
	munmap(p.map, BYTES);
	close(p.fd);
	gpu_free(p.gpu, p.va);
	close(p.gpu);
	EQUAL(1, write(sockets[0], "f", 1));
	wait(&status);
	EQUAL(0, status);
}

/* --- a process that has the memory pinned for long, and outlives the one that had the GPU open --- */

static void child_keeps_it(void)
{
	struct pinned p = pinned_anew(BYTES);
	struct io_uring ring;
	int pipes[2];
	char byte;

	WORKS(pipe(pipes));
	if (!fork()) {
		close(p.gpu);
		close(pipes[0]);
		EQUAL(0, register_buffer(&ring, p.map));
		printf("%d\n", getpid());
		fflush(stdout);
		close(pipes[1]);
		for (;;)
			pause();
	}
	close(pipes[1]);
	EQUAL(0, read(pipes[0], &byte, 1));
}

static const struct named_test tests[] = {
	{ "breaks-rule", breaks_rule },
	{ "put-fails", put_fails },
	{ "dmabuf-shows-nothing-else", dmabuf_shows_nothing_else },
	{ "held-by-a-request", held_by_a_request },
	{ "room-comes-back-meanwhile", room_comes_back_meanwhile },
	{ "room-comes-back-under-signals", room_comes_back_under_signals },
	{ "held-beside-exports", held_beside_exports },
	{ "importers-let-go", importers_let_go },
	{ "importers-that-stay", importers_that_stay },
	{ "no-importer", no_importer },
	{ "half-of-a-dmabuf", half_of_a_dmabuf },
	{ "freed-under-a-ring", freed_under_a_ring },
	{ "takes-file", takes_file },
	{ "handed-on", handed_on },
	{ "child-keeps-it", child_keeps_it },
};

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: gpuheld TEST [ARGUMENT]");
	region_path = getenv("REGION") ?: "/dev/p2pmem0";
	argument = argc > 2 ? argv[2] : "";
	RUN_NAMED(tests, argv[1]);
	return 0;
}
