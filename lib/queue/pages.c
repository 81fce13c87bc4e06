// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps direct writes and requests through the page cache apart where they share a page.  A page that the kernel reads while
 * a direct write to it is under way has the old bytes of that write, and nobody reads it again: the next reader gets
 * them, or the kernel writes them back over the new ones.  The requests themselves have no byte in common, so the caller
 * did nothing wrong.  The later one waits here, before it is prepared, for the earlier one, which was prepared before and
 * waits for nobody but its device: the two never wait for each other.  Direct reads need not wait, because the kernel writes
 * pages back before them.
 */
#include <unistd.h>

#include "queue/queue.h"

static bool same_file(const struct dnd_drive *a, const struct dnd_drive *b)
{
	return a->device == b->device && a->is_file == b->is_file && (!a->is_file || a->inode == b->inode);
}

static bool share_pages(const struct dnd_queue_request *a, const struct dnd_queue_request *b)
{
	const struct dnd_drive *drive = &a->file->drive;
	uint64_t page = dnd_max((uint64_t)sysconf(_SC_PAGESIZE), dnd_max(drive->fs_block_bytes, drive->align_bytes));

	return same_file(drive, &b->file->drive) &&
	       dnd_round_down(a->file_offset, page) < dnd_round_up(b->file_offset + b->length, page) &&
	       dnd_round_down(b->file_offset, page) < dnd_round_up(a->file_offset + a->length, page);
}

static bool clash(const struct dnd_queue_request *a, const struct dnd_queue_request *b)
{
	bool whole = dnd_queue_request_is_whole(a);

	return whole != dnd_queue_request_is_whole(b) && (whole ? a : b)->kind == DND_IO_WRITE && share_pages(a, b);
}

static bool clashes(const struct donard_queue *queue, const struct dnd_queue_request *request)
{
	for (uint32_t i = 0; i < queue->options.depth; i++)
		if (queue->requests[i].parts && clash(request, &queue->requests[i]))
			return true;
	return false;
}

int dnd_queue_keep_apart(struct donard_queue *queue, const struct dnd_queue_request *request)
{
	int rc = 0;

	if (dnd_queue_request_is_whole(request) && request->kind != DND_IO_WRITE)
		return 0;
	while (!rc && clashes(queue, request)) {
		rc = dnd_ring_enter(&queue->ring, 1);
		dnd_queue_reap(queue);
		dnd_queue_tell(queue);
	}
	return rc ? dnd_queue_ring_failed(queue, rc) : 0;
}
