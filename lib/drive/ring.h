/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine puts into its ring: requests, registered buffers, NVMe commands. */
#ifndef DND_RING_H
#define DND_RING_H

#include "drive/drive.h"

struct io_uring;
struct io_uring_sqe;

/* plan.c */
struct dnd_request {
	uint64_t offset_bytes;	/* from the start of the range */
	uint64_t length_bytes;
};

struct dnd_request dnd_plan_request(const struct dnd_plan *plan, uint64_t index);

/* buffers.c: memory that the ring holds for all requests, or none. */
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

/* nvme.c: entries are larger in a ring for such commands. */
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
/* 0 if the kernel takes such commands for the open generic device. */
int dnd_nvme_probe(int fd);

#endif /* DND_RING_H */
