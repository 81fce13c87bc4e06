// SPDX-License-Identifier: Apache-2.0
/* LIBS: -ldonard -pthread */
/*
 * queue TEST FILE [ARGUMENT] - one test of the library's queues between FILE and p2pmem0; queue --list names
 * those that need no more than that. FILE is a drive, a partition or a regular file of 8 MiB or more, whose bytes
 * from 4 MiB on are overwritten. Needs root, and p2pmem0 idle.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>

#include "donard/queue.h"
#include "library.h"

#define BYTES (2 * MIB)

static const char *path, *argument;
static struct donard_completion got[64];

/* The objects that most tests use. */
static struct donard_queue *queue;
static struct donard_file *file;
static struct donard_memory *memory, *dram;
static uint8_t *seen;		/* the bytes of dram */

static struct donard_queue_info counts(void)
{
	struct donard_queue_info info = { .size = sizeof(info) };

	GOES(donard_queue_info(queue, &info));
	return info;
}

static void set_up(unsigned int flags)
{
	struct donard_queue_options options = { .size = sizeof(options), .depth = 32, .flags = flags };

	GOES(donard_queue_open(ctx, &options, &queue));
	GOES(donard_file_open(ctx, path, DONARD_FILE_WRITE, &file));
	GOES(donard_memory_alloc(ctx, "p2pmem0", BYTES, &memory));
	GOES(donard_memory_dram(ctx, BYTES, &dram));
	seen = about(dram).address;
}

static void tear_down(void)
{
	donard_queue_close(queue);
	donard_file_close(file);
	donard_memory_free(memory);
	donard_memory_free(dram);
}

/* Takes @count completions, each of @bytes by this route. */
static void complete(unsigned int count, int64_t bytes, enum donard_route_type route, uint32_t flags)
{
	while (count) {
		int more = donard_queue_wait(queue, 1, -1, got, 64);

		GOES(more);
		CHECK(more);
		for (int i = 0; i < more; i++) {
			if (got[i].result != bytes)
				errx(1, "expected %lld bytes, seen %lld (%s)", (long long)bytes,
				     (long long)got[i].result, got[i].error);
			EQUAL(route, got[i].route);
			EQUAL(flags, got[i].flags);
			EQUAL(DONARD_EVIDENCE_PROVEN, got[i].evidence);
		}
		count -= (unsigned int)more;
	}
}

static void read_all(struct donard_memory *into, uint64_t from)
{
	for (uint64_t at = 0; at < BYTES; at += BYTES / 16)
		GOES(donard_queue_read(queue, file, from + at, into, at, BYTES / 16, NULL));
}

static void write_all(struct donard_memory *of, uint64_t to)
{
	for (uint64_t at = 0; at < BYTES; at += BYTES / 16)
		GOES(donard_queue_write(queue, file, to + at, of, at, BYTES / 16, NULL));
}

/* The region has what the file has at @from, which plain memory is asked about. */
static void same_as_file(uint64_t from)
{
	uint8_t *bytes = malloc(BYTES);

	read_all(dram, from);
	complete(16, BYTES / 16, DONARD_ROUTE_DRAM, 0);
	GOES(donard_memory_read(memory, 0, bytes, BYTES));
	CHECK(!memcmp(bytes, seen, BYTES));
	free(bytes);
}

/* Fills the region with bytes that differ from the file's, so that a write is seen to arrive. */
static void change_region(uint8_t by)
{
	for (size_t i = 0; i < BYTES; i++)
		seen[i] += by;
	GOES(donard_memory_write(memory, 0, seen, BYTES));
}

static void there_and_back(uint32_t flags)
{
	read_all(memory, 0);
	complete(16, BYTES / 16, DONARD_ROUTE_SWITCH, flags);
	same_as_file(0);
	change_region(1);
	write_all(memory, 4 * MIB);
	complete(16, BYTES / 16, DONARD_ROUTE_SWITCH, flags);
	GOES(donard_queue_flush(queue, file, NULL));
	EQUAL(1, donard_queue_wait(queue, 1, -1, got, 1));
	EQUAL(0, got[0].result);
	same_as_file(4 * MIB);
	EQUAL(2, counts().proofs);
	EQUAL(0, counts().bounced_bytes);
}

