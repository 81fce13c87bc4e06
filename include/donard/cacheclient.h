/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of a write cache (donard/cache.h has the server): a write is durable in the
 * server's NVRAM when it completes, and reads return the newest bytes.
 *
 *	donard_queue_open(ctx, NULL, &queue);
 *	donard_cache_connect(queue, &options, &cache);
 *	donard_cache_write(cache, 0, memory, 0, 1 << 20, me);
 *	donard_queue_wait(queue, 1, -1, &completion, 1);
 *
 * Conventions and errno values are those of donard.h.  The queue delivers the completions
 * together with those of files: donard_queue_poll(), donard_queue_wait(),
 * donard_queue_descriptor() and donard_queue_cancel() serve both.  A cache belongs to the
 * thread of its queue.
 *
 * The library starts no thread for it.  The queue's poll and wait do what the connection needs,
 * and the queue's descriptor becomes readable in time for that.  If a program calls neither for
 * longer than the server's limit (info.silence_ms), the server drops the client, whose requests
 * then complete with -ECONNRESET.
 *
 * Requests have no order.  The caller must not have requests in flight together that touch the
 * same blocks or the same memory.  A request takes effect after those whose completions were
 * taken before it was made.
 *
 * The completion of a write says that its bytes, and all writes that were acknowledged before,
 * survive a power cut of the server.  If its flags have DONARD_COMPLETION_VOLATILE, they survive
 * one only after a flush.  When a write completes with a failure, or was in flight when the
 * connection ended, each of its blocks is either old or new; if the write fits into one request
 * of the protocol (info.request_bytes_max), its blocks are all old or all new.
 *
 * When the connection is lost, each request completes with -ECONNRESET, and each later call
 * fails with it.  Close the cache, and connect again.  What was in flight may still take effect
 * until the server has noticed the loss (after info.silence_ms at most).  Requests of the old
 * connection that have reached the server when the new one is made take effect before every
 * request of the new one.
 */
#ifndef DONARD_CACHECLIENT_H
#define DONARD_CACHECLIENT_H

#include "queue.h"
#include "rdma.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DONARD_CACHE_PORT	7078

struct donard_cache;

/**
 * struct donard_cache_options - how to connect; zero means the default
 * @size: sizeof(struct donard_cache_options)
 * @address: of the server; required
 * @port: default DONARD_CACHE_PORT
 * @reserved: zero
 * @depth: how many requests the connection holds at most, up to 1024; default 64
 * @timeout_ms: how long the server may be silent, and how long donard_cache_connect() waits until it has room for another
 *	client; default DONARD_RDMA_TIMEOUT_MS
 * @flags: zero
 * @stop_fn: asked while donard_cache_connect() waits, and not later, whether to end it with -ECANCELED; it must not use the
 *	queue or its caches; may be NULL
 * @user: handed to @stop_fn
 */
struct donard_cache_options {
	size_t size;
	const char *address;
	uint16_t port;
	uint16_t reserved;
	uint32_t depth;
	uint32_t timeout_ms;
	uint32_t flags;
	donard_stop_fn stop_fn;
	void *user;
};

/**
 * donard_cache_connect() - connect to a server
 * @queue: the queue that delivers the completions; several caches may share one
 * @options: where to connect, and how
 * @cache: set to the connection, which donard_cache_close() ends
 *
 * The call waits for the server's answer.  While every window has a client or still holds bytes of a client that left, it asks
 * again until options.timeout_ms is over.  Meanwhile it does what the queue's
 * other caches need, except while a name server is asked: an address in figures needs none.
 *
 * Returns 0; -ECONNREFUSED when nobody listens there, or the server admits only its own machine, or cannot take this client
 * (no memory, a limit of its RDMA device; its own event says what); -EBUSY when it has had no room for another client for
 * options.timeout_ms; -ETIMEDOUT without an answer, also of a name server; -EPROTO for a server of another version or kind;
 * -EOPNOTSUPP when no RDMA device reaches the address, -ENETDOWN when the device's port is not active; -ECONNRESET when the
 * server or the link to it went away meanwhile; -ESHUTDOWN when the server is about to end; -ECANCELED when
 * options.stop_fn asked for that; -EACCES, -EPERM when this user may
 * not use the RDMA device; -EPERM also in a thread that is not the queue's; -EINVAL, -E2BIG, -EMFILE, -EAGAIN, -ENOMEM; others
 * when the RDMA device of this side refuses what the connection needs.
 */
