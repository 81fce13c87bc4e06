/* SPDX-License-Identifier: Apache-2.0 */
/* What the room ring offers: requests to drives in flight, and memory that is registered for them. */
#ifndef DND_RING_H
#define DND_RING_H

#include <liburing.h>

#include "drive/drive.h"

/* buffers.c: what a ring can hold for all requests, in slots that whoever registers memory takes. */
#define DND_SLOTS_MAX	1024U

struct dnd_slots {
	unsigned int count;		/* of the ring's slots; 0: it holds nothing */
	uint8_t taken[DND_SLOTS_MAX];
};

/* Memory in some of the slots, or in none: chunks that no registered request crosses. */
struct dnd_buffers {
	uint8_t *base;		/* NULL: not registered, or not to be used any more */
	uint64_t bytes;
	uint64_t chunk_bytes;	/* of a slot */
	uint64_t granule_bytes;
	unsigned int first, count;	/* slots, until they are given back */
	bool by_offset;		/* requests give the distance from the buffer's begin as their address */
};

/* What is to be registered: whole, in chunks of whole units. */
struct dnd_holding {
	uint8_t *base;
	uint64_t bytes;
	uint64_t unit_bytes;		/* no chunk ends within one, counted from base */
	uint32_t align_bytes;		/* the shortest request */
	const struct dnd_region *region;	/* whose file owns it, or NULL */
	const struct dnd_window *window;	/* in which it lies, or NULL: in DRAM */
};

/*
 * io.c: requests in flight.  The caller owns a request, and its memory, until
 * dnd_io_next() has returned it.  One thread.
 */
struct dnd_ring {
	struct io_uring uring;
	struct dnd_aio *aio;	/* in its place, where the kernel refuses it */
	int refused;		/* the errno with which it does, or 0 */
	struct dnd_slots slots;
	bool open;
	int event_fd;		/* -1: none */
	bool again;		/* something was started while completions are taken, and is to be handed over */
	bool stops;		/* set by who uses it: nothing goes on, or is tried again */
	int error;		/* the ring's own: it takes nothing any more */
	struct dnd_io *lost;	/* what it did not take: done, each with its error */
};

enum dnd_io_kind { DND_IO_READ, DND_IO_WRITE, DND_IO_FLUSH };

struct dnd_io {
	enum dnd_io_kind kind;
	int fd;
	const struct dnd_generic *generic;	/* NULL: by fd */
	uint64_t offset_bytes;	/* on the drive, or in the file */
	uint8_t *memory;
	uint64_t length_bytes;
	uint32_t align_bytes;	/* less than that comes only at the end of a file */
	struct dnd_buffers *buffers;	/* that may hold the memory, or NULL */
	/* the ring's own */
	uint64_t moved_bytes;	/* short transfers go on */
	uint32_t nvme_status;	/* of a command that the drive failed: type << 8 | code */
	unsigned int entry;	/* its place in the ring */
	struct dnd_io *next, *previous;	/* of what is prepared for Linux AIO, or next of what was lost */
	int error;		/* why the ring did not take it */
	unsigned int tries;	/* in a row that moved nothing */
	bool fixed;		/* the entry names a registered buffer */
	bool stops;		/* somebody wants it to end: it is not tried again */
	bool dropped;		/* before the kernel saw it */
	bool prepared;		/* for Linux AIO, and not handed over */
};

/*
 * open.c: with room for @entries at a time; more are handed over as they come.  @slots: for how many buffers.
 * @commands: entries are large enough for NVMe commands.  Where the kernel refuses io_uring the ring goes by Linux AIO,
 * without slots, and is refused with @commands.  -errno
 */
int dnd_ring_open(struct dnd_ring *ring, unsigned int entries, unsigned int slots, bool commands);
/* Nothing is in flight. */
void dnd_ring_close(struct dnd_ring *ring);
/* The ring's eventfd, which each completion from now on writes to; -errno */
int dnd_ring_event(struct dnd_ring *ring);

/* lost.c: it is done with -errno, and the event told; and the next of these, of which there is one */
void dnd_ring_lose(struct dnd_ring *ring, struct dnd_io *io, int error);
struct dnd_io *dnd_ring_take_lost(struct dnd_ring *ring, int64_t *result);

/* Prepares it; dnd_ring_enter() hands it to the kernel. */
void dnd_io_start(struct dnd_ring *ring, struct dnd_io *io);
/* Of what is started between two calls of dnd_io_next(): that hands it over when nothing more is there to be taken. */
static inline void dnd_ring_hand_over_soon(struct dnd_ring *ring)
{
	ring->again = true;
}

/* If no device has begun it, it ends with -ECANCELED; by Linux AIO, if it was not handed over. */
void dnd_io_cancel(struct dnd_ring *ring, struct dnd_io *io);
/*
 * Hands over what was prepared and waits for @wait_for completions, for fewer if not all have room, or for none if a
 * request is done that was not sent; 0 or -errno of the ring.
 */
int dnd_ring_enter(struct dnd_ring *ring, unsigned int wait_for);
/* The same, for @timeout_ns at most, UINT64_MAX: for ever.  -ETIME, -EINTR. */
int dnd_ring_enter_timed(struct dnd_ring *ring, unsigned int wait_for, uint64_t timeout_ns);
/*
 * A request that is done, or NULL: then what goes on has been handed over, and
 * what was prepared with it.  *result: the bytes moved, fewer at the end of a
 * file, or -errno; of a command that was not sent that of dnd_generic_check().
 */
struct dnd_io *dnd_io_next(struct dnd_ring *ring, int64_t *result);

/*
 * Leaves @buffers empty where it cannot be: plain requests then.  Nothing is in
 * flight.  -errno: the ring is of no use any more.
 */
int dnd_buffers_register(struct dnd_buffers *buffers, struct dnd_ring *ring,
			 const struct dnd_holding *holding);
/* How many that takes at most, or as many as there can be. */
unsigned int dnd_buffers_slots(uint64_t bytes, uint64_t unit_bytes);
/* Nothing of it is in flight. */
void dnd_buffers_unregister(struct dnd_buffers *buffers, struct dnd_ring *ring);
/*
 * The slot that holds all of the request's memory, or -1; *memory becomes what a
 * request names the place by: a region's buffers begin with whole granules, and
 * at zero.  Inline: each request asks.
 */
static inline int dnd_buffers_place(const struct dnd_buffers *buffers, uint8_t **memory, uint64_t bytes)
{
	uint64_t at = (uint64_t)(*memory - buffers->base), chunk = 0;

	if (!buffers->base || at >= buffers->bytes || bytes > buffers->bytes - at)
		return -1;
	if (at + bytes > buffers->chunk_bytes) {
		chunk = at / buffers->chunk_bytes;
		at -= chunk * buffers->chunk_bytes;
		if (at + bytes > buffers->chunk_bytes)
			return -1;
	}
	if (buffers->by_offset)
		*memory = (uint8_t *)((uintptr_t)(*memory - at) % buffers->granule_bytes + at);
	return (int)(buffers->first + chunk);
}

#endif /* DND_RING_H */
