/* SPDX-License-Identifier: Apache-2.0 */
/* A log in memory that counts what is written to it, and clients that write whole blocks. */
#ifndef UNIT_CACHE_NVRAM_H
#define UNIT_CACHE_NVRAM_H

#include <errno.h>

#include "unit.h"
#include "cache/log.h"

#define BLOCK		4096U
#define NVRAM_BYTES	(512U << 10)
#define DRIVE_BYTES	(64U << 20)

struct nvram {
	struct dnd_cache_store store;
	uint8_t bytes[NVRAM_BYTES];
	unsigned int writes, barriers;
	unsigned int writes_of_first_barrier;	/* before it */
	struct donard_context *ctx;
	struct dnd_cache_log log;
};

extern const struct dnd_cache_geometry nvram_geometry;

int nvram_set_up(void **state);
int nvram_tear_down(void **state);
/* An empty log, begun. */
void open_new(struct nvram *nvram);
/* Fills blocks of a window, and appends a record of them: of the drive's from @block on. */
int put_at(struct nvram *nvram, unsigned int window, uint64_t at, uint64_t block, uint64_t blocks);
/* The same at the head of the first window. */
int put(struct nvram *nvram, uint64_t block, uint64_t blocks);
/* Recovers it; it is not begun. */
void reopen(struct nvram *nvram);
/* Appends three records of two blocks each, at blocks 0, 10 and 20, with a barrier after each. */
void three_groups(struct nvram *nvram);

#define NVRAM_TEST(name)	cmocka_unit_test_setup_teardown(name, nvram_set_up, nvram_tear_down)

#endif /* UNIT_CACHE_NVRAM_H */
