/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdonard - move data between PCIe devices without staging it in DRAM.
 *
 * Conventions, the same for every call:
 *
 *   - Calls return 0 or a positive value on success and -errno on failure.
 *     donard_error() then gives object, cause and remedy as one text. The text names a member
 *     of a structure of options "options.block_bytes", and a flag by the end of its name:
 *     "ALLOW_BOUNCE" is DONARD_COPY_ALLOW_BOUNCE of a copy, DONARD_QUEUE_ALLOW_BOUNCE of a queue.
 *     A call that helps stands there as in "donard_region_add(gpu-nvidia, 0000:03:00.0)", with the
 *     words of its arguments.
 *   - The library never prints and never exits. Lengths and offsets are bytes.
 *   - A context and what came out of it belong to one thread at a time; use one context a thread.
 *   - Strings inside of returned records live as long as their list.
 *   - Structures begin with their size, which the caller sets to sizeof. Later releases append
 *     members. In a structure that goes in, the library takes members that the caller does
 *     not know as zero; members that the library does not know must be zero, else the call fails
 *     with -E2BIG. In one that comes out, it fills the members that both know and zeroes the rest.
 *     Reserved members must be zero.
 *   - Enumerations grow at their end: expect values that you do not know. The calls named
 *     donard_..._text() have words for them.
 *   - No call leaves a signal handler or a changed signal mask behind. If a region goes away while
 *     a call touches device memory by the CPU, the call fails; no SIGBUS reaches the program.
 *
 * errno values with one meaning everywhere:
 *
 *   E2BIG       a structure has members set that this library does not know
 *   EACCES      a permission is missing; the text says whose
 *   EAGAIN      a queue is full; take completions first
 *   EBADMSG     the data at the destination is not the data of the source
 *   EBUSY       somebody else uses it; the text says who
 *   ECANCELED   the caller's progress function asked to stop
 *   ECONNREFUSED  the RDMA peer does not want this client
 *   ECONNRESET  the RDMA peer, or the link to it, is gone
 *   EHOSTUNREACH  no peer-to-peer route between the two devices
 *   EFAULT      a buffer of the program is not wholly mapped, or is not plain memory
 *   EILSEQ      the log of a write cache is damaged
 *   EINTR       a signal ended the wait
 *   EINVAL      a wrong argument: a bad name, size, flag or alignment
 *   EIO         a device reported a failure
 *   EMEDIUMTYPE  the file is on a file system other than ext4 and XFS
 *   EMFILE      the process has too many open files
 *   ENETDOWN    the port of an RDMA device is not active
 *   ENODATA     there is no log of a write cache
 *   ENODEV      there is no such device or region, or it is gone
 *   ENOENT      there is no such file
 *   ENOMEM      there is too little memory, or the limit of locked memory is too low
 *   ENOSPC      the region or the meter has no room left
 *   ENOSYS      this kernel does not have the call
 *   ENOTBLK     no NVMe drive is below it
 *   ENXIO       the range goes past the end
 *   EOPNOTSUPP  this machine, kernel or device cannot do it
 *   EPERM       a queue belongs to another thread or process; or a sandbox forbids a system call
 *   EPROTO      the RDMA peer is not donard, or is another version of it
 *   EPROTONOSUPPORT  the log of a write cache is of another version
 *   ERANGE      the number is too large
 *   EROFS       it is read-only, or was not opened for writing
 *   ESHUTDOWN   the RDMA server took its memory back
 *   ETIMEDOUT   the RDMA peer was silent for longer than the time limit
 *   EXDEV       the GPU's memory lies outside of the part of its BAR that a region has
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
 * are set. These failures have no text.
 */
int donard_open(struct donard_context **ctx, const struct donard_config *config);

/**
 * donard_close() - free a context
 * @ctx: may be NULL
 *
 * First free its queues, files, memories, lists, meters and registrations, by their own calls.
 */
void donard_close(struct donard_context *ctx);

