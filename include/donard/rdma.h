/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA into and out of regions: memory for programs that use verbs themselves,
 * a server that offers a memory, and a client that reads and writes there.
 *
 *	donard_rdma_connect(ctx, &options, &client);
 *	donard_rdma_write(client, 0, memory, 0, 1 << 20);
 *	donard_rdma_wait(client, 1, 0);
 *	donard_rdma_sync(client, NULL, &durability);
 *	donard_rdma_close(client);
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
 * devices of this machine); -ENETDOWN when none of its ports is active; -EACCES, -EPERM, ... when its node in
 * /dev/infiniband cannot be opened.
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
 * else by its mapping.  It registers a memory that came as a dma-buf as that dma-buf.  If the
 * import of the dma-buf fails only for the moment, so does the call: try again.
 * Peers get exactly the given rights; donard asks for neither on-demand paging nor
 * relaxed ordering.  Memory into which the device READs needs DONARD_RDMA_LOCAL_WRITE, and over
 * iWARP DONARD_RDMA_WRITE: there the peer writes what was asked for.
 *
 * A reset of the memory's device ends a registration as a dma-buf, if the verbs device
 * can be told of it (docs/lifetime.md): from then on requests fail; register again.
 *
 * Returns 0; -EOPNOTSUPP when this device cannot register this memory; -EHOSTUNREACH when the
 * device has no route to it; -EBUSY while that device is being bound or reset, or the memory's
 * device is reset; -ENOMEM when the limit of locked memory is too low, or for want of memory;
 * -EINTR after a signal; -EMFILE, -ENFILE for want of a descriptor for the dma-buf; -ENXIO past the memory's end;
 * -ENODEV when the region is going away; -EROFS when @rights would write memory that may not be
 * written; -EINVAL for other rights; others when the device refuses the registration.
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
 * @target: "p2pmem0", "dram", or "dma-buf" for one of an exporter other than p2pmem
 * @method, @reason: as in struct donard_rdma_registration_info; DONARD_RDMA_UNREGISTERED and "" before the
 *	memory is registered
 * @text: why a client was lost or refused, why one that left did not finish, what a reset means; or ""
 * @memory: where this process maps the offered memory
 * @offset_bytes: as info.file_offset_bytes of struct donard_memory_info, and as info.dmabuf_offset_bytes for a memory that
 *	came as a dma-buf
 * @length_bytes: of the offered memory
 * @rights: what clients may do with it, DONARD_RDMA_READ and DONARD_RDMA_WRITE
 * @clients: how many clients have taken the offered memory so far, the one that the event is about included
 * @seconds: how long the connection lasted, once it has ended
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
	double seconds;
	const char *code;
	uint64_t resets;
	bool durable;
	bool reserved2[7];
};

typedef void (*donard_rdma_event_fn)(void *user, const struct donard_rdma_event *event);

/*
 * The library calls it at least every 250 ms while a call of a server or a client waits.  It does not call it:
 *
 *   - while a name is looked up;
 *   - for up to two seconds, while the library tells the other side of an end, or finds out why a connection ended;
 *   - while the CPU's access to a region waits for the end of a reset of its device (docs/lifetime.md), that is, while a
 *     server zeroes memory or its program reads or writes it.
 *
 * If the function returns nonzero, the call that waits ends.  The function must not use the client.
 */
typedef int (*donard_stop_fn)(void *user);

/*
 * A server's program may answer questions of clients about ranges of the offered memory, such as what their bytes add up to
 * or whether they are what the program expects.  The library carries the numbers; the two programs agree on their meaning.
 */
#define DONARD_RDMA_SERVICES_MAX	32

struct donard_rdma_asker;

/**
 * struct donard_rdma_asked - a client's question, as the server's program gets it
 * @size: of this record, as the library filled it
 * @asker: who asks; for donard_rdma_keep_up()
 * @memory: what the server offers
 * @peer: the client's address, "192.0.2.1:4711"
 * @service: one of those that the program has
 * @reserved: zero
 * @offset_bytes, @length_bytes: the range of @memory that the question is about; it lies in the memory
 * @value: what the client's program passed
 */
struct donard_rdma_asked {
	size_t size;
	struct donard_rdma_asker *asker;
	struct donard_memory *memory;
	const char *peer;
	uint32_t service;
	uint32_t reserved;
	uint64_t offset_bytes;
	uint64_t length_bytes;
	uint64_t value;
};

