// SPDX-License-Identifier: Apache-2.0
/* LIBS: -ldonard -pthread */
/*
 * A client of 'donard-cli cache serve', by the library's public calls.
 *
 *   cacheio ADDR PORT write OFFSET BYTES SEED [REQUEST [DEPTH]]
 *                      blocks that say where they belong and SEED; prints "acknowledged BYTES",
 *                      and "volatile" behind it when the server says so
 *   cacheio ADDR PORT read OFFSET BYTES SEED [REQUEST [DEPTH]]
 *                      prints "equal BYTES", or "differs at OFFSET"
 *   cacheio ADDR PORT time OFFSET BYTES SEED [REQUEST [DEPTH]]
 *                      the same writes; prints how long each took until its acknowledgement, in ns
 *   cacheio ADDR PORT follow OFFSET BYTES SEED [REQUEST]
 *                      one request after the other, round and round; SEED grows with each round.  After
 *                      each acknowledgement it prints "OFFSET SEED"
 *   cacheio ADDR PORT trim OFFSET BYTES
 *   cacheio ADDR PORT flush|destage
 *                      prints "done"
 *   cacheio ADDR PORT time-destage
 *                      prints how long that took, in ns
 *   cacheio ADDR PORT hold SECONDS
 *                      stays connected, and prints "connected"
 *   cacheio check FILE OFFSET BYTES SEED
 *                      the same comparison with a file or drive
 *
 * A failure prints the library's word for it, and its text to stderr; status 1.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "donard/cache.h"

#define BLOCK		512
#define DEPTH_MOST	256

static struct donard_context *ctx;
static struct donard_queue *queue;
static struct donard_cache *cache;
static struct donard_memory *memory;
static uint8_t *bytes;
static bool is_volatile;
/* For each request: when it began, and after its completion how long it took.  NULL if times are not asked for. */
static uint64_t *times_ns;

static void refused(const char *code, const char *text)
{
	puts(code);
	fflush(stdout);
	errx(1, "%s", text);
}

#define GOES(call) do {								\
		if ((call) < 0)							\
			refused(donard_error_code(ctx), donard_error(ctx));	\
	} while (0)

static void lay(uint8_t *to, uint64_t offset, uint64_t length, uint64_t seed)
{
	for (uint64_t at = 0; at < length; at += 16) {
		uint64_t words[2] = { offset + at, seed };

		memcpy(to + at, words, sizeof(words));
	}
}

static bool same(const uint8_t *seen, uint64_t offset, uint64_t length, uint64_t seed, uint64_t *where)
{
	uint8_t expected[BLOCK];

	for (uint64_t at = 0; at < length; at += BLOCK) {
		lay(expected, offset + at, BLOCK, seed);
		*where = offset + at;
		if (memcmp(seen + at, expected, BLOCK))
			return false;
	}
	return true;
}

static void report(bool equal, uint64_t length, uint64_t where)
{
	if (equal)
		printf("equal %llu\n", (unsigned long long)length);
	else
		printf("differs at %llu\n", (unsigned long long)where);
	exit(!equal);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t *begin(uint64_t number)
{
	if (!times_ns)
		return NULL;
	times_ns[number] = now_ns();
	return &times_ns[number];
}

static void print_times(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		printf("%llu\n", (unsigned long long)times_ns[i]);
}

/* One completion; a failed one ends the program. */
static void take_one(void)
{
	struct donard_completion completion;

	GOES(donard_queue_wait(queue, 1, -1, &completion, 1));
	if (completion.result < 0)
		refused(completion.error_code, completion.error);
	if (completion.user)
		*(uint64_t *)completion.user = now_ns() - *(uint64_t *)completion.user;
	is_volatile |= completion.flags & DONARD_COMPLETION_VOLATILE;
}

static void open_all(const char *address, const char *port, uint64_t length)
{
	struct donard_cache_options options = {
		.size = sizeof(options), .address = address, .port = (uint16_t)atoi(port), .depth = DEPTH_MOST,
	};
	struct donard_memory_info info = { .size = sizeof(info) };

	GOES(donard_open(&ctx, NULL));
	GOES(donard_queue_open(ctx, NULL, &queue));
	GOES(donard_memory_dram(ctx, length ? length : BLOCK, &memory));
	GOES(donard_memory_info(memory, &info));
	bytes = info.address;
	GOES(donard_cache_connect(queue, &options, &cache));
}

static void move(bool writes, uint64_t offset, uint64_t length, uint64_t request, unsigned int depth)
{
	unsigned int under_way = 0;

	for (uint64_t at = 0; at < length; at += request) {
		uint64_t part = length - at < request ? length - at : request;

		if (under_way == depth) {
			take_one();
			under_way--;
		}
		if (writes)
			GOES(donard_cache_write(cache, offset + at, memory, at, part, begin(at / request)));
		else
			GOES(donard_cache_read(cache, offset + at, memory, at, part, NULL));
		under_way++;
	}
	while (under_way--)
		take_one();
}

static void time_writes(const uint64_t *numbers)
{
	uint64_t count = (numbers[1] + numbers[3] - 1) / numbers[3];

	times_ns = calloc(count, sizeof(*times_ns));
	if (!times_ns)
		err(1, "no memory");
	lay(bytes, numbers[0], numbers[1], numbers[2]);
	move(true, numbers[0], numbers[1], numbers[3], (unsigned int)numbers[4]);
	print_times(count);
	free(times_ns);
}

static void time_destage(void)
{
	uint64_t took = now_ns();

	GOES(donard_cache_flush(cache, DONARD_CACHE_TO_DRIVE, &took));
	take_one();
	printf("%llu\n", (unsigned long long)took);
}

static void follow(uint64_t offset, uint64_t length, uint64_t seed, uint64_t request)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (;; seed++)
		for (uint64_t at = 0; at < length; at += request) {
			lay(bytes + at, offset + at, request, seed);
			GOES(donard_cache_write(cache, offset + at, memory, at, request, NULL));
			take_one();
			printf("%llu %llu\n", (unsigned long long)(offset + at), (unsigned long long)seed);
		}
}

