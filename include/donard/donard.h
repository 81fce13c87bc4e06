/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdonard - move data between PCIe devices without staging it in DRAM.
 *
 * Conventions, the same for every call:
 *
 *   - Calls return 0 or a positive value on success and -errno on failure.
 *     donard_error() then gives object, cause and remedy as one text.
 *   - The library never prints and never exits.
 *   - A context and what came out of it belong to one thread at a time; use
 *     one context a thread.
 *   - Strings inside of returned records live as long as their list.
 *   - Lengths and offsets are bytes.
 *   - While the CPU touches device memory (verification, bounced copies,
 *     region to region) a SIGBUS handler is installed and then restored, so
 *     that a region that goes away ends as an error and not as a signal.
 *     Do not change the SIGBUS action in another thread meanwhile.
 *
 * errno values with one meaning everywhere:
 *
 *   EOPNOTSUPP  this machine, kernel or device cannot do it
 *   EBADMSG     the data at the destination is not the data of the source
 *   ECANCELED   the caller's progress function asked to stop
 *   EHOSTUNREACH  no peer-to-peer route between the two devices
 *   ENETDOWN    the port of an RDMA device is not active
 *   ECONNREFUSED  the RDMA peer does not want this client
 *   ECONNRESET  the RDMA peer, or the link to it, is gone
 *   ETIMEDOUT   the RDMA peer was silent for longer than the time limit
 *   ESHUTDOWN   the RDMA server took its memory back
 *   EPROTO      the RDMA peer is no donard, or of another version
 */
#ifndef DONARD_H
#define DONARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DONARD_VERSION_MAJOR	0
#define DONARD_VERSION_MINOR	1
#define DONARD_VERSION_PATCH	0

/** donard_version() - version of the library in use, "0.1.0". */
const char *donard_version(void);

/* ---- context ---------------------------------------------------------- */

struct donard_context;

/**
 * struct donard_config - where to look; NULL members mean the default
 * @size: sizeof(struct donard_config)
 * @sysfs_root: default "/sys"; tests point it at a captured tree
 * @dev_root: default "/dev"
 */
struct donard_config {
	size_t size;
	const char *sysfs_root;
	const char *dev_root;
};

/**
 * donard_open() - make a context
 * @config: NULL for the defaults; copied
 * Returns 0, -ENOMEM, or -EINVAL for a bad size.
 */
int donard_open(struct donard_context **ctx, const struct donard_config *config);

/** donard_close() - free a context; NULL is fine. */
void donard_close(struct donard_context *ctx);

/** donard_error() - text of the last failure on this context, never NULL. */
const char *donard_error(const struct donard_context *ctx);

/** donard_error_code() - stable word for the last failure, e.g. "unreachable". */
const char *donard_error_code(const struct donard_context *ctx);

/* ---- sizes ------------------------------------------------------------ */

/**
 * donard_parse_size() - read "4096", "64K", "1MiB", "2kB", "0x1000"
 * K, M, G, T and KiB.. are powers of 1024; kB, MB, GB, TB powers of 1000.
 * Zero is accepted here; callers that need a length refuse it.
 * Returns 0, -EINVAL (not a size) or -ERANGE (over 2^63 - 1).
 */
int donard_parse_size(const char *text, uint64_t *bytes);

#define DONARD_SIZE_TEXT_BYTES	40	/* of the longest, NUL included */

/**
 * donard_format_size() - "256 MiB", "512 B", "1.50 GiB (1610612736 B)"
 * Where the unit hides bytes, they follow.  Writes at most @text_bytes, NUL
 * included; returns @text.
 */
char *donard_format_size(char *text, size_t text_bytes, uint64_t bytes);

/* ---- regions ---------------------------------------------------------- */

