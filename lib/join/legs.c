// SPDX-License-Identifier: Apache-2.0
/*
 * Each leg of a drive that is made of others has a route of its own, and a proof of
 * its own:
 *
 *   read:  the proof reads a block of the leg from the leg's own device, which md
 *          and device-mapper leave open to readers.  Through the topmost device it
 *          would not know which leg of a mirror answers.
 *   write: the proof writes nothing below md or device-mapper.  It writes a nonce
 *          through the topmost device, to a block of the destination that lies on
 *          the leg (drive/layout.c), and reads it back from each leg that has a copy.
 *          Then it puts back what the block held.
 *
 * A leg that has left the array meanwhile needs no proof any more.
 *
 * A route stays predicted if its proof is impossible: the user may not open the leg's
 * device, or the layout is not known.  That is so for a far layout of raid10, raid0 of
 * legs of different sizes, a device-mapper table that only root may read, and a hole of
 * a file, whose place on the drive the file system decides only at the write.
 */
#include <stdio.h>
#include <stdlib.h>

#include "join/prove.h"

/* A file may have many extents; after this many lookups the rest counts as unknown. */
#define RUNS_MAX 4096

#define LEG_PATH_BYTES 512

/* A leg as a drive of its own, joined to the same region. */
struct alone {
	struct dnd_drive drive;
	struct dnd_join join;
	char path[LEG_PATH_BYTES];	/* "/dev/md0, leg nvme0n1 of md0" */
};

/* Opens and probes a leg.  Returns 1 if this user may not open the leg, or it is gone; or -errno. */
static int open_alone(const struct dnd_join *join, size_t leg, struct alone *alone)
{
	char text[DND_LEG_TEXT_BYTES];
	int rc;

	snprintf(alone->path, sizeof(alone->path), "%.300s, %s", join->drive->path,
		 dnd_blockdev_leg_text(&join->drive->blockdev, leg, text));
	rc = dnd_drive_open_leg(join->ctx, join->drive, leg, alone->path, &alone->drive);
	if (rc)
		return dnd_error_is_want(rc) ? dnd_fail_errno(join->ctx, -rc, "%s: cannot be opened", alone->path) : 1;
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
	/* Read in the middle, because md keeps its superblocks at the ends, and reads and writes them. */
	proof.offset = dnd_round_down(alone.drive.size_bytes / 2, join->align);
	proof.blocks = (alone.drive.size_bytes - proof.offset) / join->align;
	rc = dnd_prove_read(&alone.join, &proof, place, proven);
	join->blamed |= alone.join.blamed;
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
 * Finds the first block from *offset on that lies, as a whole, on a leg that is not in @known.
 * *all becomes false if bytes that it passed over may lie on such a leg.
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
 * Does the block lie elsewhere?  The file system may have written it to another place than the one it reported before
 * (drive/locate.c), or moved it since.
 */
static bool lies_elsewhere(const struct dnd_trial *top, const struct dnd_place_on_leg *copy, enum dnd_change change)
{
	struct dnd_places now;

	dnd_drive_locate(top->join->drive, top->proof->offset, &now);
	for (size_t i = 0; i < now.count; i++)
		if (now.copies[i].leg == copy->leg && now.copies[i].offset_bytes == copy->offset_bytes)
			return false;
	return now.count || change != DND_UNCHANGED;
}

/*
 * The nonce is not on the leg.  Since the block was located, the leg may have failed, or a volume or the block may have been
 * moved.  Then the route is not at fault, and this returns 0.  Otherwise the mismatch stays the failure.  If the search for
 * such a change failed for lack of descriptors or memory, this returns that failure instead: it shows no change.
 */
static int excuse(const struct dnd_trial *top, const struct dnd_place_on_leg *copy, bool *proven)
{
	const struct dnd_join *join = top->join;
	struct dnd_failure mismatch = dnd_failure_keep(join->ctx);
	enum dnd_change change;
	bool has_left;
	int rc;

	change = dnd_drive_look_again(join->ctx, join->drive, &rc);
	if (dnd_error_is_want(rc))
		return rc;
	has_left = dnd_blockdev_legs_left(&join->drive->blockdev) & 1U << copy->leg;
	if (!has_left && change != DND_CHANGED && !lies_elsewhere(top, copy, change)) {
		dnd_failure_put_back(join->ctx, &mismatch);
		return -EBADMSG;
	}
	*proven = *proven && has_left;
	return 0;
}

/* Reads the nonce, which is in top->kept, back from the leg's own device. */
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
	top->join->blamed |= alone.join.blamed;
	dnd_drive_close(&alone.drive);
	if (!rc)
		top->join->legs.written |= 1U << copy->leg;
	return rc == -EBADMSG ? excuse(top, copy, proven) : rc;
}

struct look {
	const struct dnd_places *places;
	const struct dnd_place *back;	/* where to read */
	bool *proven;
};

static int see_copies(struct dnd_trial *trial, void *user)
{
	const struct look *look = user;
	int rc = 0;

	for (size_t i = 0; !rc && i < look->places->count; i++)
		if (!(trial->join->legs.written & 1U << look->places->copies[i].leg))
			rc = see_on_leg(trial, &look->places->copies[i], look->back, look->proven);
	return rc;
}

/* Writes from the first of the two spare blocks, and reads into the second. */
static int write_nonce(struct dnd_trial *trial, const struct dnd_places *places,
		       const struct dnd_place *spare, bool *proven)
{
	const struct dnd_place back = dnd_place_behind(spare, trial->join->align);
	struct look look = { places, &back, proven };
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
	rc = dnd_trial_write_and_see(trial, spare, see_copies, &look);
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

/* Is the route proven to each leg that may have been written to, now or before, and is still in use? */
static bool all_written(const struct dnd_join *join)
{
	const struct dnd_blockdev *blockdev = &join->drive->blockdev;
	uint32_t met = join->legs.tried;

	if (join->legs.unknown)
		met |= dnd_blockdev_legs_in_use(blockdev);
	return !dnd_blockdev_is_replacing(blockdev) && !(met & ~join->legs.written & ~dnd_blockdev_legs_left(blockdev));
}

/* Proves the routes to the legs that the proof's blocks lie on. */
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
	/* A leg may have no whole contiguous block of the range, so that the loop did not find it. */
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
