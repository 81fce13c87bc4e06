// SPDX-License-Identifier: Apache-2.0
/* See aio.h.  The system calls themselves: libaio has no more than a wrapper of each. */
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
	struct iocb *blocks;		/* of what was prepared; the kernel keeps no reference to them */
	struct iocb **list;
	unsigned int prepared;
	unsigned int in_flight;
	struct io_event *events;	/* that have come, and were not taken yet */
	unsigned int first, count;
};

int dnd_aio_open(struct dnd_aio **aio_out, unsigned int entries)
{
	struct dnd_aio *aio = calloc(1, sizeof(*aio));
	int rc = -ENOMEM;

	if (!aio)
		return rc;
	aio->entries = entries;
	aio->blocks = calloc(entries, sizeof(*aio->blocks));
	aio->list = calloc(entries, sizeof(struct iocb *));
	aio->events = calloc(entries, sizeof(*aio->events));
	if (aio->blocks && aio->list && aio->events)
		rc = syscall(SYS_io_setup, entries, &aio->context) ? -errno : 0;
	if (rc) {
		dnd_aio_close(aio);
		return rc;
	}
	*aio_out = aio;
	return 0;
}

void dnd_aio_close(struct dnd_aio *aio)
{
	if (aio->context)
		syscall(SYS_io_destroy, aio->context);
	free(aio->blocks);
	free(aio->list);
	free(aio->events);
	free(aio);
}

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

void dnd_aio_prepare(struct dnd_aio *aio, struct dnd_io *io)
{
	struct iocb *block = &aio->blocks[aio->prepared];

	memset(block, 0, sizeof(*block));
	block->aio_data = (uintptr_t)io;
	block->aio_lio_opcode = (uint16_t)operation_of(io);
	block->aio_fildes = (uint32_t)io->fd;
	if (io->kind != DND_IO_FLUSH) {
		block->aio_buf = (uintptr_t)io->memory + io->moved_bytes;
		block->aio_nbytes = io->length_bytes - io->moved_bytes;
		block->aio_offset = (int64_t)(io->offset_bytes + io->moved_bytes);
	}
	aio->list[aio->prepared] = block;
	aio->prepared++;
}

/* The first @count of what was prepared are the kernel's, or done. */
static void forget(struct dnd_aio *aio, unsigned int count)
{
	aio->prepared -= count;
	memmove(aio->blocks, aio->blocks + count, aio->prepared * sizeof(*aio->blocks));
}

/* Events come behind those that are there. */
static void make_room(struct dnd_aio *aio)
{
	memmove(aio->events, aio->events + aio->first, aio->count * sizeof(*aio->events));
	aio->first = 0;
}

static void add_event(struct dnd_aio *aio, uint64_t data, int64_t result)
{
	make_room(aio);
	aio->events[aio->count++] = (struct io_event){ .data = data, .res = result };
}

/* An error is the first block's own: nothing of it is in flight. */
static void hand_over(struct dnd_aio *aio)
{
	while (aio->prepared) {
		long taken = syscall(SYS_io_submit, aio->context, (long)aio->prepared, aio->list);

		if (taken < 0 && errno == EINTR)
			continue;
		if (taken <= 0) {
			/* As many fit as were asked for: so it is memory that lacks, and not room. */
			add_event(aio, aio->blocks[0].aio_data, taken < 0 && errno != EAGAIN ? -errno : -ENOMEM);
			taken = 1;
		} else {
			aio->in_flight += (unsigned int)taken;
		}
		forget(aio, (unsigned int)taken);
	}
}

int dnd_aio_enter(struct dnd_aio *aio, unsigned int wait_for)
{
	long got;

	hand_over(aio);
	if (!aio->in_flight || aio->count >= wait_for)
		return 0;
	make_room(aio);
	got = syscall(SYS_io_getevents, aio->context, (long)dnd_min(wait_for - aio->count, aio->in_flight),
		      (long)(aio->entries - aio->count), aio->events + aio->count, NULL);
	if (got < 0)
		return errno == EINTR ? 0 : -errno;
	aio->count += (unsigned int)got;
	aio->in_flight -= (unsigned int)got;
	return 0;
}

struct dnd_io *dnd_aio_next(struct dnd_aio *aio, int *got)
{
	const struct io_event *event = &aio->events[aio->first];

	if (!aio->count)
		return NULL;
	aio->first++;
	aio->count--;
	*got = (int)event->res;
	return (struct dnd_io *)(uintptr_t)event->data;
}