/** struct donard_region_info - one region; later releases append members. */
struct donard_region_info {
	const char *name;	/* "p2pmem0" */
	const char *kind;	/* "pci-bar", "nvme-cmb", "nvme-pmr" */
	const char *bdf;	/* "0000:03:00.0" */
	unsigned int bar;
	bool persistent;
	uint64_t size_bytes;
	uint64_t available_bytes;
	const char *page_type;	/* "generic" or "p2pdma" */
	const char *memtype;	/* "uc", "wc", "wb" */
	const char *state;	/* "ready", "draining", "quarantined" */
	const char *holders;	/* lines of "pid comm bytes pinned_pages [device]" */
	uint64_t granule_bytes;	/* 0 when the node could not be opened */
	uint64_t bus_address;	/* 0 when the node could not be opened */
	const char *unknown;	/* why the last two are 0, or "" */
};

struct donard_region_list;

/**
 * donard_region_list() - every region, sorted by number
 * Returns the count (0 is fine), -EOPNOTSUPP without the module.
 */
int donard_region_list(struct donard_context *ctx, struct donard_region_list **list);
size_t donard_region_count(const struct donard_region_list *list);
const struct donard_region_info *donard_region_get(const struct donard_region_list *list,
						   size_t index);
void donard_region_list_free(struct donard_region_list *list);

/**
 * donard_region_find() - a list of exactly one region
 * @name: "p2pmem0" or "/dev/p2pmem0", here and wherever a region is named
 * Returns 0, -ENODEV, or -EINVAL when that is no name of a region.
 */
int donard_region_find(struct donard_context *ctx, const char *name,
		       struct donard_region_list **list);

/**
 * struct donard_region_add - what to offer
 * @size: sizeof(struct donard_region_add)
 * @bar: only for "pci-bar"
 * @page_type, @memtype: NULL for the default of the kind
 * @offset_bytes, @length_bytes: part of the BAR; length 0 is all of it
 */
struct donard_region_add {
	size_t size;
	const char *kind;
	const char *bdf;
	const char *page_type;
	const char *memtype;
	uint64_t offset_bytes;
	uint64_t length_bytes;
	unsigned int bar;
	unsigned int reserved;
};

/**
 * donard_region_add() - offer device memory as /dev/p2pmemN
 * A pci-bar function is bound to the driver p2pmem first; -EBUSY when
 * another driver owns it.  Undone when the kernel refuses the region.
 * Returns N.
 */
int donard_region_add(struct donard_context *ctx, const struct donard_region_add *what);

/** Called about once a second while a removal waits, with a sentence. */
typedef void (*donard_wait_fn)(void *user, const char *text);

#define DONARD_REMOVE_IF_IDLE	1U	/* -EBUSY instead of revoking mappings */

/**
 * donard_region_remove() - take a region away; blocks until nothing uses it
 * @wait_fn: may be NULL; called on the calling thread
 * Returns 0, -EBUSY with DONARD_REMOVE_IF_IDLE, -EINTR after a signal (the
 * removal then goes on by itself).
 */
int donard_region_remove(struct donard_context *ctx, const char *name, unsigned int flags,
			 donard_wait_fn wait_fn, void *user);

/** donard_region_set_page_type() - "generic" or "p2pdma"; -EBUSY unless idle. */
int donard_region_set_page_type(struct donard_context *ctx, const char *name,
				const char *page_type);

/* ---- clients ---------------------------------------------------------- */

/** struct donard_client_info - a PCI function that can start DMA. */
struct donard_client_info {
	const char *name;	/* "nvme0", "mlx5_0", or the BDF of a GPU */
	const char *type;	/* "nvme", "rdma", "gpu" */
	const char *bdf;
	const char *model;
	const char *serial;	/* "" when unknown */
	size_t namespace_count;
	const char *const *namespaces;	/* block device names, "nvme0n1" */
};

struct donard_client_list;

