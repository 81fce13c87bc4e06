/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdonard - move data between PCIe devices without staging it in DRAM.
 *
 * Conventions, the same for every call:
 *
 *   - Calls return 0 or a positive value on success and -errno on failure.
 *     donard_error() then returns one text that names the object, the cause and the remedy. The
 *     text writes a member of an options structure as "options.block_bytes", and shortens a flag to
 *     the end of its name: "ALLOW_BOUNCE" means DONARD_COPY_ALLOW_BOUNCE for a copy and
 *     DONARD_QUEUE_ALLOW_BOUNCE for a queue. If another call helps, the text shows that call with
 *     its arguments as words, as in "donard_region_add(gpu-nvidia, 0000:03:00.0)".
 *   - The library never prints and never exits. Lengths and offsets are bytes.
 *   - A handle ends with the call that frees it, also where requests in flight hold it for longer. A debug build (make DEBUG=1)
 *     finds a later use: the call returns -EBADF, or if it can return no failure, prints which one it was and aborts.
 *   - A call that makes a handle takes a context. A call on a handle takes none: the handle keeps the context that it was made
 *     with, whose donard_error() describes the failure, unless the call is documented to give no text.
 *   - A context and everything made from it belong to one thread at a time; use one context per
 *     thread.
 *   - A thread that calls the library needs a stack of 256 KiB or more.
 *   - The strings in a record of a list live as long as the list.
 *   - Structures begin with their size, which the caller sets to sizeof. Later releases append
 *     members. In a structure that the caller passes in, the library treats members that the caller
 *     does not know as zero; members that the library does not know must be zero, or the call fails
 *     with -E2BIG. In a structure that the library fills in, it sets the members that both know and
 *     zeroes the rest. Reserved members must be zero.
 *   - Later releases append values to enumerations: expect values that you do not know. The calls
 *     named donard_..._text() return the word for a value, and "unknown" for one that they do not know.
 *   - No call leaves a signal handler or a changed signal mask behind. If a region goes away while
 *     a call accesses device memory with the CPU, the call fails; no SIGBUS reaches the program.
 *
 * errno values with one meaning everywhere:
 *
 *   E2BIG       a structure has members set that this library does not know
 *   EACCES      a permission is missing; the text says for what
 *   EAGAIN      a queue is full: take completions first; or the process can have no further thread
 *   EBADF       the handle was freed, or is of another kind; only a debug build of the library finds that
 *   EBADMSG     the data at the destination is not the data of the source
 *   EBUSY       something else uses it or has data in it; the text says what
 *   ECANCELED   a function of the caller's asked to stop, the request was canceled, or a signal ended donard_cache_status()
 *   ECONNREFUSED  nobody listens at the RDMA address, or the server refuses this client
 *   ECONNRESET  the RDMA peer, or the link to it, is gone
 *   EHOSTUNREACH  no peer-to-peer route between the two devices
 *   EEXIST      the memory is a region already, or its own driver has struct pages for it that p2pmem cannot use
 *   EFAULT      part of the program's buffer is not mapped, or the buffer is not plain memory
 *   EILSEQ      the log of a write cache is damaged
 *   EINTR       a signal ended the wait
 *   EINVAL      a wrong argument: a bad name, size, flag or alignment
 *   EIO         a device reported a failure
 *   EMEDIUMTYPE  the file is on a file system other than ext4 and XFS
 *   EMFILE      the process has too many open files
 *   ENAMETOOLONG  the path is longer than the kernel takes
 *   ENETDOWN    the port of an RDMA device is not active
 *   ENFILE      all programs together have too many open files
 *   ENODATA     the memory holds no log of a write cache
 *   ENODEV      there is no such device, region or server, or it is gone; a file to write does not exist; or the
 *               log of a write cache is for another drive
 *   ENOENT      there is no such file or folder
 *   ENOMEM      there is too little memory, or the limit of locked memory is too low
 *   ENOSPC      there is no room left; the text says where
 *   ENOSYS      this kernel does not have the system call, or a sandbox pretends so
 *   ENOTBLK     the path names nothing that lies on NVMe drives
 *   ENXIO       the range goes past the end
 *   EOPNOTSUPP  this machine, kernel or device cannot do it
 *   EPERM       the queue or meter belongs to another thread or process, a sandbox or container forbids it, or the kernel is locked down
 *   EPROTO      the peer or server is not donard, or is another version of it
 *   EPROTONOSUPPORT  the log of a write cache is of another version
 *   ERANGE      the number is too large
 *   EROFS       it is read-only, or was not opened for writing
 *   ESHUTDOWN   the RDMA server is ending, or its memory or drive is gone
 *   ETIMEDOUT   the peer or server was silent for longer than the time limit, or no name server answers
 *   EUCLEAN     the kernel can offer that memory only after the next boot
 *   EXDEV       the GPU memory lies outside the part of the GPU's BAR that a region covers
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
 * are set; -ENAMETOOLONG for a root that is too long. These failures have no text.
 */
