/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of a write cache (donard/cache.h has the server): writes are durable in the
 * server's NVRAM when they complete, and reads see the newest of them.
 *
 *	donard_queue_open(ctx, NULL, &queue);
 *	donard_cache_connect(queue, &options, &cache);
 *	donard_cache_write(cache, 0, memory, 0, 1 << 20, me);
 *	donard_queue_wait(queue, 1, -1, &completion, 1);
 *
 * Conventions and errno values are those of donard.h.  Completions come out of the queue,
 * beside those of files: donard_queue_poll(), donard_queue_wait(), donard_queue_descriptor()
 * and donard_queue_cancel() serve both.  A cache belongs to the thread of its queue.
 *
 * No thread works behind it.  The queue's poll and wait do what the connection needs, and the
 * queue's descriptor asks for them in time.  If a program calls neither for longer than the
 * server's limit (info.silence_ms), the server gives it up: its requests then complete with
 * -ECONNRESET.
 *
 * Requests have no order.  The caller keeps apart requests in flight that touch the same
 * blocks or the same memory.  A request that is sent after another's completion was taken
 * comes after that one.
 *
 * A completion of a write says that the bytes, and all that was acknowledged before, survive a
 * power cut of the server.  If its flags have DONARD_COMPLETION_VOLATILE, they do so only after
 * a flush.  When a write completes with a failure, or was in flight when the connection ended,
 * each of its blocks is either old or new; if it fits into one request of the protocol
 * (info.request_bytes_max), all of its blocks are old, or all are new.
 *
 * When the connection is lost, each request completes with -ECONNRESET, and each call after that
 * fails with it.  Close the cache, and connect again.
 */
#ifndef DONARD_CACHECLIENT_H
#define DONARD_CACHECLIENT_H

#include "queue.h"

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
 * @depth: how many requests are held at most, up to 1024; default 64
 * @timeout_ms: how long the server may be silent; default DONARD_RDMA_TIMEOUT_MS
 * @flags: zero
 */
struct donard_cache_options {
	size_t size;
	const char *address;
	uint16_t port;
	uint16_t reserved;
	uint32_t depth;
	uint32_t timeout_ms;
	uint32_t flags;
};

/**
 * donard_cache_connect() - connect to a server
 * @queue: the queue that completions come out of; several caches may share one
 * @options: where
 * @cache: set to the connection, which donard_cache_close() ends
 *
 * The call waits for the server's answer.
 *
 * Returns 0; -ECONNREFUSED when nobody listens there, or the server admits only its own
 * machine; -EBUSY when it has as many clients as it can; -ETIMEDOUT without an answer;
 * -EPROTO for a server of another version; -EOPNOTSUPP when no RDMA device reaches the
 * address; -ESHUTDOWN when the server is about to end; -EINVAL, -E2BIG, -EPERM, -EMFILE, -ENOMEM.
 */
int donard_cache_connect(struct donard_queue *queue, const struct donard_cache_options *options,
			 struct donard_cache **cache);

/**
 * donard_cache_close() - end a connection
 * @cache: may be NULL; the thread of its queue closes it, before or after the queue
 *
 * Completions that were not taken are lost, and requests in flight end as if the connection was
 * lost; no device writes into their memory after that.  Acknowledged writes stay.
 */
void donard_cache_close(struct donard_cache *cache);

