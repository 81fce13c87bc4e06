/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that devices read and write: a range of a region, plain DRAM, or what
 * somebody handed over as a dma-buf, behind one handle.
 *
 * Conventions and errno values as in donard.h.  A memory belongs to the context
 * that it was made with, and to one thread at a time; several threads that
 * share one make a memory each of one descriptor (donard_memory_adopt()).
 *
 * Nobody else has the bytes of a memory: whoever is to share them is given the
 * descriptor (info.fd), over a UNIX socket or by fork(), or a dma-buf.
 *
 * The end of a region comes as an event: poll() reports POLLPRI for info.fd, and
 * donard_memory_state() says what happened.  The library's own accesses then
 * fail with -ENODEV.  Loads and stores of the program itself through info.address
 * raise SIGBUS from then on, as those behind the end of a file do: a program
 * that cannot stop in time reads and writes by donard_memory_read() and _write(),
 * which never do.  None of these calls installs a signal handler.
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
 * donard_memory_from_host() - plain memory of the host that the program has already
 * @ctx: the context
 * @address: of its first byte; aligned to nothing, but requests are where files ask for it
 * @length_bytes: more than 0
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * Nothing is copied or pinned: the program keeps the bytes mapped until the memory is
 * freed and requests have ended, and frees them itself.  If the first or the last byte is
 * a device's, as in a mapping of /dev/p2pmem0, it is refused: requests would go to the
 * device with no route judged.
 *
 * Returns 0; -EINVAL for no address, no length, or a range that wraps; -EHOSTUNREACH for
 * memory of a device; -ENOMEM.
 */
