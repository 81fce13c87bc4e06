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
 *   - Structures begin with their size, which the caller sets to sizeof. Later
 *     releases append members. Of a structure that goes in, members that the
 *     caller does not know are taken as zero; members that the library does
 *     not know must be zero, else the call fails with -E2BIG. Of one that
 *     comes out, the library fills what both know and zeroes the rest.
 *     Reserved members must be zero.
 *   - Enumerations grow at their end: treat a value that you do not know as
 *     something else. The calls named donard_..._text() have words for them.
 *   - While the CPU touches device memory (verification, bounced copies,
 *     region to region) a SIGBUS handler is installed and then restored, so
 *     that a region that goes away ends as an error and not as a signal.
 *     Do not change the SIGBUS action in another thread meanwhile.
 *
 * errno values with one meaning everywhere:
 *
 *   E2BIG       a structure has members set that this library does not know
 *   EACCES      a permission is missing; the text says whose
 *   EBADMSG     the data at the destination is not the data of the source
 *   EBUSY       somebody else uses it; the text says who
 *   ECANCELED   the caller's progress function asked to stop
 *   ECONNREFUSED  the RDMA peer does not want this client
 *   ECONNRESET  the RDMA peer, or the link to it, is gone
 *   EHOSTUNREACH  no peer-to-peer route between the two devices
 *   EINTR       a signal ended the wait
 *   EINVAL      a wrong argument: a bad name, size, flag or alignment
 *   EIO         a device reported a failure
 *   EMFILE      the process has too many open files
 *   ENETDOWN    the port of an RDMA device is not active
 *   ENODEV      there is no such device or region, or not any more
 *   ENOMEM      there is too little memory, or the limit of locked memory is too low
 *   ENOSPC      the region or the meter has no room left
 *   ENXIO       the range goes past the end
 *   EOPNOTSUPP  this machine, kernel or device cannot do it
 *   EPROTO      the RDMA peer is not donard, or is another version of it
 *   ERANGE      the number is too large
 *   ESHUTDOWN   the RDMA server took its memory back
 *   ETIMEDOUT   the RDMA peer was silent for longer than the time limit
 */
#ifndef DONARD_H
#define DONARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * donard_version() - the version of the library in use
 *
 * Returns "0.1.0", which lives as long as the program.
 */
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
 * @ctx: set to the context, which donard_close() frees
 * @config: NULL for the defaults; copied
 *
 * Returns 0; -ENOMEM; -EINVAL for a bad size, -E2BIG for unknown members that
 * are set. There is no text of these failures.
 */
int donard_open(struct donard_context **ctx, const struct donard_config *config);

/**
 * donard_close() - free a context
 * @ctx: NULL is fine
 *
 * Lists, meters and registered memory are freed before it, by their own calls.
 */
void donard_close(struct donard_context *ctx);

/**
 * donard_error() - the text of the last failure
 * @ctx: on which a call failed
 *
 * Names the object, the cause and a remedy, in one or two sentences.
 *
 * Returns the text, never NULL; it lives until the next call with this context.
 */
const char *donard_error(const struct donard_context *ctx);

/**
 * donard_error_code() - a stable word for the last failure
 * @ctx: on which a call failed
 *
 * Programs compare it; it does not change between releases.
 *
 * Returns a word such as "unreachable" or "busy", never NULL.
 */
const char *donard_error_code(const struct donard_context *ctx);

/* ---- sizes ------------------------------------------------------------ */

/**
 * donard_parse_size() - read "4096", "64K", "1MiB", "2kB", "0x1000"
 * @text: the size, with nothing before or behind it
 * @bytes: set to the size
 *
 * K, M, G, T and KiB.. are powers of 1024; kB, MB, GB, TB powers of 1000.
 * Zero is accepted here; callers that need a length refuse it.
 *
 * Returns 0, -EINVAL (not a size) or -ERANGE (over 2^63 - 1).
 */
int donard_parse_size(const char *text, uint64_t *bytes);

