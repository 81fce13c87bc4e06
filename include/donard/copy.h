/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies between drives, files, regions and GPUs, in one call.
 *
 * Conventions and errno values as in donard.h, which includes this file.
 */
#ifndef DONARD_COPY_H
#define DONARD_COPY_H

#include "donard.h"

#ifdef __cplusplus
extern "C" {
#endif

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
#define DONARD_COPY_FORCE_BOUNCE	(1U << 3)	/* never peer-to-peer: a baseline; without ALLOW_BOUNCE */
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
 * @DONARD_BOUNCE_CHANGED: what LVM, md or multipath makes the drive of changed meanwhile,
 *	nobody knows by which way the bytes went, and all of them are counted
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
	DONARD_BOUNCE_CHANGED,
};

/**
 * donard_bounce_evidence_text() - the word for what is known of a bounce
 * @evidence: of struct donard_copy_result
 *
 * Returns "stated", "watched", "certain", "at-most", "changed", or "unknown".
 */
const char *donard_bounce_evidence_text(enum donard_bounce_evidence evidence);

/**
 * struct donard_copy_options - zero means the default
 * @size: sizeof(struct donard_copy_options)
 * @length_bytes: default: to the end of the source
 * @src_offset_bytes, @dst_offset_bytes: where to start
 * @block_bytes: size of one request, default 1 MiB.  A request that is longer than a
 *	command of the drive becomes several
 * @queue_depth: requests of @block_bytes in flight, default 16
 * @flags: DONARD_COPY_*
 * @via: the region that a drive-to-drive copy stages its data in; NULL: the best one
 * @progress_fn: may be NULL
 * @progress_user: handed to @progress_fn
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

#define DONARD_COPY_LEGS	64

/**
 * struct donard_leg - a drive or partition that a device of LVM or md is made of
 * @name: "nvme0n1p2"
 * @under: the device that it is a leg of: "md0"
 * @route: the worst of its controllers'
 * @route_evidence: proven: a block of this leg was moved in the direction of the copy
 *	and compared
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
 * @bytes: from the start of the range, without a gap, that were copied
 * @bounced_bytes: of those, how many went through DRAM.  Where a file has to end within
 *	a block, the file system itself completes the block there, and the partial last
 *	block of a copy into persistent memory is stored by the CPU, which overwrites
 *	nothing behind it: the last bytes, fewer than a block, then count although the
 *	route is direct
 * @bounced_evidence: how that is known
 * @kept_bytes: of a file that was written, how many lie behind the copy, unchanged.  None when
 *	neither length_bytes nor dst_offset_bytes was given: the file then ends where the copy ends
 * @seconds: of moving the bytes and making them durable: after the checks and the proof, before the verification
 * @route: DONARD_ROUTE_NONE when nothing was copied, as when the source is empty
 * @route_evidence: predicted, or proven: a probe was moved and compared, by each leg that has bytes of the copy
 * @leg_count: how many of @legs are filled in
 * @legs: of the source and then of the destination, where these are made of other devices, as by LVM or md
 * @block_bytes, @queue_depth: the values that were used.  Blocks are smaller than asked
 *	for, and more are in flight, where one command of the drive holds less; fewer
 *	are in flight where memory or the copy is too small
 * @verified: every byte was read again and compared
 * @fixed_buffers: the memory was registered with io_uring
 * @durable: the data survives a power cut: it was flushed, and nothing on its way was told to send no flush
 * @durable_reason: why it is not durable, or ""
 * @passthrough: drives were read and written with NVMe commands that donard built
 * @via: the region that the data was staged in, or ""
 * @bridge: the bridge that decides about the route, or ""
 * @aio: the requests went by Linux AIO, because the kernel refuses io_uring to this process: no memory was registered
 * @src_gpu, @dst_gpu: the PCI address of the GPU whose memory the source or the destination was, or ""
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
};

/**
 * donard_copy() - copy between a drive, a file on a drive, a region, and a GPU
 * @ctx: the context
 * @src, @dst: "/dev/nvme0n1", "/mnt/file", "p2pmem0", "p2pmem0+64M", "gpu:0", "gpu:0+64M"
 * @options: NULL for the defaults
 * @result: filled in, after a failure too
 *
 * Nothing is written if a check refuses.  "gpu:N" is the GPU that CUDA numbers N, and "gpu:0000:03:00.0"
 * the one at that address: its memory is allocated and pinned for this copy
 * (donard_memory_alloc_cuda()), then freed.  As @src, or if it is to be verified, it is first filled with
 * a pattern that no other copy has; as @src it needs options.length_bytes.  VERIFY reads it by cuMemcpyDtoH().
 *
 * Returns 0; -EBADMSG when data did not arrive or verification failed;
 * -EHOSTUNREACH without a route; -ECANCELED when stopped; -EINVAL, -E2BIG for
 * malformed arguments; -EOPNOTSUPP for what this machine cannot do; -EACCES,
 * -EBUSY, -ENODEV, -ENOSPC, -ENXIO, -EXDEV for either side; -EIO when a device failed.
 */
int donard_copy(struct donard_context *ctx, const char *src, const char *dst,
		const struct donard_copy_options *options, struct donard_copy_result *result);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_COPY_H */
