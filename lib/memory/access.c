// SPDX-License-Identifier: Apache-2.0
/* The CPU's access to a memory: checks the range, and gives a failure its text. */
#include <unistd.h>

#include "memory/memory.h"

int dnd_memory_check_range(const struct donard_memory *memory, uint64_t offset, uint64_t length)
{
	if (offset <= memory->length && length <= memory->length - offset)
		return 0;
	return dnd_fail_member(memory->ctx, DND_E_PAST_END, dnd_past_end(offset, length, memory->length),
			       "%s: %llu bytes from offset %llu go past the end "
			       "of the memory, which is at %llu.", dnd_memory_name(memory),
			       (unsigned long long)length, (unsigned long long)offset,
			       (unsigned long long)memory->length);
}

int dnd_memory_check_mapped(const struct donard_memory *memory)
{
	if (memory->window.data)
		return 0;
	return dnd_fail(memory->ctx, DND_E_UNSUPPORTED, "%s: neither the CPU nor a drive's driver reaches it: %s. Let a "
			"device import the dma-buf, as donard_rdma_register() does, or use memory of a region.",
			dnd_memory_name(memory), memory->unmapped);
}

int dnd_memory_check_writable(const struct donard_memory *memory)
{
	if (!dnd_memory_is_imported(memory) || memory->dmabuf.writable)
		return 0;
	return dnd_fail(memory->ctx, DND_E_READ_ONLY, "%s: the dma-buf was exported O_RDONLY. Export it O_RDWR.",
			dnd_memory_name(memory));
}

/* Asks again, because another exporter may have replaced its pages since the import. */
static enum donard_memory_pages pages_now(const struct donard_memory *memory, uint64_t offset, uint64_t length)
{
	if (memory->pages != DONARD_PAGES_HOST || !dnd_memory_is_imported(memory))
		return memory->pages;
	return dnd_pages_behind(memory->window.data + offset, length);
}

static int nobody_may_ask(const struct donard_memory *memory, const char *call)
{
	return dnd_fail(memory->ctx, DND_E_UNREACHABLE, "%s: nobody knows whose its pages are, so that no route can be judged: %s, "
			"which would tell, is forbidden by a filter of this process (seccomp), or the kernel is built without it. Allow "
			"it, use memory of a region, or pass ALLOW_BOUNCE, which needs process_vm_readv().", dnd_memory_name(memory), call);
}

int dnd_memory_check_direct(const struct donard_memory *memory, uint64_t offset, uint64_t length)
{
	enum donard_memory_pages pages;
	const char *call;

	if (dnd_memory_is_region(memory))
		return 0;
	pages = pages_now(memory, offset, length);
	if (pages == DONARD_PAGES_HOST)
		return 0;
	if (pages == DONARD_PAGES_NONE && memory->pages == DONARD_PAGES_HOST)
		return dnd_memory_access_failed(memory, ENODEV);
	if (pages == DONARD_PAGES_NONE)
		return dnd_fail(memory->ctx, DND_E_UNSUPPORTED, "%s: its exporter maps it without struct pages, which "
				"the kernel needs to let a drive reach it. If it is memory of the host, use the "
				"program's own mapping (donard_memory_from_host()); else let a device import the "
				"dma-buf (donard_rdma_register()), or pass ALLOW_BOUNCE.", dnd_memory_name(memory));
	call = pages == DONARD_PAGES_UNKNOWN ? dnd_pages_forbidden_call() : NULL;
	if (call)
		return nobody_may_ask(memory, call);
	return dnd_fail(memory->ctx, DND_E_UNREACHABLE, "%s: its pages are a device's, or nobody knows whose, and its "
			"exporter does not say where they lie, so that no route can be judged. Use memory of a region, "
			"or pass ALLOW_BOUNCE.", dnd_memory_name(memory));
}

int dnd_memory_load(const struct donard_memory *memory, uint64_t offset, void *to, size_t bytes)
{
	struct dnd_place place = dnd_memory_place(memory, offset);

	return dnd_place_load(&place, to, bytes);
}

/* EFAULT is never the fault of the memory itself.  A region's file takes a device's memory as a buffer, too. */
static int buffer_failed(const struct donard_memory *memory)
{
	return dnd_fail_errno(memory->ctx, EFAULT, "%s: a part of the program's own buffer is not mapped%s. Use plain memory, as "
			      "malloc() returns it", dnd_memory_name(memory),
			      dnd_memory_is_imported(memory) ? ", or it is a device's memory" : "");
}

int dnd_memory_access_failed(const struct donard_memory *memory, int error_number)
{
	if (error_number == EFAULT)
		return buffer_failed(memory);
	if (dnd_memory_is_imported(memory) && dnd_dmabuf_is_forbidden(error_number))
		return dnd_dmabuf_forbidden(memory->ctx, error_number, dnd_memory_name(memory));
	if (dnd_memory_is_region(memory))
		return dnd_region_access_failed(memory->ctx, &memory->region, error_number);
	if (error_number == EIO)
		return dnd_fail(memory->ctx, DND_E_DEVICE, "%s: its exporter reports a failure of the device: what was read or "
				"written may be lost. Do it again.", dnd_memory_name(memory));
	if (error_number != ENODEV)
		return dnd_fail_errno(memory->ctx, error_number, "%s: its bytes cannot be accessed", dnd_memory_name(memory));
	return dnd_fail(memory->ctx, DND_E_REGION_GONE, "%s: its exporter took it back. Have it exported again.",
			dnd_memory_name(memory));
}

