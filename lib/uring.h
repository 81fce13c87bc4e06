/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: runs the requests of a plan with many of them in flight.
 *
 * A request goes through these steps, each left out when its member is unset:
 *   1. CPU copy source -> buffer		(source and buffers)
 *   2. read from the drive into memory	(read_fd)
 *   3. CPU copy buffer -> target		(target and buffers)
 *   4. write from memory to the drive	(write_fd)
 * Memory is the lane's buffer, or without buffers the request's own place in
 * source or target: then the DMA goes there and the CPU touches no payload.
 */
#ifndef DONARD_URING_H
#define DONARD_URING_H

#include "plan.h"

enum dnd_step { DND_STEP_NONE, DND_STEP_READ, DND_STEP_WRITE, DND_STEP_CPU, DND_STEP_SETUP };

struct dnd_transfer {
	const struct dnd_plan *plan;
	int read_fd, write_fd;		/* -1: none */
	uint64_t read_offset, write_offset;
	uint8_t *source, *target;	/* device memory or NULL */
	uint8_t *buffers;		/* one block a lane, or NULL */
	donard_progress_fn progress_fn;
	void *progress_user;
	/* out */
	bool fixed_buffers;
	uint64_t gapless_bytes;		/* copied from the start on */
	enum dnd_step failed_step;
	uint64_t failed_offset;
};

/* 0, -errno of the first failed step, or -ECANCELED; nothing is in flight. */
int dnd_uring_run(struct dnd_transfer *transfer);

#endif /* DONARD_URING_H */