#define DONARD_SIZE_TEXT_BYTES	40	/* of the longest, NUL included */

/**
 * donard_format_size() - write "256 MiB", "512 B", "1.50 GiB (1610612736 B)"
 * @text: where it goes; DONARD_SIZE_TEXT_BYTES suffice
 * @text_bytes: how long @text is; no more is written, the NUL included
 * @bytes: the size
 *
 * Where the unit would hide bytes, the exact number follows.
 *
 * Returns @text.
 */
char *donard_format_size(char *text, size_t text_bytes, uint64_t bytes);

/* ---- regions ---------------------------------------------------------- */

enum donard_region_kind {
	DONARD_KIND_UNKNOWN,
	DONARD_KIND_PCI_BAR,	/* a memory BAR that root named */
	DONARD_KIND_NVME_CMB,	/* a drive's Controller Memory Buffer */
	DONARD_KIND_NVME_PMR,	/* a drive's Persistent Memory Region */
};

enum donard_page_type {
	DONARD_PAGES_DEFAULT,	/* of the kind, where one is asked for; else unknown */
	DONARD_PAGES_GENERIC,
	DONARD_PAGES_P2PDMA,
};

enum donard_memtype {
	DONARD_MEMTYPE_DEFAULT,
	DONARD_MEMTYPE_UC,
	DONARD_MEMTYPE_WC,
	DONARD_MEMTYPE_WB,
};

enum donard_region_state {
	DONARD_STATE_UNKNOWN,
	DONARD_STATE_READY,
	DONARD_STATE_DRAINING,		/* being taken away */
	DONARD_STATE_QUARANTINED,	/* gone; a device may still write there */
	DONARD_STATE_GONE,		/* ended: of memory that is still held, never in a list */
};

/**
 * donard_region_kind_text() - the word for a kind of region
 * @kind: of struct donard_region_info
 *
 * Returns "pci-bar", "nvme-cmb", "nvme-pmr", or "unknown".
 */
const char *donard_region_kind_text(enum donard_region_kind kind);

/**
 * donard_region_kind_of() - the kind of region that a word names
 * @word: as donard_region_kind_text() returns it
 *
 * Returns DONARD_KIND_UNKNOWN for any other word.
 */
enum donard_region_kind donard_region_kind_of(const char *word);

/**
 * donard_page_type_text() - the word for a page type
 * @page_type: of struct donard_region_info
 *
 * Returns "generic", "p2pdma", or "unknown".
 */
const char *donard_page_type_text(enum donard_page_type page_type);

/**
 * donard_page_type_of() - the page type that a word names
 * @word: as donard_page_type_text() returns it
 *
 * Returns DONARD_PAGES_DEFAULT for any other word.
 */
enum donard_page_type donard_page_type_of(const char *word);

/**
 * donard_memtype_text() - the word for a memory type
 * @memtype: of struct donard_region_info
 *
 * Returns "uc", "wc", "wb", or "unknown".
 */
const char *donard_memtype_text(enum donard_memtype memtype);

/**
 * donard_memtype_of() - the memory type that a word names
 * @word: as donard_memtype_text() returns it
 *
 * Returns DONARD_MEMTYPE_DEFAULT for any other word.
 */
enum donard_memtype donard_memtype_of(const char *word);

/**
 * donard_region_state_text() - the word for the state of a region
 * @state: of struct donard_region_info
 *
 * Returns "ready", "draining", "quarantined", "gone", or "unknown".
 */
const char *donard_region_state_text(enum donard_region_state state);

/**
 * struct donard_region_info - one region
 * @size: of this record, as the library filled it
 * @name: "p2pmem0"
 * @bdf: "0000:03:00.0"
 * @pinned_importers: dma-bufs go to drivers that cannot be told to let go
 * @holders: lines of "pid comm bytes pinned_pages [device]"; NULL if the caller
 *	may not see them, which root and the group p2pmem may
 * @granule_bytes, @bus_address: 0 when the node could not be opened
 * @unknown: why the last two are 0, or ""
 * @unrouted: lines of BDFs: functions without a route that the kernel would not stop
 */
