/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that devices read and write, behind one handle: a range of a region, plain
 * DRAM, or a dma-buf that somebody handed over.
 *
 * Conventions and errno values are those of donard.h.  A memory belongs to the context
 * that it was made with, and to one thread at a time.  Threads that share the bytes
 * each make a memory of their own from one descriptor (donard_memory_adopt()).
 *
 * No other process has the bytes of a memory unless it is given them: pass it the
 * descriptor (info.fd), over a UNIX socket or by fork(), or pass it a dma-buf.
 *
 * When a region ends, poll() reports POLLPRI for info.fd, and donard_memory_state()
 * says what happened.  The library's own accesses then fail with -ENODEV.  The
 * program's own loads and stores through info.address raise SIGBUS from then on, as
 * accesses past the end of a file do.  A program that cannot stop in time uses
 * donard_memory_read() and _write(), which never raise it.  None of these calls
 * installs a signal handler.
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
 * The memory is whole pages of DRAM, zeroed.  It is the baseline for comparisons.
 *
 * Returns 0; -ENOMEM; -EINVAL for no length.
 */
int donard_memory_dram(struct donard_context *ctx, uint64_t length_bytes,
		       struct donard_memory **memory);

/**
 * donard_memory_from_host() - plain memory of the host that the program already has
 * @ctx: the context
 * @address: of its first byte; any, but a request for a file is aligned as that file asks
 * @length_bytes: more than 0
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * Nothing is copied or pinned.  The program keeps the bytes mapped until the memory is
 * freed and its requests have ended, and then frees them itself.  The call fails if the
 * first or the last byte belongs to a device, as in a mapping of /dev/p2pmem0: requests
 * would go to that device although nobody judged the route.
 *
 * Returns 0; -EINVAL for no address, no length, or a range that wraps; -EHOSTUNREACH for
 * memory of a device; -ENOMEM.
 */
int donard_memory_from_host(struct donard_context *ctx, void *address, uint64_t length_bytes,
			    struct donard_memory **memory);

/**
 * donard_memory_alloc() - free memory of a region
 * @ctx: the context
 * @region: "p2pmem0", which must be volatile
 * @length_bytes: more than 0
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * The memory reads as zero.  It may consist of several pieces of the region.
 *
 * Returns 0; -ENOSPC when less is free; -EOPNOTSUPP for a persistent region: call
 * donard_memory_claim() there; -ENODEV, -EACCES, -EINVAL, -ENOMEM.
 */
int donard_memory_alloc(struct donard_context *ctx, const char *region, uint64_t length_bytes,
			struct donard_memory **memory);

/**
 * donard_memory_claim() - a given range of a region
 * @ctx: the context
 * @region: "p2pmem0"
 * @offset_bytes: where in the region
 * @length_bytes: 0: up to the end of the region
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * The bytes are what they were if the region is persistent, or if they last belonged to
 * the same user; else they read as zero.  The memory also owns the rest of each granule
 * that the range begins or ends in.
 *
 * Returns 0; -EBUSY when another owns part of it; -ENXIO past the region's end;
 * -ENODEV, -EACCES, -EINVAL, -ENOMEM.
 */
int donard_memory_claim(struct donard_context *ctx, const char *region, uint64_t offset_bytes,
			uint64_t length_bytes, struct donard_memory **memory);

/**
 * donard_memory_adopt() - memory of an open file of a region that somebody else made
 * @ctx: the context
 * @fd: of /dev/p2pmemN, such as info.fd of another memory; the call duplicates it
 * @file_offset_bytes: info.file_offset_bytes of that memory
 * @length_bytes: more than 0
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * Both memories have the same bytes, which last as long as either memory.
 *
 * Returns 0; -EINVAL when @fd is not of a region; -ENXIO when that file owns no such
 * range; -ENODEV, -EACCES, -ENOMEM.
 */
int donard_memory_adopt(struct donard_context *ctx, int fd, uint64_t file_offset_bytes,
			uint64_t length_bytes, struct donard_memory **memory);

