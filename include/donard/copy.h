/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies between drives, files, regions and GPUs, in one call: of names (donard_copy()), or of memories and files that
 * the program has (donard_copy_between()).
 *
 * Conventions and errno values are those of donard.h, which includes this file.
 */
#ifndef DONARD_COPY_H
#define DONARD_COPY_H

#include "donard.h"

#ifdef __cplusplus
extern "C" {
#endif

/** enum donard_phase - what a copy is doing */
enum donard_phase {
	DONARD_PHASE_COPY,	/* moving the data */
	DONARD_PHASE_FLUSH,	/* making the data durable: reported once, and cannot be stopped */
	DONARD_PHASE_VERIFY,	/* reading the data again and comparing it */
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
 * call, which then ends when the requests in flight have ended.  When all has been moved, the call still makes it durable,
 * and fails only if it was to verify and has not done so.  Until it ends, the function may be called again.
 */
typedef int (*donard_progress_fn)(void *user, enum donard_phase phase, uint64_t done_bytes,
				  uint64_t total_bytes);

/**
 * struct donard_payload - DRAM that the bytes of a call go through; an array's element, so it never grows
 * @address: where it begins, in this process
 * @length_bytes: how long it is
 */
struct donard_payload {
	const void *address;
	uint64_t length_bytes;
};

/**
 * struct donard_interval - the part of a call that begin_fn and end_fn surround
 * @size: of this record, as the library filled it
 * @ctx: the context of the call
 * @payload: memory that the library allocated in DRAM and that the bytes go through; NULL if there
 *	is none, as in a copy without a bounce
 * @payload_count: how many of them
 */
struct donard_interval {
	size_t size;
	struct donard_context *ctx;
	const struct donard_payload *payload;
	size_t payload_count;
};

/*
 * A copy calls begin_fn right before, and end_fn right after, the part that its options name.  Both
 * run in the thread that made the call, and neither counts in the time of the result.  Both may make other calls with
 * interval->ctx.  The interval and its payload live until end_fn returns.  Neither may touch the files that take part: what a
 * copy finds in the page cache afterwards counts as bounced.
 *
 * The library calls begin_fn once, when all is checked, proven and ready; never in a call that fails before that, or that has
 * nothing to move.  begin_fn returns 0 to go on.  If it returns a negative errno, the call fails with that and moves
 * nothing; a positive number counts as -ECANCELED, and the text is then "stopped".
 *
 * The library calls end_fn exactly once if begin_fn returned 0 or is NULL, whatever came of the work: @rc is 0 or what the
 * work failed with.  If the work failed, the call returns that with its text, whatever end_fn returns.  If it did not, a
 * nonzero result of end_fn makes the call fail as one of begin_fn does, although all bytes were moved.
 *
 * A failure of either has the text of donard_fail(), or of the last other call with interval->ctx that failed inside; without
 * a text the library says which function failed.
 */
typedef int (*donard_begin_fn)(void *user, const struct donard_interval *interval);
typedef int (*donard_end_fn)(void *user, const struct donard_interval *interval, int rc);

#define DONARD_COPY_VERIFY		(1U << 0)	/* re-read both sides, compare */
#define DONARD_COPY_ALLOW_BOUNCE	(1U << 1)	/* go through DRAM if there is no route */
#define DONARD_COPY_ALLOW_UNLISTED	(1U << 2)	/* try a host bridge that is on no list */
#define DONARD_COPY_FORCE_BOUNCE	(1U << 3)	/* always through DRAM; not with ALLOW_BOUNCE or between two memories */
#define DONARD_COPY_PASSTHROUGH		(1U << 4)	/* NVMe commands that bypass the block layer */
#define DONARD_COPY_KEEP_REST		(1U << 5)	/* a destination file keeps what lies behind the copy */

/*
 * DONARD_COPY_PASSTHROUGH works only for whole namespaces and their partitions,
 * through /dev/ngXnY; for anything else the call fails with -EOPNOTSUPP, and with -EINVAL
 * between two memories.  I/O schedulers, cgroup limits and the kernel's statistics do not see
 * these requests.
 *
 * Where length_bytes and dst_offset_bytes are both 0, a copy into an existing file cuts the file at the end of the copy, as
 * cp does.  DONARD_COPY_KEEP_REST keeps what lies behind, for instance for a program that fills a file range by range and
 * starts at 0.
 */

enum donard_evidence {
	DONARD_EVIDENCE_PREDICTED,
	DONARD_EVIDENCE_PROVEN,
};

/**
 * donard_evidence_text() - the word for the evidence of a route
 * @evidence: as in struct donard_copy_result
 *
 * Returns "predicted", "proven", or "unknown".
 */
const char *donard_evidence_text(enum donard_evidence evidence);

/**
 * enum donard_bounce_evidence - how the library knows how much went through DRAM
 * @DONARD_BOUNCE_UNKNOWN: it is not known, for instance after a copy that failed
 * @DONARD_BOUNCE_STATED: the file system says that it reads and writes the file
 *	directly; the copy could not watch the file's page cache, for instance because the
 *	user may read the file but not write it.  Or the copy could not see in the end whether the devices below a drive had
 *	changed, for want of descriptors or memory
 * @DONARD_BOUNCE_WATCHED: a direct read left nothing in the page cache; after the copy the
 *	cache held no more of what was read from a file than before, and nothing of what was
 *	written to one.  A drive or partition itself has no page cache in the way of direct I/O
 * @DONARD_BOUNCE_CERTAIN: donard bounced the bytes itself, or no drive took part
 * @DONARD_BOUNCE_AT_MOST: another program or a bounce brought pages of the range into the
 *	page cache during the copy; the count has all of these pages.  Or the file system stopped
 *	doing direct I/O meanwhile; the count has all bytes, and the call fails without ALLOW_BOUNCE
 * @DONARD_BOUNCE_CHANGED: the devices below the drive (LVM, md, multipath) changed during the
 *	copy; nobody knows which way the bytes went, and the count has all of them
 *
 * One kind of bounce is never counted.  While another program writes to the very pages of
 * the destination through the page cache, the kernel may write the copy's data through
 * the cache too, and drop the pages: on drives, partitions and ext4.  Do not write to a
 * destination during a copy.
 */
enum donard_bounce_evidence {
	DONARD_BOUNCE_UNKNOWN,
	DONARD_BOUNCE_STATED,
	DONARD_BOUNCE_WATCHED,
	DONARD_BOUNCE_CERTAIN,
	DONARD_BOUNCE_AT_MOST,
	DONARD_BOUNCE_CHANGED,
};

/**
 * donard_bounce_evidence_text() - the word for how a bounce is known
 * @evidence: as in struct donard_copy_result
 *
 * Returns "stated", "watched", "certain", "at-most", "changed", or "unknown".
 */
const char *donard_bounce_evidence_text(enum donard_bounce_evidence evidence);

/**
 * struct donard_copy_options - zero means the default
 * @size: sizeof(struct donard_copy_options)
 * @length_bytes: default: up to the end of the source
 * @src_offset_bytes, @dst_offset_bytes: where to start in the source and in the destination
 * @block_bytes: size of one request, at most 1 GiB, a multiple of 512 and of the block of each end's drive or file system;
 *	default 1 MiB.  A request that is longer than a command of the drive becomes several commands.  Between two memories
 *	the CPU moves at most 1 MiB at a time
 * @queue_depth: how many requests of @block_bytes are in flight, at most 4096; default 16
 * @flags: DONARD_COPY_*
 * @via: the region in which a copy from drive to drive stages its data; NULL: the best one.  Only for such a copy, and not
 *	with FORCE_BOUNCE
 * @progress_fn: may be NULL
 * @progress_user: handed to @progress_fn
 * @begin_fn, @end_fn: called right before and right after the @seconds of the result, for instance by a meter
 *	(donard/meter.h); each may be NULL
 * @interval_user: handed to both
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
	donard_begin_fn begin_fn;
	donard_end_fn end_fn;
	void *interval_user;
};

#define DONARD_COPY_LEGS	64

/**
 * struct donard_leg - a drive or partition that a device of LVM or md is made of
 * @name: "nvme0n1p2"
 * @under: the device that it is a leg of: "md0"
 * @route: the worst of the routes of its controllers
 * @route_evidence: proven if a block of this leg was moved in the direction of the copy, or if the bytes bounced
 *	and compared equal
 */
struct donard_leg {
	char name[48];
	char under[48];
	enum donard_route_type route;
	enum donard_evidence route_evidence;
};

/**
 * struct donard_copy_result - what happened; valid after a failure too
 * @size: in: sizeof(struct donard_copy_result)
 * @bytes: how many bytes were copied, from the start of the range and without a gap; after a failure see @overwritten_bytes, too.
 *	0 if the copy finds that the device of one of its regions was reset during the copy
 * @bounced_bytes: how many of those went through DRAM.  If the copy ends within a block, the bytes of that
 *	last block may count although the route is direct.  They go through DRAM to a file, because another program
 *	may write next to them; to persistent memory, because a power cut could lose what follows them; and to a
 *	drive, if the region has no spare block in which to merge them with the drive's block, or the memory came
 *	as a dma-buf
 * @bounced_evidence: how that is known
 * @kept_bytes: how many bytes of the destination file lie after the copy, unchanged.  It is 0 if
 *	length_bytes and dst_offset_bytes were 0, without KEEP_REST: the file then ends where the copy ends, unless it is the
 *	source as well
 * @seconds: how long it took to move the bytes and to make them durable; the checks and the proof before
 *	that and the verification after it do not count
 * @route: DONARD_ROUTE_NONE if nothing was copied, for instance because the source is empty
 * @route_evidence: proven if each leg that has bytes of the copy moved a probe that compared equal, or if the CPU moved the
 *	bytes; else predicted
 * @leg_count: how many of @legs are filled in
 * @legs: the legs of the source, then those of the destination, if LVM or md builds that end from other
 *	devices
 * @block_bytes, @queue_depth: the values that were used.  If one command of the drive holds less than was
 *	asked for, blocks are smaller and more of them are in flight; if memory or the copy is too small,
 *	fewer are in flight.  Between two memories blocks have at most 1 MiB.  Behind the end of a file that grows there is one
 *	at a time
 * @verified: every byte was read again and compared equal
 * @fixed_buffers: the memory was registered with io_uring
 * @durable: the data survives a power cut: it was flushed, no file system or device on its way is set to skip
 *	flushes, the file has a name, and the devices below the destination stayed the same, as far as this user may
 *	see them
 * @durable_reason: why the data is not durable, or ""
 * @passthrough: drives were read and written with NVMe commands that donard built
 * @via: the region in which the data was staged, or ""
 * @bridge: the bridge that decides the route, or ""
 * @aio: the copy used Linux AIO, because the kernel refuses io_uring to this process: no memory was registered
 * @src_gpu, @dst_gpu: the PCI address of the GPU whose memory is the source or the destination, or ""
 * @overwritten_bytes: after a failure, at most this many bytes of the destination that @bytes does not count may have been
 *	overwritten, because requests end in any order: those after @bytes, or the last of the range if overlapping memory is
 *	copied from its end.  The text of the failure says so, too.  0 for a new file that is not kept
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
	uint32_t leg_count;
	char via[32];
	char bridge[DONARD_BDF_BYTES];
	struct donard_leg legs[DONARD_COPY_LEGS];
	char src_gpu[DONARD_BDF_BYTES], dst_gpu[DONARD_BDF_BYTES];
	bool aio;
	bool reserved[7];
	char durable_reason[DONARD_REASON_BYTES];
	uint64_t overwritten_bytes;
};

/**
 * donard_copy() - copy between a drive, a file on a drive, a region, and a GPU
 * @ctx: the context
 * @src, @dst: "/dev/nvme0n1", "/mnt/file", "p2pmem0", "gpu:0"; @options has the offsets
 * @options: NULL for the defaults
 * @result: filled in, after a failure too
 *
 * The call writes nothing if a check refuses the copy.  "gpu:N" is the GPU that CUDA numbers N, and
 * "gpu:0000:03:00.0" the one at that address.  The call allocates and pins memory of that GPU for this copy
 * (donard_memory_alloc_cuda()), and then frees it.  If a GPU is @src, or the copy is to be verified, the call
 * first fills that memory with a pattern that no other copy has; a GPU as @src needs options.length_bytes.
 * VERIFY reads the memory with cuMemcpyDtoH().
 *
 * At the end the call checks that a destination file still has all bytes, and that @dst still leads to it; if another
 * program has changed that, the call fails with -EBUSY.  So do not change the working directory during a call with a
 * relative path.  The check sees only which whole blocks of the file system are missing; VERIFY alone finds a loss of less than
 * a block.  A new file gets its name once it is complete.  From then on another program may rename or remove it, even
 * before it is verified: the call still succeeds, and result.durable is false if the file has no name any more.
 *
 * Returns 0; -EBADMSG when data did not arrive or verification failed;
 * -EHOSTUNREACH without a route; -ECANCELED when progress_fn stopped it; what begin_fn or end_fn failed with; -EINVAL, -E2BIG for
 * malformed arguments; -EOPNOTSUPP for what this machine cannot do; -EACCES, -EBUSY,
 * -EMEDIUMTYPE, -ENODEV, -ENOENT, -ENOSPC, -ENOTBLK, -ENXIO, -EROFS, -EXDEV for either side;
 * -EIO when a device failed; -ENOMEM, -EMFILE for want of memory or descriptors; other errnos as the kernel returned them
 * for a file.
 */
int donard_copy(struct donard_context *ctx, const char *src, const char *dst,
		const struct donard_copy_options *options, struct donard_copy_result *result);

struct donard_memory;
struct donard_file;

/**
 * struct donard_copy_end - what a copy reads or writes
 * @size: sizeof(struct donard_copy_end)
 * @memory: memory of a region or a GPU (memory.h), or NULL
 * @file: a drive, a partition or a regular file (file.h), or NULL.  Set exactly one of the two
 */
struct donard_copy_end {
	size_t size;
	struct donard_memory *memory;
	struct donard_file *file;
};

/**
 * donard_copy_between() - copy between memories and files that the program has
 * @source, @destination: a memory or a file each, of the same context, whose donard_error() tells of a failure
 * @options: NULL for the defaults.  The offsets are in the memory or the file; the length is by default up to the end of
 *	@source
 * @result: filled in, after a failure too
 *
 * The call checks, proves, moves and reports as donard_copy() does.  The program keeps both handles, and uses them in no
 * other thread meanwhile.  The call holds them as requests do: if one of the functions in @options closes them, they last
 * until the call returns.  Both ends may be the same file, or the same memory, if the ranges do not overlap.  Two ranges
 * of one memory may overlap if it is one piece of its region (info.contiguous_bytes) and VERIFY is not set.
 *
 * In a memory nothing but the range changes.  If the copy ends within a block, the CPU stores that part, and it counts
 * as bounced.  The address of the range's first byte must be a multiple of the file's info.memory_align_bytes; offsets in
 * files are multiples of info.align_bytes of both files.  The call begins with donard_memory_sync() of each memory, so that devices
 * see what the program has stored.  It fails with -EIO, and moves nothing, if a device was reset since the last sync.
 * VERIFY reads memory of donard_memory_alloc_cuda() with cuMemcpyDtoH(), and any other as donard_memory_read() does.
 * The route from memory of a GPU to a drive stays predicted: the program's GPU memory has no spare blocks in which to prove it.
 *
 * A file must be open for writing to be @destination, with no requests in queues.  The file itself is overwritten; no new file
 * replaces it at the end.  So one that DONARD_FILE_CREATE made has its name before it is complete, and is as long as what was
 * copied if the copy fails.
 *
 * Returns as donard_copy(); -EINVAL for an end that is neither or both (without a text or a result if no handle was passed
 * at all), and for a destination of another context than the source; -EROFS for a file
 * that was opened for reading, and memory of a read-only dma-buf; -EBUSY for a destination with requests in queues or
 * another copy; -EOPNOTSUPP for plain
 * memory and a dma-buf of an exporter other than p2pmem, and between two memories of which one came as a dma-buf; -ENODEV
 * when the region of a memory was taken away; -EHOSTUNREACH when a file's device is no longer made of the drives
 * that it was opened with; -ENODEV and -EIO when its drive is gone or was formatted since then.
 */
int donard_copy_between(const struct donard_copy_end *source, const struct donard_copy_end *destination,
			const struct donard_copy_options *options, struct donard_copy_result *result);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_COPY_H */
