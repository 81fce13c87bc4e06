// SPDX-License-Identifier: Apache-2.0
/*
 * The CPU's way to a memory.  Of a region it is read() and write(), which fail
 * where a mapping that is revoked has SIGBUS.
 */
#include <unistd.h>

#include "memory/memory.h"

#define ZERO_BYTES	65536

int dnd_memory_check_range(const struct donard_memory *memory, uint64_t offset, uint64_t length)
{
	if (offset <= memory->length && length <= memory->length - offset)
		return 0;
	return dnd_fail(memory->ctx, DND_E_PAST_END, "%s: %llu bytes from offset %llu go past the end "
			"of the memory, which is at %llu.", dnd_memory_name(memory),
			(unsigned long long)length, (unsigned long long)offset,
			(unsigned long long)memory->length);
}

static int failed(const struct donard_memory *memory, int error_number)
{
	switch (error_number) {
	case ENODEV:
		return dnd_fail(memory->ctx, DND_E_REGION_GONE, "%s: the region was taken away. Add "
				"it again, and start again.", dnd_memory_name(memory));
	case EIO:
		return dnd_fail(memory->ctx, DND_E_DEVICE, "%s: the device was reset meanwhile: what "
				"was read or written may be lost. Do it again.", dnd_memory_name(memory));
	}
	return dnd_fail_errno(memory->ctx, error_number, "%s: its bytes cannot be accessed",
			      dnd_memory_name(memory));
}

/* A region's file takes or gives as much as it likes at a time. */
static int transfer_region(const struct donard_memory *memory, uint64_t offset, uint8_t *bytes,
			   size_t length, bool writes)
{
	off_t at = (off_t)(dnd_memory_file_offset(memory) + offset);
	int fd = memory->region.fd;

	while (length) {
		ssize_t moved = writes ? pwrite(fd, bytes, length, at) : pread(fd, bytes, length, at);

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved <= 0)
			return failed(memory, moved ? errno : EIO);
		bytes += moved;
		at += moved;
		length -= (size_t)moved;
	}
	return 0;
}

DND_PUBLIC int donard_memory_read(struct donard_memory *memory, uint64_t offset_bytes, void *to,
				  size_t length_bytes)
{
	int rc = dnd_memory_check_range(memory, offset_bytes, length_bytes);

	if (rc)
		return rc;
	if (dnd_memory_is_region(memory))
		return transfer_region(memory, offset_bytes, to, length_bytes, false);
	memcpy(to, memory->window.data + offset_bytes, length_bytes);
	return 0;
}

DND_PUBLIC int donard_memory_write(struct donard_memory *memory, uint64_t offset_bytes,
				   const void *from, size_t length_bytes)
{
	int rc = dnd_memory_check_range(memory, offset_bytes, length_bytes);

	if (rc)
		return rc;
	if (dnd_memory_is_region(memory))	/* which only reads them */
		return transfer_region(memory, offset_bytes, (uint8_t *)(uintptr_t)from, length_bytes,
				       true);
	memcpy(memory->window.data + offset_bytes, from, length_bytes);
	return 0;
}

DND_PUBLIC int donard_memory_zero(struct donard_memory *memory, uint64_t offset_bytes,
				  uint64_t length_bytes)
{
	static const uint8_t zeros[ZERO_BYTES];
	int rc = dnd_memory_check_range(memory, offset_bytes, length_bytes);

	for (uint64_t done = 0; done < length_bytes && !rc; done += sizeof(zeros))
		rc = donard_memory_write(memory, offset_bytes + done, zeros,
					 dnd_min(length_bytes - done, sizeof(zeros)));
	return rc;
}

DND_PUBLIC int donard_memory_sync(struct donard_memory *memory, unsigned int flags)
{
	if (flags & ~DONARD_SYNC_DURABLE)
		return dnd_fail(memory->ctx, DND_E_BAD_OPTION, "unknown sync flags %#x.",
				flags & ~DONARD_SYNC_DURABLE);
	if (flags & DONARD_SYNC_DURABLE && !dnd_region_persistent(&memory->region))
		return dnd_fail(memory->ctx, DND_E_UNSUPPORTED, "%s: its memory is volatile, and nothing "
				"makes it durable. Use a persistent region, or a drive.",
				dnd_memory_name(memory));
	if (dnd_memory_is_region(memory))
		return dnd_region_sync(memory->ctx, &memory->region, flags & DONARD_SYNC_DURABLE);
	__sync_synchronize();
	return 0;
}
