// SPDX-License-Identifier: Apache-2.0
/* What a program polls for. */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "queue/queue.h"

/* Before the ring is looked at: what comes later is told again. */
void dnd_queue_forget_event(struct donard_queue *queue)
{
	eventfd_t ignored;

	if (queue->event_fd >= 0)
		eventfd_read(queue->event_fd, &ignored);
}

/*
 * The ring tells the event that it has something.  Not its own descriptor: that
 * wakes nobody for completions that are handled where they are asked for
 * (IORING_SETUP_DEFER_TASKRUN, io_req_local_work_add() in io_uring/io_uring.c).
 */
void dnd_queue_tell(struct donard_queue *queue)
{
	if (queue->event_fd >= 0 && (queue->done_count || (queue->sources && dnd_sources_done(queue))))
		eventfd_write(queue->event_fd, 1);
}

/* A region asks once: it stays readable for as long as it lasts. */
void dnd_queue_watch(struct donard_queue *queue, const struct donard_memory *memory, bool watch)
{
	struct epoll_event event = { .events = EPOLLPRI | EPOLLONESHOT };

	if (queue->epoll_fd >= 0 && dnd_memory_is_region(memory))
		epoll_ctl(queue->epoll_fd, watch ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, memory->region.fd, &event);
}

/* The event is the ring's. */
void dnd_queue_close_events(struct donard_queue *queue)
{
	if (queue->epoll_fd >= 0)
		close(queue->epoll_fd);
	queue->epoll_fd = queue->event_fd = -1;
}

static int open_events(struct donard_queue *queue)
{
	struct epoll_event event = { .events = EPOLLIN };
	int rc = dnd_ring_event(&queue->ring);

	if (rc < 0)
		return dnd_fail_errno(queue->ctx, -rc, "no descriptor of the queue can be made");
	queue->event_fd = rc;
	queue->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (queue->epoll_fd < 0 || epoll_ctl(queue->epoll_fd, EPOLL_CTL_ADD, queue->event_fd, &event))
		return dnd_fail_errno(queue->ctx, errno, "no descriptor of the queue can be made");
	for (size_t i = 0; i < queue->registration_count; i++)
		if (queue->registrations[i].memory)
			dnd_queue_watch(queue, queue->registrations[i].memory, true);
	eventfd_write(queue->event_fd, 1);	/* for what was submitted before */
	return 0;
}

DND_PUBLIC int donard_queue_descriptor(struct donard_queue *queue)
{
	int rc = dnd_queue_check_thread(queue);

	if (!rc && queue->epoll_fd < 0) {
		rc = open_events(queue);
		if (rc)
			dnd_queue_close_events(queue);
	}
	return rc ? rc : queue->epoll_fd;
}
