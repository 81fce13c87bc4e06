// SPDX-License-Identifier: Apache-2.0
/* The engine on ordinary files and memory: no device, no root. */
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engines.h"
#include "play_ioctl.h"
#include "base/base.h"
#include "copy/engine.h"

#define LENGTH (1U << 20)

struct setup {
	int in, out;
	uint8_t *data, *memory;
	struct dnd_plan plan;
};

static int temporary_file(void)
{
	char path[] = "/tmp/donard-unit-XXXXXX";
	int fd = mkstemp(path);

	unlink(path);
	return fd;
}

static int setup(void **state)
{
	struct setup *s = calloc(1, sizeof(*s));

	s->in = temporary_file();
	s->out = temporary_file();
	s->data = malloc(LENGTH);
	s->memory = calloc(1, LENGTH);
	dnd_nonce(s->data, LENGTH);
	*state = s;
	if (pwrite(s->in, s->data, LENGTH, 4096) != LENGTH || ftruncate(s->out, 0))
		return -1;
	return dnd_plan_make(&s->plan, LENGTH, 512, 3 * 4096, 8, 0);
}

static int teardown(void **state)
{
	struct setup *s = *state;

	close(s->in);
	close(s->out);
	free(s->data);
	free(s->memory);
	free(s);
	return 0;
}

static int run_engine(struct dnd_transfer *transfer)
{
	struct dnd_engine *engine;
	int rc = dnd_engine_open(transfer, &engine);

	if (rc == -EPERM || rc == -ENOSYS)
		skip();	/* neither io_uring nor Linux AIO is allowed here */
	assert_int_equal(rc, 0);
	rc = dnd_engine_run(engine);
	dnd_engine_close(engine);
	assert_int_equal(transfer->aio, !!refused_with);
	return rc;
}

static void run(struct dnd_transfer *transfer)
{
	assert_int_equal(run_engine(transfer), 0);
	assert_int_equal(transfer->gapless_bytes, LENGTH);
}

static void read_in_place(void **state)
{
	struct setup *s = *state;
	struct dnd_transfer transfer = { .plan = &s->plan, .read_fd = s->in, .write_fd = -1,
					 .read_offset = 4096, .target = { .address = s->memory },
					 .registers = true };

	run(&transfer);
	assert_memory_equal(s->memory, s->data, LENGTH);
}

static void write_bounced(void **state)
{
	struct setup *s = *state;
	uint8_t *buffers = malloc(s->plan.block_bytes * s->plan.lanes);
	struct dnd_transfer transfer = { .plan = &s->plan, .read_fd = -1, .write_fd = s->out,
					 .source = { .address = s->data }, .buffers = buffers, .registers = true };

	run(&transfer);
	free(buffers);
	assert_int_equal(pread(s->out, s->memory, LENGTH, 0), LENGTH);
	assert_memory_equal(s->memory, s->data, LENGTH);
}

static void file_to_file(void **state)
{
	struct setup *s = *state;
	uint8_t *buffers = malloc(s->plan.block_bytes * s->plan.lanes);
	struct dnd_transfer transfer = { .plan = &s->plan, .read_fd = s->in, .write_fd = s->out,
					 .read_offset = 4096, .write_offset = 512,
					 .buffers = buffers };

	run(&transfer);
	free(buffers);
	assert_int_equal(pread(s->out, s->memory, LENGTH, 512), LENGTH);
	assert_memory_equal(s->memory, s->data, LENGTH);
}

static int stop_at_once(void *user, enum donard_phase phase, uint64_t done, uint64_t total)
{
	(void)user;
	(void)phase;
	(void)done;
	(void)total;
	return 1;
}

static void stops(void **state)
{
	struct setup *s = *state;
	struct dnd_transfer transfer = { .plan = &s->plan, .read_fd = s->in, .write_fd = -1,
					 .read_offset = 4096, .target = { .address = s->memory },
					 .progress_fn = stop_at_once };
	int rc = run_engine(&transfer);

	assert_int_equal(rc, -ECANCELED);
	assert_true(transfer.gapless_bytes < LENGTH);
	assert_memory_equal(s->memory, s->data, transfer.gapless_bytes);
}

