// SPDX-License-Identifier: Apache-2.0
/*
 * The write cache's log against power cuts: a simulated NVRAM and a simulated drive
 * lose what no barrier and no flush made durable, in pieces of 8 bytes and of blocks.
 * A server that is killed loses nothing, until a cut takes what still was not durable.
 * At each moment every block must hold what was acknowledged last, or something newer
 * that was not; what it holds after a cut must not change by itself.
 *
 * A seed makes the whole of a world; CACHE_LOG_SEED adds to each, for a run of others.
 */
#include <errno.h>
#include <stdlib.h>

#include "unit.h"
#include "cache/log.h"

#define BLOCK		4096U
#define DRIVE_BLOCKS	48U
#define WINDOWS		2U
#define NVRAM_BYTES	(512U << 10)
#define WORD		8U
#define MOST_BLOCKS	6U	/* of a write */

/* The rule that a test breaks on purpose. */
enum fault {
	NO_FAULT,
	ACK_BEFORE_BARRIER,
	TAIL_BEFORE_FLUSH,
	REUSE_BEFORE_TAIL,
	NO_EPOCH,
	FAULTS,
};

#define ISSUED_MOST	128U	/* to one block, in a life */

struct issued {
	size_t count;
	struct {
		uint64_t number, contents;
	} writes[ISSUED_MOST];
};

struct world {
	struct dnd_cache_store store;		/* first: the log gives it back */
	uint8_t nvram[NVRAM_BYTES], durable_nvram[NVRAM_BYTES];
	uint64_t drive[DRIVE_BLOCKS], durable_drive[DRIVE_BLOCKS];	/* a block's contents by number */
	unsigned int steps_left;		/* until the cut */
	bool cut;
	enum fault fault;
	bool retiring;
	bool dies_young;			/* every other life ends while the log is recovered, or soon after */
	bool may_be_killed;			/* a life may end without a cut */
	bool was_cut;				/* the last one ended with one */
	bool destaging;
	uint64_t kinds;				/* of contents, so that those of other writes recur; 0: each has its own */
	unsigned int lives, first_cut;		/* the first cut comes after so many steps, if any */
	struct donard_context *ctx;
	struct dnd_cache_log log;
	unsigned int seed, random;
	uint64_t written;			/* number of the last write */
	/* For each block: the last write that was acknowledged, and those that were issued since the last cut. */
	uint64_t acknowledged[DRIVE_BLOCKS];
	struct issued issued[DRIVE_BLOCKS];
	uint64_t trimmed[DRIVE_BLOCKS];		/* the writes up to this one may be gone */
};

static unsigned int dice(struct world *world, unsigned int sides)
{
	world->random = world->random * 1103515245U + 12345U;
	return (world->random >> 12) % sides;
}

/* ---- the devices ---- */

static bool step(struct world *world)
{
	if (!world->steps_left)
		world->cut = true;
	else
		world->steps_left--;
	return !world->cut;
}

static int nvram_read(struct dnd_cache_store *store, uint64_t at, void *to, size_t length)
{
	struct world *world = (struct world *)store;

	assert_true(at + length <= NVRAM_BYTES);
	memcpy(to, world->nvram + at, length);
	return 0;
}

static int nvram_write(struct dnd_cache_store *store, uint64_t at, const void *from, size_t length)
{
	struct world *world = (struct world *)store;

	assert_true(at + length <= NVRAM_BYTES);
	if (!step(world))
		return -EIO;
	memcpy(world->nvram + at, from, length);
	return 0;
}

static int nvram_barrier(struct dnd_cache_store *store)
{
	struct world *world = (struct world *)store;

	/* The server is killed most often here, when the newest tail is written, but not durable. */
	if (world->retiring && world->may_be_killed && !dice(world, 4))
		world->steps_left = 0;
	if (!step(world))
		return -EIO;
	if (world->retiring && world->fault == REUSE_BEFORE_TAIL)
		return 0;
	memcpy(world->durable_nvram, world->nvram, NVRAM_BYTES);
	return 0;
}

