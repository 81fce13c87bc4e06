/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linux AIO, by which a ring goes where the kernel refuses io_uring, as in most containers: reads, writes and flushes with
 * many in flight.  It has no commands, no registered memory, and no wait with a limit.  One thread.
 */
#ifndef DND_RING_AIO_H
#define DND_RING_AIO_H

#include "ring/ring.h"

struct dnd_aio;

/* For @entries in flight.  -errno: seccomp may refuse this, too, and fs.aio-max-nr limits all of a machine. */
int dnd_aio_open(struct dnd_aio **aio, unsigned int entries);
/* Nothing is in flight. */
void dnd_aio_close(struct dnd_aio *aio);
/* What @io has not moved yet; dnd_aio_enter() hands it to the kernel. */
void dnd_aio_prepare(struct dnd_aio *aio, struct dnd_io *io);
/* Hands over what was prepared, and waits for @wait_for completions, or for a signal; 0 or -errno. */
int dnd_aio_enter(struct dnd_aio *aio, unsigned int wait_for);
/* A completion that has come, or NULL.  *got: bytes of what was prepared, or -errno. */
struct dnd_io *dnd_aio_next(struct dnd_aio *aio, int *got);

#endif /* DND_RING_AIO_H */
