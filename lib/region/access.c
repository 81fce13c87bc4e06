// SPDX-License-Identifier: Apache-2.0
/*
 * The CPU's access to a region's memory by read() and write(), which fail where a
 * revoked mapping would raise SIGBUS; and to a dma-buf's memory, which fails likewise.
 */
#include <sys/ioctl.h>
#include <unistd.h>

#include "region/region.h"

#define COMPARE_BYTES	4096	/* on the stack, which may be small in a program of many threads */
#define ZERO_BYTES	65536
#define CALL_BYTES	0x7ffff000	/* what the kernel moves in one call at most (MAX_RW_COUNT) */

struct dnd_place dnd_place_in(const struct dnd_region *region, const struct dnd_window *window,
			      uint8_t *address)
{
	return (struct dnd_place){
		.region = region,
		.address = address,
		.file_offset = window->file_offset + (uint64_t)(address - window->map),
	};
}

struct dnd_place dnd_place_behind(const struct dnd_place *place, uint64_t bytes)
{
	return (struct dnd_place){
		.region = place->region,
		.dmabuf = place->dmabuf,
		.address = place->address + bytes,
		.file_offset = place->file_offset + bytes,
	};
}

/* Returns how many bytes it moved, maybe 0; or -errno. */
static ssize_t move_some(const struct dnd_place *place, uint8_t *bytes, size_t length, bool writes)
{
	int fd = place->region->fd;
	off_t at = (off_t)place->file_offset;
	ssize_t moved = writes ? pwrite(fd, bytes, length, at) : pread(fd, bytes, length, at);

	if (moved < 0)
		return errno == EINTR ? 0 : -errno;
	return moved ? moved : -ENXIO;	/* the file has nothing there any more */
}

static int move_all(const struct dnd_place *place, uint8_t *bytes, size_t length, bool writes)
{
	ssize_t moved;

	for (size_t done = 0; done < length; done += (size_t)moved) {
		struct dnd_place here = dnd_place_behind(place, done);

		moved = move_some(&here, bytes + done, length - done, writes);
		if (moved < 0)
			return (int)moved;
	}
	return 0;
}

static int count_resets(const struct dnd_region *region, uint64_t *resets)
{
	struct p2pmem_info info = { .size = sizeof(info) };

	if (ioctl(region->fd, P2PMEM_IOC_INFO, &info))
		return -errno;
	*resets = info.resets;
	return 0;
}

/* Fails if the device was reset since @before was counted: neither of two calls reports a reset between them. */
static int check_count(const struct dnd_region *region, uint64_t before)
{
	uint64_t after = 0;
	int rc = count_resets(region, &after);

	if (rc)
		return rc;
	return before == after ? 0 : -EIO;
}

/*
 * A single call that moves everything reports a reset during it.  If it moves less, as after a signal, everything is moved
 * again.
 */
static int transfer(const struct dnd_place *place, uint8_t *bytes, size_t length, bool writes)
{
	ssize_t moved = length && length <= CALL_BYTES ? move_some(place, bytes, length, writes) : 0;
	uint64_t before = 0;
	int rc;

	if (moved < 0)
		return (int)moved;
	if ((size_t)moved == length)
		return 0;
	rc = count_resets(place->region, &before);
	if (!rc)
		rc = move_all(place, bytes, length, writes);
	return rc ? rc : check_count(place->region, before);
}

static int move_mapped(const struct dnd_place *place, uint8_t *bytes, size_t length, bool writes)
{
	return writes ? dnd_dmabuf_store(place->dmabuf, place->address, bytes, length) :
			dnd_dmabuf_load(place->dmabuf, place->address, bytes, length);
}

/*
 * The dma-buf's calls fail while a device is away or is being reset; the counts show a reset that happened in
 * between.  The calls also report, once, a reset before this call, which dnd_region_sync() reports as well; hence the
 * second try after -EIO.
 */
static int transfer_mapped(const struct dnd_place *place, uint8_t *bytes, size_t length, bool writes)
{
	uint64_t before = 0;
	int rc;

	if (!place->region)
		return move_mapped(place, bytes, length, writes);
	rc = count_resets(place->region, &before);
	if (!rc)
		rc = move_mapped(place, bytes, length, writes);
	if (rc == -EIO)
		rc = move_mapped(place, bytes, length, writes);
	return rc ? rc : check_count(place->region, before);
}

int dnd_place_load(const struct dnd_place *place, void *to, size_t bytes)
{
	if (place->dmabuf)
		return transfer_mapped(place, to, bytes, false);
	if (place->region)
		return transfer(place, to, bytes, false);
	memcpy(to, place->address, bytes);
	return 0;
}