/* Of the bytes that were on their way to a piece, all arrived, or none, or parts. */
static void lose_piece(struct world *world, size_t at, size_t length, size_t part)
{
	unsigned int luck = dice(world, 3);

	if (!memcmp(world->nvram + at, world->durable_nvram + at, length) || luck == 0)
		return;
	if (luck == 1 || length == WORD) {
		memcpy(world->durable_nvram + at, world->nvram + at, length);
		return;
	}
	for (size_t done = 0; done < length; done += part)
		lose_piece(world, at + done, part, WORD);
}

static void lose_power(struct world *world)
{
	unsigned int odds = 1 + dice(world, 4);

	for (size_t at = 0; at < NVRAM_BYTES; at += BLOCK)
		lose_piece(world, at, BLOCK, sizeof(struct dnd_cache_record));
	memcpy(world->nvram, world->durable_nvram, NVRAM_BYTES);
	for (size_t i = 0; i < DRIVE_BLOCKS; i++)
		if (dice(world, 4) < odds)
			world->durable_drive[i] = world->drive[i];
	memcpy(world->drive, world->durable_drive, sizeof(world->drive));
}

/* ---- clients ---- */

/* Returns the contents of a write, which fill each word of its blocks; 0 stands for a drive's own contents. */
static uint64_t contents_of(const struct world *world, uint64_t number)
{
	return world->kinds ? 1 + number % world->kinds : number;
}

/* A block's contents, all over it. */
static void fill_block(uint8_t *block, uint64_t number)
{
	for (size_t i = 0; i < BLOCK; i += WORD)
		memcpy(block + i, &number, WORD);
}

static bool send(struct world *world, struct dnd_cache_entry *entry, uint64_t *number)
{
	uint64_t window_at = dnd_cache_window_at(&world->log, entry->window);
	uint8_t bytes[MOST_BLOCKS * BLOCK];

	*number = ++world->written;
	for (size_t at = 0; at < entry->length_bytes; at += BLOCK)
		fill_block(bytes + at, contents_of(world, *number));
	entry->checksum = dnd_cache_checksum(0, bytes, entry->length_bytes);
	for (size_t at = 0; at < entry->length_bytes; at += BLOCK)
		if (world->store.write(&world->store, window_at + entry->at + at, bytes + at, BLOCK))
			return false;
	return true;
}

static void add_issued(struct world *world, uint64_t block, uint64_t number, uint64_t contents)
{
	struct issued *issued = &world->issued[block];

	assert_true(issued->count < ISSUED_MOST);
	issued->writes[issued->count].number = number;
	issued->writes[issued->count++].contents = contents;
}

static void issue(struct world *world, const struct dnd_cache_entry *entry, uint64_t number)
{
	for (uint64_t i = 0; i < entry->length_bytes / BLOCK; i++) {
		uint64_t block = entry->drive_offset / BLOCK + i;

		if (entry->type == DND_CACHE_TRIM)
			world->trimmed[block] = world->written;
		else
			add_issued(world, block, number, contents_of(world, number));
	}
}

static void acknowledge(struct world *world, const struct dnd_cache_entry *entry, uint64_t number)
{
	for (uint64_t i = 0; i < entry->length_bytes / BLOCK; i++) {
		uint64_t block = entry->drive_offset / BLOCK + i;

		if (entry->type == DND_CACHE_WRITE)
			world->acknowledged[block] = number;
	}
}

static bool one_write(struct world *world, struct dnd_cache_entry *entry, uint64_t *number)
{
	const struct dnd_cache_window *window;
	uint64_t blocks = 1 + dice(world, MOST_BLOCKS), sequence;

	*entry = (struct dnd_cache_entry){ .type = DND_CACHE_WRITE, .window = dice(world, WINDOWS) };
	entry->drive_offset = (uint64_t)dice(world, DRIVE_BLOCKS - MOST_BLOCKS) * BLOCK;
	entry->length_bytes = blocks * BLOCK;
	if (entry->length_bytes > dnd_cache_window_room(&world->log, entry->window))
		return false;
	window = &world->log.windows[entry->window];
	entry->at = entry->length_bytes > world->log.super.window_bytes - window->head ? 0 : window->head;
	if (!send(world, entry, number))
		return false;
	issue(world, entry, *number);
	return !dnd_cache_append(&world->log, entry, &sequence);
}

