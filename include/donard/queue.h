/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many reads and writes in flight between files and memory.
 *
 *	donard_queue_open(ctx, NULL, &queue);
 *	donard_queue_read(queue, file, 0, memory, 0, 1 << 20, me);
 *	donard_queue_submit(queue);
 *	donard_queue_wait(queue, 1, -1, &completion, 1);
 *
 * Conventions and errno values are those of donard.h.  A queue belongs to the thread that
 * opened it, and takes no locks: a call from another thread, or from the child of a fork(),
 * fails with -EPERM, and leaves the context and its text alone.  Threads that share memory
 * or files have a queue each.
 *
 * The first request between a file and a memory asks the kernel for their route, and
 * moves one block there and back to prove it, as donard_copy() does: that call
 * waits for a few blocks.  The first write puts its first block on the drive ahead
 * of the rest; where that block would prove nothing, other bytes stand in its place for
 * a moment before it.  A refusal changes nothing, with one exception: if a write was lost
 * on its way, the first block is overwritten, and the text says so.  A route that could
 * only be predicted is tried again after a second.  The last 256 pairs are remembered.
 *
 * A file can become one that goes through DRAM (chattr +j).  The queue asks the file system
 * after requests have ended: those that may have gone through DRAM complete as bounced.  It
 * refuses further ones, or bounces them with ALLOW_BOUNCE.  It notices a change of what a file or a volume lies on (device-mapper,
 * md, a further path) within a second.
 *
 * Where the kernel refuses io_uring to the process, as in most containers, the requests go by Linux AIO
 * (no_io_uring of struct donard_queue_info).  Then no memory is registered, PASSTHROUGH is refused, a request that
 * was submitted is not canceled any more, and what hands requests to the kernel, donard_queue_poll() too, may wait: for
 * room in a drive's queue, for a file that grows, and for a request that is not aligned.
 *
 * Requests have no order.  The caller keeps apart requests that touch the same bytes of a
 * file or of memory.
 */
#ifndef DONARD_QUEUE_H
#define DONARD_QUEUE_H

#include "file.h"
#include "memory.h"

