// SPDX-License-Identifier: Apache-2.0
/*
 * holder KIND REGION BYTES [DRIVE] - holds memory of a region and says what becomes of it.
 *
 *   mapping    a mapping, touched
 *   heir       a mapping alone, by a child of the process that opened the region, which has ended
 *   dmabuf     a descriptor of a dma-buf alone, in the same way; both say "pid N" first
 *   inflight   a mapping, and reads of DRIVE into it without end
 *   vmsplice   pages in a pipe; mapping and descriptor are closed
 *   fixed      a registered io_uring buffer; mapping and descriptor are closed
 *   ring       the same, given by the region and not by its mapping
 *   zerocopy   what was sent by MSG_ZEROCOPY and not taken; mapping and descriptor are closed
 *   longterm   an RDMA memory region on the first RDMA device; mapping and descriptor are closed
 *
 * Prints "ready", then obeys SIGUSR1: touch the mapping (prints "alive" or "sigbus"), or take what was sent (prints "alive" or
 * "changed"), and SIGUSR2: let go and exit. Prints "unsupported: why" and exits with 3 if the kernel has no such thing.
 *
 * LIBS: -libverbs -luring -pthread
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <liburing.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <uapi/p2pmem.h>

enum { EXIT_UNSUPPORTED = 3, CHUNK_BYTES = 64 * 1024, READERS = 4 };

static char *map;
static size_t map_bytes;
static int region_fd;
static sigjmp_buf on_sigbus;
static int taker = -1;		/* the socket to which it was sent */

static void say(const char *text)
{
	puts(text);
	fflush(stdout);
}

static void unsupported(const char *what)
{
	printf("unsupported: %s: %s\n", what, strerror(errno));
	exit(EXIT_UNSUPPORTED);
}

static void sigbus(int signal_number)
{
	(void)signal_number;
	siglongjmp(on_sigbus, 1);
}

static void touch(void)
{
	volatile char *byte = map;

	if (sigsetjmp(on_sigbus, 1)) {
		say("sigbus");
		return;
	}
	*byte = *byte + 1;
	say("alive");
}

/* Each page was sent as map_region() left it. */
static void take_what_was_sent(void)
{
	static char page[4096];
	bool same = true;

	for (size_t at = 0; at < map_bytes; at += sizeof(page)) {
		same &= recv(taker, page, sizeof(page), MSG_WAITALL) == sizeof(page) && page[0] == 1;
		for (size_t i = 1; i < sizeof(page); i++)
			same &= !page[i];
	}
	say(same ? "alive" : "changed");
}

static void map_region(const char *name, const char *bytes)
{
	char path[64];

	map_bytes = strtoull(bytes, NULL, 0);
	snprintf(path, sizeof(path), "/dev/%s", name);
	region_fd = open(path, O_RDWR);
	if (region_fd < 0)
		err(1, "%s", path);
	map = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, region_fd, 0);
	if (map == MAP_FAILED)
		err(1, "%s: mmap", path);
	for (size_t at = 0; at < map_bytes; at += 4096)
		map[at] = 1;
}

/* Closes mapping and descriptor, so that only the pins hold the memory. */
static void close_mapping(void)
{
	munmap(map, map_bytes);
	close(region_fd);
}

struct reader {
	pthread_t thread;
	int fd;
	char *buffer;
};

static void *read_forever(void *argument)
{
	struct reader *reader = argument;
	off_t at = 0;

	while (pread(reader->fd, reader->buffer, CHUNK_BYTES, at) == CHUNK_BYTES)
		at = (at + CHUNK_BYTES) % (16 << 20);
	printf("reads ended: %s\n", strerror(errno));
	fflush(stdout);
	return NULL;
}

static void hold_inflight(const char *drive)
{
	static struct reader readers[READERS];
	int fd = open(drive, O_RDONLY | O_DIRECT);

	if (fd < 0)
		err(1, "%s", drive);
	for (int i = 0; i < READERS; i++) {
		readers[i] = (struct reader){ .fd = fd, .buffer = map + i * CHUNK_BYTES };
		if (pthread_create(&readers[i].thread, NULL, read_forever, &readers[i]))
			errx(1, "no thread");
	}
}

static void hold_vmsplice(void)
{
	struct iovec iov = { .iov_base = map, .iov_len = 4 * 4096 };
	static int ends[2];

	if (pipe(ends))
		err(1, "pipe");
	if (vmsplice(ends[1], &iov, 1, 0) < 0)
		unsupported("vmsplice");
	close_mapping();
}

/*
 * Makes a connection to itself.  Its window is small, so that most of the sent data stay in the sender's memory, but large
 * enough that all are taken soon, even if each window waits for a timer of TCP.
 */
