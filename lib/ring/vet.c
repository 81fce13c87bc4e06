// SPDX-License-Identifier: Apache-2.0
/*
 * NVMe commands know no partition and no size of a block, so each is checked as late as
 * possible: when it is about to be handed over.  Commands that are handed over together
 * share one check of their drive, which is two or three system calls.
 */
#include "ring/ring.h"

static struct dnd_io *command_of(const struct io_uring_sqe *sqe)
{
	struct dnd_io *io = (struct dnd_io *)(uintptr_t)sqe->user_data;

	return io && io->generic ? io : NULL;
}

void dnd_ring_vet(struct dnd_ring *ring)
{
	struct io_uring_sq *sq = &ring->uring.sq;
	const struct dnd_generic *sound = NULL;
	bool writes, sound_to_write = false;
	struct io_uring_sqe *sqe;
	struct dnd_io *io;
	int rc;

	if (ring->aio || !(ring->uring.flags & IORING_SETUP_SQE128))
		return;		/* it takes no commands */
	for (unsigned int at = io_uring_smp_load_acquire(sq->khead); at != sq->sqe_tail; at++) {
		sqe = dnd_ring_entry(ring, at);
		io = command_of(sqe);
		if (!io)
			continue;
		writes = io->kind == DND_IO_WRITE;
		if (io->generic == sound && (sound_to_write || !writes))
			continue;
		rc = dnd_generic_check(io->generic, writes);
		if (rc) {
			dnd_ring_blank(sqe);
			io->dropped = true;
			dnd_ring_lose(ring, io, rc);
			continue;
		}
		sound = io->generic;
		sound_to_write = writes;
	}
}
