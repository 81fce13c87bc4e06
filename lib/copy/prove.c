// SPDX-License-Identifier: Apache-2.0
/*
 * A predicted route may still lose the data without an error (an emulated
 * IOMMU, a bridge that drops).  So one block goes ahead of the copy.  No DMA
 * touches DRAM for it: the CPU looks at the device memory by loads.
 *
 *   read:  the place, which is the destination's own or a spare block of
 *          staging memory, is filled with a nonce and the drive's block read over
 *          it, then with the complement of what is there now and read over
 *          again.  Both times the same bytes must be there: then the device
 *          wrote each of them, whatever they are.  And the page cache must not
 *          hold the block afterwards: else the file system read into DRAM, and
 *          the CPU wrote them (watch.c).
 *   write: the destination's first block is proven to read well into a spare
 *          block (copy/spare.c), which harms nothing.  Then the first block of the copy is
 *          written and read back over its own complement.  If the bytes would
 *          look the same without a write, a nonce takes their place; the copy
 *          writes over it.
 */
#include <stdlib.h>
#include <unistd.h>

#include "copy/copy.h"

#define LOOKS 3

/* DRAM of the CPU's side of a proof, a block each. */
struct proof {
	uint8_t *fill;		/* is in the place before a read */
	uint8_t *seen;		/* what a drive was seen to hold */
	uint8_t *kept;		/* what was in the place before, or shall be written */
	void *memory;
};

static int proof_init(struct dnd_copy *copy, struct proof *proof)
{
	proof->memory = calloc(3, copy->align);
	if (!proof->memory)
		return dnd_fail_memory(copy->ctx);
	proof->fill = proof->memory;
	proof->seen = proof->fill + copy->align;
	proof->kept = proof->seen + copy->align;
	return 0;
}

static int move(struct dnd_copy *copy, uint8_t *to, const uint8_t *from)
{
	int rc = dnd_memory_copy(to, from, copy->align);

	return rc ? dnd_copy_failed(copy, DND_STEP_CPU, 0, -rc) : 0;
}

static void fill_with_complement(struct dnd_copy *copy, struct proof *proof,
				 const uint8_t *expected)
{
	for (uint32_t i = 0; i < copy->align; i++)
		proof->fill[i] = (uint8_t)~expected[i];
}

static enum dnd_step step_of(const struct dnd_copy *copy, const struct dnd_side *side)
{
	return side == &copy->dst ? DND_STEP_WRITE : DND_STEP_READ;
}

/* A block of the drive into the place, with an eye on the page cache. */
static int read_watched(struct dnd_copy *copy, struct dnd_side *side, uint64_t offset,
			uint8_t *place, size_t *got)
{
	bool absent = dnd_copy_drop_cached(copy, side, offset);
	ssize_t bytes = pread(side->drive.fd, place, copy->align, (off_t)offset);

	if (bytes < 0)
		return dnd_copy_failed(copy, step_of(copy, side), offset - side->offset, errno);
	if (absent)
		dnd_copy_note_cached(copy, side, offset);
	*got = (size_t)bytes;
	return 0;
}

/* The drive's first block into the place, over proof->fill. */
static int read_over(struct dnd_copy *copy, struct proof *proof, struct dnd_side *side,
		     uint8_t *place, size_t *got)
{
	int rc = move(copy, place, proof->fill);

	return rc ? rc : read_watched(copy, side, side->offset, place, got);
}