static void straight(void)
{
	there_and_back(0);
}

/* Cancels as many requests as the ring has entries, none of which has begun. */
static void cancel_a_full_ring(void)
{
	read_all(memory, 0);
	read_all(memory, 0);
	EQUAL(32, donard_queue_cancel(queue, NULL));
}

static void registered(void)
{
	int held;

	cancel_a_full_ring();
	held = donard_queue_register(queue, memory);
	GOES(held);
	complete(32, -ECANCELED, DONARD_ROUTE_SWITCH, 0);
	EQUAL(argument && !strcmp(argument, "registers"), held);
	there_and_back(held ? DONARD_COMPLETION_REGISTERED : 0);
	GOES(donard_queue_unregister(queue, memory));
	read_all(memory, 0);
	complete(16, BYTES / 16, DONARD_ROUTE_SWITCH, 0);
}

/* A worker of the kernel takes down a ring that was closed, and what its reads still pin. */
static void comes_back(uint64_t before)
{
	for (int tries = 0; available() != before + BYTES && tries < 6000; tries++)
		usleep(10000);
	EQUAL(before + BYTES, available());
}

/* Registered and freed: the queue has the memory until it ends, and then nobody has. */
static void freed_while_registered(void)
{
	uint64_t before = available();

	GOES(donard_queue_register(queue, memory));
	read_all(memory, 0);
	GOES(donard_queue_submit(queue));
	donard_memory_free(memory);
	memory = NULL;
	complete(16, BYTES / 16, DONARD_ROUTE_SWITCH,
		 argument && !strcmp(argument, "registers") ? DONARD_COMPLETION_REGISTERED : 0);
	donard_queue_close(queue);
	queue = NULL;
	comes_back(before);
}

static void forced(void)
{
	donard_queue_close(queue);
	queue = NULL;
	GOES(donard_queue_open(ctx, &(struct donard_queue_options){ .size = sizeof(struct donard_queue_options),
			       .flags = DONARD_QUEUE_ALLOW_BOUNCE }, &queue));
	GOES(donard_queue_read(queue, file, 13, memory, 7, 99999, NULL));
	complete(1, 99999, DONARD_ROUTE_BOUNCED, DONARD_COMPLETION_BOUNCED);
	GOES(donard_queue_read(queue, file, 13, dram, 7, 99999, NULL));
	complete(1, 99999, DONARD_ROUTE_BOUNCED, DONARD_COMPLETION_BOUNCED);
	CHECK(!memcmp((uint8_t *)about(memory).address + 7, seen + 7, 99999));
	memset(seen, 0x77, 5000);
	GOES(donard_memory_write(memory, 1, seen, 5000));
	GOES(donard_queue_write(queue, file, 4 * MIB + 3, memory, 1, 5000, NULL));
	complete(1, 5000, DONARD_ROUTE_BOUNCED, DONARD_COMPLETION_BOUNCED);
	EQUAL(99999 + 99999 + 5000, counts().bounced_bytes);
	GOES(donard_queue_read(queue, file, 4 * MIB, dram, 0, 8192, NULL));	/* straight, and finds it */
	complete(1, 8192, DONARD_ROUTE_DRAM, 0);
	for (size_t i = 3; i < 5003; i++)
		EQUAL(0x77, seen[i]);
	GOES(donard_queue_read(queue, file, 0, memory, 0, 65536, NULL));
	complete(1, 65536, DONARD_ROUTE_SWITCH, 0);
}

static void closed_in_flight(void)
{
	uint64_t before = available();

	for (int round = 0; round < 20; round++) {
		read_all(memory, 0);
		GOES(donard_queue_submit(queue));
		donard_queue_close(queue);
		queue = NULL;
		GOES(donard_queue_open(ctx, NULL, &queue));
	}
	donard_memory_free(memory);
	memory = NULL;
	comes_back(before);
}

