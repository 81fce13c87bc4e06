// SPDX-License-Identifier: Apache-2.0
/*
 * Memory as the ring's fixed buffers: what the devices reach is looked up and held once, not for each request.
 *
 * A region gives its memory to the ring by itself where the kernel lets drivers do so (Linux 7.3): no page is looked
 * up at all. Else the mapping is registered, page by page, if the kernel takes such mappings.
 */
#include <liburing.h>
#include <stdlib.h>
#include <unistd.h>

#include "drive/ring.h"
#include "uapi/p2pmem.h"

#define BUFFER_MAX_BYTES	(1ULL << 30)	/* the kernel's limit for one */
#define REGION_BUFFER_BYTES	(64ULL << 20)	/* each request walks through the pieces before its own */
#define BUFFERS_MAX		1024

/* What is registered, in chunks of whole blocks: no request crosses from one to the next. */
struct layout {
	uint8_t *base;
	uint64_t bytes;
	uint64_t chunk_bytes;
	unsigned int count;
};

static struct layout layout_of(const struct dnd_transfer *transfer, uint64_t chunk_bytes)
{
	const struct dnd_plan *plan = transfer->plan;
	struct layout layout = {
		.base = transfer->target ? transfer->target : transfer->source,
		.bytes = plan->full_bytes,
		.chunk_bytes = dnd_round_down(chunk_bytes, plan->block_bytes),
	};

	if (transfer->buffers) {
		layout.base = transfer->buffers;
		layout.bytes = plan->block_bytes * plan->lanes;
	}
	layout.count = (unsigned int)((layout.bytes + layout.chunk_bytes - 1) / layout.chunk_bytes);
	return layout;
}

static uint64_t chunk_length(const struct layout *layout, unsigned int i)
{
	return dnd_min(layout->chunk_bytes, layout->bytes - i * layout->chunk_bytes);
}

/* ---- by the region ---- */

/* What it was answered, or that it could not be asked: then the ring is of no use any more. */
static int run_command(struct io_uring *ring, int fd, const struct p2pmem_uring_buffer *buffer,
		       int *answer)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;
	int rc;

	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = P2PMEM_URING_BUFFER;
	memcpy(sqe->cmd, buffer, sizeof(*buffer));
	do
		rc = io_uring_submit(ring);
	while (rc == -EINTR || rc == -EAGAIN);
	if (rc < 0)
		return rc;
	do
		rc = io_uring_wait_cqe(ring, &cqe);
	while (rc == -EINTR || rc == -EAGAIN);
	if (rc)
		return rc;
	*answer = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return 0;
}

/* Whole granules, of which the first begins with the granule of the chunk's first byte. */
static int ask_region(struct io_uring *ring, const struct dnd_transfer *transfer,
		      const struct layout *layout, unsigned int i, int *answer)
{
	const struct dnd_window *window = transfer->window;
	uint64_t granule = transfer->region->info.granule_bytes;
	uint64_t start = (uint64_t)(layout->base - window->map) + i * layout->chunk_bytes;
	uint64_t first = dnd_round_down(start, granule);
	struct p2pmem_uring_buffer buffer = {
		.file_offset = window->file_offset + first,
		.granules = (uint32_t)((dnd_round_up(start + chunk_length(layout, i), granule) - first) / granule),
		.index = i,
	};

	return run_command(ring, transfer->region->fd, &buffer, answer);
}

static bool may_ask(const struct dnd_transfer *transfer, const struct layout *layout)
{
	return transfer->window && layout->count <= BUFFERS_MAX &&
	       transfer->region->info.page_type == P2PMEM_PAGES_GENERIC;
}

/* *@given: all of it; else nothing is. */
static int region_gives(struct io_uring *ring, const struct dnd_transfer *transfer,
			const struct layout *layout, bool *given)
{
	int rc = 0, answer = 0;

	*given = false;
	if (!may_ask(transfer, layout) || io_uring_register_buffers_sparse(ring, layout->count))
		return 0;
	for (unsigned int i = 0; i < layout->count && !rc && !answer; i++)
		rc = ask_region(ring, transfer, layout, i, &answer);
	*given = !rc && !answer;
	if (!*given)
		io_uring_unregister_buffers(ring);
	return rc;
}

/* ---- by mapping ---- */

/* Linux before 6.6 pins all of a file's mapping before it refuses it: one page tells, too. */
static bool takes_mapping(struct io_uring *ring, const struct dnd_transfer *transfer, uint8_t *base)
{
	struct iovec probe = { .iov_base = base, .iov_len = transfer->plan->align_bytes };

	if (io_uring_register_buffers(ring, &probe, 1))
		return false;
	io_uring_unregister_buffers(ring);
	return true;
}

/* Refused for p2pdma pages and on old kernels: plain requests then. */
static bool register_mapping(struct io_uring *ring, const struct dnd_transfer *transfer,
			     const struct layout *layout)
{
	struct iovec *vectors;
	int rc;

	if (layout->count > BUFFERS_MAX || !takes_mapping(ring, transfer, layout->base))
		return false;
	vectors = calloc(layout->count, sizeof(*vectors));
	if (!vectors)
		return false;
	for (unsigned int i = 0; i < layout->count; i++) {
		vectors[i].iov_base = layout->base + i * layout->chunk_bytes;
		vectors[i].iov_len = chunk_length(layout, i);
	}
	rc = io_uring_register_buffers(ring, vectors, layout->count);
	free(vectors);
	return !rc;
}

/* ---- what the engine asks ---- */

int dnd_buffers_register(struct dnd_buffers *buffers, struct io_uring *ring,
			 const struct dnd_transfer *transfer)
{
	struct layout layout = layout_of(transfer, dnd_max(REGION_BUFFER_BYTES, transfer->plan->block_bytes));
	int rc = region_gives(ring, transfer, &layout, &buffers->by_offset);

	if (rc)
		return rc;
	if (!buffers->by_offset) {
		layout = layout_of(transfer, BUFFER_MAX_BYTES);
		if (!register_mapping(ring, transfer, &layout))
			return 0;
	}
	buffers->base = layout.base;
	buffers->chunk_bytes = layout.chunk_bytes;
	if (buffers->by_offset)
		buffers->granule_bytes = transfer->region->info.granule_bytes;
	return 0;
}

int dnd_buffers_index(const struct dnd_buffers *buffers, const uint8_t *memory)
{
	if (!buffers->base)
		return -1;
	return (int)((uint64_t)(memory - buffers->base) / buffers->chunk_bytes);
}

/* A region's buffers begin with whole granules, and at zero. */
uint8_t *dnd_buffers_address(const struct dnd_buffers *buffers, uint8_t *memory)
{
	uint64_t offset;
	uintptr_t start;

	if (!buffers->base || !buffers->by_offset)
		return memory;
	offset = (uint64_t)(memory - buffers->base) % buffers->chunk_bytes;
	start = (uintptr_t)(memory - offset) % buffers->granule_bytes;
	return (uint8_t *)(start + offset);
}