struct donard_region_info {
	size_t size;
	const char *name;
	const char *bdf;
	enum donard_region_kind kind;
	unsigned int bar;
	uint64_t size_bytes;
	uint64_t available_bytes;
	enum donard_page_type page_type;
	enum donard_memtype memtype;
	enum donard_region_state state;
	bool persistent;
	bool pinned_importers;
	bool reserved[2];
	const char *holders;
	uint64_t granule_bytes;
	uint64_t bus_address;
	const char *unknown;
	const char *unrouted;
};

struct donard_region_list;

/**
 * donard_region_list() - list every region, sorted by number
 * @ctx: the context
 * @list: set to the list, which donard_region_list_free() frees
 *
 * Returns how many there are, which may be 0; -EOPNOTSUPP without the module.
 */
int donard_region_list(struct donard_context *ctx, struct donard_region_list **list);

/**
 * donard_region_count() - how many regions a list has
 * @list: NULL has none
 *
 * Returns the number.
 */
size_t donard_region_count(const struct donard_region_list *list);

/**
 * donard_region_get() - one region of a list
 * @list: the list
 * @index: from 0
 *
 * Returns the record, which lives as long as the list; NULL past the last.
 */
const struct donard_region_info *donard_region_get(const struct donard_region_list *list,
						   size_t index);

/**
 * donard_region_list_free() - free a list and all its records
 * @list: NULL is fine
 */
void donard_region_list_free(struct donard_region_list *list);

/**
 * donard_region_find() - a list of exactly one region
 * @ctx: the context
 * @name: "p2pmem0" or "/dev/p2pmem0", here and wherever a region is named
 * @list: set to the list, which donard_region_list_free() frees
 *
 * Returns 0; -ENODEV when there is no such region; -EINVAL when @name cannot be a region's.
 */
int donard_region_find(struct donard_context *ctx, const char *name,
		       struct donard_region_list **list);

/**
 * struct donard_region_add - what to offer
 * @size: sizeof(struct donard_region_add)
 * @bdf: of the function, "0000:03:00.0"
 * @bar: only for DONARD_KIND_PCI_BAR
 * @page_type: 0 for generic if each NVMe and RDMA function of the machine has a
 *	route, else p2pdma where that is available
 * @memtype: 0 for the default of the kind
 * @offset_bytes, @length_bytes: part of the BAR; length 0 is all of it
 * @note: NULL, or DONARD_REASON_BYTES that get a sentence: which functions decided about
 *	the page type, or have no route although it was asked for
 */
struct donard_region_add {
	size_t size;
	const char *bdf;
	enum donard_region_kind kind;
	unsigned int bar;
	enum donard_page_type page_type;
	enum donard_memtype memtype;
	uint64_t offset_bytes;
	uint64_t length_bytes;
	char *note;
};

/**
 * donard_region_add() - offer device memory as /dev/p2pmemN
 * @ctx: the context
 * @what: the memory, and how
 *
 * A function of DONARD_KIND_PCI_BAR is bound to the driver p2pmem first. That
 * is undone when the kernel refuses the region.
 *
 * Returns N; -EBUSY when another driver owns the function; -EACCES unless the
 * caller is root; -EHOSTUNREACH when no page type was named and none is safe;
 * -EINVAL, -E2BIG when @what describes no memory.
 */
int donard_region_add(struct donard_context *ctx, const struct donard_region_add *what);

/* Called about once a second while a removal waits, with a sentence. */
typedef void (*donard_wait_fn)(void *user, const char *text);

#define DONARD_REMOVE_IF_IDLE	1U	/* -EBUSY instead of revoking mappings */

/**
 * donard_region_remove() - take a region away; blocks until nothing uses it
 * @ctx: the context
 * @name: of the region
 * @flags: DONARD_REMOVE_IF_IDLE, or 0
 * @wait_fn: may be NULL; called on the calling thread
 * @user: for @wait_fn
 *
 * Returns 0; -EBUSY with DONARD_REMOVE_IF_IDLE; -EINTR after a signal (the
 * removal then goes on by itself); -ENODEV; -EACCES unless the caller is root.
 */