int donard_open(struct donard_context **ctx, const struct donard_config *config);

/**
 * donard_close() - free a context
 * @ctx: may be NULL
 *
 * First free everything made from it: queues, files, memories, lists, meters and registrations have calls of their own
 * for that.
 */
void donard_close(struct donard_context *ctx);

/**
 * donard_error() - the text of the last failure
 * @ctx: the context with which the call failed
 *
 * The text names the object, the cause and a remedy, in one or two sentences on one line. Names that come
 * from elsewhere are made printable: the text writes an unprintable byte as an escape such as "\x1b".
 *
 * Returns the text, never NULL; it lives until the next call with this context.
 */
const char *donard_error(const struct donard_context *ctx);

/**
 * donard_error_code() - a stable word for the last failure
 * @ctx: the context with which the call failed
 *
 * Programs can compare the word: it does not change between releases.
 *
 * Returns a word such as "unreachable" or "busy", never NULL.
 */
const char *donard_error_code(const struct donard_context *ctx);

#define DONARD_FAILURE_VALUE	(1U << 0)	/* value is the number at fault, or the flags */
#define DONARD_FAILURE_MOST	(1U << 1)	/* limit is the largest value that is allowed */
#define DONARD_FAILURE_LEAST	(1U << 2)	/* limit is the smallest value that is allowed */
#define DONARD_FAILURE_MULTIPLE	(1U << 3)	/* value must be a multiple of limit */

/**
 * struct donard_failure - a failure as data
 * @size: sizeof(struct donard_failure)
 * @code: as donard_error_code() returns it
 * @text: as donard_error() returns it
 * @object: what the text is about, in the words with which it begins: "p2pmem0", "/dev/nvme0n1".  As in the text,
 *	it is printable, and a very long name has lost its middle.  "" if the text begins otherwise
 * @member: the argument at fault: a member of the options ("options.block_bytes"), a flag as the texts write it
 *	("PASSTHROUGH"), or the word for another argument, such as "offset", "length", "flags" or "descriptor".  "" if
 *	there is none, or several
 * @value: the number at fault, if @known has DONARD_FAILURE_VALUE, else 0; for flags, those that are not
 *	known
 * @limit: what @value broke, as @known says, else 0
 * @known: DONARD_FAILURE_VALUE; and DONARD_FAILURE_MOST, DONARD_FAILURE_LEAST or DONARD_FAILURE_MULTIPLE where @limit is
 *	the largest value that is allowed, the smallest one, or the number of which it must be a multiple
 */
struct donard_failure {
	size_t size;
	const char *code;
	const char *text;
	const char *object;
	const char *member;
	uint64_t value;
	uint64_t limit;
	uint32_t known;
	uint32_t reserved;
};

/**
 * donard_failure_get() - the last failure as data
 * @ctx: the context with which the call failed
 * @failure: filled in; its strings live until the next call with this context
 *
 * A failure that donard_fail() set has code and text alone, and so has one of libdonard-meter.
 *
 * Returns 0; -EINVAL if @failure has no size.  The last failure stays what it was.
 */
int donard_failure_get(const struct donard_context *ctx, struct donard_failure *failure);

/**
 * donard_fail() - set the last failure to one of the caller's own
 * @ctx: its donard_error() and donard_error_code() report it from now on
 * @error: an errno, positive or negative
 * @code: a word that donard_error_code() returns for failures of the library, so not "ok".  If it is NULL or any other word,
 *	@error decides, as for an error of the kernel: "permission" for EACCES, "system" for most others
 * @text: object, cause and remedy; copied, and made printable
 *
 * For functions that the library calls (donard_begin_fn), and for libraries that are built on this one.
 *
 * Returns @error, negative, so that a function can end with "return donard_fail(...)".
 */
int donard_fail(struct donard_context *ctx, int error, const char *code, const char *text);

/**
 * donard_sysfs_root() - where a context finds sysfs
 * @ctx: the context
 *
 * Returns "/sys", or what struct donard_config said; it lives as long as the context.
 */
const char *donard_sysfs_root(const struct donard_context *ctx);

