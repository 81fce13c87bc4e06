// SPDX-License-Identifier: Apache-2.0
/* Makes memory handles, and frees them. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "memory/memory.h"

static int no_length(struct donard_context *ctx, const char *name)
{
	return dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_LEAST("length", 0, 1),
			       "%s: no memory has a length of 0.", name);
}

struct donard_memory *dnd_memory_new(struct donard_context *ctx, const char *name)
{
	struct donard_memory *memory = calloc(1, sizeof(*memory));

	if (!memory) {
		dnd_fail_memory(ctx);
		return NULL;
	}
	dnd_handle_init(&memory->handle);
	dnd_handle_made(DND_A_MEMORY, memory, ctx);
	memory->pages = DONARD_PAGES_DEVICE;
	memory->ctx = ctx;
	memory->region.fd = -1;
	memory->dmabuf.fd = -1;
	snprintf(memory->region.name, sizeof(memory->region.name), "%s", name);
	return memory;
}

int dnd_memory_give(struct donard_memory *memory, int rc, struct donard_memory **out)
{
	if (rc) {
		donard_memory_free(memory);
		return rc;
	}
	memory->resets = memory->region.info.resets;
	*out = memory;
	return 0;
}

/* --- DRAM --- */

static int map_dram(struct donard_memory *memory, uint64_t length)
{
	uint64_t bytes = dnd_round_up(length, (uint64_t)sysconf(_SC_PAGESIZE));
	char limit[DND_LIMIT_BYTES];
	void *map = MAP_FAILED;

	errno = ENOMEM;
	if (bytes >= length && bytes <= SIZE_MAX)
		map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED && dnd_map_limit(errno, bytes, true, limit, sizeof(limit)))
		return dnd_fail(memory->ctx, DND_E_NO_MEMORY, "dram: %llu bytes of memory cannot be allocated: %s, or ask for less.",
				(unsigned long long)length, limit);
	if (map == MAP_FAILED)
		return dnd_fail(memory->ctx, DND_E_NO_MEMORY, "dram: %llu bytes of memory cannot be "
				"allocated. Ask for less.", (unsigned long long)length);
	memory->pages = DONARD_PAGES_HOST;
	memory->window.map = memory->window.data = map;
	memory->window.map_bytes = bytes;
	memory->length = length;
	return 0;
}

DND_PUBLIC int donard_memory_dram(struct donard_context *ctx, uint64_t length_bytes,
				  struct donard_memory **memory_out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_memory *memory;

	if (!length_bytes)
		return no_length(ctx, "dram");
	memory = dnd_memory_new(ctx, "dram");
	if (!memory)
		return -ENOMEM;
	return dnd_memory_give(memory, map_dram(memory, length_bytes), memory_out);
}

/*
 * Pages that are not there yet, and those of a process in a sandbox, are of no known kind; then the mapping has to tell.
 * Returns 1, 0, or -errno without a text.
 */
static int is_of_device(const struct donard_context *ctx, const uint8_t *address)
{
	enum donard_memory_pages kind = dnd_pages_behind(address, 1);

	if (kind == DONARD_PAGES_DEVICE || kind == DONARD_PAGES_HOST)
		return kind == DONARD_PAGES_DEVICE;
	return dnd_mapping_is_of_device(ctx, address);
}

static int check_host(struct donard_context *ctx, const uint8_t *first, uint64_t length)
{
	int rc = is_of_device(ctx, first);

	if (!rc)
		rc = is_of_device(ctx, first + length - 1);
	if (rc < 0)
		return dnd_fail_errno(ctx, rc, "/proc/self/maps, which says whether the %llu bytes at address %p are memory of a "
				      "device, cannot be read", (unsigned long long)length, (const void *)first);
	if (rc)
		return dnd_fail(ctx, DND_E_UNREACHABLE, "the %llu bytes at address %p are memory of a device, and no "
				"route can be judged by such an address. Use donard_memory_adopt() or "
				"donard_memory_from_dmabuf().", (unsigned long long)length, (const void *)first);
	return 0;
}

