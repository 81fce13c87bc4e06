// SPDX-License-Identifier: Apache-2.0
/* LIBS: -l:libdonard.a -luring -lpci -libverbs -lrdmacm -lisal -ldl -pthread */
/*
 * cutlog format REGION DRIVE - an empty log in the first MiBs of REGION
 * cutlog fill|early|late REGION DRIVE SEED LIFE - recovers the log, and writes until it is full; "early" acknowledges before
 *	the barrier, and with "late" the bytes come after it, as nobody may
 * cutlog serve REGION DRIVE SEED LIFE [WRITES] - recovers the log, tells what every block holds, and then writes and destages
 *	until the power is cut, or that many writes are acknowledged and everything is on DRIVE
 *
 * The write cache's log on real devices, without clients: the suite "cuts" cuts the power under it. cutwrites.h
 * says what it writes and tells.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cutwrites.h"
#include "cache/log.h"
#include "cache/nvram.h"
#include "donard/queue.h"

#define MOST_WRITES	16U		/* of a group, with one barrier */
#define LOG_BYTES	(2U << 20)
#define WINDOWS		2U
#define RUN_BYTES	(64U << 10)

static struct {
	uint64_t life;
	uint64_t written;		/* number of the last one */
	bool early, late;
	uint8_t *mapped;		/* the memory, as a client's device sees it */
	struct donard_context *ctx;
	struct donard_memory *memory;
	struct donard_queue *queue;
	struct donard_file *file;
	int drive;
	struct dnd_cache_nvram nvram;
	struct dnd_cache_log log;
} me;

#define GOES(call) do { \
	int r_ = (call); \
	if (r_ < 0) \
		errx(1, "line %d: %s: %d (%s)", __LINE__, #call, r_, donard_error(me.ctx)); \
} while (0)

/* ---- what a block holds ---- */

static void read_block(uint64_t block, uint64_t *words)
{
	uint64_t sequence = dnd_cache_blocks_find(&me.log.blocks, block);
	const struct dnd_cache_record *record;

	if (!sequence) {
		if (pread(me.drive, words, BLOCK, (off_t)(block * BLOCK)) != BLOCK)
			err(1, "read");
		return;
	}
	record = dnd_cache_record(&me.log, sequence);
	GOES(donard_memory_read(me.memory, record->data_at + block * BLOCK - record->drive_offset,
				words, BLOCK));
}

static void tell_blocks(void)
{
	static uint64_t words[WORDS] __attribute__((aligned(BLOCK)));

	for (uint64_t block = 0; block < BLOCKS; block++) {
		read_block(block, words);
		tell_block(words, block);
	}
	tell_recovered(me.log.next - me.log.tail);
}

/* ---- DATA, APPEND, BARRIER, ACK ---- */

/* Writes into the window before the message, as a client does. */
__attribute__((noinline)) static void put_data(const struct write *write)
{
	uint64_t words[WORDS];

	for (uint64_t i = 0; i < write->count; i++) {
		fill(words, me.life, write->number, write->block + i);
		memcpy(me.mapped + write->at + i * BLOCK, words, BLOCK);
	}
}

static uint32_t checksum_of(const struct write *write)
{
	uint64_t words[WORDS];
	uint32_t sum = 0;

	for (uint64_t i = 0; i < write->count; i++) {
		fill(words, me.life, write->number, write->block + i);
		sum = dnd_cache_checksum(sum, words, BLOCK);
	}
	return sum;
}

/* False: there is no room for it. */
static bool put(struct write *write)
{
	unsigned int window = (unsigned int)(write->number % WINDOWS);
	const struct dnd_cache_window *it = &me.log.windows[window];
	struct dnd_cache_entry entry = {
		.type = DND_CACHE_WRITE, .drive_offset = write->block * BLOCK, .window = window,
		.length_bytes = write->count * BLOCK, .checksum = checksum_of(write),
	};
	uint64_t sequence;
	int rc;

	if (dnd_cache_window_room(&me.log, window) < entry.length_bytes)
		return false;
	entry.at = it->head + entry.length_bytes > me.log.super.window_bytes ? 0 : it->head;
	write->at = dnd_cache_window_at(&me.log, window) + entry.at;
	if (!me.late)
		put_data(write);
	rc = dnd_cache_append(&me.log, &entry, &sequence);
	if (rc != -EAGAIN)
		GOES(rc);
	return !rc;
}

__attribute__((noinline)) static void acknowledge(const struct write *writes, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		tell_acknowledged(me.life, &writes[i]);
}

/* A breakpoint for the test: no later barrier has changed what is durable here. */
__attribute__((noinline)) static void late_bytes_came(void)
{
	__asm__ volatile("" : : : "memory");
}