/** donard_client_list() - NVMe controllers, RDMA NICs, GPUs; returns the count. */
int donard_client_list(struct donard_context *ctx, struct donard_client_list **list);
size_t donard_client_count(const struct donard_client_list *list);
const struct donard_client_info *donard_client_get(const struct donard_client_list *list,
						   size_t index);
void donard_client_list_free(struct donard_client_list *list);

/* ---- routes ----------------------------------------------------------- */

#define DONARD_REASON_BYTES	224
#define DONARD_BDF_BYTES	16

/** struct donard_route - a prediction: how a client reaches a region. */
struct donard_route {
	size_t size;		/* in: sizeof(struct donard_route) */
	const char *route;	/* "switch", "bridge", "iommu", "bounced", "none" */
	uint32_t distance;	/* bridges on the path */
	bool unlisted_bridge;	/* crosses a host bridge on no allow-list */
	bool same_device;
	bool acs_redirect;
	bool passthrough;
	uint64_t bus_address;
	uint64_t dma_address;	/* 0 if the page could not be mapped */
	char bridge[DONARD_BDF_BYTES];	/* the bridge that decides, or "" */
	char reason[DONARD_REASON_BYTES];
};

/** donard_route_probe() - ask the kernel; moves no data. */
int donard_route_probe(struct donard_context *ctx, const char *region, const char *client_bdf,
		       struct donard_route *route);

/* ---- copy ------------------------------------------------------------- */

/* donard/meter.h */
struct donard_meter;
struct donard_measurement;

/** enum donard_phase - what a copy or an RDMA transfer is doing */
enum donard_phase {
	DONARD_PHASE_COPY,	/* moving the data */
	DONARD_PHASE_FLUSH,	/* making it durable: called once, and not to be stopped */
	DONARD_PHASE_VERIFY,	/* reading it again and comparing it */
};

/** donard_phase_text() - "copying", "flushing", "verifying"; "unknown" for any other value. */
const char *donard_phase_text(enum donard_phase phase);

/**
 * Called now and then with what was done of the phase.  Return nonzero to stop the copy;
 * requests in flight are waited for.
 */
typedef int (*donard_progress_fn)(void *user, enum donard_phase phase, uint64_t done_bytes,
				  uint64_t total_bytes);

#define DONARD_COPY_VERIFY		(1U << 0)	/* re-read both sides, compare */
#define DONARD_COPY_ALLOW_BOUNCE	(1U << 1)	/* through DRAM if there is no route */
#define DONARD_COPY_ALLOW_UNLISTED	(1U << 2)	/* try a host bridge on no list */
#define DONARD_COPY_FORCE_BOUNCE	(1U << 3)	/* never peer-to-peer: a baseline */
#define DONARD_COPY_PASSTHROUGH		(1U << 4)	/* NVMe commands past the block layer */

/*
 * DONARD_COPY_PASSTHROUGH: whole namespaces and their partitions only, by
 * /dev/ngXnY; -EOPNOTSUPP for anything else.  I/O schedulers, limits of
 * cgroups and the kernel's statistics do not see these requests.
 */

/**
 * struct donard_copy_options - zero means the default
 * @size: sizeof(struct donard_copy_options)
 * @length_bytes: default: to the end of the source
 * @block_bytes: of one request, default 1 MiB.  One that is longer than a command of
 *	the drive becomes several requests
 * @queue_depth: requests of @block_bytes in flight, default 16
 * @via: staging region of a drive-to-drive copy; NULL: the best one
 * @progress_fn: may be NULL
 * @meter: NULL, or counts over exactly the time that the result calls seconds
 * @measurement: what it counted; needed with @meter
 */
struct donard_copy_options {
	size_t size;
	uint64_t length_bytes;
	uint64_t src_offset_bytes;
	uint64_t dst_offset_bytes;
	uint64_t block_bytes;
	uint32_t queue_depth;
	uint32_t flags;
	const char *via;
	donard_progress_fn progress_fn;
	void *progress_user;
	struct donard_meter *meter;
	struct donard_measurement *measurement;
};