/**
 * struct donard_rdma_answer - what the server's program answers
 * @size: sizeof(struct donard_rdma_answer)
 * @value: any number
 * @verdict: any number
 * @changed: the program has written into the memory for the client.  The server then zeroes volatile memory when
 *	the client leaves, as after a client that could write.  Clients do not see this member
 * @reserved: zero
 */
struct donard_rdma_answer {
	size_t size;
	uint64_t value;
	uint32_t verdict;
	bool changed;
	bool reserved[3];
};

/*
 * Fills in the answer and returns 0.  Any other number cuts the client off: a negative errno with its text in the context of the
 * memory, or -EIO when the memory's device was reset.  The barrier of that device has passed before the call: what the client
 * wrote is there.
 */
typedef int (*donard_rdma_answer_fn)(void *user, const struct donard_rdma_asked *asked,
				     struct donard_rdma_answer *answer);

/**
 * donard_rdma_keep_up() - let the client hear that the server is alive
 * @asked: the question that is being answered
 *
 * For an answer that takes long: call it about every tenth of a second.  If it returns nonzero, return that from answer_fn.
 * Call it only in the thread that called answer_fn, and until that returns.
 *
 * Meanwhile the server refuses others that connect: event_fn may be called.
 *
 * Returns 0; a negative errno when the client is gone, or the server has to end.
 */
int donard_rdma_keep_up(const struct donard_rdma_asked *asked);

#define DONARD_RDMA_READ_BACK	(1U << 0)	/* make clients of soft devices, too, read back what they wrote */

/**
 * struct donard_rdma_serve_options - zero means the default
 * @size: sizeof(struct donard_rdma_serve_options)
 * @bind: address to listen at; NULL: loopback only
 * @port: 0 lets the kernel choose; DONARD_RDMA_PORT is what clients expect
 * @rights: what clients may do, DONARD_RDMA_READ and DONARD_RDMA_WRITE; default both
 * @clients: end after so many clients have taken the offered memory; 0: never
 * @timeout_ms: how long a client may be silent, 100 to 3600000; default DONARD_RDMA_TIMEOUT_MS;
 *	between connecting and its first message, while it registers memory of
 *	its own, at least DONARD_RDMA_FIRST_MESSAGE_MS
 * @flags: DONARD_RDMA_READ_BACK: a NIC that does DMA may hold back written bytes after it has told the client that
 *	they arrived.  A client that may read therefore reads the last of them, which pushes them out.  Soft RDMA
 *	copies with the CPU and needs no such read; this flag makes its clients do it as well
 * @event_fn: called with each event; may be NULL
 * @stop_fn: asked whether to end; may be NULL
 * @services: a bit (1U << service) for each question that answer_fn answers
 * @answer_fn: called with a client's question; needed for services
 * @user: handed to all three
 * @reserved: zero
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
	uint32_t services;
	donard_rdma_event_fn event_fn;
	donard_stop_fn stop_fn;
	donard_rdma_answer_fn answer_fn;
	void *user;
};

/**
 * donard_rdma_serve() - offer memory to RDMA clients, one after the other
 * @memory: all of it; of any kind, and of the program's own context
 * @options: how
 *
 * Nobody is authenticated, and nothing is encrypted: whoever reaches the address may do what the rights and services
 * allow, and may keep others out.  Use a network of machines that trust each other.
 *
 * Each client gets its own protection domain and its own registration, with exactly that
 * range and those rights.  While the server serves one client, it refuses others.  After a
 * client that could write, it zeroes volatile memory before the next client comes; it never
 * zeroes persistent memory.
 *
 * The server runs the barrier of the memory's device (donard_memory_sync()) before it
 * answers a client's question, its donard_rdma_sync() and its good-bye.  While the barrier
 * runs, the server keeps sending the client signs of life.  If the device was reset since the
 * client came, nobody knows what became of the bytes: the server cuts off that client, and
 * goes on serving others.
 *
 * A call that ends early does not wait for a barrier of persistent memory.  A thread holds the
 * memory until the barrier or the process has ended; until then the memory may be busy.
 *
 * Returns 0 when stop_fn asked for the end or after the last client; -ENODEV when the
 * region went away: free the memory, so that its removal goes on; -EIO when
 * its device does not work again after a reset;
 * -EOPNOTSUPP, -ENETDOWN when no device serves the address; -EHOSTUNREACH when the address's device has no route to the
 * memory (of a client's device, that client is refused); -ETIMEDOUT when no name server answers; -EBUSY when the port is in use,
 * or the address's device is being bound or reset, or the memory's device is reset; -EACCES, -EPERM for an RDMA device or a port
 * that this user may not use; -EINVAL, -E2BIG for wrong options; -EROFS when clients would write memory that may not be written;
 * others as donard_rdma_register() returns them; -EOPNOTSUPP for volatile memory that the CPU does not reach and that more than
 * one client could write, since nothing could zero it between them.  This can happen with options.clients 1, too: a client that
 * connects and does not take the offer is not counted, but could have written.
 */
