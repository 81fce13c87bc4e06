// SPDX-License-Identifier: Apache-2.0
/* Says what a memory is, and in which state its region is. */
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "memory/memory.h"

static const char *const kinds[] = {
	[DONARD_MEMORY_DRAM] = "dram",
	[DONARD_MEMORY_REGION] = "region",
	[DONARD_MEMORY_DMABUF] = "dma-buf",
};

static const char *const pages_words[] = {
	[DONARD_PAGES_NONE] = "none",
	[DONARD_PAGES_HOST] = "host",
	[DONARD_PAGES_DEVICE] = "device",
};

static const char *word_of(const char *const *words, size_t count, size_t value)
{
	return value < count && words[value] ? words[value] : "unknown";
}

DND_PUBLIC const char *donard_memory_kind_text(enum donard_memory_kind kind)
{
	return word_of(kinds, sizeof(kinds) / sizeof(kinds[0]), kind);
}

DND_PUBLIC const char *donard_memory_pages_text(enum donard_memory_pages pages)
{
	return word_of(pages_words, sizeof(pages_words) / sizeof(pages_words[0]), pages);
}

static int locate(const struct donard_memory *memory, uint64_t file_offset, struct dnd_run *run)
{
	struct p2pmem_locate_dmabuf dmabuf;
	struct p2pmem_locate file = { .size = sizeof(file), .file_offset = file_offset };
	int rc;

	if (dnd_memory_is_imported(memory)) {
		rc = dnd_memory_locate(memory, file_offset, &dmabuf);
		*run = (struct dnd_run){ dmabuf.region_offset, dmabuf.length };
		return rc;
	}
	rc = ioctl(memory->region.fd, P2PMEM_IOC_LOCATE, &file) ? -errno : 0;
	*run = (struct dnd_run){ file.region_offset, file.length };
	return rc;
}

int dnd_memory_run(const struct donard_memory *memory, uint64_t offset, struct dnd_run *run)
{
	uint64_t at = dnd_memory_file_offset(memory) + offset, skip = at % memory->region.info.granule_bytes;
	int rc = locate(memory, at - skip, run);

	if (rc || run->bytes <= skip)
		return rc ? rc : -ENXIO;
	run->region_offset += skip;
	run->bytes = dnd_min(run->bytes - skip, memory->length - offset);
	return 0;
}

/* If the region is being removed, nobody says where the memory lies; donard_memory_state() tells of the removal. */
static void place_of(const struct donard_memory *memory, struct donard_memory_info *info)
{
	struct dnd_run run;

	if (dnd_memory_run(memory, 0, &run))
		run = (struct dnd_run){ 0 };
	info->region_offset_bytes = run.region_offset;
	info->contiguous_bytes = run.bytes;
}

DND_PUBLIC int donard_memory_info(const struct donard_memory *memory,
				  struct donard_memory_info *info)
{
	DND_USES(MEMORY, memory);
	struct donard_memory_info found = {
		.kind = dnd_memory_is_region(memory) ? DONARD_MEMORY_REGION :
			dnd_memory_is_imported(memory) ? DONARD_MEMORY_DMABUF : DONARD_MEMORY_DRAM,
		.fd = memory->region.fd,
		.region = dnd_memory_is_region(memory) ? memory->region.name : "",
		.bdf = memory->region.bdf,
		.address = memory->window.data,
		.unmapped = memory->unmapped,
		.length_bytes = memory->length,
		.align_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
		.contiguous_bytes = memory->length,
		.file_offset_bytes = dnd_memory_is_imported(memory) ? 0 : dnd_memory_file_offset(memory),
		.persistent = dnd_region_persistent(&memory->region),
		.read_only = dnd_memory_is_imported(memory) && !memory->dmabuf.writable,
		.exporter = memory->dmabuf.exporter,
		.dmabuf_offset_bytes = memory->dmabuf_offset,
		.dmabuf_fd = memory->dmabuf.fd,
		.pages = memory->pages,
	};

	int rc = dnd_struct_check(memory->ctx, info, "donard_memory_info");

	if (rc)
		return rc;
	if (dnd_memory_is_region(memory)) {
		found.align_bytes = memory->region.info.granule_bytes;
		place_of(memory, &found);
	}
	dnd_struct_give(info, &found, sizeof(found));
	return 0;
}

DND_PUBLIC enum donard_region_state donard_memory_state(const struct donard_memory *memory)
{
	DND_DEMANDS(MEMORY, memory);
	struct p2pmem_status status = { .size = sizeof(status) };

	if (!dnd_memory_is_region(memory))
		return DONARD_STATE_READY;
	if (ioctl(memory->region.fd, P2PMEM_IOC_STATUS, &status))
		return DONARD_STATE_UNKNOWN;
	return status.state <= DONARD_STATE_GONE ? (enum donard_region_state)status.state :
						   DONARD_STATE_UNKNOWN;
}
