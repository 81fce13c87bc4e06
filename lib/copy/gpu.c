// SPDX-License-Identifier: Apache-2.0
/*
 * gpu:N as a side of a copy.  The copy allocates its memory by CUDA, pins it into the
 * GPU's region, and frees it in the end.  In between it is a memory like any other, with
 * two differences: it has spare blocks of its own, and VERIFY reads it by the GPU's
 * copies (verify.c), which take another path than the drive's DMA.
 */
#include <stdlib.h>

#include "copy/copy.h"

#define FILL_BYTES	(4U << 20)

int dnd_copy_gpu_open(struct dnd_copy *copy, struct dnd_side *side, const struct dnd_spec *spec)
{
	int rc;

	side->is_gpu = true;
	if (side == &copy->src && !copy->options.length_bytes)
		return dnd_fail_member(copy->ctx, DND_E_BAD_OPTION, DND_AT("options.length_bytes"),
				       "%s: its memory is allocated for this copy and has no length "
				       "of its own. Say how much to copy with options.length_bytes.", side->label);
	rc = dnd_gpu_by_name(copy->ctx, spec, &side->gpu);
	return rc ? rc : dnd_gpu_bytes(copy->ctx, side->gpu, &side->size_bytes);
}

/*
 * Makes words that no drive holds by chance, and that differ between any two places and
 * any two fillings.  So the copy never mistakes bytes of an earlier copy for its own, be
 * they on the drive or in memory that CUDA hands out again.
 */
static void make_pattern(uint64_t *words, size_t count, uint64_t nonce, uint64_t first)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t word = nonce + (first + i) * 0x9e3779b97f4a7c15ULL;

		word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
		words[i] = word ^ word >> 27;
	}
}

/* Fills whole blocks, so that the bytes behind a partial last block are of the pattern, too. */
static int fill(struct dnd_copy *copy, const struct dnd_side *side)
{
	uint64_t length = dnd_round_up(copy->length, copy->align), nonce;
	uint64_t *words = malloc(FILL_BYTES);
	int rc = words ? 0 : dnd_fail_memory(copy->ctx);

	dnd_nonce(&nonce, sizeof(nonce));
	for (uint64_t at = 0; !rc && at < length; at += FILL_BYTES) {
		make_pattern(words, FILL_BYTES / sizeof(*words), nonce, at / sizeof(*words));
		rc = dnd_gpu_store(side->memory, side->at + at, words, dnd_min(FILL_BYTES, length - at));
		if (!rc && dnd_copy_progress(copy, DONARD_PHASE_COPY, 0, copy->length))
			rc = dnd_copy_failed(copy, DND_STEP_NONE, at, ECANCELED);
	}
	free(words);
	return rc;
}

/* A source needs bytes to copy; a destination with VERIFY needs other bytes than the source's before the copy. */
static bool needs_filling(const struct dnd_copy *copy, const struct dnd_side *side)
{
	return side == &copy->src || dnd_copy_flag(copy, DONARD_COPY_VERIFY);
}

int dnd_copy_gpu_alloc(struct dnd_copy *copy, struct dnd_side *side)
{
	uint64_t bytes = side->offset + dnd_round_up(copy->length, copy->align) + dnd_spare_bytes(copy->align);
	struct donard_memory *memory;
	uint64_t address;
	int rc;

	if (!side->is_gpu || side->memory)
		return 0;
	rc = donard_memory_alloc_cuda(copy->ctx, side->gpu, bytes, &address, &memory);
	if (rc)
		return rc;
	dnd_side_of_memory(copy, side, memory);
	side->at = side->offset;
	return needs_filling(copy, side) ? fill(copy, side) : 0;
}
