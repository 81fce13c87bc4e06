// SPDX-License-Identifier: Apache-2.0
/* Lets other devices use a memory: exports it as a dma-buf, and judges their routes to it. */
#include <fcntl.h>

#include "memory/memory.h"

static int only_regions(const struct donard_memory *memory, const char *why)
{
	return dnd_fail(memory->ctx, DND_E_UNSUPPORTED, "%s: %s", dnd_memory_name(memory), why);
}

static int check_part(const struct donard_memory *memory, uint64_t offset, uint64_t length)
{
	uint64_t granule = memory->region.info.granule_bytes;

	if (!length)	/* "up to the end", from the end on: the module would call that an invalid argument */
		return dnd_fail_member(memory->ctx, DND_E_PAST_END, dnd_past_end(offset, length, memory->length),
				       "%s: nothing is left to export from offset %llu on: the memory ends at %llu.",
				       dnd_memory_name(memory), (unsigned long long)offset, (unsigned long long)memory->length);
	if ((dnd_memory_file_offset(memory) + offset) % granule || length % granule)
		return dnd_fail_member(memory->ctx, DND_E_ALIGNMENT, length % granule ? DND_MULTIPLE("length", length, granule) :
				       DND_VALUE("offset", offset),
				       "%s: a dma-buf of %llu bytes from offset "
				       "%llu is not made of whole granules of %llu bytes.", dnd_memory_name(memory),
				       (unsigned long long)length, (unsigned long long)offset,
				       (unsigned long long)granule);
	return dnd_memory_check_range(memory, offset, length);
}

static int export_failed(const struct donard_memory *memory, int error_number)
{
	if (error_number == ENODEV)
		return dnd_fail(memory->ctx, DND_E_REGION_GONE, "%s: the region is being taken away, and "
				"no longer exports anything.", dnd_memory_name(memory));
	return dnd_fail_errno(memory->ctx, error_number, "%s: no dma-buf of it can be exported",
			      dnd_memory_name(memory));
}

DND_PUBLIC int donard_memory_export(struct donard_memory *memory, uint64_t offset_bytes,
				    uint64_t length_bytes, int flags, int *fd)
{
	DND_USES(MEMORY, memory);
	int rc;

	if (dnd_memory_is_imported(memory))
		return only_regions(memory, "it came as a dma-buf, and is not exported a second time. Pass that one "
				    "on (info.dmabuf_fd).");
	if (!dnd_memory_is_region(memory))
		return only_regions(memory, "plain memory has no dma-buf. Use memory of a region.");
	if (flags != O_RDWR && flags != O_RDONLY)
		return dnd_fail_member(memory->ctx, DND_E_BAD_OPTION, DND_VALUE("flags", (unsigned int)flags),
				       "export flags %#x are neither O_RDWR nor "
				       "O_RDONLY.", (unsigned int)flags);
	if (!length_bytes && offset_bytes < memory->length)
		length_bytes = memory->length - offset_bytes;
	rc = check_part(memory, offset_bytes, length_bytes);
	if (rc)
		return rc;
	rc = dnd_region_export(&memory->region, dnd_memory_file_offset(memory) + offset_bytes,
			       length_bytes, flags);
	if (rc < 0)
		return export_failed(memory, -rc);
	*fd = rc;
	return 0;
}

DND_PUBLIC int donard_memory_route(struct donard_memory *memory, const char *client_bdf,
				   struct donard_route *route)
{
	DND_USES(MEMORY, memory);
	struct donard_route found = { .size = sizeof(found) };
	int rc = dnd_struct_check(memory->ctx, route, "donard_route");

	if (rc)
		return rc;
	if (!dnd_memory_is_region(memory) && memory->pages != DONARD_PAGES_HOST)
		return only_regions(memory, "its exporter does not tell where it lies, so that no route can be "
				    "judged. Use memory of a region.");
	if (!dnd_memory_is_region(memory))
		return only_regions(memory, "each device reaches plain memory; there is no route to "
				    "judge.");
	rc = dnd_route_probe(memory->ctx, &memory->region, client_bdf, &found);
	if (!rc)
		dnd_struct_give(route, &found, sizeof(found));
	return rc;
}