static int compare(struct dnd_copy *copy, const struct dnd_side *side, const uint8_t *place,
		   const uint8_t *expected, size_t bytes, const char *consequence)
{
	char client[DND_ROUTE_NAME_BYTES], region[DND_ROUTE_NAME_BYTES];
	size_t where;
	int difference = dnd_memory_compare(place, expected, bytes, &where);

	if (difference < 0)
		return dnd_copy_failed(copy, DND_STEP_CPU, 0, -difference);
	if (!difference)
		return 0;
	return dnd_fail(copy->ctx, DND_E_NOT_DELIVERED, "%s: the DMA reported success but the data "
			"did not arrive: %s does not really reach %s (an emulated IOMMU, or a "
			"bridge that drops peer-to-peer traffic).%s Put both below one PCIe switch "
			"without such an IOMMU, or pass --allow-bounce.", side->label,
			dnd_copy_route_client(copy, client), dnd_copy_route_region(copy, region),
			consequence);
}

/* The kernel itself, not the drive, writes the zeros of a hole. */
static bool drive_holds(const struct dnd_copy *copy, const struct dnd_side *side)
{
	off_t data;

	if (!side->drive.is_file)
		return true;
	data = lseek(side->drive.fd, (off_t)side->offset, SEEK_DATA);
	return data >= 0 && (uint64_t)data < side->offset + copy->align;
}

/* Who came upon a reader of the same block looks at others, and leaves the first in the place. */
static int look_elsewhere(struct dnd_copy *copy, struct dnd_side *side, uint8_t *place)
{
	uint64_t blocks = copy->plan.full_bytes / copy->align, offset, random;
	size_t got;
	int rc = 0;

	for (int i = 0; !rc && i < LOOKS && blocks && side->cached == DND_CACHED_SEEN; i++) {
		dnd_memory_nonce(&random, sizeof(random));
		offset = side->offset + random % blocks * copy->align;
		rc = read_watched(copy, side, offset, place, &got);
	}
	if (!rc)
		rc = read_watched(copy, side, side->offset, place, &got);
	return rc ? rc : dnd_copy_seen_to_bounce(copy, side);
}

/* Leaves the drive's block in proof->seen. */
static int prove_read(struct dnd_copy *copy, struct proof *proof, struct dnd_side *side,
		      uint8_t *place, bool *proven)
{
	size_t first, second;
	int rc;

	dnd_memory_nonce(proof->fill, copy->align);
	rc = read_over(copy, proof, side, place, &first);
	if (!rc)
		rc = move(copy, proof->seen, place);
	if (rc)
		return rc;
	fill_with_complement(copy, proof, proof->seen);
	rc = read_over(copy, proof, side, place, &second);
	if (rc)
		return rc;
	if (first != second)
		return dnd_copy_failed(copy, step_of(copy, side), 0, EIO);
	if (side->cached == DND_CACHED_SEEN)
		rc = look_elsewhere(copy, side, place);
	if (rc)
		return rc;
	*proven = first && drive_holds(copy, side);
	return compare(copy, side, place, proof->seen, first, "");
}

/* Could a write that was lost leave the same bytes? */
static bool telling(const struct dnd_copy *copy, const uint8_t *bytes, const uint8_t *old)
{
	return memcmp(bytes, bytes + 1, copy->align - 1) != 0 &&
	       memcmp(bytes, old, copy->align) != 0;
}

/* What to write, in proof->kept; *from is the place of it in the region. */
static int choose_written(struct dnd_copy *copy, struct proof *proof, const uint8_t **from)
{
	int rc = move(copy, proof->kept, *from);

	if (rc || telling(copy, proof->kept, proof->seen))
		return rc;
	dnd_memory_nonce(proof->kept, copy->align);
	*from = copy->spare.blocks;
	return move(copy, copy->spare.blocks, proof->kept);
}

/* @from: the first block of the copy, in the region */
static int prove_write(struct dnd_copy *copy, struct proof *proof, const uint8_t *from)
{
	struct dnd_side *dst = &copy->dst;
	uint8_t *back = copy->spare.blocks + copy->align;
	ssize_t put;
	size_t got;
	bool ignored;
	int rc = prove_read(copy, proof, dst, back, &ignored);

	if (!rc)
		rc = choose_written(copy, proof, &from);
	if (rc)
		return rc;
	put = pwrite(dst->drive.fd, from, copy->align, (off_t)dst->offset);
	if (put != (ssize_t)copy->align)
		return dnd_copy_failed(copy, DND_STEP_WRITE, 0, put < 0 ? errno : EIO);
	fill_with_complement(copy, proof, proof->kept);
	rc = read_over(copy, proof, dst, back, &got);
	if (rc)
		return rc;
	return compare(copy, dst, back, proof->kept, copy->align, dst->drive.to_create ? "" :
		       " The first block of the destination was overwritten.");
}

