/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of the suite "cuts" write, so that each block tells whose it is. Which blocks a write has follows from a
 * seed, the life of the machine and the write's number; every word of a block from the life, the number and the block.
 * On stdout, a line each:
 *
 *	holds BLOCK LIFE NUMBER FIRST COUNT	that write's bytes, of COUNT blocks from FIRST on, are the block's newest
 *	torn BLOCK			no write's bytes: fails the test
 *	recovered RECORDS		after the last of these
 *	ack LIFE NUMBER BLOCK COUNT	durable
 */
#ifndef CUTWRITES_H
#define CUTWRITES_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BLOCK		4096U
#define WORDS		(BLOCK / 8)
#define BLOCKS		256U
#define MOST_BLOCKS	8U		/* of a write */

struct write {
	uint64_t number;
	uint64_t block, count;
	uint64_t at;			/* where its bytes are, for the program */
};

static uint64_t seed;

/* splitmix64 (Steele, Lea and Flood, 2014) */
static inline uint64_t mix(uint64_t value)
{
	value += 0x9e3779b97f4a7c15U;
	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
	return value ^ (value >> 31);
}

static inline uint64_t dice(uint64_t life, uint64_t number, uint64_t salt)
{
	return mix(mix(mix(seed ^ salt) ^ life) ^ number);
}

static inline struct write write_of(uint64_t life, uint64_t number)
{
	uint64_t random = dice(life, number, 1);
	uint64_t count = 1 + random % MOST_BLOCKS;

	return (struct write){ .number = number, .count = count,
			       .block = (random >> 8) % (BLOCKS - count + 1) };
}

static inline void fill(uint64_t *words, uint64_t life, uint64_t number, uint64_t block)
{
	words[0] = life;
	words[1] = number;
	for (unsigned int i = 2; i < WORDS; i++)
		words[i] = mix(dice(life, number, block << 16) + i);
}

static inline bool all_zero(const uint64_t *words)
{
	for (unsigned int i = 0; i < WORDS; i++)
		if (words[i])
			return false;
	return true;
}

static inline bool whole(const uint64_t *words, uint64_t block)
{
	uint64_t expected[WORDS];
	struct write write = write_of(words[0], words[1]);

	fill(expected, words[0], words[1], block);
	return block - write.block < write.count && !memcmp(words, expected, BLOCK);
}

static inline void tell_block(const uint64_t *words, uint64_t block)
{
	struct write write = write_of(words[0], words[1]);

	if (whole(words, block))
		printf("holds %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", block, words[0], words[1],
		       write.block, write.count);
	else if (!all_zero(words))
		printf("torn %" PRIu64 "\n", block);
}

static inline void tell_recovered(uint64_t records)
{
	printf("recovered %" PRIu64 "\n", records);
	fflush(stdout);
}

static inline void tell_acknowledged(uint64_t life, const struct write *write)
{
	printf("ack %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", life, write->number, write->block,
	       write->count);
	fflush(stdout);
}

#endif /* CUTWRITES_H */