static void *full_speed_soon(void *ignored)
{
	sleep(1);
	EQUAL(0, system("labctl slow alpha 0"));
	return ignored;
}

/* The drive is slow, and its reads are in flight: none of them may still be running when the queue has been closed. */
static void closed_means_ended(void)
{
	pthread_t thread;
	void *ignored;

	GOES(donard_queue_read(queue, file, 0, dram, 0, 4096, NULL));	/* the first one proves the way */
	complete(1, 4096, DONARD_ROUTE_DRAM, 0);
	EQUAL(0, system("labctl slow alpha 1"));
	read_all(dram, 0);
	GOES(donard_queue_submit(queue));
	CHECK(!pthread_create(&thread, NULL, full_speed_soon, NULL));
	donard_queue_close(queue);
	queue = NULL;
	memset(seen, 0xa5, BYTES);
	pthread_join(thread, &ignored);
	sleep(1);
	for (size_t i = 0; i < BYTES; i++)
		EQUAL(0xa5, seen[i]);
}

static void event_loop(void)
{
	struct pollfd polled = { .fd = donard_queue_descriptor(queue), .events = POLLIN };
	int done = 0;

	CHECK(polled.fd >= 0);
	read_all(memory, 0);
	GOES(donard_queue_submit(queue));
	while (done < 16) {
		int more;

		EQUAL(1, poll(&polled, 1, -1));
		more = donard_queue_poll(queue, got, 64);
		GOES(more);
		done += more;
	}
	same_as_file(0);
}

/* --- two threads, a queue each, one memory --- */

static void *second_thread(void *user)
{
	struct donard_memory_info info = { .size = sizeof(info) };
	struct donard_context *own;
	struct donard_queue *its_queue;
	struct donard_file *its_file;
	struct donard_memory *half;
	struct donard_completion ended[8];

	donard_memory_info(user, &info);
	CHECK(!donard_open(&own, NULL));
	CHECK(!donard_queue_open(own, NULL, &its_queue));
	CHECK(!donard_file_open(own, path, 0, &its_file));
	CHECK(!donard_memory_adopt(own, info.fd, info.file_offset_bytes + BYTES / 2, BYTES / 2, &half));
	for (uint64_t at = 0; at < BYTES / 2; at += BYTES / 16)
		CHECK(!donard_queue_read(its_queue, its_file, BYTES / 2 + at, half, at, BYTES / 16, NULL));
	EQUAL(8, donard_queue_wait(its_queue, 8, -1, ended, 8));
	for (int i = 0; i < 8; i++)
		EQUAL(BYTES / 16, ended[i].result);
	donard_queue_close(its_queue);
	donard_file_close(its_file);
	donard_memory_free(half);
	donard_close(own);
	return NULL;
}

/* Queues of their own in each round, because each proves its way at the first request, in the memory that both read into. */
static void two_threads(void)
{
	static const uint8_t zeros[BYTES];
	pthread_t thread;
	void *ignored;

	donard_file_close(file);
	file = NULL;
	GOES(donard_file_open(ctx, path, 0, &file));	/* a drive can be written by one alone */
	for (int round = 0; round < 20; round++) {
		donard_queue_close(queue);
		queue = NULL;
		GOES(donard_queue_open(ctx, NULL, &queue));
		GOES(donard_memory_write(memory, 0, zeros, BYTES));
		CHECK(!pthread_create(&thread, NULL, second_thread, memory));
		for (uint64_t at = 0; at < BYTES / 2; at += BYTES / 16)
			GOES(donard_queue_read(queue, file, at, memory, at, BYTES / 16, NULL));
		complete(8, BYTES / 16, DONARD_ROUTE_SWITCH, 0);
		pthread_join(thread, &ignored);
		same_as_file(0);
	}
}

/* --- special cases --- */