/*
 * Can the memory be taken back?  Of the regions, only a GPU's lose memory before they are removed.  The others are not asked: a
 * load might wait for a reset.
 */
static bool may_be_taken_back(const struct donard_memory *memory)
{
	if (dnd_memory_is_region(memory))
		return memory->region.info.kind == P2PMEM_KIND_GPU_NVIDIA;
	return dnd_memory_is_imported(memory);
}

/*
 * Memory that was taken back has no pages, without notice, and only an access by the CPU says why.  So it loads a byte of each
 * page.
 */
int dnd_memory_taken_back(const struct donard_memory *memory, uint64_t offset, uint64_t length)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = offset + length;
	int rc = 0;

	if (!memory->window.data || !may_be_taken_back(memory))
		return 0;
	for (uint64_t at = offset; at < end && !rc; at += page)
		rc = dnd_memory_load(memory, at, &(char){ 0 }, 1);
	if (!rc && length)
		rc = dnd_memory_load(memory, end - 1, &(char){ 0 }, 1);
	return rc == -ENODEV || rc == -ENXIO ? -rc : 0;
}

static int check(const struct donard_memory *memory, uint64_t offset, uint64_t length)
{
	int rc = dnd_memory_check_mapped(memory);

	return rc ? rc : dnd_memory_check_range(memory, offset, length);
}

DND_PUBLIC int donard_memory_read(struct donard_memory *memory, uint64_t offset_bytes, void *to,
				  size_t length_bytes)
{
	DND_USES(MEMORY, memory);
	int rc = check(memory, offset_bytes, length_bytes);

	if (rc)
		return rc;
	rc = dnd_memory_load(memory, offset_bytes, to, length_bytes);
	return rc ? dnd_memory_access_failed(memory, -rc) : 0;
}

static int check_store(const struct donard_memory *memory, uint64_t offset, uint64_t length)
{
	int rc = check(memory, offset, length);

	return rc ? rc : dnd_memory_check_writable(memory);
}

DND_PUBLIC int donard_memory_write(struct donard_memory *memory, uint64_t offset_bytes,
				   const void *from, size_t length_bytes)
{
	DND_USES(MEMORY, memory);
	struct dnd_place place;
	int rc = check_store(memory, offset_bytes, length_bytes);

	if (rc)
		return rc;
	place = dnd_memory_place(memory, offset_bytes);
	rc = dnd_place_store(&place, from, length_bytes);
	return rc ? dnd_memory_access_failed(memory, -rc) : 0;
}

DND_PUBLIC int donard_memory_zero(struct donard_memory *memory, uint64_t offset_bytes,
				  uint64_t length_bytes)
{
	DND_USES(MEMORY, memory);
	struct dnd_place place;
	int rc = check_store(memory, offset_bytes, length_bytes);

	if (rc)
		return rc;
	place = dnd_memory_place(memory, offset_bytes);
	rc = dnd_place_zero(&place, length_bytes);
	return rc ? dnd_memory_access_failed(memory, -rc) : 0;
}

/* SYNC tells an open file once of a reset, and other memories, also those of other processes, may have this file, too. */
static int barrier(struct donard_memory *memory, bool durable)
{
	int rc = dnd_region_sync(memory->ctx, &memory->region, durable);
	uint64_t resets;

	if (rc && rc != -EIO)
		return rc;
	resets = dnd_region_resets(&memory->region);
	/* The file was told now of a reset that this memory has told of. */
	if (rc && resets && resets == memory->resets)
		return dnd_region_sync(memory->ctx, &memory->region, durable);
	if (resets <= memory->resets)
		return rc;
	memory->resets = resets;
	return dnd_region_access_failed(memory->ctx, &memory->region, EIO);
}

int dnd_memory_barrier(struct donard_memory *memory, bool durable)
{
	int rc = barrier(memory, durable);

	return rc ? rc : dnd_memory_flush(memory);
}

DND_PUBLIC int donard_memory_sync(struct donard_memory *memory, unsigned int flags)
{
	DND_USES(MEMORY, memory);
	if (flags & ~DONARD_SYNC_DURABLE)
		return dnd_fail_member(memory->ctx, DND_E_BAD_OPTION, DND_VALUE("flags", flags & ~DONARD_SYNC_DURABLE),
				       "unknown sync flags %#x.",
				       flags & ~DONARD_SYNC_DURABLE);
	if (flags & DONARD_SYNC_DURABLE && !dnd_region_persistent(&memory->region))
		return dnd_fail(memory->ctx, DND_E_UNSUPPORTED, "%s: its memory is volatile, and nothing "
				"makes it durable. Use a persistent region, or a drive.",
				dnd_memory_name(memory));
	if (dnd_memory_is_region(memory))
		return dnd_memory_barrier(memory, flags & DONARD_SYNC_DURABLE);
	__sync_synchronize();
	if (dnd_memory_is_imported(memory)) {
		int rc = dnd_dmabuf_sync(&memory->dmabuf);

		return rc ? dnd_memory_access_failed(memory, -rc) : 0;
	}
	return 0;
}