/* The kernel has no memory for requests: it takes none from call @starved_from on, before @starved_until. */
static unsigned int calls, starved_from = UINT32_MAX, starved_until;

static bool is_starved(void)
{
	calls++;
	return calls >= starved_from && calls < starved_until;
}

int __real_io_uring_submit(struct io_uring *ring);
int __real_io_uring_submit_and_wait(struct io_uring *ring, unsigned int wait_nr);
int __wrap_io_uring_submit(struct io_uring *ring);
int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned int wait_nr);

int __wrap_io_uring_submit(struct io_uring *ring)
{
	return is_starved() ? -EAGAIN : __real_io_uring_submit(ring);
}

int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned int wait_nr)
{
	return is_starved() ? -EAGAIN : __real_io_uring_submit_and_wait(ring, wait_nr);
}

/* Takes five arguments, the most that calls of Linux AIO have. */
long __real_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);

long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	if (number != SYS_io_submit || !b || !is_starved())
		return __real_syscall(number, a, b, c, d, e);
	errno = EAGAIN;
	return -1;
}

static int run_starved(struct dnd_transfer *transfer, unsigned int from, unsigned int until)
{
	int rc;

	calls = 0;
	starved_from = from;
	starved_until = until;
	rc = run_engine(transfer);
	starved_from = UINT32_MAX;
	return rc;
}

/* A want that passes is waited for.  One that stays ends the transfer, which can also be stopped meanwhile. */
static void no_memory_for_requests(void **state)
{
	struct setup *s = *state;
	struct dnd_transfer transfer = { .plan = &s->plan, .read_fd = s->in, .write_fd = -1,
					 .read_offset = 4096, .target = { .address = s->memory } };

	assert_int_equal(run_starved(&transfer, 1, 300), 0);
	assert_memory_equal(s->memory, s->data, LENGTH);
	assert_int_equal(run_starved(&transfer, 3, 300), 0);
	assert_int_equal(run_starved(&transfer, 1, UINT32_MAX), -ENOMEM);
	/* Linux AIO loses a request, and goes on to be used. */
	assert_int_equal(transfer.failed_step, transfer.aio ? DND_STEP_READ : DND_STEP_RING);
	assert_int_equal(transfer.gapless_bytes, 0);
	assert_int_equal(transfer.touched_bytes, 0);
	memset(s->memory, 0, LENGTH);
	assert_int_equal(run_starved(&transfer, 3, UINT32_MAX), -ENOMEM);
	assert_true(transfer.gapless_bytes && transfer.gapless_bytes < LENGTH);
	assert_memory_equal(s->memory, s->data, transfer.gapless_bytes);
	assert_in_range(transfer.touched_bytes, transfer.gapless_bytes, LENGTH - 1);
	if (transfer.aio)		/* it waits for a tenth of a second, and is not asked */
		return;
	transfer.progress_fn = stop_at_once;
	assert_int_equal(run_starved(&transfer, 1, UINT32_MAX), -ECANCELED);
}

/* A read that was short continues, and the kernel does not take the rest at first. */
static void no_memory_for_the_rest(void **state)
{
	struct setup *s = *state;
	struct dnd_io io = { .kind = DND_IO_READ, .fd = s->in, .offset_bytes = LENGTH, .memory = s->memory,
			     .length_bytes = 8192, .align_bytes = 512 };
	struct dnd_ring ring = { 0 };
	int64_t result;

	if (dnd_uring_ask())
		skip();
	assert_int_equal(dnd_ring_open(&ring, 4, 0, false), 0);
	dnd_io_start(&ring, &io);
	assert_int_equal(dnd_ring_enter(&ring, 1), 0);
	starved_from = 0;
	starved_until = UINT32_MAX;
	for (int i = 0; i < 2; i++) {
		assert_null(dnd_io_next(&ring, &result));
		assert_int_equal(ring.failed, -ENOMEM);
	}
	starved_from = UINT32_MAX;
	assert_null(dnd_io_next(&ring, &result));
	assert_int_equal(ring.failed, 0);
	assert_int_equal(dnd_ring_enter(&ring, 1), 0);
	assert_ptr_equal(dnd_io_next(&ring, &result), &io);
	assert_int_equal(result, 4096);	/* the file ends there */
	assert_memory_equal(s->memory, s->data + LENGTH - 4096, 4096);
	dnd_ring_close(&ring);
}