int donard_rdma_serve(struct donard_memory *memory, const struct donard_rdma_serve_options *options);

/* ---- RDMA: client ------------------------------------------------------ */

/*
 * A client is a connection to a server.  One thread at a time uses it.  No thread of the library outlives a call, except one that
 * waits for an abandoned barrier (donard_rdma_serve()).  The server drops a client that is silent for info.silence_ms, and only
 * calls report a withdrawal or a reset: call donard_rdma_wait() several times within that time, with 0 requests if there is
 * nothing to wait for.
 *
 * When the connection has failed, each later call fails with the same: close the client, and connect again.  What was written
 * since the last donard_rdma_sync() may be lost then.
 */
struct donard_rdma_client;

/**
 * struct donard_rdma_connect_options - zero means the default
 * @size: sizeof(struct donard_rdma_connect_options)
 * @address: of the server, a name or a number; required
 * @port: default DONARD_RDMA_PORT
 * @rights: what the client has to do, DONARD_RDMA_READ and DONARD_RDMA_WRITE; required.  The call fails if the server
 *	does not offer that.  To connect to a server that offers only writing, ask for DONARD_RDMA_WRITE alone
 * @depth: how many work requests are under way at most, up to 4096; default 16.  There are fewer
 *	if these would take longer than a sixteenth of the shorter time limit, because the
 *	client's signs of life queue behind them
 * @timeout_ms: give up when nothing comes back for this long, default DONARD_RDMA_TIMEOUT_MS.  Connecting, in a thread of
 *	its own, also ends by then
 * @memory: attached before the client connects, for @rights; may be NULL.  Registering much memory may take longer
 *	than a server waits for the first request (at least DONARD_RDMA_FIRST_MESSAGE_MS), hence before connecting
 * @stop_fn: asked in calls that wait whether to end them with -ECANCELED; may be NULL
 * @user: handed to @stop_fn
 * @reserved, @reserved2: zero
 */
struct donard_rdma_connect_options {
	size_t size;
	const char *address;
	uint16_t port;
	uint16_t reserved;
	unsigned int rights;
	uint32_t depth;
	unsigned int timeout_ms;
	uint64_t reserved2;
	struct donard_memory *memory;
	donard_stop_fn stop_fn;
	void *user;
};

/**
 * donard_rdma_connect() - connect to a server
 * @ctx: the context
 * @options: where to connect, and how
 * @client: set to the client, which donard_rdma_close() closes
 *
 * The call returns once the server has made its offer.  A server counts a client once the client makes its first
 * request or asks its first question.
 *
 * Returns 0; -ECONNREFUSED when nobody listens there, or the server admits only its own machine, could not register its memory
 * for this client (the server's event says why), or was told to end; -EBUSY when it serves another client, or the RDMA device
 * of this side is being bound or reset, or the memory's device is reset; -EACCES when it does not offer these rights;
 * -EACCES, -EPERM when this user may not use the RDMA device; -ETIMEDOUT, -ECONNRESET, -EPROTO for the peer, and -ETIMEDOUT when
 * no name server answers; -EOPNOTSUPP, -ENETDOWN when no device reaches it, or it cannot register the memory; -EHOSTUNREACH when
 * the device has no route to the memory; -ECANCELED when stop_fn ended it; -EINVAL, -E2BIG for wrong options; -EIO, -ENODEV,
 * -EROFS of the memory; -EAGAIN without a thread to be had; -EINTR after a signal; -ENOMEM;
 * others when the RDMA device of this side refuses what the connection needs.
 */
int donard_rdma_connect(struct donard_context *ctx, const struct donard_rdma_connect_options *options,
			struct donard_rdma_client **client);

/**
 * donard_rdma_close() - end a connection
 * @client: may be NULL
 *
 * Close the client before its memories are freed and its context is closed.
 *
 * If donard_rdma_leave() was not called, the call tells the server that the client ends early, and waits at most two
 * seconds for the answer.  No device reads or writes attached memory when the call has returned.
 */
void donard_rdma_close(struct donard_rdma_client *client);

