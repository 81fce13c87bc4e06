// SPDX-License-Identifier: Apache-2.0
/* See aio.h.  This file makes the system calls itself, because libaio has only a wrapper for each. */
#include <errno.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/aio.h"

struct dnd_aio {
	aio_context_t context;
	unsigned int entries;
	struct iocb *blocks;		/* for one io_submit(); the kernel keeps no reference to them */
	struct iocb **list;
	struct dnd_io_list waiting;	/* prepared, and not handed to the kernel yet */
	bool full;			/* the last hand-over had no room for some of these */
	unsigned int in_flight;
	struct io_event *events;	/* completions; @count of them, from @at on, were not taken yet */
	unsigned int at, count;
};

/* All programs share the machine's number of entries, so this settles for fewer; requests without room wait here. */
static int set_up(struct dnd_aio *aio, unsigned int entries)
{
	for (aio->entries = entries; aio->entries; aio->entries /= 2) {
		if (!syscall(SYS_io_setup, aio->entries, &aio->context))
			return -dnd_aio_try(aio->context);
		if (errno != EAGAIN)
			break;
	}
	return -errno;
}

int dnd_aio_open(struct dnd_ring *ring, unsigned int entries)
{
	struct dnd_aio *aio = calloc(1, sizeof(*aio));
	int rc = -ENOMEM;

	if (!aio)
		return rc;
	aio->blocks = calloc(entries, sizeof(*aio->blocks));
	aio->list = calloc(entries, sizeof(struct iocb *));
	aio->events = calloc(entries, sizeof(*aio->events));
	if (aio->blocks && aio->list && aio->events)
		rc = set_up(aio, entries);
	if (rc) {
		dnd_aio_close(aio);
		return rc;
	}
	for (unsigned int i = 0; i < entries; i++)
		aio->list[i] = &aio->blocks[i];
	ring->aio = aio;
	return 0;
}

void dnd_aio_close(struct dnd_aio *aio)
{
	if (aio->context)
		syscall(SYS_io_destroy, aio->context);	/* fails harmlessly in the child of a fork(), which has none */
	free(aio->blocks);
	free(aio->list);
	free(aio->events);
	free(aio);
}

/* ---- prepared requests ---- */

void dnd_aio_prepare(struct dnd_aio *aio, struct dnd_io *io)
{
	dnd_io_list_add(&aio->waiting, io);
}

bool dnd_aio_take_back(struct dnd_aio *aio, struct dnd_io *io)
{
	if (!io->waits)
		return false;
	dnd_io_list_remove(&aio->waiting, io);
	return true;
}

bool dnd_aio_is_full(const struct dnd_aio *aio)
{
	return aio->full && aio->waiting.first;
}

/* ---- to the kernel ---- */

static unsigned int operation_of(const struct dnd_io *io)
{
	switch (io->kind) {
	case DND_IO_READ:
		return IOCB_CMD_PREAD;
	case DND_IO_WRITE:
		return IOCB_CMD_PWRITE;
	default:
		return IOCB_CMD_FSYNC;
	}
}

static void describe(struct iocb *block, const struct dnd_io *io, int event_fd)
{
	memset(block, 0, sizeof(*block));
	block->aio_data = (uintptr_t)io;
	block->aio_lio_opcode = (uint16_t)operation_of(io);
	block->aio_fildes = (uint32_t)io->fd;
	block->aio_flags = IOCB_FLAG_RESFD;
	block->aio_resfd = (uint32_t)event_fd;
	if (io->kind == DND_IO_FLUSH)
		return;
	block->aio_buf = (uintptr_t)io->memory + io->moved_bytes;
	block->aio_nbytes = io->length_bytes - io->moved_bytes;
	block->aio_offset = (int64_t)(io->offset_bytes + io->moved_bytes);
}

/* Describes as many requests as there is room for. */
static unsigned int describe_all(struct dnd_aio *aio, int event_fd)
{
	unsigned int count = 0;

	for (struct dnd_io *io = aio->waiting.first; io && count < aio->entries - aio->in_flight; io = io->next)
		describe(&aio->blocks[count++], io, event_fd);
	return count;
}

/* The error belongs to the first request: io_submit() took none of the others either. */
static void lose_first(struct dnd_ring *ring, int error_number)
{
	struct dnd_io *io = ring->aio->waiting.first;

	dnd_io_list_remove(&ring->aio->waiting, io);
	io->dropped = error_number == EAGAIN;
	dnd_ring_lose(ring, io, error_number == EAGAIN ? -ENOMEM : -error_number);
}

/*
 * describe_all() offers no more requests than have room, so EAGAIN means lack of memory.  Requests in flight give some back
 * when they end, and then these are handed over.  If there are none, tries again.
 */
static bool may_try_again(unsigned int *tries)
{
	if (*tries == DND_RING_TRIES)
		return false;
	dnd_ring_nap((*tries)++);
	return true;
}

static void hand_over(struct dnd_ring *ring)
{
	struct dnd_aio *aio = ring->aio;
	unsigned int count, tries = 0;

	while ((count = describe_all(aio, ring->event_fd))) {
		long taken = syscall(SYS_io_submit, aio->context, (long)count, aio->list);

		if (taken < 0 && errno == EINTR)
			continue;
		if (taken <= 0) {
			int error_number = taken < 0 ? errno : EAGAIN;

			if (error_number == EAGAIN && aio->in_flight)
				break;
			if (error_number == EAGAIN && may_try_again(&tries))
				continue;
			lose_first(ring, error_number);
			continue;
		}
		tries = 0;
		aio->in_flight += (unsigned int)taken;
		while (taken--)
			dnd_io_list_remove(&aio->waiting, aio->waiting.first);
	}
	aio->full = aio->waiting.first;
}

/* ---- from the kernel ---- */

static int get_events(struct dnd_aio *aio, unsigned int least, const struct __kernel_timespec *timeout)
{
	long got = syscall(SYS_io_getevents, aio->context, (long)least, (long)aio->entries, aio->events, timeout);

	if (got < 0)
		return -errno;
	aio->at = 0;
	aio->count = (unsigned int)got;
	aio->in_flight -= (unsigned int)got;
	return got || !least ? 0 : -ETIME;
}

int dnd_aio_enter(struct dnd_ring *ring, unsigned int wait_for, const struct __kernel_timespec *timeout)
{
	struct dnd_aio *aio = ring->aio;

	hand_over(ring);
	if (!wait_for || ring->lost || aio->count || !aio->in_flight)
		return 0;
	/* If requests wait for room, return after one completion so that they can be handed over. */
	return get_events(aio, aio->full ? 1 : dnd_min(wait_for, aio->in_flight), timeout);
}

struct dnd_io *dnd_aio_next(struct dnd_aio *aio, int *got)
{
	const struct io_event *event;

	if (!aio->count && aio->in_flight)
		get_events(aio, 0, NULL);
	if (!aio->count)
		return NULL;
	event = &aio->events[aio->at++];
	aio->count--;
	*got = (int)event->res;
	return (struct dnd_io *)(uintptr_t)event->data;
}