/* Requests for parts of a block, of another queue, see what commands have written, and the other way round. */
static void beside_the_page_cache(void)
{
	struct donard_queue *commands = queue;

	GOES(donard_queue_open(ctx, &(struct donard_queue_options){ .size = sizeof(struct donard_queue_options),
			       .flags = DONARD_QUEUE_ALLOW_BOUNCE }, &queue));
	for (uint8_t round = 1; round < 4; round++) {
		struct donard_queue *other = queue;

		GOES(donard_queue_read(queue, file, 4 * MIB + 1, dram, 0, 9, NULL));	/* the page is cached */
		complete(1, 9, DONARD_ROUTE_BOUNCED, DONARD_COMPLETION_BOUNCED);
		queue = commands;
		memset(seen, round, 8192);
		GOES(donard_queue_write(queue, file, 4 * MIB, dram, 0, 8192, NULL));
		complete(1, 8192, DONARD_ROUTE_DRAM, 0);
		queue = other;
		GOES(donard_queue_read(queue, file, 4 * MIB + 1, dram, 4096, 9, NULL));
		complete(1, 9, DONARD_ROUTE_BOUNCED, DONARD_COMPLETION_BOUNCED);
		EQUAL(round, seen[4096]);
		seen[0] = 0x80 + round;
		GOES(donard_queue_write(queue, file, 4 * MIB + 1, dram, 0, 1, NULL));
		complete(1, 1, DONARD_ROUTE_BOUNCED, DONARD_COMPLETION_BOUNCED);
		queue = commands;
		GOES(donard_queue_read(queue, file, 4 * MIB, dram, 0, 8192, NULL));
		complete(1, 8192, DONARD_ROUTE_DRAM, 0);
		EQUAL(round, seen[0]);
		EQUAL(0x80 + round, seen[1]);
		EQUAL(round, seen[8191]);
		queue = other;
	}
	donard_queue_close(queue);
	queue = commands;
}

static void passthrough(void)
{
	donard_queue_close(queue);
	queue = NULL;
	GOES(donard_queue_open(ctx, &(struct donard_queue_options){ .size = sizeof(struct donard_queue_options),
			       .flags = DONARD_QUEUE_PASSTHROUGH }, &queue));
	there_and_back(0);
	GOES(donard_queue_register(queue, memory));
	read_all(memory, 0);
	for (int done = 0; done < 16;) {
		int more = donard_queue_wait(queue, 1, -1, got, 64);

		GOES(more);
		for (int i = 0; i < more; i++)
			EQUAL(BYTES / 16, got[i].result);
		done += more;
	}
	same_as_file(0);
	EQUAL(-EINVAL, donard_queue_read(queue, file, 1, memory, 0, 4096, NULL));
	beside_the_page_cache();
}

/* --- copies of the same handles --- */

static struct donard_copy_options copied = { .size = sizeof(copied), .flags = DONARD_COPY_VERIFY };
static struct donard_copy_result result = { .size = sizeof(result) };

static struct donard_copy_end of_memory(struct donard_memory *end)
{
	return (struct donard_copy_end){ .size = sizeof(struct donard_copy_end), .memory = end };
}

static int copy(struct donard_copy_end source, uint64_t src_offset, struct donard_copy_end destination, uint64_t dst_offset,
		uint64_t bytes)
{
	copied.src_offset_bytes = src_offset;
	copied.dst_offset_bytes = dst_offset;
	copied.length_bytes = bytes;
	return donard_copy_between(&source, &destination, &copied, &result);
}