int donard_region_remove(struct donard_context *ctx, const char *name, unsigned int flags,
			 donard_wait_fn wait_fn, void *user);

/**
 * donard_region_set_page_type() - change the page type of an idle region
 * @ctx: the context
 * @name: of the region
 * @page_type: DONARD_PAGES_GENERIC or DONARD_PAGES_P2PDMA
 *
 * Returns 0; -EBUSY unless the region is idle; -EOPNOTSUPP when the kernel or the
 * kind of region lacks that page type; -EACCES unless the caller is root.
 */
int donard_region_set_page_type(struct donard_context *ctx, const char *name,
				enum donard_page_type page_type);

/* ---- clients ---------------------------------------------------------- */

enum donard_client_type {
	DONARD_CLIENT_UNKNOWN,
	DONARD_CLIENT_NVME,
	DONARD_CLIENT_RDMA,
	DONARD_CLIENT_GPU,
};

/**
 * donard_client_type_text() - the word for a type of client
 * @type: of struct donard_client_info
 *
 * Returns "nvme", "rdma", "gpu", or "unknown".
 */
const char *donard_client_type_text(enum donard_client_type type);

/**
 * struct donard_client_info - a PCI function that can start DMA
 * @size: of this record, as the library filled it
 * @name: "nvme0", "mlx5_0", or the BDF of a GPU
 * @serial: "" when unknown
 * @namespaces: names of block devices, "nvme0n1"
 */
struct donard_client_info {
	size_t size;
	const char *name;
	const char *bdf;
	const char *model;
	const char *serial;
	enum donard_client_type type;
	unsigned int reserved;
	size_t namespace_count;
	const char *const *namespaces;
};

struct donard_client_list;

/**
 * donard_client_list() - list NVMe controllers, RDMA NICs and GPUs
 * @ctx: the context
 * @list: set to the list, which donard_client_list_free() frees
 *
 * Returns how many there are, which may be 0; -ENOMEM.
 */
int donard_client_list(struct donard_context *ctx, struct donard_client_list **list);

/**
 * donard_client_count() - how many clients a list has
 * @list: NULL has none
 *
 * Returns the number.
 */
size_t donard_client_count(const struct donard_client_list *list);

/**
 * donard_client_get() - one client of a list
 * @list: the list
 * @index: from 0
 *
 * Returns the record, which lives as long as the list; NULL past the last.
 */
const struct donard_client_info *donard_client_get(const struct donard_client_list *list,
						   size_t index);

/**
 * donard_client_list_free() - free a list and all its records
 * @list: NULL is fine
 */
void donard_client_list_free(struct donard_client_list *list);

/* ---- routes ----------------------------------------------------------- */

#define DONARD_REASON_BYTES	224
#define DONARD_BDF_BYTES	16

enum donard_route_type {
	DONARD_ROUTE_NONE,	/* there is none */
	DONARD_ROUTE_SWITCH,	/* turned round below a PCIe switch */
	DONARD_ROUTE_BRIDGE,	/* through a host bridge */
	DONARD_ROUTE_IOMMU,	/* translated by the root complex */
	DONARD_ROUTE_BOUNCED,	/* through DRAM */
	DONARD_ROUTE_CPU,	/* the CPU loads and stores: region to region */
};

/**
 * donard_route_text() - the word for a route
 * @route: of struct donard_route or struct donard_copy_result
 *
 * Returns "none", "switch", "bridge", "iommu", "bounced", "cpu", or "unknown".
 */
const char *donard_route_text(enum donard_route_type route);

/**
 * struct donard_route - a prediction: how a client reaches a region
 * @size: in: sizeof(struct donard_route)
 * @distance: links between the two: 0 for the client's own memory, 4 below one switch
 * @unlisted_bridge: crosses a host bridge on no allow-list
 * @translated: an IOMMU translates what the client sends
 * @dma_address: 0 if the page could not be mapped
 * @bridge: the bridge that decides, or ""
 */