/**
 * donard_memory_from_dmabuf() - memory that somebody handed over as a dma-buf
 * @ctx: the context
 * @fd: of the dma-buf, which any driver may have exported; the call duplicates it
 * @offset_bytes: in the dma-buf; any
 * @length_bytes: 0: up to its end
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * A dma-buf that p2pmem exported, in this process or another, is memory of its region:
 * same bytes, same place, same routes, same end.  The caller becomes no second owner:
 * the dma-buf keeps the memory.  The caller must have the right to open the region's
 * device node.  Without that right a program can still mmap() the dma-buf itself, as
 * everybody can who has its descriptor.
 *
 * If another driver exported the dma-buf, info.pages says what that driver gives.  Where
 * it maps struct pages of the host's memory, transfers go there without a copy; they are
 * not peer-to-peer, and their completions say so.  Where it maps memory without struct
 * pages, queues reach it by the CPU, with DONARD_QUEUE_ALLOW_BOUNCE.  Where it maps nothing
 * (info.address is NULL and info.unmapped says why), only devices that import dma-bufs
 * reach it: donard_rdma_register().  None of these drivers tells when it takes the memory
 * back; from then on accesses fail, and loads and stores raise SIGBUS.
 *
 * The call itself moves nothing: it touches no page frames, and tells no exporter of an
 * access.  donard_memory_read(), _write(), _zero() and _sync(), and requests that are bounced,
 * do tell the exporter (DMA_BUF_IOCTL_SYNC).  It may then move the buffer to the host's
 * memory, and the call waits for that and for devices that work on the buffer.
 *
 * Returns 0; -EINVAL when @fd is closed or not of a dma-buf; -ENXIO past its end; -EACCES
 * when its region may not be opened; -ENODEV when its region was taken away;
 * -EOPNOTSUPP when the module is too old to tell whose it is, or without /proc;
 * -EMFILE, -ENOMEM.
 */
int donard_memory_from_dmabuf(struct donard_context *ctx, int fd, uint64_t offset_bytes,
			      uint64_t length_bytes, struct donard_memory **memory);

/**
 * donard_memory_from_cuda() - memory of a GPU that the program has allocated
 * @ctx: the context
 * @address: what cuMemAlloc() or cudaMalloc() returned, or any address within
 * @length_bytes: more than 0; the range ends within that allocation
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * The bytes stay where they are: drives and NICs reach them by the GPU's BAR1, in a
 * region of kind gpu-nvidia, whole pages of 64 KiB.  The first call loads libcuda.so.1;
 * nothing else of CUDA is needed.  The thread needs no current context, and keeps the one
 * that it has.
 *
 * The call sets SYNC_MEMOPS for the allocation, where it stays set, and by that waits for
 * copies under way.  From then on peers see the bytes of each copy by the GPU that has
 * returned.  In the other direction, kernels see the bytes that a drive has delivered if
 * they are launched after the completion, unless the device's
 * CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING is NONE: then call
 * cuFlushGPUDirectRDMAWrites() in between.
 *
 * CUDA cuts small allocations from chunks of 2 MiB.  Two allocations that share a page of
 * 64 KiB cannot be two memories: make one memory of both, or allocate 64 KiB more for each.
 * Memory of cuMemAllocAsync()'s pools and of cuMemCreate() is taken if it was made for
 * GPUDirect RDMA.
 *
 * Free the memory before the allocation.  If you free the allocation first, it depends on
 * its size and on the driver what happens.  One with a chunk of its own (2 MiB and more)
 * keeps its bytes until the memory is freed where the driver pins persistently; elsewhere
 * accesses fail from then on, as those of a region that went away.  When a smaller one is
 * freed, nobody is told: CUDA gives the bytes out again, and drives go on writing there.
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
 * The call allocates whole pages in the GPU's primary context, and does not clear them.  They
 * are freed with the memory, also for processes that adopted it and for importers of its
 * dma-bufs: let those end first.  The thread that frees the memory or ends its last request
 * calls cuMemFree(), which may wait for the GPU: no kernel may wait for that thread.
 *
 * CUDA numbers the GPUs itself: 0 is the fastest, unless CUDA_DEVICE_ORDER=PCI_BUS_ID is set.
 *
 * Returns as donard_memory_from_cuda(); -ENOSPC also when the GPU has less.
 */
int donard_memory_alloc_cuda(struct donard_context *ctx, unsigned int gpu, uint64_t length_bytes,
			     uint64_t *address, struct donard_memory **memory);