/**
 * struct donard_rdma_client_info - what the server offers, and what became of the connection
 * @size: in: sizeof(struct donard_rdma_client_info)
 * @length_bytes: of the offered memory
 * @bytes: how many bytes were moved so far, including those that the library moved for itself
 * @remote_resets, @local_resets: how often the device of the offered memory and of attached memory was reset; if either is
 *	not 0, the connection has failed with -EIO, and nobody knows what became of the bytes
 * @rights: what this client may do, DONARD_RDMA_READ and DONARD_RDMA_WRITE
 * @services: a bit (1U << service) for each question that the server's program answers
 * @in_flight: requests that have not completed
 * @silence_ms: for how long the server waits for a sign of life
 * @transport: what carries the requests
 * @remote_method: how the server registered its memory
 * @persistent: the offered memory keeps its contents without power
 * @connected: the connection has not ended
 * @reserved: zero
 * @peer: the server's address, "192.0.2.1:7077"
 * @device: the RDMA device of this side, "rxe0"
 * @target: what the server offers, "p2pmem0", "dram" or "dma-buf"
 */
struct donard_rdma_client_info {
	size_t size;
	uint64_t length_bytes;
	uint64_t bytes;
	uint64_t remote_resets;
	uint64_t local_resets;
	unsigned int rights;
	unsigned int services;
	uint32_t in_flight;
	unsigned int silence_ms;
	enum donard_rdma_transport transport;
	enum donard_rdma_method remote_method;
	bool persistent;
	bool connected;
	bool reserved[6];
	char peer[72];
	char device[64];
	char target[32];
};

/**
 * donard_rdma_client_info() - say what the server offers, and what became of the connection
 * @client: the client
 * @info: filled in
 *
 * Returns 0; -EINVAL for a bad size.
 */
int donard_rdma_client_info(const struct donard_rdma_client *client, struct donard_rdma_client_info *info);

/**
 * donard_rdma_attach() - register memory for requests of a client
 * @client: the client
 * @memory: of the client's context, and of any kind
 * @directions: DONARD_RDMA_WRITE: the memory is the source of writes; DONARD_RDMA_READ: the destination of reads
 * @info: filled in if not NULL: how it is registered, as by donard_rdma_registration_info(); strings live until
 *	the memory is detached
 *
 * Without this call, the first request that uses the memory attaches it.  The memory must stay until
 * donard_rdma_detach() or donard_rdma_close().  If the memory is already attached, the call only fills in @info, with one
 * exception: if it is attached as a source alone and @directions asks for reads, the call waits for all requests and
 * registers it again.
 *
 * Returns as donard_rdma_register(); -EROFS for memory that may not be written; -EINVAL for memory of another context, and
 * for other directions; what the connection failed with.
 */
int donard_rdma_attach(struct donard_rdma_client *client, struct donard_memory *memory, unsigned int directions,
		       struct donard_rdma_registration_info *info);

/**
 * donard_rdma_detach() - let go of memory
 * @client: the client
 * @memory: attached or not
 *
 * Returns 0; -EBUSY while requests are in flight.
 */
int donard_rdma_detach(struct donard_rdma_client *client, struct donard_memory *memory);

/**
 * donard_rdma_write() - write into the offered memory
 * @client: the client
 * @offset_bytes: in the offered memory
 * @memory: where the bytes come from; they must not change until the request has completed
 * @memory_offset_bytes: in the memory; any
 * @length_bytes: up to 1 GiB; a request of more than 1 MiB is sent as several work requests
 *
 * The call begins a request, and never waits for it; the first call with a memory may have to attach it, which takes time
 * (donard_rdma_attach()).  Small requests are handed to the device together: by
 * later calls, or by donard_rdma_wait() at the latest.
 *
 * Returns 0; -EAGAIN when options.depth requests are in flight; -EACCES when writing is not offered; -ENXIO past the end of
 * the offer or of the memory; -EINVAL for no bytes or too many; as donard_rdma_attach() for the memory; what the connection
 * failed with.
 */
int donard_rdma_write(struct donard_rdma_client *client, uint64_t offset_bytes, struct donard_memory *memory,
		      uint64_t memory_offset_bytes, uint64_t length_bytes);

/**
 * donard_rdma_read() - read out of the offered memory
 * @client: the client
 * @offset_bytes: in the offered memory
 * @memory: where the bytes go
 * @memory_offset_bytes: in the memory; any
 * @length_bytes: as in donard_rdma_write()
 *
 * As donard_rdma_write(), in the other direction.
 *
 * Returns as donard_rdma_write().
 */