/* More requests than the ring has entries, and the kernel takes none at first: none is lost. */
static void no_memory_for_a_full_ring(void **state)
{
	struct setup *s = *state;
	struct dnd_io ios[8];
	struct dnd_ring ring = { 0 };
	int64_t result;
	int done = 0;

	if (dnd_uring_ask())
		skip();
	assert_int_equal(dnd_ring_open(&ring, 2, 0, false), 0);
	for (unsigned int i = 0; i < 8; i++) {
		ios[i] = (struct dnd_io){ .kind = DND_IO_READ, .fd = s->in, .offset_bytes = (i + 1) * 4096,
					  .memory = s->memory + i * 4096, .length_bytes = 4096, .align_bytes = 512 };
		dnd_io_start(&ring, &ios[i]);
	}
	starved_from = 0;
	starved_until = UINT32_MAX;
	assert_int_equal(dnd_ring_enter(&ring, 0), -ENOMEM);
	assert_int_equal(dnd_ring_enter(&ring, 1), 0);	/* a shortage may pass: the caller tries again */
	assert_null(dnd_io_next(&ring, &result));
	starved_from = UINT32_MAX;
	while (done < 8) {
		assert_int_equal(dnd_ring_enter(&ring, 1), 0);
		while (dnd_io_next(&ring, &result)) {
			assert_int_equal(result, 4096);
			done++;
		}
	}
	assert_memory_equal(s->memory, s->data, 8 * 4096);
	dnd_ring_close(&ring);
}

#define MANY	3000	/* commands of one request: far more than a ring has entries */

/* The kernel needs memory for a completion without room, and loses it where it has none: its request would never end. */
static void completions_have_room(void **state)
{
	struct setup *s = *state;
	struct dnd_io *ios = calloc(MANY, sizeof(*ios));
	struct dnd_ring ring = { 0 };
	int64_t result;

	assert_int_equal(dnd_ring_open(&ring, 4, 0, false), 0);
	for (unsigned int i = 0; i < MANY; i++) {
		ios[i] = (struct dnd_io){ .kind = DND_IO_READ, .fd = s->in, .offset_bytes = 4096 + i * 64,
					  .memory = s->memory + i * 64, .length_bytes = 64, .align_bytes = 1 };
		dnd_io_start(&ring, &ios[i]);
	}
	assert_int_equal(dnd_ring_enter(&ring, 0), 0);
	alarm(HANG_SECONDS);
	for (unsigned int done = 0; done < MANY; done += !!dnd_io_next(&ring, &result))	/* it hands over the rest, too */
		assert_false(io_uring_cq_has_overflow(&ring.uring));
	alarm(0);
	assert_memory_equal(s->memory, s->data, MANY * 64);
	dnd_ring_close(&ring);
	free(ios);
}