/**
 * donard_error() - the text of the last failure
 * @ctx: on which a call failed
 *
 * It names the object, the cause and a remedy, in one or two sentences on one line. Names from elsewhere
 * are made printable: a byte that is not stands there as "\x1b".
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
	DONARD_KIND_GPU_NVIDIA,	/* what processes pin of a GPU */
};

enum donard_page_type {
	DONARD_PAGES_DEFAULT,	/* in a request: the kind's default; in an answer: unknown */
	DONARD_PAGES_GENERIC,
	DONARD_PAGES_P2PDMA,
	DONARD_PAGES_PMEM,	/* a pmem device has the memory, and nobody else */
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
	DONARD_STATE_GONE,		/* ended; only told of memory that is still held, never in a list */
};

/**
 * donard_region_kind_text() - the word for a kind of region
 * @kind: of struct donard_region_info
 *
 * Returns "pci-bar", "nvme-cmb", "nvme-pmr", "gpu-nvidia", or "unknown".
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
 * Returns "generic", "p2pdma", "pmem", or "unknown".
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
 * @kind: what kind of memory of that device
 * @bar: the BAR that it lies in
 * @size_bytes: of the whole region
 * @available_bytes: how much of it nobody owns
 * @page_type: whether the kernel checks routes for its pages
 * @memtype: how the CPU's caches treat it
 * @state: ready, or why not
 * @persistent: it keeps its contents without power
 * @pinned_importers: dma-bufs go to drivers that cannot be told to let go
 * @holders: lines of "pid comm bytes pinned_pages [device]"; the last one may be
 *	"and N more"; pid 0: the process has ended, or the caller cannot see it; NULL
 *	if the caller did not ask, or is neither root nor in the group p2pmem
 * @granule_bytes, @bus_address: 0 when the node was not asked, or could not be opened
 * @unknown: why the last two are 0, or ""
 * @unrouted: lines of BDFs: functions without a route that the kernel would not stop;
 *	NULL if the caller is neither root nor in the group p2pmem
 * @offset_bytes: where it begins within its BAR
 * @folio_bytes: the unit that has one owner: 4096, or more if it was added with large folios
 * @pmem: its block device, "pmem0", or "" if it is no pmem device, or has no disk now
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
	uint64_t offset_bytes;
	uint64_t folio_bytes;
	const char *pmem;
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

/* What to ask of each region beside its cheap files in sysfs: bits. */
#define DONARD_REGION_NODE	(1U << 0)	/* opens it: granule_bytes and bus_address */
#define DONARD_REGION_HOLDERS	(1U << 1)	/* the kernel looks at all memory that is owned */

/**
 * donard_region_list_parts() - list every region, and ask only some things
 * @ctx: the context
 * @parts: any of DONARD_REGION_*; 0 opens no region and looks at no memory
 * @list: set to the list, which donard_region_list_free() frees
 *
 * For programs that list often.  donard_region_list() asks for all parts.
 *
 * Returns how many there are, which may be 0; -EOPNOTSUPP without the module;
 * -EINVAL for unknown parts.
 */
int donard_region_list_parts(struct donard_context *ctx, unsigned int parts,
			     struct donard_region_list **list);

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
 * @list: may be NULL
 */
void donard_region_list_free(struct donard_region_list *list);

/**
 * donard_region_find() - a list of exactly one region
 * @ctx: the context
 * @name: "p2pmem0" or "/dev/p2pmem0", here and wherever a region is named
 * @list: set to the list, which donard_region_list_free() frees
 *
 * Returns 0; -ENODEV when there is no such region; -EINVAL when @name cannot name a region.
 */
int donard_region_find(struct donard_context *ctx, const char *name, struct donard_region_list **list);