/* A part that is not made of whole blocks goes by the dma-buf, and the bytes around it stay. */
static void copy_into_imported(struct donard_copy_end drive)
{
	const size_t at = 8192, bytes = 4096 + 123;
	uint8_t *before = malloc(MIB), *after = malloc(MIB);
	struct donard_memory *imported;
	int fd;

	GOES(donard_memory_export(memory, 0, MIB, O_RDWR, &fd));
	GOES(donard_memory_from_dmabuf(ctx, fd, 4096, 0, &imported));
	GOES(donard_memory_read(memory, 0, before, MIB));
	GOES(copy(drive, MIB, of_memory(imported), at - 4096, bytes));
	EQUAL(DONARD_ROUTE_SWITCH, result.route);
	GOES(donard_memory_read(memory, 0, after, MIB));
	CHECK(!memcmp(before, after, at) && !memcmp(before + at + bytes, after + at + bytes, MIB - at - bytes));
	CHECK(memcmp(before + at, after + at, bytes));
	GOES(copy(of_memory(imported), 0, drive, 5 * MIB, MIB - 4096));
	REFUSES(EOPNOTSUPP, "unsupported", copy(of_memory(imported), 0, of_memory(memory), 0, 4096));
	donard_memory_free(imported);
	close(fd);
	free(before);
	free(after);
}

static void copy_in_region(void)
{
	struct donard_memory_info info = about(memory);
	struct donard_memory *other, *again;

	GOES(donard_memory_alloc(ctx, "p2pmem0", BYTES, &other));
	GOES(copy(of_memory(memory), 0, of_memory(other), 0, BYTES));
	EQUAL(DONARD_ROUTE_CPU, result.route);
	donard_memory_free(other);
	GOES(donard_memory_adopt(ctx, info.fd, info.file_offset_bytes, BYTES, &again));
	REFUSES(EINVAL, "overlap", copy(of_memory(memory), 0, of_memory(again), 0, 4096));
	GOES(copy(of_memory(memory), 0, of_memory(again), MIB, MIB));
	donard_memory_free(again);
}

static void copies_between(void)
{
	const struct donard_copy_end drive = { .size = sizeof(drive), .file = file };

	GOES(copy(drive, 0, of_memory(memory), 0, BYTES));
	EQUAL(DONARD_ROUTE_SWITCH, result.route);
	EQUAL(DONARD_EVIDENCE_PROVEN, result.route_evidence);
	EQUAL(0, result.bounced_bytes);
	same_as_file(0);
	change_region(1);
	GOES(copy(of_memory(memory), 0, drive, 4 * MIB, BYTES));
	EQUAL(DONARD_EVIDENCE_PROVEN, result.route_evidence);
	EQUAL(0, result.bounced_bytes);
	same_as_file(4 * MIB);
	GOES(copy(drive, 4 * MIB, drive, 6 * MIB, BYTES));
	CHECK(!strcmp(result.via, "p2pmem0"));
	same_as_file(6 * MIB);
	copy_into_imported(drive);
	copy_in_region();
	GOES(donard_queue_read(queue, file, 0, dram, 0, 4096, NULL));
	REFUSES(EBUSY, "busy", copy(of_memory(memory), 0, drive, 4 * MIB, BYTES));
	complete(1, 4096, DONARD_ROUTE_DRAM, 0);
	REFUSES(EOPNOTSUPP, "unsupported", copy(drive, 0, of_memory(dram), 0, BYTES));
}

/* The words and the errno of a refusal are those of a copy. */
static void as_a_copy(void)
{
	struct donard_copy_options options = { .size = sizeof(options), .length_bytes = 4096 };
	char text[2048], code[64];
	int rc = donard_copy(ctx, path, "p2pmem0", &options, &result);

	CHECK(rc < 0);
	snprintf(text, sizeof(text), "%s", donard_error(ctx));
	snprintf(code, sizeof(code), "%s", donard_error_code(ctx));
	EQUAL(rc, donard_queue_read(queue, file, 0, memory, 0, 4096, NULL));
	if (strcmp(text, donard_error(ctx)) || strcmp(code, donard_error_code(ctx)))
		errx(1, "a copy says %s: %s\na queue says %s: %s", code, text, donard_error_code(ctx),
		     donard_error(ctx));
	printf("%s %s\n", code, text);
	EQUAL(0, counts().in_flight);
}

