// SPDX-License-Identifier: Apache-2.0
/*
 * Each leg of a drive that is made of others has a route of its own, and its own
 * proof:
 *
 *   read:  a block of the leg is read from the leg's own device, which md and
 *          device-mapper leave open to readers.  Through the top it would not be
 *          known which leg of a mirror answers.
 *   write: nothing is written below md or device-mapper.  A nonce goes through
 *          the top to a block of what is written anyway which lies on that leg
 *          (drive/layout.c), and is read back from each leg that has a copy of it.
 *          Then the block gets again what it held.
 *
 * A leg that has left the array meanwhile needs no proof any more.
 *
 * What cannot be done leaves the route predicted: the user may not open the leg's
 * device, or the layout is not known (a far layout of raid10, raid0 of legs of
 * different sizes, a device-mapper table that only root may read, a hole of a
 * file, of which the file system says only after the write where it is).
 */
#include <stdio.h>
#include <stdlib.h>

#include "join/prove.h"

/* A file may have many extents: after so many looks nobody knows the rest. */
#define RUNS_MAX 4096

#define LEG_PATH_BYTES 512

/* A leg as a drive of its own, joined to the same region. */
struct alone {
	struct dnd_drive drive;
	struct dnd_join join;
	char path[LEG_PATH_BYTES];	/* "/dev/md0, leg nvme0n1 of md0" */
};

/* 1: it cannot be opened. */
static int open_alone(const struct dnd_join *join, size_t leg, struct alone *alone)
{
	char text[DND_LEG_TEXT_BYTES];
	int rc;

	snprintf(alone->path, sizeof(alone->path), "%.300s, %s", join->drive->path,
		 dnd_blockdev_leg_text(&join->drive->blockdev, leg, text));
	if (dnd_drive_open_leg(join->ctx, join->drive, leg, alone->path, &alone->drive))
		return 1;
	alone->join = *join;
	alone->join.drive = &alone->drive;
	alone->join.leg = 0;
	alone->join.cached = DND_CACHED_UNKNOWN;
	rc = dnd_join_probe(&alone->join);
	if (rc)
		dnd_drive_close(&alone->drive);
	return rc;
}

static int read_leg(struct dnd_join *join, size_t leg, const struct dnd_place *place, bool *proven)
{
	struct alone alone;
	struct dnd_proof proof = { 0 };
	int rc = open_alone(join, leg, &alone);

	if (rc) {
		*proven = false;
		return rc < 0 ? rc : 0;
	}
	/* Its middle: at the ends are md's superblocks, which md reads and writes. */
	proof.offset = dnd_round_down(alone.drive.size_bytes / 2, join->align);
	proof.blocks = (alone.drive.size_bytes - proof.offset) / join->align;
	rc = dnd_prove_read(&alone.join, &proof, place, proven);
	dnd_drive_close(&alone.drive);
	return rc;
}

static int prove_legs_read(struct dnd_join *join, const struct dnd_place *place, bool *proven)
{
	const struct dnd_blockdev *blockdev = &join->drive->blockdev;
	uint32_t wanted = dnd_blockdev_legs_in_use(blockdev) & ~join->legs.read;
	int rc = 0;

	for (size_t i = 0; !rc && i < dnd_blockdev_leg_count(blockdev); i++) {
		bool arrived = true;

		if (!(wanted & 1U << i))
			continue;
		rc = read_leg(join, i, place, &arrived);
		if (!rc && arrived)
			join->legs.read |= 1U << i;
		*proven = *proven && arrived;
	}
	return rc;
}

static uint32_t bits_of(const struct dnd_places *places)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < places->count; i++)
		bits |= 1U << places->copies[i].leg;
	return bits;
}

/*
 * From *offset on the first block that lies on a leg other than those @known, whole.
 * *all becomes false where bytes before it, or before the end, may lie on such a leg.
 */
static bool find_other(const struct dnd_drive *drive, uint32_t known, uint64_t block_bytes,
		       uint64_t *offset, uint64_t end, struct dnd_places *places, bool *all)
{
	uint32_t in_use = dnd_blockdev_legs_in_use(&drive->blockdev);

	for (int i = 0; in_use & ~known && *offset + block_bytes <= end; i++) {
		dnd_drive_locate(drive, *offset, places);
		*all = *all && places->count && i < RUNS_MAX;
		if (!places->run_bytes || i == RUNS_MAX)
			return false;
		if (bits_of(places) & ~known && places->run_bytes >= block_bytes)
			return true;
		*offset = dnd_round_up(*offset + dnd_min(places->run_bytes, end - *offset), block_bytes);
	}
	return false;
}

uint32_t dnd_join_legs_of(const struct dnd_drive *drive, uint64_t offset, uint64_t length, bool *all)
{
	uint64_t end = offset + length;
	struct dnd_places places;
	uint32_t bits = 0;

	while (find_other(drive, bits, 1, &offset, end, &places, all)) {
		bits |= bits_of(&places);
		offset += dnd_min(places.run_bytes, end - offset);
	}
	return bits;
}

/*
 * A leg may have failed, or a volume been moved, since the map was made: that the nonce is
 * not where it was to be is then no fault of the route.
 */