/* A drive that does not answer holds up what gives way, and nothing else. */
static void long_request_gives_way(void **state)
{
	struct setup *s = *state;
	struct dnd_io *ios = calloc(MANY, sizeof(*ios)), *ended = NULL;
	struct dnd_io quick = { .kind = DND_IO_READ, .fd = s->in, .offset_bytes = 4096, .memory = s->memory,
				.length_bytes = 64, .align_bytes = 1 };
	struct dnd_ring ring = { 0 };
	int64_t result = 0;
	int slow[2];

	if (dnd_uring_ask())
		skip();
	assert_int_equal(pipe(slow), 0);
	assert_int_equal(dnd_ring_open(&ring, 4, 0, false), 0);
	for (unsigned int i = 0; i < MANY; i++) {
		ios[i] = (struct dnd_io){ .kind = DND_IO_READ, .fd = slow[0], .memory = s->memory + 64, .length_bytes = 1,
					  .align_bytes = 1, .gives_way = true };
		dnd_io_start(&ring, &ios[i]);
	}
	assert_int_equal(dnd_ring_enter(&ring, 0), 0);
	assert_true(ring.full);
	dnd_io_start(&ring, &quick);
	alarm(HANG_SECONDS);
	assert_int_equal(dnd_ring_enter(&ring, 1), 0);
	while (!ended)
		ended = dnd_io_next(&ring, &result);
	assert_ptr_equal(ended, &quick);
	assert_int_equal(result, 64);
	for (unsigned int i = 0; i < MANY; i++)
		dnd_io_cancel(&ring, &ios[i]);
	for (unsigned int done = 0; done < MANY; done += !!dnd_io_next(&ring, &result))
		;
	alarm(0);
	dnd_ring_close(&ring);
	close(slow[0]);
	close(slow[1]);
	free(ios);
}

/* A request asks the region to register.  Memory that was refused must not count as registered, since it may be gone later. */
static void no_memory_to_register(void **state)
{
	struct setup *s = *state;
	const struct dnd_region region = { .fd = s->in,
					   .info = { .page_type = P2PMEM_PAGES_GENERIC, .granule_bytes = 4096 } };
	const struct dnd_window window = { .map = s->memory };
	const struct dnd_holding holding = { .base = s->memory, .bytes = LENGTH, .unit_bytes = 4096, .align_bytes = 512,
					     .region = &region, .window = &window };
	struct dnd_buffers buffers = { 0 };
	struct dnd_ring ring = { 0 };

	if (dnd_uring_ask())
		skip();
	assert_int_equal(dnd_ring_open(&ring, 4, 4, false), 0);
	starved_from = 0;
	starved_until = UINT32_MAX;
	assert_int_equal(dnd_buffers_register(&buffers, &ring, &holding), -ENOMEM);
	starved_from = UINT32_MAX;
	assert_int_equal(buffers.count, 0);
	dnd_ring_close(&ring);
}

static void reports_failure(void **state)
{
	struct setup *s = *state;
	struct dnd_transfer transfer = { .plan = &s->plan, .read_fd = s->in, .write_fd = -1,
					 .read_offset = LENGTH, .target = { .address = s->memory } };
	int rc = run_engine(&transfer);

	assert_int_equal(rc, -DND_CUT_SHORT);	/* the file ends in between */
	assert_int_equal(transfer.failed_step, DND_STEP_READ);
	assert_true(transfer.gapless_bytes <= 4096);
}

/* A program that closed its input has a ring in its place, which is closed like any other. */
static void descriptor_zero(void **state)
{
	struct setup *s = *state;
	struct dnd_transfer transfer = { .plan = &s->plan, .read_fd = s->in, .write_fd = -1,
					 .read_offset = 4096, .target = { .address = s->memory } };
	int input = dup(0), left;

	close(0);
	run(&transfer);
	left = fcntl(0, F_GETFD);
	dup2(input, 0);
	close(input);
	assert_int_equal(left, -1);
}

static void not_called(int signal_number)
{
	(void)signal_number;
	_exit(9);
}

/*
 * Device memory goes away during a copy through DRAM.  Access by the region's file fails then, as by this file behind its end,
 * where a load would raise SIGBUS.  So the copy ends, whether or not the program blocks or handles that signal.
 */