/* ---- sizes ------------------------------------------------------------ */

/**
 * donard_parse_size() - read "4096", "64K", "1MiB", "2kB", "0x1000"
 * @text: the size, with nothing before or after it
 * @bytes: set to the size
 *
 * K, M, G, T and KiB, MiB, GiB, TiB are powers of 1024; kB, MB, GB, TB are powers of 1000.
 * The call accepts zero; calls that need a length refuse it.
 *
 * Returns 0, -EINVAL (not a size) or -ERANGE (over 2^63 - 1).
 */
int donard_parse_size(const char *text, uint64_t *bytes);

#define DONARD_SIZE_TEXT_BYTES	40	/* the longest text, NUL included */

/**
 * donard_format_size() - write "256 MiB", "512 B", "1.50 GiB (1610612736 B)"
 * @text: where the text goes; DONARD_SIZE_TEXT_BYTES are enough
 * @text_bytes: the length of @text; the call writes no more than that, NUL included
 * @bytes: the size
 *
 * If the size is not a whole number of its unit, the exact number of bytes follows.
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
	DONARD_KIND_GPU_NVIDIA,	/* GPU memory that processes pin */
};

enum donard_page_type {
	DONARD_PAGES_DEFAULT,	/* in a request: the kind's default; in an answer: unknown */
	DONARD_PAGES_GENERIC,
	DONARD_PAGES_P2PDMA,
	DONARD_PAGES_PMEM,	/* a pmem device owns the memory, and nobody else can */
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
	DONARD_STATE_DRAINING,		/* is being removed, or has no pages after a failed donard_region_set_page_type() */
	DONARD_STATE_QUARANTINED,	/* gone, but a device may still write there */
	DONARD_STATE_GONE,		/* ended: donard_memory_state() reports it, a list never does */
};

/**
 * donard_region_kind_text() - the word for a kind of region
 * @kind: as in struct donard_region_info
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
 * @page_type: as in struct donard_region_info
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
 * @memtype: as in struct donard_region_info
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
 * @state: as in struct donard_region_info
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
 * @bar: the BAR that the region lies in
 * @size_bytes: of the whole region
 * @available_bytes: how much of it files can still take; 0 for kind gpu-nvidia, where files have
 *	only what they pin, and for a pmem device
 * @page_type: whether the kernel checks routes for its pages
 * @memtype: how the CPU's caches treat it
 * @state: ready, or why not
 * @persistent: it keeps its contents without power
 * @pinned_importers: drivers that cannot release the memory on request may import its dma-bufs
 * @holders: a line per holder, "pid comm bytes pinned_pages [device]"; the last line may be
 *	"and N more".  A pid of 0 means that the process has ended, that the caller cannot see
 *	it, or that the line is about the disk of a pmem device.  NULL if the caller did not
 *	ask, or is neither root nor in the region's group
 * @granule_bytes, @bus_address: 0 if the caller did not ask for DONARD_REGION_NODE, or if the
 *	region's device node could not be opened
 * @unknown: why the last two are 0, or ""
 * @unrouted: one BDF a line: the NVMe and RDMA functions that have no route to the region, but that the kernel does
 *	not keep from using its pages; the last line may be "and N more".  NULL if the caller is
 *	neither root nor in the region's group, or did not ask for DONARD_REGION_UNROUTED
 * @offset_bytes: where the region begins within its BAR
 * @folio_bytes: the unit of ownership: 4096, or more if the region was added with large folios
 * @pmem: its block device, "pmem0"; "" if the region is no pmem device, or has no disk now
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
 * Returns how many there are, which may be 0; -EOPNOTSUPP without the module; -EMFILE, -ENFILE,
 * -ENOMEM.
 */
int donard_region_list(struct donard_context *ctx, struct donard_region_list **list);

/* Bits: what to find out about each region beyond its cheap files in sysfs. */
#define DONARD_REGION_NODE	(1U << 0)	/* opens its node, for granule_bytes and bus_address */
#define DONARD_REGION_HOLDERS	(1U << 1)	/* has the kernel look at all memory that is owned */
#define DONARD_REGION_UNROUTED	(1U << 2)	/* has the kernel check each function; a function's reset may fail meanwhile */

