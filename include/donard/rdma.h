/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA into and out of regions: memory for programs that use verbs themselves,
 * a server that offers a region, and a client that reads and writes there.
 *
 * Conventions and errno values are those of donard.h.
 */
#ifndef DONARD_RDMA_H
#define DONARD_RDMA_H

#include "donard.h"
#include "memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- RDMA: registration ------------------------------------------------ */

/* Types of libibverbs (infiniband/verbs.h), of which this header needs only pointers. */
struct ibv_context;
struct ibv_pd;
struct ibv_mr;

#define DONARD_RDMA_READ	(1U << 0)	/* the peer may read */
#define DONARD_RDMA_WRITE	(1U << 1)	/* the peer may write */
#define DONARD_RDMA_LOCAL_WRITE	(1U << 2)	/* this side's own requests may write */

/**
 * donard_rdma_open_device() - open a verbs device that has an active port
 * @ctx: the context
 * @name: "mlx5_0"; NULL: the first device that has an active port
 * @verbs: set to the device, which ibv_close_device() closes
 *
 * Returns 0; -EOPNOTSUPP when there is no such device (the text lists the
 * devices of this machine); -ENETDOWN when none of its ports is active.
 */
int donard_rdma_open_device(struct donard_context *ctx, const char *name,
			    struct ibv_context **verbs);

/* How memory was registered with a verbs device. */
enum donard_rdma_method {
	DONARD_RDMA_UNREGISTERED,
	DONARD_RDMA_MAPPED,	/* ibv_reg_mr() */
	DONARD_RDMA_DMABUF,	/* ibv_reg_dmabuf_mr() */
};

/**
 * donard_rdma_method_text() - the word for a way to register memory
 * @method: any value
 *
 * Returns "mapping" or "dma-buf", "" for DONARD_RDMA_UNREGISTERED, "unknown" for another value.
 */
const char *donard_rdma_method_text(enum donard_rdma_method method);

/* What carries the requests of a connection. */
enum donard_rdma_transport {
	DONARD_RDMA_UNCONNECTED,
	DONARD_RDMA_INFINIBAND,
	DONARD_RDMA_ROCE,
	DONARD_RDMA_IWARP,
};

/**
 * donard_rdma_transport_text() - the word for a transport
 * @transport: any value
 *
 * Returns "InfiniBand", "RoCE" or "iWARP", "" for DONARD_RDMA_UNCONNECTED, "unknown" for another value.
 */
const char *donard_rdma_transport_text(enum donard_rdma_transport transport);

struct donard_rdma_registration;

/**
 * struct donard_rdma_registration_info - what was registered, and how
 * @size: in: sizeof(struct donard_rdma_registration_info)
 * @mr: has the lkey and the rkey; the registration owns it
 * @address: the address of the first byte that requests of this side and of peers use; if the
 *	CPU has no mapping (info.address of the memory is NULL), the offset in the dma-buf
 * @length_bytes: of the whole registration
 * @method: how the memory was registered
 * @reason: why it was not registered the other way; lives as long as the registration
 */
struct donard_rdma_registration_info {
	size_t size;
	struct ibv_mr *mr;
	void *address;
	uint64_t length_bytes;
	enum donard_rdma_method method;
	unsigned int reserved;
	const char *reason;
};

/**
 * donard_rdma_register() - make memory known to a verbs device
 * @memory: of any kind; must outlive the registration
 * @offset_bytes: in the memory
 * @length_bytes: 0: up to the end of the memory
 * @pd: a protection domain of the device; must outlive the registration
 * @rights: DONARD_RDMA_*; verbs make DONARD_RDMA_WRITE imply LOCAL_WRITE
 * @registration: set to what donard_rdma_deregister() ends
 *
 * The call registers the memory as a dma-buf if device and region support that, and
 * else by its mapping.  It registers a memory that came as a dma-buf as that dma-buf.
 * Peers get exactly the given rights; donard asks for neither on-demand paging nor
 * relaxed ordering.
 *
 * A reset of the memory's device ends a registration as a dma-buf, if the verbs device
 * can be told of it (docs/lifetime.md): from then on requests fail; register again.
 *
 * Returns 0; -EOPNOTSUPP when this device cannot register this region; -ENOMEM
 * when the limit of locked memory is too low; -ENXIO past the memory's end;
 * -ENODEV when the region is going away; -EINVAL for other rights.
 */
int donard_rdma_register(struct donard_memory *memory, uint64_t offset_bytes,
			 uint64_t length_bytes, struct ibv_pd *pd, unsigned int rights,
			 struct donard_rdma_registration **registration);