static bool one_trim(struct world *world, struct dnd_cache_entry *entry, uint64_t *number)
{
	uint64_t sequence;

	*number = 0;
	*entry = (struct dnd_cache_entry){
		.type = DND_CACHE_TRIM,
		.drive_offset = (uint64_t)dice(world, DRIVE_BLOCKS - MOST_BLOCKS) * BLOCK,
		.length_bytes = (1 + (uint64_t)dice(world, MOST_BLOCKS)) * BLOCK,
	};
	issue(world, entry, 0);
	return !dnd_cache_append(&world->log, entry, &sequence);
}

static void destage(struct world *world);
static void check_reads(struct world *world);

#define GROUP	4U

static void one_group(struct world *world)
{
	struct dnd_cache_entry entries[GROUP];
	uint64_t numbers[GROUP];
	size_t count = 0;

	for (unsigned int left = 1 + dice(world, GROUP); left && !world->cut; left--) {
		if (dice(world, 8) ? one_write(world, &entries[count], &numbers[count]) :
				     one_trim(world, &entries[count], &numbers[count]))
			count++;
	}
	if (world->fault == ACK_BEFORE_BARRIER)
		for (size_t i = 0; i < count; i++)
			acknowledge(world, &entries[i], numbers[i]);
	if (!world->cut && !world->destaging && !dice(world, 8))
		destage(world);
	if (world->cut || dnd_cache_commit(&world->log))
		return;
	for (size_t i = 0; i < count; i++)
		acknowledge(world, &entries[i], numbers[i]);
	check_reads(world);
}

/* ---- destage ---- */

/* A block whose words differ was torn: nobody issued what this returns for it. */
static uint64_t newest(const struct world *world, uint64_t data_at)
{
	const uint8_t *block = world->nvram + data_at;
	uint64_t contents;

	memcpy(&contents, block, WORD);
	return memcmp(block, block + WORD, BLOCK - WORD) ? UINT64_MAX : contents;
}

/* A trim is advice: the drive forgets the blocks, or keeps them. */
static void trim_drive(struct world *world, const struct dnd_cache_plan *plan)
{
	for (size_t i = 0; i < plan->trim_count; i++) {
		const struct dnd_cache_run *run = &plan->trims[i];

		for (uint64_t at = 0; at < run->length_bytes; at += BLOCK)
			if (dice(world, 2))
				world->drive[(run->drive_offset + at) / BLOCK] = 0;
	}
}

/* Requests that clients send meanwhile are newer than the plan, and may concern the same blocks. */
static void write_drive(struct world *world, const struct dnd_cache_plan *plan)
{
	for (size_t i = 0; i < plan->write_count; i++) {
		const struct dnd_cache_run *run = &plan->writes[i];

		for (uint64_t at = 0; at < run->length_bytes; at += BLOCK) {
			if (!step(world))
				return;
			world->drive[(run->drive_offset + at) / BLOCK] = newest(world, run->data_at + at);
		}
		if (!dice(world, 4))
			one_group(world);
		if (world->cut)
			return;
	}
}

static bool flush_drive(struct world *world)
{
	if (!step(world))
		return false;
	memcpy(world->durable_drive, world->drive, sizeof(world->drive));
	return true;
}

static void retire(struct world *world, uint64_t upto)
{
	world->retiring = true;
	dnd_cache_retire(&world->log, upto);
	world->retiring = false;
}

static void destage(struct world *world)
{
	struct dnd_cache_plan plan;

	if (dnd_cache_plan(&world->log, 1 + dice(world, 12), 4 * BLOCK, dice(world, 2), &plan)) {
		assert_true(world->cut);
		return;
	}
	for (size_t i = 1; i < plan.write_count; i++)
		assert_true(plan.writes[i - 1].drive_offset + plan.writes[i - 1].length_bytes <=
			    plan.writes[i].drive_offset);
	for (size_t i = 1; i < plan.trim_count; i++)
		assert_true(plan.trims[i - 1].drive_offset + plan.trims[i - 1].length_bytes < plan.trims[i].drive_offset);
	world->destaging = true;
	if (plan.upto >= world->log.tail) {
		trim_drive(world, &plan);
		write_drive(world, &plan);
		if (!world->cut && (world->fault == TAIL_BEFORE_FLUSH || flush_drive(world)))
			retire(world, plan.upto);
	}
	world->destaging = false;
	dnd_cache_plan_free(&plan);
}