struct donard_route {
	size_t size;
	enum donard_route_type route;
	uint32_t distance;
	bool unlisted_bridge;
	bool same_device;
	bool acs_redirect;
	bool passthrough;
	bool translated;
	bool reserved[3];
	uint64_t bus_address;
	uint64_t dma_address;
	char bridge[DONARD_BDF_BYTES];
	char reason[DONARD_REASON_BYTES];
};

/**
 * donard_route_probe() - ask the kernel for a route; moves no data
 * @ctx: the context
 * @region: the name of the region
 * @client_bdf: of the function that would start the DMA
 * @route: filled in
 *
 * Returns 0 whatever the route is, even if there is none; -ENODEV when the
 * region or the function does not exist; -EINVAL for a malformed name.
 */
int donard_route_probe(struct donard_context *ctx, const char *region, const char *client_bdf,
		       struct donard_route *route);

/* ---- copy ------------------------------------------------------------- */

/* donard/meter.h */
struct donard_meter;
struct donard_measurement;

/** enum donard_phase - what a copy or an RDMA transfer is doing */
enum donard_phase {
	DONARD_PHASE_COPY,	/* moving the data */
	DONARD_PHASE_FLUSH,	/* making it durable: called once, and cannot be stopped */
	DONARD_PHASE_VERIFY,	/* reading it again and comparing it */
};

/**
 * donard_phase_text() - the word for a phase
 * @phase: as a progress function gets it
 *
 * Returns "copying", "flushing", "verifying", or "unknown".
 */
const char *donard_phase_text(enum donard_phase phase);

/*
 * Called now and then with how much of the phase is done.  Return nonzero to stop the
 * copy; it ends when the requests in flight have ended.
 */
typedef int (*donard_progress_fn)(void *user, enum donard_phase phase, uint64_t done_bytes,
				  uint64_t total_bytes);

#define DONARD_COPY_VERIFY		(1U << 0)	/* re-read both sides, compare */
#define DONARD_COPY_ALLOW_BOUNCE	(1U << 1)	/* through DRAM if there is no route */
#define DONARD_COPY_ALLOW_UNLISTED	(1U << 2)	/* try a host bridge on no list */
#define DONARD_COPY_FORCE_BOUNCE	(1U << 3)	/* never peer-to-peer: a baseline */
#define DONARD_COPY_PASSTHROUGH		(1U << 4)	/* NVMe commands that bypass the block layer */

/*
 * DONARD_COPY_PASSTHROUGH works only for whole namespaces and their partitions,
 * through /dev/ngXnY; anything else gives -EOPNOTSUPP.  I/O schedulers, cgroup
 * limits and the kernel's statistics do not see these requests.
 */

enum donard_evidence {
	DONARD_EVIDENCE_PREDICTED,
	DONARD_EVIDENCE_PROVEN,
};

/**
 * donard_evidence_text() - the word for the evidence of a route
 * @evidence: of struct donard_copy_result
 *
 * Returns "predicted", "proven", or "unknown".
 */
const char *donard_evidence_text(enum donard_evidence evidence);

/**
 * enum donard_bounce_evidence - how it is known what went through DRAM
 * @DONARD_BOUNCE_UNKNOWN: it is not known, as of a copy that failed
 * @DONARD_BOUNCE_STATED: the file system says that it reads and writes the file
 *	directly; its page cache could not be watched, as by a user who may
 *	read the file and not write it
 * @DONARD_BOUNCE_WATCHED: a direct read left nothing in the page cache, which
 *	held no more of a file's range after the copy than before; a drive as a
 *	whole, or a partition, has no other way through it
 * @DONARD_BOUNCE_CERTAIN: donard did it itself, or no drive had a part in it
 * @DONARD_BOUNCE_AT_MOST: pages of the range came into the page cache meanwhile,
 *	by another program or by a bounce, and all of them are counted
 *
 * One bounce is never counted.  While another program writes to the very pages of
 * the destination through the page cache, the kernel may write them through it, too,
 * and drop them: on drives, partitions and ext4.  Do not write to a destination
 * during a copy.
 */