/**
 * struct donard_copy_result - what happened; valid after a failure too
 * @bytes: from the start of the range, without a gap, that were copied
 * @bounced_bytes: of those, how many went through DRAM
 * @seconds: of moving the bytes and making them durable: after the checks, the
 *	mapping and the proof of the route, before the verification
 * @route: "switch", "bridge", "iommu", "bounced", "cpu", or "none" (nothing
 *	was copied, as when the source is empty)
 * @route_evidence: "predicted" or "proven" (a probe was moved and compared)
 * @block_bytes, @queue_depth: as they were used: smaller blocks than asked for, and
 *	more of them in flight, where one command of the drive holds less; less in
 *	flight where memory or the copy hold less
 * @fixed_buffers: the memory was registered with io_uring
 * @passthrough: drives were read and written by NVMe commands of this program
 * @via: staging region or ""
 */
struct donard_copy_result {
	size_t size;
	uint64_t bytes;
	uint64_t bounced_bytes;
	double seconds;
	uint64_t block_bytes;
	uint32_t queue_depth;
	bool verified;
	bool fixed_buffers;
	bool durable;
	bool passthrough;
	const char *route;
	const char *route_evidence;
	char via[32];
	char bridge[DONARD_BDF_BYTES];
};

/**
 * donard_copy() - copy between a drive, a file on a drive, and a region
 * @src, @dst: "/dev/nvme0n1", "/mnt/file", "p2pmem0", "p2pmem0+64M"
 * Returns 0; nothing was written if a check refuses.  -EBADMSG when data
 * did not arrive or verification failed, -EHOSTUNREACH without a route,
 * -ECANCELED when stopped.
 */
int donard_copy(struct donard_context *ctx, const char *src, const char *dst,
		const struct donard_copy_options *options, struct donard_copy_result *result);

/* ---- RDMA: registration ------------------------------------------------ */

/* Of libibverbs (infiniband/verbs.h); pointers to them are all that is needed here. */
struct ibv_context;
struct ibv_pd;
struct ibv_mr;

#define DONARD_RDMA_READ	(1U << 0)	/* the peer may read */
#define DONARD_RDMA_WRITE	(1U << 1)	/* the peer may write */
#define DONARD_RDMA_LOCAL_WRITE	(1U << 2)	/* this side's own requests may write */

/**
 * donard_rdma_open_device() - open a verbs device that has an active port
 * @name: "mlx5_0"; NULL takes the first that has one
 * @verbs: the caller's, ended by ibv_close_device()
 * Returns 0, -EOPNOTSUPP when there is no such device (the text lists those
 * that there are), -ENETDOWN when its ports are down.
 */
int donard_rdma_open_device(struct donard_context *ctx, const char *name,
			    struct ibv_context **verbs);

struct donard_rdma_memory;

/**
 * struct donard_rdma_memory_info - what was registered, and how
 * @size: in: sizeof(struct donard_rdma_memory_info)
 * @mr: the registration, with lkey and rkey; owned by the memory
 * @data: the same bytes for the CPU, also the address that peers use
 * @method: "dma-buf" (ibv_reg_dmabuf_mr) or "mapping" (ibv_reg_mr)
 * @reason: why it was not the other one; lives as long as the memory
 */
struct donard_rdma_memory_info {
	size_t size;
	struct ibv_mr *mr;
	void *data;
	uint64_t length_bytes;
	const char *method;
	const char *reason;
};

/**
 * donard_rdma_register() - make memory known to a verbs device
 * @pd: whose device is meant; must outlive the memory
 * @target: "p2pmem0", "p2pmem0+64M", or "dram" for plain memory
 * @length_bytes: 0 is to the end of the region; "dram" needs a length
 * @rights: DONARD_RDMA_*; verbs make DONARD_RDMA_WRITE imply LOCAL_WRITE
 *
 * As a dma-buf where device and region can, else by the mapping.  Peers get
 * the given rights, no others; neither on-demand paging nor relaxed ordering
 * is ever asked for.
 * Returns 0; -EOPNOTSUPP when this device cannot register this region,
 * -ENOMEM when the limit of locked memory is too low; the text has the remedy.
 */
