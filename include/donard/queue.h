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
 * fails with -EPERM, and leaves the context and its text alone.  Each thread needs a queue
 * of its own, and a memory and a file of its own where threads share bytes (memory.h, file.h).
 *
 * The first request in each direction between a file and a memory asks the kernel for the
 * route, and moves a block to prove it, as donard_copy() does: that call waits while a few
 * blocks move.  The first write that reaches another drive of an LVM or md device does the
 * same.  A write is proved with its own first block, which goes to the drive ahead of the rest.
 * If all bytes of that block are equal, or the drive has them already, writing it would prove
 * nothing: the queue then writes random bytes in its place for a moment.  A refusal leaves the
 * file as it was, with two exceptions: past the end of a file the block may stay, and if the old
 * block cannot be put back, the text says so.  If a route could only be predicted, the queue tries
 * again after a second to prove it, in a call that waits as the first did.  A queue remembers
 * the last 256 pairs of a file and a memory.
 *
 * The bytes of a file may begin to go through DRAM while it is open (chattr +j).  The queue asks
 * the file system after requests have ended: those that may have gone through DRAM complete as
 * bounced.  The queue refuses further ones, or bounces them with ALLOW_BOUNCE.  Within a
 * second it also notices that a file or volume now lies on something else (device-mapper,
 * md, a further path).
 *
 * A dma-buf that another exporter maps without struct pages, or not at all, is out of a drive's reach (memory.h), unless
 * the kernel lets the driver of an NVMe drive import it (from Linux 7.4 on; the drive's own node, not a file on it; not
 * with PASSTHROUGH).  The first request then has it imported.  The kernel does not report which route the bytes take, and
 * the queue moves no block to prove one: the completions have DONARD_ROUTE_NONE, predicted.  The queue holds that memory
 * and that file until donard_queue_unregister(), or until one of its calls finds that the program has freed the one or
 * closed the other.
 *
 * If the kernel refuses io_uring to the process, as in most containers, the queue uses Linux AIO
 * (no_io_uring of struct donard_queue_info).  It then registers no memory, refuses PASSTHROUGH, and cannot cancel a
 * request that was submitted.  Each call that hands requests to the kernel, donard_queue_poll() included, may then
 * wait: for room in a drive's queue, for a file that grows, and for a request that is not aligned.
 *
 * Requests have no order.  The caller must not have requests in flight together that touch
 * the same bytes of a file or of memory.
 *
 * A request for part of a block (ALLOW_BOUNCE) goes through the page cache.  If it and a write of whole blocks lie in the
 * same page of a file, the call that makes the later of the two submits what was made so far, and waits until the earlier one
 * has ended.  A queue knows only its own requests: two such requests of different queues must not be in flight together.
 */
#ifndef DONARD_QUEUE_H
#define DONARD_QUEUE_H

#include "file.h"
#include "memory.h"

