// SPDX-License-Identifier: Apache-2.0
/*
 * cufilecost FILE BLOCK COUNT - what cuFile costs on top of donard's queue: instructions of the whole machine for each
 * request of BLOCK bytes between FILE and a GPU's memory, one at a time, and system calls of this process for COUNT of them, all
 * and those that are not io_uring_enter(); prints "reads|writes queue|cufile USER-INSTRUCTIONS KERNEL-INSTRUCTIONS CALLS OTHERS".
 * Of each the least in ROUNDS samples, since whatever else the machine does, and what is asked now and then, only adds.
 * LIBS: -ldonard-meter -ldonard -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <donard/meter.h>
#include <donard/queue.h>

#include "../../lib/cufile/abi.h"
#include "../../lib/cufile/donard-cufile.h"

#define ROUNDS	5
#define WARM_UP	8

#define NUMBER(number)	TEXT(number)
#define TEXT(text)	#text

static struct donard_context *ctx;
static struct donard_meter *meter;
static uint64_t block;
static unsigned int count;

struct costs {
	uint64_t user, kernel;	/* instructions of a request */
	uint64_t calls;		/* of all requests ... */
	uint64_t other_calls;	/* ... that are not io_uring_enter() */
};

static struct {
	struct donard_queue *queue;
	struct donard_file *file;
	struct donard_memory *memory;
} by_queue;

static struct {
	ssize_t (*read)(void *handle, void *base, size_t bytes, off_t file_offset, off_t offset);
	ssize_t (*write)(void *handle, const void *base, size_t bytes, off_t file_offset, off_t offset);
	void *handle, *memory;
} by_cufile;

static void check(int rc)
{
	if (rc < 0)
		errx(1, "%s", donard_error(ctx));
}

static void *symbol(void *library, const char *name)
{
	void *found = library ? dlsym(library, name) : NULL;

	if (!found)
		errx(1, "%s: %s", name, dlerror());
	return found;
}

/* ---- a GPU's memory, two allocations of it ---- */

static uint64_t take_memory(void *cuda)
{
	int (*allocate)(uint64_t *pointer, size_t bytes) = symbol(cuda, "cuMemAlloc_v2");
	uint64_t pointer;

	if (allocate(&pointer, block))
		errx(1, "cuMemAlloc");
	return pointer;
}

static void *open_cuda(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context;
	int (*init)(unsigned int flags) = symbol(cuda, "cuInit");
	int (*device_get)(int *device, int ordinal) = symbol(cuda, "cuDeviceGet");
	int (*context_create)(void **context, unsigned int flags, int device) = symbol(cuda, "cuCtxCreate_v2");
	int device;

	if (init(0) || device_get(&device, 0) || context_create(&context, 0, device))
		errx(1, "CUDA");
	return cuda;
}

static void open_queue(const char *path, uint64_t pointer)
{
	check(donard_file_open(ctx, path, DONARD_FILE_WRITE, &by_queue.file));
	check(donard_memory_from_cuda(ctx, pointer, block, &by_queue.memory));
	check(donard_queue_open(ctx, NULL, &by_queue.queue));
}

static void open_cufile(const char *path, uint64_t pointer)
{
	void *library = dlopen("libcufile.so.0", RTLD_NOW);
	struct cuf_error (*file)(void **handle, const struct cuf_descriptor *) = symbol(library, "cuFileHandleRegister");
	struct cuf_error (*buffer)(const void *base, size_t bytes, int flags) = symbol(library, "cuFileBufRegister");
	struct cuf_descriptor descriptor = { .type = CUF_DESCRIPTOR_FD, .file.fd = open(path, O_RDWR | O_DIRECT) };

	by_cufile.read = symbol(library, "cuFileRead");
	by_cufile.write = symbol(library, "cuFileWrite");
	by_cufile.memory = (void *)(uintptr_t)pointer;
	if (file(&by_cufile.handle, &descriptor).code || buffer(by_cufile.memory, block, 0).code)
		errx(1, "cuFile");
}

/* ---- requests ---- */

static void move_by_queue(bool writes, uint64_t at)
{
	struct donard_completion done;

	check(writes ? donard_queue_write(by_queue.queue, by_queue.file, at, by_queue.memory, 0, block, NULL) :
		       donard_queue_read(by_queue.queue, by_queue.file, at, by_queue.memory, 0, block, NULL));
	check(donard_queue_wait(by_queue.queue, 1, -1, &done, 1));
	if (done.result != (int64_t)block || done.route == DONARD_ROUTE_BOUNCED)
		errx(1, "queue: %" PRId64 " bytes: %s", done.result, done.error);
}