/**
 * struct donard_cache_info - what the server offers, and what was done
 * @size: in: sizeof(struct donard_cache_info)
 * @identity: of the log in the server's NVRAM
 * @drive_bytes: how long the drive is
 * @window_bytes: how much may be on its way to the drive at once
 * @request_bytes_max: the longest request of the protocol; longer requests are cut
 * @block_bytes: offsets and lengths are multiples of this
 * @depth: how many requests of the protocol are in flight at most
 * @silence_ms: how long the server waits for a sign of life
 * @in_flight: requests that have no completion yet, or one that was not taken
 * @requests: how many requests were taken so far
 * @messages: how many requests of the protocol they were cut into so far
 * @waited: requests that had to wait because the server's log was full
 * @durable: writes survive a power cut of the server when they complete
 * @reads_back: each write is read back, so that no device holds it
 * @connected: the connection lasts
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
	bool reserved[5];
	char drive[32];
	char nvram[24];
};

/**
 * donard_cache_info() - say what the server offers, and what was done
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
 * @memory: of the same context; the CPU must reach it, since it takes a checksum of the bytes
 * @memory_offset: in it; any
 * @length_bytes: a multiple of info.block_bytes; cut if longer than info.request_bytes_max
 * @user: comes back with the completion
 *
 * The write begins at once.  While the server's log is full it waits, and does not fail.
 * The bytes must stay as they are until it completes.
 *
 * The first use of a memory registers it with the device.  The connection then holds it until
 * donard_cache_forget() or its own end, or until 64 others were used and nothing is in flight
 * in this one.  When the memory's region goes away the connection lets go of it by itself.
 *
 * Returns 0; -EAGAIN when options.depth requests are held: take completions; -EINVAL for the
 * alignment; -ENXIO past the end of the drive or the memory; -EOPNOTSUPP for memory that the
 * device cannot register, or that the CPU cannot reach; -ENODEV when its region is going
 * away; -ECONNRESET, -EPERM, -ENOMEM.
 */
int donard_cache_write(struct donard_cache *cache, uint64_t drive_offset,
		       struct donard_memory *memory, uint64_t memory_offset, uint64_t length_bytes,
		       void *user);

/**
 * donard_cache_read() - read the newest bytes, wherever they are
 * @cache: the connection
 * @drive_offset: a multiple of info.block_bytes
 * @memory: of the same context
 * @memory_offset: in it; any
 * @length_bytes: a multiple of info.block_bytes; cut if longer than info.request_bytes_max
 * @user: comes back with the completion
 *
 * The server itself writes the bytes into the memory.  For that it has the right to write into
 * all of this memory until the memory is forgotten or the connection ends.
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
 * What the blocks read as afterwards is not defined.  A drive that cannot trim ignores it.
 *
 * Returns 0; -EAGAIN, -EINVAL, -ENXIO, -ECONNRESET, -EPERM.
 */
int donard_cache_trim(struct donard_cache *cache, uint64_t drive_offset, uint64_t length_bytes,
		      void *user);

#define DONARD_CACHE_TO_DRIVE	(1U << 0)	/* in the drive, not only in the NVRAM */

/**
 * donard_cache_flush() - make durable what was written
 * @cache: the connection
 * @flags: DONARD_CACHE_TO_DRIVE
 * @user: comes back with the completion
 *
 * The flush covers every write and trim whose completion was taken before this call.  In
 * durable NVRAM these are durable already, and the flush costs one message.  With
 * DONARD_CACHE_TO_DRIVE, or without such NVRAM, it completes when they are durable in the drive.
 *
 * Returns 0; -EAGAIN, -EINVAL, -ECONNRESET, -EPERM.
 */
int donard_cache_flush(struct donard_cache *cache, uint32_t flags, void *user);

#define DONARD_CACHE_FOR_WRITES	(1U << 0)
#define DONARD_CACHE_FOR_READS	(1U << 1)

/**
 * donard_cache_register() - register a memory before it is first used
 * @cache: the connection
 * @memory: of the same context
 * @directions: DONARD_CACHE_FOR_WRITES, DONARD_CACHE_FOR_READS, or both
 *
 * Otherwise the first request with that memory does it.
 *
 * Returns 0; -EINVAL, -EOPNOTSUPP, -EROFS, -ENODEV, -EAGAIN, -ECONNRESET, -EPERM, -ENOMEM.
 */
int donard_cache_register(struct donard_cache *cache, struct donard_memory *memory,
			  unsigned int directions);

/**
 * donard_cache_forget() - let go of a memory
 * @cache: the connection
 * @memory: the memory, whether it was used or not
 *
 * Returns 0; -EBUSY while requests in flight use it; -EPERM.
 */
int donard_cache_forget(struct donard_cache *cache, struct donard_memory *memory);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_CACHECLIENT_H */
