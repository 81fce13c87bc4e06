// SPDX-License-Identifier: Apache-2.0
/* Says what failed: a side, the region, or the caller's stop. */
#include "copy/copy.h"

/* Asks each region that takes part, because the kernel's COPY returns ENODEV for either of its two regions. */
static const struct dnd_region *find_gone(const struct dnd_copy *copy)
{
	const struct dnd_region *const regions[] = { &copy->src.region, &copy->via, &copy->dst.region };

	for (size_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++)
		if (dnd_region_called_back(regions[i]))
			return regions[i];
	return NULL;
}

bool dnd_copy_region_gone(const struct dnd_copy *copy)
{
	return find_gone(copy);
}

static int gone(struct dnd_copy *copy)
{
	const struct dnd_region *region = find_gone(copy);

	return dnd_region_access_failed(copy->ctx, region ? region : dnd_copy_region(copy), ENODEV);
}

/* The memory whose access failed.  ENXIO means that a GPU's memory was freed. */
static const struct donard_memory *accessed(const struct dnd_copy *copy, int error_number)
{
	return error_number == ENXIO && copy->dst.is_gpu && !copy->src.is_gpu ? copy->dst.memory : dnd_copy_memory(copy);
}

/* The errno that tells that the memory of an end was taken back, at or behind @offset, or 0. */
static int taken_back(const struct dnd_copy *copy, uint64_t offset)
{
	const struct dnd_side *side = copy->src.is_memory ? &copy->src : &copy->dst;

	if (!side->is_memory || copy->bounced)
		return 0;
	return dnd_memory_taken_back(side->memory, side->at + offset,
				     dnd_min(copy->plan.block_bytes, copy->length - offset));
}

int dnd_copy_failed(struct dnd_copy *copy, enum dnd_step step, uint64_t offset, int error_number)
{
	struct dnd_side *side = step == DND_STEP_WRITE ? &copy->dst : &copy->src;
	int taken;

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
		return dnd_memory_access_failed(accessed(copy, error_number), error_number);
	taken = error_number == EFAULT ? taken_back(copy, offset) : 0;
	if (taken)
		return dnd_memory_access_failed(dnd_copy_memory(copy), taken);
	side->join.bounced = copy->bounced;
	return dnd_join_failed(&side->join, step == DND_STEP_WRITE, side->offset + offset,
			       error_number, copy->nvme_status);
}
