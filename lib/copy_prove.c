// SPDX-License-Identifier: Apache-2.0
/*
 * A predicted route may still lose the data without an error (an emulated
 * IOMMU, a bridge that drops).  So one block goes ahead of the copy and is
 * compared with what a DRAM buffer sees of it:
 *
 *   read:  the memory is filled with a nonce, the drive's block is read into
 *          it, and read once more into DRAM; both must be equal.
 *   write: a nonce (from a spare block of the region, else the payload's
 *          first block) is written to the place of the first block and read
 *          back into DRAM.  If it did not arrive the old block is put back.
 */
#include <stdlib.h>
#include <unistd.h>

#include "copy.h"
#include "memory.h"

/* DRAM for a proof: a nonce, what came back, and what was there before. */
struct proof {
	uint8_t *nonce, *seen, *old;
	void *memory;
};

static int proof_init(struct dnd_copy *copy, struct proof *proof)
{
	if (posix_memalign(&proof->memory, dnd_max(4096, copy->align), 3ULL * copy->align))
		return dnd_fail_memory(copy->ctx);
	memset(proof->memory, 0, 3ULL * copy->align);
	proof->nonce = proof->memory;
	proof->seen = proof->nonce + copy->align;
	proof->old = proof->seen + copy->align;
	dnd_memory_nonce(proof->nonce, copy->align);
	return 0;
}

static int not_delivered(struct dnd_copy *copy, const char *label)
{
	return dnd_fail(copy->ctx, DND_E_NOT_DELIVERED, "%s: the DMA reported success but the data "
			"did not arrive: %s does not really reach %s (an emulated IOMMU, or a "
			"bridge that drops peer-to-peer writes). Put both below one PCIe switch "
			"without such an IOMMU, or pass --allow-bounce.", label,
			copy->route_client, dnd_copy_region(copy)->bdf);
}

static int compared(struct dnd_copy *copy, const char *label, int difference)
{
	if (difference < 0)
		return dnd_copy_failed(copy, DND_STEP_CPU, 0, -difference);
	return difference ? not_delivered(copy, label) : 0;
}

static int prove_read(struct dnd_copy *copy, struct proof *proof, uint8_t *place)
{
	struct dnd_side *src = &copy->src;
	ssize_t direct, dram;
	size_t where;
	int rc = dnd_memory_copy(place, proof->nonce, copy->align);

	if (rc)
		return dnd_copy_failed(copy, DND_STEP_CPU, 0, -rc);
	direct = pread(src->drive.fd, place, copy->align, (off_t)src->offset);
	if (direct < 0)
		return dnd_copy_failed(copy, DND_STEP_READ, 0, errno);
	dram = pread(src->drive.fd, proof->seen, copy->align, (off_t)src->offset);
	if (dram != direct)
		return dnd_copy_failed(copy, DND_STEP_READ, 0, dram < 0 ? errno : EIO);
	return compared(copy, src->label,
			dnd_memory_compare(place, proof->seen, (size_t)dram, &where));
}

static void put_back(struct dnd_copy *copy, struct proof *proof, ssize_t old_bytes)
{
	struct dnd_side *dst = &copy->dst;

	if (old_bytes == (ssize_t)copy->align &&
	    pwrite(dst->drive.fd, proof->old, copy->align, (off_t)dst->offset) < 0)
		return;	/* the failure that led here is the one to report */
}

static int write_and_compare(struct dnd_copy *copy, struct proof *proof, const uint8_t *place)
{
	struct dnd_side *dst = &copy->dst;
	off_t offset = (off_t)dst->offset;
	size_t where;

	if (pwrite(dst->drive.fd, place, copy->align, offset) != (ssize_t)copy->align)
		return dnd_copy_failed(copy, DND_STEP_WRITE, 0, errno);
	if (pread(dst->drive.fd, proof->seen, copy->align, offset) != (ssize_t)copy->align)
		return dnd_copy_failed(copy, DND_STEP_WRITE, 0, errno);
	return compared(copy, dst->label,
			dnd_memory_compare(place, proof->seen, copy->align, &where));
}

static int prove_write(struct dnd_copy *copy, struct proof *proof, uint8_t *place, bool is_spare)
{
	struct dnd_side *dst = &copy->dst;
	ssize_t old_bytes = pread(dst->drive.fd, proof->old, copy->align, (off_t)dst->offset);
	int rc = is_spare ? dnd_memory_copy(place, proof->nonce, copy->align) : 0;

	if (rc)
		return dnd_copy_failed(copy, DND_STEP_CPU, 0, -rc);
	rc = write_and_compare(copy, proof, place);
	if (rc)
		put_back(copy, proof, old_bytes);
	return rc;
}

/* Equal bytes prove nothing when the lost data would look the same. */
static bool telling(const struct dnd_copy *copy, const struct proof *proof)
{
	return memcmp(proof->seen, proof->seen + 1, copy->align - 1) != 0 &&
	       memcmp(proof->seen, proof->old, copy->align) != 0;
}

static int prove_both(struct dnd_copy *copy, struct proof *proof, bool *proven)
{
	bool in_place = copy->plan.full_bytes != 0;	/* a whole block to play with */
	uint8_t *place = copy->spare;
	int rc = 0;

	*proven = true;
	if (!copy->src.is_region) {
		if (!place && in_place)
			place = copy->dst.window.data;
		if (place)
			rc = prove_read(copy, proof, place);
		else
			*proven = false;
	}
	if (rc || copy->dst.is_region)
		return rc;
	if (!in_place) {
		*proven = false;
		return 0;
	}
	rc = prove_write(copy, proof, copy->spare ? copy->spare : copy->src.window.data,
			 copy->spare != NULL);
	if (!copy->spare && !telling(copy, proof))
		*proven = false;
	return rc;
}

int dnd_copy_prove(struct dnd_copy *copy)
{
	struct proof proof;
	bool proven;
	int rc;

	if (copy->bounced || (copy->src.is_region && copy->dst.is_region))
		return 0;
	rc = proof_init(copy, &proof);
	if (rc)
		return rc;
	rc = prove_both(copy, &proof, &proven);
	if (!rc && proven)
		copy->result->route_evidence = "proven";
	free(proof.memory);
	return rc;
}
