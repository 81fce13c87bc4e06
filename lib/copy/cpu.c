// SPDX-License-Identifier: Apache-2.0
/*
 * Copies from region to region.  No DMA engine lies between two BARs, so the CPU loads
 * and stores through its registers; no DRAM buffer is involved.
 */
#include "copy/copy.h"

int dnd_copy_cpu(struct dnd_copy *copy)
{
	/* If the destination lies higher and shares bytes with the source, copy from the end, like memmove(). */
	bool down = copy->shift_bytes > 0;
	uint64_t done = 0, part, at;
	int rc;

	while (done < copy->length) {
		struct dnd_place from, to;

		part = dnd_min(copy->options.block_bytes, copy->length - done);
		at = down ? copy->length - done - part : done;
		from = dnd_copy_place(&copy->src, at);
		to = dnd_copy_place(&copy->dst, at);
		copy->touched_from = down ? at : 0;
		copy->touched_end = down ? copy->length : done + part;
		rc = dnd_place_move(&to, &from, part);
		if (rc)
			return dnd_copy_failed(copy, DND_STEP_CPU, at, -rc);
		done += part;
		copy->result->bytes = down && done < copy->length ? 0 : done;
		if (dnd_copy_progress(copy, DONARD_PHASE_COPY, done, copy->length) && done < copy->length)
			return dnd_copy_failed(copy, DND_STEP_CPU, at, ECANCELED);
	}
	return 0;
}