int donard_rdma_register(struct donard_context *ctx, struct ibv_pd *pd, const char *target,
			 uint64_t length_bytes, unsigned int rights,
			 struct donard_rdma_memory **memory);
/** donard_rdma_memory_info() - 0, or -EINVAL for a bad size. */
int donard_rdma_memory_info(const struct donard_rdma_memory *memory,
			    struct donard_rdma_memory_info *info);

/** donard_rdma_deregister() - after the last queue pair that uses it; NULL is fine. */
void donard_rdma_deregister(struct donard_rdma_memory *memory);

/* ---- RDMA: server ------------------------------------------------------ */

#define DONARD_RDMA_PORT		7077
#define DONARD_RDMA_TIMEOUT_MS		10000
#define DONARD_RDMA_FIRST_MESSAGE_MS	60000

enum donard_rdma_event_type {
	DONARD_RDMA_LISTENING,
	DONARD_RDMA_CLIENT_CAME,	/* and took what is offered: it counts */
	DONARD_RDMA_CLIENT_LEFT,	/* after good-bye */
	DONARD_RDMA_CLIENT_LOST,	/* without, or cut off by the server's own end: text says why */
	DONARD_RDMA_CLIENT_REFUSED,	/* or did not take what is offered; not counted */
};

/**
 * struct donard_rdma_event - something happened on a server
 * @peer: "192.0.2.1:4711", or when listening the server's own address
 * @device: "rxe0", or "" while no client has chosen one
 * @target: "p2pmem0" or "dram"
 * @method, @reason: as of struct donard_rdma_memory_info, or ""
 * @memory: what is offered, as this process maps it
 * @seconds and what follows: of the connection, once it ended; user_seconds
 *	to major_faults are this process's getrusage()
 * @checked_bytes, @filled_bytes: test patterns on request of the client
 *
 * Strings live until the function that got the event returns.
 */
struct donard_rdma_event {
	size_t size;
	enum donard_rdma_event_type type;
	uint16_t port;
	bool reserved[2];
	const char *peer;
	const char *device;
	const char *target;
	const char *method;
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
};

typedef void (*donard_rdma_event_fn)(void *user, const struct donard_rdma_event *event);

/** Asked at least every 250 ms; nonzero ends the call. */
typedef int (*donard_stop_fn)(void *user);

#define DONARD_RDMA_MAY_FILL	(1U << 0)	/* fill with test patterns when a client asks */

/**
 * struct donard_rdma_serve_options - zero means the default
 * @size: sizeof(struct donard_rdma_serve_options)
 * @bind: address to listen at; NULL is loopback, and nowhere else
 * @port: 0 lets the kernel choose; DONARD_RDMA_PORT is what clients expect
 * @rights: default both
 * @clients: end after so many that took what is offered; 0 is never
 * @length_bytes: default: to the end of the region; "dram": 64 MiB
 * @timeout_ms: how long a client may be silent, default DONARD_RDMA_TIMEOUT_MS;
 *	between connecting and its first message, while it registers memory of
 *	its own, at least DONARD_RDMA_FIRST_MESSAGE_MS
 * @flags: DONARD_RDMA_MAY_FILL; a client that may write may always ask for it
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
	uint64_t length_bytes;
	donard_rdma_event_fn event_fn;
	donard_stop_fn stop_fn;
	void *user;
};

/**
 * donard_rdma_serve() - offer memory to RDMA clients, one after the other
 * @target: "p2pmem0", "p2pmem0+64M", "dram"
 *
 * Each client has a protection domain and a registration of its own, of
 * exactly that range and those rights; while one is served, others are
 * refused.  Volatile memory that a client could change is zeroed before the
 * next one comes; persistent memory never is.
 * Returns 0 when stop_fn said so or after the last client; -ENODEV when the
 * region went away (it is free by then, so that its removal goes through).
 */