static int connection(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), sender = socket(AF_INET, SOCK_STREAM, 0);
	int window = 64 * 1024, room = 4 * (int)map_bytes, yes = 1;
	socklen_t length = sizeof(address);

	if (setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window)) ||
	    setsockopt(sender, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) ||
	    setsockopt(sender, SOL_SOCKET, SO_ZEROCOPY, &yes, sizeof(yes)) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &length) ||
	    connect(sender, (struct sockaddr *)&address, length))
		err(1, "connection to this machine");
	taker = accept(listener, NULL, NULL);
	return sender;
}

static void hold_zerocopy(void)
{
	ssize_t sent = send(connection(), map, map_bytes, MSG_ZEROCOPY | MSG_DONTWAIT);

	if (sent < 0)
		unsupported("MSG_ZEROCOPY");
	if ((size_t)sent != map_bytes)
		errx(1, "only %zd bytes were sent", sent);
	close_mapping();
}

static void hold_fixed(void)
{
	struct io_uring_params params = { 0 };
	struct iovec iov = { .iov_base = map, .iov_len = map_bytes };
	int ring = (int)syscall(__NR_io_uring_setup, 4, &params);

	if (ring < 0)
		err(1, "io_uring_setup");
	if (syscall(__NR_io_uring_register, ring, IORING_REGISTER_BUFFERS, &iov, 1) < 0)
		unsupported("fixed buffers");
	close_mapping();
}

static void hold_ring(void)
{
	struct p2pmem_uring_buffer buffer = { .granules = (__u32)(map_bytes / 4096) };
	static struct io_uring ring;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;

	if (io_uring_queue_init(1, &ring, 0) || io_uring_register_buffers_sparse(&ring, 1))
		errx(1, "no ring");
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, region_fd, NULL, 0, 0);
	sqe->cmd_op = P2PMEM_URING_BUFFER;
	memcpy(sqe->cmd, &buffer, sizeof(buffer));
	if (io_uring_submit_and_wait(&ring, 1) != 1 || io_uring_peek_cqe(&ring, &cqe))
		errx(1, "no completion");
	errno = -cqe->res;
	if (errno)
		unsupported("ring buffers");
	io_uring_cqe_seen(&ring, cqe);
	close_mapping();
}

static void hold_longterm(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *context;
	struct ibv_pd *pd;

	if (!devices || !devices[0])
		unsupported("no RDMA device");
	context = ibv_open_device(devices[0]);
	pd = context ? ibv_alloc_pd(context) : NULL;
	if (!pd)
		err(1, "RDMA device");
	if (!ibv_reg_mr(pd, map, map_bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE))
		unsupported("ibv_reg_mr");
	close_mapping();
}

/* Goes on as a child, which has all of the process that opened the region, and closes its descriptor. */
static void inherit(void)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		err(1, "fork");
	if (child)
		_exit(0);
	while (getppid() == parent)
		usleep(1000);
	close(region_fd);
	printf("pid %d\n", (int)getpid());
}

static void hold_dmabuf(void)
{
	struct p2pmem_export_dmabuf request = { .size = sizeof(request), .length = map_bytes, .fd_flags = O_RDWR };

	if (ioctl(region_fd, P2PMEM_IOC_EXPORT_DMABUF, &request) < 0)
		err(1, "export");
	munmap(map, map_bytes);
	inherit();
}

static void hold(const char *kind, const char *drive)
{
	if (!strcmp(kind, "inflight"))
		hold_inflight(drive);
	else if (!strcmp(kind, "heir"))
		inherit();
	else if (!strcmp(kind, "dmabuf"))
		hold_dmabuf();
	else if (!strcmp(kind, "vmsplice"))
		hold_vmsplice();
	else if (!strcmp(kind, "zerocopy"))
		hold_zerocopy();
	else if (!strcmp(kind, "fixed"))
		hold_fixed();
	else if (!strcmp(kind, "ring"))
		hold_ring();
	else if (!strcmp(kind, "longterm"))
		hold_longterm();
	else if (strcmp(kind, "mapping"))
		errx(2, "no kind '%s'", kind);
}

static void obey(const sigset_t *signals)
{
	int signal_number;

	say("ready");
	while (!sigwait(signals, &signal_number)) {
		if (signal_number == SIGUSR2)
			_exit(0);
		if (taker >= 0)
			take_what_was_sent();
		else
			touch();
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = sigbus };
	sigset_t signals;

	if (argc < 4)
		errx(2, "usage: holder KIND REGION BYTES [DRIVE]");
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGUSR2);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	sigaction(SIGBUS, &action, NULL);
	map_region(argv[2], argv[3]);
	hold(argv[1], argv[4]);
	obey(&signals);
	return 0;
}