/**
 * donard_region_list_parts() - list every region, but find out only some things
 * @ctx: the context
 * @parts: any of DONARD_REGION_*; 0 opens no region and looks at no memory
 * @list: set to the list, which donard_region_list_free() frees
 *
 * The call is for programs that list often.  donard_region_list() asks for all parts.
 *
 * Returns how many there are, which may be 0; -EOPNOTSUPP without the module;
 * -EINVAL for unknown parts; -EMFILE, -ENFILE, -ENOMEM.
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
 * @name: "p2pmem0", "/dev/p2pmem0" or a link below /dev/p2pmem (donard-regions.conf(5)); every call that takes a region's name
 *	accepts each
 * @list: set to the list, which donard_region_list_free() frees
 *
 * The record has all parts, as one of donard_region_list() has.
 *
 * Returns 0; -ENODEV when there is no such region; -EINVAL when @name cannot name a region;
 * -EOPNOTSUPP without the module; -EMFILE, -ENFILE, -ENOMEM.
 */
int donard_region_find(struct donard_context *ctx, const char *name, struct donard_region_list **list);

/**
 * struct donard_region_add - what to offer
 * @size: sizeof(struct donard_region_add)
 * @bdf: of the function, "0000:03:00.0"
 * @kind: which kind of that function's memory
 * @bar: the BAR's number for DONARD_KIND_PCI_BAR; for DONARD_KIND_GPU_NVIDIA only if the memory is not behind the largest
 *	prefetchable BAR; else 0
 * @page_type: 0 means p2pdma if the function's own driver already has struct pages for the memory (a CMB that the nvme driver
 *	publishes, a GPU with static BAR1); such memory can have no other type.  For other memory, 0 means generic if each NVMe
 *	and RDMA function of the machine has a route, else p2pdma if that is available.  pmem makes persistent memory a pmem
 *	device
 * @memtype: 0 means the default of the kind
 * @offset_bytes, @length_bytes: part of the BAR, or of the controller's CMB or PMR; the offset counts from where that begins,
 *	and length 0 is all that follows it.  A CMB that the nvme driver publishes takes no offset, and length 0 is what is free in
 *	one piece
 * @note: NULL, or a buffer of DONARD_REASON_BYTES for a sentence that says which functions
 *	decided the page type, or have no route although you asked for that type
 * @folio_bytes: 0 or 4096 for struct pages of 4 KiB each.  2 MiB or 1 GiB saves most of the
 *	memory that struct pages take and most of the time to map and pin; but a program that
 *	uses part of a folio takes all of it, and only programs with CAP_SYS_RAWIO can map
 *	1 GiB at once
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
 * For DONARD_KIND_PCI_BAR the call first binds the function to the driver p2pmem, and
 * undoes that if the kernel refuses the region; the function's driver_override in sysfs is then what it was.
 *
 * Returns N; -ENODEV when there is no such function, when it does not answer, or when the module's control device has no node;
 * -ENXIO when the range goes past the end of the memory; -EINVAL, -E2BIG when @what describes no memory;
 * -EBUSY when another driver owns the function or has claimed a part of the range, when another program has enabled a CMB, or
 * somebody still holds the memory from before its device vanished; -EEXIST when that memory is a region already, or its own
 * driver has struct pages for it that p2pmem cannot use;
 * -ENOSPC when less of a CMB is free than was asked for, and when there are 256 regions;
 * -EACCES unless the caller is root; -EPERM while the kernel is locked down; -EROFS for DONARD_KIND_PCI_BAR where
 * sysfs is read-only; -EHOSTUNREACH when no page type was named and none is safe; -EOPNOTSUPP without the module, and
 * when the kernel or the device cannot do it; -EUCLEAN when the kernel can offer that memory only after the next boot;
 * -EIO when the device or a driver of the kernel failed; -EINTR after a signal; -ENOMEM, -EMFILE, -ENFILE.
 */
int donard_region_add(struct donard_context *ctx, const struct donard_region_add *what);

/* Called about once a second while a removal waits, with a sentence that says for whom. */
typedef void (*donard_wait_fn)(void *user, const char *text);

#define DONARD_REMOVE_IF_IDLE	1U	/* -EBUSY instead of revoking mappings */