int donard_memory_from_host(struct donard_context *ctx, void *address, uint64_t length_bytes,
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
 * donard_memory_from_dmabuf() - memory that somebody handed over as a dma-buf
 * @ctx: the context
 * @fd: of the dma-buf, by any exporter; it is duplicated
 * @offset_bytes: in the dma-buf; aligned to nothing
 * @length_bytes: 0 is to its end
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * A dma-buf that p2pmem exported, in this process or another, is memory of its region:
 * same bytes, same place, same routes, same end.  It makes nobody a second owner; the
 * dma-buf keeps the memory.  The caller must be able to open its device node; who is
 * not can still map the dma-buf, since whoever has its descriptor may.
 *
 * Of any other exporter, info.pages says what it gives.  Where it maps struct pages of
 * the host's memory, transfers go there without a copy; they are not peer-to-peer, and
 * their completions say so.  Where it maps without struct pages, queues reach it by
 * the CPU, with DONARD_QUEUE_ALLOW_BOUNCE.  Where it maps nothing (info.address is NULL and
 * info.unmapped says why), only devices that import dma-bufs reach it:
 * donard_rdma_register().  Such an exporter tells nobody when it takes the memory
 * back; from then on accesses fail, and loads and stores raise SIGBUS.
 *
 * The call itself moves nothing: it touches no page frames, and tells no exporter of an
 * access.  donard_memory_read(), _write(), _zero() and _sync(), and requests that are bounced,
 * do tell him (DMA_BUF_IOCTL_SYNC).  He may then move the buffer to the host's memory,
 * and the call waits for him and for devices that work on it.
 *
 * Returns 0; -EINVAL when @fd is no dma-buf's, or closed; -ENXIO past its end; -EACCES
 * when its region may not be opened; -ENODEV when its region was taken away;
 * -EOPNOTSUPP when the module is too old to tell whose it is, or without /proc;
 * -EMFILE, -ENOMEM.
 */
int donard_memory_from_dmabuf(struct donard_context *ctx, int fd, uint64_t offset_bytes,
			      uint64_t length_bytes, struct donard_memory **memory);

/**
 * donard_memory_from_cuda() - memory of a GPU that the program has allocated
 * @ctx: the context
 * @address: as cuMemAlloc() or cudaMalloc() gave it, or within; aligned to nothing
 * @length_bytes: more than 0; all of it in that allocation
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * The bytes stay where they are: drives and NICs reach them by the GPU's BAR1, in a
 * region of kind gpu-nvidia, whole pages of 64 KiB.  libcuda.so.1 is loaded when this is
 * first called.  Nothing else of CUDA is needed.  The thread needs no context; its
 * current one is the same before and after.
 *
 * SYNC_MEMOPS is set for the allocation and stays set, which waits for copies under way: from
 * then on a copy by the GPU that returned is seen by peers.  The other way, bytes that a
 * drive has delivered are seen by kernels that are launched after the completion, unless
 * the device's CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING is NONE: then call
 * cuFlushGPUDirectRDMAWrites() in between.
 *
 * CUDA cuts small allocations from a chunk of 2 MiB.  Two that lie in one page of 64 KiB
 * cannot be two memories: make one of both, or allocate 64 KiB more for each.  Memory of
 * cuMemAllocAsync()'s pools and of cuMemCreate() is taken if it was made for GPUDirect RDMA.
 *
 * Free the memory before the allocation.  An allocation with a chunk of its own (2 MiB and
 * more) that is freed first keeps its bytes until the memory is freed where the driver pins
 * persistently; else accesses fail from then on, as those of a region that went away.  Of a
 * smaller one nobody is told: CUDA gives the bytes out again, and drives go on writing there.
 *
 * Returns 0; -EINVAL when the address is not GPU memory, or is managed or unpinnable memory;
 * -ENXIO past the allocation; -EXDEV when the GPU's regions leave that part of its BAR out; -ENOSPC
 * when BAR1 is too small; -EBUSY when it is pinned already, or CUDA can create no context; -EOPNOTSUPP
 * without libcuda, or when the driver cannot; -ENODEV without a GPU, or without a region of it:
 * the text has the command that adds it; -EACCES, -EIO, -ENOMEM.
 */
int donard_memory_from_cuda(struct donard_context *ctx, uint64_t address, uint64_t length_bytes,
			    struct donard_memory **memory);

/**
 * donard_memory_alloc_cuda() - memory of a GPU, allocated for this
 * @ctx: the context
 * @gpu: CUDA's number of it, from 0
 * @length_bytes: more than 0
 * @address: set to its address for CUDA's calls, a multiple of 64 KiB; a failure leaves it alone
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * Allocated in the GPU's primary context, whole pages of its own, not cleared, and freed with the
 * memory: for all who have it, processes that adopted it and importers of dma-bufs, too.  Let
 * them end first.  cuMemFree() may wait for the GPU, in the thread that frees the memory or ends
 * its last request: no kernel may wait for that thread.
 *
 * CUDA's numbers are its own: the fastest GPU is 0, unless CUDA_DEVICE_ORDER=PCI_BUS_ID is set.
 *
 * Returns as donard_memory_from_cuda(); -ENOSPC also when the GPU has less.
 */
int donard_memory_alloc_cuda(struct donard_context *ctx, unsigned int gpu, uint64_t length_bytes,
			     uint64_t *address, struct donard_memory **memory);

/**
 * donard_memory_free() - give memory back
 * @memory: NULL is fine; registrations with RDMA and accesses have ended
 *
 * Requests of queues that are in flight keep it until they have ended.  Other processes that
 * adopted it, and importers of dma-bufs, keep it, but for that of donard_memory_alloc_cuda().
 */
void donard_memory_free(struct donard_memory *memory);

enum donard_memory_kind {
	DONARD_MEMORY_UNKNOWN,
	DONARD_MEMORY_DRAM,
	DONARD_MEMORY_REGION,
	DONARD_MEMORY_DMABUF,	/* of another exporter than p2pmem */
};

/**
 * donard_memory_kind_text() - the word for a kind of memory
 * @kind: of struct donard_memory_info
 *
 * Returns "dram", "region", "dma-buf", or "unknown".
 */
const char *donard_memory_kind_text(enum donard_memory_kind kind);

/* The struct pages behind a mapping, by which the kernel gives memory to devices. */
enum donard_memory_pages {
	DONARD_PAGES_UNKNOWN,	/* some, and nobody tells of what */
	DONARD_PAGES_NONE,	/* or there is no mapping */
	DONARD_PAGES_HOST,	/* of DRAM */
	DONARD_PAGES_DEVICE,
};

/**
 * donard_memory_pages_text() - the word for what is behind a mapping
 * @pages: of struct donard_memory_info
 *
 * Returns "none", "host", "device", or "unknown".
 */
const char *donard_memory_pages_text(enum donard_memory_pages pages);

/**
 * struct donard_memory_info - what a memory is
 * @size: in: sizeof(struct donard_memory_info)
 * @kind: of a region, plain DRAM, or a dma-buf of another exporter
 * @region: "p2pmem0", or ""
 * @bdf: of the device that has it, or ""
 * @address: where the CPU sees it, or NULL
 * @unmapped: why @address is NULL, or ""
 * @length_bytes: of the whole memory
 * @align_bytes: what an address and a length must be a multiple of for others to
 *	map or import a part of it
 * @region_offset_bytes: of its first byte; of DRAM 0
 * @contiguous_bytes: from there on, so many lie in the region without a gap
 * @file_offset_bytes: of its first byte, in the file behind @fd; 0 if it came as a dma-buf,
 *	of which that file owns nothing
 * @fd: to poll, to pass on; it stays the memory's.  -1 of DRAM, and of a dma-buf of
 *	another exporter.  Of one of ours it is to poll only: pass @dmabuf_fd on
 * @persistent: it keeps its contents without power
 * @read_only: the dma-buf that it came as was exported O_RDONLY
 * @exporter: of that dma-buf, as its driver calls itself: "udmabuf", "p2pmem0"; or ""
 * @dmabuf_offset_bytes: of the first byte, in that dma-buf
 * @dmabuf_fd: of that dma-buf, to pass on; it stays the memory's.  -1 where there is none
 * @pages: what is behind the mapping at @address
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
	bool read_only;
	bool reserved[6];
	const char *exporter;
	uint64_t dmabuf_offset_bytes;
	int dmabuf_fd;
	enum donard_memory_pages pages;
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
 * @memory: the memory; of DRAM, and of a dma-buf of another exporter, nothing is told
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
 * @to: where they go; plain memory of the program
 * @length_bytes: how many; aligned to nothing, but whole pages are what is fast
 *
 * The CPU loads them: no device has a part in it.  Of device memory that is slow.
 *
 * Returns 0; -ENXIO past its end; -ENODEV when the region is going away, the exporter of a
 * dma-buf took it back, or GPU memory was freed that its driver does not keep; -EIO when the
 * device was reset meanwhile; -EOPNOTSUPP where the CPU has no mapping; -EFAULT when @to is
 * not all there, or, of what came as a dma-buf, no plain memory; -EPERM, -ENOSYS when a
 * sandbox forbids process_vm_readv(), by which the bytes of a dma-buf are accessed.
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
 * Returns as donard_memory_read(); -EROFS of a dma-buf that was exported O_RDONLY.
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
 * wrote before.  Of a dma-buf of another exporter it is that exporter's
 * (DMA_BUF_IOCTL_SYNC).
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
 * Returns 0; -EINVAL, -ENXIO; -EOPNOTSUPP of DRAM, and of what came as a dma-buf: pass that
 * on; -EMFILE, -ENODEV.
 */
int donard_memory_export(struct donard_memory *memory, uint64_t offset_bytes,
			 uint64_t length_bytes, int flags, int *fd);

/**
 * donard_memory_route() - how a device reaches a memory
 * @memory: the memory
 * @client_bdf: of the function that would start the DMA
 * @route: filled in, as by donard_route_probe()
 *
 * Returns as donard_route_probe(); -EOPNOTSUPP of DRAM, which each device reaches, and
 * of a dma-buf of another exporter, who does not tell where it lies.
 */
int donard_memory_route(struct donard_memory *memory, const char *client_bdf,
			struct donard_route *route);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_MEMORY_H */
