/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring uses Linux AIO if the kernel refuses io_uring, as in most containers: it does reads, writes and flushes,
 * with many in flight.  It has no NVMe commands and no registered memory, and cannot cancel a request that the kernel
 * has.  Only one thread uses it at a time.
 */
#ifndef DND_RING_AIO_H
#define DND_RING_AIO_H

#include "ring/ring.h"

struct dnd_aio;

/*
 * Allows @entries requests in flight, or fewer if the machine has no more free (fs.aio-max-nr).  The caller has opened
 * the ring's event.  Returns 0 or -errno; seccomp may refuse Linux AIO, too.
 */
int dnd_aio_open(struct dnd_ring *ring, unsigned int entries);
/* Nothing may be in flight, except in the child of a fork(), where the requests stay the parent's. */
void dnd_aio_close(struct dnd_aio *aio);
/* Prepares the part of @io that has not moved yet.  dnd_aio_enter() hands it to the kernel as soon as there is room. */
void dnd_aio_prepare(struct dnd_aio *aio, struct dnd_io *io);
/* Returns true if @io was not handed over yet; then it never is. */
bool dnd_aio_take_back(struct dnd_aio *aio, struct dnd_io *io);
/*
 * Hands over the prepared requests and waits for @wait_for completions, or for fewer if not all requests have room.
 * It waits no longer than @timeout; NULL: no limit.  Returns 0, -ETIME or another -errno.
 */
int dnd_aio_enter(struct dnd_ring *ring, unsigned int wait_for, const struct __kernel_timespec *timeout);
/* Takes a completion; NULL if none has come.  *got: the bytes that moved of the prepared part, or -errno. */
struct dnd_io *dnd_aio_next(struct dnd_aio *aio, int *got);
/* Did the last hand-over leave requests behind for lack of room? */
bool dnd_aio_is_full(const struct dnd_aio *aio);

#endif /* DND_RING_AIO_H */
