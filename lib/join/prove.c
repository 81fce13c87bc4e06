// SPDX-License-Identifier: Apache-2.0
/*
 * A predicted route may still lose the data without an error (an emulated
 * IOMMU, a bridge that drops).  So the proof moves one block ahead of the payload.
 * No DMA touches DRAM for it: the CPU looks at the device memory itself.
 *
 *   read:  the CPU fills the place, which is the destination or a spare block, with
 *          a nonce, and the drive's block is read over it.  Then the CPU fills it
 *          with the complement of what arrived, and the block is read again.  A byte
 *          that differs from what the CPU stored was written by the device.  If a
 *          byte happens to equal it, more nonces decide: the block may change
 *          meanwhile if it is in use, or two legs of a mirror answer that differ in
 *          bytes that were never written.  Afterwards the page cache must not hold
 *          the block: else the file system has read it into DRAM, and the CPU has
 *          copied it (cache.c).
 *   write: the proof first reads the destination's first block into a spare block
 *          (spare.c), which harms nothing.  Then it writes the payload's first block,
 *          and reads it back over its own complement.  If the bytes would look the
 *          same without a write, it writes a nonce instead.  In any case it then puts
 *          back what the destination held, so that a failure between proof and
 *          payload changes nothing.  Behind the end of a file there was nothing, and
 *          the payload's block stays there.
 */
#include <stdlib.h>
#include <unistd.h>

#include "join/prove.h"

#define LOOKS 3
#define READS 8	/* a byte equals by chance what the CPU stored in one read of 256 */
#define SURE_BYTES 8	/* this many bytes do not do so by chance */

int dnd_trial_begin(struct dnd_trial *trial, struct dnd_join *join, const struct dnd_proof *proof)
{
	trial->join = join;
	trial->proof = proof;
	if (posix_memalign(&trial->memory, dnd_max((size_t)sysconf(_SC_PAGESIZE), join->align),
			   4ULL * join->align))
		return dnd_fail_memory(join->ctx);
	memset(trial->memory, 0, 4ULL * join->align);
	trial->fill = trial->memory;
	trial->seen = trial->fill + join->align;
	trial->kept = trial->seen + join->align;
	trial->missing = trial->kept + join->align;
	return 0;
}

/* Turns -errno of an access to the place into a failure with a text.  A positive @rc is no failure. */
static int lost(struct dnd_trial *trial, const struct dnd_place *place, int rc)
{
	return rc < 0 ? dnd_place_failed(trial->join->ctx, place, trial->join->region, -rc) : 0;
}

int dnd_trial_load(struct dnd_trial *trial, const struct dnd_place *place, uint8_t *to)
{
	return lost(trial, place, dnd_place_load(place, to, trial->join->align));
}

int dnd_trial_store(struct dnd_trial *trial, const struct dnd_place *place, const uint8_t *from)
{
	return lost(trial, place, dnd_place_store(place, from, trial->join->align));
}

void dnd_trial_fill_complement(struct dnd_trial *trial, const uint8_t *expected)
{
	for (uint32_t i = 0; i < trial->join->align; i++)
		trial->fill[i] = (uint8_t)~expected[i];
}

static int failed(struct dnd_trial *trial, bool writes, uint64_t offset, int error_number)
{
	return dnd_join_failed(trial->join, writes, offset, error_number, 0);
}

/* Reads a block of the drive into the place, and checks whether the page cache then holds it. */
static int read_watched(struct dnd_trial *trial, uint64_t offset, const struct dnd_place *place, size_t *got)
{
	struct dnd_join *join = trial->join;
	bool absent = dnd_join_drop_cached(join, offset);
	ssize_t bytes = pread(join->drive->fd, place->address, join->align, (off_t)offset);

	if (bytes < 0)
		return failed(trial, false, offset, errno);
	if (absent)
		dnd_join_note_cached(join, offset);
	*got = (size_t)bytes;
	return 0;
}

