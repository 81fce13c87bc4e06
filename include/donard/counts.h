/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What regions and drives have done so far, as the kernel counts it.  The conventions
 * are those of donard.h.
 *
 * Counts start at 0 and only grow as long as the region or the drive is there, so the
 * difference of two counts is what happened in between.
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
 * @pins: buffers of io_uring that were registered without a mapping, and mappings of
 *	dma-bufs by devices.  It leaves out what the kernel pins of a mapping, for O_DIRECT
 *	for instance, since nobody tells the module
 * @routes: routes of functions that were judged
 * @read_bytes: what the CPU read out of the region, by read() and by copies between regions
 * @written_bytes: likewise, into the region
 * @taken_bytes: memory that was taken, whether or not it has come back
 * @peak_bytes: the most that was owned at a time; differences of it mean nothing.  Memory of a
 *	closed file is owned until nobody has it pinned
 *
 * What devices move is counted by them: donard_drive_counts().
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
 * with the module of an older release; -EINVAL.
 */
int donard_region_counts(struct donard_context *ctx, const char *region,
			 struct donard_region_counts *counts);

/**
 * struct donard_drive_counts - what the block layer counts of a drive
 * @size: in: sizeof(struct donard_drive_counts)
 * @reads: commands that ended
 * @writes: likewise
 * @read_bytes: into a region or into DRAM
 * @written_bytes: likewise
 * @in_flight: how many are in flight now; differences of it mean nothing
 *
 * NVMe passthrough counts only where queue/iostats_passthrough is 1 (Linux 6.13 and later).
 * All but @in_flight stay 0 while queue/iostats is 0.  A namespace with several paths (native
 * NVMe multipath) counts nothing itself before Linux 6.4; its counts are the sums of its paths.
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
 * Returns 0; -ENODEV when there is no such drive; -ENOENT when there is no such path; -EINVAL.
 */
int donard_drive_counts(struct donard_context *ctx, const char *drive,
			struct donard_drive_counts *counts);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_COUNTS_H */
