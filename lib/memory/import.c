// SPDX-License-Identifier: Apache-2.0
/*
 * Memory that came as a dma-buf.  A dma-buf of p2pmem is memory of its region.  The
 * region's open file serves routes, barriers and the news of a removal, but owns
 * nothing: the dma-buf keeps the memory, and is what this file maps.  For any other
 * exporter, only the mapping shows what kind of memory it is.
 */
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory/memory.h"

#define OUR_NAME	"p2pmem"

static int check_range(struct donard_memory *memory, uint64_t offset, uint64_t *length)
{
	uint64_t bytes = memory->dmabuf.bytes;

	if (!*length && offset < bytes)
		*length = bytes - offset;
	if (dnd_range_fits(offset, *length, bytes))
		return 0;
	return dnd_fail_member(memory->ctx, DND_E_PAST_END, dnd_past_end(offset, *length, bytes),
			       "%s: %llu bytes from offset %llu go past its end, which is at "
			       "%llu. Use a smaller length or offset.", memory->dmabuf.name, (unsigned long long)*length,
			       (unsigned long long)offset, (unsigned long long)bytes);
}

/* ---- the mapping ---- */

/* Maps whole pages, from the one that holds the first byte on. */
static int map(struct donard_memory *memory)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t start = dnd_round_down(memory->dmabuf_offset, page);
	uint64_t bytes = dnd_round_up(memory->dmabuf_offset + memory->length, page) - start;
	void *address = mmap(NULL, bytes, PROT_READ | (memory->dmabuf.writable ? PROT_WRITE : 0), MAP_SHARED,
			     memory->dmabuf.fd, (off_t)start);

	if (address == MAP_FAILED)
		return -errno;
	memory->window.map = address;
	memory->window.map_bytes = bytes;
	memory->window.file_offset = start;
	memory->window.data = memory->window.map + (memory->dmabuf_offset - start);
	return 0;
}

/* ---- a dma-buf of another exporter ---- */

static void unmapped(struct donard_memory *memory, int error_number)
{
	char limit[DND_LIMIT_BYTES];

	if (error_number == DND_KERNEL_ENOTSUPP)
		error_number = EOPNOTSUPP;
	if (dnd_map_limit(error_number, memory->length, false, limit, sizeof(limit))) {
		snprintf(memory->unmapped, sizeof(memory->unmapped), "%s", limit);
		return;
	}
	snprintf(memory->unmapped, sizeof(memory->unmapped), "its exporter does not map it (%s)",
		 strerror(error_number));
}

/* Never fails: memory that the CPU cannot map still serves devices that import it. */
static int take_foreign(struct donard_memory *memory)
{
	int rc = map(memory);

	memory->pages = DONARD_PAGES_NONE;
	if (rc)
		unmapped(memory, -rc);
	else if (!dnd_pages_are_frames(&memory->window))
		memory->pages = dnd_pages_behind(memory->window.data, memory->length);
	return 0;
}

/* ---- a dma-buf of a region ---- */

static bool is_ours(const struct dnd_dmabuf *dmabuf)
{
	size_t name = strlen(OUR_NAME);

	return !strncmp(dmabuf->exporter, OUR_NAME, name) &&
	       strspn(dmabuf->exporter + name, "0123456789") == strlen(dmabuf->exporter + name);
}

static int gone(const struct donard_memory *memory)
{
	return dnd_fail(memory->ctx, DND_E_REGION_GONE, "%s: the region was taken away, and its memory with it. "
			"Add it again, and export it again.", memory->dmabuf.name);
}

/* The export was revoked: with its region, or with GPU memory that the program freed. */
static int taken_back(const struct donard_memory *memory)
{
	if (!dnd_region_lost_memory(&memory->region))
		return gone(memory);
	return dnd_fail(memory->ctx, DND_E_REGION_GONE, "%s: " DND_REGION_LOST_MEMORY ". Export memory that lasts longer.",
			memory->dmabuf.name);
}

static int too_old(const struct donard_memory *memory)
{
	return dnd_fail(memory->ctx, DND_E_UNSUPPORTED, "%s: the loaded kernel module does not say which memory its "
			"dma-bufs have. Load the p2pmem of release %s or later, and export again.",
			memory->dmabuf.name, donard_version());
}

int dnd_memory_locate(const struct donard_memory *memory, uint64_t offset, struct p2pmem_locate_dmabuf *place)
{
	*place = (struct p2pmem_locate_dmabuf){
		.size = sizeof(*place), .dmabuf_fd = memory->dmabuf.fd, .offset = offset,
	};
	return ioctl(memory->region.fd, P2PMEM_IOC_LOCATE_DMABUF, place) ? -errno : 0;
}

/* EINVAL: another region may have taken the name meanwhile. */
static int locate_failed(const struct donard_memory *memory, int rc)
{
	if (rc == -ENOTTY)
		return too_old(memory);
	if (rc == -ENODEV)
		return taken_back(memory);
	if (rc == -EINVAL)
		return gone(memory);
	return dnd_fail_errno(memory->ctx, -rc, "%s: the kernel does not say where in the region it lies",
			      memory->dmabuf.name);
}

static int map_failed(const struct donard_memory *memory, int rc)
{
	char limit[DND_LIMIT_BYTES];

	if (dnd_map_limit(-rc, memory->length, false, limit, sizeof(limit)))
		return dnd_fail(memory->ctx, DND_E_NO_MEMORY, "%s: it cannot be mapped: %s.", memory->dmabuf.name, limit);
	return rc == -ENODEV ? taken_back(memory) :
			       dnd_fail_errno(memory->ctx, -rc, "%s: it cannot be mapped", memory->dmabuf.name);
}

static int take_ours(struct donard_memory *memory)
{
	struct p2pmem_locate_dmabuf place;
	int rc;

	if (!strcmp(memory->dmabuf.exporter, OUR_NAME))
		return too_old(memory);
	rc = dnd_region_open(memory->ctx, memory->dmabuf.exporter, &memory->region);
	if (rc)
		return dnd_failed_with(memory->ctx, DND_E_NO_SUCH_REGION) ||
		       dnd_failed_with(memory->ctx, DND_E_REGION_GONE) ? gone(memory) : rc;
	rc = dnd_memory_locate(memory, 0, &place);
	if (rc)
		return locate_failed(memory, rc);
	rc = map(memory);
	return rc ? map_failed(memory, rc) : 0;
}

/* ---- */

static int take(struct donard_memory *memory, int fd, uint64_t offset, uint64_t length)
{
	int rc = dnd_dmabuf_open(memory->ctx, fd, &memory->dmabuf);

	if (!rc)
		rc = check_range(memory, offset, &length);
	if (rc)
		return rc;
	memory->dmabuf_offset = offset;
	memory->length = length;
	return is_ours(&memory->dmabuf) ? take_ours(memory) : take_foreign(memory);
}

DND_PUBLIC int donard_memory_from_dmabuf(struct donard_context *ctx, int fd, uint64_t offset_bytes,
					 uint64_t length_bytes, struct donard_memory **memory_out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_memory *memory = dnd_memory_new(ctx, "");

	if (!memory)
		return -ENOMEM;
	return dnd_memory_give(memory, take(memory, fd, offset_bytes, length_bytes), memory_out);
}