/* Fills the place with trial->fill, and reads the proof's first block over it. */
int dnd_trial_read_over(struct dnd_trial *trial, const struct dnd_place *place, size_t *got)
{
	int rc = dnd_trial_store(trial, place, trial->fill);

	return rc ? rc : read_watched(trial, trial->proof->offset, place, got);
}

static int not_delivered(struct dnd_trial *trial)
{
	char client[DND_JOIN_NAME_BYTES], region[DND_JOIN_NAME_BYTES];

	return dnd_fail(trial->join->ctx, DND_E_NOT_DELIVERED, "%s: the DMA reported success but the data "
			"did not arrive: %s does not really reach %s (an emulated IOMMU, or a "
			"bridge that drops peer-to-peer traffic). Put both below one PCIe switch "
			"without such an IOMMU, or pass ALLOW_BOUNCE.", trial->join->drive->path,
			dnd_join_client_text(trial->join, client),
			dnd_join_region_text(trial->join, region));
}

int dnd_trial_compare(struct dnd_trial *trial, const struct dnd_place *place, const uint8_t *expected,
		      size_t bytes)
{
	size_t where;
	int difference = dnd_place_compare(place, expected, bytes, &where);

	return difference > 0 ? not_delivered(trial) : lost(trial, place, difference);
}

/* Does the block come from the drive?  The kernel itself writes the zeros of a hole. */
static bool drive_holds(const struct dnd_trial *trial)
{
	uint64_t offset = trial->proof->offset;

	return dnd_drive_has_data(trial->join->drive, offset, offset + trial->join->align);
}

/* Tries other blocks, because another program may have read this one.  Leaves the first block in the place. */
static int look_elsewhere(struct dnd_trial *trial, const struct dnd_place *place)
{
	const struct dnd_proof *proof = trial->proof;
	uint64_t offset, random;
	size_t got;
	int rc = 0;

	for (int i = 0; !rc && i < LOOKS && proof->blocks &&
	     trial->join->cached == DND_CACHED_SEEN; i++) {
		dnd_nonce(&random, sizeof(random));
		offset = proof->offset + random % proof->blocks * trial->join->align;
		rc = read_watched(trial, offset, place, &got);
	}
	if (!rc)
		rc = read_watched(trial, proof->offset, place, &got);
	return rc ? rc : dnd_join_seen_to_bounce(trial->join);
}

/*
 * Reads the drive's block over trial->fill, and then loads it into trial->seen.  It is a failure even if only one of
 * several reads delivers nothing, because another path or leg of a mirror may have served the other reads.
 */
static int look(struct dnd_trial *trial, const struct dnd_place *place, size_t *got)
{
	int rc = dnd_trial_read_over(trial, place, got);

	if (!rc)
		rc = dnd_trial_load(trial, place, trial->seen);
	if (!rc && *got >= SURE_BYTES && !memcmp(trial->seen, trial->fill, *got))
		rc = not_delivered(trial);
	return rc;
}

/* Reads once more, and counts in *left the bytes that no read has overwritten so far. */
static int look_once(struct dnd_trial *trial, const struct dnd_place *place, size_t *got, size_t *left)
{
	int rc = look(trial, place, got);

	*left = 0;
	for (size_t i = 0; !rc && i < *got; i++) {
		trial->missing[i] &= trial->seen[i] == trial->fill[i];
		*left += trial->missing[i];
	}
	return rc;
}

static int look_until_sure(struct dnd_trial *trial, const struct dnd_place *place, size_t *got, size_t *left)
{
	int rc;

	memset(trial->missing, 1, trial->join->align);
	dnd_trial_fill_complement(trial, trial->seen);
	rc = look_once(trial, place, got, left);
	for (int i = 2; !rc && *left && i < READS; i++) {
		dnd_nonce(trial->fill, trial->join->align);
		rc = look_once(trial, place, got, left);
	}
	return rc;
}

