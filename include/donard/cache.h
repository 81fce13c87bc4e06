/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A write cache: clients write over RDMA into a server's NVRAM, and the server tells them
 * that their bytes are durable before it touches a drive.  Later the server has an NVMe drive
 * read the bytes out of the NVRAM by DMA.
 *
 * Conventions and errno values are those of donard.h.
 */
#ifndef DONARD_CACHE_H
#define DONARD_CACHE_H

#include "cacheclient.h"
#include "donard.h"
#include "rdma.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- server ------------------------------------------------------------ */

#define DONARD_CACHE_FORMAT		(1U << 0)	/* make a new log if the NVRAM holds none, or one without records */
#define DONARD_CACHE_VOLATILE_OK	(1U << 1)	/* allow volatile NVRAM, and tell clients so */
#define DONARD_CACHE_NO_CLEANER		(1U << 2)	/* do not write an idle log to the drive, unless no part is free */
#define DONARD_CACHE_READ_BACK		(1U << 3)	/* make clients of every device read back what they wrote */
#define DONARD_CACHE_PASSTHROUGH	(1U << 4)	/* send NVMe commands to the drive, as DONARD_QUEUE_PASSTHROUGH does */
/*
 * Drop acknowledged records whose bytes are damaged, and no others.  Their blocks go back to what the drive has, which may be
 * several writes old: a record that a newer one replaces may never have been written to the drive.
 */
#define DONARD_CACHE_GIVE_UP_DAMAGED	(1U << 5)

enum donard_cache_event_type {
	DONARD_CACHE_FORMATTED,		/* the server made a new log in the NVRAM */
	DONARD_CACHE_RECOVERED,		/* the NVRAM held a log; number: its records */
	DONARD_CACHE_LISTENING,
	DONARD_CACHE_CLIENT_CAME,
	DONARD_CACHE_CLIENT_LEFT,	/* after it said good-bye */
	DONARD_CACHE_CLIENT_LOST,	/* without good-bye, or cut off by the server: text says why */
	DONARD_CACHE_CLIENT_REFUSED,
	DONARD_CACHE_DRIVE_FAILED,	/* a write or flush: the server keeps the records, and tries again; or a read, whose client was told */
	DONARD_CACHE_DRIVE_WORKS,	/* writes and flushes work again; nothing follows a read that failed */
	DONARD_CACHE_DRAINING,		/* told to end; number: records that first go to the drive */
};

/**
 * donard_cache_event_text() - the word for an event
 * @type: as in struct donard_cache_event
 *
 * Returns "formatted", "recovered", "listening", "came", "left", "lost", "refused",
 * "drive-failed", "drive-works", "draining", or "unknown".
 */
const char *donard_cache_event_text(enum donard_cache_event_type type);

/**
 * struct donard_cache_event - something happened on a server
 * @size: of this record, as the library filled it
 * @type: what happened
 * @port: for LISTENING, the port that the server listens at; else 0
 * @peer: the client's address, "192.0.2.1:4711"; for LISTENING, the server's own; else ""
 * @text: why a client was lost or refused, or what is wrong with the drive; or ""
 * @number: how many records, for RECOVERED and DRAINING
 * @identity: of the log
 *
 * Strings live until event_fn returns.
 */
struct donard_cache_event {
	size_t size;
	enum donard_cache_event_type type;
	uint16_t port;
	uint16_t reserved;
	const char *peer;
	const char *text;
	uint64_t number;
	uint64_t identity;
};

typedef void (*donard_cache_event_fn)(void *user, const struct donard_cache_event *event);