/**
 * struct donard_region_add - what to offer
 * @size: sizeof(struct donard_region_add)
 * @bdf: of the function, "0000:03:00.0"
 * @kind: what kind of its memory
 * @bar: only for DONARD_KIND_PCI_BAR
 * @page_type: 0 for generic if each NVMe and RDMA function of the machine has a route,
 *	else p2pdma where that is available; pmem makes persistent memory a pmem device
 * @memtype: 0 for the default of the kind
 * @offset_bytes, @length_bytes: part of the BAR; length 0 is all of it
 * @note: NULL, or a buffer of DONARD_REASON_BYTES for a sentence that says which functions
 *	decided about the page type, or have no route although you asked for that type
 * @folio_bytes: 0 or 4096 for struct pages of 4 KiB each.  2 MiB or 1 GiB saves most of the
 *	memory for struct pages and most of the time to map and pin; but whoever uses a part
 *	takes that much, and only programs with CAP_SYS_RAWIO map 1 GiB at once
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
	uint64_t folio_bytes;
};

/**
 * donard_region_add() - offer device memory as /dev/p2pmemN
 * @ctx: the context
 * @what: which memory, and how
 *
 * For DONARD_KIND_PCI_BAR the call first binds the function to the driver p2pmem. It
 * undoes that when the kernel refuses the region.
 *
 * Returns N; -EBUSY when another driver owns the function; -EACCES unless the caller is root;
 * -EHOSTUNREACH when no page type was named and none is safe; -EINVAL, -E2BIG when @what describes no memory.
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
 * Returns 0; -EBUSY unless the region is idle; -EOPNOTSUPP when the kernel or the kind of
 * region lacks that page type, or the region is a pmem device; -EACCES unless the caller is root.
 */
int donard_region_set_page_type(struct donard_context *ctx, const char *name, enum donard_page_type page_type);

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
 * @bdf: "0000:01:00.0"
 * @model: as the device or the PCI ids name it, "" when unknown
 * @serial: "" when unknown
 * @type: NVMe controller, RDMA NIC or GPU
 * @namespace_count: of @namespaces
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
 * @list: may be NULL
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
	DONARD_ROUTE_DRAM,	/* the memory is the host's, which each device reaches */
};

/**
 * donard_route_text() - the word for a route
 * @route: of struct donard_route or struct donard_copy_result
 *
 * Returns "none", "switch", "bridge", "iommu", "bounced", "cpu", "dram", or "unknown".
 */
const char *donard_route_text(enum donard_route_type route);

/**
 * struct donard_route - a prediction: how a client reaches a region
 * @size: in: sizeof(struct donard_route)
 * @route: the verdict
 * @distance: links between the two: 0 for the client's own memory, 4 below one switch
 * @unlisted_bridge: crosses a host bridge on no allow-list
 * @same_device: the client and the memory are one function
 * @acs_redirect: ACS sends the client's requests up to the root complex
 * @passthrough: there is an IOMMU, and it does not translate for the client
 * @translated: an IOMMU translates what the client sends
 * @beyond_mask: the client's DMA mask, or its bus's limit, ends below the memory
 * @bus_address: of the region's first page, as devices on its PCI bus address it
 * @dma_address: the address that the kernel gave the client for that page; 0 if it gave none
 * @bridge: the bridge that decides, or ""
 * @reason: a sentence
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
	bool beyond_mask;
	bool reserved[2];
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

/* What becomes of a request that takes a route. */
enum donard_verdict {
	DONARD_VERDICT_NO,		/* refused */
	DONARD_VERDICT_UNLISTED,	/* the host bridge may lose it: refused, unless ALLOW_UNLISTED is passed */
	DONARD_VERDICT_YES,		/* tried, and proved at the first request */
};

/**
 * donard_route_verdict() - whether copies and queues take a route
 * @route: as donard_route_probe() has filled it
 *
 * Returns the verdict.
 */
enum donard_verdict donard_route_verdict(const struct donard_route *route);

#ifdef __cplusplus
}
#endif

/* A program that copies needs nothing else. */
#include "copy.h"

#endif /* DONARD_H */
