// SPDX-License-Identifier: Apache-2.0
/* Whose failure it was: a side's, the region's, the caller's. */
#include "copy/copy.h"

static int gone(struct dnd_copy *copy)
{
	return dnd_region_access_failed(copy->ctx, dnd_copy_region(copy), ENODEV);
}

int dnd_copy_failed(struct dnd_copy *copy, enum dnd_step step, uint64_t offset, int error_number)
{
	struct dnd_side *side = step == DND_STEP_WRITE ? &copy->dst : &copy->src;

	if (error_number == ECANCELED && copy->region_lost)
		return gone(copy);
	if (error_number == ECANCELED)
		return dnd_fail(copy->ctx, DND_E_CANCELED, "stopped");
	if (step == DND_STEP_RING)
		return dnd_fail_errno(copy->ctx, error_number, "%s failed in mid copy",
				      copy->transfer.aio ? "Linux AIO" : "io_uring");
	if (dnd_copy_region_gone(copy))
		return gone(copy);
	if (step == DND_STEP_CPU)
		return dnd_region_access_failed(copy->ctx, dnd_copy_region(copy), error_number);
	side->join.bounced = copy->bounced;
	return dnd_join_failed(&side->join, step == DND_STEP_WRITE, side->offset + offset,
			       error_number, copy->nvme_status);
}

int dnd_copy_no_spare(struct dnd_copy *copy)
{
	const char *region = dnd_copy_region(copy)->name;

	if (dnd_copy_region_gone(copy))
		return gone(copy);
	if (dnd_region_persistent(dnd_copy_region(copy)))
		return dnd_fail(copy->ctx, DND_E_NO_SPACE, "%s: the last block of the copy is "
				"partial, and no block of %s, which is persistent memory, is used to "
				"merge it with what %s holds. Use a options.length_bytes that is a multiple of %u.",
				copy->dst.label, region, copy->dst.label, copy->align);
	return dnd_fail(copy->ctx, DND_E_NO_SPACE, "%s: the last block of the copy is partial, "
			"and %s has no spare block in which to merge it with what %s holds. Use a "
			"options.length_bytes that is a multiple of %u, or free some of the region.",
			copy->dst.label, region, copy->dst.label, copy->align);
}
