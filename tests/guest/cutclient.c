// SPDX-License-Identifier: Apache-2.0
/* LIBS: -ldonard */
/*
 * cutclient ADDRESS SEED LIFE [WRITES] - waits for the write cache at ADDRESS, tells what every block holds, and then writes, up to
 * 16 at a time, until the server is gone, or that many writes are acknowledged and everything is on the drive. cutwrites.h
 * says what it writes and tells.
 */
#include <err.h>
#include <stdlib.h>
#include <unistd.h>

#include "cutwrites.h"
#include "donard/cacheclient.h"

#define WAVE		16U
#define SLOT_BYTES	(MOST_BLOCKS * BLOCK)

static struct donard_context *ctx;
static struct donard_queue *queue;
static struct donard_cache *cache;
static struct donard_memory *memory;
static uint8_t *bytes;
static uint64_t life, written;

#define GOES(call) do { \
	int r_ = (call); \
	if (r_ < 0) \
		errx(1, "line %d: %s: %d (%s)", __LINE__, #call, r_, donard_error(ctx)); \
} while (0)

/* Its power was cut: the test goes on from here. */
static void lost(const char *why)
{
	warnx("%s", why);
	for (;;)
		pause();
}

static void set_up(const char *address)
{
	struct donard_memory_info info = { .size = sizeof(info) };
	const struct donard_cache_options options = {
		.size = sizeof(options), .address = address, .depth = WAVE,
	};

	if (donard_open(&ctx, NULL))
		errx(1, "donard_open");
	GOES(donard_queue_open(ctx, NULL, &queue));
	GOES(donard_memory_dram(ctx, BLOCKS * BLOCK, &memory));
	GOES(donard_memory_info(memory, &info));
	bytes = info.address;
	while (donard_cache_connect(queue, &options, &cache)) {
		warnx("not yet: %s", donard_error(ctx));
		usleep(200000);
	}
}

/* Takes a completion; gives its user. */
static void *await(void)
{
	struct donard_completion done;
	int got = donard_queue_wait(queue, 1, -1, &done, 1);

	if (got != 1)
		errx(1, "donard_queue_wait: %d (%s)", got, donard_error(ctx));
	if (done.result < 0)
		lost(done.error);
	return done.user;
}

static void tell_blocks(void)
{
	if (donard_cache_read(cache, 0, memory, 0, BLOCKS * BLOCK, NULL))
		lost(donard_error(ctx));
	await();
	for (uint64_t block = 0; block < BLOCKS; block++)
		tell_block((const uint64_t *)(bytes + block * BLOCK), block);
	tell_recovered(0);
}

/* Two that have a block in common are in no order while both are in flight. */
static bool meets(const struct write *write, const struct write *others, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (write->block < others[i].block + others[i].count &&
		    others[i].block < write->block + write->count)
			return true;
	return false;
}

static void begin(struct write *write, unsigned int slot)
{
	write->at = (uint64_t)slot * SLOT_BYTES;
	for (uint64_t i = 0; i < write->count; i++)
		fill((uint64_t *)(bytes + write->at + i * BLOCK), life, write->number, write->block + i);
	if (donard_cache_write(cache, write->block * BLOCK, memory, write->at, write->count * BLOCK, write))
		lost(donard_error(ctx));
}

static void one_wave(void)
{
	struct write writes[WAVE];
	unsigned int count = 0;

	while (count < WAVE) {
		writes[count] = write_of(life, written + 1);
		if (meets(&writes[count], writes, count))
			break;
		begin(&writes[count], count);
		count++;
		written++;
	}
	while (count--)
		tell_acknowledged(life, await());
}

int main(int argc, char **argv)
{
	uint64_t writes;

	if (argc < 4)
		errx(2, "usage: cutclient ADDRESS SEED LIFE [WRITES]");
	seed = strtoull(argv[2], NULL, 10);
	life = strtoull(argv[3], NULL, 10);
	writes = argc > 4 ? strtoull(argv[4], NULL, 10) : UINT64_MAX;
	set_up(argv[1]);
	tell_blocks();
	while (written < writes)
		one_wave();
	GOES(donard_cache_flush(cache, DONARD_CACHE_TO_DRIVE, NULL));
	await();
	tell_blocks();
	donard_cache_close(cache);
	return 0;
}
