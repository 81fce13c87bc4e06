/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that devices read and write: a range of a region, or plain DRAM, behind
 * one handle.
 *
 * Conventions and errno values as in donard.h.  A memory belongs to the context
 * that it was made with, and to one thread at a time; several threads that
 * share one make a memory each of one descriptor (donard_memory_adopt()).
 *
 * Nobody else has the bytes of a memory: whoever is to share them is given the
 * descriptor (info.fd), over a UNIX socket or by fork(), or a dma-buf.
 *
 * The end of a region comes as an event: info.fd becomes readable for POLLPRI, and
 * donard_memory_state() says what happened.  The library's own accesses then
 * fail with -ENODEV.  Loads and stores of the program itself through info.address
 * raise SIGBUS from then on, as those behind the end of a file do: a program
 * that cannot stop in time reads and writes by donard_memory_read() and _write(),
 * which never do.  None of these calls installs a signal handler; donard_copy() does
 * for its time (donard.h).
 */
#ifndef DONARD_MEMORY_H
#define DONARD_MEMORY_H

#include "donard.h"

#ifdef __cplusplus
extern "C" {
#endif

struct donard_memory;

/**
 * donard_memory_dram() - plain memory of the host
 * @ctx: the context
 * @length_bytes: more than 0
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * The baseline to compare with: whole pages, zeroed, in DRAM.
 *
 * Returns 0; -ENOMEM; -EINVAL for no length.
 */
int donard_memory_dram(struct donard_context *ctx, uint64_t length_bytes,
		       struct donard_memory **memory);

/**
 * donard_memory_alloc() - free memory of a region
 * @ctx: the context
 * @region: "p2pmem0"; a volatile one
 * @length_bytes: more than 0
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * It reads as zero, and may lie in several pieces of the region.
 *
 * Returns 0; -ENOSPC when less is free; -EOPNOTSUPP for a persistent region, of
 * which ranges are claimed; -ENODEV, -EACCES, -EINVAL, -ENOMEM.
 */
int donard_memory_alloc(struct donard_context *ctx, const char *region, uint64_t length_bytes,
			struct donard_memory **memory);

/**
 * donard_memory_claim() - one range of a region, at its place
 * @ctx: the context
 * @region: "p2pmem0"
 * @offset_bytes: where in the region
 * @length_bytes: 0 is to the end of the region
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * The bytes are what they were if the region is persistent, or if they belonged to
 * the same user; else they read as zero.  What shares a granule with the range is
 * owned with it.
 *
 * Returns 0; -EBUSY when another owns part of it; -ENXIO past the region's end;
 * -ENODEV, -EACCES, -EINVAL, -ENOMEM.
 */
int donard_memory_claim(struct donard_context *ctx, const char *region, uint64_t offset_bytes,
			uint64_t length_bytes, struct donard_memory **memory);

/**
 * donard_memory_adopt() - memory of an open file of a region that somebody else made
 * @ctx: the context
 * @fd: of /dev/p2pmemN, as info.fd of another memory; it is duplicated
 * @file_offset_bytes: info.file_offset_bytes of that memory
 * @length_bytes: more than 0
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * Both have the same bytes, which last as long as either.
 *
 * Returns 0; -EINVAL when @fd is no region's; -ENXIO when that file owns no such
 * range; -ENODEV, -EACCES, -ENOMEM.
 */
int donard_memory_adopt(struct donard_context *ctx, int fd, uint64_t file_offset_bytes,
			uint64_t length_bytes, struct donard_memory **memory);

/**
 * donard_memory_free() - give memory back
 * @memory: NULL is fine; nothing that was made of it is in use any more
 *
 * Other processes that adopted it, and importers of dma-bufs, keep it.
 */
void donard_memory_free(struct donard_memory *memory);

enum donard_memory_kind {
	DONARD_MEMORY_UNKNOWN,
	DONARD_MEMORY_DRAM,
	DONARD_MEMORY_REGION,
};

/**
 * donard_memory_kind_text() - the word for a kind of memory
 * @kind: of struct donard_memory_info
 *
 * Returns "dram", "region", or "unknown".
 */
const char *donard_memory_kind_text(enum donard_memory_kind kind);

/**
 * struct donard_memory_info - what a memory is
 * @size: in: sizeof(struct donard_memory_info)
 * @region: "p2pmem0", or ""
 * @bdf: of the device that has it, or ""
 * @address: where the CPU sees it, or NULL
 * @unmapped: why @address is NULL, or ""
 * @align_bytes: what an address and a length must be a multiple of for others to
 *	map or import a part of it
 * @region_offset_bytes: of its first byte; of DRAM 0
 * @contiguous_bytes: from there on, so many lie in the region without a gap
 * @file_offset_bytes: of its first byte, in the file behind @fd
 * @fd: to poll, to pass on; it stays the memory's.  -1 of DRAM
 *
 * Strings live as long as the memory.
 */
struct donard_memory_info {
	size_t size;
	enum donard_memory_kind kind;
	int fd;
	const char *region;
	const char *bdf;
	void *address;
	const char *unmapped;
	uint64_t length_bytes;
	uint64_t align_bytes;
	uint64_t region_offset_bytes;
	uint64_t contiguous_bytes;
	uint64_t file_offset_bytes;
	bool persistent;
	bool reserved[7];
};

/**
 * donard_memory_info() - say what a memory is
 * @memory: the memory
 * @info: filled in
 *
 * Returns 0; -EINVAL for a bad size.
 */
int donard_memory_info(const struct donard_memory *memory, struct donard_memory_info *info);

/**
 * donard_memory_state() - what became of the region
 * @memory: the memory; of DRAM nothing ever does
 *
 * Never waits.
 *
 * Returns DONARD_STATE_READY; DRAINING or QUARANTINED: let go of it, somebody
 * waits; GONE.
 */
enum donard_region_state donard_memory_state(const struct donard_memory *memory);

/**
 * donard_memory_read() - bytes of a memory
 * @memory: the memory
 * @offset_bytes: in it
 * @to: where they go
 * @length_bytes: how many; aligned to nothing, but whole pages are what is fast
 *
 * The CPU loads them: no device has a part in it.  Of device memory that is slow.
 *
 * Returns 0; -ENXIO past its end; -ENODEV when the region is going away; -EIO when
 * the device was reset meanwhile.
 */
int donard_memory_read(struct donard_memory *memory, uint64_t offset_bytes, void *to,
		       size_t length_bytes);

/**
 * donard_memory_write() - set bytes of a memory
 * @memory: the memory
 * @offset_bytes: in it
 * @from: the bytes
 * @length_bytes: how many
 *
 * When it returns other devices see them; to make them durable takes
 * donard_memory_sync().
 *
 * Returns as donard_memory_read().
 */
int donard_memory_write(struct donard_memory *memory, uint64_t offset_bytes, const void *from,
			size_t length_bytes);

/**
 * donard_memory_zero() - make bytes of a memory zero
 * @memory: the memory
 * @offset_bytes: in it
 * @length_bytes: how many
 *
 * Returns as donard_memory_write().
 */
int donard_memory_zero(struct donard_memory *memory, uint64_t offset_bytes, uint64_t length_bytes);

#define DONARD_SYNC_DURABLE	1U	/* in persistent memory, so that a power cut does no harm */

/**
 * donard_memory_sync() - what was written is at the device
 * @memory: the memory
 * @flags: DONARD_SYNC_DURABLE, or 0
 *
 * A barrier for the CPU's own stores through info.address, and for what devices
 * wrote before.
 *
 * Returns 0; -EOPNOTSUPP when durability is asked of volatile memory; -EIO when the
 * device was reset since the last one: what was written may be lost; -ENODEV.
 */
int donard_memory_sync(struct donard_memory *memory, unsigned int flags);

/**
 * donard_memory_export() - a dma-buf of a memory
 * @memory: of a region
 * @offset_bytes: a multiple of info.align_bytes
 * @length_bytes: likewise; 0 is to the end
 * @flags: O_RDWR or O_RDONLY: what importers may do
 * @fd: set to its descriptor, which is the caller's, and has FD_CLOEXEC
 *
 * Returns 0; -EINVAL, -ENXIO; -EOPNOTSUPP of DRAM; -EMFILE, -ENODEV.
 */
int donard_memory_export(struct donard_memory *memory, uint64_t offset_bytes,
			 uint64_t length_bytes, int flags, int *fd);

/**
 * donard_memory_route() - how a device reaches a memory
 * @memory: the memory
 * @client_bdf: of the function that would start the DMA
 * @route: filled in, as by donard_route_probe()
 *
 * Returns as donard_route_probe(); -EOPNOTSUPP of DRAM, which each device reaches.
 */
int donard_memory_route(struct donard_memory *memory, const char *client_bdf,
			struct donard_route *route);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_MEMORY_H */
