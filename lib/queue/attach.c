// SPDX-License-Identifier: Apache-2.0
/*
 * Memory that only a drive's driver can reach, by importing the dma-buf (ring/attach.c): that of another exporter, which maps
 * it without struct pages or not at all.  The first request between such a memory and a file attaches the one to the
 * other.  The queue then holds both, until the program unregisters the memory, closes the queue, or has given up either:
 * the exporter is to have its memory back without being told by anybody that the queue had it, too.
 */
#include <stdlib.h>

#include "queue/queue.h"

struct dnd_queue_attachment {
	struct dnd_attached attached;
	struct donard_memory *memory;
	struct donard_file *file;
	struct dnd_queue_attachment *next;
};

bool dnd_queue_may_attach(const struct donard_queue *queue, const struct donard_memory *memory)
{
	return dnd_memory_is_imported(memory) && !dnd_memory_is_region(memory) && memory->pages == DONARD_PAGES_NONE &&
	       !(queue->options.flags & DONARD_QUEUE_PASSTHROUGH);
}

const struct dnd_attached *dnd_queue_attached(const struct donard_queue *queue, const struct dnd_queue_request *request)
{
	for (const struct dnd_queue_attachment *attachment = queue->attachments; attachment; attachment = attachment->next)
		if (attachment->memory == request->memory && attachment->file == request->file)
			return &attachment->attached;
	return NULL;
}

bool dnd_queue_has_attached(const struct donard_queue *queue, const struct donard_memory *memory)
{
	for (const struct dnd_queue_attachment *attachment = queue->attachments; attachment; attachment = attachment->next)
		if (attachment->memory == memory)
			return true;
	return false;
}

static void add(struct donard_queue *queue, const struct dnd_queue_request *request, struct dnd_queue_attachment *attachment)
{
	attachment->memory = request->memory;
	attachment->file = request->file;
	dnd_handle_get(&request->memory->handle);
	dnd_handle_get(&request->file->handle);
	__atomic_add_fetch(&request->memory->attachments, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&request->file->attachments, 1, __ATOMIC_RELAXED);
	attachment->next = queue->attachments;
	queue->attachments = attachment;
}

/* Gives no reason if it fails: whatever it is, the memory then cannot be reached by the drive, as before. */
bool dnd_queue_attach(struct donard_queue *queue, const struct dnd_queue_request *request)
{
	struct dnd_queue_attachment *attachment;

	if (!dnd_queue_may_attach(queue, request->memory))
		return false;
	if (dnd_queue_attached(queue, request))
		return true;
	attachment = calloc(1, sizeof(*attachment));
	if (!attachment)
		return false;
	if (dnd_ring_attach(&queue->ring, request->memory->dmabuf.fd, request->file->drive.fd, &attachment->attached)) {
		free(attachment);
		return false;
	}
	add(queue, request, attachment);
	return true;
}

/* ---- the end ---- */

/* Takes the attachment out of the list at @link.  If the ring is this process's own, it has released the dma-buf before. */
static void forget(struct dnd_queue_attachment **link)
{
	struct dnd_queue_attachment *attachment = *link;

	*link = attachment->next;
	__atomic_sub_fetch(&attachment->memory->attachments, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&attachment->file->attachments, 1, __ATOMIC_RELAXED);
	dnd_memory_put(attachment->memory);
	dnd_file_put(attachment->file);
	free(attachment);
}

/* Does nobody but attachments hold one of the two?  Requests hold both until the program has taken their completions. */
static bool is_given_up(const struct dnd_queue_attachment *attachment)
{
	return !dnd_memory_users(attachment->memory) || !dnd_file_users(attachment->file);
}

static void detach(struct donard_queue *queue, struct dnd_queue_attachment **link)
{
	dnd_ring_detach(&queue->ring, &(*link)->attached);
	forget(link);
}

void dnd_queue_detach_given_up(struct donard_queue *queue)
{
	struct dnd_queue_attachment **link = &queue->attachments;

	while (*link) {
		if (is_given_up(*link))
			detach(queue, link);
		else
			link = &(*link)->next;
	}
}

void dnd_queue_detach(struct donard_queue *queue, const struct donard_memory *memory)
{
	struct dnd_queue_attachment **link = &queue->attachments;

	while (*link) {
		if (!memory || (*link)->memory == memory)
			detach(queue, link);
		else
			link = &(*link)->next;
	}
}

void dnd_queue_forget_attachments(struct donard_queue *queue)
{
	while (queue->attachments)
		forget(&queue->attachments);
}