int donard_cache_connect(struct donard_queue *queue, const struct donard_cache_options *options,
			 struct donard_cache **cache);

/**
 * donard_cache_close() - end a connection
 * @cache: may be NULL; the thread of its queue closes it, before or after the queue
 *
 * Completions that were not taken are lost.  Requests in flight end as if the connection had been
 * lost; no device writes into their memory after that.  Acknowledged writes are kept.
 *
 * Over iWARP, where the network may deliver a request after its connection has ended, and while the queue is open, the call
 * first waits until the server has what was sent of them, options.timeout_ms at most: then none of them can take
 * effect behind a request of a connection that is made later.
 */
void donard_cache_close(struct donard_cache *cache);

/**
 * struct donard_cache_info - what the server offers, and what this client has done
 * @size: in: sizeof(struct donard_cache_info)
 * @identity: of the log in the server's NVRAM
 * @drive_bytes: the size of the drive
 * @window_bytes: how many bytes may be on their way to the drive at once
 * @request_bytes_max: the longest request of the protocol; longer requests are split
 * @block_bytes: offsets and lengths are multiples of this
 * @depth: how many requests of the protocol are in flight at most
 * @silence_ms: how long the server waits for a sign of life
 * @in_flight: requests whose completion has not been taken
 * @requests: how many requests the program has made so far
 * @messages: how many requests of the protocol these became so far
 * @waited: requests that had to wait because the server's log was full
 * @durable: writes survive a power cut of the server when they complete
 * @reads_back: the client reads back each write, so that the server's RDMA device holds none of it back
 * @connected: the connection still exists
 * @drive_fails: the drive fails the server's writes, which are tried again: flushes to the drive wait, and once the log
 *	is full, so do writes
 * @copies_by_cpu: this end's RDMA device is software (rxe, siw), and holds back nothing of what is read
 * @waits_for_room: all that was sent has been answered, and a write waits until the server's log has room for it
 * @reserved: zero
 * @drive: "nvme1n1", for people
 * @nvram: "p2pmem2", for people
 */
struct donard_cache_info {
	size_t size;
	uint64_t identity;
	uint64_t drive_bytes;
	uint64_t window_bytes;
	uint64_t request_bytes_max;
	uint32_t block_bytes;
	uint32_t depth;
	uint32_t silence_ms;
	uint32_t in_flight;
	uint64_t requests;
	uint64_t messages;
	uint64_t waited;
	bool durable;
	bool reads_back;
	bool connected;
	bool drive_fails;
	bool copies_by_cpu;
	bool waits_for_room;
	bool reserved[2];
	char drive[32];
	char nvram[24];
};

/**
 * donard_cache_info() - say what the server offers, and what this client has done
 * @cache: the connection
 * @info: filled in
 *
 * Returns 0; -EINVAL for a bad size; -EPERM.
 */
int donard_cache_info(const struct donard_cache *cache, struct donard_cache_info *info);

/**
 * donard_cache_write() - write to the drive behind the cache
 * @cache: the connection
 * @drive_offset: a multiple of info.block_bytes
 * @memory: of the same context; the CPU must reach it, to compute a checksum of the bytes
 * @memory_offset: in the memory; any
 * @length_bytes: a multiple of info.block_bytes; split if longer than info.request_bytes_max
 * @user: comes back with the completion
 *
 * The write begins at once.  While the server's log is full, the write waits and does not fail.
 * The bytes must not change until it completes.
 *
 * The first use of a memory registers it with the device.  The connection then holds the memory
 * until donard_cache_forget(), until the connection ends, or until the program uses 64 other
 * memories and no request uses this one.  When the memory's region goes away, the connection
 * lets go of the memory by itself: it sends no further part of the requests that use the memory,
 * and these end with -ENODEV.  The queue's descriptor becomes readable, so that a program that only polls notices.
 *
 * Returns 0; -EAGAIN when the connection holds options.depth requests, or each of the 64 memories that it can hold is busy
 * (requests use it, or the network has not acknowledged what was written from it): take completions, and try again; -EINVAL
 * for the alignment; -ENXIO past the end of the drive or the memory; what donard_cache_register() returns, at the first use
 * of a memory; -EOPNOTSUPP for memory that the CPU cannot reach; -ENODEV when its region is going away; -ECONNRESET, -EPERM,
 * -ENOMEM.
 */
