/* SPDX-License-Identifier: Apache-2.0 */
/* What ring offers to the rest of the library: asynchronous requests to drives, and memory registered for them. */
#ifndef DND_RING_H
#define DND_RING_H

#include <liburing.h>

#include "drive/drive.h"

/* buffers.c: the ring's slots for fixed buffers, which all its requests may use.  Registered memory takes slots. */
#define DND_SLOTS_MAX	1024U

struct dnd_slots {
	unsigned int count;		/* how many slots the ring has; 0: it takes no fixed buffers */
	uint8_t taken[DND_SLOTS_MAX];
};

/* The first slot of a run of @count free ones, or -1. */
int dnd_slots_find(const struct dnd_slots *slots, unsigned int count);

/* A dma-buf in a slot: requests name bytes of it by their offset. */
struct dnd_attached {
	unsigned int slot;
};

/*
 * Memory that is registered in chunks, one in each slot, or not registered.  A request that crosses the border of a
 * chunk does not use the registration.
 */
struct dnd_buffers {
	uint8_t *base;		/* NULL: not registered, or requests must not use the slots any more */
	uint64_t bytes;
	uint64_t chunk_bytes;	/* how much each slot holds; the last may hold less */
	uint64_t granule_bytes;
	unsigned int first, count;	/* the slots, until they are given back */
	bool by_offset;		/* requests give an offset in the buffer as their address */
};

/* The memory that the caller wants to register: all of it, in chunks of whole units. */
struct dnd_holding {
	uint8_t *base;
	uint64_t bytes;
	uint64_t unit_bytes;		/* each chunk but the last is a multiple of this, counted from base */
	uint32_t align_bytes;		/* the shortest request */
	const struct dnd_region *region;	/* the region whose file owns the memory, or NULL */
	const struct dnd_window *window;	/* the window that it lies in, or NULL: it lies in DRAM */
};

struct dnd_io_list {
	struct dnd_io *first, *last;
};

/*
 * io.c: requests in flight.  The caller owns a request and its memory, and keeps both until
 * dnd_io_next() has returned the request.  Only one thread uses a ring at a time.
 */
struct dnd_ring {
	struct io_uring uring;
	struct dnd_aio *aio;	/* used instead of uring if the kernel refuses io_uring; else NULL */
	int refused;		/* the errno of that refusal, or 0 */
	struct dnd_slots slots;
	bool open;
	int event_fd;		/* -1: none */
	bool again;		/* requests were started between completions, and are to be handed over */
	int failed;		/* why the last attempt at that failed: -errno, or 0 */
	unsigned int owed;	/* entries of io_uring whose completion was not taken yet */
	unsigned int vain;	/* attempts in a row in which the kernel took no entry while it had none in flight */
	bool stops;		/* set by the ring's user: no request is continued or tried again */
	struct dnd_io_list waiting;	/* prepared, while io_uring had no room for them */
	struct dnd_io_list giving_way;	/* those of them that are let in after the others */
	bool full;		/* the last hand-over left some of these until others have ended */
	struct dnd_io *lost;	/* requests that it did not take: done, each with its error */
};

/* How often the ring tries what a lack of memory or a signal has refused. */
#define DND_RING_TRIES	1000
/* nap.c: called before try @tries, counted from 0.  Sleeps before some tries: others may free memory meanwhile. */
void dnd_ring_nap(unsigned int tries);

/* Did io_uring take entries, or may it after another try? */
static inline bool dnd_ring_may_pass(int rc)
{
	return rc == -EINTR || rc == -EAGAIN || rc == -EBUSY || rc >= 0;
}

enum dnd_io_kind { DND_IO_READ, DND_IO_WRITE, DND_IO_FLUSH };

struct dnd_io {
	enum dnd_io_kind kind;
	int fd;
	const struct dnd_generic *generic;	/* sends NVMe commands; NULL: reads and writes by fd */
	uint64_t offset_bytes;	/* on the drive, or in the file */
	uint8_t *memory;
	uint64_t length_bytes;
	uint32_t align_bytes;	/* a transfer that is no multiple of this has reached the end of the file */
	struct dnd_buffers *buffers;	/* that may hold the memory, or NULL */
	const struct dnd_attached *attached;	/* the dma-buf in which @memory is an offset; or NULL */
	bool gives_way;		/* one of many of a long request: leaves room for others */
	/* The members below belong to the ring. */
	uint64_t moved_bytes;	/* a short transfer continues from here */
	uint32_t nvme_status;	/* of a command that the drive failed: type << 8 | code */
	unsigned int entry;	/* its place in the submission queue */
	struct dnd_io *next, *previous;	/* in the list of those that wait for an entry; next also links the lost list */
	int error;		/* why the ring did not take it */
	unsigned int tries;	/* how many in a row moved nothing */
	bool fixed;		/* the entry names a registered buffer */
	bool stops;		/* it was cancelled: it is not tried again */
	bool dropped;		/* it ended before the kernel saw it */
	bool waits;		/* it is in that list */
};

/* Requests that have no entry yet: of io_uring, or of Linux AIO. */
static inline void dnd_io_list_add(struct dnd_io_list *list, struct dnd_io *io)
{
	io->next = NULL;
	io->previous = list->last;
	*(list->last ? &list->last->next : &list->first) = io;
	list->last = io;
	io->waits = true;
}

static inline void dnd_io_list_remove(struct dnd_io_list *list, struct dnd_io *io)
{
	*(io->previous ? &io->previous->next : &list->first) = io->next;
	*(io->next ? &io->next->previous : &list->last) = io->previous;
	io->waits = false;
}