static void check(char **argv)
{
	uint64_t offset = strtoull(argv[3], NULL, 0), length = strtoull(argv[4], NULL, 0), where = 0;
	uint8_t *seen = aligned_alloc(4096, length);
	int fd = open(argv[2], O_RDONLY | O_DIRECT);
	bool equal;

	if (fd < 0 || pread(fd, seen, length, (off_t)offset) != (ssize_t)length)
		err(2, "%s", argv[2]);
	equal = same(seen, offset, length, strtoull(argv[5], NULL, 0), &where);
	report(equal, length, where);
}

static void simple(const char *what, uint64_t offset, uint64_t length)
{
	if (!strcmp(what, "trim"))
		GOES(donard_cache_trim(cache, offset, length, NULL));
	else
		GOES(donard_cache_flush(cache, strcmp(what, "destage") ? 0 : DONARD_CACHE_TO_DRIVE, NULL));
	take_one();
	puts("done");
}

int main(int argc, char **argv)
{
	uint64_t numbers[5] = { 0, 0, 0, 4096, 16 }, where = 0;
	bool equal;

	if (argc == 6 && !strcmp(argv[1], "check"))
		check(argv);
	if (argc < 4 || argc > 9)
		errx(2, "see the top of cacheio.c");
	for (int i = 4; i < argc; i++)
		numbers[i - 4] = strtoull(argv[i], NULL, 0);
	open_all(argv[1], argv[2], argc > 5 ? numbers[1] : 0);
	if (!strcmp(argv[3], "write")) {
		lay(bytes, numbers[0], numbers[1], numbers[2]);
		move(true, numbers[0], numbers[1], numbers[3], (unsigned int)numbers[4]);
		printf("acknowledged %llu%s\n", (unsigned long long)numbers[1], is_volatile ? " volatile" : "");
	} else if (!strcmp(argv[3], "read")) {
		move(false, numbers[0], numbers[1], numbers[3], (unsigned int)numbers[4]);
		equal = same(bytes, numbers[0], numbers[1], numbers[2], &where);
		report(equal, numbers[1], where);
	} else if (!strcmp(argv[3], "time")) {
		time_writes(numbers);
	} else if (!strcmp(argv[3], "time-destage")) {
		time_destage();
	} else if (!strcmp(argv[3], "follow")) {
		follow(numbers[0], numbers[1], numbers[2], numbers[3]);
	} else if (!strcmp(argv[3], "hold")) {
		struct donard_completion completion;

		puts("connected");
		fflush(stdout);
		for (uint64_t i = 0; i < numbers[0] * 10; i++) {
			donard_queue_wait(queue, 0, 0, &completion, 1);
			usleep(100000);
		}
	} else {
		simple(argv[3], numbers[0], numbers[1]);
	}
	donard_cache_close(cache);
	donard_queue_close(queue);
	donard_memory_free(memory);
	donard_close(ctx);
	return 0;
}
