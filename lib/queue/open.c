// SPDX-License-Identifier: Apache-2.0
/* Opens and closes a queue, cancels requests, and reports. */
#include <stdlib.h>

#include "queue/queue.h"

#define DEFAULT_DEPTH	64
#define DEPTH_MAX	4096
#define KNOWN_FLAGS	(DONARD_QUEUE_ALLOW_BOUNCE | DONARD_QUEUE_ALLOW_UNLISTED | DONARD_QUEUE_PASSTHROUGH)

static int take_options(struct donard_queue *queue, const struct donard_queue_options *options)
{
	int rc = options ? DND_TAKE(queue->ctx, &queue->options, options, "donard_queue_options") : 0;

	if (rc)
		return rc;
	if (queue->options.flags & ~KNOWN_FLAGS)
		return dnd_fail_member(queue->ctx, DND_E_BAD_OPTION,
				       DND_VALUE("options.flags", queue->options.flags & ~KNOWN_FLAGS),
				       "unknown queue flags %#x.",
				       queue->options.flags & ~KNOWN_FLAGS);
	if (queue->options.depth > DEPTH_MAX)
		return dnd_fail_member(queue->ctx, DND_E_BAD_OPTION, DND_MOST("options.depth", queue->options.depth, DEPTH_MAX),
				       "a queue holds %d requests at most, not %u.",
				       DEPTH_MAX, queue->options.depth);
	if (!queue->options.depth)
		queue->options.depth = DEFAULT_DEPTH;
	return 0;
}

static int make_requests(struct donard_queue *queue)
{
	queue->requests = calloc(queue->options.depth, sizeof(*queue->requests));
	if (!queue->requests)
		return dnd_fail_memory(queue->ctx);
	for (uint32_t i = 0; i < queue->options.depth; i++)
		dnd_queue_request_recycle(queue, &queue->requests[i]);
	return 0;
}

static int open_ring(struct donard_queue *queue)
{
	bool commands = queue->options.flags & DONARD_QUEUE_PASSTHROUGH;
	int rc = dnd_ring_open(&queue->ring, queue->options.depth, DND_SLOTS_MAX, commands);

	if (rc)
		return dnd_fail_uring(queue->ctx, -rc, commands);
	if (queue->ring.aio)
		dnd_uring_refusal(queue->ring.refused, &queue->refusal);
	return 0;
}

static int open_queue(struct donard_queue *queue, const struct donard_queue_options *options)
{
	int rc = take_options(queue, options);

	if (!rc)
		rc = dnd_queue_own(queue);
	if (!rc)
		rc = make_requests(queue);
	return rc ? rc : open_ring(queue);
}

static void free_queue(struct donard_queue *queue)
{
	for (size_t i = 0; i < queue->chunk_count; i++)
		free(queue->chunks[i]);
	free(queue->chunks);
	free(queue->requests);
	dnd_handle_free(queue, sizeof(*queue));
}

DND_PUBLIC int donard_queue_open(struct donard_context *ctx, const struct donard_queue_options *options,
				 struct donard_queue **queue_out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_queue *queue = calloc(1, sizeof(*queue));
	int rc;

	if (!queue)
		return dnd_fail_memory(ctx);
	queue->ctx = ctx;
	queue->done.last = &queue->done.first;
	queue->epoll_fd = queue->event_fd = -1;
	rc = open_queue(queue, options);
	if (rc) {
		dnd_ring_close(&queue->ring);
		free_queue(queue);
		return rc;
	}
	dnd_handle_made(DND_A_QUEUE, queue, ctx);
	*queue_out = queue;
	return 0;
}

static void cancel_all(struct donard_queue *queue)
{
	for (uint32_t i = 0; i < queue->options.depth; i++)
		if (queue->requests[i].parts)
			dnd_queue_transfer_cancel(queue, &queue->requests[i]);
}

static void let_go(struct donard_queue *queue)
{
	dnd_sources_end(queue, dnd_queue_inherited(queue));
	for (uint32_t i = 0; i < queue->options.depth; i++)
		if (queue->requests[i].file)
			dnd_queue_request_recycle(queue, &queue->requests[i]);
	dnd_queue_forget_told(queue);
	for (size_t i = 0; i < queue->registration_count; i++)
		dnd_memory_put(queue->registrations[i].memory);
	dnd_queue_forget_attachments(queue);
	dnd_queue_close_events(queue);
	dnd_ring_close(&queue->ring);
	free_queue(queue);
}

DND_PUBLIC void donard_queue_close(struct donard_queue *queue)
{
	DND_DEMANDS(QUEUE, queue);
	if (!queue)
		return;
	if (dnd_queue_inherited(queue)) {	/* the requests are the parent's, the descriptors this process's */
		let_go(queue);
		return;
	}
	if (dnd_queue_check_thread(queue)) {	/* another thread's: the ring unregisters memory as it closes */
		if (!queue->working && !dnd_sources_working(queue))
			let_go(queue);
		return;
	}
	dnd_sources_end(queue, false);
	cancel_all(queue);
	/* If the ring fails, devices may still write to the requests' memory, so it is not given back. */
	if (dnd_queue_drain(queue, NULL))
		return;
	dnd_queue_unregister_all(queue);
	let_go(queue);
}

DND_PUBLIC int donard_queue_cancel(struct donard_queue *queue, const void *user)
{
	DND_USES(QUEUE, queue);
	int found, rc = dnd_queue_check_thread(queue);

	if (rc)
		return rc;
	found = (int)dnd_sources_cancel(queue, user);
	for (uint32_t i = 0; i < queue->options.depth; i++) {
		struct dnd_queue_request *request = &queue->requests[i];

		if (!request->parts || request->completion.user != user)
			continue;
		dnd_queue_transfer_cancel(queue, request);
		found++;
	}
	dnd_queue_tell(queue);	/* a source may have ended some requests at once */
	return found;
}

DND_PUBLIC int donard_queue_info(const struct donard_queue *queue, struct donard_queue_info *info)
{
	DND_USES(QUEUE, queue);
	struct donard_queue_info found = queue->info;
	int rc = dnd_queue_check_thread(queue);

	if (!rc)
		rc = dnd_struct_check(queue->ctx, info, "donard_queue_info");
	if (rc)
		return rc;
	found.depth = queue->options.depth;
	found.no_io_uring = queue->refusal.cause;
	found.in_flight = queue->working + queue->done_count + dnd_sources_working(queue) + dnd_sources_done(queue);
	dnd_struct_give(info, &found, sizeof(found));
	return 0;
}
