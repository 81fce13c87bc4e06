/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the payload of a copy into requests, and moves it with many of them in flight. */
#ifndef DONARD_COPY_ENGINE_H
#define DONARD_COPY_ENGINE_H

#include "ring/ring.h"

/* plan.c: cuts a range into requests and a tail; pure arithmetic */
struct dnd_plan {
	uint64_t length_bytes;	/* of the whole copy */
	uint64_t full_bytes;	/* moved by requests of whole logical blocks */
	uint32_t tail_bytes;	/* the rest, less than align_bytes */
	uint32_t align_bytes;
	uint64_t block_bytes;	/* the length of a request; the last may be shorter */
	uint32_t lanes;		/* requests in flight */
	uint64_t requests;
};

/* The length of a request: at most that of the copy, so that no staging memory is wasted. */
uint64_t dnd_plan_block(uint64_t block_bytes, uint64_t length_bytes, uint32_t align_bytes);
/*
 * @window_bytes: memory that the lanes share as buffers, one block each; 0
 * if every request has its own place.  A window smaller than a block makes
 * the blocks smaller; a window smaller than a logical block is -ENOSPC.
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
 * A request goes through these steps; a step is left out if its member is unset:
 *   1. CPU copy source -> buffer		(source and buffers)
 *   2. read from the drive into memory	(read_fd)
 *   3. CPU copy buffer -> target		(target and buffers)
 *   4. write from memory to the drive	(write_fd)
 * "Memory" is the lane's buffer.  Without buffers it is the request's own place in
 * source or target: the DMA goes there, and the CPU touches no payload.
 *
 * A side with a generic device is read or written by NVMe commands to that
 * device (drive/nvme.c); any other side by reads and writes of io_uring, or of
 * Linux AIO where the kernel refuses io_uring.
 */
enum dnd_step { DND_STEP_NONE, DND_STEP_READ, DND_STEP_WRITE, DND_STEP_CPU, DND_STEP_RING };

struct dnd_transfer {
	const struct dnd_plan *plan;
	int read_fd, write_fd;		/* -1: none */
	uint64_t read_offset, write_offset;
	const struct dnd_generic *read_generic, *write_generic;	/* NULL: use read_fd, write_fd */
	struct dnd_place source, target;	/* device memory; without an address: none */
	uint8_t *buffers;		/* one block for each lane, or NULL */
	const struct dnd_region *region;	/* registers the window's memory itself if it can; or NULL */
	const struct dnd_window *window;	/* holds the requests' memory; NULL: that is DRAM */
	uint64_t ordered_from;		/* requests that end behind it run alone, in order: the file grows with each */
	bool registers;			/* register the requests' memory with io_uring, if possible;
					 * always set with buffers */
	donard_progress_fn progress_fn;
	void *progress_user;
	/* out */
	bool fixed_buffers;
	bool aio;			/* Linux AIO was used, because the kernel refuses io_uring */
	uint64_t gapless_bytes;		/* copied without a gap from the start on */
	uint64_t touched_bytes;		/* behind these the destination is as it was: nothing that writes there has begun */
	enum dnd_step failed_step;
	uint64_t failed_offset;
	uint32_t nvme_status;		/* of the command that the drive failed: type << 8 | code */
};

struct dnd_engine;

/*
 * Sets up everything that a run needs and that the kernel may refuse: the ring, its registered memory, the lanes.
 * Moves nothing.  *engine is NULL if the plan has no request.  The caller keeps @transfer, and everything it points to,
 * until it has closed the engine.  Returns -errno without a text.
 */
int dnd_engine_open(struct dnd_transfer *transfer, struct dnd_engine **engine);
/* Call it once.  Returns 0, -errno of the first failed step, or -ECANCELED; then nothing is in flight. */
int dnd_engine_run(struct dnd_engine *engine);
void dnd_engine_close(struct dnd_engine *engine);

#endif /* DONARD_COPY_ENGINE_H */