int donard_rdma_read(struct donard_rdma_client *client, uint64_t offset_bytes, struct donard_memory *memory,
		     uint64_t memory_offset_bytes, uint64_t length_bytes);

#define DONARD_RDMA_SPIN	(1U << 0)	/* keep asking the device, for the shortest latency */

/**
 * donard_rdma_wait() - wait for requests, and keep the connection
 * @client: the client
 * @requests: wait until this many more have completed since the last call, or all in flight; 0: do not wait
 * @flags: DONARD_RDMA_SPIN, or 0
 *
 * Requests complete in the order in which they were made, so that their number says which.  A completed read has its bytes
 * in the memory.  A completed write was acknowledged by the server's device, or over iWARP only taken by the TCP of this machine:
 * donard_rdma_sync() says that it arrived.
 *
 * Returns how many have completed since the last call; -ESHUTDOWN when the server withdrew its memory; -ECONNRESET when
 * it or the link to it is gone; -ETIMEDOUT when nothing came back; -EIO when the device of the
 * offered memory or of attached memory was reset; -ENODEV when the region of attached memory is going away; -EOPNOTSUPP
 * when the RDMA device of this side was removed; -EPROTO; -ECANCELED when stop_fn ended the call, after which the connection
 * goes on.
 */
int donard_rdma_wait(struct donard_rdma_client *client, unsigned int requests, unsigned int flags);

/**
 * struct donard_rdma_durability - whether bytes survive a power cut
 * @size: in: sizeof(struct donard_rdma_durability)
 * @durable: they do
 * @reserved: zero
 * @reason: why not, or ""
 */
struct donard_rdma_durability {
	size_t size;
	bool durable;
	bool reserved[7];
	char reason[DONARD_REASON_BYTES];
};

/**
 * donard_rdma_sync() - wait until what was moved has arrived, and is as durable as it gets
 * @client: the client
 * @memory: NULL: sync what was written to the offered memory; else: sync what was read into this
 *	attached memory
 * @durability: filled in; may be NULL
 *
 * The call waits for all requests.  Then the server, or the library for memory of this side, runs the barrier of the
 * memory's device (donard_memory_sync()).  That of persistent memory may take minutes; the connection is kept meanwhile.
 * The bytes are not durable where the memory is volatile, or where a NIC may hold back the last of them.
 *
 * Either form fails if the kernel has noticed a reset of an attached memory's device.  A reset of the device that holds the
 * source of writes may go unnoticed: to find it, call donard_rdma_sync() with that memory, whose barrier reports it.
 *
 * Returns 0; -EINVAL for memory that is not attached; as donard_rdma_wait(); for @memory of another exporter also what that
 * exporter answers.
 */
int donard_rdma_sync(struct donard_rdma_client *client, struct donard_memory *memory,
		     struct donard_rdma_durability *durability);

/**
 * struct donard_rdma_question - for the program that serves
 * @size: sizeof(struct donard_rdma_question)
 * @service: which of info.services
 * @reserved: zero
 * @offset_bytes, @length_bytes: the range of the offered memory that it is about: at least 1 byte, also where the two programs
 *	agree that it does not matter
 * @value: any number
 */
struct donard_rdma_question {
	size_t size;
	uint32_t service;
	uint32_t reserved;
	uint64_t offset_bytes;
	uint64_t length_bytes;
	uint64_t value;
};

/**
 * donard_rdma_ask() - ask the program that serves
 * @client: the client
 * @question: what to ask
 * @answer: filled in
 *
 * The call waits for all requests.  What was written before is in the server's memory, past the barrier of its device, when the
 * program there gets the question.
 *
 * Returns 0; -EACCES when the program has no such service; -ENXIO past the end of the offer; -EINVAL for no bytes;
 * -EINVAL, -E2BIG for a wrong question; as donard_rdma_wait().
 */
int donard_rdma_ask(struct donard_rdma_client *client, const struct donard_rdma_question *question,
		    struct donard_rdma_answer *answer);

/**
 * donard_rdma_leave() - say good-bye when all is done
 * @client: the client; afterwards only donard_rdma_client_info() and donard_rdma_close() take it
 * @durability: of what was written; filled in; may be NULL
 *
 * The call waits for all requests, and does what donard_rdma_sync() does for the offered memory.  When stop_fn ended it after
 * the good-bye was sent, call this again, or close the client: other calls return -EINVAL.
 *
 * Returns 0; as donard_rdma_wait().
 */
int donard_rdma_leave(struct donard_rdma_client *client, struct donard_rdma_durability *durability);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_RDMA_H */
