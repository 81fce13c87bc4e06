// SPDX-License-Identifier: Apache-2.0
/*
 * A queue in an epoll loop: reads 64 MiB of a drive through 16 places in device memory.
 *
 *	cc -o event-loop event-loop.c $(pkg-config --cflags --libs libdonard)
 *	event-loop /dev/nvme0n1 p2pmem0
 */
#include <donard/queue.h>
#include <stdio.h>
#include <sys/epoll.h>

#define BLOCK	(1 << 20)
#define PLACES	16
#define TOTAL	(64 * BLOCK)

static struct donard_context *ctx;
static struct donard_queue *queue;
static struct donard_file *drive;
static struct donard_memory *memory;
static uint64_t next_byte, done_bytes;

static int fail(void)
{
	fprintf(stderr, "%s\n", donard_error(ctx));
	return 1;
}

/* The place of a completed request is free for the next one. */
static int ask(uintptr_t place)
{
	uint64_t at = next_byte;

	if (at >= TOTAL)
		return 0;
	next_byte += BLOCK;
	return donard_queue_read(queue, drive, at, memory, place * BLOCK, BLOCK, (void *)place);
}

static int on_completions(void)
{
	struct donard_completion done[PLACES];
	int count = donard_queue_poll(queue, done, PLACES);

	for (int i = 0; i < count; i++) {
		if (done[i].result != BLOCK) {
			fprintf(stderr, "%s\n", done[i].result < 0 ? done[i].error : "the file ends too early");
			return 1;
		}
		done_bytes += BLOCK;
		if (ask((uintptr_t)done[i].user))
			return fail();
	}
	return count < 0 || donard_queue_submit(queue) ? fail() : 0;
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	int loop = epoll_create1(0);

	if (argc != 3 || donard_open(&ctx, NULL))
		return 2;
	if (donard_queue_open(ctx, NULL, &queue) || donard_file_open(ctx, argv[1], 0, &drive) ||
	    donard_memory_alloc(ctx, argv[2], PLACES * BLOCK, &memory) || donard_queue_register(queue, memory) < 0)
		return fail();
	epoll_ctl(loop, EPOLL_CTL_ADD, donard_queue_descriptor(queue), &event);
	for (uintptr_t place = 0; place < PLACES; place++)
		if (ask(place) || donard_queue_submit(queue))
			return fail();
	while (done_bytes < TOTAL)
		if (epoll_wait(loop, &event, 1, -1) == 1 && on_completions())
			return 1;
	printf("%llu bytes, none by way of DRAM\n", (unsigned long long)done_bytes);
	donard_queue_close(queue);
	donard_file_close(drive);
	donard_memory_free(memory);
	donard_close(ctx);
	return 0;
}