static void no_signal_takes_part(void **state)
{
	struct setup *s = *state;
	const struct dnd_region region = { .fd = s->out };
	const struct sigaction others = { .sa_handler = not_called };
	uint8_t *buffers = malloc(s->plan.block_bytes * s->plan.lanes);
	uint8_t *gone = mmap(NULL, LENGTH, PROT_READ, MAP_SHARED, s->out, 0);
	struct dnd_transfer transfer = { .plan = &s->plan, .read_fd = -1, .write_fd = s->in,
					 .source = { .region = &region, .address = gone }, .buffers = buffers };
	struct sigaction seen;
	sigset_t bus, mask;

	sigemptyset(&bus);
	sigaddset(&bus, SIGBUS);
	assert_int_equal(sigaction(SIGBUS, &others, NULL), 0);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &bus, NULL), 0);
	assert_int_equal(run_engine(&transfer), -ENXIO);
	assert_int_equal(transfer.failed_step, DND_STEP_CPU);
	assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &bus, &mask), 0);
	assert_true(sigismember(&mask, SIGBUS));
	sigaction(SIGBUS, NULL, &seen);
	assert_ptr_equal(seen.sa_handler, not_called);
	signal(SIGBUS, SIG_DFL);
	munmap(gone, LENGTH);
	free(buffers);
}

/* A buffer that is not all there is no region that went away. */
static void foreign_address_is_named(void **state)
{
	struct setup *s = *state;
	const struct dnd_region region = { .fd = s->in };
	size_t bytes = s->plan.block_bytes * s->plan.lanes;
	uint8_t *buffers = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dnd_transfer transfer = { .plan = &s->plan, .read_fd = -1, .write_fd = s->out,
					 .source = { .region = &region, .address = s->memory }, .buffers = buffers };

	assert_int_equal(run_engine(&transfer), -EFAULT);
	assert_int_equal(transfer.failed_step, DND_STEP_CPU);
	munmap(buffers, bytes);
}

static void compares(void **state)
{
	struct setup *s = *state;
	const struct dnd_place place = { .address = s->memory };
	size_t where = 0;

	memcpy(s->memory, s->data, LENGTH);
	assert_int_equal(dnd_place_compare(&place, s->data, LENGTH, &where), 0);
	s->memory[LENGTH - 3] ^= 1;
	assert_int_equal(dnd_place_compare(&place, s->data, LENGTH, &where), 1);
	assert_int_equal(where, LENGTH - 3);
}

static uint64_t played_bytes;	/* what calls have moved of a region */
static bool region_is_played;

ssize_t __real_pread(int fd, void *bytes, size_t count, off_t at);
ssize_t __wrap_pread(int fd, void *bytes, size_t count, off_t at);
ssize_t __wrap_pread(int fd, void *bytes, size_t count, off_t at)
{
	if (!region_is_played)
		return __real_pread(fd, bytes, count, at);
	count = dnd_min(count, 0x7ffff000);	/* as the kernel does */
	played_bytes += count;
	return (ssize_t)count;
}

/* Loads from a BAR take minutes. */
static void what_no_call_moves_at_once_is_moved_once(void **state)
{
	struct setup *s = *state;
	const struct dnd_region region = { .fd = s->in };
	const struct dnd_place place = { .region = &region };

	region_is_played = true;
	played_bytes = 0;
	assert_int_equal(dnd_place_load(&place, s->memory, 3ULL << 30), 0);
	region_is_played = false;
	assert_int_equal(played_bytes, 3ULL << 30);
}

#define SMALL_STACK	65536	/* as servers of many threads have */

static void *compare_all(void *argument)
{
	struct setup *s = argument;
	const struct dnd_place place = { .address = s->memory };
	size_t where;

	return dnd_place_compare(&place, s->data, LENGTH, &where) ? s : NULL;
}

static int compare_in_a_small_thread(struct setup *s)
{
	pthread_attr_t attributes;
	pthread_t thread;
	void *differs;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, SMALL_STACK) || pthread_create(&thread, &attributes, compare_all, s))
		return 1;
	return pthread_join(thread, &differs) || differs;
}