/**
 * struct donard_cache_serve_options - zero means the default
 * @size: sizeof(struct donard_cache_serve_options)
 * @listen: address to listen at; NULL: loopback only
 * @status_path: path of the socket that donard_cache_status() connects to, not below /dev; WORD without a slash:
 *	/run/donard/cache-WORD; NULL: /run/donard/cache-NVRAM.  The folder is made if it is missing, which takes root
 * @discard: only with FORMAT: the identity of the log that may be thrown away, with the records in it
 * @flags: DONARD_CACHE_*
 * @clients: only with FORMAT: how many clients can connect at once; each gets a part of the
 *	NVRAM; default 8.  Once no part is free, the server writes to the drive what the parts of departed clients hold, even
 *	with NO_CLEANER
 * @high_percent: when the log is fuller than this, records go to the drive; at most 100; default 60
 * @low_percent: they go until the log is only this full; below @high_percent; default half of that
 * @idle_ms: when nobody has written for this long, records go to the drive; default 500
 * @timeout_ms: how long a client may be silent, or delay the others by its reads, 100 to 3600000; default
 *	DONARD_RDMA_TIMEOUT_MS.  Between connecting and its first message it may be silent for at least
 *	DONARD_RDMA_FIRST_MESSAGE_MS
 * @port: 0 lets the kernel choose; DONARD_CACHE_PORT is what clients expect
 * @event_fn: called with each event; may be NULL
 * @stop_fn: asked whether to end; before the server ends, all records go to the drive; may be NULL
 * @user: handed to both
 */
struct donard_cache_serve_options {
	size_t size;
	const char *listen;
	const char *status_path;
	uint64_t discard;
	unsigned int flags;
	unsigned int clients;
	unsigned int high_percent;
	unsigned int low_percent;
	unsigned int idle_ms;
	unsigned int timeout_ms;
	uint16_t port;
	uint16_t reserved[3];
	donard_cache_event_fn event_fn;
	donard_stop_fn stop_fn;
	void *user;
};

/**
 * donard_cache_serve() - serve a write cache
 * @ctx: the context
 * @nvram: the region that holds the log, "p2pmem2"
 * @backing: the drive, partition or file behind it, "/dev/nvme1n1"
 * @options: how
 *
 * The server first recovers the log in the NVRAM, so that acknowledged writes that are not on
 * the drive yet get there.  What the drive held before stays: the cache lies in front of it.  As
 * long as the log has records, the drive alone is not up to date.  The log remembers its drive,
 * and the server serves it with no other.
 *
 * Nobody is authenticated, and nothing is encrypted: whoever reaches the address may read and overwrite the whole drive, and
 * may keep others out.  Use a network of machines that trust each other.
 *
 * The server acknowledges a write when its bytes and its record are in the NVRAM and the NVRAM
 * device's own barrier has passed.  If the drive fails, the records stay in the log, and the
 * server tries again, with growing pauses.
 *
 * Returns 0 when stop_fn asked for the end and all records are on the drive; -ENODEV when there is no such NVRAM or drive, when
 * one of them went away (acknowledged writes are in the log of persistent NVRAM), or when the log
 * belongs to another drive; -EROFS for a drive that is read-only; -ENOTBLK when @backing does not lie on NVMe drives, -EMEDIUMTYPE
 * for a file on another file system than ext4 and XFS; -ENODATA when there is no log, -EILSEQ for a damaged one,
 * -EPROTONOSUPPORT for one of another version; -EBUSY when FORMAT would destroy data, when NVRAM,
 * drive, port or status socket are in use, when another region, a persistent one that this process may open, has
 * a log with records for the drive, and while the RDMA device is being bound or reset, or the NVRAM's is reset;
 * -EIO when such a region cannot be read, since it may have such a log;
 * -EHOSTUNREACH, -EOPNOTSUPP when the drive, or the RDMA device, cannot reach the NVRAM directly; -EOPNOTSUPP also for volatile
 * NVRAM, or an address that no RDMA device serves; -ETIMEDOUT when no name server answers; -EACCES, -EPERM for NVRAM, a drive,
 * an RDMA device or a port that this user may not use, or a status socket that it may not make; -ENOSPC for too little NVRAM;
 * -EAGAIN without a thread to be had; -EINTR after a signal; -EIO, -ENOMEM; -EINVAL, -E2BIG for wrong options; others as
 * donard_file_open() returns them for @backing.
 */
int donard_cache_serve(struct donard_context *ctx, const char *nvram, const char *backing,
		       const struct donard_cache_serve_options *options);

/**
 * donard_cache_serve_from() - serve a write cache from a memory and a file that the program has
 * @nvram: a whole region, which the program has claimed
 * @backing: the drive, partition or file behind it, of the same context, opened by its name with
 *	DONARD_FILE_WRITE
 * @options: how
 *
 * Does as donard_cache_serve().  The program keeps both handles, and uses them in no other way
 * during the call.  After -ENODEV it frees the memory, so that the removal of the region goes on.
 *
 * Returns as donard_cache_serve(); -EINVAL also for a part of a region, a handle that is NULL, and a
 * file of another context; -EOPNOTSUPP for memory that belongs to no region, and for a file that was
 * adopted; -EROFS also for a file that was opened for reading; -EBUSY for a file with requests in queues;
 * -EIO once after a reset of the NVRAM of which the program was not told.
 */