int dnd_place_store(const struct dnd_place *place, const void *from, size_t bytes)
{
	if (place->dmabuf)	/* neither this nor the file modifies @from */
		return transfer_mapped(place, (uint8_t *)(uintptr_t)from, bytes, true);
	if (place->region)
		return transfer(place, (uint8_t *)(uintptr_t)from, bytes, true);
	memcpy(place->address, from, bytes);
	return 0;
}

static int store_zeros(const struct dnd_place *place, uint64_t bytes)
{
	static const uint8_t zeros[ZERO_BYTES];
	int rc = 0;

	for (uint64_t done = 0; done < bytes && !rc; done += sizeof(zeros)) {
		struct dnd_place here = dnd_place_behind(place, done);

		rc = dnd_place_store(&here, zeros, dnd_min(bytes - done, sizeof(zeros)));
	}
	return rc;
}

int dnd_place_zero(const struct dnd_place *place, uint64_t bytes)
{
	uint64_t before = 0;
	int rc;

	if (!place->region || bytes <= ZERO_BYTES)
		return store_zeros(place, bytes);
	rc = count_resets(place->region, &before);
	if (!rc)
		rc = store_zeros(place, bytes);
	return rc ? rc : check_count(place->region, before);
}

int dnd_place_move(const struct dnd_place *to, const struct dnd_place *from, uint64_t bytes)
{
	struct p2pmem_copy copy = {
		.size = sizeof(copy),
		.from_fd = from->region->fd,
		.to_offset = to->file_offset,
		.from_offset = from->file_offset,
		.length = bytes,
	};

	return ioctl(to->region->fd, P2PMEM_IOC_COPY, &copy) ? -errno : 0;
}

static int compare(const struct dnd_place *place, const void *with, size_t bytes, size_t *where)
{
	const uint8_t *right = with;
	uint8_t line[COMPARE_BYTES];

	for (size_t at = 0; at < bytes; at += sizeof(line)) {
		struct dnd_place here = dnd_place_behind(place, at);
		size_t part = dnd_min(bytes - at, sizeof(line));
		int rc = dnd_place_load(&here, line, part);

		if (rc)
			return rc;
		if (!memcmp(line, right + at, part))
			continue;
		for (*where = at; line[*where - at] == right[*where]; (*where)++)
			;
		return 1;
	}
	return 0;
}

int dnd_place_compare(const struct dnd_place *place, const void *with, size_t bytes, size_t *where)
{
	uint64_t before = 0;
	int rc, differs;

	if (!place->region || bytes <= COMPARE_BYTES)
		return compare(place, with, bytes, where);
	rc = count_resets(place->region, &before);
	if (rc)
		return rc;
	differs = compare(place, with, bytes, where);
	if (differs < 0)
		return differs;
	rc = check_count(place->region, before);
	return rc ? rc : differs;
}

int dnd_region_access_failed(struct donard_context *ctx, const struct dnd_region *region,
			     int error_number)
{
	if (error_number == ENODEV && dnd_region_lost_memory(region))
		error_number = ENXIO;
	switch (error_number) {
	case ENODEV:
		return dnd_fail(ctx, DND_E_REGION_GONE, "%s: the region went away. Add it again, and "
				"start again.", region->name);
	case ENXIO:
		if (region->info.kind != P2PMEM_KIND_GPU_NVIDIA)
			break;
		return dnd_fail(ctx, DND_E_REGION_GONE, "%s: " DND_REGION_LOST_MEMORY ". Free it after the donard memory.",
				region->name);
	case EIO:
		return dnd_fail(ctx, DND_E_DEVICE, "%s: the device was reset meanwhile: what was read or "
				"written may be lost. Do it again.", region->name);
	case EREMOTEIO:
		return dnd_fail(ctx, DND_E_DEVICE, "%s: writes by other devices cannot be made visible to the GPU "
				"(cuFlushGPUDirectRDMAWrites() failed, or the memory was freed). Look at the GPU's state and its "
				"driver's log, and write it again.", region->name);
	}
	return dnd_fail_errno(ctx, error_number, "%s: its bytes cannot be accessed", region->name);
}

int dnd_place_failed(struct donard_context *ctx, const struct dnd_place *place, const struct dnd_region *region,
		     int error_number)
{
	if (place->dmabuf && dnd_dmabuf_is_forbidden(error_number))
		return dnd_dmabuf_forbidden(ctx, error_number, region->name);
	return dnd_region_access_failed(ctx, region, error_number);
}