/**
 * donard_rdma_registration_info() - say what was registered, and how
 * @registration: from donard_rdma_register()
 * @info: filled in
 *
 * Returns 0; -EINVAL for a bad size.
 */
int donard_rdma_registration_info(const struct donard_rdma_registration *registration,
				  struct donard_rdma_registration_info *info);

/**
 * donard_rdma_deregister() - end a registration; the memory stays
 * @registration: which no queue pair may use any more; may be NULL
 */
void donard_rdma_deregister(struct donard_rdma_registration *registration);

/* ---- RDMA: server ------------------------------------------------------ */

#define DONARD_RDMA_PORT		7077
#define DONARD_RDMA_TIMEOUT_MS		10000
#define DONARD_RDMA_FIRST_MESSAGE_MS	60000

enum donard_rdma_event_type {
	DONARD_RDMA_LISTENING,
	DONARD_RDMA_CLIENT_CAME,	/* connected and took the offered memory: it is counted */
	DONARD_RDMA_CLIENT_LEFT,	/* after it said good-bye */
	DONARD_RDMA_CLIENT_LOST,	/* without good-bye, or cut off by the server: text says why */
	DONARD_RDMA_CLIENT_REFUSED,	/* refused, or it did not take the offered memory: not counted */
	DONARD_RDMA_RESET,		/* the device of @target was reset: its bytes may be lost.  The server cuts off its client */
};

/**
 * struct donard_rdma_event - something happened on a server
 * @size: of this record, as the library filled it
 * @type: what happened
 * @port: for LISTENING, the port that the server listens at; else 0
 * @peer: the client's address, "192.0.2.1:4711"; for LISTENING, the server's own
 * @device: "rxe0", or "" while no client has chosen one
 * @target: "p2pmem0" or "dram"
 * @method, @reason: as in struct donard_rdma_registration_info; DONARD_RDMA_UNREGISTERED and "" before the
 *	memory is registered
 * @text: why a client was lost or refused, why one that left did not finish, what a reset means; or ""
 * @memory: where this process maps the offered memory
 * @offset_bytes, @length_bytes: the offered part of @target
 * @rights: what clients may do with it, DONARD_RDMA_READ and DONARD_RDMA_WRITE
 * @clients: how many clients have taken the offered memory so far
 * @seconds: how long the connection lasted, once it has ended
 * @user_seconds, @system_seconds, @minor_faults, @major_faults: what getrusage() counted for this
 *	process during the connection
 * @checked_bytes, @filled_bytes: how many bytes of test patterns the server compared and wrote at the
 *	client's request
 * @code: the stable word of @text, as donard_error_code() returns it; "" if there is no text, and for a client
 *	that was refused
 * @resets: for LOST, how often the device was reset since the client came; for RESET, since the server began
 * @durable: for LEFT: all that this client wrote survives a power cut, since the device's barrier passed before
 *	the server answered
 *
 * Strings live until event_fn returns.
 */
struct donard_rdma_event {
	size_t size;
	enum donard_rdma_event_type type;
	enum donard_rdma_method method;
	uint16_t port;
	bool reserved[6];
	const char *peer;
	const char *device;
	const char *target;
	const char *reason;
	const char *text;
	const void *memory;
	uint64_t offset_bytes;
	uint64_t length_bytes;
	unsigned int rights;
	unsigned int clients;
	uint64_t filled_bytes;
	uint64_t checked_bytes;
	double seconds;
	double user_seconds;
	double system_seconds;
	uint64_t minor_faults;
	uint64_t major_faults;
	const char *code;
	uint64_t resets;
	bool durable;
	bool reserved2[7];
};

typedef void (*donard_rdma_event_fn)(void *user, const struct donard_rdma_event *event);

/* Called at least every 250 ms; nonzero ends the server's call. */
typedef int (*donard_stop_fn)(void *user);

#define DONARD_RDMA_MAY_FILL	(1U << 0)	/* write test patterns when a client asks for them */
#define DONARD_RDMA_READ_BACK	(1U << 1)	/* make clients of soft devices, too, read back what they wrote */

