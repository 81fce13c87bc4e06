// SPDX-License-Identifier: Apache-2.0
/* See ring.h. */
#include <string.h>

#include "ring/aio.h"

static void prepare_command(struct io_uring_sqe *sqe, const struct dnd_io *io, int index,
			    uint8_t *memory)
{
	const struct dnd_command command = {
		.generic = io->generic,
		.reads = io->kind == DND_IO_READ,
		.memory = memory,
		.length_bytes = (uint32_t)io->length_bytes,
		.offset_bytes = io->offset_bytes,
		.fixed_index = index,
	};

	dnd_nvme_prepare(sqe, &command);
}

static void prepare_blocks(struct io_uring_sqe *sqe, const struct dnd_io *io, int index,
			   uint8_t *memory)
{
	int operation = io->kind == DND_IO_READ ? IORING_OP_READ : IORING_OP_WRITE;

	if (index >= 0)
		operation = io->kind == DND_IO_READ ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED;
	io_uring_prep_rw(operation, sqe, io->fd, memory + io->moved_bytes,
			 (unsigned int)(io->length_bytes - io->moved_bytes), io->offset_bytes + io->moved_bytes);
	if (index >= 0)
		sqe->buf_index = (uint16_t)index;
}

static void fill_in(struct dnd_ring *ring, struct io_uring_sqe *sqe, struct dnd_io *io)
{
	uint8_t *memory = io->memory;
	int index = io->attached ? (int)io->attached->slot : -1;

	ring->owed++;
	io->entry = ring->uring.sq.sqe_tail - 1;
	if (io->buffers)
		index = dnd_buffers_place(io->buffers, &memory, io->length_bytes);
	io->fixed = io->buffers && index >= 0;
	if (io->kind == DND_IO_FLUSH)
		io_uring_prep_fsync(sqe, io->fd, 0);
	else if (io->generic)
		prepare_command(sqe, io, index, memory);
	else
		prepare_blocks(sqe, io, index, memory);
	io_uring_sqe_set_data(sqe, io);
}

/*
 * A completion that finds no room costs the kernel memory, and is lost where it has none: its request would never end.  Some
 * rooms are kept for what does not give way, so that one long request of a slow drive does not hold up all others.
 */
static unsigned int free_rooms(const struct dnd_ring *ring, const struct dnd_io *io)
{
	unsigned int taken = ring->owed + (io->gives_way ? *ring->uring.sq.kring_entries : 0);
	unsigned int rooms = *ring->uring.cq.kring_entries;

	return rooms > taken ? rooms - taken : 0;
}

static struct io_uring_sqe *free_entry(struct dnd_ring *ring, const struct dnd_io *io)
{
	return free_rooms(ring, io) ? io_uring_get_sqe(&ring->uring) : NULL;
}

static struct dnd_io_list *list_of(struct dnd_ring *ring, const struct dnd_io *io)
{
	return io->gives_way ? &ring->giving_way : &ring->waiting;
}

static struct dnd_io *first_waiting(const struct dnd_ring *ring)
{
	return ring->waiting.first ? ring->waiting.first : ring->giving_way.first;
}

/* If no entry is free, the request waits for dnd_ring_enter(), which alone may submit others to make room. */
static void prepare(struct dnd_ring *ring, struct dnd_io *io)
{
	struct io_uring_sqe *sqe;

	if (ring->aio) {
		dnd_aio_prepare(ring->aio, io);
		return;
	}
	sqe = free_entry(ring, io);
	if (sqe)
		fill_in(ring, sqe, io);
	else
		dnd_io_list_add(list_of(ring, io), io);
}

/* Gives free entries to requests that wait for one.  Returns true if some still do, and it helps to hand the others over. */
static bool let_in(struct dnd_ring *ring)
{
	struct io_uring_sqe *sqe;
	struct dnd_io *io;

	while ((io = first_waiting(ring)) && (sqe = free_entry(ring, io))) {
		dnd_io_list_remove(list_of(ring, io), io);
		fill_in(ring, sqe, io);
	}
	ring->full = io && !free_rooms(ring, io);
	return io && !ring->full;
}

/*
 * Have so many completions been taken that it is worth a call to hand over what had no room?  If not, something is still in
 * flight, and this is asked again when it has ended.
 */
static bool may_refill(const struct dnd_ring *ring)
{
	const struct dnd_io *io = first_waiting(ring);

	return ring->full && io && (free_rooms(ring, io) >= (*ring->uring.sq.kring_entries + 1) / 2 ||
				    ring->owed == io_uring_sq_ready(&ring->uring));
}

void dnd_io_start(struct dnd_ring *ring, struct dnd_io *io)
{
	io->moved_bytes = 0;
	io->nvme_status = 0;
	io->tries = 0;
	io->stops = io->dropped = false;
	prepare(ring, io);
}