/*
 * open.c: opens a ring that hands over @entries requests at a time, with room for at least 1024 in flight and for @slots
 * buffers.  Prepared requests without room wait for those that have some.  @commands: the entries are large enough for NVMe
 * commands.  If the kernel refuses io_uring, the ring uses Linux AIO, with room for @entries in flight and without slots; with
 * @commands it fails.  Returns 0 or -errno.
 */
int dnd_ring_open(struct dnd_ring *ring, unsigned int entries, unsigned int slots, bool commands);
/* Nothing may be in flight. */
void dnd_ring_close(struct dnd_ring *ring);
/* Returns the ring's eventfd, to which each completion from now on writes, or -errno. */
int dnd_ring_event(struct dnd_ring *ring);

/* The submission queue's entry of that number. */
static inline struct io_uring_sqe *dnd_ring_entry(struct dnd_ring *ring, unsigned int number)
{
	struct io_uring_sq *sq = &ring->uring.sq;

	return &sq->sqes[(number & *sq->kring_mask) << (ring->uring.flags & IORING_SETUP_SQE128 ? 1 : 0)];
}

/* Turns an entry into one that does nothing, and whose completion belongs to no request. */
static inline void dnd_ring_blank(struct io_uring_sqe *sqe)
{
	io_uring_prep_nop(sqe);
	io_uring_sqe_set_data(sqe, NULL);
}

/*
 * vet.c: loses each prepared command that dnd_generic_check() refuses now, with that -errno.  Call it right before entries are
 * submitted.
 */
void dnd_ring_vet(struct dnd_ring *ring);

/*
 * lost.c: dnd_ring_lose() ends @io with @error, an -errno, and signals the event.  dnd_ring_take_lost() takes one such
 * request; ring->lost must not be NULL.
 */
void dnd_ring_lose(struct dnd_ring *ring, struct dnd_io *io, int error);
struct dnd_io *dnd_ring_take_lost(struct dnd_ring *ring, int64_t *result);

/* Prepares @io; dnd_ring_enter() hands it to the kernel. */
void dnd_io_start(struct dnd_ring *ring, struct dnd_io *io);
/* For requests that are started between calls of dnd_io_next(), which hands them over when no completion is left. */
static inline void dnd_ring_hand_over_soon(struct dnd_ring *ring)
{
	ring->again = true;
}

/* Ends @io, which was started, with -ECANCELED if it was not handed over; returns true then. */
bool dnd_io_take_back(struct dnd_ring *ring, struct dnd_io *io);
/* Ends @io with -ECANCELED if no device has begun it; with Linux AIO, only if it was not handed over.  Hands over nothing. */
void dnd_io_cancel(struct dnd_ring *ring, struct dnd_io *io);
/*
 * Hands over the prepared requests and waits for @wait_for completions: for fewer if not all requests have room, and
 * for none if a lost request can be taken.  Returns 0 or the ring's -errno; -ENOMEM if the kernel takes no request for want
 * of memory, and has none in flight whose end could free some.
 */
int dnd_ring_enter(struct dnd_ring *ring, unsigned int wait_for);
/*
 * Does the same, but waits at most @timeout_ns; UINT64_MAX: no limit.  May also return -ETIME, or -EINTR after a signal.
 * Requests may have completed even then, except with Linux AIO.
 */
int dnd_ring_enter_timed(struct dnd_ring *ring, unsigned int wait_for, uint64_t timeout_ns);
/*
 * Returns a request that is done.  Returns NULL if there is none; if some requests continue, or waited for others to end, it
 * has then handed these over, with all others that were prepared.  *result: the bytes moved, fewer at the end of a file, or
 * -errno; if a command was not sent, the -errno of dnd_generic_check().
 */
struct dnd_io *dnd_io_next(struct dnd_ring *ring, int64_t *result);

/*
 * Registers memory while nothing is in flight.  If that is impossible, @buffers stays empty, and the requests are plain
 * ones.  Returns 0; or -errno, also with @buffers empty: -ENOMEM, or another if the ring cannot be used any more.
 */
int dnd_buffers_register(struct dnd_buffers *buffers, struct dnd_ring *ring,
			 const struct dnd_holding *holding);
/* The kernel releases what a slot holds when no request uses it any more. */
void dnd_slots_empty(struct dnd_ring *ring, unsigned int first, unsigned int count);
/*
 * attach.c: puts a dma-buf into a slot, for requests to that open file alone.  Returns 0 or -errno: -EINVAL before Linux 7.4;
 * -EOPNOTSUPP if the file's driver cannot import, the kernel is built without it, or the ring uses Linux AIO.
 */
int dnd_ring_attach(struct dnd_ring *ring, int dmabuf_fd, int file_fd, struct dnd_attached *attached);
/* No request that uses it may be in flight. */
void dnd_ring_detach(struct dnd_ring *ring, const struct dnd_attached *attached);
/* How many slots such memory takes at most, up to DND_SLOTS_MAX. */
unsigned int dnd_buffers_slots(uint64_t bytes, uint64_t unit_bytes);
/* No request that uses it may be in flight. */
void dnd_buffers_unregister(struct dnd_buffers *buffers, struct dnd_ring *ring);
/*
 * Returns the slot that holds all of the request's memory, or -1.  Sets *memory to the address to put in the request: a
 * buffer that a region registered begins at address 0 and at a granule border.  Inline, since each request asks.
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