#ifdef __cplusplus
extern "C" {
#endif

struct donard_queue;

#define DONARD_QUEUE_ALLOW_BOUNCE	(1U << 0)	/* what cannot go straight goes through DRAM, and is counted */
#define DONARD_QUEUE_ALLOW_UNLISTED	(1U << 1)	/* try a host bridge on no list */
#define DONARD_QUEUE_PASSTHROUGH	(1U << 2)	/* NVMe commands that bypass the block layer */

/**
 * struct donard_queue_options - how a queue works; zeroed means the defaults
 * @size: sizeof(struct donard_queue_options)
 * @depth: requests that it holds at most, up to 4096; 0: 64
 * @flags: DONARD_QUEUE_*
 *
 * With DONARD_QUEUE_ALLOW_BOUNCE the queue also takes requests that are not aligned; one
 * that writes a part of a block reads the block first.
 *
 * With DONARD_QUEUE_PASSTHROUGH the queue sends NVMe commands to drives and partitions,
 * which needs Linux 6.12 and root.  The first request writes back, once, what the page
 * cache holds of the drive: nobody else may use the drive meanwhile.
 */
struct donard_queue_options {
	size_t size;
	uint32_t depth;
	uint32_t flags;
};

/**
 * donard_queue_open() - make a queue
 * @ctx: the context
 * @options: NULL for the defaults
 * @queue: set to the queue, which donard_queue_close() closes
 *
 * Returns 0; -EINVAL; -EOPNOTSUPP where io_uring is refused, and Linux AIO as well, or passthrough is asked for;
 * -EMFILE, -ENOMEM; -E2BIG.
 */
int donard_queue_open(struct donard_context *ctx, const struct donard_queue_options *options,
		      struct donard_queue **queue);

/**
 * donard_queue_close() - end a queue
 * @queue: may be NULL.  The thread that opened it closes it; another one can do so once
 *	that thread has ended and nothing is in flight, and otherwise does nothing
 *
 * The call cancels the requests that no device has begun, and waits for the rest: no device
 * writes into memory after that.  Completions that were not taken are lost.
 *
 * In the child of a fork() it ends the child's hold on the parent's queue, and
 * leaves the requests alone.
 */
void donard_queue_close(struct donard_queue *queue);

/**
 * donard_queue_register() - look up a memory once for all requests
 * @queue: the queue
 * @memory: of the same context
 *
 * Requests for that memory then cost less.  The call waits for the requests in flight.
 * The queue holds the memory until donard_queue_unregister(), or until its region goes
 * away.  Some memory cannot be registered: some kernels register no device memory, or
 * none of some page types, Linux AIO registers none, and a dma-buf of another exporter than p2pmem never is, since
 * that exporter tells nobody when it takes the memory back.  Requests then cost as much as
 * before, and the call does not fail.
 *
 * Returns 1 when the memory is registered, 0 when it cannot be; -ENOSPC when 64 others are;
 * -EINVAL for memory of another context; -EIO, -EPERM, -ENOMEM.
 */
int donard_queue_register(struct donard_queue *queue, struct donard_memory *memory);

/**
 * donard_queue_unregister() - let go of a registered memory
 * @queue: the queue
 * @memory: the memory, registered or not
 *
 * The call waits for the requests in flight that use it.
 *
 * Returns 0; -EIO, -EPERM.
 */
int donard_queue_unregister(struct donard_queue *queue, struct donard_memory *memory);

/**
 * donard_queue_read() - read from a file into memory
 * @queue: the queue
 * @file: of the same context
 * @file_offset: in it; a multiple of its align_bytes
 * @memory: of the same context
 * @memory_offset: in it; the address there is a multiple of the file's
 *	memory_align_bytes
 * @length_bytes: up to 1 GiB; a multiple of the file's align_bytes
 * @user: comes back with the completion
 *
 * The request begins with donard_queue_submit() or donard_queue_wait().  At the end of a
 * file fewer bytes come.
 *
 * The first request of a file and a memory moves a block before the call returns; see the
 * top.
 *
 * Returns 0; -EAGAIN when the queue is full: take completions; -EHOSTUNREACH,
 * -EBADMSG and -EOPNOTSUPP when the pair is refused as donard_copy() refuses it;
 * -EINVAL for the alignment; -ENXIO past the end of the memory or of a drive; -EIO and
 * -ENODEV when the proof fails; -EPERM, -ENOMEM.
 */
int donard_queue_read(struct donard_queue *queue, struct donard_file *file, uint64_t file_offset,
		      struct donard_memory *memory, uint64_t memory_offset, uint64_t length_bytes,
		      void *user);

/**
 * donard_queue_write() - write from memory to a file
 * @queue: the queue
 * @file: opened for writing
 * @file_offset: in it; a multiple of its align_bytes
 * @memory: of the same context
 * @memory_offset: in it; the address there is a multiple of the file's
 *	memory_align_bytes
 * @length_bytes: up to 1 GiB; a multiple of the file's align_bytes
 * @user: comes back with the completion
 *
 * A regular file grows.  Call donard_queue_flush() after the completion to make the data
 * durable.
 *
 * Returns as donard_queue_read(); -EROFS when the file is not open for writing.
 */
int donard_queue_write(struct donard_queue *queue, struct donard_file *file, uint64_t file_offset,
		       struct donard_memory *memory, uint64_t memory_offset, uint64_t length_bytes,
		       void *user);

/**
 * donard_queue_flush() - make durable what was written
 * @queue: the queue
 * @file: opened for writing
 * @user: comes back with the completion
 *
 * The flush covers every write whose completion was taken before this call, and perhaps
 * others.  Where the kernel was told to flush no drive (info.not_flushed of the file) it
 * succeeds, and its completion has DONARD_COMPLETION_VOLATILE.
 *
 * Returns 0; -EAGAIN, -EROFS, -EPERM.
 */
int donard_queue_flush(struct donard_queue *queue, struct donard_file *file, void *user);

/**
 * donard_queue_submit() - let the requests so far begin
 * @queue: the queue
 *
 * Returns 0; -EIO, -EPERM, -ENOMEM.
 */
int donard_queue_submit(struct donard_queue *queue);

/* Its bytes went through DRAM.  With DONARD_EVIDENCE_PREDICTED they may have: the file system stopped direct I/O of the file. */
#define DONARD_COMPLETION_BOUNCED	(1U << 0)
#define DONARD_COMPLETION_REGISTERED	(1U << 1)	/* by registered memory */
/* For a cache: a power cut of the server loses it, until a flush.  For a flush: it made nothing durable (info.not_flushed). */
#define DONARD_COMPLETION_VOLATILE	(1U << 2)

/**
 * struct donard_completion - how a request ended
 * @user: of the request
 * @result: bytes moved, 0 for a flush, or -errno
 * @error_code: the stable word of a failure, as of donard_error_code(), or ""
 * @error: its text, as of donard_error(), or ""
 * @route: how the bytes went; DONARD_ROUTE_NONE for a flush
 * @evidence: of the route
 * @flags: DONARD_COMPLETION_*
 *
 * The strings live until the next completions are taken.  The structure has no
 * size of its own, because programs have arrays of it, and does not grow.
 */
struct donard_completion {
	void *user;
	int64_t result;
	const char *error_code;
	const char *error;
	enum donard_route_type route;
	enum donard_evidence evidence;
	uint32_t flags;
	uint32_t reserved;
};

/**
 * donard_queue_poll() - take completions that are there
 * @queue: the queue
 * @completions: filled in
 * @most: as many as there is room for
 *
 * The call never waits.  If the kernel ended a transfer half way, the call lets it go on,
 * and begins what was prepared with it.
 *
 * Returns how many, 0 if there are none; -EIO, -EPERM.
 */
int donard_queue_poll(struct donard_queue *queue, struct donard_completion *completions,
		      unsigned int most);

/**
 * donard_queue_wait() - begin what was prepared, and wait for completions
 * @queue: the queue
 * @least: how many to wait for, at most as many as are in flight
 * @timeout_ns: how long to wait at most; less than 0: as long as it takes
 * @completions: filled in
 * @most: as many as there is room for, and at least @least
 *
 * Returns how many, which are fewer than @least when the time is over or nothing more
 * is in flight; -EINTR when a signal came before the first; -EINVAL, -EIO, -EPERM.
 */
int donard_queue_wait(struct donard_queue *queue, unsigned int least, int64_t timeout_ns,
		      struct donard_completion *completions, unsigned int most);

/**
 * donard_queue_descriptor() - something to poll for
 * @queue: the queue
 *
 * The descriptor is level-triggered.  donard_queue_poll() clears it, and nobody else reads
 * from it.
 *
 * It is readable (POLLIN) when there may be completions, or when the region of a memory is
 * going away that donard_queue_register() was called for, whatever that returned: then call
 * donard_queue_poll().  The program itself submits: a request that was not submitted never
 * completes.
 *
 * Returns a descriptor, which stays the queue's; -EPERM, -EMFILE, -ENOMEM.
 */
int donard_queue_descriptor(struct donard_queue *queue);

/**
 * donard_queue_cancel() - end requests that have not begun
 * @queue: the queue
 * @user: ends all requests that have this one, which may be NULL
 *
 * Each still completes: with -ECANCELED, or normally if a device has begun it, or, by Linux AIO, if it was submitted.
 *
 * Returns how many requests of that @user are in flight; -EPERM.
 */
int donard_queue_cancel(struct donard_queue *queue, const void *user);

/**
 * struct donard_queue_info - what a queue has done
 * @size: in: sizeof(struct donard_queue_info)
 * @depth: requests that it holds at most
 * @in_flight: requests that have no completion yet, or one that was not taken
 * @requests: requests completed so far
 * @bytes: bytes that these moved
 * @bounced_bytes: how many of the bytes went through DRAM
 * @registered_requests: how many of the requests used registered memory
 * @proofs: blocks that were moved to prove routes
 * @no_io_uring: who refuses io_uring to this process, so that the requests go by Linux AIO; or "".  It lives as long
 *	as the queue
 */
struct donard_queue_info {
	size_t size;
	uint32_t depth;
	uint32_t in_flight;
	uint64_t requests;
	uint64_t bytes;
	uint64_t bounced_bytes;
	uint64_t registered_requests;
	uint64_t proofs;
	const char *no_io_uring;
};

/**
 * donard_queue_info() - say what a queue has done
 * @queue: the queue
 * @info: filled in
 *
 * Returns 0; -EINVAL for a bad size; -EPERM.
 */
int donard_queue_info(const struct donard_queue *queue, struct donard_queue_info *info);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_QUEUE_H */