/* Leaves the drive's block in trial->seen.  *held is its length, which is less than a block at the end of a file. */
static int prove_read(struct dnd_trial *trial, const struct dnd_place *place, bool *proven, size_t *held)
{
	size_t left;
	int rc;

	dnd_nonce(trial->fill, trial->join->align);
	rc = look(trial, place, held);
	if (!rc)
		rc = look_until_sure(trial, place, held, &left);
	if (!rc && trial->join->cached == DND_CACHED_SEEN)
		rc = look_elsewhere(trial, place);
	if (rc)
		return rc;
	if (!*held || !drive_holds(trial))
		*proven = false;
	return left ? not_delivered(trial) : 0;
}

/* Would the bytes show that a write was lost?  Not if they are all the same, or are on the drive already. */
static bool telling(const struct dnd_trial *trial)
{
	return memcmp(trial->kept, trial->kept + 1, trial->join->align - 1) != 0 &&
	       memcmp(trial->kept, trial->seen, trial->join->align) != 0;
}

/* Chooses what to write: sets trial->kept, and *from to its place in the region. */
static int choose_written(struct dnd_trial *trial, const struct dnd_place **from,
			  const struct dnd_place *spare)
{
	int rc = dnd_trial_load(trial, *from, trial->kept);

	if (rc || telling(trial))
		return rc;
	dnd_nonce(trial->kept, trial->join->align);
	*from = spare;
	return dnd_trial_store(trial, spare, trial->kept);
}

int dnd_trial_write(struct dnd_trial *trial, const struct dnd_place *from)
{
	uint64_t offset = trial->proof->offset;
	ssize_t put = pwrite(trial->join->drive->fd, from->address, trial->join->align, (off_t)offset);

	if (put == (ssize_t)trial->join->align)
		return 0;
	return failed(trial, true, offset, put < 0 ? errno : DND_CUT_SHORT);
}

/* Says what became of a block that cannot be put back.  It is as before if the drive refused the first write as well. */
static void say_what_is_left(struct dnd_trial *trial)
{
	const struct dnd_drive *drive = trial->join->drive;
	const char *what = drive->is_file ? "file" : "drive";
	unsigned long long offset = trial->proof->offset;
	ssize_t got = pread(drive->fd, trial->fill, trial->join->align, (off_t)offset);

	if (got <= 0 || memcmp(trial->fill, trial->seen, (size_t)got))
		trial->join->spoilt_end = offset + trial->join->align;
	if (got <= 0)
		dnd_fail_more(trial->join->ctx, " A block of the %s to be written (offset %llu) may have been overwritten: it "
			      "cannot be written or read any more.", what, offset);
	else if (memcmp(trial->fill, trial->seen, (size_t)got))
		dnd_fail_more(trial->join->ctx, " A block of the %s to be written was overwritten (offset %llu), and could "
			      "not be put back.", what, offset);
	else
		dnd_fail_more(trial->join->ctx, " A write from DRAM fails as well, so that the route is not to blame; nothing was "
			      "changed.");
}

/* Writes the old block from DRAM, which does not depend on the route in question. */
static int put_back_from_dram(struct dnd_trial *trial)
{
	uint64_t offset = trial->proof->offset;
	ssize_t put = pwrite(trial->join->drive->fd, trial->seen, trial->join->align, (off_t)offset);

	return put == (ssize_t)trial->join->align ? 0 : -1;
}

/* Writes the old block by the route that was just proven. */
static int put_back_directly(struct dnd_trial *trial, const struct dnd_place *spare)
{
	int rc = dnd_trial_store(trial, spare, trial->seen);

	return rc ? rc : dnd_trial_write(trial, spare);
}

int dnd_trial_put_back(struct dnd_trial *trial, const struct dnd_place *spare, int rc)
{
	if (!rc)
		rc = put_back_directly(trial, spare);
	if (rc && put_back_from_dram(trial))
		say_what_is_left(trial);
	return rc;
}