/**
 * struct donard_rdma_serve_options - zero means the default
 * @size: sizeof(struct donard_rdma_serve_options)
 * @bind: address to listen at; NULL: loopback only
 * @port: 0 lets the kernel choose; DONARD_RDMA_PORT is what clients expect
 * @rights: what clients may do, DONARD_RDMA_READ and DONARD_RDMA_WRITE; default both
 * @clients: end after so many clients have taken the offered memory; 0: never
 * @length_bytes: default: up to the end of the region; "dram" and "gpu:0": 64 MiB
 * @timeout_ms: how long a client may be silent, default DONARD_RDMA_TIMEOUT_MS;
 *	between connecting and its first message, while it registers memory of
 *	its own, at least DONARD_RDMA_FIRST_MESSAGE_MS
 * @flags: DONARD_RDMA_MAY_FILL lets clients that may only read ask for test patterns; clients that may write
 *	can always ask.
 *	DONARD_RDMA_READ_BACK: a NIC that does DMA may hold back written bytes after it has told the client that
 *	they arrived.  A client that may read therefore reads the last of them, which pushes them out.  Soft RDMA
 *	copies with the CPU and does not need that; with this flag its clients do so too
 * @event_fn: called with each event; may be NULL
 * @stop_fn: asked whether to end; may be NULL
 * @user: handed to both
 */
struct donard_rdma_serve_options {
	size_t size;
	const char *bind;
	uint16_t port;
	uint16_t reserved;
	unsigned int rights;
	unsigned int clients;
	unsigned int timeout_ms;
	unsigned int flags;
	unsigned int reserved2;
	uint64_t length_bytes;
	donard_rdma_event_fn event_fn;
	donard_stop_fn stop_fn;
	void *user;
};

/**
 * donard_rdma_serve() - offer memory to RDMA clients, one after the other
 * @ctx: the context
 * @target: "p2pmem0", "p2pmem0+64M", "dram", or "gpu:0": memory that the call allocates on the GPU that CUDA numbers 0
 * @options: how
 *
 * Each client gets its own protection domain and its own registration, with exactly that
 * range and those rights.  While the server serves one client, it refuses others.  After a
 * client that could write, it zeroes volatile memory before the next client comes; it never
 * zeroes persistent memory.
 *
 * The server runs the barrier of the memory's device (donard_memory_sync()) before it
 * compares a client's data, and before it answers the client's good-bye.  While the barrier
 * runs, the server keeps sending the client signs of life.  If the device was reset since the
 * client came, nobody knows what became of the bytes: the server cuts off that client, and
 * goes on serving others.
 *
 * A call that ends early does not wait for a barrier of persistent memory.  A thread holds the
 * memory until the barrier or the process has ended; until then the memory may be busy.
 *
 * Returns 0 when stop_fn asked for the end or after the last client; -ENODEV when the
 * region went away (the server has let go of it by then, so that its removal goes on); -EIO when
 * its device does not work again after a reset;
 * -EOPNOTSUPP, -ENETDOWN when no device serves the address; -EINVAL, -E2BIG for
 * wrong options.
 */
int donard_rdma_serve(struct donard_context *ctx, const char *target,
		      const struct donard_rdma_serve_options *options);

/* ---- RDMA: client ------------------------------------------------------ */

enum donard_rdma_mode {
	DONARD_RDMA_TRANSFER,	/* moves the range @iterations times; VERIFY checks it each time */
	DONARD_RDMA_BANDWIDTH,	/* @iterations requests that cycle through the range */
	DONARD_RDMA_LATENCY,	/* the same, one request after the other, each timed */
};

#define DONARD_RDMA_VERIFY	(1U << 0)	/* move test data, and compare it byte by byte */

/**
 * struct donard_rdma_options - zero means the default
 * @size: sizeof(struct donard_rdma_options)
 * @address: of the server, a name or a number
 * @mode: a transfer, or many requests to measure
 * @port: default DONARD_RDMA_PORT
 * @direction: DONARD_RDMA_WRITE or DONARD_RDMA_READ
 * @offset_bytes: where to start in the offered memory
 * @length_bytes: default: up to the end of the offered memory; for BANDWIDTH and LATENCY at
 *	most queue_depth blocks.  The call fails if the default is more than 1 GiB.  If you
 *	give a length, the call registers the near side before it connects.
 * @block_bytes: size of one request, default 64 KiB; LATENCY: 8.  The call sends a request of
 *	more than 1 MiB as several work requests
 * @queue_depth: requests in flight, default 16; LATENCY: always 1.  There are fewer
 *	if they would take longer than a sixteenth of the time limits, because the
 *	signs of life for the server queue behind them
 * @iterations: default 1 for TRANSFER, 1000 requests for the others
 * @local: the near side of the transfer: "dram" (the default), a region, or a GPU ("gpu:0": memory that the call
 *	allocates).  A write sends the contents of a region unchanged, unless VERIFY asks for test data.
 * @flags: DONARD_RDMA_VERIFY
 * @timeout_ms: give up when nothing completes for this long.  Connecting, in a thread of
 *	its own, also ends by then, or when progress_fn stops the call
 * @progress_fn: may be NULL
 * @progress_user: handed to @progress_fn
 * @begin_fn, @end_fn: called right before the first request, and when the server has confirmed the last byte or the
 *	work has failed, for instance by a meter (donard/meter.h); test data that is written or compared meanwhile lies between them.
 *	Each may be NULL; see copy.h.  The server hears nothing of this side while begin_fn runs, and may give up: it has to
 *	return well within the server's time limit, 10 seconds by default
 * @interval_user: handed to both
 */