#ifdef __cplusplus
extern "C" {
#endif

struct donard_queue;

#define DONARD_QUEUE_ALLOW_BOUNCE	(1U << 0)	/* send through DRAM what cannot go directly, and count it */
#define DONARD_QUEUE_ALLOW_UNLISTED	(1U << 1)	/* try a host bridge that is on no list */
#define DONARD_QUEUE_PASSTHROUGH	(1U << 2)	/* NVMe commands that bypass the block layer */

/**
 * struct donard_queue_options - how a queue works; zeroed means the defaults
 * @size: sizeof(struct donard_queue_options)
 * @depth: requests that it holds at most, up to 4096; 0: 64
 * @flags: DONARD_QUEUE_*
 *
 * With DONARD_QUEUE_ALLOW_BOUNCE, and without DONARD_QUEUE_PASSTHROUGH, the queue also takes
 * requests that are not aligned; a request that writes part of a block reads the block first.
 * Such a request may wait for others of its page (see the top of queue.h).
 *
 * With DONARD_QUEUE_PASSTHROUGH the queue sends NVMe commands to drives and partitions,
 * which needs Linux 6.12 and root.  The first request for a file writes back and drops what
 * the page cache holds of the drive; later ones do not look there, so nobody else may use the
 * drive while the file is open.
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
 * Returns 0; -EINVAL; -EOPNOTSUPP if the kernel refuses io_uring and @options ask for PASSTHROUGH, or if it refuses
 * Linux AIO as well; -EMFILE, -ENOMEM; -E2BIG.
 */
int donard_queue_open(struct donard_context *ctx, const struct donard_queue_options *options,
		      struct donard_queue **queue);

/**
 * donard_queue_close() - end a queue
 * @queue: may be NULL.  The thread that opened it closes it.  Another thread may close it
 *	only after the opening thread has ended; the caller must ensure that, because the call
 *	frees the queue.  With requests in flight, the call of another thread does nothing
 *
 * The call cancels what no device has begun, and waits for the rest: no device writes into
 * memory after that.  Completions that were not taken are lost.
 *
 * In the child of a fork() the call frees what the child inherited of the parent's queue,
 * and leaves the requests alone.
 */
void donard_queue_close(struct donard_queue *queue);

/**
 * donard_queue_register() - have the kernel look up a memory once for all requests
 * @queue: the queue
 * @memory: of the same context
 *
 * Requests for that memory then cost less.  To register it, the call begins the requests that were made so far, and waits
 * for all in flight.  The queue holds the memory until donard_queue_unregister(), or until its region goes away.  Some
 * memory cannot be registered: some kernels register no device memory, or none of some page
 * types; Linux AIO registers none; and the queue never registers a dma-buf of an exporter other
 * than p2pmem, since that exporter tells nobody when it takes the memory back, nor memory that
 * a GPU's driver may take back (any that does not pin persistently: memory.h), since the drive
 * would reach it afterwards.  Requests then cost as much as before, and the call does not fail.
 *
 * Returns 1 when the memory is registered, 0 when it cannot be; -ENOSPC when the queue holds 64
 * others, registered or not; -EINVAL for memory of another context; -EOPNOTSUPP if the CPU has no
 * mapping of the memory; -EIO, -EPERM, -ENOMEM.
 */
int donard_queue_register(struct donard_queue *queue, struct donard_memory *memory);

/**
 * donard_queue_unregister() - let go of a memory that was registered, or that a drive's driver imported for the queue
 * @queue: the queue
 * @memory: the memory, registered or not
 *
 * The call waits for the requests that use it, and for all requests if a drive's driver imported it.  If there are any, it
 * begins all that were made so far.
 *
 * Returns 0; -EIO, -EPERM, -ENOMEM.
 */
int donard_queue_unregister(struct donard_queue *queue, struct donard_memory *memory);

/**
 * donard_queue_read() - read from a file into memory
 * @queue: the queue
 * @file: of the same context
 * @file_offset: in the file; a multiple of its align_bytes
 * @memory: of the same context
 * @memory_offset: in the memory; the address there is a multiple of the file's
 *	memory_align_bytes
 * @length_bytes: up to 1 GiB; a multiple of the file's align_bytes
 * @user: comes back with the completion
 *
 * The request begins with donard_queue_submit() or donard_queue_wait(), or with another call that says so.  At the end of a
 * file it moves fewer bytes.
 *
 * The first request between a file and a memory moves a block before the call returns, to
 * prove the route (see the top of queue.h).
 *
 * Returns 0; -EAGAIN when the queue is full: take completions; -EHOSTUNREACH,
 * -EBADMSG and -EOPNOTSUPP when the pair is refused as donard_copy() refuses it;
 * -EINVAL for a wrong length or alignment, or a handle of another context; -ENXIO past the end of
 * the memory or of a drive; -EROFS for a dma-buf that was exported O_RDONLY; -EIO, -ENODEV and
 * -ENOSPC when the proof fails, and -EBUSY when another program or queue wrote to the drive
 * meanwhile; -EACCES for what this user may not do; -EPERM, -EMFILE, -ENOMEM; other errnos as the
 * kernel returned them for a file.
 */
int donard_queue_read(struct donard_queue *queue, struct donard_file *file, uint64_t file_offset,
		      struct donard_memory *memory, uint64_t memory_offset, uint64_t length_bytes,
		      void *user);

/**
 * donard_queue_write() - write from memory to a file
 * @queue: the queue
 * @file: opened for writing
 * @file_offset: in the file; a multiple of its align_bytes
 * @memory: of the same context
 * @memory_offset: in the memory; the address there is a multiple of the file's
 *	memory_align_bytes
 * @length_bytes: up to 1 GiB; a multiple of the file's align_bytes
 * @user: comes back with the completion
 *
 * A regular file grows if a write goes past its end.  Call donard_queue_flush() after the
 * completion to make the data durable.
 *
 * If other writes disturb the proof of the route, the call begins the requests that were made so far, waits for all in flight,
 * and tries again.
 *
 * Returns as donard_queue_read(); -EROFS only when the file is not open for writing; -ENOSPC also when the write would end
 * past the length that this process may give a file (RLIMIT_FSIZE).
 */
int donard_queue_write(struct donard_queue *queue, struct donard_file *file, uint64_t file_offset,
		       struct donard_memory *memory, uint64_t memory_offset, uint64_t length_bytes,
		       void *user);

/**
 * donard_queue_flush() - make durable what requests have written
 * @queue: the queue
 * @file: opened for writing
 * @user: comes back with the completion
 *
 * The flush covers every write whose completion was taken before this call, and perhaps
 * others.  If a flush may not reach the drive, as far as it was known when the file was opened
 * (info.not_flushed), it succeeds all the same, and its completion has DONARD_COMPLETION_VOLATILE.
 *
 * Returns 0; -EAGAIN, -EROFS, -EPERM; -EINVAL for a file of another context; -ENOMEM.
 */
int donard_queue_flush(struct donard_queue *queue, struct donard_file *file, void *user);

/**
 * donard_queue_submit() - begin the requests that were made so far
 * @queue: the queue
 *
 * A request that is longer than the file's request_bytes (donard_file_info()) becomes several
 * commands.  About a thousand commands are in flight at once, or twice the depth of the queue;
 * those that have no room then begin in later calls of donard_queue_poll() and donard_queue_wait().
 * The first command of each request always has room.
 *
 * Returns 0; -EIO, -EPERM, -ENOMEM.
 */
int donard_queue_submit(struct donard_queue *queue);

/* Its bytes went through DRAM; with DONARD_EVIDENCE_PREDICTED they may have, because the file system stopped direct I/O. */
#define DONARD_COMPLETION_BOUNCED	(1U << 0)
#define DONARD_COMPLETION_REGISTERED	(1U << 1)	/* it used registered memory */
/*
 * A write or a trim of a cache that has this flag is lost if its server loses power before the next flush has ended.  If the
 * flush of a file has it, that flush may have made nothing durable.
 */
#define DONARD_COMPLETION_VOLATILE	(1U << 2)

/**
 * struct donard_completion - how a request ended
 * @user: of the request
 * @result: bytes moved, 0 for a flush, or -errno
 * @error_code: the stable word of a failure, as donard_error_code() returns it, or ""
 * @error: its text, as donard_error() returns it, or ""
 * @failure: the same as data, as donard_failure_get() fills it in, or NULL; NULL also where no memory was left for it
 * @route: how the bytes went; DONARD_ROUTE_NONE for a flush, for requests of a cache, and where the drive's driver imported
 *	the memory
 * @evidence: whether the route is predicted or proven; DONARD_EVIDENCE_PREDICTED for a flush and for requests of a cache
 * @flags: DONARD_COMPLETION_*
 *
 * The strings and @failure live until the next call that takes completions, or donard_queue_close().  The structure has no size
 * member, because programs have arrays of it, and never grows.
 */
struct donard_completion {
	void *user;
	int64_t result;
	const char *error_code;
	const char *error;
	const struct donard_failure *failure;
	enum donard_route_type route;
	enum donard_evidence evidence;
	uint32_t flags;
	uint32_t reserved;
};

/**
 * donard_queue_poll() - take completions that are there
 * @queue: the queue
 * @completions: filled in
 * @most: how many there is room for
 *
 * The call does not wait, with two exceptions: with Linux AIO it may (see the top of queue.h), and after the connection
 * to a cache's server was lost it takes up to half a second to find out which end failed.  If the kernel ended a transfer
 * half way, or had no room for all commands of the requests, the call submits the rest, and with that the requests that were
 * not submitted yet.
 *
 * Returns how many, 0 if there are none; -EPERM; if there are none because the rest could not be submitted, -EIO, or
 * -ENOMEM: then the next call tries again.
 */
int donard_queue_poll(struct donard_queue *queue, struct donard_completion *completions,
		      unsigned int most);

/**
 * donard_queue_wait() - begin the requests that were made so far, and wait for completions
 * @queue: the queue
 * @least: how many to wait for; the call never waits for more than are in flight
 * @timeout_ns: how long to wait at most; less than 0: as long as it takes
 * @completions: filled in
 * @most: how many there is room for; at least @least
 *
 * Returns how many, which is less than @least when the time is over, nothing more is in flight, or a
 * signal came after the first; -EINTR when a signal, or work of the kernel's own for this thread,
 * came before the first: wait again; -EINVAL, -EIO, -EPERM, -ENOMEM.
 */
int donard_queue_wait(struct donard_queue *queue, unsigned int least, int64_t timeout_ns,
		      struct donard_completion *completions, unsigned int most);

/**
 * donard_queue_descriptor() - a descriptor to poll for completions
 * @queue: the queue
 *
 * The descriptor is level-triggered.  donard_queue_poll() clears it; do not read from it.
 *
 * It is readable (POLLIN) when there may be completions, or when the region of a memory that
 * donard_queue_register() took (it returned 0 or 1) goes away: then call donard_queue_poll().
 * Polling submits nothing: a request that was not submitted never completes.
 *
 * Returns a descriptor, which the queue owns; -EPERM, -EMFILE, -ENOMEM.
 */
int donard_queue_descriptor(struct donard_queue *queue);

/**
 * donard_queue_cancel() - end requests that have not begun
 * @queue: the queue
 * @user: the call ends all requests that were made with this @user, which may be NULL
 *
 * Each still completes: with -ECANCELED, or normally if a device has begun it or, with Linux AIO, if it was submitted.  A
 * request that is longer than the file's request_bytes (donard_file_info()) becomes several commands, each of which is
 * canceled or not: after -ECANCELED some of its bytes may have moved, in any order.
 *
 * Returns how many requests with that @user had not ended; completions that were there already
 * still come; -EPERM.
 */
int donard_queue_cancel(struct donard_queue *queue, const void *user);

/**
 * struct donard_queue_info - what a queue has done
 * @size: in: sizeof(struct donard_queue_info)
 * @depth: how many requests it holds at most
 * @in_flight: requests whose completion has not been taken
 * @requests: requests completed so far
 * @bytes: bytes that these moved
 * @bounced_bytes: how many of these bytes went through DRAM
 * @registered_requests: how many of the requests used registered memory
 * @proofs: blocks that were moved to prove routes
 * @no_io_uring: why this process cannot use io_uring, in which case the queue uses Linux AIO; else "".  It lives as long
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