/**
 * donard_region_remove() - take a region away; blocks until nothing uses it
 * @ctx: the context
 * @name: of the region
 * @flags: DONARD_REMOVE_IF_IDLE, or 0
 * @wait_fn: may be NULL; called on the calling thread, where SIGINT, SIGTERM and SIGHUP are blocked meanwhile; a program that
 *	@wait_fn starts inherits that, unless @wait_fn gives it another signal mask
 * @user: for @wait_fn
 *
 * The call unbinds a pci-bar function from the driver p2pmem when it removes the function's last region, and clears
 * driver_override, even if that was set before the region was added.
 * A region that ends by itself, after -EINTR or a quarantine, leaves its function bound: unbind it then as the text says.
 *
 * Returns 0; -EBUSY with DONARD_REMOVE_IF_IDLE when the region is in use or being removed
 * already, for a pmem device whose disk is in use, and when the device is gone and the region
 * stays in quarantine until its last holder lets go; -EINTR after a signal (the removal then
 * goes on by itself, or is done); -ENODEV when there is no such region, or the module's control device has no node;
 * -EINVAL when @name cannot name a region, and for unknown @flags; -EOPNOTSUPP without the module;
 * -EACCES unless the caller is root; -EPERM while the kernel is locked down; -EROFS where sysfs is read-only (the region is
 * removed, and its function stays bound); -EAGAIN without a thread to be had; -EMFILE, -ENFILE, -ENOMEM.
 */
int donard_region_remove(struct donard_context *ctx, const char *name, unsigned int flags,
			 donard_wait_fn wait_fn, void *user);

/**
 * donard_region_set_page_type() - change the page type of an idle region
 * @ctx: the context
 * @name: of the region
 * @page_type: DONARD_PAGES_GENERIC or DONARD_PAGES_P2PDMA
 *
 * If the kernel cannot make the new pages, the region has its old ones again.  If it cannot make these either, the region has
 * none: its state is DONARD_STATE_DRAINING although nobody removes it, and nobody can open it until the call succeeds.
 *
 * Returns 0; -EBUSY unless the region is idle; -ENOMEM when the kernel has too little memory for the new pages;
 * -EOPNOTSUPP when the kernel or the kind of region lacks that page type, for DONARD_PAGES_PMEM and for a region that is a pmem
 * device (a region becomes one, or ceases to be one, only when it is added), and without the module;
 * -ENODEV when there is no such region; -EINVAL when @name cannot name a region, and for any other @page_type;
 * -EACCES unless the caller is root; -EPERM while the kernel is locked down; -EROFS where sysfs is read-only; -EUCLEAN when the
 * kernel can make these pages only after the next boot; -EMFILE, -ENFILE.
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
 * @type: as in struct donard_client_info
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
 * Returns how many there are, which may be 0; -EMFILE, -ENFILE, -ENOMEM.
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
	DONARD_ROUTE_SWITCH,	/* turns around at a PCIe switch */
	DONARD_ROUTE_BRIDGE,	/* through a host bridge */
	DONARD_ROUTE_IOMMU,	/* translated by the root complex */
	DONARD_ROUTE_BOUNCED,	/* through DRAM */
	DONARD_ROUTE_CPU,	/* the CPU loads and stores: region to region */
	DONARD_ROUTE_DRAM,	/* host memory, which every device reaches */
};

/**
 * donard_route_text() - the word for a route
 * @route: as in struct donard_route or struct donard_copy_result
 *
 * Returns "none", "switch", "bridge", "iommu", "bounced", "cpu", "dram", or "unknown".
 */
const char *donard_route_text(enum donard_route_type route);

/**
 * struct donard_route - a prediction: how a client reaches a region
 * @size: in: sizeof(struct donard_route)
 * @route: the predicted route
 * @distance: steps between the two, up and down the tree of PCI functions: 0 for the client's own memory, 4 below one switch
 * @unlisted_bridge: the path crosses a host bridge that is on no allow-list
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
 * region or the function does not exist; -EBUSY while the function is being
 * bound, unbound or reset; -EINVAL for a malformed name; -EOPNOTSUPP without the module;
 * -EACCES, -EPERM when this user or this container may not open the region's node, as for users outside of its group;
 * -EMFILE, -ENFILE, -ENOMEM.
 */
int donard_route_probe(struct donard_context *ctx, const char *region, const char *client_bdf,
		       struct donard_route *route);

/* Whether copies and queues use a route. */
enum donard_verdict {
	DONARD_VERDICT_NO,		/* refused */
	DONARD_VERDICT_UNLISTED,	/* the host bridge may drop the data: refused unless ALLOW_UNLISTED is passed */
	DONARD_VERDICT_YES,		/* used, once the first request has proved it */
};

/**
 * donard_route_verdict() - whether copies and queues use a route
 * @route: as donard_route_probe() filled it in
 *
 * Returns the verdict.
 */
enum donard_verdict donard_route_verdict(const struct donard_route *route);

#ifdef __cplusplus
}
#endif

/* A program that only copies needs no other header. */
#include "copy.h"

#endif /* DONARD_H */