/* ---- the contents of blocks ---- */

static uint64_t held(const struct world *world, uint64_t block)
{
	uint64_t sequence = dnd_cache_blocks_find(&world->log.blocks, block);
	const struct dnd_cache_record *record;

	if (!sequence)
		return world->drive[block];
	record = dnd_cache_record(&world->log, sequence);
	return newest(world, record->data_at + block * BLOCK - record->drive_offset);
}

static bool may_hold(const struct world *world, uint64_t block, uint64_t contents)
{
	const struct issued *issued = &world->issued[block];

	/* A trim uncovers contents older than all that are recorded here, but none that were never issued. */
	if (world->acknowledged[block] <= world->trimmed[block] && contents <= world->written)
		return true;
	for (size_t i = 0; i < issued->count; i++)
		if (issued->writes[i].contents == contents && issued->writes[i].number >= world->acknowledged[block])
			return true;
	return !contents && !world->acknowledged[block];
}

/* The blocks whose contents are not what they may be. */
static unsigned int wrong_blocks(const struct world *world)
{
	unsigned int wrong = 0;

	for (uint64_t block = 0; block < DRIVE_BLOCKS; block++)
		wrong += !may_hold(world, block, held(world, block));
	return wrong;
}

/* While the server runs, too, each block reads as something that it may hold, whatever is on its way to the drive. */
static void check_reads(struct world *world)
{
	if (world->fault == NO_FAULT && !world->cut && wrong_blocks(world))
		fail_msg("seed %u: %u blocks are read that hold what they must not", world->seed, wrong_blocks(world));
}

static bool trim_in_log(const struct world *world, uint64_t block)
{
	const struct dnd_cache_log *log = &world->log;

	for (uint64_t sequence = log->tail; sequence < log->next; sequence++) {
		const struct dnd_cache_record *record = dnd_cache_record(log, sequence);

		if (record->type == DND_CACHE_TRIM && record->drive_offset <= block * BLOCK &&
		    block * BLOCK < record->drive_offset + record->length_bytes)
			return true;
	}
	return false;
}

/* From now on each block must hold what it holds now, and no other write that was under way before. */
static void settle(struct world *world)
{
	uint64_t now = ++world->written;

	for (uint64_t block = 0; block < DRIVE_BLOCKS; block++) {
		bool uncovered = trim_in_log(world, block) && !dnd_cache_blocks_find(&world->log.blocks, block);

		world->issued[block].count = 0;
		add_issued(world, block, now, held(world, block));
		world->acknowledged[block] = now;
		world->trimmed[block] = uncovered ? now : 0;
	}
}

static const struct dnd_cache_store devices = {
	.length_bytes = NVRAM_BYTES, .read = nvram_read, .write = nvram_write, .barrier = nvram_barrier,
};

static struct world *new_world(unsigned int seed, enum fault fault)
{
	const struct dnd_cache_geometry geometry = {
		.length_bytes = NVRAM_BYTES, .windows = WINDOWS, .block_bytes = BLOCK,
		.drive_bytes = (uint64_t)DRIVE_BLOCKS * BLOCK, .drive_id = "eui.0025385b71b00001",
	};
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->store = devices;
	world->seed = seed;
	world->random = seed;
	world->was_cut = true;
	world->fault = fault;
	world->steps_left = UINT32_MAX;
	assert_int_equal(donard_open(&world->ctx, NULL), 0);
	assert_int_equal(dnd_cache_format(world->ctx, &world->store, &geometry), 0);
	return world;
}

static void end_world(struct world *world)
{
	donard_close(world->ctx);
	free(world);
}

static unsigned int steps_of_life(struct world *world)
{
	unsigned int life = world->lives++;

	if (!life && world->first_cut)
		return world->first_cut;
	if (world->dies_young && life % 2)
		return 1 + dice(world, 4);
	/* Short lives are where a record of the life before comes back. */
	return 1 + dice(world, world->fault == NO_EPOCH ? 30 : 150);
}

static void serve(struct world *world)
{
	while (!world->cut) {
		one_group(world);
		if (!world->cut && !dice(world, 3))
			destage(world);
	}
}

