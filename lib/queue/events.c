// SPDX-License-Identifier: Apache-2.0
/* The descriptor that a program polls. */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "queue/queue.h"

/* Called before the ring is read, so that anything that comes later signals the event again. */
void dnd_queue_forget_event(struct donard_queue *queue)
{
	eventfd_t ignored;

	if (queue->event_fd >= 0)
		eventfd_read(queue->event_fd, &ignored);
}

/*
 * Signals the event for completions that the queue holds already; for new ones the ring
 * signals it.  The ring's own descriptor does not serve: it wakes nobody for completions
 * that the kernel handles only when they are asked for (IORING_SETUP_DEFER_TASKRUN,
 * io_req_local_work_add() in io_uring/io_uring.c).  It also signals what could not be handed over, which the next call
 * of donard_queue_poll() tries again.
 */
void dnd_queue_tell(struct donard_queue *queue)
{
	if (queue->event_fd >= 0 && (queue->done_count || queue->ring.failed || (queue->sources && dnd_sources_done(queue))))
		eventfd_write(queue->event_fd, 1);
}

/* EPOLLONESHOT: a region that is being removed stays readable to its end, but wakes the program once. */
void dnd_queue_watch(struct donard_queue *queue, const struct donard_memory *memory, bool watch)
{
	struct epoll_event event = { .events = EPOLLPRI | EPOLLONESHOT };

	if (queue->epoll_fd >= 0 && dnd_memory_is_region(memory))
		epoll_ctl(queue->epoll_fd, watch ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, memory->region.fd, &event);
}

/* Does not close the event, which belongs to the ring. */
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
	DND_USES(QUEUE, queue);
	int rc = dnd_queue_check_thread(queue);

	if (!rc && queue->epoll_fd < 0) {
		rc = open_events(queue);
		if (rc)
			dnd_queue_close_events(queue);
	}
	return rc ? rc : queue->epoll_fd;
}