/* The program owns the mapping: map_bytes stays 0, so that freeing the handle unmaps nothing. */
DND_PUBLIC int donard_memory_from_host(struct donard_context *ctx, void *address,
				       uint64_t length_bytes, struct donard_memory **memory_out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_memory *memory;
	int rc;

	if (!length_bytes)
		return no_length(ctx, "memory of the program");
	if (!address || length_bytes > UINTPTR_MAX - (uintptr_t)address)
		return dnd_fail_member(ctx, DND_E_BAD_OPTION, !address ? DND_VALUE("address", 0) :
				       DND_MOST("length", length_bytes, UINTPTR_MAX - (uintptr_t)address),
				       "%llu bytes at address %p are not memory of the "
				       "program.", (unsigned long long)length_bytes, address);
	rc = check_host(ctx, address, length_bytes);
	if (rc)
		return rc;
	memory = dnd_memory_new(ctx, "dram");
	if (!memory)
		return -ENOMEM;
	memory->pages = DONARD_PAGES_HOST;
	memory->window.map = memory->window.data = address;
	memory->length = length_bytes;
	*memory_out = memory;
	return 0;
}

/* --- memory of a region --- */

static int past_end(const struct donard_memory *memory, uint64_t offset, uint64_t length)
{
	return dnd_fail_member(memory->ctx, DND_E_PAST_END, dnd_past_end(offset, length, memory->region.info.region_bytes),
			       "%s: %llu bytes from offset %llu go past its "
			       "end, which is at %llu. Use a smaller length or offset.",
			       memory->region.name, (unsigned long long)length, (unsigned long long)offset,
			       (unsigned long long)memory->region.info.region_bytes);
}

int dnd_memory_open(struct donard_context *ctx, const char *region, struct donard_memory **out)
{
	struct donard_memory *memory = dnd_memory_new(ctx, "");

	if (!memory)
		return -ENOMEM;
	return dnd_memory_give(memory, dnd_region_open(ctx, region, &memory->region), out);
}

int dnd_memory_own(struct donard_memory *memory, uint64_t offset, uint64_t length)
{
	if (memory->window.data)
		return 0;
	memory->length = length;
	return dnd_region_claim(memory->ctx, &memory->region, offset, length, &memory->window);
}

int dnd_memory_try_own(struct donard_memory *memory, uint64_t offset, uint64_t length)
{
	memory->length = length;
	return dnd_region_try_claim(&memory->region, offset, length, &memory->window);
}

int dnd_memory_own_any(struct donard_memory *memory, uint64_t length)
{
	memory->length = length;
	return dnd_region_scratch(memory->ctx, &memory->region, length, &memory->window);
}

DND_PUBLIC int donard_memory_alloc(struct donard_context *ctx, const char *region,
				   uint64_t length_bytes, struct donard_memory **memory_out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_memory *memory;
	int rc;

	if (!length_bytes)
		return no_length(ctx, region);
	rc = dnd_memory_open(ctx, region, &memory);
	return rc ? rc : dnd_memory_give(memory, dnd_memory_own_any(memory, length_bytes), memory_out);
}

static int claim(struct donard_memory *memory, uint64_t offset, uint64_t length)
{
	uint64_t size = memory->region.info.region_bytes;

	if (offset >= size)
		return past_end(memory, offset, length);
	if (!length)
		length = size - offset;
	if (!dnd_range_fits(offset, length, size))
		return past_end(memory, offset, length);
	return dnd_memory_own(memory, offset, length);
}

DND_PUBLIC int donard_memory_claim(struct donard_context *ctx, const char *region,
				   uint64_t offset_bytes, uint64_t length_bytes,
				   struct donard_memory **memory_out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_memory *memory;
	int rc = dnd_memory_open(ctx, region, &memory);

	return rc ? rc : dnd_memory_give(memory, claim(memory, offset_bytes, length_bytes), memory_out);
}

/* --- memory that an open file owns --- */

static int refuse(struct donard_context *ctx, int fd)
{
	if (fcntl(fd, F_GETFD) < 0)
		return dnd_fail_member(ctx, DND_E_BAD_NAME, DND_AT("descriptor"), "descriptor %d is not open. Pass the descriptor of a "
				       "region before it is closed.", fd);
	return dnd_fail_member(ctx, DND_E_BAD_NAME, DND_AT("descriptor"), "descriptor %d is not a region's. Pass one of /dev/p2pmemN, "
			       "such as info.fd of another memory.", fd);
}

static int gone(struct donard_context *ctx, int fd)
{
	return dnd_fail(ctx, DND_E_REGION_GONE, "descriptor %d: the region that it was opened from went away, and its memory with it. "
			"Have the program that passed it on take memory again, and pass the new descriptor.", fd);
}

/* Is this the device number of a region's node?  Sysfs does not know the number any more once the region has ended. */
static bool is_of_module(dev_t device)
{
	FILE *devices = fopen("/proc/devices", "re");
	char line[128], name[32];
	unsigned int number;
	bool found = false;

	if (!devices)
		return false;
	/* Block devices, which come last, have numbers of their own. */
	while (!found && fgets(line, sizeof(line), devices) && strncmp(line, "Block", 5))
		found = sscanf(line, "%u %31s", &number, name) == 2 && number == major(device) && !strcmp(name, "p2pmem");
	fclose(devices);
	return found;
}

