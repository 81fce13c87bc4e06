// SPDX-License-Identifier: Apache-2.0
/* Opens and closes a ring and its event. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "ring/aio.h"

#define COMMAND_FLAGS	(IORING_SETUP_SQE128 | IORING_SETUP_CQE32)
#define COMPLETIONS	1024U	/* a long request has many parts in flight, and each needs room for its completion */

static int init(struct io_uring *uring, unsigned int entries, unsigned int flags)
{
	struct io_uring_params params = {
		.flags = flags | IORING_SETUP_CQSIZE,
		.cq_entries = dnd_max(2 * entries, COMPLETIONS),
	};

	return io_uring_queue_init_params(entries, uring, &params);
}

/* The flags have completions handled in the thread that asks for them; old kernels lack them. */
static int open_uring(struct io_uring *uring, unsigned int entries, unsigned int flags)
{
	int rc = init(uring, entries, flags | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
		      IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL);

	return rc == -EINVAL ? init(uring, entries, flags) : rc;
}

static int open_event(struct dnd_ring *ring)
{
	ring->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return ring->event_fd < 0 ? -errno : 0;
}

static void close_event(struct dnd_ring *ring)
{
	if (ring->event_fd >= 0)
		close(ring->event_fd);
	ring->event_fd = -1;
}

/* Linux AIO signals the event only for requests that name it, so it must exist before the first request. */
static int open_aio(struct dnd_ring *ring, unsigned int entries)
{
	int rc = open_event(ring);

	if (rc)
		return rc;
	rc = dnd_aio_open(ring, entries);
	if (rc)
		close_event(ring);
	return rc && rc != -ENOMEM ? -ring->refused : rc;
}

/* Finds out what a seccomp filter forbids before the first request, which would neither reach the kernel nor end. */
static int try_uring(struct io_uring *uring)
{
	int refused = dnd_uring_try(uring->ring_fd);

	if (refused)
		io_uring_queue_exit(uring);
	return -refused;
}

int dnd_ring_open(struct dnd_ring *ring, unsigned int entries, unsigned int slots, bool commands)
{
	int rc = open_uring(&ring->uring, entries, commands ? COMMAND_FLAGS : 0);

	if (!rc)
		rc = try_uring(&ring->uring);
	ring->event_fd = -1;
	ring->refused = dnd_uring_is_refused(rc) ? -rc : 0;
	if (ring->refused && !commands)
		rc = open_aio(ring, entries);
	else if (!rc && slots && !io_uring_register_buffers_sparse(&ring->uring, slots))
		ring->slots.count = slots;
	ring->open = !rc;
	return rc;
}

/*
 * The exit of the ring also releases the pins of the fixed buffers, but some time later:
 * that was seen to be too late for the next copy, and not to happen at all while a
 * debugger keeps the process stopped.
 */
static void close_uring(struct dnd_ring *ring)
{
	if (ring->slots.count)
		io_uring_unregister_buffers(&ring->uring);
	io_uring_queue_exit(&ring->uring);
}

void dnd_ring_close(struct dnd_ring *ring)
{
	if (!ring->open)
		return;
	ring->open = false;
	if (ring->aio)
		dnd_aio_close(ring->aio);
	else
		close_uring(ring);
	close_event(ring);
}

int dnd_ring_event(struct dnd_ring *ring)
{
	int rc;

	if (ring->event_fd >= 0)
		return ring->event_fd;
	rc = open_event(ring);
	if (!rc)
		rc = io_uring_register_eventfd(&ring->uring, ring->event_fd);
	if (!rc)
		return ring->event_fd;
	close_event(ring);
	return rc;
}