/**
 * donard_memory_free() - give memory back
 * @memory: may be NULL; its registrations with RDMA and accesses to it must have ended
 *
 * Requests of queues that are in flight keep the memory until they have ended.  Other
 * processes that adopted it and importers of its dma-bufs keep it as well, unless it came
 * from donard_memory_alloc_cuda().
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
	DONARD_PAGES_UNKNOWN,	/* there are some, but nobody says of which memory */
	DONARD_PAGES_NONE,	/* there are none, or there is no mapping */
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
 * @bdf: of the device that the memory is part of, or ""
 * @address: where the CPU sees it, or NULL
 * @unmapped: why @address is NULL, or ""
 * @length_bytes: of the whole memory
 * @align_bytes: others can map or import a part whose address and length are multiples
 *	of this
 * @region_offset_bytes: where its first byte lies in the region; 0 for DRAM
 * @contiguous_bytes: how many bytes lie in the region without a gap from there on
 * @file_offset_bytes: where its first byte lies in the file behind @fd; 0 for a memory that
 *	came as a dma-buf, since that file owns nothing of it
 * @fd: a descriptor to poll and to pass on; it stays the memory's.  It is -1 for DRAM and
 *	for a dma-buf of another exporter.  If the memory came as a dma-buf of p2pmem, only
 *	poll this one, and pass @dmabuf_fd on
 * @persistent: it keeps its contents without power
 * @read_only: the dma-buf that it came as was exported O_RDONLY
 * @exporter: of that dma-buf, as its driver calls itself: "udmabuf", "p2pmem0"; or ""
 * @dmabuf_offset_bytes: of the first byte, in that dma-buf
 * @dmabuf_fd: a descriptor of that dma-buf to pass on; it stays the memory's.  -1 if there
 *	is none
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
 * @memory: the memory; DRAM and a dma-buf of another exporter are always READY
 *
 * The call never waits.
 *
 * Returns DONARD_STATE_READY; DRAINING or QUARANTINED when somebody waits until you let
 * go of the memory; GONE.
 */
enum donard_region_state donard_memory_state(const struct donard_memory *memory);

/**
 * donard_memory_read() - read bytes of a memory
 * @memory: the memory
 * @offset_bytes: in it
 * @to: where they go; plain memory of the program
 * @length_bytes: how many; any number, but whole pages are fast
 *
 * The CPU loads the bytes, and no device takes part.  Loads from device memory are slow.
 *
 * Returns 0; -ENXIO past its end; -ENODEV when the region is going away, the exporter of a
 * dma-buf took it back, or GPU memory was freed that its driver does not keep; -EIO when the
 * device was reset meanwhile; -EOPNOTSUPP where the CPU has no mapping; -EFAULT when a
 * part of @to is not mapped or, if the memory came as a dma-buf, is not plain memory;
 * -EPERM, -ENOSYS when a sandbox forbids process_vm_readv(), by which the bytes of a
 * dma-buf are accessed.
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
 * Other devices see the bytes when the call returns.  donard_memory_sync() makes them
 * durable.
 *
 * Returns as donard_memory_read(); -EROFS for a dma-buf that was exported O_RDONLY.
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

#define DONARD_SYNC_DURABLE	1U	/* the bytes survive a power cut; persistent memory only */

/**
 * donard_memory_sync() - wait until what was written is at the device
 * @memory: the memory
 * @flags: DONARD_SYNC_DURABLE, or 0
 *
 * The call is a barrier for the CPU's own stores through info.address, and for what
 * devices wrote before.  For a dma-buf of another exporter it asks that exporter
 * (DMA_BUF_IOCTL_SYNC).
 *
 * Returns 0; -EOPNOTSUPP for DONARD_SYNC_DURABLE on volatile memory; -EIO when the device
 * was reset since the last call, so that what was written may be lost; -ENODEV.
 */
int donard_memory_sync(struct donard_memory *memory, unsigned int flags);

/**
 * donard_memory_export() - export a memory as a dma-buf
 * @memory: of a region
 * @offset_bytes: a multiple of info.align_bytes
 * @length_bytes: likewise; 0: up to the end
 * @flags: O_RDWR or O_RDONLY: what importers may do
 * @fd: set to the dma-buf's descriptor, which is the caller's and has FD_CLOEXEC
 *
 * Returns 0; -EINVAL, -ENXIO; -EOPNOTSUPP for DRAM, and for a memory that came as a
 * dma-buf: pass that dma-buf on; -EMFILE, -ENODEV.
 */
int donard_memory_export(struct donard_memory *memory, uint64_t offset_bytes,
			 uint64_t length_bytes, int flags, int *fd);

/**
 * donard_memory_route() - how a device reaches a memory
 * @memory: the memory
 * @client_bdf: of the function that would start the DMA
 * @route: filled in, as by donard_route_probe()
 *
 * Returns as donard_route_probe(); -EOPNOTSUPP for DRAM, which each device reaches, and
 * for a dma-buf of another exporter, which does not tell where it lies.
 */
int donard_memory_route(struct donard_memory *memory, const char *client_bdf,
			struct donard_route *route);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_MEMORY_H */