/* Turns the request's entry, if it has one, into one that does nothing; returns false if the kernel has taken it already. */
static bool drop(struct dnd_ring *ring, struct dnd_io *io)
{
	unsigned int head = io_uring_smp_load_acquire(ring->uring.sq.khead);

	if (io->waits) {
		dnd_io_list_remove(list_of(ring, io), io);
		return true;
	}
	if ((int)(io->entry - head) < 0)
		return false;
	dnd_ring_blank(dnd_ring_entry(ring, io->entry));
	return true;
}

bool dnd_io_take_back(struct dnd_ring *ring, struct dnd_io *io)
{
	if (io->dropped || !(ring->aio ? dnd_aio_take_back(ring->aio, io) : drop(ring, io)))
		return false;
	io->dropped = true;
	dnd_ring_lose(ring, io, -ECANCELED);
	return true;
}

/*
 * Cancels by a call, not by an entry in the ring: to submit that would submit all prepared entries.  With time-out 0 it waits
 * for nothing.
 */
void dnd_io_cancel(struct dnd_ring *ring, struct dnd_io *io)
{
	struct io_uring_sync_cancel_reg asked = { .addr = (uintptr_t)io, .fd = -1 };

	io->stops = true;
	if (dnd_io_take_back(ring, io) || io->dropped || ring->aio)
		return;
	io_uring_register_sync_cancel(&ring->uring, &asked);
}

/* Submits all requests that have an entry. */
static int submit(struct dnd_ring *ring)
{
	dnd_ring_vet(ring);
	return io_uring_submit(&ring->uring);
}

/* Hands over the prepared requests that have room, and tries again if the kernel lacks memory. */
static int hand_over(struct dnd_ring *ring)
{
	int rc;

	if (ring->aio)
		return dnd_aio_enter(ring, 0, NULL);
	for (unsigned int tries = 0; tries < DND_RING_TRIES; tries = rc > 0 ? 0 : tries + 1) {
		let_in(ring);
		if (!io_uring_sq_ready(&ring->uring))
			return 0;
		dnd_ring_nap(tries);
		rc = submit(ring);
		if (!dnd_ring_may_pass(rc))
			return rc;
	}
	return -ENOMEM;
}

/* Hands over requests until the rest have entries, or have no room.  Returns 0, or -errno if the kernel takes no more. */
static int make_room(struct dnd_ring *ring)
{
	int rc = 1;

	while (rc > 0 && let_in(ring))
		rc = submit(ring);
	return rc > 0 ? 0 : rc ? rc : -EAGAIN;
}

/*
 * The kernel took no request for want of memory, and did not wait.  Requests that it has already may end and free memory, so
 * this waits for one of them, without a limit if @timeout is NULL, and returns the result of that wait.
 */
static int wait_in_vain(struct dnd_ring *ring, struct __kernel_timespec *timeout, int rc)
{
	struct io_uring_cqe *cqe;

	if (ring->owed > io_uring_sq_ready(&ring->uring))
		return timeout ? io_uring_wait_cqe_timeout(&ring->uring, &cqe, timeout) : io_uring_wait_cqe(&ring->uring, &cqe);
	dnd_ring_nap(ring->vain);
	return ++ring->vain < DND_RING_TRIES ? rc : -ENOMEM;
}

static bool is_over(const struct __kernel_timespec *timeout, uint64_t start)
{
	return timeout && dnd_now_ns() - start >= (uint64_t)timeout->tv_sec * 1000000000 + (uint64_t)timeout->tv_nsec;
}

/*
 * The kernel's own -EINTR says that it took no entry and has no completion: else the call returns what there is, and
 * does not tell of the signal that ended the wait.
 */
static int submit_and_wait(struct dnd_ring *ring, unsigned int wait_for, struct __kernel_timespec *timeout)
{
	uint64_t start = timeout ? dnd_now_ns() : 0;
	struct io_uring_cqe *cqe;
	int rc = timeout ? io_uring_submit_and_wait_timeout(&ring->uring, &cqe, wait_for, timeout, NULL) :
			   io_uring_submit_and_wait(&ring->uring, wait_for);

	if (rc == -EAGAIN || rc == -EBUSY)
		return wait_in_vain(ring, timeout, rc);
	ring->vain = 0;
	if (rc >= 0 && !io_uring_sq_ready(&ring->uring) && io_uring_cq_ready(&ring->uring) < wait_for &&
	    !is_over(timeout, start))
		return -EINTR;
	return rc;
}

