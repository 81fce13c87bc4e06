// SPDX-License-Identifier: Apache-2.0
/* What a memory is, and what became of its region. */
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "memory/memory.h"

static const char *const kinds[] = {
	[DONARD_MEMORY_DRAM] = "dram",
	[DONARD_MEMORY_REGION] = "region",
};

DND_PUBLIC const char *donard_memory_kind_text(enum donard_memory_kind kind)
{
	return (size_t)kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[kind] ? kinds[kind] : "unknown";
}

static void place_of(const struct donard_memory *memory, struct donard_memory_info *info)
{
	uint64_t granule = memory->region.info.granule_bytes;
	uint64_t skip = info->file_offset_bytes % granule;
	struct p2pmem_locate place = {
		.size = sizeof(place), .file_offset = info->file_offset_bytes - skip,
	};

	if (ioctl(memory->region.fd, P2PMEM_IOC_LOCATE, &place))
		return;
	info->region_offset_bytes = place.region_offset + skip;
	info->contiguous_bytes = dnd_min(place.length - skip, memory->length);
}

DND_PUBLIC int donard_memory_info(const struct donard_memory *memory,
				  struct donard_memory_info *info)
{
	struct donard_memory_info found = {
		.kind = dnd_memory_is_region(memory) ? DONARD_MEMORY_REGION : DONARD_MEMORY_DRAM,
		.fd = memory->region.fd,
		.region = dnd_memory_is_region(memory) ? memory->region.name : "",
		.bdf = memory->region.bdf,
		.address = memory->window.data,
		.unmapped = "",
		.length_bytes = memory->length,
		.align_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
		.contiguous_bytes = memory->length,
		.file_offset_bytes = dnd_memory_file_offset(memory),
		.persistent = dnd_region_persistent(&memory->region),
	};

	if (info->size < sizeof(info->size))
		return -EINVAL;
	if (dnd_memory_is_region(memory)) {
		found.align_bytes = memory->region.info.granule_bytes;
		place_of(memory, &found);
	}
	dnd_struct_give(info, &found, sizeof(found));
	return 0;
}

DND_PUBLIC enum donard_region_state donard_memory_state(const struct donard_memory *memory)
{
	struct p2pmem_status status = { .size = sizeof(status) };

	if (!dnd_memory_is_region(memory))
		return DONARD_STATE_READY;
	if (ioctl(memory->region.fd, P2PMEM_IOC_STATUS, &status))
		return DONARD_STATE_UNKNOWN;
	return status.state <= DONARD_STATE_GONE ? (enum donard_region_state)status.state :
						   DONARD_STATE_UNKNOWN;
}
