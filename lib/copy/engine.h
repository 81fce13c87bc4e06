/* SPDX-License-Identifier: Apache-2.0 */
/* The payload of a copy: how it is cut, and the engine that moves it with many requests in flight. */
#ifndef DONARD_COPY_ENGINE_H
#define DONARD_COPY_ENGINE_H

#include "ring/ring.h"

/* plan.c: pure arithmetic: how a range is cut into requests and a tail */
struct dnd_plan {
	uint64_t length_bytes;	/* of the whole copy */
	uint64_t full_bytes;	/* in requests of whole logical blocks */
	uint32_t tail_bytes;	/* the rest, less than align_bytes */
	uint32_t align_bytes;
	uint64_t block_bytes;	/* of one request */
	uint32_t lanes;		/* requests in flight */
	uint64_t requests;
};

/* No request is longer than the copy, so that no more is staged for one. */
uint64_t dnd_plan_block(uint64_t block_bytes, uint64_t length_bytes, uint32_t align_bytes);
/*
 * @window_bytes: memory that the lanes share as buffers, one block each; 0
 * when every request has its own place.  A window smaller than a block makes
 * the blocks smaller; one smaller than a logical block is -ENOSPC.
 */
int dnd_plan_make(struct dnd_plan *plan, uint64_t length_bytes, uint32_t align_bytes,
		  uint64_t block_bytes, uint32_t lanes, uint64_t window_bytes);

struct dnd_request {
	uint64_t offset_bytes;	/* from the start of the range */
	uint64_t length_bytes;
};

struct dnd_request dnd_plan_request(const struct dnd_plan *plan, uint64_t index);

/*
 * engine.c: runs the requests of a plan with many of them in flight.
 *
 * A request goes through these steps, each left out when its member is unset:
 *   1. CPU copy source -> buffer		(source and buffers)
 *   2. read from the drive into memory	(read_fd)
 *   3. CPU copy buffer -> target		(target and buffers)
 *   4. write from memory to the drive	(write_fd)
 * Memory is the lane's buffer, or without buffers the request's own place in
 * source or target: then the DMA goes there and the CPU touches no payload.
 *
 * A side with a generic device is read or written by NVMe commands to that
 * (nvme.c), any other by reads and writes of io_uring, or of Linux AIO where the
 * kernel refuses that.
 */
enum dnd_step { DND_STEP_NONE, DND_STEP_READ, DND_STEP_WRITE, DND_STEP_CPU, DND_STEP_RING };

struct dnd_transfer {
	const struct dnd_plan *plan;
	int read_fd, write_fd;		/* -1: none */
	uint64_t read_offset, write_offset;
	const struct dnd_generic *read_generic, *write_generic;	/* NULL: by read_fd, write_fd */
	struct dnd_place source, target;	/* device memory; without an address: none */
	uint8_t *buffers;		/* one block a lane, or NULL */
	const struct dnd_region *region;	/* in whose window the requests' memory lies, */
	const struct dnd_window *window;	/* or NULL: in DRAM */
	uint64_t ordered_from;		/* requests that end behind it go alone, in order: a file's length grows with them */
	bool registers;			/* what is read and written, with io_uring, if it can be;
					 * always with buffers */
	donard_progress_fn progress_fn;
	void *progress_user;
	/* out */
	bool fixed_buffers;
	bool aio;			/* by Linux AIO: io_uring is refused */
	uint64_t gapless_bytes;		/* copied from the start on */
	enum dnd_step failed_step;
	uint64_t failed_offset;
	uint32_t nvme_status;		/* of a command that the drive failed: type << 8 | code */
};

struct dnd_engine;

/*
 * Sets up all that a run needs and that may be refused: the ring, its registered memory, the lanes.  Nothing is
 * moved, and *engine is NULL where the plan has no request.  @transfer, and what it names, stay until the engine is
 * closed.  -errno without a text.
 */
int dnd_engine_open(struct dnd_transfer *transfer, struct dnd_engine **engine);
/* Once.  0, -errno of the first failed step, or -ECANCELED; nothing is in flight. */
int dnd_engine_run(struct dnd_engine *engine);
void dnd_engine_close(struct dnd_engine *engine);

#endif /* DONARD_COPY_ENGINE_H */