/* The first write of a queue and of a copy compares, in the thread of the program. */
static void compares_on_a_small_stack(void **state)
{
	struct setup *s = *state;
	int status = -1;
	pid_t child;

	memcpy(s->memory, s->data, LENGTH);
	child = fork();
	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		_exit(compare_in_a_small_thread(s));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static uint64_t device_bytes = LENGTH / 2;
static unsigned int device_checks;

/* The size of a block device that has shrunk to a half, unless a test sets another. */
static int play_ioctl(int fd, unsigned long request, void *argument)
{
	(void)fd;
	device_checks += request == BLKGETSIZE64;
	if (request == BLKGETSIZE64)
		*(uint64_t *)argument = device_bytes;
	else if (request == BLKSSZGET)
		*(int *)argument = 512;
	else if (request == P2PMEM_IOC_INFO)
		return 0;
	else
		return ASK_THE_KERNEL;
	return 0;
}

/* No command is sent, so none completes: there is nothing to wait for. */
static void changed_below(void **state)
{
	struct setup *s = *state;
	struct dnd_generic generic = { .fd = s->in, .block_fd = s->in, .size_bytes = LENGTH, .lba_bytes = 512 };
	struct dnd_transfer transfer = { .plan = &s->plan, .read_fd = s->in, .write_fd = -1,
					 .read_generic = &generic, .target = { .address = s->memory } };

	alarm(HANG_SECONDS);
	assert_int_equal(run_engine(&transfer), -ESTALE);
	alarm(0);
	assert_int_equal(transfer.gapless_bytes, 0);
	assert_int_equal(transfer.failed_step, DND_STEP_READ);
}

#define COMMANDS	4

struct command_scene {
	struct dnd_ring ring;
	struct dnd_generic generic;
	struct dnd_io ios[2 * COMMANDS];
	unsigned int count;
};

/* @count commands in a ring with room for COMMANDS, the last of them prepared and not handed over. */
static void prepare_commands(struct command_scene *scene, const struct setup *s, unsigned int count)
{
	*scene = (struct command_scene){
		.generic = { .fd = s->in, .block_fd = s->in, .size_bytes = LENGTH, .lba_bytes = 512 },
		.count = count,
	};
	if (dnd_ring_open(&scene->ring, COMMANDS, 0, true))
		skip();		/* io_uring is not allowed here */
	device_checks = 0;
	for (unsigned int i = 0; i < count; i++) {
		scene->ios[i] = (struct dnd_io){
			.kind = i % 2 ? DND_IO_WRITE : DND_IO_READ, .fd = -1, .generic = &scene->generic, .memory = s->memory,
			.offset_bytes = i * 4096, .length_bytes = 4096, .align_bytes = 512,
		};
		dnd_io_start(&scene->ring, &scene->ios[i]);
	}
}

static int enter(struct dnd_ring *ring)
{
	return dnd_ring_enter(ring, 1);
}

static int enter_timed(struct dnd_ring *ring)
{
	return dnd_ring_enter_timed(ring, 1, UINT64_MAX);
}

static int enter_without_waiting(struct dnd_ring *ring)
{
	return dnd_ring_enter(ring, 0);
}

/* Returns how many of the commands failed because of a change of the device. */
static unsigned int hand_over(struct command_scene *scene, int (*by)(struct dnd_ring *ring))
{
	unsigned int done = 0, changed = 0;
	struct dnd_io *io;
	int64_t result;

	alarm(HANG_SECONDS);
	while (done < scene->count) {
		assert_int_equal(by(&scene->ring), 0);
		while ((io = dnd_io_next(&scene->ring, &result))) {
			done++;
			changed += result == -ESTALE;	/* else an ordinary file refused the command */
		}
	}
	alarm(0);
	dnd_ring_close(&scene->ring);
	return changed;
}

static void one_check_for_commands_that_go_together(void **state)
{
	struct command_scene scene;

	device_bytes = LENGTH;
	prepare_commands(&scene, *state, COMMANDS);
	assert_int_equal(hand_over(&scene, enter), 0);
	device_bytes = LENGTH / 2;
	assert_int_equal(device_checks, 2);	/* one to read, and one to write */
}

/* The check when a command is prepared would be too early. */
static void changed_before_they_go(void **state)
{
	int (*const ways[])(struct dnd_ring *ring) = { enter, enter_timed, enter_without_waiting };
	struct command_scene scene;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		device_bytes = LENGTH;
		prepare_commands(&scene, *state, COMMANDS);
		device_bytes = LENGTH / 2;
		assert_int_equal(hand_over(&scene, ways[i]), COMMANDS);
	}
}

