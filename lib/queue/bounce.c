// SPDX-License-Identifier: Apache-2.0
/*
 * Requests that go through DRAM, if the caller allows that.  If a request covers whole
 * blocks, it is a direct transfer of a buffer.  Any other request goes through the page
 * cache, which keeps the rest of its first and last block.  Later direct requests see
 * its bytes, because the kernel writes the pages back before them.  Those that are in
 * flight meanwhile do not get in its way (pages.c).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "queue/queue.h"

bool dnd_queue_request_is_aligned(const struct dnd_queue_request *request)
{
	const struct dnd_drive *drive = &request->file->drive;

	return !((request->file_offset | request->length) % drive->align_bytes) &&
	       !(dnd_memory_address(request->memory, request->memory_offset) % drive->memory_align_bytes);
}

/*
 * Opens the file again, without O_DIRECT.  The kernel must not read ahead: a page far from any request would keep what it had
 * before a direct write that is under way.
 */
static int open_plain(struct donard_queue *queue, struct donard_file *file)
{
	char path[64];

	if (file->plain_fd >= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->drive.fd);
	file->plain_fd = open(path, O_CLOEXEC | (file->drive.writable ? O_RDWR : O_RDONLY));
	if (file->plain_fd >= 0) {
		posix_fadvise(file->plain_fd, 0, 0, POSIX_FADV_RANDOM);
		return 0;
	}
	return dnd_fail_access(queue->ctx, errno, "Align the request, or open the file where it may be opened "
			       "again", "%s: cannot be opened without O_DIRECT", file->path);
}

bool dnd_queue_request_is_whole(const struct dnd_queue_request *request)
{
	return !((request->file_offset | request->length) % request->file->drive.align_bytes);
}

int dnd_queue_bounce_prepare(struct donard_queue *queue, struct dnd_queue_request *request)
{
	size_t align = dnd_max((size_t)sysconf(_SC_PAGESIZE), request->file->drive.align_bytes);
	struct dnd_place place;
	void *dram;
	int rc = dnd_memory_check_mapped(request->memory);

	if (rc)
		return rc;
	place = dnd_memory_place(request->memory, request->memory_offset);
	if (!dnd_queue_request_is_whole(request)) {
		rc = open_plain(queue, request->file);
		if (rc)
			return rc;
		request->fd = request->file->plain_fd;
		request->generic = NULL;
		/* Commands of another queue leave old bytes in clean pages, which this would find. */
		if (request->file->generic.fd >= 0)
			dnd_generic_drop_cached(&request->file->drive, request->file_offset, request->length);
	}
	if (posix_memalign(&dram, align, request->length))
		return dnd_fail_memory(queue->ctx);
	memset(dram, 0, request->length);	/* leave no old bytes behind those that are read */
	request->dram = dram;
	request->completion.route = DONARD_ROUTE_BOUNCED;
	request->completion.evidence = DONARD_EVIDENCE_PROVEN;	/* the queue itself bounces it */
	request->completion.flags |= DONARD_COMPLETION_BOUNCED;
	if (request->kind == DND_IO_WRITE)
		rc = dnd_place_load(&place, dram, request->length);
	return rc ? dnd_memory_access_failed(request->memory, -rc) : 0;
}

int64_t dnd_queue_bounce_deliver(struct dnd_queue_request *request, uint64_t moved)
{
	struct dnd_place place = dnd_memory_place(request->memory, request->memory_offset);
	int rc = 0;

	if (request->kind == DND_IO_READ)
		rc = dnd_place_store(&place, request->dram, moved);
	return rc ? dnd_memory_access_failed(request->memory, -rc) : (int64_t)moved;
}
