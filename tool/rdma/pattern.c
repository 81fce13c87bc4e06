// SPDX-License-Identifier: Apache-2.0
/* See pattern.h. */
#include <endian.h>
#include <string.h>

#include "rdma/pattern.h"

#define BLOCK_BYTES	4096U
#define STEP_BYTES	65536U
#define ODD_CONSTANT	0x9e3779b97f4a7c15ULL	/* 2^64 / golden ratio */

/* A bijection in which every input bit affects every output bit. */
static uint64_t mix(uint64_t value)
{
	value ^= value >> 31;
	value *= 0x7fb5d329728ea185ULL;
	value ^= value >> 27;
	value *= 0x81dadef4bc2dd44dULL;
	return value ^ value >> 33;
}

static uint64_t word_at(uint64_t seed, uint64_t position)
{
	uint64_t nonce = mix(seed ^ mix(position / BLOCK_BYTES + ODD_CONSTANT));

	return htole64(nonce + (position % BLOCK_BYTES / 8 + 1) * ODD_CONSTANT);
}

void cli_rdma_pattern_make(uint8_t *to, struct cli_rdma_pattern pattern, size_t length)
{
	size_t done = 0, skip, part;
	uint64_t word;

	while (done < length) {
		skip = (size_t)((pattern.position + done) % 8);
		part = 8 - skip < length - done ? 8 - skip : length - done;
		word = word_at(pattern.seed, pattern.position + done - skip);
		memcpy(to + done, (const uint8_t *)&word + skip, part);
		done += part;
	}
}

/* The part at @at, of which there are @length bytes.  Returns how long it is. */
static size_t make_step(uint8_t line[STEP_BYTES], struct cli_rdma_pattern pattern, uint64_t at, uint64_t length)
{
	size_t part = length - at < STEP_BYTES ? (size_t)(length - at) : STEP_BYTES;

	pattern.position += at;
	cli_rdma_pattern_make(line, pattern, part);
	return part;
}

int cli_rdma_pattern_fill(struct donard_memory *memory, uint64_t offset, struct cli_rdma_pattern pattern, uint64_t length,
			  cli_rdma_step_fn step_fn, void *user)
{
	static __thread uint8_t line[STEP_BYTES] __attribute__((aligned(8)));
	size_t part;
	int rc = 0;

	for (uint64_t at = 0; at < length && !rc; at += part) {
		part = make_step(line, pattern, at, length);
		rc = donard_memory_write(memory, offset + at, line, part);
		if (!rc && step_fn)
			rc = step_fn(user);
	}
	return rc;
}

static int compare(const uint8_t *seen, const uint8_t *made, size_t length, size_t *where)
{
	if (!memcmp(seen, made, length))
		return 0;
	for (*where = 0; seen[*where] == made[*where]; (*where)++)
		;
	return 1;
}

int cli_rdma_pattern_check(struct donard_memory *memory, uint64_t offset, struct cli_rdma_pattern pattern, uint64_t length,
			   uint64_t *where, cli_rdma_step_fn step_fn, void *user)
{
	static __thread uint8_t line[STEP_BYTES] __attribute__((aligned(8))), seen[STEP_BYTES] __attribute__((aligned(8)));
	size_t part, wrong = 0;
	int rc = 0;

	for (uint64_t at = 0; at < length && !rc; at += part) {
		part = make_step(line, pattern, at, length);
		rc = donard_memory_read(memory, offset + at, seen, part);
		if (!rc)
			rc = compare(seen, line, part, &wrong);
		if (rc == 1)
			*where = at + wrong;
		if (!rc && step_fn)
			rc = step_fn(user);
	}
	return rc;
}