/* A server that was killed left all it wrote, whether it is durable or not. */
static void end_life(struct world *world)
{
	dnd_cache_close(&world->log);
	world->was_cut = !world->may_be_killed || (world->dies_young ? world->lives % 2 == 0 : dice(world, 2));
	if (world->was_cut)
		lose_power(world);
}

/* One life of a server, from its recovery to its end.  Returns how many blocks it found wrong. */
static unsigned int one_life(struct world *world)
{
	unsigned int wrong;
	int rc;

	world->cut = false;
	world->steps_left = UINT32_MAX;
	rc = dnd_cache_open(world->ctx, &world->store, &world->log);
	if (rc && world->fault != NO_FAULT)
		return 1;
	if (rc)
		fail_msg("seed %u: %s", world->seed, donard_error(world->ctx));
	wrong = wrong_blocks(world);
	if (world->was_cut)
		settle(world);
	world->steps_left = steps_of_life(world);
	if (world->fault == NO_EPOCH || !dnd_cache_begin(&world->log)) {
		settle(world);
		serve(world);
	}
	end_life(world);
	return wrong;
}

static unsigned int live(struct world *world, unsigned int count)
{
	unsigned int wrong = 0;

	for (unsigned int life = 0; life < count && !wrong; life++)
		wrong = one_life(world);
	return wrong;
}

static unsigned int lives(unsigned int seed, enum fault fault, unsigned int count)
{
	struct world *world = new_world(seed, fault);
	unsigned int wrong = live(world, count);

	end_world(world);
	return wrong;
}

static unsigned int first_seed(void)
{
	const char *text = getenv("CACHE_LOG_SEED");

	return 1 + (text ? (unsigned int)strtoul(text, NULL, 10) : 0);
}

enum how { ORDINARY, DIES_YOUNG, MAY_BE_KILLED = 2, CONTENTS_RECUR = 4, HOWS = 8 };

static void live_through(unsigned int seed, unsigned int how, unsigned int first_cut, unsigned int count)
{
	struct world *world = new_world(seed, NO_FAULT);
	unsigned int wrong;

	world->dies_young = how & DIES_YOUNG;
	world->may_be_killed = how & MAY_BE_KILLED;
	world->kinds = how & CONTENTS_RECUR ? 3 : 0;
	world->first_cut = first_cut;
	wrong = live(world, count);
	if (wrong)
		fail_msg("seed %u, %u, first cut after %u, life %u: %u blocks hold what they must not", seed, how,
			 first_cut, world->lives, wrong);
	end_world(world);
}

/* With a sanitizer each world takes several times as long, and wrong accesses show in a few worlds as well. */
#ifdef __SANITIZE_ADDRESS__
#define WORLDS	10
#define NEXT_HOW	HOWS
#else
#define WORLDS	40
#define NEXT_HOW	1
#endif

static void many_worlds(unsigned int how)
{
	for (unsigned int seed = first_seed(); seed < first_seed() + WORLDS; seed++)
		live_through(seed, how, 0, 40);
}

static void power_cuts(void **state)
{
	(void)state;
	many_worlds(ORDINARY);
}

static void cuts_while_recovering(void **state)
{
	(void)state;
	many_worlds(DIES_YOUNG);
}

static void killed_and_cut(void **state)
{
	(void)state;
	many_worlds(MAY_BE_KILLED);
	many_worlds(MAY_BE_KILLED | DIES_YOUNG);
}

static void contents_that_recur(void **state)
{
	(void)state;
	many_worlds(CONTENTS_RECUR);
	many_worlds(CONTENTS_RECUR | MAY_BE_KILLED | DIES_YOUNG);
}

/* No step of a life is left out, nor one of the ways; the lives after it are short and long. */
static void cut_at_each_step(void **state)
{
	(void)state;
	for (unsigned int steps = 1; steps <= 160; steps++)
		for (unsigned int how = steps % NEXT_HOW; how < HOWS; how += NEXT_HOW)
			live_through(first_seed() + how, how, steps, 4);
}

static void order_that_the_model_forbids(void **state)
{
	(void)state;
	for (enum fault fault = NO_FAULT + 1; fault < FAULTS; fault++) {
		unsigned int seed = 1;

		while (seed <= 60 && !lives(seed, fault, 40))
			seed++;
		if (seed > 60)
			fail_msg("fault %d: no power cut shows it", fault);
	}
}