/* A ring that is full hands its commands over by itself. */
static void changed_before_a_full_ring(void **state)
{
	struct command_scene scene;

	prepare_commands(&scene, *state, 2 * COMMANDS);
	assert_int_equal(hand_over(&scene, enter), 2 * COMMANDS);
}

/* Waits for the first read, of an empty pipe.  Signals come every 20 ms, since one that comes before the wait has no effect. */
static int wait_for_a_signal(uint64_t timeout_ns)
{
	const struct itimerval often = { { 0, 20000 }, { 0, 20000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct dnd_ring ring = { .event_fd = -1 };
	struct dnd_io io = { .kind = DND_IO_READ, .align_bytes = 1, .length_bytes = 1, .memory = (uint8_t[1]){ 0 } };
	int pipe_fds[2], rc;
	int64_t result;

	assert_int_equal(pipe(pipe_fds), 0);
	io.fd = pipe_fds[0];
	assert_int_equal(dnd_ring_open(&ring, COMMANDS, 0, false), 0);
	dnd_io_start(&ring, &io);
	setitimer(ITIMER_REAL, &often, NULL);
	rc = dnd_ring_enter_timed(&ring, 1, timeout_ns);
	setitimer(ITIMER_REAL, &never, NULL);
	assert_int_equal(write(pipe_fds[1], "", 1), 1);
	assert_int_equal(dnd_ring_enter(&ring, 1), 0);
	assert_ptr_equal(dnd_io_next(&ring, &result), &io);
	assert_int_equal(result, 1);
	dnd_ring_close(&ring);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return rc;
}

static void called(int signal_number)
{
	(void)signal_number;
}

/* This holds for the call that submits the first request, too, for which the kernel does not report the signal. */
static void a_signal_ends_a_wait(void **state)
{
	struct sigaction before, action = { .sa_handler = called };

	(void)state;
	if (under_valgrind())
		skip();		/* it keeps signals from a program in io_uring_enter(): nothing would end the wait */
	sigaction(SIGALRM, &action, &before);
	assert_int_equal(wait_for_a_signal(UINT64_MAX), -EINTR);
	assert_int_equal(wait_for_a_signal(60000000000), -EINTR);
	sigaction(SIGALRM, &before, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(read_in_place, setup, teardown),
		cmocka_unit_test_setup_teardown(write_bounced, setup, teardown),
		cmocka_unit_test_setup_teardown(file_to_file, setup, teardown),
		cmocka_unit_test_setup_teardown(stops, setup, teardown),
		cmocka_unit_test_setup_teardown(reports_failure, setup, teardown),
		cmocka_unit_test_setup_teardown(descriptor_zero, setup, teardown),
		cmocka_unit_test_setup_teardown(no_signal_takes_part, setup, teardown),
		cmocka_unit_test_setup_teardown(foreign_address_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(compares, setup, teardown),
		cmocka_unit_test_setup_teardown(compares_on_a_small_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(what_no_call_moves_at_once_is_moved_once, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory_for_requests, setup, teardown),
	};
	const struct CMUnitTest by_io_uring[] = {	/* not of Linux AIO: it has no commands, and its calls are others */
		cmocka_unit_test_setup_teardown(a_signal_ends_a_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(changed_below, setup, teardown),
		cmocka_unit_test_setup_teardown(changed_before_they_go, setup, teardown),
		cmocka_unit_test_setup_teardown(changed_before_a_full_ring, setup, teardown),
		cmocka_unit_test_setup_teardown(one_check_for_commands_that_go_together, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory_for_the_rest, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory_for_a_full_ring, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory_to_register, setup, teardown),
		cmocka_unit_test_setup_teardown(completions_have_room, setup, teardown),
		cmocka_unit_test_setup_teardown(long_request_gives_way, setup, teardown),
	};
	int failed = cmocka_run_group_tests_name("of io_uring", by_io_uring, NULL, NULL);

	return failed + run_by_both_engines(tests);
}