/* A whole block at the place of byte @at of the copy is the destination's. */
bool dnd_copy_owns_block(const struct dnd_copy *copy, uint64_t at)
{
	const struct dnd_window *window = &copy->dst.window;

	return window->data + at + copy->align <= window->map + window->map_bytes;
}

/* In the destination itself; unless a copy is to follow there, it keeps what was there. */
static int prove_read_in_place(struct dnd_copy *copy, struct proof *proof, bool *proven)
{
	uint8_t *place = copy->dst.window.data;
	int rc = move(copy, proof->kept, place), back;

	if (rc)
		return rc;
	rc = prove_read(copy, proof, &copy->src, place, proven);
	if (!rc && copy->plan.full_bytes)
		return 0;
	back = move(copy, place, proof->kept);
	return rc ? rc : back;
}

/* A last block that goes past the destination needs spare blocks; who has none hears it now. */
static int check_last_block(struct dnd_copy *copy)
{
	if (!copy->plan.tail_bytes || dnd_copy_owns_block(copy, copy->plan.full_bytes))
		return 0;
	if (dnd_copy_spare_take(copy))
		return dnd_copy_no_spare(copy);
	dnd_spare_give(&copy->spare);
	return 0;
}

/*
 * Into a region.  A partial block leaves persistent bytes behind it alone: a
 * power cut might come between.
 */
static int prove_in_destination(struct dnd_copy *copy, struct proof *proof, bool *proven)
{
	int rc = check_last_block(copy);

	if (rc)
		return rc;
	if (copy->plan.full_bytes ||
	    (!dnd_region_persistent(&copy->dst.region) && dnd_copy_owns_block(copy, 0)))
		return prove_read_in_place(copy, proof, proven);
	*proven = false;
	return 0;
}

/* To a drive, from a region or by way of one. */
static int prove_with_spare(struct dnd_copy *copy, struct proof *proof, bool *proven)
{
	int rc = 0;

	if (!copy->src.is_region)
		rc = prove_read(copy, proof, &copy->src, copy->spare.blocks, proven);
	if (!rc && !copy->plan.full_bytes)
		*proven = false;
	else if (!rc)
		rc = prove_write(copy, proof, copy->src.is_region ? copy->src.window.data :
				 copy->spare.blocks);
	return rc;
}

/* Spare blocks are welcome, but a last block that is to be patched needs them. */
static int prove_to_drive(struct dnd_copy *copy, struct proof *proof, bool *proven)
{
	int rc;

	if (dnd_copy_spare_take(copy)) {
		*proven = false;
		return dnd_copy_patches(copy) ? dnd_copy_no_spare(copy) : 0;
	}
	rc = prove_with_spare(copy, proof, proven);
	dnd_spare_give(&copy->spare);
	return rc;
}

int dnd_copy_prove(struct dnd_copy *copy)
{
	struct proof proof;
	bool proven = true;
	int rc;

	if (copy->bounced || (copy->src.is_region && copy->dst.is_region))
		return 0;
	rc = proof_init(copy, &proof);
	if (rc)
		return rc;
	rc = copy->dst.is_region ? prove_in_destination(copy, &proof, &proven) :
				   prove_to_drive(copy, &proof, &proven);
	if (!rc && proven)
		copy->result->route_evidence = DONARD_EVIDENCE_PROVEN;
	free(proof.memory);
	return rc;
}