int donard_rdma_serve(struct donard_context *ctx, const char *target,
		      const struct donard_rdma_serve_options *options);

/* ---- RDMA: client ------------------------------------------------------ */

enum donard_rdma_mode {
	DONARD_RDMA_TRANSFER,	/* the range, iterations times, each time verified */
	DONARD_RDMA_BANDWIDTH,	/* iterations requests that go round in the range */
	DONARD_RDMA_LATENCY,	/* the same, one after the other, each one timed */
};

#define DONARD_RDMA_VERIFY	(1U << 0)	/* test data, compared position by position */

/**
 * struct donard_rdma_options - zero means the default
 * @size: sizeof(struct donard_rdma_options)
 * @address: of the server, a name or a number
 * @port: default DONARD_RDMA_PORT
 * @direction: DONARD_RDMA_WRITE or DONARD_RDMA_READ
 * @offset_bytes: where in what is offered
 * @length_bytes: default: what is offered from there; for BANDWIDTH and
 *	LATENCY queue_depth blocks of it.  More than 1 GiB is never a default.
 *	When given, the near side is registered before connecting.
 * @block_bytes: of one request, default 64 KiB; LATENCY: 8.  More than 1 MiB goes
 *	as several work requests
 * @queue_depth: requests in flight, default 16; LATENCY: always 1.  Fewer are when
 *	they would take longer than a sixteenth of the time limits, since what
 *	tells the server that this side lives waits behind them
 * @iterations: default 1 for TRANSFER, 1000 requests for the others
 * @local: "dram" (the default) or a region: the near side of the transfer.
 *	A region is written as it is, unless VERIFY asks for test data.
 * @timeout_ms: give up when nothing completes for so long; connecting, too, ends by
 *	then, or when progress_fn says so: it is done in a thread of its own
 * @meter: NULL, or counts from the first request until the server has confirmed
 *	the last byte, and test data that are laid or compared in between
 * @measurement: what it counted; needed with @meter
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
	struct donard_meter *meter;
	struct donard_measurement *measurement;
};

#define DONARD_RDMA_BY_SERVER	(1U << 0)
#define DONARD_RDMA_BY_CLIENT	(1U << 1)

/** Latency of one request, from posting it to its completion. */
struct donard_rdma_latency {
	uint64_t min_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns;
};

/**
 * struct donard_rdma_result - what happened; valid after a failure too
 * @size: in: sizeof(struct donard_rdma_result)
 * @bytes, @requests: that completed
 * @seconds: first request posted to last one completed; no verification
 * @verified_bytes: bytes of test data that were compared and equal; with VERIFY
 *	all of them, since each round over the range has data of its own
 * @verified_by: who compared, DONARD_RDMA_BY_*.  What was written the server
 *	compares, and the client once more, by reading it back, where it may read;
 *	what was read, after the server laid it there, the client
 * @latency: of LATENCY
 * @remote_method, @local_method: "dma-buf" or "mapping"
 * @transport: "RoCE", "iWARP", "InfiniBand"
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
	bool remote_persistent;
	bool reserved[3];
	struct donard_rdma_latency latency;
	const char *transport;
	const char *remote_method;
	const char *local_method;
	char local_reason[DONARD_REASON_BYTES];
	char device[64];
	char remote_target[32];
};

/**
 * donard_rdma_run() - write to, or read from, what a server offers
 * Nothing is sent when the range or the direction is not offered.
 * Returns 0; -EBADMSG when data did not compare equal, and the errno values
 * of the table above.
 */
int donard_rdma_run(struct donard_context *ctx, const struct donard_rdma_options *options,
		    struct donard_rdma_result *result);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_H */
