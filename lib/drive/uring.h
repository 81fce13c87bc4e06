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
 *
 * A side with a generic device is read or written by NVMe commands to that
 * (uring_nvme.c), any other by io_uring's reads and writes.
 */
#ifndef DONARD_URING_H
#define DONARD_URING_H

#include "drive/plan.h"

enum dnd_step { DND_STEP_NONE, DND_STEP_READ, DND_STEP_WRITE, DND_STEP_CPU, DND_STEP_SETUP };

struct dnd_generic;
struct io_uring_sqe;

struct dnd_region;
struct dnd_window;
struct io_uring;

struct dnd_transfer {
	const struct dnd_plan *plan;
	int read_fd, write_fd;		/* -1: none */
	uint64_t read_offset, write_offset;
	const struct dnd_generic *read_generic, *write_generic;	/* NULL: by read_fd, write_fd */
	uint8_t *source, *target;	/* device memory or NULL */
	uint8_t *buffers;		/* one block a lane, or NULL */
	const struct dnd_region *region;	/* in whose window the requests' memory lies, */
	const struct dnd_window *window;	/* or NULL: in DRAM */
	bool registers;			/* what is read and written, with io_uring, if it can be;
					 * always with buffers */
	donard_progress_fn progress_fn;
	void *progress_user;
	/* out */
	bool fixed_buffers;
	uint64_t gapless_bytes;		/* copied from the start on */
	enum dnd_step failed_step;
	uint64_t failed_offset;
	uint32_t nvme_status;		/* of a command that the drive failed: type << 8 | code */
};

/* 0, -errno of the first failed step, or -ECANCELED; nothing is in flight. */
int dnd_uring_run(struct dnd_transfer *transfer);

/* uring_buffers.c: memory that the ring holds for all requests, or none. */
struct dnd_buffers {
	uint8_t *base;		/* NULL: none */
	uint64_t chunk_bytes;	/* of a buffer */
	uint64_t granule_bytes;
	bool by_offset;		/* requests give the distance from the buffer's begin as their address */
};

/*
 * Leaves @buffers empty where it cannot be: plain requests then. Nothing is in
 * flight. -errno: the ring is of no use any more.
 */
int dnd_buffers_register(struct dnd_buffers *buffers, struct io_uring *ring,
			 const struct dnd_transfer *transfer);
/* The number of the buffer in which @memory lies, or -1; and how a request names the place. */
int dnd_buffers_index(const struct dnd_buffers *buffers, const uint8_t *memory);
uint8_t *dnd_buffers_address(const struct dnd_buffers *buffers, uint8_t *memory);

/* uring_nvme.c: entries are larger in a ring for such commands. */
#define DND_NVME_RING_FLAGS	(IORING_SETUP_SQE128 | IORING_SETUP_CQE32)
#define DND_NVME_SQE_BYTES	128

struct dnd_command {
	const struct dnd_generic *generic;
	bool reads;
	void *memory;
	uint32_t length_bytes;	/* whole logical blocks, up to the generic device's limit */
	uint64_t offset_bytes;	/* from the start of the partition or namespace */
	int fixed_index;	/* of the registered buffer, -1: none */
};

void dnd_nvme_prepare(struct io_uring_sqe *sqe, const struct dnd_command *command);
/* The length, or -errno; a failure that the drive reports is -EIO with a status. */
int dnd_nvme_result(int result, uint32_t length_bytes, uint32_t *status);
const char *dnd_nvme_status_text(uint32_t status);
/* 0 if the kernel takes such commands for the open generic device. */
int dnd_nvme_probe(int fd);

#endif /* DONARD_URING_H */