struct donard_rdma_options {
	size_t size;
	const char *address;
	const char *local;
	enum donard_rdma_mode mode;
	unsigned int direction;
	uint16_t port;
	uint16_t reserved;
	unsigned int flags;
	uint64_t offset_bytes;
	uint64_t length_bytes;
	uint64_t block_bytes;
	uint32_t queue_depth;
	uint32_t iterations;
	unsigned int timeout_ms;
	unsigned int reserved2;
	donard_progress_fn progress_fn;
	void *progress_user;
	donard_begin_fn begin_fn;
	donard_end_fn end_fn;
	void *interval_user;
};

#define DONARD_RDMA_BY_SERVER	(1U << 0)
#define DONARD_RDMA_BY_CLIENT	(1U << 1)

/**
 * struct donard_rdma_latency - from posting a request to its completion
 * @min_ns: the shortest
 * @p50_ns, @p90_ns, @p99_ns, @p999_ns: so many percent took no longer (p999: 99.9)
 * @max_ns: the longest
 */
struct donard_rdma_latency {
	uint64_t min_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns;
};

/**
 * struct donard_rdma_result - what happened; valid after a failure too
 * @size: in: sizeof(struct donard_rdma_result)
 * @bytes, @requests: how many completed
 * @offset_bytes, @length_bytes: the range of the offered memory that was used
 * @block_bytes, @queue_depth, @iterations: the values that were used
 * @seconds: from posting the first request to the completion of the last one, without verification
 * @verified_bytes: bytes of test data that were compared and found equal; with VERIFY
 *	all of them, since each round over the range has data of its own
 * @verified_by: who compared, DONARD_RDMA_BY_*.  After a write the server compares, and the
 *	client also reads the bytes back and compares them, if it may read.  Before a read
 *	the server writes the test data, which the client then compares
 * @latency: for LATENCY
 * @transport: what carried the requests
 * @remote_method, @local_method: how each side registered its memory
 * @remote_persistent: the offered memory keeps its contents without power
 * @durable: the bytes survive a power cut: the barrier of the device that they went to has passed
 * @local_reason: why this side did not register its memory the other way
 * @device: the RDMA device of this side, "rxe0"
 * @remote_target: what the server offers, "p2pmem0" or "dram"
 * @remote_resets, @local_resets: how often the device of either memory was reset during the call; if at all, the call
 *	fails
 * @durable_reason: why the bytes are not durable, or ""
 */
struct donard_rdma_result {
	size_t size;
	uint64_t bytes;
	uint64_t requests;
	uint64_t verified_bytes;
	double seconds;
	uint64_t offset_bytes;
	uint64_t length_bytes;
	uint64_t block_bytes;
	uint32_t queue_depth;
	uint32_t iterations;
	unsigned int verified_by;
	enum donard_rdma_transport transport;
	enum donard_rdma_method remote_method;
	enum donard_rdma_method local_method;
	bool remote_persistent;
	bool durable;
	bool reserved[6];
	struct donard_rdma_latency latency;
	char local_reason[DONARD_REASON_BYTES];
	char device[64];
	char remote_target[32];
	uint64_t remote_resets;
	uint64_t local_resets;
	char durable_reason[DONARD_REASON_BYTES];
};

/**
 * donard_rdma_run() - write to, or read from, the memory that a server offers
 * @ctx: the context
 * @options: what to move
 * @result: filled in, after a failure too
 *
 * The call sends nothing if the server does not offer the range or the direction.  A call that ends
 * early does not wait for a barrier of its own persistent memory; see donard_rdma_serve().
 *
 * Returns 0; -EBADMSG when data did not compare equal; -EIO when the device of a region was reset
 * during the call, at either end: @result then counts no bytes; -EACCES for a direction that is
 * not offered, -ENXIO for a range that is not; -ECONNREFUSED, -ECONNRESET, -ETIMEDOUT, -ESHUTDOWN,
 * -EPROTO for the peer, -EBUSY when it serves another client; -EOPNOTSUPP, -ENETDOWN when no
 * device reaches it; -ECANCELED when progress_fn stopped it; what begin_fn or end_fn failed with; -EINVAL, -E2BIG for wrong options.
 */
int donard_rdma_run(struct donard_context *ctx, const struct donard_rdma_options *options,
		    struct donard_rdma_result *result);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_RDMA_H */
