/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole copies with a file in place of each region and of each drive: the
 * kernel's ioctls, and the single reads and writes of a lossy route, are
 * played by the program.  Needs ext4 or xfs under /tmp.
 */
#ifndef COPY_SCENE_H
#define COPY_SCENE_H

#include <linux/loop.h>

#include "unit.h"
#include "fake_sysfs.h"
#include "region/region.h"

#define REGION_BYTES (1U << 20)

struct scene {
	struct fake *fake;
	char in[128], out[128];
	uint8_t *data;
	struct donard_copy_options options;
	struct donard_copy_result result;
};

/* Each as copy_setup() leaves it: nothing goes wrong. */
extern uint32_t played_route, played_flags, played_region_flags;
extern uint64_t played_region_bytes, played_available;
extern bool played_taking;
extern uint64_t played_left;
/* The next claims find their range taken. */
extern unsigned int played_busy_claims;
/* The longest piece of a region that a file owns without a gap; 0: no gaps. */
extern uint64_t played_piece_bytes;
/* A reset that the next barrier reports. */
extern bool played_reset;
/* How much of a region the CPU moves by one call, and after how many of these the device is reset; 0: never. */
extern size_t played_access_bytes;
extern unsigned int played_accesses_before_reset;
/* How often the device of each region was reset so far. */
extern uint64_t played_resets, played_folio_bytes;
extern bool played_removed;	/* the regions */
/* The backing file that every loop device with a node reports; inode 0: this user may not ask it. */
extern struct loop_info64 played_loop;
/* The region that is being taken away, if any. */
extern const char *played_gone;
/* A lossy route reports success without moving the bytes. */
extern bool played_lost_reads, played_lost_writes, played_failed_reads, played_failed_dram_writes;
/* The errno with which writes of a drive are refused, and which: the lowest bit stands for the next; the highest stays. */
extern int played_refused_writes;
extern uint32_t played_refused_turns;
/* Some of several paths lose reads: the lowest bit is for the next read into a region, and 1 means that it is lost. */
extern uint32_t played_lost_turns;
/* A route that fails; what else happens when a read fails. */
extern bool played_failed_direct_reads;
extern void (*played_at_failure)(void);
/* Another program that writes to the file's first block before each of so many reads. */
extern unsigned int played_writers;
/* A file system that does no direct I/O and does not say so; or another program that reads the file, once. */
extern bool played_fallback;
extern unsigned int played_readers;
/* Single reads and writes of drives, of or to DRAM. */
extern size_t dram_transfers;

int copy_setup(void **state);
int copy_teardown(void **state);
/* Both skip the test where no file of it can be copied. */
int copy(struct scene *scene, const char *src, const char *dst);
struct donard_file *open_file(struct scene *scene, const char *path, unsigned int flags);
/* @data NULL: zeros. */
void write_file(const char *path, const uint8_t *data, size_t bytes);
void assert_file(const char *path, const uint8_t *data, size_t bytes);
void read_through_cache(int fd);

#define CASE(name) cmocka_unit_test_setup_teardown(name, copy_setup, copy_teardown)

#endif /* COPY_SCENE_H */
