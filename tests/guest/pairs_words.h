/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For pairs.c: whose bytes are seen, what all of its processes share, and how a failure is told.
 *
 * The attackers of a round write words of one byte, which is the round's: they write into the same memory, some of them
 * bytewise, so that what is seen may be a mixture. A victim's word is its own in each page and cycle, and each byte of
 * it has the highest bit.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAGE		4096UL
#define WORDS		(PAGE / 8)
#define SPAN_PAGES	4096UL		/* of a file, in which the calls of a round meet */
#define CALLS_MAX	32
#define TEXT_BYTES	512

#define ROUND_BYTES	62		/* 1 to 62 are the rounds', one after the other */
#define DRIVE_BYTE	63		/* what the drive holds */
#define VICTIM_BITS	0x8080808080808080ULL
#define ONES		(~0ULL)		/* what a device answers that is being reset, or has gone */
/*
 * Now and then what the emulator (10.0) answers to the load that is under way while it takes a BAR away: words before it
 * were right, those behind it and the same word again are the zeros of no memory.  Nobody writes such a word.
 */
#define IN_FLIGHT	1ULL

/* The first process that fails reports it; all others end. */
enum failing { SOUND, TELLING, TOLD };

static struct shared {
	atomic_int failing;
	char failure[TEXT_BYTES];

	/* the round's */
	uint64_t number;
	bool resets, ends, reads_drive;		/* what its attackers may meet, and may see */
	atomic_int ready;
	atomic_bool go, stop, event_over;
	atomic_uint_least64_t place[SPAN_PAGES];	/* what LOCATE said of a page of the file, and one */

	atomic_uint_least64_t took_ns[CALLS_MAX];	/* the first time that a call ended, so long after its begin */
	atomic_ulong made[CALLS_MAX], worked[CALLS_MAX];

	/* the victim's */
	atomic_bool pause, paused, over;
	atomic_ulong cycles, begun, ended;	/* @begun: resets and removals; @ended: those that are over */
} *shared;

static uint64_t next(uint64_t *random)
{
	uint64_t x = *random += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static uint64_t below(uint64_t *random, uint64_t limit)
{
	return next(random) % limit;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static void nap_ns(uint64_t ns)
{
	const struct timespec nap = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	nanosleep(&nap, NULL);
}

/* Ends the process; the first report is kept. */
__attribute__((format(printf, 1, 2), noreturn))
static void broken(const char *format, ...)
{
	int expected = SOUND;
	va_list args;

	if (atomic_compare_exchange_strong(&shared->failing, &expected, TELLING)) {
		va_start(args, format);
		vsnprintf(shared->failure, TEXT_BYTES, format, args);
		va_end(args);
		shared->failing = TOLD;
	}
	_exit(4);
}

/* --- whose bytes --- */

static uint64_t of_byte(uint64_t byte)
{
	return byte * 0x0101010101010101ULL;
}

static uint64_t round_byte(uint64_t round)
{
	return 1 + round % ROUND_BYTES;
}

static uint64_t victim_word(unsigned long cycle, uint64_t page)
{
	uint64_t number = (uint64_t)cycle << 16 | page, word = VICTIM_BITS;
	int i;

	/* The highest byte is never all ones. */
	for (i = 0; i < 8; i++)
		word |= (number >> (7 * i) & 0x7f) << (8 * i);
	return word & ~(1ULL << 62);
}

static const char *whose(uint64_t word)
{
	int i;

	if (word == ONES)
		return "the ones of no memory";
	for (i = 0; i < 64; i += 8) {
		if ((word >> i & 0xff) >= 0x80)
			return "another user's bytes";
	}
	return "bytes of an earlier file";
}

static bool may_see_byte(uint64_t byte)
{
	return !byte || byte == round_byte(shared->number) || (byte == DRIVE_BYTE && shared->reads_drive) ||
	       (byte == 0xff && (shared->resets || shared->ends));
}

/* Is it nobody else's than those attackers', who write bytes into each other's words? */
static bool may_see(uint64_t word)
{
	int i;

	if (!word || word == of_byte(round_byte(shared->number)) || (word == IN_FLIGHT && shared->resets))
		return true;
	for (i = 0; i < 64; i += 8) {
		if (!may_see_byte(word >> i & 0xff))
			return false;
	}
	return true;
}
