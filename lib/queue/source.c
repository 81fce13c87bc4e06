// SPDX-License-Identifier: Apache-2.0
/* Sources; see queue.h.  A queue without sources checks one pointer, and calls nothing here. */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

#include "queue/queue.h"

int dnd_queue_source_add(struct donard_queue *queue, struct dnd_queue_source *source)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = donard_queue_descriptor(queue);	/* sleep_until() polls it */

	if (fd < 0)
		return fd;
	if (epoll_ctl(fd, EPOLL_CTL_ADD, source->fd, &event))
		return dnd_fail_errno(queue->ctx, errno, "the queue cannot watch another descriptor");
	source->queue = queue;
	source->next = queue->sources;
	queue->sources = source;
	return 0;
}

void dnd_queue_source_remove(struct dnd_queue_source *source)
{
	struct dnd_queue_source **place;

	if (!source->queue)
		return;
	if (!dnd_queue_inherited(source->queue))	/* the parent shares the epoll instance */
		epoll_ctl(source->queue->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	for (place = &source->queue->sources; *place != source; place = &(*place)->next)
		;
	*place = source->next;
	source->queue = NULL;
}

void dnd_queue_source_tell(struct dnd_queue_source *source)
{
	if (source->queue)
		eventfd_write(source->queue->event_fd, 1);
}

void dnd_sources_work(struct donard_queue *queue)
{
	for (struct dnd_queue_source *source = queue->sources; source; source = source->next)
		source->ops->work(source);
}

void dnd_sources_forget(struct donard_queue *queue)
{
	for (struct dnd_queue_source *source = queue->sources; source; source = source->next)
		source->ops->forget(source);
}

/* Takes from all sources in turn, so that none waits behind the others. */
unsigned int dnd_sources_take(struct donard_queue *queue, struct donard_completion *completions,
			      unsigned int most)
{
	unsigned int count = 0, before;

	do {
		before = count;
		for (struct dnd_queue_source *source = queue->sources; source && count < most; source = source->next) {
			if (!source->done)
				continue;
			source->ops->take(source, &completions[count]);
			dnd_queue_count(queue, &completions[count++]);
		}
	} while (count > before);
	return count;
}

unsigned int dnd_sources_cancel(struct donard_queue *queue, const void *user)
{
	unsigned int found = 0;

	for (struct dnd_queue_source *source = queue->sources; source; source = source->next)
		found += source->ops->cancel(source, user);
	return found;
}

void dnd_sources_end(struct donard_queue *queue, bool inherited)
{
	struct dnd_queue_source *source;

	while ((source = queue->sources)) {
		queue->sources = source->next;
		source->queue = NULL;
		source->ops->end(source, inherited);
	}
}

/* ---- waiting ---- */

/* Sleeps until the ring or a source has something; the queue's descriptor shows both.  Returns 0, -ETIME or -errno. */
static int sleep_until(struct donard_queue *queue, uint64_t until_ns)
{
	struct pollfd fd = { .fd = queue->epoll_fd, .events = POLLIN };
	uint64_t now = dnd_now_ns(), left_ns = until_ns - dnd_min(until_ns, now);
	struct timespec left = { .tv_sec = (time_t)(left_ns / 1000000000), .tv_nsec = (long)(left_ns % 1000000000) };

	if (!left_ns)
		return -ETIME;
	return ppoll(&fd, 1, until_ns == UINT64_MAX ? NULL : &left, NULL) < 0 ? -errno : 0;
}

int dnd_sources_await(struct donard_queue *queue, unsigned int least, int64_t timeout_ns)
{
	uint64_t until_ns = timeout_ns < 0 ? UINT64_MAX : dnd_now_ns() + (uint64_t)timeout_ns;
	int rc;

	for (;;) {
		rc = dnd_ring_enter(&queue->ring, 0);
		dnd_queue_forget_event(queue);
		dnd_queue_reap(queue);
		dnd_sources_work(queue);
		if (rc || queue->done_count + dnd_sources_done(queue) >= least ||
		    !(queue->working + dnd_sources_working(queue)))
			return rc;
		if (queue->ring.failed)		/* the kernel did not take all requests: those never end the sleep */
			continue;
		dnd_queue_look_after(queue);	/* the last use of a region that is being removed may just have ended */
		rc = sleep_until(queue, until_ns);
		if (rc)
			return rc;
		queue->looked_seconds = 0;	/* a region may have ended the sleep: check all regions now */
		dnd_queue_look_after(queue);
	}
}