static void move_by_cufile(bool writes, uint64_t at)
{
	ssize_t moved = writes ? by_cufile.write(by_cufile.handle, by_cufile.memory, block, (off_t)at, 0) :
				 by_cufile.read(by_cufile.handle, by_cufile.memory, block, (off_t)at, 0);

	if (moved != (ssize_t)block)
		errx(1, "cuFile: %zd bytes", moved);
}

static void move_all(void (*move)(bool writes, uint64_t at), bool writes, unsigned int requests)
{
	for (unsigned int i = 0; i < requests; i++)
		move(writes, (i % WARM_UP) * block);
}

/* ---- counting ---- */

static void at_least(uint64_t *least, uint64_t seen)
{
	*least = seen < *least ? seen : *least;
}

static void count_instructions(void (*move)(bool writes, uint64_t at), bool writes, struct costs *costs)
{
	struct donard_measurement seen = { .size = sizeof(seen) };

	check(donard_meter_begin(meter));
	move_all(move, writes, count);
	check(donard_meter_end(meter, &seen));
	at_least(&costs->user, seen.count[DONARD_INSTRUCTIONS_USER] / count);
	at_least(&costs->kernel, seen.count[DONARD_INSTRUCTIONS_KERNEL] / count);
}

static uint64_t trace_point(void)
{
	FILE *file = fopen("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", "r");
	uint64_t id;

	if (!file || fscanf(file, "%" SCNu64, &id) != 1)
		err(1, "the trace point of system calls");
	fclose(file);
	return id;
}

/* Counts system calls of this process alone: those that match @filter, or all if that is NULL. */
static int open_counter(const char *filter)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .disabled = 1, .inherit = 1 };
	int fd;

	attr.config = trace_point();
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (fd < 0 || (filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter)))
		err(1, "counting system calls");
	return fd;
}

/* Not done while instructions are counted, because each system call costs more then. */
static uint64_t count_calls(const char *filter, void (*move)(bool writes, uint64_t at), bool writes)
{
	int fd = open_counter(filter);
	uint64_t calls;

	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		err(1, "counting system calls");
	move_all(move, writes, count);
	if (ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) || read(fd, &calls, sizeof(calls)) != sizeof(calls))
		err(1, "counting system calls");
	close(fd);
	return calls - 1;	/* the second ioctl() */
}

static void sample(void (*move)(bool writes, uint64_t at), bool writes, struct costs *costs)
{
	count_instructions(move, writes, costs);
	at_least(&costs->calls, count_calls(NULL, move, writes));
	at_least(&costs->other_calls, count_calls("id != " NUMBER(__NR_io_uring_enter), move, writes));
}

static void say(bool writes, const char *who, const struct costs *costs)
{
	printf("%s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", writes ? "writes" : "reads", who, costs->user,
	       costs->kernel, costs->calls, costs->other_calls);
}

/* Both take turns, so that a change over time affects both. */
static void compare(bool writes)
{
	struct costs queue = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX }, cufile = queue;

	move_all(move_by_queue, writes, WARM_UP);
	move_all(move_by_cufile, writes, WARM_UP);
	for (int round = 0; round < ROUNDS; round++) {
		sample(move_by_queue, writes, &queue);
		sample(move_by_cufile, writes, &cufile);
	}
	say(writes, "queue", &queue);
	say(writes, "cufile", &cufile);
}

/* Staged or bounced requests would make the comparison meaningless. */
static void check_counts(void *library)
{
	int (*counts_of)(struct donard_cufile_counts *counts) = symbol(library, "donard_cufile_counts");
	struct donard_cufile_counts counts = { .size = sizeof(counts) };

	if (counts_of(&counts) || counts.failures || counts.staged_bytes || counts.compat_bytes ||
	    counts.read_bytes != (WARM_UP + 3 * ROUNDS * count) * block || counts.written_bytes != counts.read_bytes)
		errx(1, "cuFile: %" PRIu64 " bytes staged, %" PRIu64 " in compatibility mode", counts.staged_bytes,
		     counts.compat_bytes);
}

int main(int argc, char **argv)
{
	void *cuda;

	if (argc != 4)
		errx(2, "usage: cufilecost FILE BLOCK COUNT");
	block = strtoull(argv[2], NULL, 0);
	count = (unsigned int)strtoul(argv[3], NULL, 0);
	check(donard_open(&ctx, NULL));
	check(donard_meter_open(ctx, NULL, &meter));
	cuda = open_cuda();
	open_queue(argv[1], take_memory(cuda));
	open_cufile(argv[1], take_memory(cuda));
	compare(false);
	compare(true);
	check_counts(dlopen("libcufile.so.0", RTLD_NOW));
	/* The driver of the GPU wants nothing pinned when this ends. */
	donard_queue_close(by_queue.queue);
	donard_memory_free(by_queue.memory);
	donard_file_close(by_queue.file);
	donard_meter_close(meter);
	donard_close(ctx);
	return 0;
}