/* Reads into the region, over and over, until one fails; then the program has to say so and let go. */
static void until_the_end(void)
{
	struct pollfd polled;
	char said[64] = "";
	bool all = false;

	if (argument && !strcmp(argument, "registers"))
		EQUAL(1, donard_queue_register(queue, memory));
	polled = (struct pollfd){ .fd = donard_queue_descriptor(queue), .events = POLLIN };
	read_all(memory, 0);
	complete(16, BYTES / 16, DONARD_ROUTE_SWITCH,
		 argument && !strcmp(argument, "registers") ? DONARD_COMPLETION_REGISTERED : 0);
	puts("ready");
	fflush(stdout);
	while (!*said) {
		int more;

		for (uint64_t at = 0; !all && at < BYTES; at += BYTES / 16)
			if (donard_queue_read(queue, file, at, memory, at, BYTES / 16, NULL)) {
				snprintf(said, sizeof(said), "%s", donard_error_code(ctx));
				break;
			}
		GOES(donard_queue_submit(queue));
		for (int done = 0; done < 16 && counts().in_flight;) {
			CHECK(poll(&polled, 1, -1) == 1);
			more = donard_queue_poll(queue, got, 64);
			GOES(more);
			done += more;
			for (int i = 0; i < more; i++)
				if (got[i].result < 0 && !*said)
					snprintf(said, sizeof(said), "%s", got[i].error_code);
		}
	}
	puts(said);
}

/* The region goes while a queue that does nothing has it registered: it hears, and lets go. */
static void idle_until_the_end(void)
{
	struct pollfd polled;

	GOES(donard_queue_register(queue, memory));
	read_all(memory, 0);
	for (int done = 0; done < 16;)
		done += donard_queue_wait(queue, 1, -1, got, 64);
	polled = (struct pollfd){ .fd = donard_queue_descriptor(queue), .events = POLLIN };
	while (poll(&polled, 1, 0) == 1)
		GOES(donard_queue_poll(queue, got, 64));
	puts("ready");
	fflush(stdout);
	EQUAL(1, poll(&polled, 1, -1));
	usleep(150000);			/* the queue looks now and then */
	GOES(donard_queue_poll(queue, got, 64));
	CHECK(donard_memory_state(memory) != DONARD_STATE_READY);
	donard_memory_free(memory);
	memory = NULL;
	puts("ended");
}

/* The command in the argument changes what the file's device is made of: the first request after a second is refused. */
static void changed_below(void)
{
	read_all(memory, 0);
	complete(16, BYTES / 16, DONARD_ROUTE_SWITCH, 0);
	EQUAL(0, system(argument));
	sleep(2);
	EQUAL(-EHOSTUNREACH, donard_queue_read(queue, file, 0, memory, 0, 4096, NULL));
	CHECK(strstr(donard_error(ctx), "have changed since it was opened, and the new ones have no proven route"));
	EQUAL(-EHOSTUNREACH, donard_queue_write(queue, file, 0, memory, 0, 4096, NULL));
}

/* The command in the argument ends direct I/O of the file between the choice of a way and the begin of the request. */
static void no_longer_direct(void)
{
	GOES(donard_queue_write(queue, file, 0, memory, 0, MIB, NULL));
	complete(1, MIB, DONARD_ROUTE_SWITCH, 0);
	EQUAL(0, counts().bounced_bytes);
	GOES(donard_queue_write(queue, file, MIB, memory, 0, MIB, NULL));
	EQUAL(0, system(argument));
	EQUAL(1, donard_queue_wait(queue, 1, -1, got, 1));
	EQUAL(MIB, got[0].result);
	EQUAL(DONARD_ROUTE_BOUNCED, got[0].route);
	EQUAL(DONARD_EVIDENCE_PREDICTED, got[0].evidence);
	EQUAL(DONARD_COMPLETION_BOUNCED, got[0].flags);
	EQUAL(MIB, counts().bounced_bytes);
	EQUAL(-EOPNOTSUPP, donard_queue_write(queue, file, 0, memory, 0, MIB, NULL));
	CHECK(strstr(donard_error(ctx), "would go through DRAM"));
}