/* ---- format ---- */

#define FORMAT_STEPS	16U	/* writes and barriers of a format, at least */

/* Power goes after so many steps of a format. */
static void cut_format(struct world *world, unsigned int steps)
{
	const struct dnd_cache_geometry geometry = {
		.length_bytes = NVRAM_BYTES, .windows = WINDOWS, .block_bytes = BLOCK,
		.drive_bytes = (uint64_t)DRIVE_BLOCKS * BLOCK, .drive_id = "eui.0025385b71b00001",
	};

	world->steps_left = steps;
	dnd_cache_format(world->ctx, &world->store, &geometry);
	lose_power(world);
	world->cut = false;
	world->steps_left = UINT32_MAX;
}

/* A format that was cut leaves either a whole log, or one that another format may finish. */
static void format_cut(unsigned int seed, unsigned int steps, bool over_a_log)
{
	struct world *world = new_world(seed, NO_FAULT);
	struct dnd_cache_super super;
	enum dnd_cache_found found;

	if (!over_a_log)
		memset(world->nvram, 0, NVRAM_BYTES);
	memcpy(world->durable_nvram, world->nvram, NVRAM_BYTES);
	cut_format(world, steps);
	assert_int_equal(dnd_cache_look(world->ctx, &world->store, &super, &found), 0);
	if (found == DND_CACHE_FOUND_LOG) {
		assert_int_equal(dnd_cache_open(world->ctx, &world->store, &world->log), 0);
		dnd_cache_close(&world->log);
	} else if (found != DND_CACHE_FOUND_UNFINISHED && (found != DND_CACHE_FOUND_NOTHING || over_a_log)) {
		fail_msg("seed %u, cut after %u steps: found %d", seed, steps, found);
	}
	end_world(world);
}

static void cuts_of_a_format(void **state)
{
	(void)state;
	for (unsigned int steps = 0; steps < FORMAT_STEPS; steps++)
		for (unsigned int seed = 1; seed <= 20; seed++) {
			format_cut(seed * 7919 + steps, steps, false);
			format_cut(seed * 7919 + steps, steps, true);
		}
}

/* ---- a copy of the superblock that is not whole ---- */

#define BEGIN_STEPS	4U	/* writes and barriers until it is whole again */

/* Power goes after so many steps of a start; then there is a log, and the next start has both copies whole. */
static void mending_cut(unsigned int seed, unsigned int copy, unsigned int steps)
{
	struct world *world = new_world(seed, NO_FAULT);

	memset(world->nvram + DND_CACHE_SUPER_AT(copy), 0x55, sizeof(struct dnd_cache_super));
	memcpy(world->durable_nvram, world->nvram, NVRAM_BYTES);
	for (int start = 0; start < 2; start++) {
		if (dnd_cache_open(world->ctx, &world->store, &world->log))
			fail_msg("seed %u, copy %u, cut after %u steps: %s", seed, copy, steps, donard_error(world->ctx));
		world->steps_left = start ? UINT32_MAX : steps;
		assert_int_equal(dnd_cache_begin(&world->log), steps < BEGIN_STEPS && !start ? -EIO : 0);
		dnd_cache_close(&world->log);
		lose_power(world);
		world->cut = false;
	}
	assert_memory_equal(world->nvram + DND_CACHE_SUPER_AT(0), world->nvram + DND_CACHE_SUPER_AT(1), sizeof(struct dnd_cache_super));
	end_world(world);
}

static void cuts_while_a_copy_is_mended(void **state)
{
	(void)state;
	for (unsigned int steps = 0; steps <= BEGIN_STEPS; steps++)
		for (unsigned int seed = 1; seed <= 20; seed++)
			mending_cut(seed * 7919 + steps, seed % DND_CACHE_COPIES, steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(power_cuts),
		cmocka_unit_test(cuts_while_recovering),
		cmocka_unit_test(killed_and_cut),
		cmocka_unit_test(contents_that_recur),
		cmocka_unit_test(cut_at_each_step),
		cmocka_unit_test(cuts_of_a_format),
		cmocka_unit_test(cuts_while_a_copy_is_mended),
		cmocka_unit_test(order_that_the_model_forbids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
