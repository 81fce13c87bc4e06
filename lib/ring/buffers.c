// SPDX-License-Identifier: Apache-2.0
/*
 * Registers memory as the ring's fixed buffers, so that its pages are looked up and pinned once, not for each request.
 *
 * The p2pmem driver registers a region's memory itself where the kernel lets drivers do so (Linux 7.3); then no page is
 * looked up at all.  Else the mapping is registered page by page, if the kernel accepts such mappings.
 */
#include <string.h>

#include "ring/ring.h"
#include "uapi/p2pmem.h"

#define BUFFER_MAX_BYTES	(1ULL << 30)	/* the kernel's limit for one buffer */
#define REGION_BUFFER_BYTES	(64ULL << 20)	/* small, since each request walks the segments before its own */

/* ---- slots ---- */

int dnd_slots_find(const struct dnd_slots *slots, unsigned int count)
{
	unsigned int run = 0;

	for (unsigned int i = 0; i < slots->count; i++) {
		run = slots->taken[i] ? 0 : run + 1;
		if (run == count)
			return (int)(i + 1 - count);
	}
	return -1;
}

static uint64_t chunk_of(uint64_t most_bytes, uint64_t unit_bytes)
{
	return dnd_round_down(dnd_max(most_bytes, unit_bytes), unit_bytes);
}

unsigned int dnd_buffers_slots(uint64_t bytes, uint64_t unit_bytes)
{
	return (unsigned int)dnd_min(bytes / chunk_of(REGION_BUFFER_BYTES, unit_bytes) + 1, DND_SLOTS_MAX);
}

/* Divides the memory into chunks of at most @most_bytes, one for each slot; false if too few slots are free. */
static bool lay_out(struct dnd_buffers *buffers, struct dnd_ring *ring,
		    const struct dnd_holding *holding, uint64_t most_bytes)
{
	uint64_t chunks;
	int first;

	buffers->base = holding->base;
	buffers->bytes = holding->bytes;
	buffers->chunk_bytes = chunk_of(most_bytes, holding->unit_bytes);
	chunks = (holding->bytes + buffers->chunk_bytes - 1) / buffers->chunk_bytes;
	first = chunks && chunks <= DND_SLOTS_MAX ? dnd_slots_find(&ring->slots, (unsigned int)chunks) : -1;
	buffers->first = first < 0 ? 0 : (unsigned int)first;
	buffers->count = (unsigned int)chunks;
	return first >= 0;
}

static uint64_t chunk_length(const struct dnd_buffers *buffers, unsigned int i)
{
	return dnd_min(buffers->chunk_bytes, buffers->bytes - i * buffers->chunk_bytes);
}

void dnd_slots_empty(struct dnd_ring *ring, unsigned int first, unsigned int count)
{
	const __u64 no_tag = 0;
	const struct iovec nothing = { 0 };

	for (unsigned int i = 0; i < count; i++)
		io_uring_register_buffers_update_tag(&ring->uring, first + i, &nothing, &no_tag, 1);
}

/* ---- by the region ---- */

/* Returns a free entry.  Requests that were taken back before they began fill the ring until their entries are submitted. */
static struct io_uring_sqe *entry_of(struct dnd_ring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);

	if (!sqe && io_uring_submit(&ring->uring) > 0)
		sqe = io_uring_get_sqe(&ring->uring);
	return sqe;
}

/* Sets *answer to the region's answer.  Returns -errno if it could not be asked: unless -ENOMEM, the ring is unusable then. */
static int run_command(struct dnd_ring *ring, int fd, const struct p2pmem_uring_buffer *buffer,
		       int *answer)
{
	struct io_uring_cqe *cqe = NULL;
	struct io_uring_sqe *sqe;
	unsigned int tries = 0;
	int rc;

	dnd_ring_vet(ring);
	sqe = entry_of(ring);
	if (!sqe)
		return -ENOMEM;
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = P2PMEM_URING_BUFFER;
	memcpy(sqe->cmd, buffer, sizeof(*buffer));
	io_uring_sqe_set_data(sqe, answer);
	/* It is the last entry: the kernel may take others before it, and no more. */
	do {
		dnd_ring_nap(tries);
		rc = io_uring_submit(&ring->uring);
	} while (dnd_ring_may_pass(rc) && io_uring_sq_ready(&ring->uring) && ++tries < DND_RING_TRIES);
	if (io_uring_sq_ready(&ring->uring)) {
		dnd_ring_blank(sqe);		/* the kernel may take it yet */
		ring->owed++;
		return dnd_ring_may_pass(rc) ? -ENOMEM : rc;
	}
	for (;;) {
		rc = io_uring_wait_cqe(&ring->uring, &cqe);
		if (rc == -EINTR || rc == -EAGAIN)
			continue;
		if (rc)
			return rc;
		if (io_uring_cqe_get_data(cqe) == answer)
			break;
		io_uring_cqe_seen(&ring->uring, cqe);	/* of a request that was taken back before */
		ring->owed--;
	}
	*answer = cqe->res;
	io_uring_cqe_seen(&ring->uring, cqe);
	return 0;
}