/* Reads back the written block into the place @user, to see whether it is really on the drive. */
static int see_written(struct dnd_trial *trial, void *user)
{
	const struct dnd_place *back = user;
	size_t got;
	int rc;

	dnd_trial_fill_complement(trial, trial->kept);
	rc = dnd_trial_read_over(trial, back, &got);
	return rc ? rc : dnd_trial_compare(trial, back, trial->kept, trial->join->align);
}

/* Bytes that did not arrive, and bytes that another program has overwritten since, look alike. */
static int written_by_others(struct dnd_trial *trial)
{
	return dnd_fail(trial->join->ctx, DND_E_BUSY, "%s: the block at offset %llu did not stay what was written to prove the route, "
			"while another program wrote to it as well: its write may have changed the block, or the route may lose "
			"data. What it wrote to this block may be lost. Wait for that program, and try again.",
			trial->join->drive->path, (unsigned long long)trial->proof->offset);
}

/* The kernel counts no writes to this drive, so nothing shows whether another program wrote. */
static int nobody_counts(struct dnd_trial *trial, int rc)
{
	dnd_fail_more(trial->join->ctx, " Or another program wrote to the block at offset %llu meanwhile: nobody knows, since the kernel "
		      "counts no writes to %s (queue/iostats). If so, wait for that program, and try again.",
		      (unsigned long long)trial->proof->offset, trial->join->drive->blockdev.disk);
	return rc;
}

int dnd_trial_write_and_see(struct dnd_trial *trial, const struct dnd_place *from,
			    int (*see)(struct dnd_trial *trial, void *user), void *user)
{
	struct dnd_drive *drive = trial->join->drive;
	uint64_t mark = 0;
	int rc = 0;

	for (int i = 0; i < LOOKS; i++) {
		rc = dnd_trial_write(trial, from);
		if (rc)
			return rc;
		mark = dnd_drive_write_mark(trial->join->ctx, drive);
		rc = see(trial, user);
		if (rc != -EBADMSG || (mark && !dnd_drive_was_written(trial->join->ctx, drive, mark)))
			return rc;
	}
	return mark ? written_by_others(trial) : nobody_counts(trial, rc);
}

static int prove_write(struct dnd_trial *trial, const struct dnd_place *from, const struct dnd_place *spare)
{
	struct dnd_place back = dnd_place_behind(spare, trial->join->align);
	const struct dnd_place *payload = from;
	bool ignored = true;
	size_t held = 0;
	int rc = prove_read(trial, &back, &ignored, &held);

	if (!rc)
		rc = choose_written(trial, &from, spare);
	if (rc)
		return rc;
	rc = dnd_trial_write_and_see(trial, from, see_written, &back);
	if (!held)
		return rc || from == payload ? rc : dnd_trial_write(trial, payload);
	/* Bytes behind the end of a file read as zero. */
	memset(trial->seen + held, 0, trial->join->align - held);
	return dnd_trial_put_back(trial, spare, rc);
}

void dnd_trial_end(struct dnd_trial *trial)
{
	free(trial->memory);
}

int dnd_prove_read(struct dnd_join *join, const struct dnd_proof *proof,
		   const struct dnd_place *place, bool *proven)
{
	struct dnd_trial trial;
	size_t ignored;
	int rc = dnd_trial_begin(&trial, join, proof);

	if (rc)
		return rc;
	rc = prove_read(&trial, place, proven, &ignored);
	dnd_trial_end(&trial);
	return rc;
}

int dnd_prove_write(struct dnd_join *join, const struct dnd_proof *proof,
		    const struct dnd_place *from, const struct dnd_place *spare)
{
	struct dnd_trial trial;
	int rc = dnd_trial_begin(&trial, join, proof);

	if (rc)
		return rc;
	rc = prove_write(&trial, from, spare);
	dnd_trial_end(&trial);
	return rc;
}