enum donard_bounce_evidence {
	DONARD_BOUNCE_UNKNOWN,
	DONARD_BOUNCE_STATED,
	DONARD_BOUNCE_WATCHED,
	DONARD_BOUNCE_CERTAIN,
	DONARD_BOUNCE_AT_MOST,
};

/**
 * donard_bounce_evidence_text() - the word for what is known of a bounce
 * @evidence: of struct donard_copy_result
 *
 * Returns "stated", "watched", "certain", "at-most", or "unknown".
 */
const char *donard_bounce_evidence_text(enum donard_bounce_evidence evidence);

/**
 * struct donard_copy_options - zero means the default
 * @size: sizeof(struct donard_copy_options)
 * @length_bytes: default: to the end of the source
 * @block_bytes: size of one request, default 1 MiB.  A request that is longer than a
 *	command of the drive becomes several
 * @queue_depth: requests of @block_bytes in flight, default 16
 * @flags: DONARD_COPY_*
 * @via: the region that a drive-to-drive copy stages its data in; NULL: the best one
 * @progress_fn: may be NULL
 * @meter: NULL, or a meter, which counts during exactly the @seconds of the result
 * @measurement: filled with what @meter counted; required with @meter
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
 * @bounced_bytes: of those, how many went through DRAM.  Where a file has to end within
 *	a block, the file system itself completes the block there: the last bytes,
 *	fewer than a block, then count although the route is direct
 * @bounced_evidence: how that is known
 * @kept_bytes: of a file that was written, how many lie behind the copy, unchanged.
 *	None when neither length_bytes nor dst_offset_bytes was given: the file then
 *	ends where the copy ends
 * @seconds: of moving the bytes and making them durable: after the checks, the
 *	mapping and the proof of the route, before the verification
 * @route: DONARD_ROUTE_NONE when nothing was copied, as when the source is empty
 * @route_evidence: predicted, or proven: a probe was moved and compared
 * @block_bytes, @queue_depth: the values that were used.  Blocks are smaller than asked
 *	for, and more are in flight, where one command of the drive holds less; fewer
 *	are in flight where memory or the copy is too small
 * @fixed_buffers: the memory was registered with io_uring
 * @passthrough: drives were read and written with NVMe commands that donard built
 * @via: the region that the data was staged in, or ""
 */
struct donard_copy_result {
	size_t size;
	uint64_t bytes;
	uint64_t bounced_bytes;
	double seconds;
	uint64_t block_bytes;
	uint64_t kept_bytes;
	uint32_t queue_depth;
	bool verified;
	bool fixed_buffers;
	bool durable;
	bool passthrough;
	enum donard_route_type route;
	enum donard_evidence route_evidence;
	enum donard_bounce_evidence bounced_evidence;
	uint32_t reserved;
	char via[32];
	char bridge[DONARD_BDF_BYTES];
};

/**
 * donard_copy() - copy between a drive, a file on a drive, and a region
 * @ctx: the context
 * @src, @dst: "/dev/nvme0n1", "/mnt/file", "p2pmem0", "p2pmem0+64M"
 * @options: NULL for the defaults
 * @result: filled in, after a failure too
 *
 * Nothing is written if a check refuses.
 *
 * Returns 0; -EBADMSG when data did not arrive or verification failed;
 * -EHOSTUNREACH without a route; -ECANCELED when stopped; -EINVAL, -E2BIG for
 * malformed arguments; -EOPNOTSUPP for what this machine cannot do; -EACCES,
 * -EBUSY, -ENODEV, -ENOSPC, -ENXIO for either side; -EIO when a device failed.
 */
int donard_copy(struct donard_context *ctx, const char *src, const char *dst,
		const struct donard_copy_options *options, struct donard_copy_result *result);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_H */