/* False: the log is full. */
static bool one_group(void)
{
	struct write writes[MOST_WRITES];
	unsigned int most = 1 + (unsigned int)(dice(me.life, me.written, 2) % MOST_WRITES), count = 0;

	while (count < most) {
		writes[count] = write_of(me.life, me.written + 1);
		if (!put(&writes[count]))
			break;
		count++;
		me.written++;
	}
	if (!count)
		return false;
	if (me.early)
		acknowledge(writes, count);
	GOES(dnd_cache_commit(&me.log));
	if (!me.early)
		acknowledge(writes, count);
	if (!me.late)
		return true;
	for (unsigned int i = 0; i < count; i++)
		put_data(&writes[i]);
	late_bytes_came();
	return true;
}

/* ---- DESTAGE, FLUSH, TAIL, REUSE ---- */

static void await(unsigned int count)
{
	struct donard_completion done[16];

	while (count) {
		int got = donard_queue_wait(me.queue, 1, -1, done, 16);

		GOES(got);
		for (int i = 0; i < got; i++)
			if (done[i].result < 0)
				errx(1, "the drive: %s", done[i].error);
		count -= (unsigned int)got;
	}
}

static void write_runs(const struct dnd_cache_plan *plan)
{
	unsigned int under_way = 0;

	for (size_t i = 0; i < plan->write_count; i++) {
		const struct dnd_cache_run *run = &plan->writes[i];

		if (under_way == 16) {
			await(under_way);
			under_way = 0;
		}
		GOES(donard_queue_write(me.queue, me.file, run->drive_offset, me.memory, run->data_at,
					run->length_bytes, NULL));
		under_way++;
	}
	await(under_way);
}

static void destage(uint64_t records)
{
	struct dnd_cache_plan plan;

	GOES(dnd_cache_plan(&me.log, records, RUN_BYTES, false, &plan));
	if (plan.upto >= me.log.tail) {
		write_runs(&plan);
		GOES(donard_queue_flush(me.queue, me.file, NULL));
		await(1);
		GOES(dnd_cache_retire(&me.log, plan.upto));
	}
	dnd_cache_plan_free(&plan);
}

/* ---- all of it ---- */

static void begin(void)
{
	GOES(dnd_cache_open(me.ctx, &me.nvram.store, &me.log));
	tell_blocks();
	GOES(dnd_cache_begin(&me.log));
}

static void serve(uint64_t writes)
{
	while (!writes || me.written < writes)
		if (!one_group() || !(dice(me.life, me.written, 3) % 4))
			destage(1 + dice(me.life, me.written, 4) % 64);
	while (me.log.tail < me.log.next)
		destage(UINT32_MAX);
	tell_blocks();
}

static void format(void)
{
	struct dnd_cache_geometry geometry = {
		.length_bytes = LOG_BYTES, .windows = WINDOWS, .block_bytes = BLOCK,
		.drive_bytes = (uint64_t)BLOCKS * BLOCK, .drive_id = "of the lab",
	};

	GOES(dnd_cache_format(me.ctx, &me.nvram.store, &geometry));
}

static void set_up(const char *region, const char *drive)
{
	struct donard_memory_info info = { .size = sizeof(info) };

	if (donard_open(&me.ctx, NULL))
		errx(1, "donard_open");
	GOES(donard_memory_claim(me.ctx, region, 0, LOG_BYTES, &me.memory));
	GOES(donard_memory_info(me.memory, &info));
	me.mapped = info.address;
	dnd_cache_nvram_init(&me.nvram, me.memory, LOG_BYTES, true);
	me.drive = open(drive, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (me.drive < 0)
		err(1, "%s", drive);
	GOES(donard_file_open(me.ctx, drive, DONARD_FILE_WRITE, &me.file));
	GOES(donard_queue_open(me.ctx, NULL, &me.queue));
	GOES(donard_queue_register(me.queue, me.memory));
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "format")) {
		set_up(argv[2], argv[3]);
		format();
		return 0;
	}
	if (argc < 6)
		errx(2, "usage: cutlog format REGION DRIVE | fill|early|late|serve REGION DRIVE SEED LIFE [WRITES]");
	seed = strtoull(argv[4], NULL, 10);
	me.life = strtoull(argv[5], NULL, 10);
	me.early = !strcmp(argv[1], "early");
	me.late = !strcmp(argv[1], "late");
	set_up(argv[2], argv[3]);
	begin();
	if (!strcmp(argv[1], "serve"))
		serve(argc > 6 ? strtoull(argv[6], NULL, 10) : 0);
	else
		while (one_group())
			;
	return 0;
}