/* A lost request is done, so there is nothing to wait for then. */
static int enter(struct dnd_ring *ring, unsigned int wait_for, struct __kernel_timespec *timeout)
{
	int rc = first_waiting(ring) ? make_room(ring) : 0;

	dnd_ring_vet(ring);
	if (ring->lost)
		return hand_over(ring);
	if (ring->aio)
		return dnd_aio_enter(ring, wait_for, timeout);
	if (rc == -EAGAIN || rc == -EBUSY)
		return wait_in_vain(ring, timeout, rc);
	return rc ? rc : submit_and_wait(ring, wait_for, timeout);
}

int dnd_ring_enter(struct dnd_ring *ring, unsigned int wait_for)
{
	int rc = wait_for ? enter(ring, wait_for, NULL) : hand_over(ring);

	return dnd_ring_may_pass(rc) ? 0 : rc;
}

int dnd_ring_enter_timed(struct dnd_ring *ring, unsigned int wait_for, uint64_t timeout_ns)
{
	struct __kernel_timespec limit = {
		.tv_sec = (long long)(timeout_ns / 1000000000), .tv_nsec = (long long)(timeout_ns % 1000000000),
	};
	int rc = enter(ring, wait_for, timeout_ns == UINT64_MAX ? NULL : &limit);

	return rc == -EINTR || !dnd_ring_may_pass(rc) ? rc : 0;
}

static void go_on(struct dnd_ring *ring, struct dnd_io *io)
{
	prepare(ring, io);
	dnd_ring_hand_over_soon(ring);
}

/*
 * Another try may succeed after a signal, or if the kernel lacked some resource.  But a command that ends with EINTR
 * was cancelled, by the time-out of its drive or by a reset, and would end the same way again.
 */
static bool may_try_again(const struct dnd_ring *ring, struct dnd_io *io, int got)
{
	if (got != -EAGAIN && (got != -EINTR || io->generic))
		return false;
	return !io->stops && !ring->stops && ++io->tries < DND_RING_TRIES;
}

/* Returns true if the request is done: complete, failed, or short at the end of a file.  Else it continues. */
static bool blocks_done(struct dnd_ring *ring, struct dnd_io *io, int got, int64_t *result)
{
	if (got > 0) {
		io->moved_bytes += (uint64_t)got;
		io->tries = 0;
	}
	*result = got < 0 ? got : (int64_t)io->moved_bytes;
	if (got <= 0 || io->moved_bytes >= io->length_bytes || io->moved_bytes % io->align_bytes || ring->stops)
		return true;
	go_on(ring, io);
	return false;
}

/*
 * For a command, Linux 6.12 counts the pages up to the end of the whole registered
 * buffer, and refuses too many with -EINVAL before it asks the drive.  The request is
 * then repeated without the registered buffer.
 */
static bool command_done(struct dnd_ring *ring, struct dnd_io *io, int got, int64_t *result)
{
	if (got == -EINVAL && io->fixed && !ring->stops) {
		io->buffers->base = NULL;
		go_on(ring, io);
		return false;
	}
	*result = dnd_nvme_result(got, (uint32_t)io->length_bytes, &io->nvme_status);
	return true;
}

static bool done(struct dnd_ring *ring, struct dnd_io *io, int got, int64_t *result)
{
	if (got > 0 && (uint64_t)got == io->length_bytes && !io->generic) {	/* nearly always */
		*result = got;
		return true;
	}
	if (io->stops && (got == -EAGAIN || got == -EINTR)) {
		*result = -ECANCELED;
		return true;
	}
	if (may_try_again(ring, io, got)) {
		go_on(ring, io);
		return false;
	}
	if (io->kind == DND_IO_FLUSH) {
		*result = got;
		return true;
	}
	return io->generic ? command_done(ring, io, got, result) : blocks_done(ring, io, got, result);
}

/* Takes a completion; false if none has come.  *io is NULL for an entry that was turned into one that does nothing. */
static bool take(struct dnd_ring *ring, struct dnd_io **io, int *got)
{
	struct io_uring_cqe *cqe;

	if (ring->aio) {
		*io = dnd_aio_next(ring->aio, got);
		return *io;
	}
	if (io_uring_peek_cqe(&ring->uring, &cqe))
		return false;
	*io = io_uring_cqe_get_data(cqe);
	*got = cqe->res;
	io_uring_cqe_seen(&ring->uring, cqe);
	ring->owed--;
	return true;
}

struct dnd_io *dnd_io_next(struct dnd_ring *ring, int64_t *result)
{
	struct dnd_io *io;
	int got;

	while (take(ring, &io, &got))
		if (io && done(ring, io, got, result))
			return io;
	if (ring->again || (ring->aio ? dnd_aio_is_full(ring->aio) : may_refill(ring))) {
		ring->failed = hand_over(ring);
		ring->again = ring->failed;	/* the next call tries again */
	}
	return ring->lost ? dnd_ring_take_lost(ring, result) : NULL;
}