/* Asks for whole granules, from the one that holds the chunk's first byte to the one that holds its last. */
static int ask_region(struct dnd_ring *ring, const struct dnd_holding *holding,
		      const struct dnd_buffers *buffers, unsigned int i, int *answer)
{
	const struct dnd_window *window = holding->window;
	uint64_t granule = holding->region->info.granule_bytes;
	uint64_t start = (uint64_t)(buffers->base - window->map) + i * buffers->chunk_bytes;
	uint64_t first = dnd_round_down(start, granule);
	struct p2pmem_uring_buffer buffer = {
		.file_offset = window->file_offset + first,
		.granules = (uint32_t)((dnd_round_up(start + chunk_length(buffers, i), granule) - first) / granule),
		.index = buffers->first + i,
	};

	return run_command(ring, holding->region->fd, &buffer, answer);
}

/* *given: the region registered all of the memory; else none of it is registered. */
static int region_gives(struct dnd_buffers *buffers, struct dnd_ring *ring,
			const struct dnd_holding *holding, bool *given)
{
	int rc = 0, answer = 0;
	unsigned int i;

	*given = false;
	if (!holding->window || !holding->region || holding->region->info.page_type != P2PMEM_PAGES_GENERIC ||
	    !lay_out(buffers, ring, holding, REGION_BUFFER_BYTES))
		return 0;
	for (i = 0; i < buffers->count && !rc && !answer; i++)
		rc = ask_region(ring, holding, buffers, i, &answer);
	*given = !rc && !answer;
	if (!*given)
		dnd_slots_empty(ring, buffers->first, i - 1);
	return rc;
}

/* ---- by mapping ---- */

/* Linux before 6.6 pins all of a file's mapping before it refuses it, so this tries one page first. */
static bool takes_mapping(struct dnd_ring *ring, const struct dnd_holding *holding, unsigned int slot)
{
	const struct iovec probe = { .iov_base = holding->base, .iov_len = holding->align_bytes };
	const __u64 no_tag = 0;

	return !holding->window ||
	       io_uring_register_buffers_update_tag(&ring->uring, slot, &probe, &no_tag, 1) == 1;
}

/* The kernel refuses p2pdma pages, and old kernels refuse all such mappings; then the requests are plain ones. */
static bool register_mapping(struct dnd_ring *ring, const struct dnd_holding *holding,
			     const struct dnd_buffers *buffers)
{
	const __u64 no_tag = 0;
	struct iovec vector;
	unsigned int i = 0;
	bool taken = takes_mapping(ring, holding, buffers->first);

	for (; taken && i < buffers->count; i++) {
		vector.iov_base = buffers->base + i * buffers->chunk_bytes;
		vector.iov_len = chunk_length(buffers, i);
		taken = io_uring_register_buffers_update_tag(&ring->uring, buffers->first + i,
							     &vector, &no_tag, 1) == 1;
	}
	if (!taken)
		dnd_slots_empty(ring, buffers->first, dnd_max(i, 1));
	return taken;
}

/* ---- what the ring's users call ---- */

int dnd_buffers_register(struct dnd_buffers *buffers, struct dnd_ring *ring,
			 const struct dnd_holding *holding)
{
	int rc = region_gives(buffers, ring, holding, &buffers->by_offset);

	if (rc || (!buffers->by_offset && !(lay_out(buffers, ring, holding, BUFFER_MAX_BYTES) &&
					    register_mapping(ring, holding, buffers)))) {
		memset(buffers, 0, sizeof(*buffers));
		return rc;
	}
	memset(ring->slots.taken + buffers->first, 1, buffers->count);
	if (buffers->by_offset)
		buffers->granule_bytes = holding->region->info.granule_bytes;
	return 0;
}

void dnd_buffers_unregister(struct dnd_buffers *buffers, struct dnd_ring *ring)
{
	dnd_slots_empty(ring, buffers->first, buffers->count);
	memset(ring->slots.taken + buffers->first, 0, buffers->count);
	memset(buffers, 0, sizeof(*buffers));
}
