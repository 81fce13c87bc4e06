// SPDX-License-Identifier: Apache-2.0
/* Claims two ranges, of one region or of two. */
#include <fcntl.h>
#include <unistd.h>

#include "memory/memory.h"

/*
 * @low owns the bytes of both, and all between them.  @high becomes memory of the same open file, under the number of its own
 * descriptor, because others have copies of its record (struct dnd_region).
 */
static int own_in_one_file(struct donard_memory *low, uint64_t low_offset, struct donard_memory *high, uint64_t high_offset,
			   uint64_t length)
{
	uint64_t granule = low->region.info.granule_bytes;
	uint64_t start = dnd_round_down(high_offset, granule), end = dnd_round_up(high_offset + length, granule);
	int rc;

	/* It may have been removed, and @low be of one that was added again by that name. */
	if (dnd_region_called_back(&high->region))
		return dnd_region_access_failed(high->ctx, &high->region, ENODEV);
	rc = dnd_memory_own(low, low_offset, high_offset + length - low_offset);
	if (rc)
		return rc;
	low->length = high->length = length;
	if (dup3(low->region.fd, high->region.fd, O_CLOEXEC) < 0)
		return dnd_fail_errno(high->ctx, errno, "%s: its descriptor cannot be duplicated", high->region.name);
	return dnd_region_map(high->ctx, &high->region, start, end - start, high_offset - start, &high->window);
}

static int own_in_order(struct donard_memory *low, uint64_t low_offset, struct donard_memory *high, uint64_t high_offset,
			uint64_t length)
{
	const struct p2pmem_info *info = &low->region.info;
	uint64_t unit = dnd_max(info->granule_bytes, info->folio_bytes);
	int rc;

	if (dnd_round_up(low_offset + length, unit) > dnd_round_down(high_offset, unit))
		return own_in_one_file(low, low_offset, high, high_offset, length);
	rc = dnd_memory_own(low, low_offset, length);
	return rc ? rc : dnd_memory_own(high, high_offset, length);
}

int dnd_memory_own_two(struct donard_memory *a, uint64_t a_offset, struct donard_memory *b, uint64_t b_offset, uint64_t length)
{
	int rc;

	if (!a->window.data && !b->window.data && !strcmp(a->region.name, b->region.name))
		return a_offset <= b_offset ? own_in_order(a, a_offset, b, b_offset, length) :
					      own_in_order(b, b_offset, a, a_offset, length);
	rc = dnd_memory_own(a, a_offset, length);
	return rc ? rc : dnd_memory_own(b, b_offset, length);
}