/* A leg of the mirror fails before the first write: that has no proof on it, and needs none. */
static void leg_failed(void)
{
	EQUAL(0, system(argument));
	memcpy(seen, "another", 8);
	GOES(donard_memory_write(memory, 0, seen, BYTES));
	write_all(memory, 4 * MIB);
	complete(16, BYTES / 16, DONARD_ROUTE_SWITCH, 0);
	same_as_file(4 * MIB);
}

/* The leg of the blocks is known only after the write. */
static void into_holes(void)
{
	GOES(donard_queue_write(queue, file, 4 * MIB, memory, 0, MIB, NULL));
	EQUAL(1, donard_queue_wait(queue, 1, -1, got, 1));
	EQUAL(MIB, got[0].result);
	EQUAL(DONARD_ROUTE_SWITCH, got[0].route);
	EQUAL(DONARD_EVIDENCE_PREDICTED, got[0].evidence);
}

static void mapper(const char *act)
{
	char command[128];

	snprintf(command, sizeof(command), "dmsetup %s --noudevsync %s", act, argument);
	EQUAL(0, system(command));
}

/* The device of device-mapper in the argument stands still: a wait ends with its time, and the request with the device's. */
static void stalled(void)
{
	GOES(donard_queue_read(queue, file, 0, memory, 0, 4096, NULL));
	complete(1, 4096, DONARD_ROUTE_SWITCH, 0);
	mapper("suspend");
	GOES(donard_queue_read(queue, file, 0, memory, 0, 4096, got));
	EQUAL(0, donard_queue_wait(queue, 1, 100000000, got, 64));
	EQUAL(0, donard_queue_poll(queue, got, 64));
	EQUAL(1, donard_queue_cancel(queue, got));
	EQUAL(0, donard_queue_wait(queue, 1, 0, got, 64));
	mapper("resume");
	EQUAL(1, donard_queue_wait(queue, 1, -1, got, 64));
	if (got[0].result != -ECANCELED || *counts().no_io_uring)
		EQUAL(4096, got[0].result);
}

/* Below forbid(): the same by Linux AIO, and what that lacks is refused by name. */
static void without_uring(void)
{
	const struct donard_queue_options options = { .size = sizeof(options), .flags = DONARD_QUEUE_PASSTHROUGH };
	struct donard_queue *none;

	CHECK(strstr(counts().no_io_uring, "seccomp"));
	EQUAL(0, donard_queue_register(queue, memory));
	there_and_back(0);
	event_loop();
	EQUAL(-EOPNOTSUPP, donard_queue_open(ctx, &options, &none));
	CHECK(strstr(donard_error(ctx), "io_uring is refused") && strstr(donard_error(ctx), "PASSTHROUGH"));
}

static const struct named_test tests[] = {
	{ "straight", straight },
	{ "registered", registered },
	{ "copies-between", copies_between },
	{ "freed-while-registered", freed_while_registered },
	{ "bounced-by-leave", forced },
	{ "closed-in-flight", closed_in_flight },
	{ "event-loop", event_loop },
	{ "two-threads", two_threads },
	{ NULL, NULL },
	{ "without-io-uring", without_uring },
	{ "closed-means-ended", closed_means_ended },
	{ "stalled", stalled },
	{ "passthrough", passthrough },
	{ "as-a-copy", as_a_copy },
	{ "changed-below", changed_below },
	{ "no-longer-direct", no_longer_direct },
	{ "leg-failed", leg_failed },
	{ "into-holes", into_holes },
	{ "until-the-end", until_the_end },
	{ "idle-until-the-end", idle_until_the_end },
};

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: queue TEST FILE [ARGUMENT], or queue --list");
	if (argc > 2) {
		path = argv[2];
		argument = argv[3];
		GOES(donard_open(&ctx, NULL));
		set_up(0);
	}
	RUN_NAMED(tests, argv[1]);
	if (argc > 2) {
		tear_down();
		donard_close(ctx);
	}
	return 0;
}
