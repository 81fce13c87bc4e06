// SPDX-License-Identifier: Apache-2.0
/* Waits for completions, and hands them over. */
#include "queue/queue.h"

#define LOOK_EVERY_NS	100000000ULL
#define LONGEST_WAIT_NS	(86400ULL * 1000000000)	/* the kernel adds it to its clock */

DND_PUBLIC int donard_queue_submit(struct donard_queue *queue)
{
	DND_USES(QUEUE, queue);
	int rc = dnd_queue_check_thread(queue);

	if (rc)
		return rc;
	dnd_queue_end_batch(queue);
	rc = dnd_ring_enter(&queue->ring, 0);
	return rc ? dnd_queue_ring_failed(queue, rc) : 0;
}

/* ---- taking ---- */

/* The queue keeps the completion's strings until the caller takes further completions. */
static void tell(struct donard_queue *queue, struct dnd_queue_request *request)
{
	if (request->told) {
		request->told->next = queue->told;
		queue->told = request->told;
		request->told = NULL;
	}
	dnd_queue_request_recycle(queue, request);
}

/* Frees the strings of earlier completions, because the caller takes further ones. */
static void forget_texts(struct donard_queue *queue)
{
	dnd_queue_forget_told(queue);
	if (queue->sources)
		dnd_sources_forget(queue);
}

static int take(struct donard_queue *queue, struct donard_completion *completions, unsigned int most)
{
	unsigned int count = 0;

	while (count < most && queue->done_count) {
		struct dnd_queue_request *request = dnd_list_take(&queue->done);

		queue->done_count--;
		completions[count++] = request->completion;
		tell(queue, request);
	}
	if (queue->sources)
		count += dnd_sources_take(queue, completions + count, most - count);
	dnd_queue_tell(queue);
	return (int)count;
}

DND_PUBLIC int donard_queue_poll(struct donard_queue *queue, struct donard_completion *completions,
				 unsigned int most)
{
	DND_USES(QUEUE, queue);
	int rc = dnd_queue_check_thread(queue), count;

	if (rc)
		return rc;
	forget_texts(queue);
	if (queue->epoll_fd >= 0) {	/* a region may have woken the caller: look at all regions now */
		queue->looked_seconds = 0;
		queue->batch_begun = false;
	}
	dnd_queue_forget_event(queue);
	dnd_queue_reap(queue);
	dnd_queue_end_batch(queue);
	if (queue->sources)
		dnd_sources_work(queue);
	count = take(queue, completions, most);
	return count || !queue->ring.failed ? count : dnd_queue_ring_failed(queue, queue->ring.failed);
}

/* How long to wait at a time, if @left is left, or UINT64_MAX: meanwhile a region may be removed whose memory the ring pins. */
static uint64_t turn_ns(const struct donard_queue *queue, uint64_t left)
{
	if (dnd_queue_pins_region(queue))
		return dnd_min(left, LOOK_EVERY_NS);
	return left == UINT64_MAX ? left : dnd_min(left, LONGEST_WAIT_NS);
}

/*
 * Submits what was prepared and waits.  Each request in flight still gets at least one
 * completion from the ring.  With a time limit this waits for one completion at a time,
 * because the kernel reports a timeout only if nothing came.
 */
static int await(struct donard_queue *queue, unsigned int least, int64_t timeout_ns)
{
	uint64_t start = timeout_ns < 0 ? 0 : dnd_now_ns(), left = UINT64_MAX, turn, passed;
	unsigned int missing;
	int rc = 0;

	dnd_queue_reap(queue);
	if (queue->done_count >= least || !queue->working)
		return dnd_ring_enter(&queue->ring, 0);
	while (!rc && queue->done_count < least && queue->working) {
		missing = timeout_ns < 0 ? (unsigned int)dnd_min(least - queue->done_count, queue->working) : 1;
		if (timeout_ns >= 0) {
			passed = dnd_now_ns() - start;
			left = (uint64_t)timeout_ns - dnd_min((uint64_t)timeout_ns, passed);
		}
		turn = turn_ns(queue, left);
		rc = dnd_ring_enter_timed(&queue->ring, missing, turn);
		if (rc == -ETIME && left > turn)
			rc = 0;
		dnd_queue_reap(queue);
		if (queue->done_count < least)
			dnd_queue_look_after(queue);
	}
	return rc;
}

DND_PUBLIC int donard_queue_wait(struct donard_queue *queue, unsigned int least, int64_t timeout_ns,
				 struct donard_completion *completions, unsigned int most)
{
	DND_USES(QUEUE, queue);
	int rc = dnd_queue_check_thread(queue);

	if (rc)
		return rc;
	if (least > most)
		return dnd_fail_member(queue->ctx, DND_E_BAD_OPTION, DND_MOST("least", least, most),
				       "the call is to wait for %u completions, and has room "
				       "for %u.", least, most);
	forget_texts(queue);
	dnd_queue_end_batch(queue);
	rc = queue->sources ? dnd_sources_await(queue, least, timeout_ns) : await(queue, least, timeout_ns);
	if (rc && rc != -ETIME && rc != -EINTR)
		return dnd_queue_ring_failed(queue, rc);
	if (rc == -EINTR && !queue->done_count && !dnd_sources_done(queue))
		return dnd_fail_errno(queue->ctx, EINTR, "the wait for completions");
	return take(queue, completions, most);
}
