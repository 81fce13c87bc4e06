// SPDX-License-Identifier: Apache-2.0
/*
 * A write cache and an epoll loop: 16 MiB in blocks of 64 KiB, each durable in the server's NVRAM when it
 * completes, unless that NVRAM is volatile, and read back.  It overwrites the first 16 MiB of the drive behind the cache.
 *
 *	cc -o cache cache.c $(pkg-config --cflags --libs libdonard)
 *	cache 192.0.2.1
 */
#include <donard/cacheclient.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

enum { BLOCK = 64 << 10, TOTAL = 16 << 20, DEPTH = 32 };

static struct donard_context *ctx;
static struct donard_queue *queue;
static struct donard_cache *cache;
static struct donard_memory *memory;
static uint32_t flags;

static int fail(void)
{
	fprintf(stderr, "%s\n", donard_error(ctx));
	return 1;
}

static int ask(int writes, uint64_t at)
{
	return writes ? donard_cache_write(cache, at, memory, at, BLOCK, NULL) :
			donard_cache_read(cache, at, memory, at, BLOCK, NULL);
}

/* While this waits for completions, the loop has time for others. */
static int move(int loop, int writes)
{
	struct donard_completion done[DEPTH];
	struct epoll_event event;
	uint64_t begun = 0, ended = 0;

	while (ended < TOTAL) {
		for (; begun < TOTAL && begun - ended < DEPTH * BLOCK; begun += BLOCK)
			if (ask(writes, begun))
				return fail();
		epoll_wait(loop, &event, 1, -1);
		for (int i = 0, count = donard_queue_poll(queue, done, DEPTH); i < count; flags |= done[i++].flags, ended += BLOCK)
			if (done[i].result < 0)
				return fprintf(stderr, "%s\n", done[i].error);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct donard_cache_options options = { .size = sizeof(options), .address = argc > 1 ? argv[1] : "", .depth = DEPTH };
	struct donard_memory_info info = { .size = sizeof(info) };
	struct epoll_event event = { .events = EPOLLIN };
	int loop = epoll_create1(0);

	if (argc != 2 || donard_open(&ctx, NULL))
		return 2;
	if (donard_queue_open(ctx, NULL, &queue) || donard_cache_connect(queue, &options, &cache) ||
	    donard_memory_dram(ctx, TOTAL, &memory) || donard_memory_info(memory, &info))
		return fail();
	epoll_ctl(loop, EPOLL_CTL_ADD, donard_queue_descriptor(queue), &event);
	memset(info.address, 'd', TOTAL);
	if (move(loop, 1))
		return 1;
	memset(info.address, 0, TOTAL);
	if (move(loop, 0))
		return 1;
	printf("%d bytes, %s, %s\n", TOTAL, flags & DONARD_COMPLETION_VOLATILE ? "volatile" : "durable",
	       memchr(info.address, 0, TOTAL) ? "others read back" : "and read back");
	donard_cache_close(cache);
	donard_queue_close(queue);
	donard_memory_free(memory);
	donard_close(ctx);
	return 0;
}