static bool is_outdated(const struct dnd_join *join, size_t leg, bool *proven)
{
	struct dnd_failure mismatch = dnd_failure_keep(join->ctx);
	int rc;

	if (dnd_drive_look_again(join->ctx, join->drive, &rc) == DND_UNCHANGED) {
		dnd_failure_put_back(join->ctx, &mismatch);
		return false;
	}
	*proven = *proven && dnd_blockdev_legs_left(&join->drive->blockdev) & 1U << leg;
	return true;
}

/* The nonce in trial->kept, from the leg's own device. */
static int see_on_leg(struct dnd_trial *top, const struct dnd_place_on_leg *copy,
		      const struct dnd_place *back, bool *proven)
{
	const struct dnd_proof proof = { .offset = copy->offset_bytes, .blocks = 1 };
	struct dnd_trial trial;
	struct alone alone;
	size_t got;
	int rc = open_alone(top->join, copy->leg, &alone);

	if (rc) {
		*proven = false;
		return rc < 0 ? rc : 0;
	}
	rc = dnd_trial_begin(&trial, &alone.join, &proof);
	if (!rc) {
		dnd_trial_fill_complement(&trial, top->kept);
		rc = dnd_trial_read_over(&trial, back, &got);
		if (!rc)
			rc = dnd_trial_compare(&trial, back, top->kept, top->join->align);
		dnd_trial_end(&trial);
	}
	dnd_drive_close(&alone.drive);
	if (!rc)
		top->join->legs.written |= 1U << copy->leg;
	return rc == -EBADMSG && is_outdated(top->join, copy->leg, proven) ? 0 : rc;
}

static int see_copies(struct dnd_trial *trial, const struct dnd_places *places,
		      const struct dnd_place *back, bool *proven)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < places->count; i++)
		if (!(trial->join->legs.written & 1U << places->copies[i].leg))
			rc = see_on_leg(trial, &places->copies[i], back, proven);
	return rc;
}

/* Out of the first of the two spare blocks; the other takes what is read. */
static int write_nonce(struct dnd_trial *trial, const struct dnd_places *places,
		       const struct dnd_place *spare, bool *proven)
{
	const struct dnd_place back = dnd_place_behind(spare, trial->join->align);
	size_t got;
	int rc;

	rc = dnd_trial_read_over(trial, &back, &got);
	if (!rc)
		rc = dnd_trial_load(trial, &back, trial->seen);
	if (rc)
		return rc;
	dnd_nonce(trial->kept, trial->join->align);
	rc = dnd_trial_store(trial, spare, trial->kept);
	if (rc)
		return rc;
	rc = dnd_trial_write(trial, spare);
	if (!rc)
		rc = see_copies(trial, places, &back, proven);
	return dnd_trial_put_back(trial, spare, rc);
}

static int write_leg(struct dnd_join *join, uint64_t offset, const struct dnd_places *places,
		     const struct dnd_place *spare, bool *proven)
{
	const struct dnd_proof proof = { .offset = offset, .blocks = 1 };
	struct dnd_trial trial;
	int rc = dnd_trial_begin(&trial, join, &proof);

	if (rc)
		return rc;
	rc = write_nonce(&trial, places, spare, proven);
	dnd_trial_end(&trial);
	return rc;
}

/* Each leg that may have been written to, now or before, and still is one. */
static bool all_written(const struct dnd_join *join)
{
	const struct dnd_blockdev *blockdev = &join->drive->blockdev;
	uint32_t met = join->legs.tried;

	if (join->legs.unknown)
		met |= dnd_blockdev_legs_in_use(blockdev);
	return !dnd_blockdev_is_replacing(blockdev) && !(met & ~join->legs.written & ~dnd_blockdev_legs_left(blockdev));
}

/* Of those that the proof's blocks are on. */
static int prove_legs_write(struct dnd_join *join, const struct dnd_proof *proof,
			    const struct dnd_place *spare, bool *proven)
{
	uint64_t offset = proof->offset, end = offset + proof->blocks * join->align;
	struct dnd_places places;
	bool all = true;
	int rc = 0;

	if (!join->drive->blockdev.stack)
		return 0;
	while (!rc && find_other(join->drive, join->legs.tried, join->align, &offset, end, &places, &all)) {
		rc = write_leg(join, offset, &places, spare, proven);
		join->legs.tried |= bits_of(&places);
		offset += join->align;
	}
	/* A leg may have less than a whole block of the range beside each other. */
	join->legs.tried |= dnd_join_legs_of(join->drive, proof->offset, end - proof->offset, &all);
	join->legs.unknown |= !all;
	*proven = *proven && all_written(join);
	return rc;
}

int dnd_join_prove_read(struct dnd_join *join, const struct dnd_proof *proof,
			const struct dnd_place *place, bool *proven)
{
	int rc = dnd_prove_read(join, proof, place, proven);

	if (!rc)
		rc = prove_legs_read(join, place, proven);
	join->proven = !rc && *proven;
	return rc;
}

int dnd_join_prove_write(struct dnd_join *join, const struct dnd_proof *proof,
			 const struct dnd_place *from, const struct dnd_place *spare, bool *proven)
{
	const struct dnd_place back = dnd_place_behind(spare, join->align);
	int rc = dnd_prove_write(join, proof, from, spare);

	if (!rc)
		rc = prove_legs_read(join, &back, proven);
	if (!rc)
		rc = prove_legs_write(join, proof, spare, proven);
	join->proven = !rc && *proven;
	return rc;
}
