/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What regions and drives have done so far, as the kernel counts it.  The conventions
 * are those of donard.h.
 *
 * Counts start at 0 and only grow while the region or the drive exists, so the difference
 * between two readings is what happened in between.  The structures below name the exceptions.
 */
#ifndef DONARD_COUNTS_H
#define DONARD_COUNTS_H

#include "donard.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct donard_region_counts - what happened to a region since it was added
 * @size: in: sizeof(struct donard_region_counts)
 * @maps: mappings made
 * @faults: page faults of mappings
 * @pins: io_uring buffers that were registered without a mapping, and mappings of dma-bufs
 *	by devices.  It does not count what the kernel pins of a mapping, for O_DIRECT for
 *	instance, because the kernel does not tell the module of it
 * @routes: how often the module judged the route of a function, for donard_route_probe() and
 *	other calls that ask for a route, and for importers of dma-bufs
 * @read_bytes: what the CPU read from the region, by read() and by copies between regions
 * @written_bytes: what the CPU wrote into the region, by write() and by copies between regions
 * @taken_bytes: all memory that open files have ever taken, including what they gave back
 * @peak_bytes: the most memory that was owned at one time; a difference between two readings
 *	means nothing.  The memory of a closed file stays owned until nobody has it pinned
 *
 * The region does not count what devices move: see donard_drive_counts().
 */
struct donard_region_counts {
	size_t size;
	uint64_t maps;
	uint64_t faults;
	uint64_t pins;
	uint64_t routes;
	uint64_t read_bytes;
	uint64_t written_bytes;
	uint64_t taken_bytes;
	uint64_t peak_bytes;
};

/**
 * donard_region_counts() - what happened to a region
 * @ctx: the context
 * @region: "p2pmem0"
 * @counts: filled in
 *
 * Returns 0; -ENODEV when there is no such region; -EOPNOTSUPP without the module, or
 * with the module of an older release; -EINVAL; -EMFILE, -ENFILE.
 */
int donard_region_counts(struct donard_context *ctx, const char *region,
			 struct donard_region_counts *counts);

/**
 * struct donard_drive_counts - what the block layer counts for a drive
 * @size: in: sizeof(struct donard_drive_counts)
 * @reads: read commands that have ended
 * @writes: write commands that have ended
 * @read_bytes: bytes read, into a region or into DRAM
 * @written_bytes: bytes written, from a region or from DRAM
 * @in_flight: how many commands are in flight now; a difference between two readings means nothing
 *
 * NVMe passthrough is counted only if queue/iostats_passthrough is 1 (Linux 6.13 and later).
 * While queue/iostats is 0, nothing but @in_flight is counted.  Before Linux 6.4 the kernel counts
 * nothing for a namespace with several paths (native NVMe multipath); the call then adds up the
 * counts of its paths, and the sums fall when a path goes away.
 */
struct donard_drive_counts {
	size_t size;
	uint64_t reads;
	uint64_t writes;
	uint64_t read_bytes;
	uint64_t written_bytes;
	uint64_t in_flight;
};

/**
 * donard_drive_counts() - what a drive has done
 * @ctx: the context
 * @drive: "nvme0n1", as in struct donard_client_info, or "/dev/nvme0n1", or a link to that
 * @counts: filled in
 *
 * Returns 0; -ENODEV when there is no such drive; -ENOENT when there is no such path; -EINVAL;
 * -EMFILE, -ENFILE, -ENOMEM.
 */
int donard_drive_counts(struct donard_context *ctx, const char *drive,
			struct donard_drive_counts *counts);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_COUNTS_H */
