// SPDX-License-Identifier: Apache-2.0
/*
 * Requests that the kernel did not take.  They are done, and since no completion comes for them, the event is signalled
 * here for whoever sleeps on it.
 */
#include <sys/eventfd.h>

#include "ring/ring.h"

void dnd_ring_lose(struct dnd_ring *ring, struct dnd_io *io, int error)
{
	io->error = error;
	io->next = ring->lost;
	ring->lost = io;
	if (ring->event_fd >= 0)
		eventfd_write(ring->event_fd, 1);
}

struct dnd_io *dnd_ring_take_lost(struct dnd_ring *ring, int64_t *result)
{
	struct dnd_io *io = ring->lost;

	ring->lost = io->next;
	*result = io->error;
	return io;
}
