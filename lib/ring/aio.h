/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linux AIO, by which a ring goes where the kernel refuses io_uring, as in most containers: reads, writes and flushes with
 * many in flight.  It has no commands, no registered memory, and cancels nothing that the kernel has.  One thread.
 */
#ifndef DND_RING_AIO_H
#define DND_RING_AIO_H

#include "ring/ring.h"

struct dnd_aio;

/*
 * For at most @entries in flight, or for fewer where the machine has no more (fs.aio-max-nr).  The ring has its event.
 * -errno: seccomp may refuse this, too.
 */
int dnd_aio_open(struct dnd_ring *ring, unsigned int entries);
/* Nothing is in flight, or it is the parent's, which keeps it. */
void dnd_aio_close(struct dnd_aio *aio);
/* What @io has not moved yet; dnd_aio_enter() hands it to the kernel, and what has no room later. */
void dnd_aio_prepare(struct dnd_aio *aio, struct dnd_io *io);
/* Was it not handed over yet?  Then it never is. */
bool dnd_aio_take_back(struct dnd_aio *aio, struct dnd_io *io);
/*
 * Hands over what was prepared, and waits for @wait_for completions, for fewer where not all have room, and for @timeout
 * at most, NULL: for ever.  0, -ETIME, or -errno.
 */
int dnd_aio_enter(struct dnd_ring *ring, unsigned int wait_for, const struct __kernel_timespec *timeout);
/* A completion that has come, or NULL.  *got: bytes of what was prepared, or -errno. */
struct dnd_io *dnd_aio_next(struct dnd_aio *aio, int *got);
/* Has something no room that was to be handed over? */
bool dnd_aio_is_full(const struct dnd_aio *aio);

#endif /* DND_RING_AIO_H */