/* Does the region tell those who hold it of any of these: POLLPRI when it is called back, POLLHUP when it has ended? */
static bool tells(int fd, short events)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLPRI };

	return poll(&pollfd, 1, 0) == 1 && pollfd.revents & events;
}

/* A region whose number has no name (@named) any more is ending: its node is removed first. */
static bool has_gone(int fd, dev_t device, bool named)
{
	return named ? tells(fd, POLLHUP) : is_of_module(device) && tells(fd, POLLPRI | POLLHUP);
}

/*
 * Finds the region's name, as "p2pmem0", for a descriptor.  Issues no ioctl to a file that is not a region's.  Once the region
 * has ended, another region may have its number, and the name with it.
 */
static int name_of(struct donard_memory *memory, int fd)
{
	struct stat found;
	bool named;

	if (fstat(fd, &found))
		return refuse(memory->ctx, fd);
	named = dnd_region_of_node(memory->ctx, &found, memory->region.name);
	if (S_ISCHR(found.st_mode) && has_gone(fd, found.st_rdev, named))
		return gone(memory->ctx, fd);
	return named ? 0 : refuse(memory->ctx, fd);
}

/* Offsets in the file differ from those in the region, and may be larger. */
static int beyond_files(const struct donard_memory *memory, uint64_t offset, uint64_t length, uint64_t most)
{
	return dnd_fail_member(memory->ctx, DND_E_PAST_END, dnd_past_end(offset, length, most), "%s: %llu bytes from offset %llu are "
			       "more than a file has. Pass info.file_offset_bytes and info.length_bytes of the memory.",
			       memory->region.name, (unsigned long long)length, (unsigned long long)offset);
}

static int owns(struct donard_memory *memory, uint64_t start, uint64_t end)
{
	struct p2pmem_locate place = { .size = sizeof(place) };

	for (uint64_t at = start; at < end; at += place.length) {
		place.file_offset = at;
		if (ioctl(memory->region.fd, P2PMEM_IOC_LOCATE, &place))
			return errno == ENXIO ?
			       dnd_fail_member(memory->ctx, DND_E_PAST_END, DND_VALUE("offset", at),
					       "%s: that file owns nothing at "
					       "its offset %llu. If the memory came as a dma-buf, pass "
					       "on info.dmabuf_fd.", memory->region.name,
					       (unsigned long long)at) :
			       dnd_fail_errno(memory->ctx, errno, "%s: cannot be adopted",
					      memory->region.name);
	}
	return 0;
}

static int adopt(struct donard_memory *memory, int fd, uint64_t file_offset, uint64_t length)
{
	uint64_t granule, start, end;
	int rc = name_of(memory, fd);

	if (!rc)
		rc = dnd_region_adopt(memory->ctx, fd, &memory->region);
	if (rc)
		return rc;
	granule = memory->region.info.granule_bytes;
	if (!dnd_range_fits(file_offset, length, INT64_MAX - granule))
		return beyond_files(memory, file_offset, length, INT64_MAX - granule);
	start = dnd_round_down(file_offset, granule);
	end = dnd_round_up(file_offset + length, granule);
	memory->length = length;
	rc = owns(memory, start, end);
	return rc ? rc : dnd_region_map(memory->ctx, &memory->region, start, end - start,
					file_offset - start, &memory->window);
}

DND_PUBLIC int donard_memory_adopt(struct donard_context *ctx, int fd, uint64_t file_offset_bytes,
				   uint64_t length_bytes, struct donard_memory **memory_out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_memory *memory;

	if (!length_bytes)
		return no_length(ctx, "adopted memory");
	memory = dnd_memory_new(ctx, "");
	if (!memory)
		return -ENOMEM;
	return dnd_memory_give(memory, adopt(memory, fd, file_offset_bytes, length_bytes), memory_out);
}

void dnd_memory_put(struct donard_memory *memory)
{
	if (!memory || !dnd_handle_put(&memory->handle))
		return;
	dnd_window_unmap(&memory->window);
	dnd_region_close(&memory->region);
	dnd_dmabuf_close(&memory->dmabuf);
	if (memory->end)
		memory->end(memory->end_data);
	dnd_handle_free(memory, sizeof(*memory));
}

DND_PUBLIC void donard_memory_free(struct donard_memory *memory)
{
	DND_LETS_GO(MEMORY, memory);
	dnd_memory_put(memory);
}