int donard_cache_write(struct donard_cache *cache, uint64_t drive_offset,
		       struct donard_memory *memory, uint64_t memory_offset, uint64_t length_bytes,
		       void *user);

/**
 * donard_cache_read() - read the newest bytes, from the NVRAM or the drive
 * @cache: the connection
 * @drive_offset: a multiple of info.block_bytes
 * @memory: of the same context
 * @memory_offset: in the memory; any
 * @length_bytes: a multiple of info.block_bytes; split if longer than info.request_bytes_max
 * @user: comes back with the completion
 *
 * The server itself writes the bytes into the memory.  For that it has the right to write into
 * all of this memory until donard_cache_forget() or the end of the connection.
 *
 * Returns as donard_cache_write(); -EROFS for memory that may not be written.
 */
int donard_cache_read(struct donard_cache *cache, uint64_t drive_offset,
		      struct donard_memory *memory, uint64_t memory_offset, uint64_t length_bytes,
		      void *user);

/**
 * donard_cache_trim() - say that blocks are not needed any more
 * @cache: the connection
 * @drive_offset: a multiple of info.block_bytes
 * @length_bytes: a multiple of info.block_bytes, and not 0
 * @user: comes back with the completion
 *
 * What a read of the blocks returns afterwards is not defined.  A drive that cannot trim ignores the call.
 *
 * Returns 0; -EAGAIN, -EINVAL, -ENXIO, -ECONNRESET, -EPERM.
 */
int donard_cache_trim(struct donard_cache *cache, uint64_t drive_offset, uint64_t length_bytes,
		      void *user);

#define DONARD_CACHE_TO_DRIVE	(1U << 0)	/* make it durable on the drive, not only in the NVRAM */

/**
 * donard_cache_flush() - make durable what requests have written
 * @cache: the connection
 * @flags: DONARD_CACHE_TO_DRIVE, or 0
 * @user: comes back with the completion
 *
 * The flush covers every write and trim whose completion was taken before this call.  If the
 * NVRAM is durable, so are they already, and the flush costs one message.  With
 * DONARD_CACHE_TO_DRIVE, or if the NVRAM is volatile, the flush completes when they are durable
 * on the drive.
 *
 * Returns 0; -EAGAIN, -EINVAL, -ECONNRESET, -EPERM.
 */
int donard_cache_flush(struct donard_cache *cache, uint32_t flags, void *user);

#define DONARD_CACHE_FOR_WRITES	(1U << 0)	/* what is written comes from the memory */
#define DONARD_CACHE_FOR_READS	(1U << 1)	/* what is read goes there */

/**
 * donard_cache_register() - register a memory before it is first used
 * @cache: the connection
 * @memory: of the same context
 * @directions: DONARD_CACHE_FOR_WRITES, DONARD_CACHE_FOR_READS, or both
 *
 * Without this call, the first request that uses the memory registers it.
 *
 * Returns 0; -EHOSTUNREACH when the RDMA device of this side has no route to the memory, -EBUSY while that device is being
 * bound or reset, or the memory's is reset; -EINTR after a signal; -EINVAL, -EOPNOTSUPP, -EROFS, -ENODEV, -EAGAIN,
 * -ECONNRESET, -EPERM, -ENOMEM.
 */
int donard_cache_register(struct donard_cache *cache, struct donard_memory *memory,
			  unsigned int directions);

/**
 * donard_cache_forget() - let go of a memory
 * @cache: the connection
 * @memory: the memory, whether it was used or not
 *
 * Waits, at most options.timeout_ms, until the network has acknowledged what was written from it, which may be a little after
 * the completion.
 *
 * Returns 0; -EBUSY while requests in flight use it, or when that wait was too short; -EPERM.
 */
int donard_cache_forget(struct donard_cache *cache, struct donard_memory *memory);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_CACHECLIENT_H */