int donard_cache_serve_from(struct donard_memory *nvram, struct donard_file *backing,
			    const struct donard_cache_serve_options *options);

/* ---- status ------------------------------------------------------------ */

/**
 * struct donard_cache_latency - from a request's arrival to its acknowledgement
 * @count: how many requests were timed
 * @p50_ns, @p90_ns, @p99_ns, @p999_ns: 50, 90, 99 and 99.9 % of them took no longer than this,
 *	which is exact to about 6 %
 * @max_ns: the longest time
 */
struct donard_cache_latency {
	uint64_t count, p50_ns, p90_ns, p99_ns, p999_ns, max_ns;
};

/**
 * struct donard_cache_status - what a server has done, and what its log holds
 * @size: in: sizeof(struct donard_cache_status)
 * @nvram: "p2pmem2"
 * @drive: "nvme1n1"
 * @identity: of the log
 * @epoch: how often a server has opened the log
 * @persistent: 1 when a power cut loses no acknowledged write, else 0
 * @draining: 1 when the server was told to end, else 0
 * @clients, @clients_ever: how many there are now, and how many came since the server began
 * @recovered: records that were in the log when the server began
 * @records, @records_most: how many records the log has, and how many it has room for
 * @window_bytes, @window_bytes_most: how many bytes of clients' data the log has, and how many
 *	it has room for
 * @fill_percent: the higher of two fill levels: that of the records, and that of the fullest client's window
 * @oldest_ms: how long the oldest record has been in the log, counted from the server's start for a recovered record,
 *	because records hold no time; 0 if the log is empty
 * @writes, @reads, @trims, @flushes: requests that were answered
 * @written_bytes, @read_bytes: bytes of these requests
 * @groups: groups of requests that were acknowledged together
 * @barriers: barriers of the NVRAM
 * @destaged_bytes, @coalesced_bytes: bytes that went to the drive, and bytes that did not
 *	need to because newer bytes replaced them
 * @drive_writes, @drive_flushes, @drive_reads: requests to the drive
 * @ignored_trims: trims that the drive cannot do, or that failed
 * @drive_errors: failed requests to the drive; writes and flushes were tried again, and the clients were told of reads
 * @mismatches: writes whose bytes did not match their checksum
 * @write_latency: of all writes since the server began
 * @aio: 1 when the server's requests to the drive use Linux AIO, because the kernel refuses io_uring to it, else 0
 * @drive_error: why the drive cannot be written, while it fails and is tried again; else ""
 */
struct donard_cache_status {
	size_t size;
	char nvram[32];
	char drive[32];
	uint64_t identity, epoch;
	uint64_t persistent, draining;
	uint64_t clients, clients_ever;
	uint64_t recovered, records, records_most;
	uint64_t window_bytes, window_bytes_most;
	uint64_t fill_percent, oldest_ms;
	uint64_t writes, reads, trims, flushes;
	uint64_t written_bytes, read_bytes;
	uint64_t groups, barriers;
	uint64_t destaged_bytes, coalesced_bytes;
	uint64_t drive_writes, drive_flushes, drive_reads;
	uint64_t ignored_trims, drive_errors, mismatches;
	struct donard_cache_latency write_latency;
	uint64_t aio;
	char drive_error[512];
};

/**
 * donard_cache_status() - ask a server on this machine for its status
 * @ctx: the context
 * @nvram: the server's region, "p2pmem2", by any of its names; or the path of its socket
 * @status: filled in
 *
 * A server that is starting answers when it runs.
 *
 * Returns 0; -ENODEV when no server serves it, or it ended before it answered; -EACCES; -ETIMEDOUT when it did not answer for
 * DONARD_RDMA_TIMEOUT_MS; -ECANCELED when a signal was handled meanwhile; -EPROTO when the server is
 * of another version; -EINVAL for a bad size.
 */
int donard_cache_status(struct donard_context *ctx, const char *nvram,
			struct donard_cache_status *status);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_CACHE_H */
