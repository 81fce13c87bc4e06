// SPDX-License-Identifier: Apache-2.0
/* See pattern.h. */
#include <endian.h>

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

void dnd_pattern_make(uint8_t *to, uint64_t seed, uint64_t position, size_t length)
{
	size_t done = 0, skip, part;
	uint64_t word;

	while (done < length) {
		skip = (size_t)((position + done) % 8);
		part = (size_t)dnd_min(8 - skip, length - done);
		word = word_at(seed, position + done - skip);
		memcpy(to + done, (const uint8_t *)&word + skip, part);
		done += part;
	}
}

int dnd_pattern_fill(const struct dnd_place *memory, uint64_t seed, uint64_t position, uint64_t length,
		     dnd_step_fn step_fn, void *user)
{
	static __thread uint8_t line[STEP_BYTES] __attribute__((aligned(8)));
	struct dnd_place here;
	size_t part;
	int rc = 0;

	for (uint64_t at = 0; at < length && !rc; at += part) {
		part = (size_t)dnd_min(sizeof(line), length - at);
		dnd_pattern_make(line, seed, position + at, part);
		here = dnd_place_behind(memory, at);
		rc = dnd_place_store(&here, line, part);
		if (!rc && step_fn)
			rc = step_fn(user);
	}
	return rc;
}

int dnd_pattern_check(const struct dnd_place *memory, uint64_t seed, uint64_t position, uint64_t length,
		      uint64_t *where, dnd_step_fn step_fn, void *user)
{
	static __thread uint8_t line[STEP_BYTES] __attribute__((aligned(8)));
	size_t part, wrong = 0;
	struct dnd_place here;
	int rc = 0;

	for (uint64_t at = 0; at < length && !rc; at += part) {
		part = (size_t)dnd_min(sizeof(line), length - at);
		dnd_pattern_make(line, seed, position + at, part);
		here = dnd_place_behind(memory, at);
		rc = dnd_place_compare(&here, line, part, &wrong);
		if (rc == 1)
			*where = at + wrong;
		if (!rc && step_fn)
			rc = step_fn(user);
	}
	return rc;
}
